//! The system: the one place where time and chance come from.

use host::Environment;

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

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has a random source");
        u128::from_ne_bytes(bytes)
    }
}
