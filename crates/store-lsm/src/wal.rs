//! The write-ahead log: a commit is in it before it is acknowledged and before it is in a table.
//!
//! ```text
//! log/00000007.wal   a segment: a header, then records; fixed length, allocated before it is needed
//! log/durable        the mark: up to which record the log was durable
//! ```
//!
//! One thread writes and syncs for all waiting commits ([`Wal::run`]): group commit. A commit appends
//! its rows to the newest group and waits. The thread takes the oldest group, writes it as one record,
//! syncs once, and acknowledges all commits of the group.
//!
//! What always holds:
//! - A commit becomes visible to readers when it is durable ([`Durability::Fsync`]) or written
//!   ([`Durability::Os`]), in the order of its sequence number, and only then is acknowledged.
//! - A commit is taken only if there is allocated room for it: a full disk cannot end a record halfway.
//! - After a failed write or sync nothing is acknowledged any more: the system may have dropped the
//!   pages that it could not write.
//! - The queue is bounded by [`PENDING_BYTES_MAX`].

pub(crate) mod mark;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod segment;
pub(crate) mod writer;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lsm_tree::SequenceNumberCounter;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::Durability;
use crate::maintenance::Wakeup;
use crate::snapshot::Snapshots;
use record::Row;
use segment::HEADER_BYTES as SEGMENT_HEADER_BYTES;
use writer::{DurableEnd, Prepared, Writer};

/// A group takes no further commit from this size on.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// What may wait to be written.
const PENDING_BYTES_MAX: u64 = 16 << 20;
/// The log's thread syncs the mark when no commit has arrived for this long.
const REST_TIME: Duration = Duration::from_millis(50);
/// Written bytes that no sync was asked for, with [`Durability::Os`].
const UNSYNCED_BYTES_MAX: u64 = 4 << 20;
/// Less room than this in the log counts as none.
const NEARLY_FULL_BYTES: u64 = 1 << 20;
/// Buffers of groups that are kept for the next ones.
const SPARE_BUFFERS: usize = 2;

pub(crate) struct Wal {
    queue: Mutex<Queue>,
    /// Wakes the log's thread.
    arrived: Condvar,
    /// Wakes threads that wait in [`Wal::wait_durable`].
    progressed: Condvar,
    failure: OnceLock<String>,
    durability: Durability,
    sequence: SequenceNumberCounter,
    snapshots: Arc<Snapshots>,
    /// The maintenance thread prepares segments.
    wakeup: Arc<Wakeup>,
}

struct Queue {
    groups: VecDeque<Group>,
    /// Updates without a commit that wait for the group which is being written.
    followers: Vec<oneshot::Sender<()>>,
    spare: Vec<Vec<u8>>,
    pending_bytes: u64,
    /// How many bytes may wait: there is allocated room for them.
    room_bytes: u64,
    /// How many of them the current segment has.
    current_room_bytes: u64,
    prepared: Option<Prepared>,
    /// The length of segments, or more if one commit needs more.
    segment_bytes: u64,
    /// Segments that are complete, with the first sequence number that is not in or before each.
    closed: Vec<(u64, u64)>,
    /// The first sequence number that no commit has.
    appended: u64,
    /// Everything below this sequence number is durable.
    durable: u64,
    durable_end: DurableEnd,
    sync_wanted: bool,
    publish_wanted: bool,
    stopping: bool,
}

/// Commits that share a record and a sync.
struct Group {
    buffer: Vec<u8>,
    /// What it counts for among the bytes that wait.
    bytes: u64,
    last_sequence: u64,
    waiting: Vec<oneshot::Sender<()>>,
    /// How many of its commits are not yet in the memtable.
    inserting: Arc<AtomicUsize>,
}

/// Why a commit was not taken. Nothing of it was written.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// There is no room for this many bytes just now.
    Lagging {
        bytes: u64,
    },
    Closed,
    Failed(String),
}

/// A commit that was taken.
pub(crate) struct Appended {
    pub(crate) sequence: u64,
    pub(crate) acknowledged: oneshot::Receiver<()>,
    /// Dropped when the commit is in the memtable.
    pub(crate) inserting: Inserting,
}

pub(crate) struct Inserting(Arc<AtomicUsize>);

impl Drop for Inserting {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "a commit is inserted once");
    }
}

/// What the log's thread does next.
enum Work {
    /// Write a group. Then everything below this number is taken.
    Group(Group, u64),
    Sync(u64),
    Publish(u64),
    Rest,
}

