//! The storage contract on fjall, a log-structured engine: the embedded default.
//!
//! A write goes through these steps:
//! 1. It waits, without holding anything, while the engine's background work lags behind.
//! 2. It takes the latches of its keys (`latch`), reads their rows, and lets the caller decide.
//! 3. It commits one batch to the journal; log records get their positions (`log`) under the lock
//!    of their log. From here on everybody sees it. The latches are released.
//! 4. It waits until the journal is durable (`group_commit`), and only then returns.
//!
//! What always holds:
//! - Steps 2 and 3 never await, and no lock is held while the disk syncs.
//! - The bytes of a commit are with the operating system before anybody can see it, so what was ever
//!   seen survives the end of the process. With [`Durability::Fsync`], what was acknowledged or read
//!   from a log survives the end of the machine too.
//! - Reads run on the calling thread, each on a snapshot: the engine's live view shows batches that
//!   are half applied.
//! - After a failed sync nothing is written until the folder is opened again.

mod background;
mod compaction;
mod folder;
mod group_commit;
mod housekeeping;
mod idle_flush;
mod journal;
mod latch;
mod layout;
mod log;
mod pace;
mod retirement;
mod write_back;

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use fjall::config::{PartitioningPolicy, PinningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use store::{
    Consistency, Decide, Direction, Key, KeyRef, Log, LogPosition, Range, Read, Space, Store, StoreError,
    Visit, WriteSet,
};

pub use folder::{FORMAT_VERSION, OpenError};

use background::Background;
use folder::Folder;
use group_commit::GroupCommit;
use housekeeping::Housekeeping;
use journal::{JournalSync, JournalTail, JournalWriters};
use latch::Latches;
use log::{Appending, LogState, Logs};
use pace::Pace;

/// One write buffer. At most one is filled while [`FLUSHES_WAITING_MAX`] are written out, so they
/// take 96 MiB together, and a reopening replays about as much.
const WRITE_BUFFER_BYTES: u64 = 32 << 20;
/// From 4 full buffers on, fjall puts the writing thread to sleep, whatever it holds.
const FLUSHES_WAITING_MAX: usize = 2;
/// From 20 tables on, fjall makes the writing thread spin, and from 30 on sleep.
const FRESH_TABLES_MAX: usize = 18;
/// How often and how many times a write looks whether the engine has caught up: 20 seconds.
const CATCH_UP_TIME: Duration = Duration::from_millis(5);
const CATCH_UP_TRIES_MAX: u32 = 4000;
/// Journals are freed when their write buffers are on disk; this many bytes trigger that at the latest.
const JOURNALS_BYTES_MAX: u64 = 256 << 20;
/// Rows or records that one step of clearing or trimming removes.
const STEP_ROWS: usize = 1000;

/// How much of what was read from disk is kept in memory, unless another size is asked for. With
/// this much, and the write buffers, a load of ten million items stays below 400 MB.
pub const CACHE_BYTES: u64 = 64 << 20;

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
    /// Where this process serves, for the message to whoever finds the folder taken.
    pub address: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::default(), cache_bytes: CACHE_BYTES, address: None }
    }
}

/// A store in a data folder.
pub struct FjallStore {
    /// Nothing once the store is closed.
    open: RwLock<Option<Open>>,
    latches: Latches,
    logs: Logs,
    durability: Durability,
    /// Whether the store as such is durable: one that was just made has to become so first.
    settled: AtomicBool,
    group_commit: GroupCommit,
}

/// The engine and its folder. The fields are dropped in their order: the folder is free last.
struct Open {
    idle_flush: Background,
    housekeeping: Arc<Housekeeping>,
    rows: Keyspace,
    database: Database,
    journal_writers: Arc<JournalWriters>,
    folder: Folder,
}

