//! A database that several servers share, as PostgreSQL is: every call is a round trip, an update locks its keys, asks
//! what to do and commits, and a commit that was sent goes on when its caller is gone.
//!
//! Rows and logs are those of a [`MemoryCluster`]. Commits are recorded in their order, which is what the checks go by.
//! The [`Weather`] says what goes wrong at the moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use store::memory::{MemoryCluster, MemoryStore};
use store::{
    Cluster, Consistency, Decide, Direction, Key, Log, LogPosition, Member, Range, Read, Space, Store,
    StoreError, Visit, WriteSet,
};
use tokio::sync::{Notify, oneshot};

use crate::executor::{Executor, Process};

/// The machine of the database.
const DATABASE: Process = Process(1);
/// How long an update waits for locks of others before it gives up.
const LOCK_WAIT: Duration = Duration::from_secs(20);

/// What goes wrong at the moment: each until a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Every call fails.
    pub away_until_us: u64,
    /// Round trips take longer by a factor.
    pub slow_until_us: u64,
    pub slow_factor: u64,
    /// Of a hundred commits, how many have an unknown outcome; half of them happened.
    pub ambiguous_until_us: u64,
    pub ambiguous_percent: u64,
    /// Of a hundred updates, how many are decided again, because another was first.
    pub conflict_until_us: u64,
    pub conflict_percent: u64,
    /// Of a hundred calls, how many fail before they do anything.
    pub failing_until_us: u64,
    pub failing_percent: u64,
}

/// A commit as the database saw it.
#[derive(Clone, Debug)]
pub struct Committed {
    /// By the clock of the history.
    pub at: u64,
    pub time_us: u64,
    /// The time of its change records, if it has any.
    pub logged_us: Option<u64>,
    /// The request on whose behalf it was made; 0 if there is none.
    pub request: u64,
    pub rows: Vec<(Key, Option<Bytes>)>,
}

/// The database. It outlives the servers.
pub struct Database {
    executor: Executor,
    clock: Arc<simulation::Clock>,
    cluster: MemoryCluster,
    locks: Mutex<Locks>,
    released: Notify,
    weather: Mutex<Weather>,
    chance: Mutex<fastrand::Rng>,
    commits: Mutex<Vec<Committed>>,
    /// What reads that need not be fresh are served from, if they are stale.
    replica: Mutex<Option<Arc<dyn Read>>>,
    /// Rows of one round trip of a scan.
    chunk_rows: usize,
}

#[derive(Default)]
struct Locks {
    keys: BTreeSet<Key>,
    last_ticket: u64,
    /// The updates under way, each with the handle and the member that it belongs to.
    tickets: BTreeMap<u64, (u64, Option<Member>)>,
    expelled: BTreeSet<Member>,
    last_handle: u64,
}

/// The locks of an update, until it is dropped.
struct Held {
    database: Arc<Database>,
    keys: Vec<Key>,
    ticket: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut locks = self.database.locks.lock();
        for key in &self.keys {
            locks.keys.remove(key);
        }
        locks.tickets.remove(&self.ticket);
        drop(locks);
        self.database.released.notify_waiters();
    }
}

impl Database {
    /// An empty database. Reads that need not be fresh are up to `stale` behind, if that is given.
    pub fn new(
        executor: &Executor,
        name: &str,
        clock: Arc<simulation::Clock>,
        chunk_rows: usize,
        stale: Option<Duration>,
    ) -> Arc<Database> {
        let database = Arc::new(Database {
            executor: executor.clone(),
            clock,
            cluster: MemoryCluster::new(),
            locks: Mutex::default(),
            released: Notify::new(),
            weather: Mutex::default(),
            chance: Mutex::new(executor.chance(name)),
            commits: Mutex::default(),
            replica: Mutex::default(),
            chunk_rows: chunk_rows.max(1),
        });
        if let Some(stale) = stale {
            executor.spawn(DATABASE, "replica", Box::pin(database.clone().follow(stale)));
        }
        database
    }

    /// A handle for one process.
    pub fn handle(self: &Arc<Database>) -> RemoteStore {
        let mut locks = self.locks.lock();
        locks.last_handle += 1;
        RemoteStore {
            database: self.clone(),
            memory: Arc::new(self.cluster.handle()),
            number: locks.last_handle,
            member: Mutex::default(),
        }
    }

