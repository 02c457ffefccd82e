//! Long work in turns, so that short requests always find a free core: reading a body of megabytes, unpacking one, or
//! printing a large answer takes a thread for milliseconds, and a few clients could keep all of them. Work that can be
//! divided takes shorter turns, inside the engine (`store/turns.rs`).

use std::sync::Arc;
use std::thread::available_parallelism;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Work on this many bytes takes long enough for others to notice: about half a millisecond.
const LONG_BYTES: usize = 64 * 1024;

/// One permit for every second core.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    pub(crate) fn new() -> Turns {
        Turns::of((available_parallelism().map_or(1, usize::from) / 2).max(1))
    }

    fn of(turns_max: usize) -> Turns {
        Turns(Arc::new(Semaphore::new(turns_max)))
    }

    /// Waits for a turn at work on this many bytes, if it is long.
    pub(crate) async fn wait(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= LONG_BYTES {
            return None;
        }
        // It is never closed.
        self.0.clone().acquire_owned().await.ok()
    }
}

/// Does work on a thread of its own. It keeps what it holds, its share of memory or its turn, until its end: work
/// whose client has gone still takes memory and a core. None if there was no thread, or
/// if the work panicked.
pub(crate) async fn aside<Held, T>(held: Held, work: impl FnOnce() -> T + Send + 'static) -> Option<(T, Held)>
where
    Held: Send + 'static,
    T: Send + 'static,
{
    spawn_blocking(move || (work(), held)).await.ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::IpAddr;
    use std::sync::mpsc;

    use futures_util::FutureExt;

    use super::*;
    use crate::budget::Budget;
    use crate::limits::Limits;
    use crate::peer::{Entry, Peers, Wanted};

    const BUDGET_BYTES: usize = 1_000_000;

    /// What work on a thread of its own takes, where the only such thread is busy: work that was begun has not ended.
    pub(crate) struct Busy {
        pub(crate) limits: Limits,
        pub(crate) budget: Budget,
        pub(crate) turns: Turns,
        pub(crate) client: Entry,
        go_on: mpsc::Sender<()>,
    }

    impl Busy {
        /// Runs a test on a runtime of its own.
        pub(crate) fn run(test: impl AsyncFnOnce(&Busy)) {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.max_blocking_threads(1).enable_time().build().expect("a runtime");
            runtime.block_on(async {
                let limits = Limits { address_share_percent: 100, ..Limits::default() };
                let peers = Arc::new(Peers::new(&limits));
                let client = peers.enter(IpAddr::from([127, 0, 0, 1]), false).expect("there is room");
                let budget = Budget::new(BUDGET_BYTES, &limits, Wanted::BodyMemory, peers);
                let (go_on, waits) = mpsc::channel();
                spawn_blocking(move || waits.recv());
                test(&Busy { limits, budget, turns: Turns::of(1), client, go_on }).await;
            });
        }

        /// Lets the thread work.
        pub(crate) fn let_work(&self) {
            self.go_on.send(()).expect("the thread waits");
        }

        /// Lets the thread work, and waits until all memory and all turns are free.
        pub(crate) async fn finish(&self) {
            self.let_work();
            let all = self.budget.take(BUDGET_BYTES, &self.client.peer.address);
            assert!(
                all.await.is_ok_and(|share| share.is_counted()),
                "at its end the work gives back its memory"
            );
            assert!(self.turns.wait(usize::MAX).await.is_some(), "and its turn");
        }
    }

    #[test]
    fn work_that_no_client_waits_for_keeps_its_turn_until_its_end() {
        Busy::run(async |busy| {
            let turn = busy.turns.wait(usize::MAX).await;
            assert!(aside(turn, || ()).now_or_never().is_none(), "it has not ended");
            assert!(busy.turns.wait(usize::MAX).now_or_never().is_none(), "it has its turn");
            busy.finish().await;
        });
    }
}