impl FjallStore {
    /// Opens the data folder at `path`, made first if need be, and holds it until the store is closed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let failed = |error| OpenError::io(path, error);
        let folder = Folder::take(path)?;
        if let Some(address) = &options.address {
            folder.name_holder(Some(address)).map_err(failed)?;
        }
        let (engine, mut making) =
            folder.engine(|new| open_engine(new, &options, Pace::default()).map(drop))?;
        let tail = JournalTail::find(&engine).map_err(|error| OpenError::Corrupt {
            folder: path.to_owned(),
            reason: format!("its journal: {error}"),
        })?;
        let pace = Pace::default();
        let (database, rows) =
            open_engine(&engine, &options, pace.clone()).map_err(|error| OpenError::engine(path, error))?;
        let lost = tail.lost_bytes().map_err(failed)?;
        if lost > 0 {
            tracing::warn!(
                "the last {lost} bytes of the journal in {} were no complete write and are dropped",
                path.display()
            );
        }
        let journal_writers = Arc::<JournalWriters>::default();
        let mut journal = JournalSync::new(&engine, Arc::clone(&journal_writers)).map_err(failed)?;
        let settled = making.is_none();
        let sync = move || {
            if let Some(making) = making.take() {
                making.finish()?;
            }
            journal.sync()
        };
        let group_commit = GroupCommit::start(sync).map_err(failed)?;
        if !settled {
            group_commit.durable_soon();
        }
        let housekeeping = Arc::new(Housekeeping::start(&database, &rows, pace).map_err(failed)?);
        let idle_flush = idle_flush::start(&rows, Arc::clone(&housekeeping)).map_err(failed)?;
        let open = Open { idle_flush, housekeeping, rows, database, journal_writers, folder };
        Ok(FjallStore {
            open: RwLock::new(Some(open)),
            latches: Latches::new(),
            logs: Logs::default(),
            durability: options.durability,
            settled: AtomicBool::new(settled),
            group_commit,
        })
    }

    /// Tells whoever finds the folder taken where this process serves.
    pub fn announce(&self, address: &str) -> Result<(), StoreError> {
        self.opened()?
            .folder
            .name_holder(Some(address))
            .map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    fn opened(&self) -> Result<MappedRwLockReadGuard<'_, Open>, StoreError> {
        RwLockReadGuard::try_map(self.open.read(), Option::as_ref).map_err(|_| StoreError::closed())
    }

    fn view(&self) -> Result<View, StoreError> {
        Ok(self.opened()?.view())
    }

    fn log_state(&self, open: &Open, log: Log) -> Result<Arc<LogState>, StoreError> {
        self.logs.state(log, &open.rows, || open.database.snapshot())
    }

    /// Waits while the engine lags behind. It would otherwise put the committing thread to sleep in
    /// the middle of its commit, with the latches of its keys and the tasks of the runtime behind it.
    async fn catch_up(&self) -> Result<(), StoreError> {
        for _ in 0..CATCH_UP_TRIES_MAX {
            {
                let open = self.opened()?;
                open.housekeeping.compaction.check()?;
                if !open.lags() {
                    return Ok(());
                }
                // Fails if flushes have failed, as on a full disk: they never catch up then.
                open.database.persist(PersistMode::Buffer).map_err(write_failure)?;
            }
            tokio::time::sleep(CATCH_UP_TIME).await;
        }
        Err(StoreError::Unavailable("writes arrive faster than the disk takes them".to_owned()))
    }

    /// Steps 2 and 3 of a write. False when there was nothing to commit.
    fn commit(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<bool, StoreError> {
        let open = self.opened()?;
        let keys: Vec<Vec<u8>> = keys.iter().map(layout::row_key).collect();
        let _latches = self.latches.take(&keys);
        self.group_commit.check()?;
        // The live view is right for keys whose latch we hold: no batch with them is half applied.
        let row = |key: &Vec<u8>| Ok(open.rows.get(key).map_err(read_failure)?.map(Bytes::from));
        let rows: Vec<Option<Bytes>> = keys.iter().map(row).collect::<Result<_, StoreError>>()?;

        let write_set = decide(&rows);
        if write_set.is_empty() {
            return Ok(false);
        }
        let mut appending = Appending::lock(&write_set.appends, |log| self.log_state(&open, log))?;
        open.commit(write_set, &mut appending)?;
        Ok(true)
    }

    /// Waits until everything committed so far is as durable as promised.
    async fn durable(&self) -> Result<(), StoreError> {
        if self.durability == Durability::Os && self.settled.load(Ordering::Acquire) {
            // Each commit has handed its bytes to the operating system.
            self.group_commit.durable_soon();
            return Ok(());
        }
        self.group_commit.durable().await?;
        self.settled.store(true, Ordering::Release);
        Ok(())
    }

    /// Removes one step of rows and tells the last of them, or nothing when none was left.
    fn clear_step(&self, space: Space, after: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
        let open = self.opened()?;
        self.group_commit.check()?;
        let (first, end) = layout::row_bounds(&Range::all(space));
        let start = after.map_or(first, Bound::Excluded);
        let mut batch = open.batch(STEP_ROWS);
        let mut bytes = 0;
        let mut last = None;
        for row in open.database.snapshot().range(&open.rows, (start, end)).take(STEP_ROWS) {
            let key = row.key().map_err(read_failure)?;
            last = Some(key.to_vec());
            bytes += key.len();
            batch.remove(&open.rows, key);
        }
        open.write(batch, bytes)?;
        Ok(last)
    }

    /// Removes one step of records and tells whether there may be more.
    fn trim_step(&self, log: Log, through: LogPosition) -> Result<bool, StoreError> {
        let open = self.opened()?;
        self.group_commit.check()?;
        let state = self.log_state(&open, log)?;
        let trimmed = LogPosition(state.trimmed());
        if through <= trimmed {
            return Ok(false);
        }
        let mut batch = open.batch(STEP_ROWS + 1);
        let mut bytes = 0;
        let mut last = None;
        let bounds = layout::record_bounds(log, trimmed, through);
        for record in open.database.snapshot().range(&open.rows, bounds).take(STEP_ROWS) {
            let key = record.key().map_err(read_failure)?;
            last = Some(layout::record_position(&key)?.0);
            bytes += key.len();
            batch.remove(&open.rows, key);
        }
        let Some(last) = last else { return Ok(false) };
        batch.insert(&open.rows, layout::trimmed_key(log), last.to_be_bytes().to_vec());
        open.write(batch, bytes)?;
        LogState::raise(&state.trimmed, last);
        Ok(true)
    }
}