    /// Changes what goes wrong.
    pub fn change_weather(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.weather.lock());
    }

    /// All commits, in their order.
    pub fn commits(&self) -> Vec<Committed> {
        self.commits.lock().clone()
    }

    /// Keeps the replica that stale reads are served from.
    async fn follow(self: Arc<Database>, stale: Duration) {
        let memory = self.cluster.handle();
        loop {
            if let Ok(snapshot) = memory.snapshot().await {
                *self.replica.lock() = Some(snapshot);
            }
            self.executor.sleep(stale).await;
        }
    }

    fn is_lucky(&self, percent: u64) -> bool {
        self.chance.lock().u64(0..100) < percent
    }

    /// Half a round trip.
    async fn travel(&self) {
        let weather = *self.weather.lock();
        let mut time_us = 20 + self.chance.lock().u64(0..400);
        if self.chance.lock().u8(0..50) == 0 {
            time_us *= 20;
        }
        if self.executor.now_us() < weather.slow_until_us {
            time_us *= weather.slow_factor;
        }
        self.executor.sleep(Duration::from_micros(time_us)).await;
    }

    /// The way to the database, which may be away.
    async fn reach(&self) -> Result<(), StoreError> {
        self.travel().await;
        let (weather, now_us) = (*self.weather.lock(), self.executor.now_us());
        let fails = now_us < weather.failing_until_us && self.is_lucky(weather.failing_percent);
        match now_us < weather.away_until_us || fails {
            true => Err(StoreError::Unavailable("connection refused".to_owned())),
            false => Ok(()),
        }
    }

    /// Locks the keys of an update.
    async fn lock(
        self: &Arc<Database>,
        keys: &[Key],
        handle: u64,
        member: Option<Member>,
    ) -> Result<Held, StoreError> {
        let deadline_us = self.executor.now_us() + LOCK_WAIT.as_micros() as u64;
        loop {
            // Made before the check, so that no release is missed between the two.
            let released = self.released.notified();
            {
                let mut locks = self.locks.lock();
                if let Some(member) = member.filter(|member| locks.expelled.contains(member)) {
                    return Err(StoreError::Fenced(format!("member {} was expelled", member.0)));
                }
                if keys.iter().all(|key| !locks.keys.contains(key)) {
                    locks.keys.extend(keys.iter().cloned());
                    locks.last_ticket += 1;
                    let ticket = locks.last_ticket;
                    locks.tickets.insert(ticket, (handle, member));
                    return Ok(Held { database: self.clone(), keys: keys.to_vec(), ticket });
                }
            }
            let left_us = deadline_us.saturating_sub(self.executor.now_us());
            if left_us == 0 {
                return Err(StoreError::Unavailable("a lock is held for too long".to_owned()));
            }
            tokio::select! {
                biased;
                () = released => {}
                () = self.executor.sleep(Duration::from_micros(left_us)) => {}
            }
        }
    }

    /// Waits until no update of before is under way that `concerns`.
    async fn drained(&self, concerns: impl Fn(u64, Option<Member>) -> bool) {
        let last = self.locks.lock().last_ticket;
        loop {
            let released = self.released.notified();
            let is_under_way = |(ticket, (handle, member)): (&u64, &(u64, Option<Member>))| {
                *ticket <= last && concerns(*handle, *member)
            };
            if !self.locks.lock().tickets.iter().any(is_under_way) {
                return;
            }
            released.await;
        }
    }

    /// Commits, and records what it did.
    async fn commit(&self, memory: &MemoryStore, writes: WriteSet, request: u64) -> Result<(), StoreError> {
        let puts = writes.puts.iter().map(|(key, row)| (key.clone(), Some(row.clone())));
        let rows = puts.chain(writes.deletes.iter().map(|key| (key.clone(), None))).collect();
        let log = writes.appends.first().map(|(log, _)| *log);
        let mut writes = Some(writes);
        memory.update(&[], &mut |_| writes.take().unwrap_or_default()).await?;
        let logged_us = match log {
            Some(log) => Some(memory.log_end(log).await?.time_us()),
            None => None,
        };
        let (at, time_us) = (self.clock.tick(), self.executor.now_us());
        self.commits.lock().push(Committed { at, time_us, logged_us, request, rows });
        Ok(())
    }
}

/// The database as one process sees it.
pub struct RemoteStore {
    database: Arc<Database>,
    memory: Arc<MemoryStore>,
    number: u64,
    member: Mutex<Option<Member>>,
}

