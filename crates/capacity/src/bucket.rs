//! Throughput over time: how much of it is left. Pure: the caller says what time it is.
//!
//! A request is admitted while anything is left, and pays what it really cost. So the last one may leave a
//! debt, which is paid before the next one is admitted. A bucket starts full, as if it had been idle before.

/// For how long unused throughput is saved up.
pub const BURST_SECONDS: f64 = 300.0;
/// The longest time that a debt takes to be paid. What costs more than that is forgiven.
const DEBT_SECONDS: f64 = 300.0;
/// What floating point may leave of an empty bucket.
const ROUNDING: f64 = 1e-9;

/// What may be used now, and how it grows.
#[derive(Clone, Debug)]
pub struct Bucket {
    units_per_second: f64,
    burst_seconds: f64,
    balance: f64,
    /// When the balance was true.
    at_ms: u64,
}

impl Bucket {
    /// A full one.
    pub fn new(units_per_second: u64, burst_seconds: f64) -> Bucket {
        debug_assert!(burst_seconds > 0.0, "a bucket has some size");
        let units_per_second = units_per_second as f64;
        Bucket { units_per_second, burst_seconds, balance: units_per_second * burst_seconds, at_ms: 0 }
    }

    /// Whether a request may use it now.
    pub fn is_open(&mut self, now_ms: u64) -> bool {
        self.left(now_ms) > 0.0
    }

    /// How many units may be used now; a debt is negative.
    pub fn left(&mut self, now_ms: u64) -> f64 {
        self.refill(now_ms);
        debug_assert!(self.balance <= self.capacity(), "a bucket is never above its size");
        if self.balance > ROUNDING { self.balance } else { self.balance.min(0.0) }
    }

    /// Pays for a request; a negative amount is given back.
    pub fn take(&mut self, units: f64, now_ms: u64) {
        debug_assert!(units.is_finite(), "a request costs {units}");
        self.refill(now_ms);
        self.set_balance(self.balance - units);
    }

    /// Goes on at another rate with what is left, and no more than that rate saves up. The time since the
    /// last request counts at the new rate.
    pub fn set_rate(&mut self, units_per_second: u64) {
        self.units_per_second = units_per_second as f64;
        self.set_balance(self.balance);
    }

    fn set_balance(&mut self, balance: f64) {
        self.balance = balance.clamp(-self.units_per_second * DEBT_SECONDS, self.capacity());
        debug_assert!(self.balance.is_finite(), "a balance can be compared");
    }

    fn capacity(&self) -> f64 {
        self.units_per_second * self.burst_seconds
    }

    /// A clock that goes back adds nothing.
    fn refill(&mut self, now_ms: u64) {
        if now_ms <= self.at_ms {
            return;
        }
        let passed_ms = now_ms - self.at_ms;
        self.at_ms = now_ms;
        let grown = self.balance + self.units_per_second * passed_ms as f64 / 1000.0;
        debug_assert!(grown >= self.balance, "time takes no units away");
        self.balance = grown.min(self.capacity());
    }
}