/// Opens or makes the engine's files with what we expect of them.
fn open_engine(path: &Path, options: &Options, pace: Pace) -> Result<(Database, Keyspace), fjall::Error> {
    let database = Database::builder(path)
        .cache_size(options.cache_bytes)
        .max_journaling_size(JOURNALS_BYTES_MAX)
        // It flushes; `compaction` does the rest.
        .worker_threads(1)
        .with_compaction_filter_factories(Arc::new(move |_| Some(Arc::new(pace.clone()) as _)))
        .open()?;
    let rows = database.keyspace("rows", row_options)?;
    Ok((database, rows))
}

/// What is looked for is mostly there, and where it is no filter could help: only the levels above
/// the last one have filters, small enough to stay in memory. The block index of a large table is read
/// by parts: as a whole, a megabyte for each table, it would push everything else out of the cache.
fn row_options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(WRITE_BUFFER_BYTES)
        .compaction_strategy(compaction::left_alone())
        .expect_point_read_hits(true)
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
}

impl Open {
    fn view(&self) -> View {
        View { snapshot: self.database.snapshot(), rows: self.rows.clone() }
    }

    fn lags(&self) -> bool {
        let (fresh_tables, flushes) = (self.rows.l0_table_count(), self.rows.sealed_memtable_count());
        self.housekeeping.wake(fresh_tables);
        self.idle_flush.wake();
        fresh_tables >= FRESH_TABLES_MAX || flushes >= FLUSHES_WAITING_MAX
    }

    /// A batch whose commit hands its bytes to the operating system before anybody sees it.
    fn batch(&self, capacity: usize) -> fjall::OwnedWriteBatch {
        fjall::OwnedWriteBatch::with_capacity(self.database.clone(), capacity)
            .durability(Some(PersistMode::Buffer))
    }

    fn commit(&self, write_set: WriteSet, appending: &mut Appending) -> Result<(), StoreError> {
        write_set.debug_assert_distinct();
        let WriteSet { puts, deletes, appends } = write_set;
        let mut batch = self.batch(puts.len() + deletes.len() + appends.len());
        let mut bytes = 0;
        for (key, value) in puts {
            let key = layout::row_key(&key);
            bytes += key.len() + value.len();
            batch.insert(&self.rows, key, value);
        }
        for key in deletes {
            let key = layout::row_key(&key);
            bytes += key.len();
            batch.remove(&self.rows, key);
        }
        for (log, record) in appends {
            if let Some(position) = appending.next(log) {
                bytes += record.len();
                batch.insert(&self.rows, layout::record_key(log, position), record);
            }
        }
        self.write(batch, bytes)
    }

