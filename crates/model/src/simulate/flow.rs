//! The requests that a pattern sends, second by second.
//!
//! The share of a pattern's requests that fall on a key is what the heat forecast says of it. All others are
//! spread evenly over all hashes.

use capacity::{Access, Place};

use crate::Model;
use crate::demand::{self, Resource, UnitKind, Usage};
use crate::heat::key_load::{KeyLoad, key_loads};
use crate::model::{EntityId, TableId};
use crate::plan::Plan;
use crate::predict::typical::Footprints;
use crate::traffic::Day;

/// The most units of one request here, a tenth of what a partition sustains in a second. So a request that
/// stands for many fills no partition by itself.
const WRITE_UNITS_MAX: f64 = 100.0;
const READ_UNITS_MAX: f64 = 300.0;
/// The keys of one pattern in one place that are told apart.
const KEYS_MAX: usize = 64;
/// Steps of this size visit everything evenly: the golden ratio of all hashes.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What one pattern asks of one table and its indexes, reads or writes; or a function that updates copies after it.
pub struct Flow {
    pub table: TableId,
    pub access: Access,
    /// Requests each second.
    day: Day,
    parts: Vec<FlowPart>,
    /// The part of a request that is due.
    due: f64,
    sent: u64,
}

struct FlowPart {
    place: Resource,
    /// Of one request.
    units: f64,
    keys: Vec<Key>,
}

/// A key with a share of the requests.
struct Key {
    /// Which of [`Flows::keys`].
    id: usize,
    hash: u64,
    /// The share of this key and of all before it.
    up_to: f64,
}

/// All requests, and the keys that the model tells apart.
pub struct Flows {
    pub flows: Vec<Flow>,
    pub keys: Vec<KeyName>,
}

/// A key of one place, for reads or for writes.
#[derive(Clone, PartialEq)]
pub struct KeyName {
    pub place: Resource,
    pub access: Access,
    pub name: String,
}

/// A request, or several in one.
pub struct Request {
    pub parts: Vec<RequestPart>,
    /// How many requests it stands for.
    pub count: f64,
}

/// One part of a request.
pub struct RequestPart {
    pub place: Resource,
    pub part: capacity::Part,
    /// Which of [`Flows::keys`], if the model tells it apart.
    pub key: Option<usize>,
}

/// Parts with the same key are one request: its pattern, the entity whose copies it writes, reads or writes, and the table.
type FlowKey = (usize, Option<EntityId>, UnitKind, TableId);

/// Of every pattern that has a rate and that the table serves; with its average rate all day if it `is_flat`.
pub fn flows(model: &Model, plans: &[Plan], is_flat: bool) -> Flows {
    let footprints = Footprints::new(model);
    let uses = demand::uses(model, plans, &footprints);
    let key_loads = key_loads(model, plans);
    let mut names: Vec<KeyName> = Vec::new();
    let mut flows: Vec<(FlowKey, Flow)> = Vec::new();
    for one in &uses {
        let part = FlowPart {
            place: one.resource,
            units: one.units,
            keys: keys(&key_loads, &model.patterns[one.pattern].id.value, one, &mut names),
        };
        let at = (one.pattern, one.copies, one.kind, one.resource.0);
        match flows.iter_mut().find(|(known, _)| *known == at) {
            Some((_, flow)) => flow.parts.push(part),
            None => flows.push((at, Flow::new(one, part, is_flat))),
        }
    }
    Flows { flows: flows.into_iter().map(|(_, flow)| flow).collect(), keys: names }
}

/// The keys that a use falls on. A load is that of the busiest hour.
fn keys(key_loads: &[KeyLoad], pattern: &str, one: &Usage, names: &mut Vec<KeyName>) -> Vec<Key> {
    let peak = one.peak * one.units;
    let here = key_loads
        .iter()
        .filter(|key_load| key_load.pattern == pattern && key_load.copies == one.copies)
        .filter(|key_load| (key_load.table, key_load.index) == one.resource);
    let mut keys: Vec<Key> = Vec::new();
    let mut up_to = 0.0;
    for key_load in here {
        let load = match one.kind {
            UnitKind::Read => key_load.read.peak(),
            UnitKind::Write => key_load.write.peak(),
        };
        let share = if peak > 0.0 { load / peak } else { 0.0 };
        // Each shard of a key takes as much as the busiest.
        for shard in (0..key_load.shards).take_while(|_| share > 0.0) {
            up_to += share;
            if keys.len() == KEYS_MAX || up_to > 1.0 + 1e-9 {
                return keys;
            }
            let name = if key_load.shards > 1 {
                format!("{} ({shard})", key_load.key)
            } else {
                key_load.key.clone()
            };
            let hash = hash_of(&name);
            let name = KeyName { place: one.resource, access: access(one.kind), name };
            let id = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            keys.push(Key { id, hash, up_to });
        }
    }
    keys
}

impl Flow {
    fn new(one: &Usage, part: FlowPart, is_flat: bool) -> Flow {
        Flow {
            table: one.resource.0,
            access: access(one.kind),
            day: if is_flat { Day::flat(one.day.average()) } else { one.day },
            parts: vec![part],
            due: 0.0,
            sent: 0,
        }
    }

    /// The units each second that it asks of a place at a minute of the day.
    pub fn units_at(&self, place: Resource, minute: usize) -> f64 {
        let here = self.parts.iter().filter(|part| part.place == place);
        here.map(|part| part.units).sum::<f64>() * self.day.at_minute(minute)
    }

    /// The requests of a second, some of them several in one.
    pub fn second(&mut self, minute: usize, factor: f64) -> Vec<Request> {
        self.due += self.day.at_minute(minute) * factor;
        let whole = self.due.floor();
        self.due -= whole;
        let largest = self.parts.iter().map(|part| part.units).fold(0.0, f64::max);
        let units_max = match self.access {
            Access::Read => READ_UNITS_MAX,
            Access::Write => WRITE_UNITS_MAX,
        };
        let count = (whole * largest / units_max).ceil().max(1.0).min(whole);
        (0..count as u64).map(|_| self.request(whole / count)).collect()
    }

    fn request(&mut self, count: f64) -> Request {
        self.sent += 1;
        let number = self.sent;
        let parts = self.parts.iter().enumerate();
        let parts = parts.map(|(position, part)| part.request(number, position as u64, count)).collect();
        Request { parts, count }
    }
}

impl FlowPart {
    fn request(&self, number: u64, position: u64, weight: f64) -> RequestPart {
        // Two sequences, so that which key and where among the others are not the same question.
        let chance = number.wrapping_mul(GOLDEN).wrapping_add(position << 60) as f64 / 2f64.powi(64);
        let found = self.keys.get(self.keys.partition_point(|key| key.up_to <= chance));
        let elsewhere = number.wrapping_add(position << 32).wrapping_mul(GOLDEN.rotate_left(17) | 1);
        let place = match self.place.1 {
            Some(index) => Place::Index(index.0 as u64),
            None => Place::Table,
        };
        let key_hash = Some(found.map_or(elsewhere, |key| key.hash));
        let part = capacity::Part { place, key_hash, units: self.units * weight };
        RequestPart { place: self.place, part, key: found.map(|key| key.id) }
    }
}

fn access(kind: UnitKind) -> Access {
    match kind {
        UnitKind::Read => Access::Read,
        UnitKind::Write => Access::Write,
    }
}

/// FNV-1a, and then mixed: names that differ only in their ends get hashes far apart.
fn hash_of(name: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(GOLDEN);
    mixed ^ (mixed >> 29)
}
