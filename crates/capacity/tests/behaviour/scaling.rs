//! Auto scaling, minute by minute.

use capacity::Decreases;
use capacity::scaling::{NotScaled, Policy, Scaler, Step};
use proptest::prelude::*;

const MINUTE_MS: u64 = 60_000;
const DAY_MINUTES: u64 = 24 * 60;
/// Midnight UTC of some day.
const MIDNIGHT_MS: u64 = 20_000 * 86_400_000;

fn policy(min_units: u64, max_units: u64) -> Policy {
    Policy {
        min_units,
        max_units,
        target: 0.7,
        out_cooldown_ms: 0,
        in_cooldown_ms: 0,
        scale_in_disabled: false,
    }
}

/// A table whose units are scaled, and of which everything provisioned but no more can be used.
struct Table {
    policy: Policy,
    scaler: Scaler,
    decreases: Decreases,
    units: u64,
    minute: u64,
    /// Every step carried out, with its minute.
    steps: Vec<(u64, Step)>,
}

impl Table {
    fn new(policy: Policy, units: u64) -> Table {
        let (scaler, decreases) = (Scaler::new(), Decreases::default());
        Table { policy, scaler, decreases, units, minute: 0, steps: Vec::new() }
    }

    /// One minute with a demand of this many units each second.
    fn minute(&mut self, demand: f64) -> Step {
        self.scaler.record(demand.min(self.units as f64) * 60.0);
        self.minute += 1;
        let now_ms = MIDNIGHT_MS + self.minute * MINUTE_MS;
        let step = self.scaler.decide(&self.policy, self.units, now_ms);
        match step {
            Step::Out(units) => self.apply(step, units, now_ms),
            Step::In(units) if self.decreases.try_take(now_ms) => self.apply(step, units, now_ms),
            _ => {}
        }
        step
    }

    fn minutes(&mut self, demand: f64, minutes: u64) {
        for _ in 0..minutes {
            self.minute(demand);
        }
    }

    fn apply(&mut self, step: Step, units: u64, now_ms: u64) {
        self.scaler.applied(step, now_ms);
        self.units = units;
        self.steps.push((self.minute, step));
    }
}

#[test]
fn the_alarms_are_those_that_were_measured() {
    let thresholds = |units, target| {
        let policy = Policy { target, ..policy(1, 1000) };
        (policy.high_threshold(units).round(), policy.low_threshold(units).round())
    };
    assert_eq!(thresholds(5, 0.70), (210.0, 150.0));
    assert_eq!(thresholds(12, 0.70).1, 360.0);
    assert_eq!(thresholds(2, 0.75).1, 66.0);
    assert_eq!(thresholds(5, 0.75).1, 165.0);
    // Near 20 % the lower one stays above nothing.
    assert_eq!(thresholds(10, 0.20).1, 60.0);
}

#[test]
fn units_fit_the_target() {
    let policy = policy(1, 1000);
    assert_eq!(policy.fitting(150.0 * 60.0), 215);
    assert_eq!(policy.fitting(70.0 * 60.0), 100);
    assert_eq!(policy.fitting(0.0), 0);
}

#[test]
fn two_minutes_above_the_target_scale_out() {
    let mut table = Table::new(policy(5, 1000), 100);
    assert_eq!(table.minute(80.0), Step::Quiet);
    assert_eq!(table.minute(60.0), Step::Quiet);
    assert_eq!(table.minute(80.0), Step::Quiet);
    assert_eq!(table.minute(75.0), Step::Out(115));
}

#[test]
fn a_saturated_table_grows_by_the_target_at_each_step_until_it_fits() {
    let mut table = Table::new(policy(5, 1000), 100);
    table.minutes(400.0, 20);
    let units: Vec<Step> = table.steps.iter().map(|(_, step)| *step).collect();
    assert_eq!(units, [Step::Out(143), Step::Out(205), Step::Out(293), Step::Out(419), Step::Out(572)]);
    assert_eq!(table.scaler.decide(&table.policy, 572, 0), Step::Quiet);
}

#[test]
fn fifteen_minutes_below_scale_in_to_what_the_busiest_of_them_used() {
    let mut table = Table::new(policy(5, 1000), 100);
    table.minutes(10.0, 7);
    table.minute(49.0);
    table.minutes(10.0, 6);
    assert!(table.steps.is_empty());
    assert_eq!(table.minute(10.0), Step::In(70));
}

#[test]
fn an_idle_table_goes_to_its_minimum_and_stays() {
    let mut table = Table::new(policy(1, 10), 5);
    table.minutes(0.0, 60);
    assert_eq!(table.steps, [(15, Step::In(1))]);
    assert_eq!(table.minute(0.0), Step::NotScaled(NotScaled::AlreadyAtMin));
}

#[test]
fn a_value_below_the_minimum_that_somebody_set_stays() {
    let mut table = Table::new(policy(5, 10), 2);
    table.minutes(0.0, 30);
    assert_eq!(table.units, 2);
    assert_eq!(table.policy.out_of_bounds(2), Some(5));
    assert_eq!(table.policy.out_of_bounds(12), Some(10));
    assert_eq!(table.policy.out_of_bounds(7), None);
}

