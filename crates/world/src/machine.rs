//! A machine: a clock of its own, which may be wrong, and chance of its own.

use std::sync::Arc;
use std::time::Duration;

use engine::{Environment, Sleep};
use host::{Abort, Work};
use parking_lot::Mutex;

use crate::executor::{Executor, Process, START_US};

/// The cores of a machine.
const CORES: usize = 2;

/// The clock of a machine. It outlives the processes that run there.
pub struct MachineClock {
    executor: Executor,
    error: Mutex<ClockError>,
}

/// By how much a clock is wrong.
#[derive(Clone, Copy, Default)]
struct ClockError {
    offset_us: i64,
    /// Microseconds that it gains each second.
    drift: i64,
    /// How far it has leapt for a while.
    leap_us: i64,
}

impl MachineClock {
    /// A clock that is ahead by an offset, and gains some microseconds each second.
    pub fn new(executor: &Executor, offset_us: i64, drift: i64) -> Arc<MachineClock> {
        let error = ClockError { offset_us, drift, leap_us: 0 };
        Arc::new(MachineClock { executor: executor.clone(), error: Mutex::new(error) })
    }

    /// Lets the clock be wrong by this much more; zero sets it right again.
    pub fn leap(&self, by_us: i64) {
        self.error.lock().leap_us = by_us;
    }

    /// By how many microseconds it is wrong because it has leapt.
    pub fn leap_us(&self) -> i64 {
        self.error.lock().leap_us
    }

    /// What the clock shows, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        let ClockError { offset_us, leap_us, .. } = *self.error.lock();
        self.monotonic_us().saturating_add_signed(offset_us + leap_us)
    }

    /// The same by the machine's oscillator, which no leap changes.
    fn monotonic_us(&self) -> u64 {
        let true_us = self.executor.now_us();
        let gained_us = (true_us - START_US) as i64 / 1_000_000 * self.error.lock().drift;
        true_us.saturating_add_signed(gained_us)
    }
}

/// What a process gets from the machine that it runs on.
pub struct Machine {
    pub executor: Executor,
    pub process: Process,
    pub clock: Arc<MachineClock>,
    pub chance: Mutex<fastrand::Rng>,
}

impl Environment for Machine {
    fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    fn monotonic_us(&self) -> u64 {
        self.clock.monotonic_us()
    }

    /// Counted by the machine's oscillator, which no leap of the clock changes.
    fn uptime(&self) -> Duration {
        Duration::from_micros(self.executor.now_us() - START_US)
    }

    /// The same wherever the simulation runs.
    fn parallelism(&self) -> usize {
        CORES
    }

    fn random(&self) -> u128 {
        self.chance.lock().u128(..)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(self.executor.sleep(time))
    }

    fn spawn(&self, name: &'static str, work: Work) -> Abort {
        let id = self.executor.spawn(self.process, name, work);
        let executor = self.executor.clone();
        Box::new(move || executor.abort(id))
    }
}
