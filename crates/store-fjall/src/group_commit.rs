//! Group commit: one thread makes the journal durable for everybody who waits at that moment.
//!
//! A writer commits to the journal first and then waits here. While one sync runs, those who arrive
//! gather; the next sync serves all of them. So the cost of a sync is shared by as many writers as
//! there are, and a lone writer waits for exactly one.
//!
//! Writes that nobody waits for are synced too, a little later: otherwise the engine would find much
//! to sync before it flushes a write buffer, and would keep all writers out meanwhile.
//!
//! What always holds: whoever is told `Ok` arrived before the sync that served it began. After a
//! failed sync nothing is told `Ok` any more, because the system may have dropped the pages that it
//! could not write. The waiting list is bounded by the updates in flight, each of which waits once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use store::StoreError;
use tokio::sync::oneshot;

/// How long writes that nobody waits for may gather.
const GATHERING_TIME: Duration = Duration::from_millis(50);

pub(crate) struct GroupCommit {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    /// There are writes that nobody waits for. Raised under the lock of the queue.
    gathering: AtomicBool,
    failure: OnceLock<String>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<oneshot::Sender<()>>,
    stopping: bool,
}

impl GroupCommit {
    /// Starts the thread; `sync` makes durable whatever was written before it is called.
    pub(crate) fn start(sync: impl FnMut() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            arrived: Condvar::new(),
            gathering: AtomicBool::new(false),
            failure: OnceLock::new(),
        });
        let thread = std::thread::Builder::new().name("group-commit".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run(sync)
        })?;
        Ok(GroupCommit { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Waits until everything written before this call is durable.
    pub(crate) async fn durable(&self) -> Result<(), StoreError> {
        let (told, answer) = oneshot::channel();
        {
            let mut queue = self.shared.queue.lock();
            self.check()?;
            if queue.stopping {
                return Err(StoreError::Ambiguous("the store was closed during a commit".to_owned()));
            }
            queue.waiting.push(told);
        }
        self.shared.arrived.notify_one();
        match answer.await {
            Ok(()) => Ok(()),
            Err(_) => {
                self.check()?;
                Err(StoreError::Ambiguous("the store was closed during a commit".to_owned()))
            }
        }
    }

    /// Asks that everything written before this call becomes durable soon.
    pub(crate) fn durable_soon(&self) {
        if !self.shared.gathering.load(Ordering::Acquire) {
            let queue = self.shared.queue.lock();
            self.shared.gathering.store(true, Ordering::Release);
            drop(queue);
            self.shared.arrived.notify_one();
        }
    }

    /// Fails once a sync has failed: from then on nothing may be written.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.shared.failure.get() {
            None => Ok(()),
            Some(failure) => Err(StoreError::Poisoned(failure.clone())),
        }
    }

    /// Serves those who wait already and ends the thread.
    pub(crate) fn stop(&self) {
        self.shared.queue.lock().stopping = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // A panic on that thread has dropped its waiting list, which tells everybody.
            let _ = thread.join();
        }
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, mut sync: impl FnMut() -> io::Result<()>) {
        while let Some(group) = self.next_group() {
            match sync() {
                Ok(()) => {
                    for waiter in group {
                        // Who no longer waits does not need to know.
                        let _ = waiter.send(());
                    }
                }
                Err(failure) => {
                    tracing::error!("a write could not be made durable, refusing further writes: {failure}");
                    self.fail(failure.to_string());
                    return;
                }
            }
        }
    }

    /// Waits for somebody to serve, or for writes to gather. Nothing when the store is closing and
    /// nobody is left.
    fn next_group(&self) -> Option<Vec<oneshot::Sender<()>>> {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() {
            if queue.stopping {
                return None;
            }
            if !self.gathering.load(Ordering::Acquire) {
                self.arrived.wait(&mut queue);
                continue;
            }
            self.arrived.wait_for(&mut queue, GATHERING_TIME);
            // Lowered before the sync: what is written during it asks again.
            self.gathering.store(false, Ordering::Release);
            break;
        }
        Some(std::mem::take(&mut queue.waiting))
    }

    /// Under the lock of the queue, so nobody slips in between the failure and the emptied list.
    fn fail(&self, failure: String) {
        let mut queue = self.queue.lock();
        let _ = self.failure.set(failure);
        queue.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn writers_who_arrive_during_a_sync_share_the_next_one() {
        let syncs = Arc::new(AtomicU32::new(0));
        let group_commit = Arc::new(
            GroupCommit::start({
                let syncs = Arc::clone(&syncs);
                move || {
                    syncs.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(20));
                    Ok(())
                }
            })
            .expect("the thread starts"),
        );
        let wait = |_| {
            let group_commit = Arc::clone(&group_commit);
            tokio::spawn(async move { group_commit.durable().await })
        };
        let writers: Vec<_> = (0..100).map(wait).collect();
        for writer in writers {
            writer.await.expect("a writer finishes").expect("the sync succeeds");
        }
        let syncs = syncs.load(Ordering::SeqCst);
        assert!((1..20).contains(&syncs), "{syncs} syncs for 100 writers");
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_succeeds() {
        let mut answers = vec![Err(io::Error::other("the disk is gone")), Ok(())].into_iter();
        let group_commit =
            GroupCommit::start(move || answers.next().unwrap_or(Ok(()))).expect("the thread starts");
        group_commit.check().expect("nothing has failed yet");
        for _ in 0..3 {
            let answer = group_commit.durable().await;
            assert!(
                matches!(&answer, Err(StoreError::Poisoned(why)) if why == "the disk is gone"),
                "{answer:?}"
            );
        }
        group_commit.check().expect_err("the failure stays");
    }

    #[test]
    fn writes_that_nobody_waits_for_share_a_sync_soon() {
        let (syncs, synced) = std::sync::mpsc::channel();
        let group_commit =
            GroupCommit::start(move || syncs.send(()).map_err(io::Error::other)).expect("the thread starts");
        for _ in 0..2 {
            for _ in 0..1000 {
                group_commit.durable_soon();
            }
            synced.recv_timeout(Duration::from_secs(20)).expect("a sync follows");
        }
        group_commit.stop();
        assert!(synced.try_iter().count() < 10, "syncs are shared");
    }

    #[tokio::test]
    async fn stopping_serves_those_who_wait_and_refuses_the_rest() {
        let group_commit = GroupCommit::start(|| Ok(())).expect("the thread starts");
        group_commit.durable().await.expect("a sync succeeds");
        group_commit.stop();
        assert!(matches!(group_commit.durable().await, Err(StoreError::Ambiguous(_))));
        group_commit.stop();
    }
}
