//! Auto scaling, played minute by minute over a day.
//!
//! Capacity goes up when more than the target was used for two minutes, to what makes the use the target
//! again; it goes down when less than 20 points below the target was used for fifteen minutes. It may go
//! down four times a day, and beyond that once in each hour. The second of two days is what counts, so that
//! the day begins as it ends. An hour is billed by its highest capacity.

use serde::Serialize;

use crate::model::Capacity;
use crate::traffic::{Day, HOURS};

const MINUTES: usize = HOURS * 60;
const OUT_AFTER_MINUTES: u32 = 2;
const IN_AFTER_MINUTES: u32 = 15;
const IN_BELOW_TARGET: f64 = 0.20;
const DECREASES_AT_ANY_TIME: u32 = 4;
const DEFAULT_TARGET: f64 = 0.70;
const DEFAULT_MIN: u64 = 1;
const COOLDOWN_MINUTES: u64 = 1;
/// More than anybody can have; it keeps sums of hours and tables within their type.
const UNITS_MAX: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    pub min: u64,
    pub max: u64,
    pub target: f64,
    pub out_cooldown_minutes: u64,
    pub in_cooldown_minutes: u64,
}

impl Policy {
    /// As the file sets it, or 70 % of whatever it takes.
    pub fn of(capacity: Option<&Capacity>) -> Policy {
        let minutes = |seconds: Option<u64>| seconds.map_or(COOLDOWN_MINUTES, |seconds| seconds.div_ceil(60));
        let capacity = capacity.cloned().unwrap_or_default();
        let min = capacity.min.unwrap_or(DEFAULT_MIN).clamp(1, UNITS_MAX);
        Policy {
            min,
            max: capacity.max.unwrap_or(UNITS_MAX).clamp(min, UNITS_MAX),
            target: capacity.target.unwrap_or(DEFAULT_TARGET).clamp(0.05, 1.0),
            out_cooldown_minutes: minutes(capacity.scale_out_seconds),
            in_cooldown_minutes: minutes(capacity.scale_in_seconds),
        }
    }

    fn fit(&self, used: f64) -> u64 {
        ((used / self.target).ceil() as u64).clamp(self.min, self.max)
    }
}

/// A day of provisioned capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provisioned {
    /// The highest capacity of each hour, which is what is paid for.
    pub hours: [u64; HOURS],
    /// What was used of all that was there.
    pub utilisation: f64,
    /// The share of units refused, after 300 seconds of saved up capacity were used.
    pub throttled: f64,
}

impl Provisioned {
    /// The same capacity all day.
    pub fn fixed(units: u64, demand: &Day) -> Provisioned {
        let units = units.min(UNITS_MAX);
        let policy = Policy { min: units, max: units, ..Policy::of(None) };
        simulate(demand, &policy)
    }

    /// Unit-hours of a day.
    pub fn unit_hours(&self) -> u64 {
        self.hours.iter().sum()
    }
}

/// Plays a demand of units each second.
pub fn simulate(demand: &Day, policy: &Policy) -> Provisioned {
    let mut scaler = Scaler::new(demand, policy);
    scaler.day(demand);
    scaler.tally = Tally::default();
    scaler.day(demand);
    scaler.tally.provisioned()
}

struct Scaler<'p> {
    policy: &'p Policy,
    capacity: u64,
    /// Saved up units, at most 300 seconds of capacity.
    saved: f64,
    minutes_above: u32,
    minutes_below: u32,
    since_change: u64,
    since_decrease: u64,
    decreases: u32,
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

impl<'p> Scaler<'p> {
    fn new(demand: &Day, policy: &'p Policy) -> Scaler<'p> {
        Scaler {
            policy,
            capacity: policy.fit(demand.at_minute(0)),
            saved: 0.0,
            minutes_above: 0,
            minutes_below: 0,
            since_change: u64::MAX / 2,
            since_decrease: u64::MAX / 2,
            decreases: 0,
            tally: Tally::default(),
        }
    }

    fn day(&mut self, demand: &Day) {
        self.decreases = 0;
        for minute in 0..MINUTES {
            self.minute(minute / 60, demand.at_minute(minute));
        }
    }

    fn minute(&mut self, hour: usize, demand: f64) {
        let capacity = self.capacity as f64;
        let used = demand.min(capacity + self.saved / 60.0);
        self.saved = (self.saved + (capacity - used) * 60.0).clamp(0.0, capacity * 300.0);
        self.tally.used += used;
        self.tally.asked += demand;
        self.tally.there += capacity;
        self.tally.hours[hour] = self.tally.hours[hour].max(self.capacity);
        self.watch(used, capacity);
        self.decide(used);
    }

    fn watch(&mut self, used: f64, capacity: f64) {
        let (target, low) = (self.policy.target, (self.policy.target - IN_BELOW_TARGET).max(0.0));
        self.minutes_above = if used > capacity * target { self.minutes_above + 1 } else { 0 };
        self.minutes_below = if used < capacity * low { self.minutes_below + 1 } else { 0 };
        self.since_change += 1;
        self.since_decrease += 1;
    }

    fn decide(&mut self, used: f64) {
        let wanted = self.policy.fit(used);
        let up = self.minutes_above >= OUT_AFTER_MINUTES
            && wanted > self.capacity
            && self.since_change >= self.policy.out_cooldown_minutes;
        let down = self.minutes_below >= IN_AFTER_MINUTES
            && wanted < self.capacity
            && self.since_change >= self.policy.in_cooldown_minutes
            && (self.decreases < DECREASES_AT_ANY_TIME || self.since_decrease >= 60);
        if up || down {
            self.capacity = wanted;
            (self.since_change, self.minutes_above, self.minutes_below) = (0, 0, 0);
        }
        if down {
            self.decreases += 1;
            self.since_decrease = 0;
        }
    }
}
