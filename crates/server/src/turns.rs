//! Long work in turns, so that short requests always find a free core: reading a body of megabytes, unpacking one, or
//! printing a large answer takes a thread for milliseconds, and a few clients could keep all of them. Work that can be
//! divided takes shorter turns, inside the engine (`store/turns.rs`).

use std::thread::available_parallelism;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Work on this many bytes takes long enough for others to notice: about half a millisecond.
const LONG_BYTES: usize = 64 * 1024;

/// One permit for every second core.
#[derive(Debug)]
pub(crate) struct Turns(Semaphore);

impl Turns {
    pub(crate) fn new() -> Turns {
        Turns(Semaphore::new((available_parallelism().map_or(1, usize::from) / 2).max(1)))
    }

    /// Waits for a turn at work on this many bytes, if it is long.
    pub(crate) async fn wait(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        if bytes <= LONG_BYTES {
            return None;
        }
        // It is never closed.
        self.0.acquire().await.ok()
    }
}