impl RemoteStore {
    /// Locks the keys, and asks what to do.
    async fn decided(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(Held, WriteSet), StoreError> {
        let database = &self.database;
        let member = *self.member.lock();
        let mut tries = 0;
        loop {
            let held = database.lock(keys, self.number, member).await?;
            database.travel().await;
            let rows = self.memory.get(keys, Consistency::Latest).await?;
            let writes = decide(&rows);
            writes.debug_assert_distinct();
            let weather = *database.weather.lock();
            let is_stormy = database.executor.now_us() < weather.conflict_until_us;
            if tries < 3 && is_stormy && database.is_lucky(weather.conflict_percent) {
                tries += 1;
                drop(held);
                database.travel().await;
                continue;
            }
            return Ok((held, writes));
        }
    }
}

#[async_trait]
impl Store for RemoteStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let database = &self.database;
        database.reach().await?;
        let (held, writes) = self.decided(keys, decide).await?;
        if writes.is_empty() {
            drop(held);
            database.travel().await;
            return Ok(());
        }
        let weather = *database.weather.lock();
        let is_foggy = database.executor.now_us() < weather.ambiguous_until_us
            && database.is_lucky(weather.ambiguous_percent);
        let is_lost = is_foggy && database.is_lucky(50);
        let (sender, receiver) = oneshot::channel();
        let (memory, there, request) = (self.memory.clone(), database.clone(), database.executor.request());
        let commit = async move {
            there.travel().await;
            let done = if is_lost { Ok(()) } else { there.commit(&memory, writes, request).await };
            drop(held);
            there.travel().await;
            // Perhaps the caller is gone.
            let _ = sender.send(done);
        };
        database.executor.spawn(DATABASE, "commit", Box::pin(commit));
        let done = receiver.await.unwrap_or_else(|_| Err(StoreError::closed()));
        match is_foggy {
            true => Err(StoreError::Ambiguous("the connection was lost".to_owned())),
            false => done,
        }
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.database.reach().await?;
        self.memory.clear(space).await?;
        self.database.travel().await;
        Ok(())
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.database.reach().await?;
        let snapshot = self.memory.snapshot().await?;
        self.database.travel().await;
        Ok(Arc::new(RemoteSnapshot { database: self.database.clone(), snapshot }))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.database.reach().await?;
        self.memory.trim_log(log, through).await?;
        self.database.travel().await;
        Ok(())
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.database.drained(|handle, _| handle == self.number).await;
        self.memory.close().await
    }
}

#[async_trait]
impl Cluster for RemoteStore {
    async fn join(&self) -> Result<Member, StoreError> {
        self.database.reach().await?;
        let member = Cluster::join(&*self.memory).await?;
        *self.member.lock() = Some(member);
        self.database.travel().await;
        Ok(member)
    }

    async fn expel(&self, member: Member) -> Result<(), StoreError> {
        self.database.reach().await?;
        // Later updates don't find its row; those under way hold it.
        self.database.locks.lock().expelled.insert(member);
        self.database.drained(|_, other| other == Some(member)).await;
        Cluster::expel(&*self.memory, member).await?;
        self.database.travel().await;
        Ok(())
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.database.drained(|handle, _| handle == self.number).await;
        Ok(())
    }

    async fn raise_logs(&self, logs: &[Log], time_us: u64) -> Result<(), StoreError> {
        self.database.reach().await?;
        Cluster::raise_logs(&*self.memory, logs, time_us).await?;
        self.database.travel().await;
        Ok(())
    }
}

#[async_trait]
impl Read for RemoteStore {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.database.reach().await?;
        let replica = self.database.replica.lock().clone().filter(|_| consistency == Consistency::Eventual);
        let rows = match replica {
            Some(replica) => replica.get(keys, consistency).await?,
            None => self.memory.get(keys, consistency).await?,
        };
        self.database.travel().await;
        Ok(rows)
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let replica = self.database.replica.lock().clone().filter(|_| consistency == Consistency::Eventual);
        match replica {
            Some(replica) => scan(&self.database, &*replica, range, direction, visit).await,
            None => scan(&self.database, &*self.memory, range, direction, visit).await,
        }
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.database.reach().await?;
        let records = self.memory.read_log(log, after, limit).await?;
        self.database.travel().await;
        Ok(records)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.database.reach().await?;
        let end = self.memory.log_end(log).await?;
        self.database.travel().await;
        Ok(end)
    }
}

/// A snapshot, of which every read is a round trip.
struct RemoteSnapshot {
    database: Arc<Database>,
    snapshot: Arc<dyn Read>,
}

#[async_trait]
impl Read for RemoteSnapshot {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.database.reach().await?;
        self.snapshot.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        scan(&self.database, &*self.snapshot, range, direction, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.database.reach().await?;
        self.snapshot.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.database.reach().await?;
        self.snapshot.log_end(log).await
    }
}

/// Walks a range a few rows at a time. Of a live store, each round trip sees another moment.
async fn scan(
    database: &Database,
    rows: &dyn Read,
    range: &Range,
    direction: Direction,
    visit: &mut Visit<'_>,
) -> Result<(), StoreError> {
    let mut left = range.clone();
    loop {
        database.reach().await?;
        let mut chunk = Vec::new();
        rows.scan(&left, direction, Consistency::Latest, &mut |key, row| {
            chunk.push((key.to_position(), row));
            if chunk.len() < database.chunk_rows { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
        database.travel().await;
        let is_last = chunk.len() < database.chunk_rows;
        if let Some((position, _)) = chunk.last() {
            match direction {
                Direction::Forward => left.start = Bound::Excluded(position.clone()),
                Direction::Backward => left.end = Bound::Excluded(position.clone()),
            }
        }
        for (position, row) in chunk {
            let key = store::KeyRef { partition: &position.partition, sort: &position.sort };
            if visit(key, row).is_break() {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
    }
}