impl Wal {
    pub(crate) fn new(
        durability: Durability,
        sequence: SequenceNumberCounter,
        snapshots: Arc<Snapshots>,
        segment_bytes: u64,
        (room_bytes, durable_end): (u64, DurableEnd),
        wakeup: Arc<Wakeup>,
    ) -> Wal {
        let queue = Queue {
            groups: VecDeque::new(),
            followers: Vec::new(),
            spare: Vec::new(),
            pending_bytes: 0,
            room_bytes,
            current_room_bytes: room_bytes,
            prepared: None,
            segment_bytes,
            closed: Vec::new(),
            appended: sequence.get(),
            durable: sequence.get(),
            durable_end,
            sync_wanted: false,
            publish_wanted: false,
            stopping: false,
        };
        Wal {
            queue: Mutex::new(queue),
            arrived: Condvar::new(),
            progressed: Condvar::new(),
            failure: OnceLock::new(),
            durability,
            sequence,
            snapshots,
            wakeup,
        }
    }

    /// Accepts a commit: gives it its sequence number and its position in the log. The caller then
    /// inserts the rows into the memtable.
    pub(crate) fn append(&self, rows: &[Row]) -> Result<Appended, AppendError> {
        debug_assert!(!rows.is_empty(), "a commit changes something");
        let body_bytes = record::commit_bytes(rows);
        // An upper bound: the size of a record with this commit alone.
        let bytes = record::record_bytes(body_bytes) as u64;
        let mut queue = self.queue.lock();
        if let Some(failure) = self.failure.get() {
            return Err(AppendError::Failed(failure.clone()));
        }
        if queue.stopping {
            return Err(AppendError::Closed);
        }
        if !queue.has_room(bytes) {
            let needed = (bytes + SEGMENT_HEADER_BYTES as u64).next_multiple_of(4096);
            queue.segment_bytes = queue.segment_bytes.max(needed);
            return Err(AppendError::Lagging { bytes });
        }
        queue.pending_bytes += bytes;
        let sequence = self.sequence.next();
        assert!(sequence >= queue.appended, "commit {sequence} is not after {}", queue.appended);
        assert!(sequence >= self.snapshots.visible(), "commit {sequence} is visible before it is durable");
        queue.appended = sequence + 1;
        let group = queue.gathering_group();
        debug_assert!(group.last_sequence < sequence, "a group has its commits in their order");
        let before = group.buffer.len();
        record::encode_commit(&mut group.buffer, sequence, rows);
        debug_assert_eq!(group.buffer.len() - before, body_bytes, "room was counted for these bytes");
        group.last_sequence = sequence;
        group.bytes += bytes;
        group.inserting.fetch_add(1, Ordering::Relaxed);
        let (acknowledge, acknowledged) = oneshot::channel();
        group.waiting.push(acknowledge);
        let inserting = Inserting(Arc::clone(&group.inserting));
        drop(queue);
        self.arrived.notify_one();
        Ok(Appended { sequence, acknowledged, inserting })
    }

    /// Whether there may be commits that readers do not see yet.
    pub(crate) fn has_unpublished(&self) -> bool {
        self.sequence.get() > self.snapshots.visible()
    }

    /// Waits for all commits that were accepted so far, without adding one.
    pub(crate) fn follow(&self) -> oneshot::Receiver<()> {
        let (acknowledge, acknowledged) = oneshot::channel();
        let mut queue = self.queue.lock();
        // A log that has failed or ended drops the sender: the waiter finds out why.
        if self.failure.get().is_none() && !queue.stopping {
            match queue.groups.back_mut() {
                Some(group) => group.waiting.push(acknowledge),
                None => queue.followers.push(acknowledge),
            }
            drop(queue);
            self.arrived.notify_one();
        }
        acknowledged
    }

