//! Long work in turns, so that a short request always finds a free core.
//!
//! Work is done in slices of a few hundred microseconds. What fits into one slice, as most requests do, runs at once.
//! Longer work waits after each slice until it has its turn again: first come, first served, and as many slices at the
//! same time as there are cores. So however many requests work long, a short one waits for a slice or two, and not for
//! all of them.
//!
//! A slice is measured in work, not in time, so that a simulation takes the same turns whenever it is repeated.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;
use tokio::task_local;

/// The work of one slice, in bytes that are looked at. With [`ROW_WORK`], it is some 250 small rows.
pub const SLICE_WORK: usize = 64 * 1024;
/// What the next row of a scan takes before its first byte is looked at.
pub const ROW_WORK: usize = 256;
/// What finding the row of a key takes.
pub const KEY_WORK: usize = 1024;

task_local! {
    static TURN: Turn;
}

/// The turns of everything that works on the same cores.
#[derive(Debug)]
pub struct Turns(Arc<Semaphore>);

/// What is known of one request or job.
struct Turn {
    free: Arc<Semaphore>,
    /// The rest of its slice.
    left: Cell<usize>,
    /// Held while it works on a slice that is not its first.
    permit: RefCell<Option<OwnedSemaphorePermit>>,
}

impl Turns {
    /// Turns for this many slices at the same time, one for each core.
    pub fn new(slices_max: usize) -> Turns {
        Turns(Arc::new(Semaphore::new(slices_max)))
    }

    /// Does work that takes turns with all other work that is shared here.
    pub fn share<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let turn = Turn { free: self.0.clone(), left: Cell::new(SLICE_WORK), permit: RefCell::default() };
        TURN.scope(turn, work)
    }
}

/// A stretch of work without any other waiting. Work that is not [shared](Turns::share) only yields after each slice.
#[derive(Debug)]
pub struct Slices {
    left: usize,
}

impl Slices {
    /// Goes on with the slice of the request or job that this is part of.
    pub fn begin() -> Slices {
        Slices { left: TURN.try_with(|turn| turn.left.get()).unwrap_or(SLICE_WORK) }
    }

    /// Counts work that was done. At the end of a slice, waits for the next turn.
    #[inline]
    pub async fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work);
        if self.left == 0 {
            self.next_turn().await;
        }
    }

    #[cold]
    async fn next_turn(&mut self) {
        let free = TURN.try_with(|turn| {
            turn.permit.take();
            turn.free.clone()
        });
        if let Ok(free) = free {
            // The semaphore is never closed.
            let permit = free.acquire_owned().await.ok();
            let _ = TURN.try_with(|turn| turn.permit.replace(permit));
        }
        // Also with a permit: only when a task yields, the runtime looks for requests that have just come in.
        yield_now().await;
        self.left = SLICE_WORK;
    }
}

impl Drop for Slices {
    fn drop(&mut self) {
        let _ = TURN.try_with(|turn| {
            turn.left.set(self.left);
            turn.permit.take();
        });
    }
}
