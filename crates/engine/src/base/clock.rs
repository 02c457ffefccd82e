//! The time of commits.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Environment;

/// A clock that never goes back, whatever the system's does. It starts behind every record that is stored.
#[derive(Default)]
pub struct ChangeClock {
    /// The latest time that was given or seen.
    latest_us: AtomicU64,
}

impl ChangeClock {
    /// The time now, in microseconds since 1970: not before any time that was given, and after every time
    /// that was [passed](ChangeClock::pass).
    pub fn now_us(&self, environment: &dyn Environment) -> u64 {
        let now_us = environment.now_ms() * 1000;
        self.latest_us.fetch_max(now_us, Ordering::AcqRel).max(now_us)
    }

    /// The latest time that was given or passed. It may be ahead of the date.
    pub fn latest_us(&self) -> u64 {
        self.latest_us.load(Ordering::Acquire)
    }

    /// From here on the clock shows later times than this.
    pub fn pass(&self, time_us: u64) {
        self.latest_us.fetch_max(time_us + 1, Ordering::AcqRel);
    }
}
