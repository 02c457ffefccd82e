//! Auto scaling by target tracking: what Application Auto Scaling does with the provisioned units of a table
//! or global index, one minute after the other. The service runs it on real minutes, and the workbench plays
//! a day with it.
//!
//! With P provisioned units and the target t, each minute compares the units consumed with two alarms:
//!
//! - high: the last 2 minutes each used more than `P × 60 × t`;
//! - low: the last 15 minutes each used less than `P × 60 × (t − 0.20)`. The margin is 20 points, and not
//!   20 % of the target.
//!
//! Either alarm leads to the units that make the busiest of its minutes use the target, within the policy's
//! bounds. A step out never lowers the units, and a step in never raises them. So units below the minimum
//! stay there until there is a reason to raise them.
//!
//! Deciding and doing are apart: [`Scaler::decide`] says what to do, the caller does it and reports
//! [`Scaler::applied`]. A decrease also needs the table's [`Decreases`](crate::Decreases); if that refuses,
//! nothing is applied and the next minute decides again.

/// Minutes above the target before a step out.
pub const OUT_MINUTES: usize = 2;
/// Minutes below the low threshold before a step in.
pub const IN_MINUTES: usize = 15;
/// How far the low threshold is below the target.
const LOW_MARGIN: f64 = 0.20;
const MINUTE_SECONDS: f64 = 60.0;
/// What floating point adds to a whole number of units.
const ROUNDING: f64 = 1e-9;

/// A scalable target with its target-tracking policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// `MinCapacity`, in units each second.
    pub min_units: u64,
    /// `MaxCapacity`, in units each second.
    pub max_units: u64,
    /// `TargetValue` as a share: 0.7 for 70 %.
    pub target: f64,
    /// `ScaleOutCooldown`.
    pub out_cooldown_ms: u64,
    /// `ScaleInCooldown`.
    pub in_cooldown_ms: u64,
    /// `DisableScaleIn`: the policy never takes units away.
    pub scale_in_disabled: bool,
}

/// What to do in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Neither alarm is on.
    Quiet,
    /// An alarm is on, and still nothing changes.
    NotScaled(NotScaled),
    /// Raise the provisioned units to this many.
    Out(u64),
    /// Lower the provisioned units to this many.
    In(u64),
}

/// Why an alarm changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotScaled {
    /// `AlreadyAtMaxCapacity`.
    AlreadyAtMax,
    /// `AlreadyAtMinCapacity`, or below it.
    AlreadyAtMin,
    /// `AlreadyAtDesiredCapacity`.
    AlreadyAtDesired,
    /// The cooldown of an earlier step is not over.
    Cooldown,
}

/// What auto scaling remembers of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaler {
    /// The units consumed in each of the last minutes, in a ring.
    minutes: [f64; IN_MINUTES],
    recorded: usize,
    /// The latest step out: when, and to how many units.
    last_out: Option<(u64, u64)>,
    last_in_ms: Option<u64>,
}

impl Policy {
    /// The sum of a minute above which the high alarm goes on.
    pub fn high_threshold(&self, provisioned_units: u64) -> f64 {
        provisioned_units as f64 * MINUTE_SECONDS * self.target
    }

    /// The sum of a minute below which the low alarm goes on. It stays positive for a target near 20 %.
    pub fn low_threshold(&self, provisioned_units: u64) -> f64 {
        let share = (self.target - LOW_MARGIN).max(self.target / 2.0);
        provisioned_units as f64 * MINUTE_SECONDS * share
    }

    /// The units at which a minute uses the target, bounds aside.
    pub fn fitting(&self, minute_sum: f64) -> u64 {
        let units = minute_sum / MINUTE_SECONDS / self.target;
        (units * (1.0 - ROUNDING)).ceil() as u64
    }

    /// The nearest units within the bounds, if these are outside. It is applied when a target is registered
    /// or its bounds change, whatever the alarms say.
    pub fn out_of_bounds(&self, provisioned_units: u64) -> Option<u64> {
        let nearest = self.bounded(provisioned_units);
        (nearest != provisioned_units).then_some(nearest)
    }

