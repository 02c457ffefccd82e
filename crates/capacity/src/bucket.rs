//! Throughput over time: how much of it is left, of a whole table or index and of each of its partition
//! keys. Pure: whoever asks says what time it is.
//!
//! A request is admitted while anything is left, and pays what it really cost. So the last one may leave a
//! debt, which is paid before the next one is admitted. A bucket starts full, as if it had been idle before.

use std::collections::HashMap;
use std::hash::Hash;

/// For how long unused throughput is saved up.
pub const BURST_SECONDS: f64 = 300.0;
/// The same for one partition key, which may go beyond what a partition sustains only for a moment.
pub const KEY_BURST_SECONDS: f64 = 10.0;
/// The longest time that a debt takes to be paid. What costs more than that is forgiven.
const DEBT_SECONDS: f64 = 300.0;
/// What floating point may leave of an empty bucket.
const ROUNDING: f64 = 1e-9;

/// What may be used now, and how it grows.
#[derive(Clone, Debug)]
pub struct Bucket {
    units_a_second: f64,
    burst_seconds: f64,
    balance: f64,
    /// When the balance was true.
    at_ms: u64,
}

impl Bucket {
    /// A full one.
    pub fn new(units_a_second: u64, burst_seconds: f64) -> Bucket {
        let units_a_second = units_a_second as f64;
        Bucket { units_a_second, burst_seconds, balance: units_a_second * burst_seconds, at_ms: 0 }
    }

    /// Whether a request may use it now.
    pub fn is_open(&mut self, now_ms: u64) -> bool {
        self.left(now_ms) > 0.0
    }

    /// How many units may be used now; a debt is negative.
    pub fn left(&mut self, now_ms: u64) -> f64 {
        self.refill(now_ms);
        if self.balance > ROUNDING { self.balance } else { self.balance.min(0.0) }
    }

    /// Pays for a request; a negative amount is given back.
    pub fn take(&mut self, units: f64, now_ms: u64) {
        self.refill(now_ms);
        self.set_balance(self.balance - units);
    }

    /// Goes on at another rate with what is left, and no more than that rate saves up. The time since the
    /// last request counts at the new rate.
    pub fn set_rate(&mut self, units_a_second: u64) {
        self.units_a_second = units_a_second as f64;
        self.set_balance(self.balance);
    }

    fn set_balance(&mut self, balance: f64) {
        self.balance = balance.clamp(-self.units_a_second * DEBT_SECONDS, self.capacity());
    }

    fn capacity(&self) -> f64 {
        self.units_a_second * self.burst_seconds
    }

    /// A clock that goes back adds nothing.
    fn refill(&mut self, now_ms: u64) {
        if now_ms <= self.at_ms {
            return;
        }
        let passed_ms = now_ms - self.at_ms;
        self.at_ms = now_ms;
        let grown = self.balance + self.units_a_second * passed_ms as f64 / 1000.0;
        self.balance = grown.min(self.capacity());
    }
}

/// A bucket for each key that was lately used, all with the same rate. It remembers two generations of
/// keys: when the younger is full it becomes the older, which is forgotten. A forgotten key has a full
/// bucket again; to be forgotten it must rest while as many others as fit a generation are used.
#[derive(Debug)]
pub struct KeyBuckets<K> {
    units_a_second: u64,
    generation_max: usize,
    younger: HashMap<K, Bucket>,
    older: HashMap<K, Bucket>,
}

impl<K: Eq + Hash + Clone> KeyBuckets<K> {
    pub fn new(units_a_second: u64, generation_max: usize) -> KeyBuckets<K> {
        KeyBuckets { units_a_second, generation_max, younger: HashMap::new(), older: HashMap::new() }
    }

    /// Whether a request may use this key now. A key that nobody knows is not remembered for being asked after.
    pub fn is_open(&mut self, key: &K, now_ms: u64) -> bool {
        self.known(key).is_none_or(|bucket| bucket.is_open(now_ms))
    }

    /// How many units of this key may be used now; a debt is negative.
    pub fn left(&mut self, key: &K, now_ms: u64) -> f64 {
        let full = self.units_a_second as f64 * KEY_BURST_SECONDS;
        self.known(key).map_or(full, |bucket| bucket.left(now_ms))
    }

    fn known(&mut self, key: &K) -> Option<&mut Bucket> {
        match self.younger.get_mut(key) {
            Some(bucket) => Some(bucket),
            None => self.older.get_mut(key),
        }
    }

