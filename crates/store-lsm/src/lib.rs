//! The storage contract on a log-structured merge tree: the embedded default.
//!
//! The tree (memtables, tables, levels, compaction) is the `lsm-tree` crate. This crate adds what a
//! database needs: a write-ahead log (`wal`), a manifest of all files (`manifest`), and two threads.
//! One writes and syncs the log for all waiting commits, the other does everything else
//! (`maintenance`). `docs/store-format.md` draws the files.
//!
//! A write goes through these steps:
//! 1. It waits, without holding a latch or lock, while flushes or compaction lag behind.
//! 2. It takes the latches of its keys (`latch`), reads their rows, and lets the caller decide.
//! 3. It gets its position in the log and its sequence number, and inserts its rows into the memtable.
//!    Then it releases the latches.
//! 4. It waits until the log's thread has made its group durable, and only then returns.
//!
//! What always holds:
//! - Steps 2 and 3 never await, and no latch is held while the disk syncs.
//! - Readers see a commit when it is durable, all of it and in the order of the log.
//! - An update that holds the latch of a row reads its newest version, durable or not. The update's own
//!   commit follows that version in the log, so it can't become durable without it.
//! - An update that writes nothing returns only when readers see the rows that it read. So no later read
//!   returns an older version.
//! - After a failed sync nothing is written until the folder is opened again.
//! - A full disk refuses writes before anything of them is written, and reads go on.
//! - A missing, foreign or damaged file is never taken for an empty one.
//!
//! | question | file |
//! |---|---|
//! | what bytes does a row have as its key? | `layout.rs` |
//! | which updates exclude each other? | `latch.rs` |
//! | what is in the log, and when is it synced? | `wal.rs`, `wal/record.rs`, `wal/writer.rs` |
//! | where does the log end after a crash? | `wal/reader.rs`, `wal/mark.rs` |
//! | how is the store opened? | `database.rs` |
//! | which files must be there, and who holds them? | `manifest.rs`, `tree.rs`, `folder.rs`; file modes: `privacy.rs` |
//! | what does a reader see? | `snapshot.rs`; the change logs: `change_log.rs` |
//! | when is a memtable flushed, and what is compacted? | `flush.rs`, `compaction.rs`, `write_back.rs` |
//! | when is memory and space given back? | `reclamation.rs`, `shrinking.rs` |
//! | what if the disk is full? | `maintenance.rs`; which writes wait or are refused: `lib.rs` |
//! | how is a running store copied? | `checkpoint.rs`; for commands that only read: `scratch.rs` |
//! | what is damage, and how is it repaired? | `verify.rs`, `repair.rs` |
//! | how many files may be open? | `descriptors.rs` |
//! | how are crashes and failing disks tested? | `simulation.rs`, `vfs/simulated.rs` |

mod change_log;
mod checkpoint;
mod compaction;
mod database;
mod descriptors;
mod error;
mod flush;
mod folder;
mod latch;
mod layout;
mod maintenance;
mod manifest;
mod privacy;
mod reclamation;
mod repair;
mod scratch;
mod shrinking;
#[cfg(feature = "simulation")]
pub mod simulation;
mod snapshot;
mod tree;
mod verify;
pub mod vfs;
mod wal;
mod write_back;

use std::io;
use std::ops::Bound;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use lsm_tree::{AbstractTree, Guard, SeqNo, Slice};
use parking_lot::{Mutex, RwLock};
use store::turns::{KEY_WORK, ROW_WORK, Slices};
use store::{
    Consistency, Decide, Direction, Key, KeyRef, Log, LogPosition, Range, Read, Space, Store, StoreError,
    Visit, WriteSet,
};
use tokio::sync::oneshot;

pub use descriptors::{connections_max, raise_descriptor_limit};
pub use error::OpenError;
pub use folder::{FORMAT_VERSION, OLDEST_VERSION};
pub use repair::{Repaired, Survey, repair, survey};
pub use verify::{Finding, Verification, verify};

use change_log::{Appending, LogState};
use database::Database;
use error::read_failure;
use folder::Folder;
use snapshot::Snapshot;
use vfs::{Disk, FileSystem};
use wal::record::{self, Row};
use wal::writer::Writer;
use wal::{AppendError, Appended};

