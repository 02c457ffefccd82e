//! Auto scaling, simulated minute by minute over a day with the steps of [`capacity::scaling`] and the quota of
//! decreases that a table has.
//!
//! Two days are simulated and the second counts, so that the day begins as it ends. An hour is billed by its highest
//! capacity. Reads and writes of a table are simulated separately, each with the whole quota of decreases.

use capacity::scaling::{Scaler, Step};
use capacity::{BURST_SECONDS, Decreases};
use serde::Serialize;

use crate::model::Capacity;
use crate::traffic::{Day, HOURS};

pub use capacity::scaling::Policy;

const MINUTES: usize = HOURS * 60;
const MINUTE_SECONDS: f64 = 60.0;
const MINUTE_MS: u64 = 60_000;
const DEFAULT_TARGET: f64 = 0.70;
const DEFAULT_MIN: u64 = 1;
/// More than any account can have; it keeps sums over hours and tables within their type.
const UNITS_MAX: u64 = 1_000_000_000_000;

/// The policy that the file sets; by default a target of 70 % without bounds.
pub fn policy(capacity: Option<&Capacity>) -> Policy {
    let cooldown_ms = |seconds: Option<u64>| seconds.unwrap_or(0).saturating_mul(1_000);
    let capacity = capacity.cloned().unwrap_or_default();
    let min_units = capacity.min.unwrap_or(DEFAULT_MIN).clamp(1, UNITS_MAX);
    Policy {
        min_units,
        max_units: capacity.max.unwrap_or(UNITS_MAX).clamp(min_units, UNITS_MAX),
        target: capacity.target.unwrap_or(DEFAULT_TARGET).clamp(0.05, 1.0),
        out_cooldown_ms: cooldown_ms(capacity.scale_out_seconds),
        in_cooldown_ms: cooldown_ms(capacity.scale_in_seconds),
        scale_in_disabled: false,
    }
}

/// A day of provisioned capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provisioned {
    /// The highest capacity of each hour, which is billed.
    pub hours: [u64; HOURS],
    /// The share of the capacity that was used.
    pub utilisation: f64,
    /// The share of units refused after 300 seconds of burst capacity were used up.
    pub throttled: f64,
}

impl Provisioned {
    /// The same capacity all day.
    pub fn fixed(units: u64, demand: &Day) -> Provisioned {
        let units = units.min(UNITS_MAX);
        simulate(demand, &Policy { min_units: units, max_units: units, ..policy(None) })
    }

    /// Unit-hours of a day.
    pub fn unit_hours(&self) -> u64 {
        self.hours.iter().sum()
    }
}

/// Simulates a demand of units per second.
pub fn simulate(demand: &Day, policy: &Policy) -> Provisioned {
    let mut player = Player::new(demand, policy);
    player.day(demand);
    player.tally = Tally::default();
    player.day(demand);
    player.tally.provisioned()
}

struct Player<'p> {
    policy: &'p Policy,
    scaler: Scaler,
    decreases: Decreases,
    capacity: u64,
    /// Burst capacity: unused units, at most 300 seconds' worth.
    saved: f64,
    minute: u64,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    hours: [u64; HOURS],
    used: f64,
    there: f64,
    asked: f64,
}

impl Tally {
    fn provisioned(self) -> Provisioned {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Provisioned {
            hours: self.hours,
            utilisation: share(self.used, self.there),
            throttled: share(self.asked - self.used, self.asked).max(0.0),
        }
    }
}

impl<'p> Player<'p> {
    fn new(demand: &Day, policy: &'p Policy) -> Player<'p> {
        let fitting = policy.fitting(demand.at_minute(0) * MINUTE_SECONDS);
        Player {
            policy,
            scaler: Scaler::new(),
            decreases: Decreases::default(),
            capacity: fitting.clamp(policy.min_units, policy.max_units),
            saved: 0.0,
            minute: 0,
            tally: Tally::default(),
        }
    }

    fn day(&mut self, demand: &Day) {
        for minute in 0..MINUTES {
            self.minute(minute / 60, demand.at_minute(minute));
        }
    }

    fn minute(&mut self, hour: usize, demand: f64) {
        let capacity = self.capacity as f64;
        let used = demand.min(capacity + self.saved / MINUTE_SECONDS);
        let saved = self.saved + (capacity - used) * MINUTE_SECONDS;
        self.saved = saved.clamp(0.0, capacity * BURST_SECONDS);
        self.tally.used += used;
        self.tally.asked += demand;
        self.tally.there += capacity;
        self.tally.hours[hour] = self.tally.hours[hour].max(self.capacity);
        self.scale(used);
    }

    fn scale(&mut self, used: f64) {
        self.scaler.record(used * MINUTE_SECONDS);
        self.minute += 1;
        let now_ms = self.minute * MINUTE_MS;
        let step = self.scaler.decide(self.policy, self.capacity, now_ms);
        let units = match step {
            Step::Out(units) => units,
            Step::In(units) if self.decreases.try_take(now_ms) => units,
            Step::In(_) | Step::Quiet | Step::NotScaled(_) => return,
        };
        self.capacity = units;
        self.scaler.applied(step, now_ms);
    }
}
