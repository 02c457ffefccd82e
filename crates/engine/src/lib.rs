//! DynamoDB's meaning, written once. It knows no HTTP, no JSON text and no SQL: requests come in as
//! `api` inputs, items rest in a [`store::Store`].
//!
//! One request's walk: [`Engine::call`] hands the input to its file in `operation/`, which checks it,
//! parses its expressions, finds its table, and makes a plan; [`write`] carries out changes, [`read`]
//! fetches. Where to begin reading: `operation/update_item.rs`.

mod caller;
mod catalog;
mod environment;
mod fault;
mod idempotency;
mod index;
mod index_change;
mod key;
mod legacy;
mod operation;
mod read;
mod source;
mod table;
mod transaction;
mod verify;
mod write;

use std::sync::Arc;

use api::{Error, Request, Response, TableName};
use store::{Store, StoreError};

pub use caller::Caller;
pub use environment::Environment;
pub use verify::Verification;

use catalog::{Catalog, LiveTable};
use index_change::IndexChange;
use table::{Index, IndexState, Table};
use transaction::Transactions;

/// A database on a store.
pub struct Engine {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    environment: Arc<dyn Environment>,
    transactions: Transactions,
    token_clearing: idempotency::Clearing,
}

impl Engine {
    /// Opens the database that the store holds; an empty store is an empty database. Must be called
    /// inside a tokio runtime: the clearing of dropped tables goes on in the background.
    pub async fn open(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Result<Engine, StoreError> {
        let (catalog, dropped) = Catalog::load(store.clone()).await?;
        for space in dropped {
            tokio::spawn(operation::delete_table::clear(store.clone(), space));
        }
        let engine = Engine {
            store,
            catalog: Arc::new(catalog),
            environment,
            transactions: Transactions::default(),
            token_clearing: idempotency::Clearing::default(),
        };
        for table in engine.catalog.all() {
            for index in table.indexes.iter().filter(|index| index.state != IndexState::Active) {
                engine.carry_through(&table, index);
            }
        }
        Ok(engine)
    }

    /// Finishes the making or dropping of an index in the background.
    fn carry_through(&self, table: &Table, index: &Index) {
        let change = IndexChange {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            caller: table.caller(),
            table: table.name.clone(),
            index: index.name.clone(),
        };
        tokio::spawn(change.run());
    }

    /// Makes everything durable and ends background work.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }

    /// Carries out one request.
    pub async fn call(&self, caller: &Caller, request: Request) -> Result<Response, Error> {
        use operation::*;
        Ok(match request {
            Request::CreateTable(input) => create_table::run(self, caller, *input).await?.into(),
            Request::DeleteTable(input) => delete_table::run(self, caller, *input).await?.into(),
            Request::DescribeTable(input) => describe_table::run(self, caller, *input).await?.into(),
            Request::ListTables(input) => list_tables::run(self, caller, *input).await?.into(),
            Request::UpdateTable(input) => update_table::run(self, caller, *input).await?.into(),
            Request::PutItem(input) => put_item::run(self, caller, *input).await?.into(),
            Request::GetItem(input) => get_item::run(self, caller, *input).await?.into(),
            Request::UpdateItem(input) => update_item::run(self, caller, *input).await?.into(),
            Request::DeleteItem(input) => delete_item::run(self, caller, *input).await?.into(),
            Request::Query(input) => query::run(self, caller, *input).await?.into(),
            Request::Scan(input) => scan::run(self, caller, *input).await?.into(),
            Request::BatchGetItem(input) => batch_get_item::run(self, caller, *input).await?.into(),
            Request::BatchWriteItem(input) => batch_write_item::run(self, caller, *input).await?.into(),
            Request::TransactGetItems(input) => transact_get_items::run(self, caller, *input).await?.into(),
            Request::TransactWriteItems(input) => {
                transact_write_items::run(self, caller, *input).await?.into()
            }
        })
    }

    /// The table that an item operation names.
    fn table(&self, caller: &Caller, name: &str) -> Result<Arc<LiveTable>, Error> {
        self.find(caller, name).ok_or_else(Error::resource_not_found_item)
    }

    /// The table that goes by this name or ARN. An ARN says by itself whose table it is.
    fn find(&self, caller: &Caller, name: &str) -> Option<Arc<LiveTable>> {
        let TableName { name, home } = TableName::parse(name).ok()?;
        match home {
            Some(home) => self.catalog.find(&Caller::new(home.account, home.region), name),
            None => self.catalog.find(caller, name),
        }
    }
}