    /// Commits a batch of about so many bytes.
    fn write(&self, batch: fjall::OwnedWriteBatch, bytes: usize) -> Result<(), StoreError> {
        self.journal_writers.write(bytes, || batch.commit()).map_err(write_failure)
    }
}

#[async_trait]
impl Read for FjallStore {
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

    /// Shows a record only when it is durable: a position that a reader remembers must not be given
    /// to another record after a crash.
    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let (records, state) = {
            let open = self.opened()?;
            let state = self.log_state(&open, log)?;
            let after = after.max(LogPosition(state.trimmed()));
            (open.view().records(log, after, limit)?, state)
        };
        if let Some((LogPosition(last), _)) = records.last()
            && *last > state.durable.load(Ordering::Acquire)
        {
            self.durable().await?;
            LogState::raise(&state.durable, *last);
        }
        Ok(records)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        let end = {
            let open = self.opened()?;
            LogState::end(log, &open.rows, &open.database.snapshot())?
        };
        self.durable().await?;
        Ok(end)
    }
}

#[async_trait]
impl Store for FjallStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.catch_up().await?;
        if self.commit(keys, decide)? { self.durable().await } else { Ok(()) }
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let mut removed = None;
        loop {
            self.catch_up().await?;
            // From behind the last removed row, so as not to walk over what was removed before.
            let last = self.clear_step(space, removed)?;
            if last.is_none() {
                return self.durable().await;
            }
            removed = last;
            tokio::task::yield_now().await;
        }
    }

    /// What a snapshot shows is durable, for the same reason as what a log shows.
    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        let view = self.view()?;
        self.durable().await?;
        Ok(Arc::new(view))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        while self.trim_step(log, through)? {
            self.catch_up().await?;
        }
        self.durable().await
    }

    fn health(&self) -> Result<(), StoreError> {
        let open = self.opened()?;
        open.housekeeping.compaction.check()?;
        self.group_commit.check()
    }

    async fn close(&self) -> Result<(), StoreError> {
        // Waits for the calls that are in the middle of something, then keeps all others out.
        let Some(open) = self.open.write().take() else { return Ok(()) };
        open.idle_flush.stop();
        open.housekeeping.stop();
        self.group_commit.stop();
        self.group_commit.check()?;
        open.database.persist(PersistMode::SyncAll).map_err(write_failure)
    }
}

/// The rows of one moment.
struct View {
    snapshot: Snapshot,
    rows: Keyspace,
}

impl View {
    fn records(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let mut records = Vec::new();
        if after.0 == u64::MAX {
            return Ok(records);
        }
        let bounds = layout::record_bounds(log, after, LogPosition(u64::MAX));
        for record in self.snapshot.range(&self.rows, bounds).take(limit) {
            let (key, value) = record.into_inner().map_err(read_failure)?;
            records.push((layout::record_position(&key)?, Bytes::from(value)));
        }
        Ok(records)
    }
}

#[async_trait]
impl Read for View {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let row = |key: &Key| {
            let row = self.snapshot.get(&self.rows, layout::row_key(key)).map_err(read_failure)?;
            Ok(row.map(Bytes::from))
        };
        keys.iter().map(row).collect()
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
        let mut rows = self.snapshot.range(&self.rows, layout::row_bounds(range));
        let mut next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        while let Some(row) = next() {
            let (key, value) = row.into_inner().map_err(read_failure)?;
            let (partition, sort) = layout::row_place(&key)?;
            if visit(KeyRef { partition: &partition, sort }, Bytes::from(value)).is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.records(log, after, limit)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        LogState::end(log, &self.rows, &self.snapshot)
    }
}

fn read_failure(error: fjall::Error) -> StoreError {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            StoreError::Unavailable(error.to_string())
        }
        other => StoreError::Corrupt(other.to_string()),
    }
}

/// A commit that failed leaves the journal in an unknown state; fjall takes no more from then on.
fn write_failure(error: fjall::Error) -> StoreError {
    StoreError::Poisoned(error.to_string())
}
