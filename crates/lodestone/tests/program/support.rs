//! What the tests share: the program run to its end, running servers, and waiting for what they do.

pub mod command;
pub mod server;

use std::time::{Duration, Instant};

/// Longer than any step takes on a busy machine: a test that waits this long has failed.
pub const WAIT_MAX: Duration = Duration::from_secs(300);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until it is so.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(is_within(WAIT_MAX, is_so), "it never happens that {what}");
}

/// Waits until it is so, or until the time is over.
pub fn is_within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The same for what can't be asked without waiting.
pub async fn until_async(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + WAIT_MAX;
    while !is_so().await {
        assert!(Instant::now() < end, "it never happens that {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
