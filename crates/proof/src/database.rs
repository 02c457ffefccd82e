//! A database in memory that has the model's tables: where proofs and rehearsals run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Error, Input, PutItemInput, Request, Response};
use engine::{Caller, Engine, Environment, Options};
use item::Item;
use model::Model;
use model::predict::item::Values;
use model::sample::SampleItem;
use store::memory::MemoryStore;

use crate::table::create_table;

pub struct Database {
    engine: Engine,
    caller: Caller,
}

/// Time stands still and chance counts up, so that a run is the same every time.
#[derive(Default)]
struct Still(AtomicU64);

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_767_225_600_000
    }

    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Database {
    /// With the model's tables, empty.
    pub async fn open(model: &Model) -> Result<Database, Error> {
        // What is proven is what requests do and cost, not how many of them a table takes each second.
        let options = Options { throttling: false, ..Options::default() };
        let engine = Engine::open_with(Arc::new(MemoryStore::new()), Arc::<Still>::default(), options).await;
        let engine = engine.map_err(|_| Error::internal())?;
        let database = Database { engine, caller: Caller::new("000000000000", "us-east-1") };
        for table in model.tables.iter().filter_map(create_table) {
            database.call(table).await?;
        }
        Ok(database)
    }

    pub async fn with(model: &Model, items: &[SampleItem]) -> Result<Database, Error> {
        let database = Database::open(model).await?;
        for item in items {
            database.put(&model.table(item.table).name, item.item()).await?;
        }
        Ok(database)
    }

    pub async fn put(&self, table: &str, item: Item) -> Result<(), Error> {
        let input = PutItemInput { table_name: table.to_owned(), item, ..PutItemInput::default() };
        self.call(input).await.map(|_| ())
    }

    /// Carries out one operation: the input's type says which.
    pub async fn call<I: Input>(&self, input: I) -> Result<I::Output, Error> {
        let response = self.send(input.into_request()).await?;
        Ok(I::output(response).expect("the engine answers with the operation's own output"))
    }

    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        self.engine.call(&self.caller, request).await
    }
}

/// An item as attributes by name.
pub fn values(item: &Item) -> Values {
    item.as_ref().iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}
