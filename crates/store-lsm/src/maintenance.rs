//! Maintenance: the one thread that prepares log segments, flushes, compacts, takes checkpoints and
//! frees what is no longer needed. It alone changes the manifest and the tree's files.
//!
//! Failed work is tried again after a pause, so the store recovers by itself from a full disk or a lack
//! of file descriptors. In the meantime the store takes writes while there is room in the log and in
//! memory, and refuses them after that. Reads are served all the time.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lsm_tree::AbstractTree;
use parking_lot::{Condvar, Mutex};
use store::StoreError;

use crate::database::Database;
use crate::error::is_full;
use crate::manifest::Manifest;
use crate::privacy;
use crate::tree::{self, TableEnd};
use crate::wal::segment::{self, Entry};
use crate::wal::writer::Prepared;

/// At most about how long a reader needs between finding a version and having read from it.
const LEAVE_TIME: Duration = Duration::from_millis(5);
/// A thread that serves requests gets three times as much of a processor. Much less would be too little
/// where other programs keep the machine busy: writes wait for compactions that lag far behind.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Why a piece of maintenance fails.
#[derive(Clone, Debug)]
pub(crate) struct Stall {
    pub(crate) reason: String,
    pub(crate) is_full: bool,
}

impl From<Stall> for StoreError {
    fn from(stall: Stall) -> Self {
        match stall.is_full {
            true => StoreError::Full(stall.reason),
            false => StoreError::Unavailable(stall.reason),
        }
    }
}

/// The work that fails at present.
#[derive(Default)]
pub(crate) struct Stalls {
    /// Log segments, flushes, the manifest.
    urgent: Option<Stall>,
    compaction: Option<Stall>,
}

/// Log segments that are made and not in use.
#[derive(Default)]
pub(crate) struct SegmentsAhead {
    /// Ready, but the manifest that names it could not be written.
    unnamed: Option<Prepared>,
    /// Never used, because they are too short. The next manifest does not name them; then they are removed.
    abandoned: Vec<Entry>,
}

/// Wakes the maintenance thread.
#[derive(Default)]
pub(crate) struct Wakeup {
    wanted: Mutex<bool>,
    changed: Condvar,
}

impl Wakeup {
    pub(crate) fn wake(&self) {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            *wanted = true;
            self.changed.notify_one();
        }
    }

    /// True when it was woken before the time was over.
    fn wait(&self, time: Duration) -> bool {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            self.changed.wait_for(&mut wanted, time);
        }
        std::mem::take(&mut *wanted)
    }
}

impl Database {
    /// The work of the maintenance thread, until the store is closed.
    pub(crate) fn run_maintenance(&self) {
        lower_priority();
        let unwinding = StallOnUnwind(self);
        let mut pause = Duration::ZERO;
        while !self.is_stopping() {
            let woken = self.wakeup.wait(pause);
            let is_at_rest =
                !woken && pause == self.tuning.quiet_time && !self.written.swap(false, Ordering::Relaxed);
            if is_at_rest {
                self.idle_flush();
            }
            pause = self.maintain();
            if is_at_rest && pause == self.tuning.quiet_time {
                pause = self.shrink();
            }
        }
        std::mem::forget(unwinding);
    }

    /// Does what there is to do, once, and returns the pause until the next look.
    pub(crate) fn maintain(&self) -> Duration {
        self.urgent_work();
        if self.stalls.lock().urgent.is_some() {
            return self.tuning.retry_time;
        }
        self.after_compaction(self.compact_once())
    }

    pub(crate) fn after_compaction(&self, compacted: Result<bool, lsm_tree::Error>) -> Duration {
        if self.is_stopping() && compacted.is_err() {
            // A compaction that was stopped is no failure; the next opening begins it again.
            return Duration::ZERO;
        }
        // One that has ended is noted also while the store is being closed: its files get their modes here.
        note(&mut self.stalls.lock().compaction, "compaction", &compacted);
        match compacted {
            Ok(true) => {
                self.after_change();
                return Duration::ZERO;
            }
            Ok(false) => {}
            Err(_) => return self.tuning.retry_time,
        }
        match self.reclaim() {
            true => LEAVE_TIME,
            false => self.tuning.quiet_time,
        }
    }

