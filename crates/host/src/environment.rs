//! Time and chance, handed in: the engine and the services beside it read no clock and no random source of their own,
//! so a run can be replayed from its seed.

use std::pin::Pin;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Ends when the time is over, or when something happened.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The source of time and random numbers.
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

    /// The next random number.
    fn random(&self) -> u128;

    /// Waits, as long as the time of [`Environment::now_ms`] says. The default is tokio's clock, which a test
    /// can pause.
    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A version 4 UUID from 128 random bits.
pub fn uuid(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
