//! A day or a week of a model's patterns, second by second, through the code that the database throttles with.
//!
//! Each pattern sends its requests at the rate of its day ([`flow`]). A request has a part in its table and in
//! each index that it writes; the [`capacity::Throughput`] of the table admits or refuses it. At the end of each
//! minute auto scaling looks at what was consumed ([`supply`]). The result says for every table and index what was
//! provisioned, consumed and throttled in each minute, and which key was the hottest.
//!
//! What is simplified: requests that would fall on one key in one second come as a few larger ones; a refused
//! request is not sent again; keys that the model does not tell apart are spread evenly; the keys of a write in
//! its table and in its indexes are chosen apart from each other. There is no chance in it: the same model gives
//! the same result.

mod contention;
mod flow;
mod supply;
mod svg;
mod traffic;

use std::collections::BTreeMap;

use capacity::{Access, Decision, Enforcement};
use serde::Serialize;

use crate::Model;
use crate::demand::{self, Resource};
use crate::facts::{ClassPrices, Facts};
use crate::model::TableId;
use crate::plan::Plan;
use flow::{Flow, KeyName};
use supply::TableSupply;

pub use contention::ConflictRun;
pub use svg::svg;
pub use traffic::{CURVES, CurveError, Traffic};

const DAY_MINUTES: usize = 24 * 60;
const HOUR_MINUTES: usize = 60;
const MINUTE_SECONDS: u64 = 60;

/// How throughput is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payment {
    /// As the file says.
    Declared,
    /// Everything on demand.
    OnDemand,
    /// Everything provisioned, with auto scaling where the file does not fix the units.
    Provisioned,
    /// Everything as AWS's console proposes it for a provisioned table, whatever the file says: 5 units to begin with, and
    /// auto scaling between 1 and 10.
    AwsDefault,
}

impl Payment {
    pub const ALL: [Payment; 4] =
        [Payment::Declared, Payment::OnDemand, Payment::Provisioned, Payment::AwsDefault];

    /// As `--compare` names it.
    pub fn name(self) -> &'static str {
        match self {
            Payment::Declared => "declared",
            Payment::OnDemand => "on-demand",
            Payment::Provisioned => "provisioned",
            Payment::AwsDefault => "aws-default",
        }
    }

    pub fn from_name(name: &str) -> Option<Payment> {
        Payment::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// What happened to every table and global index, each table before its indexes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// How throughput was paid for.
    pub way: Payment,
    /// Tables and indexes.
    pub places: Vec<PlaceRun>,
    /// Items on which transactions meet; what is cancelled there is charged all the same.
    pub conflicts: Vec<ConflictRun>,
}

/// What happened to one table or index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRun {
    /// `app-main` or `app-main/GSI1`.
    pub name: String,
    /// Which table it is or belongs to.
    #[serde(skip)]
    pub table: TableId,
    /// Its reads.
    pub read: Side,
    /// Its writes.
    pub write: Side,
    /// The units refused, by the name of the reason.
    pub reasons: BTreeMap<String, f64>,
}

/// Reads or writes of one table or index.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// One after the other.
    pub minutes: Vec<Minute>,
    /// The key that the most units were asked of.
    pub hottest: Option<HotKey>,
}

/// One minute. Units are sums, and provisioned units are those of each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Minute {
    /// None on demand.
    pub provisioned: Option<u64>,
    /// What requests used.
    pub consumed: f64,
    /// What refused requests would have used.
    pub throttled: f64,
    /// The requests that asked.
    pub requests: f64,
    /// The requests that were refused: in an index those that it refused itself, in a table also those that an index
    /// refused.
    pub refused: f64,
}

/// Some minutes together, for a picture: the units of a second in the busiest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// None on demand.
    pub provisioned: Option<u64>,
    pub consumed: f64,
    pub throttled: f64,
}

impl Column {
    /// The highest of what is drawn.
    pub fn top(&self) -> f64 {
        (self.consumed + self.throttled).max(self.provisioned.unwrap_or(0) as f64)
    }
}

/// A minute as a picture names it: the time of day, with the day if it is a later one.
pub fn clock(minute: usize) -> String {
    let (day, hour, minute) =
        (minute / DAY_MINUTES, minute % DAY_MINUTES / HOUR_MINUTES, minute % HOUR_MINUTES);
    if day == 0 { format!("{hour:02}:{minute:02}") } else { format!("{day}d {hour:02}:{minute:02}") }
}

