//! Waiting for what happens in the background.

use std::time::Duration;

/// Longer than anything takes on a machine that does ten other things: a test that waits longer has failed.
pub const WAIT_MAX: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Calls `look` until it returns something. While tokio's clock is paused, the pauses take no time.
pub async fn wait_for<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(WAIT_MAX, looking).await.unwrap_or_else(|_| panic!("it never happens that {what}"))
}

/// Calls `is_so` until it is true.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    wait_for(what, async || is_so().await.then_some(())).await;
}

/// Lets tokio's clock run, which must be paused: the background does what it does in this time, at once.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
