//! A table in simulated time.

use std::collections::BTreeMap;

use capacity::{Access, Cause, Decision, Enforcement, Part, Place, Settings, Throughput};

pub const START_MS: u64 = 1_800_000_000_000;
/// The one global index of the table, if it has one.
pub const INDEX: Place = Place::Index(7);
/// How often requests arrive: those of a second are spread over this many moments.
const MOMENTS_PER_SECOND: u64 = 25;
/// The requests of a second, if more units than that are asked for. Each is larger then.
const REQUESTS_PER_SECOND: u64 = 500;

/// The units that were asked for in one stretch of time, by outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub seconds: u64,
    pub admitted: u64,
    /// Refused, or refused if it were AWS, by the reason's name.
    pub throttled: BTreeMap<String, u64>,
}

impl Tally {
    pub fn admitted_per_second(&self) -> f64 {
        self.admitted as f64 / self.seconds as f64
    }

    pub fn throttled(&self) -> u64 {
        self.throttled.values().sum()
    }

    pub fn reasons(&self) -> Vec<&str> {
        self.throttled.keys().map(String::as_str).collect()
    }

    /// The share of units that were refused.
    pub fn share(&self) -> f64 {
        self.throttled() as f64 / (self.throttled() + self.admitted) as f64
    }
}

pub struct Table {
    pub throughput: Throughput,
    pub now_ms: u64,
    /// How many requests came, so that each has a number.
    pub number: u64,
}

impl Table {
    pub fn new(enforcement: Enforcement, settings: Settings) -> Table {
        Table { throughput: Throughput::new(enforcement, settings, START_MS), now_ms: START_MS, number: 0 }
    }

    pub fn with_index(mut self, settings: Settings) -> Table {
        let Place::Index(index) = INDEX else { unreachable!() };
        self.throughput.set_index(index, settings, self.now_ms);
        self
    }

    /// Requests for `rate` units a second. `key` names the key of each, by its number.
    pub fn run(&mut self, access: Access, rate: u64, seconds: u64, key: impl Fn(u64) -> u64) -> Tally {
        self.run_parts(access, rate, seconds, |number| vec![part(Place::Table, key(number))])
    }

    pub fn run_parts(
        &mut self,
        access: Access,
        rate: u64,
        seconds: u64,
        parts: impl Fn(u64) -> Vec<Part>,
    ) -> Tally {
        let mut tally = Tally { seconds, ..Tally::default() };
        let units = rate.div_ceil(REQUESTS_PER_SECOND);
        let mut sent = 0;
        for moment in 1..=seconds * MOMENTS_PER_SECOND {
            self.now_ms += 1_000 / MOMENTS_PER_SECOND;
            while sent + units <= moment * rate / MOMENTS_PER_SECOND {
                let mut parts = parts(self.number);
                parts.iter_mut().for_each(|part| part.units = units as f64);
                let decision = self.throughput.request(access, &parts, self.now_ms);
                tally.note(&decision, units);
                self.number += 1;
                sent += units;
            }
        }
        tally
    }

    pub fn rest(&mut self, seconds: u64) {
        self.now_ms += seconds * 1_000;
    }
}

impl Tally {
    fn note(&mut self, decision: &Decision, units: u64) {
        if *decision == Decision::Admitted {
            self.admitted += units;
        }
        for reason in decision.reasons() {
            *self.throttled.entry(reason.name()).or_default() += units;
        }
    }
}

pub fn part(place: Place, key: u64) -> Part {
    Part { place, key_hash: Some(hash(key)), units: 1.0 }
}

/// Spreads numbers over all hashes.
pub fn hash(key: u64) -> u64 {
    let mut hash = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        hash = (hash ^ (hash >> 29)).wrapping_mul(factor);
    }
    hash ^ (hash >> 32)
}

pub fn causes(decision: &Decision) -> Vec<Cause> {
    decision.reasons().iter().map(|reason| reason.cause).collect()
}
