//! A database in this process.

use std::io;
use std::path::Path;
use std::sync::Arc;

use api::{Input, Request, Response};
use engine::{Caller, Engine, Options, Verification};
use store::memory::MemoryStore;
use store::{Store, StoreError};
use store_lsm::{CACHE_BYTES, Durability, LsmStore, MEMTABLE_BYTES};
use store_postgres::PostgresStore;

use crate::environment::System;
use crate::foundationdb::FoundationDb;

/// An open database, used as one account and Region. [`Database::acting_for`] chooses others.
#[derive(Clone)]
pub struct Database {
    engine: Arc<Engine>,
    caller: Caller,
    /// The store, if the data is in a folder.
    folder: Option<Arc<LsmStore>>,
}

/// Where a database keeps its data.
#[derive(Clone, Copy, Debug)]
pub enum Storage<'a> {
    /// In memory, until the database is dropped.
    Memory,
    /// In a folder, which is created if necessary.
    Folder { path: &'a Path, durability: Durability, cache_bytes: u64, memtable_bytes: u64 },
    /// In a temporary copy of a folder, which itself stays as it is.
    Scratch { path: &'a Path },
    /// In a database that speaks PostgreSQL's protocol. Without `engine`, the database is asked which one it is.
    Postgres { url: &'a str, engine: Option<store_postgres::Engine> },
    /// In a FoundationDB cluster. Opening fails in a build without the feature `foundationdb`.
    FoundationDb(FoundationDb<'a>),
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Folder(#[from] store_lsm::OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What a FoundationDB cluster, or its absence, says.
    #[error(transparent)]
    FoundationDb(StoreError),
}

/// A store that was opened.
pub struct OpenStore {
    store: Arc<dyn Store>,
    /// The same store, if it is in a folder.
    folder: Option<Arc<LsmStore>>,
}

impl Storage<'_> {
    /// Opens the store. A process that finds the folder in use gets to know the address of the server.
    pub async fn open(self, address: Option<String>) -> Result<OpenStore, OpenError> {
        let mut folder = None;
        let store: Arc<dyn Store> = match self {
            Storage::Memory => Arc::new(MemoryStore::new()),
            Storage::Folder { path, durability, cache_bytes, memtable_bytes } => {
                let tuning = store_lsm::Tuning { memtable_bytes, ..store_lsm::Tuning::default() };
                let options = store_lsm::Options { durability, cache_bytes, address, tuning };
                folder.insert(Arc::new(LsmStore::open(path, options)?)).clone()
            }
            Storage::Scratch { path } => {
                Arc::new(LsmStore::open_scratch(path, &store_lsm::Options::default())?)
            }
            Storage::Postgres { url, engine } => {
                let options = store_postgres::Options { engine, ..store_postgres::Options::default() };
                Arc::new(PostgresStore::open(url, options).await?)
            }
            Storage::FoundationDb(database) => database.open(false).await?,
        };
        Ok(OpenStore { store, folder })
    }
}

impl Database {
    /// An empty database in memory. Its data is lost when it is dropped.
    pub async fn in_memory() -> Result<Database, OpenError> {
        Database::open_with(Storage::Memory, Options::default()).await
    }

    /// The database in a folder, which is created if necessary. Every acknowledged write survives power
    /// loss.
    pub async fn open(folder: impl AsRef<Path>) -> Result<Database, OpenError> {
        let (path, durability) = (folder.as_ref(), Durability::Fsync);
        let (cache_bytes, memtable_bytes) = (CACHE_BYTES, MEMTABLE_BYTES);
        let storage = Storage::Folder { path, durability, cache_bytes, memtable_bytes };
        Database::open_with(storage, Options::default()).await
    }

    /// A database in any storage, with options.
    pub async fn open_with(storage: Storage<'_>, options: Options) -> Result<Database, OpenError> {
        let address = options.endpoint.as_ref().map(|endpoint| format!("http://{endpoint}"));
        Database::on(storage.open(address).await?, options).await
    }

    /// The database that a store holds, with options.
    pub async fn on(opened: OpenStore, options: Options) -> Result<Database, OpenError> {
        let OpenStore { store, folder } = opened;
        let engine = Engine::open_with(store, Arc::new(System), options).await?;
        Ok(Database { engine: Arc::new(engine), caller: Caller::new("000000000000", "us-east-1"), folder })
    }

    /// The same database, used as another account and Region.
    pub fn acting_for(&self, account: &str, region: &str) -> Database {
        Database { caller: Caller::new(account, region), ..self.clone() }
    }

    /// Carries out one operation: the input's type says which.
    pub async fn call<I>(&self, input: I) -> Result<I::Output, api::Error>
    where
        I: Input<Request = Request, Response = Response>,
    {
        let response = self.engine.call(&self.caller, input.into_request()).await?;
        Ok(I::output(response).expect("the engine answers with the operation's own output"))
    }

    /// Checks that everything stored agrees with itself.
    pub async fn verify(&self) -> Result<Verification, StoreError> {
        self.engine.verify().await
    }

    /// Copies the whole data folder to another one, which is empty or not there yet, at once and while the
    /// database serves. Every write that was acknowledged before is in the copy. Files that never change
    /// are shared where both folders are on one file system.
    pub async fn checkpoint(&self, to: &Path) -> io::Result<()> {
        match &self.folder {
            Some(store) => store.checkpoint(to).await,
            None => Err(io::Error::new(io::ErrorKind::Unsupported, "the data is not in a folder")),
        }
    }

    /// What a server needs to serve this database.
    pub fn engine(&self) -> Arc<Engine> {
        self.engine.clone()
    }

    /// Makes everything durable and ends background work. Later calls fail.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.engine.close().await
    }
}