/// Writes wait while this many sealed memtables or more wait for their flush.
const SEALED_MEMTABLES_MAX: usize = 2;
/// Writes wait while the memtable has this many times the size at which it is sealed: maintenance is busy, and what the
/// memtable takes must stay bounded.
const MEMTABLE_OVERFLOW: u64 = 2;
/// A commit with more than this is large. It waits while one memtable fewer is full, so that there is room for small
/// ones when large ones fill memory faster than the disk takes it.
const LARGE_COMMIT_BYTES: u64 = 256 * 1024;
/// Writes wait while L0 has this many tables or more: a read searches each of them.
const L0_TABLES_MAX: usize = 18;
/// How often and how many times a write looks whether maintenance has caught up: 20 seconds.
const CATCH_UP_TIME: Duration = Duration::from_millis(5);
const CATCH_UP_TRIES_MAX: u32 = 4000;
/// Rows or records that one step of clearing or trimming removes.
const STEP_ROWS: usize = 1000;
/// The longest key that the tree can store.
const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// How much of what was read from disk is kept in memory, unless another size is asked for. With
/// this much, and the memtables, a load of ten million items stays below 400 MB.
pub const CACHE_BYTES: u64 = 64 << 20;

/// The size at which a memtable is written out, unless another one is asked for.
pub const MEMTABLE_BYTES: u64 = 32 << 20;

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the machine: the disk has confirmed it.
    #[default]
    Fsync,
    /// The end of the process: the operating system has it, and syncs it within a moment.
    Os,
}

/// How a data folder is opened.
#[derive(Clone, Debug)]
pub struct Options {
    pub durability: Durability,
    /// How much of what was read from disk is kept in memory.
    pub cache_bytes: u64,
    /// Where this process serves. A second process that tries to open the folder shows it in its message.
    pub address: Option<String>,
    pub tuning: Tuning,
}

/// Sizes and times that tests make small.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// One memtable. With those that are written out they take three times as much, and a reopening
    /// replays about as much.
    pub memtable_bytes: u64,
    /// The length of a log segment.
    pub segment_bytes: u64,
    /// How large tables become below level 0.
    pub table_bytes: u64,
    /// The pause of maintenance after a failure.
    pub retry_time: Duration,
    /// What waits for a store at rest is done when no client has written for this long, or for up to twice as long.
    pub quiet_time: Duration,
    /// How long compaction works before it sleeps.
    pub work_time: Duration,
    /// What a write waits with while maintenance lags behind.
    pub sleep: fn(Duration) -> Sleep,
}

/// Ends when a time is over.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            memtable_bytes: MEMTABLE_BYTES,
            segment_bytes: 32 << 20,
            table_bytes: tree::TABLE_BYTES,
            retry_time: Duration::from_millis(500),
            quiet_time: Duration::from_secs(5),
            work_time: Duration::from_millis(2),
            sleep: |time| Box::pin(tokio::time::sleep(time)),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            durability: Durability::default(),
            cache_bytes: CACHE_BYTES,
            address: None,
            tuning: Tuning::default(),
        }
    }
}

/// A store in a data folder.
pub struct LsmStore {
    /// Nothing once the store is closed.
    open: RwLock<Option<Arc<Database>>>,
    threads: Mutex<Threads>,
    folder: Mutex<Option<Folder>>,
    /// Where the copy is, if this is one.
    _scratch: Option<tempfile::TempDir>,
}

#[derive(Default)]
struct Threads {
    log: Option<JoinHandle<()>>,
    maintenance: Option<JoinHandle<()>>,
}

fn spawn_log(database: &Arc<Database>, writer: Writer) -> std::io::Result<JoinHandle<()>> {
    let database = Arc::clone(database);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || database.wal.run(writer))
}

