//! The data folder of a server that shares it with no other: the embedded store on a disk that loses its power, fails,
//! is full, and is put back to an earlier time. The store's threads are tasks here, a step at a time.
//!
//! Every commit also writes its number to one row. So what is there after a power failure says how many commits the
//! store still has: those are the ones that happened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use store::{
    Consistency, Decide, Direction, Key, Log, LogPosition, Partition, Position, Range, Read, Space, Store,
    StoreError, Visit, WriteSet,
};
use store_lsm::simulation::stepped::Stepped;
use store_lsm::vfs::simulated::{Fault, Simulated};
use store_lsm::{Durability, LsmStore, OpenError, Options, Tuning};

use crate::executor::{self, Executor, Process};
use crate::remote::Committed;

/// The longest pauses of the log's task and of maintenance.
const LOG_PAUSE_US: u64 = 3000;
const MAINTENANCE_PAUSE_US: u64 = 200_000;
/// Commits of a twin: enough for a table or two.
const TWIN_COMMITS: u64 = 60;
/// Calls in a row that fail on a full disk.
const FULL_CALLS: u64 = 30;

/// A disk with one data folder.
pub struct Disk {
    executor: Executor,
    clock: Arc<simulation::Clock>,
    chance: Mutex<fastrand::Rng>,
    root: tempfile::TempDir,
    state: Mutex<DiskState>,
    recorded: Arc<Mutex<Recorded>>,
}

#[derive(Default)]
struct DiskState {
    /// Each power failure leaves another folder.
    folders: Vec<PathBuf>,
    running: Option<Simulated>,
    /// What is tried instead of the last folder: it has files of an earlier time.
    mixed: Option<PathBuf>,
    /// What fails while the store is opened next, and after how many calls.
    at_open: Option<(Fault, u64)>,
    /// The last call that is to fail.
    last_failing: u64,
}

/// The commits of all lives.
#[derive(Default)]
struct Recorded {
    last: u64,
    /// Taken by the store, and not durable yet.
    taken: BTreeMap<u64, Committed>,
    commits: Vec<Committed>,
    ends_us: BTreeMap<Log, u64>,
}

impl Recorded {
    /// Everything up to a number is durable.
    fn publish(&mut self, through: u64, at: impl Fn() -> u64, time_us: u64) {
        let later = self.taken.split_off(&(through + 1));
        for mut commit in std::mem::replace(&mut self.taken, later).into_values() {
            (commit.at, commit.time_us) = (at(), time_us);
            self.commits.push(commit);
        }
    }
}

/// The row with the number of the last commit.
fn count_key() -> Key {
    let position = Position { partition: Partition([0; Partition::LENGTH]), sort: Vec::new() };
    Key { space: Space(u64::from(u32::MAX)), position }
}

impl Disk {
    /// An empty folder on a disk in memory.
    pub fn new(executor: &Executor, clock: Arc<simulation::Clock>) -> Arc<Disk> {
        let root =
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("room for a folder");
        let folders = vec![root.path().join("0")];
        std::fs::create_dir_all(&folders[0]).expect("room for a folder");
        Arc::new(Disk {
            executor: executor.clone(),
            clock,
            chance: Mutex::new(executor.chance("disk")),
            root,
            state: Mutex::new(DiskState { folders, ..DiskState::default() }),
            recorded: Arc::default(),
        })
    }

    /// All commits that happened, in their order.
    pub fn commits(&self) -> Vec<Committed> {
        self.recorded.lock().commits.clone()
    }

    fn options() -> Options {
        let tuning = Tuning {
            memtable_bytes: 24 << 10,
            segment_bytes: 24 << 10,
            table_bytes: 16 << 10,
            retry_time: Duration::from_millis(500),
            quiet_time: Duration::from_secs(5),
            work_time: Duration::MAX,
            sleep: executor::sleep_here,
        };
        Options { durability: Durability::Fsync, cache_bytes: 1 << 20, address: None, tuning }
    }