    fn bounded(&self, units: u64) -> u64 {
        units.min(self.max_units).max(self.min_units)
    }
}

impl Scaler {
    /// A target of which nothing is known yet.
    pub fn new() -> Scaler {
        Scaler::default()
    }

    /// Notes the units consumed in the minute that just ended, zero if it was idle. For a customized metric
    /// this is `P × 60 × value / 100`, so that its value counts as utilisation.
    pub fn record(&mut self, minute_sum: f64) {
        self.minutes[self.recorded % IN_MINUTES] = minute_sum;
        self.recorded += 1;
    }

    /// What the minutes so far ask for. `provisioned_units` are the present ones, set by auto scaling or by
    /// hand.
    pub fn decide(&self, policy: &Policy, provisioned_units: u64, now_ms: u64) -> Step {
        if self.is_high(policy, provisioned_units) {
            self.decide_out(policy, provisioned_units, now_ms)
        } else if self.is_low(policy, provisioned_units) && !policy.scale_in_disabled {
            self.decide_in(policy, provisioned_units, now_ms)
        } else {
            Step::Quiet
        }
    }

    /// Notes that a step was carried out.
    pub fn applied(&mut self, step: Step, now_ms: u64) {
        match step {
            Step::Out(units) => {
                self.last_out = Some((now_ms, units));
                self.last_in_ms = None;
            }
            Step::In(_) => self.last_in_ms = Some(now_ms),
            Step::Quiet | Step::NotScaled(_) => {}
        }
    }

    /// Whether `AlarmHigh` is in ALARM.
    pub fn is_high(&self, policy: &Policy, provisioned_units: u64) -> bool {
        let threshold = policy.high_threshold(provisioned_units);
        self.last(OUT_MINUTES).is_some_and(|mut minutes| minutes.all(|sum| sum > threshold))
    }

    /// Whether `AlarmLow` is in ALARM.
    pub fn is_low(&self, policy: &Policy, provisioned_units: u64) -> bool {
        let threshold = policy.low_threshold(provisioned_units);
        self.last(IN_MINUTES).is_some_and(|mut minutes| minutes.all(|sum| sum < threshold))
    }

    /// A running cooldown stops only what is not larger than the step out that it follows.
    fn decide_out(&self, policy: &Policy, provisioned_units: u64, now_ms: u64) -> Step {
        let desired = policy.bounded(policy.fitting(self.busiest(OUT_MINUTES)));
        let cools = self.last_out.is_some_and(|(at_ms, units)| {
            now_ms.saturating_sub(at_ms) < policy.out_cooldown_ms && desired <= units
        });
        match desired {
            _ if provisioned_units >= policy.max_units => Step::NotScaled(NotScaled::AlreadyAtMax),
            _ if desired <= provisioned_units => Step::NotScaled(NotScaled::AlreadyAtDesired),
            _ if cools => Step::NotScaled(NotScaled::Cooldown),
            _ => Step::Out(desired),
        }
    }

    fn decide_in(&self, policy: &Policy, provisioned_units: u64, now_ms: u64) -> Step {
        let desired = policy.bounded(policy.fitting(self.busiest(IN_MINUTES)));
        let cools = self.last_in_ms.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) < policy.in_cooldown_ms);
        match desired {
            _ if provisioned_units <= policy.min_units => Step::NotScaled(NotScaled::AlreadyAtMin),
            _ if desired >= provisioned_units => Step::NotScaled(NotScaled::AlreadyAtDesired),
            _ if cools => Step::NotScaled(NotScaled::Cooldown),
            _ => Step::In(desired),
        }
    }

    /// The latest minutes, if there were that many.
    fn last(&self, count: usize) -> Option<impl Iterator<Item = f64> + '_> {
        let from = self.recorded.checked_sub(count)?;
        Some((from..self.recorded).map(|minute| self.minutes[minute % IN_MINUTES]))
    }

    fn busiest(&self, count: usize) -> f64 {
        self.last(count).map_or(0.0, |minutes| minutes.fold(0.0, f64::max))
    }
}