    /// The work that writers may be waiting for. A compaction under way calls this, too.
    pub(crate) fn urgent_work(&self) {
        let done = self.prepare_segment().map_err(Into::into).and_then(|()| self.flush_all());
        note(&mut self.stalls.lock().urgent, "maintenance", &done);
        self.serve_checkpoints();
    }

    fn flush_all(&self) -> Result<(), lsm_tree::Error> {
        if self.memtable_is_full() {
            self.rotate();
        }
        while self.sealed_count.load(Ordering::Acquire) > 0 && self.flush_oldest()? {
            self.after_change();
        }
        Ok(self.settle_version()?)
    }

    fn idle_flush(&self) {
        if self.is_worth_an_idle_flush() || self.cleared.load(Ordering::Relaxed) {
            self.cleared.store(false, Ordering::Relaxed);
            self.rotate();
        }
    }

    /// To be called when the tree has a new version: updates the manifest, removes log segments that
    /// are no longer needed, and lets readers use the new version.
    pub(crate) fn after_change(&self) {
        let l0_tables = self.tree.level_table_count(0).unwrap_or(0);
        self.l0_tables.store(l0_tables, Ordering::Release);
        // After a failure, the next urgent work tries again.
        let _ = self.follow_tree();
        self.wal.publish_soon();
        self.reclaim();
    }

    /// Whether the tree has a later version than the manifest names.
    pub(crate) fn manifest_is_behind(&self) -> bool {
        self.tree.current_version().id() != self.manifest.lock().tree.number
    }

    /// To be called before the tree gets a new version: the manifest names the current one after this.
    /// lsm-tree removes the version before the current one, so the tree is never two versions ahead.
    pub(crate) fn settle_version(&self) -> io::Result<()> {
        self.undo_unfinished()?;
        if self.manifest_is_behind() { self.follow_tree() } else { Ok(()) }
    }

    /// Brings the manifest up to the tree's version, then removes the segments that it makes needless.
    pub(crate) fn follow_tree(&self) -> io::Result<()> {
        self.undo_unfinished()?;
        let flushed = self.flushed.load(Ordering::Acquire);
        let version = tree::read_current(&self.paths.tree).map_err(io::Error::other)?;
        let known = self.manifest.lock().moment.clone().unwrap_or_default().tables;
        let tables = tree::table_ends(&self.paths.tree, version, &known)?;
        let known: BTreeSet<u64> = known.iter().map(|table| table.id).collect();
        let new = tables.iter().filter(|table| !known.contains(&table.id)).map(TableEnd::file_name);
        for name in new.chain([format!("v{}", version.number)]) {
            // If that fails, the next opening tries again. The folder itself keeps others out.
            let _ = privacy::correct_below(&self.paths.tree.join(name));
        }
        let freed = self.wal.closed_below(flushed);
        self.update_manifest(|manifest| {
            manifest.tree = version;
            manifest.flushed = flushed;
            manifest.moment.get_or_insert_default().tables = tables;
            manifest.segments.retain(|segment| !freed.contains(&segment.number));
        })?;
        self.wal.forget_closed(&freed);
        for number in freed {
            // If that fails, the next opening moves the file to `aside`.
            let _ = self.fs.remove(&segment::path(&self.paths.log, number));
        }
        Ok(())
    }

    /// Replaces the manifest. After a failure the disk may have the old one or the new one, so all files
    /// that either of them names stay as they are until a replacement has succeeded.
    pub(crate) fn update_manifest(&self, change: impl FnOnce(&mut Manifest)) -> io::Result<()> {
        let mut current = self.manifest.lock();
        let mut next = current.clone();
        change(&mut next);
        let abandoned = self.segments_ahead.lock().abandoned.clone();
        next.segments.retain(|segment| !abandoned.contains(segment));
        next.edition += 1;
        let moment = next.moment.get_or_insert_default();
        moment.log = moment.log.later(self.wal.durable_end().last);
        assert!(next.flushed >= current.flushed, "tables keep their commits");
        assert!(next.tree.number >= current.tree.number, "the manifest follows the tree");
        debug_assert!(
            next.segments.is_sorted_by(|one, later| one.number < later.number),
            "segments in order"
        );
        next.write(&*self.fs, &self.paths.store)?;
        *current = next;
        self.segments_ahead.lock().abandoned.retain(|segment| !abandoned.contains(segment));
        for segment in abandoned {
            // If that fails, the next opening moves the file to `aside`.
            let _ = self.fs.remove(&segment::path(&self.paths.log, segment.number));
        }
        Ok(())
    }