    /// Whether a commit of this many bytes would be taken.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        bytes == 0 || self.queue.lock().has_room(bytes)
    }

    /// Whether there is hardly any allocated room left.
    pub(crate) fn is_nearly_full(&self) -> bool {
        let queue = self.queue.lock();
        queue.room_bytes < NEARLY_FULL_BYTES + queue.pending_bytes
    }

    /// Why nothing is written any more.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Waits until all commits that were accepted so far are durable. False if the log has failed.
    pub(crate) fn wait_durable(&self) -> bool {
        let mut queue = self.queue.lock();
        let wanted = queue.appended;
        while queue.durable < wanted {
            if self.failure.get().is_some() {
                return false;
            }
            queue.sync_wanted = true;
            self.arrived.notify_one();
            self.progressed.wait(&mut queue);
        }
        true
    }

    /// Whether the commit with this sequence number is durable.
    pub(crate) fn is_durable(&self, sequence: u64) -> bool {
        sequence < self.queue.lock().durable
    }

    /// Asks that a version of the tree which took a sequence number becomes the visible one.
    pub(crate) fn publish_soon(&self) {
        self.queue.lock().publish_wanted = true;
        self.arrived.notify_one();
    }

    /// The length of the segment to prepare, if it is time. One that is too short for a large commit
    /// is given back.
    pub(crate) fn segment_wanted(&self) -> Option<(u64, Option<Prepared>)> {
        let mut queue = self.queue.lock();
        let bytes = queue.segment_bytes;
        let is_wanted = match &queue.prepared {
            Some(prepared) => prepared.entry.bytes < bytes,
            None => queue.room_bytes < bytes / 2,
        };
        // The commits that wait already may need the prepared segment.
        if !is_wanted || queue.stopping || queue.pending_bytes > queue.current_room_bytes {
            return None;
        }
        queue.room_bytes = queue.current_room_bytes;
        Some((bytes, queue.prepared.take()))
    }

    pub(crate) fn offer(&self, prepared: Prepared, segment_bytes: u64) {
        let mut queue = self.queue.lock();
        assert!(queue.prepared.is_none(), "segment {} would be lost", prepared.entry.number);
        queue.room_bytes = prepared.entry.room_bytes();
        queue.segment_bytes = segment_bytes;
        queue.prepared = Some(prepared);
    }

    /// Segments that are complete and hold nothing from this sequence number on. A segment stays until
    /// a later one has a durable record, so the log always has its last durable record.
    pub(crate) fn closed_below(&self, flushed: u64) -> Vec<u64> {
        let queue = self.queue.lock();
        let DurableEnd { segment, offset, .. } = queue.durable_end;
        // A segment whose first record was torn begins again behind its header.
        let has_record = offset > SEGMENT_HEADER_BYTES as u64;
        let needless = |(number, end): &&(u64, u64)| *end <= flushed && *number < segment && has_record;
        queue.closed.iter().take_while(needless).map(|(number, _)| *number).collect()
    }

    /// These segments are gone.
    pub(crate) fn forget_closed(&self, freed: &[u64]) {
        self.queue.lock().closed.retain(|(number, _)| !freed.contains(number));
    }

    /// Segments that an earlier process has completed.
    pub(crate) fn set_closed(&self, closed: Vec<(u64, u64)>) {
        self.queue.lock().closed = closed;
    }

    pub(crate) fn durable_end(&self) -> DurableEnd {
        self.queue.lock().durable_end
    }

    /// Asks for a sync without waiting for it.
    #[cfg(feature = "simulation")]
    pub(crate) fn sync_soon(&self) {
        self.queue.lock().sync_wanted = true;
    }

    /// Refuses further commits. The thread writes the groups that wait already, syncs the mark and ends.
    pub(crate) fn stop(&self) {
        self.queue.lock().stopping = true;
        self.arrived.notify_one();
    }

    /// The work of the log's thread, until the log is stopped or fails.
    pub(crate) fn run(&self, mut writer: Writer) {
        let unwinding = FailOnUnwind(self);
        while self.step(&mut writer, true) {}
        std::mem::forget(unwinding);
    }

    /// Does one piece of work, or waits for it. False if there is none, the log was stopped or has failed.
    pub(crate) fn step(&self, writer: &mut Writer, wait: bool) -> bool {
        if let Some(work) = self.next_work(writer, wait) {
            return self.carry_out(writer, work);
        }
        if wait
            && self.failure.get().is_none()
            && let Err(error) = writer.rest()
        {
            self.fail(&error);
        }
        false
    }

    fn next_work(&self, writer: &Writer, wait: bool) -> Option<Work> {
        let mut queue = self.queue.lock();
        loop {
            // A second sync may succeed though the system has dropped what the first one could not write.
            if self.failure.get().is_some() {
                return None;
            }
            if let Some(group) = queue.groups.pop_front() {
                debug_assert!(group.last_sequence < queue.appended, "a group holds accepted commits");
                let taken =
                    if queue.groups.is_empty() { self.sequence.get() } else { group.last_sequence + 1 };
                return Some(Work::Group(group, taken));
            }
            // No group waits or is being written, so the commits that the followers wait for are durable.
            for follower in queue.followers.drain(..) {
                let _ = follower.send(());
            }
            let taken = self.sequence.get();
            if std::mem::take(&mut queue.sync_wanted) {
                return Some(Work::Sync(taken));
            }
            if std::mem::take(&mut queue.publish_wanted) {
                return Some(Work::Publish(taken));
            }
            if queue.stopping || !wait {
                return None;
            }
            if writer.is_at_rest() {
                self.arrived.wait(&mut queue);
            } else if self.arrived.wait_for(&mut queue, REST_TIME).timed_out() {
                return Some(Work::Rest);
            }
        }
    }

    /// False if the work failed. Then the waiting commits get the error.
    fn carry_out(&self, writer: &mut Writer, mut work: Work) -> bool {
        let done = match &mut work {
            Work::Group(group, taken) => self.write_group(writer, group, *taken),
            Work::Sync(taken) => writer.sync().map(|()| self.publish(writer, *taken, None)),
            Work::Publish(taken) => {
                self.publish(writer, *taken, None);
                Ok(())
            }
            Work::Rest => writer.rest().map(|()| self.publish(writer, self.snapshots.visible(), None)),
        };
        if let Err(error) = &done {
            self.fail(error);
        }
        done.is_ok()
    }

    fn write_group(&self, writer: &mut Writer, group: &mut Group, taken: u64) -> io::Result<()> {
        assert!(group.last_sequence < taken, "the group would stay invisible");
        debug_assert!(group.last_sequence >= self.snapshots.visible(), "the group is visible already");
        let closed = writer.append(&mut group.buffer, || self.queue.lock().prepared.take())?;
        if let Some(closed) = closed {
            // The record that did not fit begins the next segment; its commits are not in this one.
            let end = self.snapshots.visible();
            let mut queue = self.queue.lock();
            let last = queue.closed.last();
            assert!(
                last.is_none_or(|(number, before)| *number < closed && *before <= end),
                "segments in order"
            );
            queue.closed.push((closed, end));
        }
        if self.durability == Durability::Fsync || writer.unsynced_bytes() > UNSYNCED_BYTES_MAX {
            writer.sync()?;
        }
        while group.inserting.load(Ordering::Acquire) > 0 {
            // Some microseconds at most: the rows go into a map in memory.
            std::thread::yield_now();
        }
        self.publish(writer, taken, Some(group));
        for waiter in group.waiting.drain(..) {
            // The receiver is gone if the update was cancelled.
            let _ = waiter.send(());
        }
        Ok(())
    }

    /// Makes all commits below `taken` visible to readers, and notes up to where the log is durable.
    fn publish(&self, writer: &Writer, taken: u64, group: Option<&mut Group>) {
        assert!(taken <= self.sequence.get(), "no commit has a sequence number like {taken} yet");
        self.snapshots.publish(taken);
        let mut queue = self.queue.lock();
        if writer.is_synced() {
            queue.durable = queue.durable.max(taken);
            queue.durable_end = writer.durable_end();
            self.progressed.notify_all();
        }
        if let Some(group) = group {
            assert!(group.bytes <= queue.pending_bytes, "a group was counted when it was taken");
            queue.pending_bytes -= group.bytes;
            if queue.spare.len() < SPARE_BUFFERS && group.buffer.capacity() <= 2 * GROUP_BYTES_MAX {
                queue.spare.push(std::mem::take(&mut group.buffer));
            }
        }
        queue.room_bytes = match &queue.prepared {
            Some(prepared) => prepared.entry.room_bytes(),
            None => writer.room(),
        };
        queue.current_room_bytes = writer.room();
        if queue.prepared.is_none() && queue.room_bytes < queue.segment_bytes / 2 {
            self.wakeup.wake();
        }
    }

    /// Sets the failure and empties the queue under one lock, so that no commit is added in between.
    fn fail(&self, error: &io::Error) {
        tracing::error!("a write could not be made durable, refusing further writes: {error}");
        let mut queue = self.queue.lock();
        let _ = self.failure.set(error.to_string());
        queue.groups.clear();
        queue.followers.clear();
        self.progressed.notify_all();
    }
}

impl Queue {
    /// Whether a commit of this many bytes may wait with the others. The largest waits alone.
    fn has_room(&self, bytes: u64) -> bool {
        self.pending_bytes + bytes <= self.room_bytes.min(PENDING_BYTES_MAX.max(bytes))
    }

    /// The group that takes the next commit.
    fn gathering_group(&mut self) -> &mut Group {
        let is_full = |group: &Group| group.buffer.len() >= GROUP_BYTES_MAX;
        if self.groups.back().is_none_or(is_full) {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.resize(record::HEADER_BYTES, 0);
            let (waiting, inserting) = (Vec::new(), Arc::default());
            self.groups.push_back(Group { buffer, bytes: 0, last_sequence: 0, waiting, inserting });
        }
        self.groups.back_mut().expect("there is a group")
    }
}

/// After a panic on the log's thread, waiting commits fail instead of waiting for ever.
struct FailOnUnwind<'a>(&'a Wal);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.fail(&io::Error::other("the log's thread ended by a fault in the program"));
    }
}
