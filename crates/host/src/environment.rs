//! Time, chance and tasks, handed in: the engine and the services beside it read no clock and no random source of
//! their own, and start their tasks here. So a run can be replayed from its seed.

use std::pin::Pin;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Ends when the time is over, or when something happened.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a task does.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Stops a task at its next await. It may have ended already.
pub type Abort = Box<dyn Fn() + Send + Sync>;

/// The source of time and random numbers, and what runs tasks.
pub trait Environment: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Microseconds since 1970, for short times that are measured.
    fn now_us(&self) -> u64 {
        self.now_ms() * 1000
    }

    /// The time since some moment of this process. It never goes back, whatever the system's clock does.
    fn uptime(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    /// Microseconds since some moment, by a clock that is never set. It goes on while the machine sleeps, if the system
    /// has such a clock. The default is the date, for clocks that never leap.
    fn monotonic_us(&self) -> u64 {
        self.now_us()
    }

    /// How much work runs at the same time: the number of cores, unless a run has to be the same on every machine.
    fn parallelism(&self) -> usize {
        available_parallelism().map_or(1, usize::from)
    }

    /// The next random number.
    fn random(&self) -> u128;

    /// Waits, as long as the time of [`Environment::now_ms`] says. The default is tokio's clock, which a test
    /// can pause.
    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }

    /// Runs a task beside its caller. The name says what it does. The default is tokio's runtime, which must be there.
    fn spawn(&self, _name: &'static str, work: Work) -> Abort {
        let task = tokio::spawn(work);
        Box::new(move || task.abort())
    }
}

/// A version 4 UUID from 128 random bits.
pub fn uuid(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