impl LsmStore {
    /// Opens the data folder at `path`, made first if need be, and holds it until the store is closed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        LsmStore::open_on(Arc::new(Disk), path.as_ref(), &options)
    }

    /// Opens a scratch copy of the data folder at `path`, to read it without changing it. Writes change
    /// only the copy. Nothing is flushed or compacted.
    pub fn open_scratch(path: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        let folder = Folder::take_to_read(path.as_ref())?;
        let scratch = scratch::copy(path.as_ref())?;
        let options = Options { durability: Durability::Os, ..options.clone() };
        let (database, writer) = Database::open(Arc::new(Disk), scratch.path(), &options)?;
        let log = spawn_log(&database, writer).map_err(|error| OpenError::io(path.as_ref(), error))?;
        let threads = Threads { log: Some(log), maintenance: None };
        Ok(LsmStore {
            open: RwLock::new(Some(database)),
            threads: Mutex::new(threads),
            folder: Mutex::new(folder),
            _scratch: Some(scratch),
        })
    }

    /// Opens a data folder on any file system.
    pub fn open_on(fs: Arc<dyn FileSystem>, path: &Path, options: &Options) -> Result<Self, OpenError> {
        let failed = |error| OpenError::io(path, error);
        let folder = Folder::take(path)?;
        if let Some(address) = &options.address {
            folder.name_holder(Some(address)).map_err(failed)?;
        }
        let (database, writer) = Database::open(fs, path, options)?;
        let threads = Threads {
            log: Some(spawn_log(&database, writer).map_err(failed)?),
            maintenance: Some(maintenance::spawn(&database).map_err(failed)?),
        };
        Ok(LsmStore {
            open: RwLock::new(Some(database)),
            threads: Mutex::new(threads),
            folder: Mutex::new(Some(folder)),
            _scratch: None,
        })
    }

    /// Opens a data folder without threads: the caller does their work, step by step.
    #[cfg(feature = "simulation")]
    pub fn open_stepped(
        fs: Arc<dyn FileSystem>,
        path: &Path,
        options: &Options,
    ) -> Result<(LsmStore, simulation::stepped::Stepped), OpenError> {
        let stepped = simulation::stepped::Stepped::open(fs, path, options)?;
        let store = LsmStore {
            open: RwLock::new(Some(stepped.database())),
            threads: Mutex::default(),
            folder: Mutex::default(),
            _scratch: None,
        };
        Ok((store, stepped))
    }

    /// Writes into the lock file where this process serves. A second process shows it in its message.
    pub fn announce(&self, address: &str) -> Result<(), StoreError> {
        match &*self.folder.lock() {
            Some(folder) => {
                folder.name_holder(Some(address)).map_err(|error| StoreError::Unavailable(error.to_string()))
            }
            None => Err(StoreError::closed()),
        }
    }

    /// What the tables take on disk, in bytes.
    pub fn table_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.opened()?.tree.disk_space())
    }

    /// What the memtable that takes writes has, in bytes.
    pub fn memtable_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.opened()?.active.read().size())
    }

    /// Copies the whole store into a folder of its own, at once and while it serves: hard links and
    /// the log's tail. The copy holds every write that was acknowledged before.
    pub async fn checkpoint(&self, target: &Path) -> io::Result<()> {
        let database = self.opened().map_err(io::Error::other)?;
        database.check().map_err(io::Error::other)?;
        if self.threads.lock().maintenance.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(io::Error::other("nothing maintains the store"));
        }
        let answer = database.request_checkpoint(target);
        let waiting = tokio::task::spawn_blocking(move || answer.recv());
        match waiting.await {
            Ok(Ok(done)) => done,
            _ => Err(io::Error::other(StoreError::closed())),
        }
    }

    fn opened(&self) -> Result<Arc<Database>, StoreError> {
        self.open.read().clone().ok_or_else(StoreError::closed)
    }

    fn view(&self) -> Result<View, StoreError> {
        Ok(self.opened()?.view())
    }

    /// Ends both threads. The maintenance thread ends first, because it waits for syncs of the log's thread.
    fn stop(&self, database: &Database) {
        database.stop_maintenance();
        let Threads { log, maintenance } = std::mem::take(&mut *self.threads.lock());
        // If either thread panicked, the panic hook has already written that to standard error.
        let _ = maintenance.map(JoinHandle::join);
        database.wal.stop();
        let _ = log.map(JoinHandle::join);
        database.checkpoints.lock().clear();
    }
}

impl Drop for LsmStore {
    fn drop(&mut self) {
        if let Some(database) = self.open.get_mut().take() {
            self.stop(&database);
        }
    }
}

/// Why a commit did not happen.
enum Refusal {
    /// There is no room in the log for this many bytes just now.
    Lagging {
        bytes: u64,
    },
    Error(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::Error(error)
    }
}

impl Database {
    fn view(self: &Arc<Self>) -> View {
        View { snapshot: self.snapshots.take(), database: Arc::clone(self) }
    }