    /// Opens the store for a process.
    pub fn open(self: &Arc<Disk>, process: Process) -> Result<Arc<dyn Store>, String> {
        let mixed = self.state.lock().mixed.take();
        if let Some(mixed) = mixed {
            // The store refuses what does not belong together, or everything is right.
            if let Ok((_, stepped)) =
                LsmStore::open_stepped(Arc::new(store_lsm::vfs::Disk), &mixed, &Disk::options())
            {
                drop(stepped);
                self.state.lock().folders.push(mixed);
            }
        }
        let folder = self.state.lock().folders.last().expect("there is one").clone();
        let seed = self.chance.lock().u64(..);
        let simulated = Simulated::new(&folder, seed).map_err(|error| error.to_string())?;
        {
            let mut state = self.state.lock();
            if let Some((fault, after_calls)) = state.at_open.take() {
                state.last_failing = fail_from(&simulated, 1 + after_calls, fault);
            }
            // The power may fail from now on.
            state.running = Some(simulated.clone());
        }
        let opened = LsmStore::open_stepped(Arc::new(simulated.clone()), &folder, &Disk::options());
        // The folder has another name in each run, which is no part of the world.
        let named = |error: OpenError| error.to_string().replace(&*self.root.path().to_string_lossy(), "");
        let (store, stepped) = opened.map_err(named)?;
        let (store, stepped) = (Arc::new(store), Arc::new(Mutex::new(stepped)));
        let through = count(&store).map_err(|error| error.to_string())?;
        {
            let mut recorded = self.recorded.lock();
            recorded.publish(through, || self.clock.tick(), self.executor.now_us());
            // The power failure has lost them.
            recorded.taken.clear();
            recorded.last = through;
            for (log, end_us) in &mut recorded.ends_us {
                let end = store.log_end(*log).now_or_never().expect("one row takes no time");
                *end_us = end.map_err(|error| error.to_string())?.time_us();
            }
        }
        let (disk, log, seen) = (self.clone(), stepped.clone(), store.clone());
        let step_log = async move {
            loop {
                disk.rest(LOG_PAUSE_US).await;
                while log.lock().step_log() {}
                disk.publish(&seen);
            }
        };
        self.executor.spawn(process, "log of the store", Box::pin(step_log));
        let (disk, maintained, seen) = (self.clone(), stepped.clone(), store.clone());
        let maintain = async move {
            loop {
                disk.rest(MAINTENANCE_PAUSE_US).await;
                maintained.lock().maintain();
                disk.publish(&seen);
            }
        };
        self.executor.spawn(process, "maintenance of the store", Box::pin(maintain));
        Ok(Arc::new(RecordingStore { disk: self.clone(), store, stepped }))
    }

    /// Notes what readers see now.
    fn publish(&self, store: &LsmStore) {
        if let Ok(through) = count(store) {
            self.recorded.lock().publish(through, || self.clock.tick(), self.executor.now_us());
        }
    }

    async fn rest(&self, most_us: u64) {
        let time_us = self.chance.lock().u64(20..most_us);
        self.executor.sleep(Duration::from_micros(time_us)).await;
    }

    /// The power fails. The disk has what was synced, and any part of the rest.
    pub fn cut_power(&self) {
        let mut state = self.state.lock();
        let Some(running) = state.running.take() else { return };
        let next = self.root.path().join(state.folders.len().to_string());
        running.crash(&next).expect("room for a folder");
        state.folders.push(next);
    }

    /// The next opening finds some files as they were at an earlier time, or as a twin has them that went another way
    /// since.
    pub fn roll_back(&self) {
        let mut state = self.state.lock();
        let [.., earlier, last] = &state.folders[..] else { return };
        let twin = self.root.path().join(format!("twin-{}", state.folders.len()));
        let earlier = match self.chance.lock().bool() && let_live(earlier, &twin).is_ok() {
            true => &twin,
            false => earlier,
        };
        let mixed = self.root.path().join(format!("mixed-{}", state.folders.len()));
        copy(last, &mixed).expect("room for a folder");
        let mut files = Vec::new();
        list(earlier, earlier, &mut files);
        files.sort();
        let mut chance = self.chance.lock();
        for _ in 0..chance.usize(1..3) {
            let Some(file) = chance.choice(&files) else { return };
            // A file that is only there was removed since, and is there again.
            drop(std::fs::copy(earlier.join(file), mixed.join(file)));
        }
        drop(chance);
        state.mixed = Some(mixed);
    }

    /// No call to the disk fails any more. True if the process has to start again for that: it would meet what is left.
    pub fn is_repaired(&self) -> bool {
        let mut state = self.state.lock();
        state.at_open = None;
        let last_failing = std::mem::take(&mut state.last_failing);
        state.running.as_ref().is_some_and(|running| running.calls() < last_failing)
    }

    /// The disk is full, or fails, for a while: now, or while the store is opened next.
    pub fn fail(&self, fault: Fault, after_calls: u64) {
        let mut state = self.state.lock();
        match &state.running {
            Some(running) => {
                state.last_failing = fail_from(running, running.calls() + 1 + after_calls, fault);
            }
            None => state.at_open = Some((fault, after_calls)),
        }
    }
}

/// Lets the call with a number fail, and some more if the disk is full. Returns the last of them.
fn fail_from(disk: &Simulated, first: u64, fault: Fault) -> u64 {
    let last = if fault == Fault::Full { first + FULL_CALLS } else { first };
    (first..=last).for_each(|call| disk.fail_at(call, fault));
    last
}