    /// Makes the next log segment, if it is time: allocated and in the manifest before it is used.
    fn prepare_segment(&self) -> io::Result<()> {
        let Some((bytes, too_short)) = self.wal.segment_wanted() else { return Ok(()) };
        if let Some(too_short) = too_short {
            self.segments_ahead.lock().abandoned.push(too_short.entry);
        }
        let prepared = self.make_segment(bytes)?;
        let entry = prepared.entry;
        assert!(entry.bytes >= bytes, "segment {} is long enough for the commit that waits", entry.number);
        if let Err(error) = self.update_manifest(|manifest| manifest.segments.push(entry)) {
            self.segments_ahead.lock().unnamed = Some(prepared);
            return Err(error);
        }
        self.wal.offer(prepared, self.tuning.segment_bytes);
        Ok(())
    }

    /// A segment with a number that no manifest has named, or the one that the last attempt has made.
    fn make_segment(&self, bytes: u64) -> io::Result<Prepared> {
        let mut segments = self.manifest.lock().segments.clone();
        let mut ahead = self.segments_ahead.lock();
        match ahead.unnamed.take() {
            Some(unnamed) if unnamed.entry.bytes >= bytes => return Ok(unnamed),
            Some(too_short) => ahead.abandoned.push(too_short.entry),
            None => {}
        }
        segments.extend(&ahead.abandoned);
        drop(ahead);
        let last = segments.iter().map(|segment| segment.number).max();
        let entry = Entry { number: last.unwrap_or(0) + 1, bytes };
        let file = segment::prepare(&*self.fs, &self.paths.log, entry, true)?;
        Ok(Prepared { entry, file })
    }

    pub(crate) fn stall(&self) -> Option<Stall> {
        let stalls = self.stalls.lock();
        stalls.urgent.clone().or_else(|| stalls.compaction.clone())
    }
}

/// Notes how a piece of work has ended, and logs it when that changes.
fn note<T>(stall: &mut Option<Stall>, what: &str, done: &Result<T, lsm_tree::Error>) {
    let now = done.as_ref().err().map(|error| match error {
        lsm_tree::Error::Io(error) => Stall { reason: error.to_string(), is_full: is_full(error) },
        other => Stall { reason: other.to_string(), is_full: false },
    });
    match (&*stall, &now) {
        (Some(_), None) => tracing::info!("{what} works again"),
        (before, Some(now)) if before.as_ref().is_none_or(|before| before.reason != now.reason) => {
            tracing::error!("{what} fails and is tried again: {}", now.reason);
        }
        _ => {}
    }
    *stall = now;
}

/// After a panic on the maintenance thread, waiting writes and checkpoints fail instead of waiting.
struct StallOnUnwind<'a>(&'a Database);

impl Drop for StallOnUnwind<'_> {
    fn drop(&mut self) {
        let error = io::Error::other("the maintenance thread ended by a fault in the program");
        note::<()>(&mut self.0.stalls.lock().urgent, "maintenance", &Err(error.into()));
        self.0.checkpoints.lock().clear();
    }
}

pub(crate) fn spawn(database: &Arc<Database>) -> io::Result<std::thread::JoinHandle<()>> {
    let database = Arc::clone(database);
    std::thread::Builder::new().name("maintenance".to_owned()).spawn(move || database.run_maintenance())
}

/// On Linux each thread has a priority of its own, elsewhere the process has one.
#[cfg(target_os = "linux")]
fn lower_priority() {
    use rustix::process::{getpriority_process, setpriority_process};

    let lowered = getpriority_process(None).and_then(|now| setpriority_process(None, now + NICENESS));
    if let Err(error) = lowered {
        tracing::debug!("maintenance keeps its priority: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
