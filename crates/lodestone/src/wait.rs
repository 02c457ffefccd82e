//! Waiting until the database has done what a command asked for.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::progress::Progress;

/// The pauses between two looks, from the first to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct WaitArguments {
    /// How long to wait until it is done; what is under way goes on after that
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    wait: u64,
}

/// What a look at the work found.
pub enum Look<T> {
    Done(T),
    /// What is done of how much, where that is known.
    Working {
        done: u64,
        of: Option<u64>,
    },
}

/// The work that is waited for.
pub struct Work<'a> {
    /// For the progress bar: `backup of Songs`.
    pub what: String,
    /// The table or ARN that the background job works on.
    pub subject: &'a str,
}

impl WaitArguments {
    /// Looks again and again until the work is done, and shows how far it is.
    pub async fn until_done<T>(
        &self,
        connection: &Connection,
        work: Work<'_>,
        mut look: impl AsyncFnMut() -> Result<Look<T>, String>,
    ) -> Result<T, String> {
        let progress = Progress::new();
        progress.tell(&work.what);
        let end = Instant::now() + Duration::from_secs(self.wait);
        let mut pause = PAUSE_MIN;
        loop {
            match look().await? {
                Look::Done(result) => return Ok(result),
                Look::Working { done, of: Some(of) } if of > 0 => {
                    progress.count(&work.what, done as usize, of as usize)
                }
                Look::Working { done: 0, .. } => progress.tell(&work.what),
                Look::Working { done, .. } => progress.tell(&format!("{}: {done} items", work.what)),
            }
            if let Some(reason) = connection.job_failure(work.subject) {
                return Err(format!("{} stopped: {reason}", work.what));
            }
            if Instant::now() >= end {
                return Err(format!(
                    "{} is not done after {} s. It goes on; --wait SECONDS waits longer",
                    work.what, self.wait
                ));
            }
            tokio::time::sleep(pause.min(end - Instant::now())).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}
