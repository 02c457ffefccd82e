//! Heat: how much load the busiest partition key of a table, and of each index, gets, compared with what one
//! partition sustains; and how many shards it would take.
//!
//! Each pattern's predicted units, times its rate in each hour, are distributed over keys by [`key::key_shares`]. A row
//! that enters a sparse index and leaves it later is written twice, and so is a row whose index key
//! changes. A local index shares the partitions of its table, so its heat is the table's.

mod conflict;
mod cure;
mod forecast;
pub mod key;
pub(crate) mod key_load;
pub(crate) mod svg;

use serde::Serialize;

use crate::Model;
use crate::facts::Limits;
use crate::model::{IndexId, TableId};
use crate::plan::Plan;
use crate::traffic::Day;

pub use conflict::{WriteConflict, cancelled, conflicts};
pub use cure::{Cure, CureWay, Cures};
pub use forecast::{Forecast, Growing, forecasts};
pub use svg::svg;

/// How much of a partition's throughput a key should use, so that there is room for more.
pub const DEFAULT_HEADROOM: f64 = 0.7;

/// The heat of a table or of one global index.
#[derive(Clone, Debug, Serialize)]
pub struct Heat {
    #[serde(skip)]
    pub table_id: TableId,
    #[serde(skip)]
    pub index_id: Option<IndexId>,
    pub table: String,
    pub index: Option<String>,
    /// Sorted by load, the hottest first.
    pub keys: Vec<KeyHeat>,
    /// Attributes of partition keys whose number of values the file does not declare.
    pub assumed: Vec<String>,
}

/// The busiest key of one form.
#[derive(Clone, Debug, Serialize)]
pub struct KeyHeat {
    pub key: String,
    /// Units per second, in each hour.
    pub write: Day,
    pub read: Day,
    /// The part of the reads that every shard would get in full, however many there are.
    pub read_each: Day,
    /// In its busiest hour, as a share of what a partition sustains.
    pub load: f64,
    /// Over how many keys the template already spreads the load, and over how many it should.
    pub shards: u64,
    pub shards_needed: u64,
    /// The patterns it comes from, by what they add in the busiest hour.
    pub from: Vec<Contribution>,
}

/// A pattern's part of the load on a key.
#[derive(Clone, Debug, Serialize)]
pub struct Contribution {
    pub pattern: String,
    pub write: f64,
    pub read: f64,
}

/// How many keys a load must be spread over: N = max(⌈W / 1000h⌉, ⌈R / 3000h⌉, 1). Reads that each shard gets in full
/// are not among `read_units`, and leave less room for them; where they leave none, shards are counted for writes
/// alone.
pub fn shards(write_units: f64, read_units: f64, read_each: f64, headroom: f64, limits: &Limits) -> u64 {
    let headroom = headroom.clamp(0.01, 1.0);
    let keys = |units: f64, limit: f64| {
        // A tiny excess over a whole number is rounding of floating point, not load.
        ((units / (limit * headroom)) - 1e-9).ceil().max(0.0) as u64
    };
    let writes = keys(write_units, limits.partition_write_units);
    let room = limits.partition_read_units - read_each / headroom;
    let reads = if room > 0.0 { keys(read_units, room) } else { 0 };
    writes.max(reads).max(1)
}

/// The heat of every table and global index, in the order of the file. `plans` are those of the model's
/// patterns, in order.
pub fn heat(model: &Model, plans: &[Plan], limits: &Limits, headroom: f64) -> Vec<Heat> {
    let key_loads = key_load::key_loads(model, plans);
    let of = |table_id: TableId, index_id: Option<IndexId>| {
        let table = model.table(table_id);
        let here =
            key_loads.iter().filter(|key_load| key_load.table == table_id && key_load.index == index_id);
        Heat {
            table_id,
            index_id,
            table: table.name.value.clone(),
            index: index_id.map(|index| table.index(index).name.value.clone()),
            keys: keys(&here.collect::<Vec<_>>(), limits, headroom),
            assumed: assumed(model, table_id, index_id),
        }
    };
    model
        .table_ids()
        .flat_map(|table| {
            let global = key_load::global_indexes(model.table(table));
            std::iter::once(None).chain(global.map(Some)).map(move |index| (table, index)).collect::<Vec<_>>()
        })
        .map(|(table, index)| of(table, index))
        .collect()
}

impl Heat {
    /// `app-main` or `app-main/GSI1`.
    pub fn name(&self) -> String {
        match &self.index {
            Some(index) => format!("{}/{index}", self.table),
            None => self.table.clone(),
        }
    }

    /// The key with the highest load.
    pub fn busiest(&self) -> Option<&KeyHeat> {
        self.keys.first()
    }
}

impl KeyHeat {
    fn new(key: &str, shards: u64) -> KeyHeat {
        KeyHeat {
            key: key.to_owned(),
            write: Day::NOTHING,
            read: Day::NOTHING,
            read_each: Day::NOTHING,
            load: 0.0,
            shards,
            shards_needed: 1,
            from: Vec::new(),
        }
    }

    /// In one hour, as a share of what a partition sustains.
    pub fn load_at(&self, hour: usize, limits: &Limits) -> f64 {
        let write = self.write.0[hour] / limits.partition_write_units;
        let read = self.read.0[hour] / limits.partition_read_units;
        write.max(read)
    }

    /// Whether more key_shares on it than one partition sustains.
    pub fn is_too_hot(&self) -> bool {
        self.load > 1.0
    }
}

fn keys(key_loads: &[&key_load::KeyLoad], limits: &Limits, headroom: f64) -> Vec<KeyHeat> {
    let mut keys: Vec<KeyHeat> = Vec::new();
    for key_load in key_loads {
        let at = keys.iter().position(|key| key.key == key_load.key).unwrap_or_else(|| {
            keys.push(KeyHeat::new(&key_load.key, key_load.shards));
            keys.len() - 1
        });
        add(&mut keys[at], key_load);
    }
    for key in &mut keys {
        finish(key, limits, headroom);
    }
    keys.sort_by(|one, other| other.load.total_cmp(&one.load).then_with(|| one.key.cmp(&other.key)));
    keys
}

fn add(key: &mut KeyHeat, key_load: &key_load::KeyLoad) {
    key.write.add(&key_load.write);
    key.read.add(&key_load.read);
    key.read_each.add(&key_load.read_each);
    let (write, read) = (key_load.write.peak(), key_load.read.peak());
    match key.from.iter_mut().find(|one| one.pattern == key_load.pattern) {
        Some(one) => {
            one.write += write;
            one.read += read;
        }
        None => key.from.push(Contribution { pattern: key_load.pattern.clone(), write, read }),
    }
}

fn finish(key: &mut KeyHeat, limits: &Limits, headroom: f64) {
    key.load = (0..key.write.0.len()).map(|hour| key.load_at(hour, limits)).fold(0.0, f64::max);
    let (spread, each) = (key.shards as f64, key.read_each.peak());
    let divided = (key.read.peak() - each).max(0.0);
    key.shards_needed = shards(key.write.peak() * spread, divided * spread, each, headroom, limits);
    let weight = |one: &Contribution| {
        one.write / limits.partition_write_units + one.read / limits.partition_read_units
    };
    key.from.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
}

fn assumed(model: &Model, table: TableId, index: Option<IndexId>) -> Vec<String> {
    let places = model.places();
    let here = places.iter().filter(|place| place.table_id == table && place.index_id() == index);
    let mut names: Vec<String> =
        here.flat_map(|place| key::assumed(model, *place)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}
