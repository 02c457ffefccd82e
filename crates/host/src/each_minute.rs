//! Work that is done once a minute.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::Environment;

const MINUTE_MS: u64 = 60_000;

/// A task that works once a minute, until it is ended.
#[derive(Default)]
pub struct EachMinute(Mutex<Option<JoinHandle<()>>>);

impl EachMinute {
    /// Calls `work` a while after the end of each minute. To be called within a tokio runtime.
    pub fn start<F>(
        &self,
        environment: Arc<dyn Environment>,
        after: Duration,
        work: impl Fn() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let task = tokio::spawn(async move {
            loop {
                let now_ms = environment.now_ms();
                let rest_ms = MINUTE_MS - now_ms % MINUTE_MS;
                environment.sleep(Duration::from_millis(rest_ms) + after).await;
                work().await;
            }
        });
        *self.0.lock() = Some(task);
    }

    /// Ends the task. Work under way is stopped where it waits.
    pub async fn end(&self) {
        let task = self.0.lock().take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }
}
