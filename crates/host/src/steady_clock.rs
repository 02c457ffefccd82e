//! A date that does not leap: the wall clock, watched by a clock that is never set.
//!
//! The date is what the monotonic clock shows and an offset. [`SteadyClock::check`] compares it with the wall clock,
//! every second or so:
//!
//! - A small difference is corrected: the date runs ahead at once, and slows down to half its speed to fall back. So it
//!   goes in order while the wall clock is adjusted by NTP.
//! - A greater difference is a leap. The date goes on as if there were none, and what depends on it (expiry, trimming,
//!   restore points) with it. If the wall clock comes back, nothing has happened.
//! - A wall clock that stays where it leapt to is believed after a while, and the date leaps, too.
//!
//! There is nothing to compare the first date with, so a clock that is wrong when the process starts is believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::{Abort, Environment, Sleep, Work};

/// What differs by more than this has leapt. NTP and leap seconds correct less.
pub const LEAP_MIN: Duration = Duration::from_secs(10);
/// How long the wall clock stays where it leapt to before it is believed: longer than a clock that was set by mistake
/// is usually wrong, and short for all that waits for a date.
const BELIEVED_AFTER: Duration = Duration::from_secs(5 * 60);

/// An environment whose date does not leap with the wall clock. Reading it costs one atomic read more than the clock.
pub struct SteadyClock {
    environment: Arc<dyn Environment>,
    /// The date is this much more than the monotonic clock, modulo 2^64.
    offset_us: AtomicU64,
    watch: Mutex<Watch>,
}

struct Watch {
    /// When the clocks were last compared, by the monotonic one.
    checked_us: u64,
    leap: Option<Leap>,
}

/// How far the wall clock is from the date, since when.
#[derive(Clone, Copy)]
struct Leap {
    by_us: i64,
    since_us: u64,
}

/// What a check has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockEvent {
    /// The wall clock was set by these microseconds, forward or back. The date goes on without it.
    Leapt(i64),
    /// The wall clock shows the date again.
    Returned,
    /// The wall clock has stayed where it is: the date was set by these microseconds, forward or back.
    Believed(i64),
}

impl SteadyClock {
    /// The date begins with what the wall clock shows.
    pub fn new(environment: Arc<dyn Environment>) -> SteadyClock {
        let checked_us = environment.monotonic_us();
        let offset_us = environment.now_us().wrapping_sub(checked_us);
        SteadyClock {
            environment,
            offset_us: AtomicU64::new(offset_us),
            watch: Mutex::new(Watch { checked_us, leap: None }),
        }
    }

    /// Compares the clocks, and says what is new.
    pub fn check(&self) -> Option<ClockEvent> {
        let mut watch = self.watch.lock();
        let monotonic_us = self.environment.monotonic_us();
        let wall_us = self.environment.now_us();
        let elapsed_us = monotonic_us.saturating_sub(watch.checked_us);
        watch.checked_us = monotonic_us;
        let date_us = monotonic_us.wrapping_add(self.offset_us.load(Ordering::Acquire));
        let by_us = wall_us.wrapping_sub(date_us).cast_signed();
        if !is_leap(by_us) {
            self.shift(by_us.max(-(elapsed_us / 2).cast_signed()));
            return watch.leap.take().map(|_| ClockEvent::Returned);
        }
        match watch.leap {
            Some(leap) if !is_leap(by_us - leap.by_us) => {
                let is_believed = monotonic_us.saturating_sub(leap.since_us) >= micros(BELIEVED_AFTER);
                is_believed.then(|| {
                    watch.leap = None;
                    self.shift(by_us);
                    ClockEvent::Believed(by_us)
                })
            }
            _ => {
                watch.leap = Some(Leap { by_us, since_us: monotonic_us });
                Some(ClockEvent::Leapt(by_us))
            }
        }
    }

    /// How far the wall clock is from the date, in microseconds, and how long it is until it is believed; none while
    /// it has not leapt.
    pub fn leap(&self) -> Option<(i64, Duration)> {
        let leap = self.watch.lock().leap?;
        let passed_us = self.environment.monotonic_us().saturating_sub(leap.since_us);
        Some((leap.by_us, BELIEVED_AFTER.saturating_sub(Duration::from_micros(passed_us))))
    }

    fn shift(&self, by_us: i64) {
        self.offset_us.fetch_add(by_us.cast_unsigned(), Ordering::AcqRel);
    }
}

impl Environment for SteadyClock {
    fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    fn now_us(&self) -> u64 {
        self.environment.monotonic_us().wrapping_add(self.offset_us.load(Ordering::Acquire))
    }

    fn uptime(&self) -> Duration {
        self.environment.uptime()
    }

    fn monotonic_us(&self) -> u64 {
        self.environment.monotonic_us()
    }

    fn parallelism(&self) -> usize {
        self.environment.parallelism()
    }

    fn random(&self) -> u128 {
        self.environment.random()
    }

    fn sleep(&self, time: Duration) -> Sleep {
        self.environment.sleep(time)
    }

    fn spawn(&self, name: &'static str, work: Work) -> Abort {
        self.environment.spawn(name, work)
    }
}

fn is_leap(by_us: i64) -> bool {
    by_us.unsigned_abs() > micros(LEAP_MIN)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