/// A key that the model names, or the busiest of those that it does not tell apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HotKey {
    /// As the template renders it.
    pub key: String,
    /// Units used.
    pub consumed: f64,
    /// Units refused.
    pub throttled: f64,
    /// The most units that were asked for in a second, as the average of a minute.
    pub peak: f64,
}

impl Minute {
    fn asked(&self) -> f64 {
        self.consumed + self.throttled
    }
}

impl Side {
    /// All units used.
    pub fn consumed(&self) -> f64 {
        self.minutes.iter().map(|minute| minute.consumed).sum()
    }

    /// All units refused.
    pub fn throttled(&self) -> f64 {
        self.minutes.iter().map(|minute| minute.throttled).sum()
    }

    /// All requests that asked.
    pub fn requests(&self) -> f64 {
        self.minutes.iter().map(|minute| minute.requests).sum()
    }

    /// All requests that were refused.
    pub fn refused(&self) -> f64 {
        self.minutes.iter().map(|minute| minute.refused).sum()
    }

    /// All minutes in at most this many columns of the same width.
    pub fn columns(&self, count_max: usize) -> Vec<Column> {
        let width = self.minutes.len().div_ceil(count_max.max(1)).max(1);
        let busiest = |minutes: &[Minute]| {
            let busiest = minutes.iter().max_by(|one, other| one.asked().total_cmp(&other.asked()));
            let Minute { consumed, throttled, .. } = busiest.copied().unwrap_or_default();
            let provisioned = minutes.iter().map(|minute| minute.provisioned).max().flatten();
            let of_second = |units: f64| units / MINUTE_SECONDS as f64;
            Column { provisioned, consumed: of_second(consumed), throttled: of_second(throttled) }
        };
        self.minutes.chunks(width).map(busiest).collect()
    }

    /// The unit-hours that are paid for: each hour by its highest capacity. None on demand.
    pub fn unit_hours(&self) -> Option<u64> {
        let highest = |hour: &[Minute]| hour.iter().map(|minute| minute.provisioned).max().flatten();
        self.minutes.chunks(HOUR_MINUTES).map(highest).sum()
    }

    /// What it costs at these prices.
    pub fn price(&self, access: Access, prices: &ClassPrices) -> f64 {
        let (million, unit_hour) = match access {
            Access::Read => (prices.read_million, prices.read_unit_hour),
            Access::Write => (prices.write_million, prices.write_unit_hour),
        };
        match self.unit_hours() {
            Some(unit_hours) => unit_hours as f64 * unit_hour,
            None => self.consumed() / 1e6 * million,
        }
    }
}

impl PlaceRun {
    /// Its reads or its writes.
    pub fn side(&self, access: Access) -> &Side {
        match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        }
    }

    fn side_mut(&mut self, access: Access) -> &mut Side {
        match access {
            Access::Read => &mut self.read,
            Access::Write => &mut self.write,
        }
    }
}

/// Plays the patterns of a model. `plans` are those of its patterns, in order.
pub fn simulate(model: &Model, plans: &[Plan], way: Payment, traffic: &Traffic) -> Simulation {
    let mut player = Player::new(model, plans, way, traffic);
    for minute in 0..traffic.length_minutes() {
        player.minute(minute, traffic.factor(minute));
    }
    let conflicts = contention::contention(model, traffic, &Facts::embedded().limits);
    Simulation { conflicts, ..player.simulation(way) }
}

struct Player {
    flows: Vec<Flow>,
    supplies: Vec<TableSupply>,
    runs: BTreeMap<Resource, PlaceRun>,
    keys: Vec<(KeyName, KeyTally)>,
}

/// What happened to one key.
#[derive(Default)]
struct KeyTally {
    consumed: f64,
    throttled: f64,
    /// In the minute that is not over.
    asked: f64,
    peak: f64,
}

impl Player {
    fn new(model: &Model, plans: &[Plan], way: Payment, traffic: &Traffic) -> Player {
        let flow::Flows { flows, keys } = flow::flows(model, plans, traffic.is_flat());
        let keys = keys.into_iter().map(|key| (key, KeyTally::default())).collect();
        let supplies = model
            .table_ids()
            .map(|table| TableSupply::new(model, table, way, &flows, traffic.factor(0)))
            .collect();
        let run = |place: Resource| PlaceRun {
            name: demand::name(model, place),
            table: place.0,
            read: Side::default(),
            write: Side::default(),
            reasons: BTreeMap::new(),
        };
        let runs = demand::resources(model).into_iter().map(|place| (place, run(place))).collect();
        Player { flows, supplies, runs, keys }
    }