    /// Fails once a write could not be made durable: from then on nothing may be written.
    fn check(&self) -> Result<(), StoreError> {
        match self.wal.failure() {
            None => Ok(()),
            Some(failure) => Err(StoreError::Poisoned(failure.to_owned())),
        }
    }

    /// Whether a commit of this many bytes is to wait.
    fn lags(&self, log_bytes: u64) -> bool {
        let (sealed, active_bytes) = (self.sealed_count.load(Ordering::Acquire), self.active.read().size());
        let full = sealed + usize::from(active_bytes >= self.tuning.memtable_bytes);
        sealed >= SEALED_MEMTABLES_MAX
            || self.l0_tables() >= L0_TABLES_MAX
            || active_bytes >= MEMTABLE_OVERFLOW * self.tuning.memtable_bytes
            || (log_bytes > LARGE_COMMIT_BYTES && full >= SEALED_MEMTABLES_MAX)
    }

    /// Waits while maintenance lags behind, or while the log has no room for this many bytes: to decide again what
    /// would be refused again takes time from others. Fails if maintenance is stalled.
    async fn catch_up(&self, log_bytes: u64) -> Result<(), StoreError> {
        for _ in 0..CATCH_UP_TRIES_MAX {
            self.check()?;
            if self.wal.has_room(log_bytes) && !self.lags(log_bytes) {
                return Ok(());
            }
            if let Some(stall) = self.stall() {
                return Err(stall.into());
            }
            self.wakeup.wake();
            (self.tuning.sleep)(CATCH_UP_TIME).await;
        }
        Err(StoreError::Unavailable("writes arrive faster than the disk takes them".to_owned()))
    }

    /// Steps 2 and 3 of a write. Returns what step 4 waits for, or `None` if `decide` writes nothing and
    /// readers see the rows that it saw.
    fn commit(
        &self,
        keys: &[Key],
        decide: &mut Decide<'_>,
    ) -> Result<Option<oneshot::Receiver<()>>, Refusal> {
        let keys: Vec<Vec<u8>> = keys.iter().map(layout::row_key).collect();
        let _latches = self.latches.take(&keys);
        self.check()?;
        // The newest rows, durable or not: this commit follows them in the log.
        let row = |key: &Vec<u8>| Ok(self.tree.get(key, SeqNo::MAX).map_err(read_failure)?.map(Bytes::from));
        let rows: Vec<Option<Bytes>> = keys.iter().map(row).collect::<Result<_, StoreError>>()?;

        let write_set = decide(&rows);
        if write_set.is_empty() {
            return Ok(self.is_ahead_of_readers(&keys, &rows)?.then(|| self.wal.follow()));
        }
        write_set.debug_assert_distinct();
        let state = |log| self.change_logs.state(log, &self.tree);
        let mut appending = Appending::lock(&write_set, state)?;
        let taken = self.write(rows_of(write_set, &mut appending)?)?;
        appending.commit();
        Ok(Some(taken))
    }