#[test]
fn the_bounds_hold() {
    let mut table = Table::new(policy(5, 1000), 100);
    table.minutes(5_000.0, 60);
    assert_eq!(table.units, 1000);
    assert_eq!(table.minute(5_000.0), Step::NotScaled(NotScaled::AlreadyAtMax));
    table.minutes(0.0, 60);
    assert_eq!(table.units, 5);
}

#[test]
fn scale_in_can_be_switched_off() {
    let mut table = Table::new(Policy { scale_in_disabled: true, ..policy(5, 1000) }, 100);
    table.minutes(0.0, 60);
    assert_eq!(table.units, 100);
}

#[test]
fn a_cooldown_holds_back_a_second_step_in_but_never_a_larger_step_out() {
    let cooling =
        Policy { out_cooldown_ms: 10 * MINUTE_MS, in_cooldown_ms: 30 * MINUTE_MS, ..policy(1, 1000) };
    let mut table = Table::new(cooling, 100);
    table.minutes(40.0, 15);
    assert_eq!(table.units, 58);
    table.minutes(10.0, 15);
    assert_eq!(table.minute(10.0), Step::NotScaled(NotScaled::Cooldown));
    assert_eq!(table.units, 58);
    // A step out runs at once and ends the cooldown of the step in.
    table.minutes(58.0, 2);
    assert_eq!(table.units, 83);
    table.minutes(83.0, 2);
    assert_eq!(table.units, 119);
    table.minutes(10.0, 15);
    assert_eq!(table.units, 15);
}

#[test]
fn a_smaller_step_out_waits_for_the_cooldown() {
    let cooling = Policy { out_cooldown_ms: 10 * MINUTE_MS, ..policy(1, 1000) };
    let mut table = Table::new(cooling, 100);
    table.minutes(100.0, 2);
    assert_eq!(table.units, 143);
    // Somebody takes back part of it.
    table.units = 120;
    table.minute(100.0);
    assert_eq!(table.minute(100.0), Step::NotScaled(NotScaled::Cooldown));
    table.minutes(100.0, 8);
    assert_eq!(table.units, 143);
}

#[test]
fn a_refused_decrease_is_tried_again_each_minute() {
    let mut table = Table::new(policy(1, 1000), 1000);
    // Four decreases in the first hour of the day, by somebody else.
    for minute in 0..4 {
        assert!(table.decreases.try_take(MIDNIGHT_MS + minute * MINUTE_MS));
    }
    table.minutes(10.0, 62);
    assert_eq!(table.units, 1000);
    table.minute(10.0);
    assert_eq!(table.units, 15);
}

/// A demand for each minute of two days.
fn days() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0.0..2_000.0, 1..90_usize), 1..200).prop_map(|runs| {
        let minutes = runs.iter().flat_map(|(demand, minutes)| std::iter::repeat_n(*demand, *minutes));
        minutes.take(2 * DAY_MINUTES as usize).collect()
    })
}

proptest! {
    #[test]
    fn units_stay_within_bounds_and_every_step_goes_its_way(
        demands in days(),
        min_units in 1..100_u64,
        more in 0..2_000_u64,
        target in 0.2..0.9,
    ) {
        let policy = Policy { target, ..policy(min_units, min_units + more) };
        let mut table = Table::new(policy, min_units);
        for demand in demands {
            let before = table.units;
            match table.minute(demand) {
                Step::Out(units) => prop_assert!(units > before),
                Step::In(units) => prop_assert!(units < before),
                Step::Quiet | Step::NotScaled(_) => prop_assert_eq!(before, table.units),
            }
            prop_assert!((policy.min_units..=policy.max_units).contains(&table.units));
        }
        for day in table.steps.chunk_by(|one, other| one.0 / DAY_MINUTES == other.0 / DAY_MINUTES) {
            let decreases = day.iter().filter(|(_, step)| matches!(step, Step::In(_)));
            prop_assert!(decreases.count() <= 27);
        }
    }

    /// A step in is never taken back by the minutes that led to it.
    #[test]
    fn a_step_in_does_not_lead_to_a_step_out(sums in prop::collection::vec(0.0..3_000.0, 15), units in 2..500_u64) {
        let policy = policy(1, 10_000);
        let mut scaler = Scaler::new();
        sums.iter().for_each(|sum| scaler.record(*sum));
        if let Step::In(fewer) = scaler.decide(&policy, units, 0) {
            let next = scaler.decide(&policy, fewer, 0);
            prop_assert!(!matches!(next, Step::Out(_)), "{next:?} after {fewer}");
        }
    }

    #[test]
    fn a_steady_demand_settles_at_the_target(demand in 10.0..5_000.0) {
        let mut table = Table::new(policy(5, 100_000), 100);
        table.minutes(demand, 120);
        let utilisation = demand / table.units as f64;
        prop_assert!(utilisation <= 0.7 + 1e-6, "{utilisation}");
        prop_assert!(utilisation > 0.5 - 0.05, "{utilisation}");
        let settled = table.steps.len();
        table.minutes(demand, 120);
        prop_assert_eq!(table.steps.len(), settled);
    }
}
