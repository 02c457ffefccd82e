//! A task that a service starts and waits for.

use tokio::sync::watch;

use crate::{Abort, Environment};

/// A task that was started. Dropping this does not stop it.
pub struct Task {
    abort: Abort,
    /// Its sender is dropped with the task.
    alive: watch::Receiver<()>,
}

impl Task {
    /// Starts a task.
    pub fn start(
        environment: &dyn Environment,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Task {
        let (is_alive, alive) = watch::channel(());
        let work = async move {
            let _is_alive = is_alive;
            work.await;
        };
        Task { abort: environment.spawn(name, Box::pin(work)), alive }
    }

    /// Stops it at its next await.
    pub fn abort(&self) {
        (self.abort)();
    }

    /// Whether it has ended, or was stopped.
    pub fn is_ended(&self) -> bool {
        self.alive.has_changed().is_err()
    }

    /// Waits until it has ended, or was stopped.
    pub async fn ended(&mut self) {
        while self.alive.changed().await.is_ok() {}
    }
}
