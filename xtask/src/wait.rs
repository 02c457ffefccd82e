//! How long chores wait for something to become true.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Longer than any wait of a healthy server on a machine that is ten times slower than ours. It only bounds a wait;
/// benchmarks measure speed.
pub const WAIT: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until the condition holds. The error says what did not happen.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + WAIT;
    while !holds().await? {
        ensure!(Instant::now() < deadline, "{what}: not within {} s", WAIT.as_secs());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