    /// Whether readers do not see these rows yet.
    fn is_ahead_of_readers(&self, keys: &[Vec<u8>], rows: &[Option<Bytes>]) -> Result<bool, StoreError> {
        debug_assert_eq!(keys.len(), rows.len(), "each key has its row, or none");
        if !self.wal.has_unpublished() {
            return Ok(false);
        }
        let seen = self.snapshots.take();
        for (key, row) in keys.iter().zip(rows) {
            let visible = self.tree.get(key, seen.moment).map_err(read_failure)?;
            if visible.as_deref() != row.as_deref() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Appends the rows to the log and inserts them into the memtable.
    fn write(&self, rows: Vec<Row>) -> Result<oneshot::Receiver<()>, Refusal> {
        let bytes = record::record_bytes(record::commit_bytes(&rows)) as u64;
        if bytes > LARGE_COMMIT_BYTES && self.lags(bytes) {
            return Err(Refusal::Lagging { bytes });
        }
        let active = self.active.read();
        let Appended { sequence, acknowledged, inserting } =
            self.wal.append(&rows).map_err(|error| match error {
                AppendError::Lagging { bytes } => Refusal::Lagging { bytes },
                AppendError::Closed => StoreError::closed().into(),
                AppendError::Failed(failure) => StoreError::Poisoned(failure).into(),
            })?;
        database::insert(&active, sequence, rows);
        drop(inserting);
        if !self.written.load(Ordering::Relaxed) {
            self.written.store(true, Ordering::Relaxed);
        }
        if active.size() >= self.tuning.memtable_bytes && !active.is_flagged_for_rotation() {
            active.flag_rotated();
            self.wakeup.wake();
        }
        Ok(acknowledged)
    }

    /// Commits rows that need no decision. Waits while the log has no room for them.
    async fn write_all(&self, rows: Vec<Row>) -> Result<(), StoreError> {
        let mut log_bytes = 0;
        loop {
            self.catch_up(log_bytes).await?;
            match self.write(rows.clone()) {
                Ok(acknowledged) => return self.acknowledged(acknowledged).await,
                Err(Refusal::Lagging { bytes }) => log_bytes = bytes,
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
    }

    /// Step 4 of a write.
    async fn acknowledged(&self, acknowledged: oneshot::Receiver<()>) -> Result<(), StoreError> {
        if acknowledged.await.is_ok() {
            return Ok(());
        }
        self.check()?;
        Err(StoreError::Ambiguous("the store was closed during a commit".to_owned()))
    }

    /// The deletes of up to one step of rows between two stored keys.
    fn deletes(&self, bounds: layout::Bounds) -> Result<Vec<Row>, StoreError> {
        let rows = self.tree.range(bounds, SeqNo::MAX, None).take(STEP_ROWS);
        rows.map(|row| Ok((row.key().map_err(read_failure)?, None))).collect()
    }
}

/// The rows that a write set changes, change-log records among them.
fn rows_of(write_set: WriteSet, appending: &mut Appending) -> Result<Vec<Row>, StoreError> {
    let WriteSet { puts, deletes, appends, log_parts, now_us: _ } = write_set;
    let mut rows: Vec<Row> = Vec::with_capacity(puts.len() + deletes.len() + appends.len());
    for (key, value) in puts {
        rows.push((layout::row_key(&key).into(), Some(value.into())));
    }
    for key in deletes {
        rows.push((layout::row_key(&key).into(), None));
    }
    for (log, record) in appends {
        rows.push((layout::record_key(log, appending.next(log)).into(), Some(record.into())));
    }
    for part in log_parts {
        debug_assert!(part.records.is_sorted_by(|one, next| one.0 < next.0), "records are in their order");
        debug_assert!(part.records.last().is_none_or(|(last, _)| *last <= part.end), "none is after the end");
        appending.carry(part.log, part.end);
        if part.records.last().is_none_or(|(last, _)| *last < part.end) {
            let end = part.end.0.to_be_bytes();
            rows.push((layout::end_key(part.log).into(), Some(end.into())));
        }
        for (position, record) in part.records {
            rows.push((layout::record_key(part.log, position.0).into(), Some(record.into())));
        }
    }
    let is_too_long = |(key, value): &Row| {
        key.len() > KEY_BYTES_MAX || value.as_ref().is_some_and(|value| u32::try_from(value.len()).is_err())
    };
    if let Some((key, _)) = rows.iter().find(|row| is_too_long(row)) {
        let text = format!("a row with a key of {} bytes is too long to be stored", key.len());
        return Err(StoreError::Unavailable(text));
    }
    Ok(rows)
}

#[async_trait]
impl Read for LsmStore {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let view = self.view()?;
        view.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let view = self.view()?;
        view.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.view()?.records(log, after, limit)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.view()?.log_end(log).await
    }
}

#[async_trait]
impl Store for LsmStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let database = self.opened()?;
        let mut log_bytes = 0;
        loop {
            database.catch_up(log_bytes).await?;
            match database.commit(keys, decide) {
                Ok(None) => return Ok(()),
                Ok(Some(acknowledged)) => return database.acknowledged(acknowledged).await,
                Err(Refusal::Lagging { bytes }) => log_bytes = bytes,
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let database = self.opened()?;
        let (mut start, end) = layout::row_bounds(&Range::all(space));
        loop {
            let deletes = database.deletes((start, end.clone()))?;
            let Some((last, _)) = deletes.last() else { return Ok(()) };
            database.cleared.store(true, Ordering::Relaxed);
            // The next step starts after the last removed row, so that it skips the tombstones of this one.
            start = Bound::Excluded(last.to_vec());
            database.write_all(deletes).await?;
        }
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(self.view()?))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        let database = self.opened()?;
        let state = database.change_logs.state(log, &database.tree)?;
        loop {
            let trimmed = LogPosition(state.trimmed());
            if through <= trimmed {
                return Ok(());
            }
            let mut rows = database.deletes(layout::record_bounds(log, trimmed, through))?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            let LogPosition(last) = layout::record_position(last)?;
            debug_assert!(trimmed.0 < last && last <= through.0, "only records of this range are removed");
            rows.push((layout::trimmed_key(log).into(), Some(last.to_be_bytes().into())));
            database.write_all(rows).await?;
            state.set_trimmed(last);
        }
    }

    fn health(&self) -> Result<(), StoreError> {
        let database = self.opened()?;
        database.check()?;
        match database.stall() {
            Some(stall) if database.lags(0) || database.wal.is_nearly_full() => Err(stall.into()),
            _ => Ok(()),
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        let Some(database) = self.open.write().take() else { return Ok(()) };
        self.stop(&database);
        *self.folder.lock() = None;
        database.check()
    }
}

/// The rows of one moment.
struct View {
    snapshot: Snapshot,
    database: Arc<Database>,
}

impl View {
    fn records(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let mut records = Vec::new();
        let state = self.database.change_logs.state(log, &self.database.tree)?;
        let after = after.max(LogPosition(state.trimmed()));
        if after.0 == u64::MAX {
            return Ok(records);
        }
        let bounds = layout::record_bounds(log, after, LogPosition(u64::MAX));
        for record in self.database.tree.range(bounds, self.snapshot.moment, None).take(limit) {
            let (key, value) = record.into_inner().map_err(read_failure)?;
            records.push((layout::record_position(&key)?, Bytes::from(value)));
        }
        Ok(records)
    }
}

#[async_trait]
impl Read for View {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let row = |key: &Key| -> Result<Option<Bytes>, StoreError> {
            let row: Option<Slice> =
                self.database.tree.get(layout::row_key(key), self.snapshot.moment).map_err(read_failure)?;
            Ok(row.map(Bytes::from))
        };
        if let [key] = keys {
            return Ok(vec![row(key)?]);
        }
        let mut rows = Vec::with_capacity(keys.len());
        let mut slices = Slices::begin();
        for key in keys {
            let row = row(key)?;
            let bytes = row.as_ref().map_or(0, Bytes::len);
            rows.push(row);
            slices.spend(KEY_WORK + bytes).await;
        }
        Ok(rows)
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        let mut rows = self.database.tree.range(layout::row_bounds(range), self.snapshot.moment, None);
        let mut next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let mut slices = Slices::begin();
        while let Some(row) = next() {
            let (key, value) = row.into_inner().map_err(read_failure)?;
            let (partition, sort) = layout::row_place(&key)?;
            let bytes = value.len();
            if visit(KeyRef { partition: &partition, sort }, Bytes::from(value)).is_break() {
                break;
            }
            slices.spend(ROW_WORK + bytes).await;
        }
        Ok(())
    }

    /// Records are seen when they are durable: a position that a reader remembers is not given to
    /// another record after a crash.
    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.records(log, after, limit)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        LogState::end(log, &self.database.tree, self.snapshot.moment)
    }
}

/// The time that log records carry, for people only: milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "the log's time is shown to people and decides nothing")]
pub(crate) fn write_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_commits_have_room_where_large_ones_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let tuning = Tuning { memtable_bytes: 64 << 10, ..Tuning::default() };
        let options = Options { tuning, ..Options::default() };
        let (database, _writer) = Database::open(Arc::new(Disk), folder.path(), &options).expect("it opens");
        let large = LARGE_COMMIT_BYTES + 1;
        let fill = |key: &[u8]| drop(database.write(vec![(key.into(), Some(vec![0; 70 << 10].into()))]));
        assert!(!database.lags(0) && !database.lags(large));
        fill(b"a");
        assert!(!database.lags(large), "maintenance is about to seal the memtable");
        database.rotate();
        assert!(!database.lags(large));
        fill(b"b");
        assert!(database.lags(large) && !database.lags(0));
        let value = vec![0; large as usize].into();
        assert!(matches!(database.write(vec![(b"c"[..].into(), Some(value))]), Err(Refusal::Lagging { .. })));
        fill(b"d");
        assert!(database.lags(0), "the memtable has twice its size");
    }
}