    fn minute(&mut self, minute: usize, factor: f64) {
        self.begin_minute();
        for second in 0..MINUTE_SECONDS {
            let now_ms = (minute as u64 * MINUTE_SECONDS + second) * 1_000;
            for flow in 0..self.flows.len() {
                self.send(flow, minute % DAY_MINUTES, factor, now_ms);
            }
        }
        self.end_minute((minute as u64 + 1) * MINUTE_SECONDS * 1_000);
    }

    /// What is provisioned now is what the minute is billed by.
    fn begin_minute(&mut self) {
        for (place, run) in &mut self.runs {
            for access in Access::BOTH {
                let provisioned = self.supplies.iter().find_map(|supply| supply.provisioned(*place, access));
                run.side_mut(access).minutes.push(Minute { provisioned, ..Minute::default() });
            }
        }
    }

    /// The requests of one flow in one second.
    fn send(&mut self, flow: usize, minute: usize, factor: f64, now_ms: u64) {
        let flow = &mut self.flows[flow];
        let (access, table) = (flow.access, flow.table);
        let Some(supply) = self.supplies.iter_mut().find(|supply| supply.table == table) else { return };
        for request in flow.second(minute, factor) {
            let parts: Vec<capacity::Part> = request.parts.iter().map(|part| part.part).collect();
            let decision = supply.throughput.request(access, &parts, now_ms);
            for part in &request.parts {
                let reasons = decision.reasons().iter().filter(|reason| reason.place == part.part.place);
                let refused = reasons.map(|reason| reason.name()).next();
                note(&mut self.runs, part, request.count, access, &decision, refused);
                if let Some(key) = part.key {
                    self.keys[key].1.note(part.part.units, decision == Decision::Admitted);
                }
            }
        }
    }

    fn end_minute(&mut self, now_ms: u64) {
        for (_, key) in &mut self.keys {
            key.peak = key.peak.max(std::mem::take(&mut key.asked) / MINUTE_SECONDS as f64);
        }
        for supply in &mut self.supplies {
            let consumed = |place: Resource, access: Access| {
                let run = &self.runs[&place];
                let side = if access == Access::Read { &run.read } else { &run.write };
                side.minutes.last().map_or(0.0, |minute| minute.consumed)
            };
            supply.scale(consumed, now_ms);
        }
    }

    fn simulation(self, way: Payment) -> Simulation {
        let mut runs = self.runs;
        for (KeyName { place, access, name: key }, tally) in self.keys {
            let Some(run) = runs.get_mut(&place) else { continue };
            let hottest = &mut run.side_mut(access).hottest;
            let asked = tally.consumed + tally.throttled;
            if hottest.as_ref().is_none_or(|known| known.consumed + known.throttled < asked) {
                let KeyTally { consumed, throttled, peak, .. } = tally;
                *hottest = Some(HotKey { key, consumed, throttled, peak });
            }
        }
        Simulation { way, places: runs.into_values().collect(), conflicts: Vec::new() }
    }
}

impl KeyTally {
    fn note(&mut self, units: f64, admitted: bool) {
        self.asked += units;
        if admitted {
            self.consumed += units;
        } else {
            self.throttled += units;
        }
    }
}

/// Counts one part of a request. Of a refused request only the parts that refused it count as throttled.
fn note(
    runs: &mut BTreeMap<Resource, PlaceRun>,
    part: &flow::RequestPart,
    requests: f64,
    access: Access,
    decision: &Decision,
    refused: Option<String>,
) {
    let Some(run) = runs.get_mut(&part.place) else { return };
    let units = part.part.units;
    let Some(minute) = run.side_mut(access).minutes.last_mut() else { return };
    minute.requests += requests;
    let is_admitted = *decision == Decision::Admitted;
    if !is_admitted && (part.place.1.is_none() || refused.is_some()) {
        minute.refused += requests;
    }
    match refused {
        None if is_admitted => minute.consumed += units,
        None => {}
        Some(reason) => {
            minute.throttled += units;
            *run.reasons.entry(reason).or_default() += units;
        }
    }
}

/// All limits of AWS count in a simulation.
const ENFORCEMENT: Enforcement = Enforcement::Aws;
