//! The store.

mod claim;
mod database;
mod failure;
mod latch;
mod maintenance;
mod member;
mod moment;
#[cfg(feature = "client")]
mod network;
mod staging;
mod transaction;
mod update;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use store::{
    Cluster, Consistency, Decide, Direction, Key, Log, LogPosition, Member, Range, Read, Space, Store,
    StoreError, Visit,
};
use tokio::time::Instant;

use crate::FORMAT_VERSION;
use crate::keys::Keys;
use crate::log::UnderWay;
use crate::unchanged::Unchanged;
use database::{Database, Reading, Transaction};
use failure::Failure;
use latch::Latches;
use moment::Snapshot;
use transaction::{Attempts, Slots};
use view::View;

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the database in the cluster. Several can share one cluster.
    pub name: String,
    /// How long a call waits for the cluster, for conflicts to end, and for rows that others hold.
    pub wait: Duration,
    /// How long one transaction may take.
    pub reply: Duration,
    /// How long the outcome of a commit whose answer was lost is looked for.
    pub failover: Duration,
    /// Nothing is made in a cluster that has no such database.
    pub is_read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "lodestone".to_owned(),
            wait: Duration::from_secs(10),
            reply: Duration::from_secs(10),
            failover: Duration::from_secs(30),
            is_read_only: false,
        }
    }
}

/// A store in a FoundationDB cluster.
pub struct FdbStore(Arc<Shared>);

/// What calls and the tasks behind them use.
struct Shared {
    database: Database,
    keys: Keys,
    options: Options,
    /// A random number that tells this handle from all others.
    handle: u64,
    serial: AtomicU64,
    slots: Arc<Slots>,
    latches: Latches,
    /// Claims of others, and since when they are as they are.
    claims: Mutex<Unchanged<Vec<u8>>>,
    silent_snapshots: Mutex<Unchanged<u64>>,
    appends: Mutex<UnderWay>,
    /// Whose updates these are, once the server has joined.
    member: Mutex<Option<Member>>,
    /// Held for reading by each commit.
    under_way: Arc<tokio::sync::RwLock<()>>,
    opened: Instant,
    is_closed: AtomicBool,
}

impl FdbStore {
    /// Connects to the cluster that the file names.
    #[cfg(feature = "client")]
    pub async fn open(cluster_file: &str, options: Options) -> Result<FdbStore, StoreError> {
        FdbStore::on(Database::Cluster(network::connect(cluster_file)?), options).await
    }

    /// A handle of a store on the model.
    #[cfg(feature = "model")]
    pub async fn on_model(model: &crate::model::Model, options: Options) -> Result<FdbStore, StoreError> {
        FdbStore::on(Database::Model(model.clone()), options).await
    }

    async fn on(database: Database, options: Options) -> Result<FdbStore, StoreError> {
        let shared = Shared {
            database,
            keys: Keys::new(&options.name)?,
            options,
            handle: random()?,
            serial: AtomicU64::new(0),
            slots: Arc::default(),
            latches: Latches::new(),
            claims: Mutex::default(),
            silent_snapshots: Mutex::default(),
            appends: Mutex::default(),
            member: Mutex::default(),
            under_way: Arc::default(),
            opened: Instant::now(),
            is_closed: AtomicBool::new(false),
        };
        shared.prepare().await?;
        Ok(FdbStore(Arc::new(shared)))
    }

    fn live(&self) -> View {
        View { shared: self.0.clone(), snapshot: None }
    }
}

fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(|error| StoreError::Unavailable(format!("no random number: {error}")))
}

impl Shared {
    /// Checks the format of what is there, and makes a new database if nothing is.
    async fn prepare(&self) -> Result<(), StoreError> {
        let mut attempts = Attempts::new(self.options.wait);
        loop {
            match self.try_to_prepare().await {
                Ok(()) => return Ok(()),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }

    async fn try_to_prepare(&self) -> Result<(), Failure> {
        let (transaction, key) = (self.begin()?, self.keys.format());
        let name = &self.options.name;
        let found = transaction.get(&key, Reading::Conflicts).await?;
        let Some(found) = found else {
            if self.options.is_read_only {
                let reason = format!("the cluster has no Lodestone database with the name {name}");
                return Err(StoreError::Format(reason).into());
            }
            transaction.set(&key, &FORMAT_VERSION.to_be_bytes());
            return self.commit_unmarked(transaction).await;
        };
        match found[..] == FORMAT_VERSION.to_be_bytes() {
            true => Ok(()),
            false => Err(StoreError::Format(format!(
                "the database {name} on FoundationDB has a format that this program does not know: it reads format \
                 {FORMAT_VERSION}. Use the version of Lodestone that wrote it, or a later one"
            ))
            .into()),
        }
    }

    /// Commits what is harmless if it happens late: it conflicts with what it changes, only raises a number, or only
    /// removes what nothing uses any more.
    async fn commit_unmarked(&self, transaction: Transaction) -> Result<(), Failure> {
        transaction.commit().await?;
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// A number that this handle has not used.
    fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A random number for pauses.
    fn draw(&self) -> u64 {
        // SplitMix64.
        let state = (self.handle ^ self.next_serial()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[async_trait]
impl Read for FdbStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.live().get(keys).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.live().scan(range, direction, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.live().read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.live().log_end(log).await
    }
}

#[async_trait]
impl Store for FdbStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.0.update_rows(keys, decide).await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.0.clear_space(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(Snapshot::open(&self.0).await?))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.0.trim(log, through).await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    /// Every answered commit is durable already, so only what this handle has left is removed.
    async fn close(&self) -> Result<(), StoreError> {
        if !self.0.is_closed() {
            self.0.settled().await;
            if let Err(failure) = self.0.remove_marks().await {
                tracing::debug!(?failure, "some marks stay");
            }
        }
        self.0.is_closed.store(true, Ordering::Release);
        Ok(())
    }
}
