//! Work that is done once a minute.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::{Environment, Task};

const MINUTE_MS: u64 = 60_000;

/// A task that works once a minute, until it is ended.
#[derive(Default)]
pub struct EachMinute(Mutex<Option<Task>>);

impl EachMinute {
    /// Calls `work` a while after the end of each minute.
    pub fn start<F>(
        &self,
        environment: Arc<dyn Environment>,
        after: Duration,
        work: impl Fn() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let clock = environment.clone();
        let minutes = async move {
            loop {
                let rest_ms = MINUTE_MS - clock.now_ms() % MINUTE_MS;
                clock.sleep(Duration::from_millis(rest_ms) + after).await;
                work().await;
            }
        };
        *self.0.lock() = Some(Task::start(&*environment, "each minute", minutes));
    }

    /// Ends the task. Work under way is stopped where it waits.
    pub async fn end(&self) {
        let task = self.0.lock().take();
        if let Some(mut task) = task {
            task.abort();
            task.ended().await;
        }
    }
}
