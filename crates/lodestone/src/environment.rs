//! The system: the one place where time and chance come from.

use std::time::Duration;

use host::Environment;
use rustix::time::{ClockId, clock_gettime};

/// The clock that goes on while the machine sleeps, without which it would wake to a date that has leapt.
#[cfg(target_os = "linux")]
const MONOTONIC: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const MONOTONIC: ClockId = ClockId::Monotonic;

/// Real time and real chance.
pub struct System;

impl Environment for System {
    fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    #[expect(clippy::disallowed_methods, reason = "this is where real time comes in")]
    fn now_us(&self) -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| now.as_secs() * 1_000_000 + u64::from(now.subsec_micros()))
    }

    fn uptime(&self) -> Duration {
        Duration::from_micros(self.monotonic_us())
    }

    fn monotonic_us(&self) -> u64 {
        let now = clock_gettime(MONOTONIC);
        now.tv_sec.cast_unsigned() * 1_000_000 + now.tv_nsec.cast_unsigned() / 1000
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has a random source");
        u128::from_ne_bytes(bytes)
    }
}