/// Makes `twin` a copy of a store that takes other commits than it did.
fn let_live(store: &Path, twin: &Path) -> Result<(), String> {
    copy(store, twin).map_err(|error| error.to_string())?;
    let opened = Stepped::open(Arc::new(store_lsm::vfs::Disk), twin, &Disk::options());
    let mut stepped = opened.map_err(|error| error.to_string())?;
    for number in 0..TWIN_COMMITS {
        let position =
            Position { partition: Partition([7; Partition::LENGTH]), sort: number.to_be_bytes().to_vec() };
        let key = Key { position, ..count_key() };
        let put = (key, Bytes::from(vec![7; 500]));
        let mut decide = |_: &[Option<Bytes>]| WriteSet { puts: vec![put.clone()], ..WriteSet::default() };
        drop(stepped.update(&[], &mut decide).map_err(|error| error.to_string())?);
        while stepped.step_log() {}
    }
    stepped.rotate();
    stepped.maintain();
    Ok(())
}

/// The number of the last commit that readers see.
fn count(store: &LsmStore) -> Result<u64, StoreError> {
    let read = store.get(&[count_key()], Consistency::Latest).now_or_never();
    let row = read.expect("one row takes no time")?.pop().flatten();
    Ok(row.map_or(0, |row| u64::from_be_bytes(row[..8].try_into().expect("eight bytes"))))
}

fn list(folder: &Path, root: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => list(&path, root, files),
            false => files.extend(path.strip_prefix(root).ok().map(Path::to_owned)),
        }
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        match path.is_dir() {
            true => copy(&path, &to.join(name))?,
            false => drop(std::fs::copy(&path, to.join(name))?),
        }
    }
    Ok(())
}

/// The store, with a record of its commits.
struct RecordingStore {
    disk: Arc<Disk>,
    store: Arc<LsmStore>,
    stepped: Arc<Mutex<Stepped>>,
}

impl RecordingStore {
    fn has_taken(&self, number: u64) -> bool {
        let row = self.stepped.lock().newest(&count_key()).ok().flatten();
        row.is_some_and(|row| row[..] == number.to_be_bytes())
    }

    fn note(&self, number: u64, writes: &WriteSet) {
        let mut recorded = self.disk.recorded.lock();
        let logs: Vec<Log> = writes.appends.iter().map(|(log, _)| *log).collect();
        let ends = logs.iter().map(|log| recorded.ends_us.get(log).map_or(0, |end_us| end_us + 1));
        let logged_us = ends.fold(writes.now_us, u64::max);
        recorded.ends_us.extend(logs.iter().map(|log| (*log, logged_us)));
        let puts = writes.puts.iter().map(|(key, row)| (key.clone(), Some(row.clone())));
        let rows = puts.chain(writes.deletes.iter().map(|key| (key.clone(), None))).collect();
        let commit = Committed {
            at: 0,
            time_us: 0,
            logged_us: (!logs.is_empty()).then_some(logged_us),
            request: self.disk.executor.request(),
            rows,
        };
        recorded.taken.insert(number, commit);
    }
}

#[async_trait]
impl Store for RecordingStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let noted: Mutex<Option<u64>> = Mutex::default();
        let mut numbered = |rows: &[Option<Bytes>]| {
            let mut writes = decide(rows);
            // The store asks again only if it did not take what was decided before.
            if let Some(number) = noted.lock().take() {
                self.disk.recorded.lock().taken.remove(&number);
            }
            if !writes.is_empty() {
                let number = {
                    let mut recorded = self.disk.recorded.lock();
                    recorded.last += 1;
                    recorded.last
                };
                self.note(number, &writes);
                writes.puts.push((count_key(), Bytes::copy_from_slice(&number.to_be_bytes())));
                *noted.lock() = Some(number);
            }
            writes
        };
        let mut update = Box::pin(self.store.update(keys, &mut numbered));
        std::future::poll_fn(|context| {
            let polled = update.as_mut().poll(context);
            // It is taken at once, or not at all.
            if let Some(number) = noted.lock().take()
                && !self.has_taken(number)
            {
                self.disk.recorded.lock().taken.remove(&number);
            }
            polled
        })
        .await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.store.clear(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.store.snapshot().await
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.store.trim_log(log, through).await
    }

    fn health(&self) -> Result<(), StoreError> {
        self.store.health()
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.stepped.lock().rest();
        self.disk.publish(&self.store);
        let closed = self.store.close().await;
        self.disk.state.lock().running = None;
        closed
    }
}

#[async_trait]
impl Read for RecordingStore {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.store.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.store.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.store.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.store.log_end(log).await
    }
}
