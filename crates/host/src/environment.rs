//! Time and chance.

use std::pin::Pin;
use std::time::Duration;

/// Ends when something happened.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The source of time and random numbers.
pub trait Environment: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// The next random number.
    fn random(&self) -> u128;

    /// Waits, as long as the time of [`Environment::now_ms`] says. The default is tokio's clock, which a test
    /// can pause.
    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A random UUID of version 4.
pub fn uuid(random: u128) -> String {
    let bits = (random & !(0xf000 << 64) & !(0xc000 << 48)) | (0x4000 << 64) | (0x8000 << 48);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