    /// Pays for a request with the units of one key; a negative amount is given back.
    pub fn take(&mut self, key: &K, units: f64, now_ms: u64) {
        if let Some(bucket) = self.younger.get_mut(key) {
            return bucket.take(units, now_ms);
        }
        let new = || Bucket::new(self.units_a_second, KEY_BURST_SECONDS);
        let mut bucket = self.older.remove(key).unwrap_or_else(new);
        bucket.take(units, now_ms);
        if self.younger.len() >= self.generation_max {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(key.clone(), bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Take(f64),
        Pass(u64),
        Rate(u64),
        Open,
        Closed,
    }
    use Step::*;

    /// What a bucket of one unit a second says.
    fn check(steps: &[Step]) {
        let mut bucket = Bucket::new(1, BURST_SECONDS);
        let mut now_ms = 1_800_000_000_000;
        for (number, step) in steps.iter().enumerate() {
            match step {
                Take(units) => bucket.take(*units, now_ms),
                Pass(time_ms) => now_ms += time_ms,
                Rate(units_a_second) => bucket.set_rate(*units_a_second),
                Open => assert!(bucket.is_open(now_ms), "step {number}"),
                Closed => assert!(!bucket.is_open(now_ms), "step {number}"),
            }
        }
    }

    #[test]
    fn five_minutes_are_saved_up_and_no_more() {
        check(&[Open, Take(299.5), Open, Take(0.5), Closed]);
        check(&[Pass(3_600_000), Take(300.0), Closed]);
        check(&[Take(300.0), Pass(1_000), Open, Take(1.0), Closed]);
        check(&[Take(300.0), Pass(300_000), Take(299.0), Open, Take(1.0), Closed]);
        check(&[Take(300.0), Pass(3_600_000), Take(300.0), Closed]);
    }

    #[test]
    fn a_debt_is_paid_before_the_next_request() {
        check(&[Take(299.0), Open, Take(21.0), Closed, Pass(20_000), Closed, Pass(1), Open]);
        // However large it was.
        check(&[Take(80_000.0), Pass(300_000), Closed, Pass(1), Open]);
    }

    #[test]
    fn what_is_given_back_can_be_used_again() {
        check(&[Take(300.0), Take(-300.0), Open, Take(300.0), Closed]);
        check(&[Take(-300.0), Take(300.0), Closed]);
    }

    #[test]
    fn another_rate_goes_on_with_what_is_left() {
        check(&[Take(310.0), Rate(1000), Closed, Pass(11), Open]);
        check(&[Open, Rate(10), Take(300.0), Closed, Pass(1), Open]);
        check(&[Rate(10), Pass(300_000), Rate(1), Take(300.0), Closed]);
    }

    #[test]
    fn a_clock_that_goes_back_adds_nothing() {
        let mut bucket = Bucket::new(1, BURST_SECONDS);
        bucket.take(300.0, 10_000);
        assert!(!bucket.is_open(5_000));
        assert!(!bucket.is_open(10_000));
        assert!(bucket.is_open(10_001));
    }

    #[test]
    fn each_key_has_a_bucket_of_its_own() {
        let mut keys = KeyBuckets::new(1000, 10);
        keys.take(&"hot", 10_000.0, 0);
        keys.take(&"warm", 9999.0, 0);
        assert!(!keys.is_open(&"hot", 0));
        assert!(keys.is_open(&"warm", 0));
        assert!(keys.is_open(&"cold", 0));
        assert!(keys.is_open(&"hot", 1));
    }

    #[test]
    fn what_is_left_is_told_in_units() {
        let mut bucket = Bucket::new(1, BURST_SECONDS);
        bucket.take(310.0, 0);
        assert_eq!(bucket.left(4_000), -6.0);
        let mut keys = KeyBuckets::new(1000, 10);
        keys.take(&"warm", 4000.0, 0);
        assert_eq!((keys.left(&"warm", 0), keys.left(&"cold", 0)), (6000.0, 10_000.0));
    }

    #[test]
    fn keys_in_use_are_remembered_and_the_others_forgotten() {
        let mut keys = KeyBuckets::new(1000, 10);
        keys.take(&0, 10_000.0, 0);
        keys.take(&1, 10_000.0, 0);
        for other in 100..1000 {
            keys.take(&0, 1.0, 0);
            keys.take(&other, 1.0, 0);
            assert!(keys.younger.len() + keys.older.len() <= 20);
        }
        assert!(!keys.is_open(&0, 0));
        assert!(keys.is_open(&1, 0));
    }
}
