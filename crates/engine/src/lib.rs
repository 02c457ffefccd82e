//! DynamoDB's meaning, written once. It knows no HTTP, no JSON text and no SQL: requests come in as
//! `api` inputs, items rest in a [`store::Store`].
//!
//! One request's walk: [`Engine::call`] hands the input to its file in `operation/`, which checks it,
//! parses its expressions, finds its table, and makes a plan; [`write`] carries out changes, [`read`]
//! fetches. Where to begin reading: `operation/update_item.rs`.

mod admission;
mod caller;
mod catalog;
mod collection;
mod environment;
mod fault;
mod idempotency;
mod index;
mod index_change;
mod key;
mod legacy;
mod operation;
mod options;
mod read;
mod sizes;
mod source;
mod state_change;
mod table;
mod transaction;
mod verify;
mod write;

use std::sync::Arc;

use api::{Error, Request, Response, TableName};
use store::{Store, StoreError};

pub use caller::Caller;
pub use environment::Environment;
pub use index_change::IndexProgress;
pub use options::Options;
pub use verify::Verification;

use catalog::{Catalog, LiveTable};
use index_change::IndexChange;
use operation::expressions::Expressions;
use state_change::StateChange;
use table::{Index, IndexState, Table, TableState};
use transaction::Transactions;

/// A database on a store.
pub struct Engine {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    environment: Arc<dyn Environment>,
    options: Options,
    transactions: Transactions,
    token_clearing: idempotency::Clearing,
    expressions: Expressions,
}

impl Engine {
    /// Opens the database that the store holds; an empty store is an empty database. Must be called
    /// inside a tokio runtime: the clearing of dropped tables goes on in the background.
    pub async fn open(
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
    ) -> Result<Engine, StoreError> {
        Engine::open_with(store, environment, Options::default()).await
    }

    pub async fn open_with(
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
        options: Options,
    ) -> Result<Engine, StoreError> {
        let (catalog, dropped) = Catalog::load(store.clone()).await?;
        for space in dropped {
            tokio::spawn(operation::delete_table::clear(store.clone(), space));
        }
        let engine = Engine {
            store,
            catalog: Arc::new(catalog),
            environment,
            options,
            transactions: Transactions::default(),
            token_clearing: idempotency::Clearing::default(),
            expressions: Expressions::default(),
        };
        for table in engine.catalog.all() {
            engine.state_change(table).finish().await?;
        }
        tokio::spawn(sizes::recount_all(engine.store.clone(), engine.catalog.all()));
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

    /// What makes a table leave the state that it is in.
    fn state_change(&self, table: Arc<LiveTable>) -> StateChange {
        StateChange { store: self.store.clone(), catalog: self.catalog.clone(), table }
    }

    /// The state that a table is in while it is made, changed or dropped.
    fn passing(&self, state: TableState) -> TableState {
        if self.options.state_delay.is_zero() { TableState::Active } else { state }
    }

    /// Lets a table leave the state that it is in when the delay is over; without a delay it has left it
    /// when this ends.
    async fn settle(&self, table: &Arc<LiveTable>) {
        if table.state == TableState::Active {
            return;
        }
        let delay = self.options.state_delay;
        // Apart from the request, which may be dropped.
        let left = tokio::spawn(self.state_change(table.clone()).run(delay));
        if delay.is_zero()
            && let Err(error) = left.await
        {
            tracing::error!(%error, "a table did not leave its state");
        }
    }

    /// Changes a table; `None` if it is gone. Only an active table can be changed.
    async fn change(
        &self,
        table: &Table,
        change: impl Fn(&mut Table) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Option<Arc<LiveTable>>, Error> {
        let change = move |table: &Table, _| {
            table.check_active()?;
            let mut table = table.clone();
            change(&mut table)?;
            Ok(table)
        };
        let changed = self.catalog.replace(&table.caller(), &table.name, change).await;
        changed.map_err(fault::of_store)?.transpose()
    }

    /// Makes everything durable and ends background work.
    pub async fn close(&self) -> Result<(), StoreError> {
        let mut tables = self.catalog.all();
        // In the order in which writes take them; held until the store is closed, so that the sizes that
        // are kept are those of what is stored.
        tables.sort_by_key(|table| table.space());
        let mut writing = Vec::with_capacity(tables.len());
        for table in &tables {
            writing.push(table.gate.write().await);
        }
        if let Err(error) = self.catalog.keep_sizes(&tables).await {
            tracing::warn!(%error, "the sizes of tables were not kept; the next start counts them");
        }
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
            Request::TagResource(input) => {
                tag_resource::run(self, caller, *input).await?;
                Response::TagResource
            }
            Request::UntagResource(input) => {
                untag_resource::run(self, caller, *input).await?;
                Response::UntagResource
            }
            Request::ListTagsOfResource(input) => {
                list_tags_of_resource::run(self, caller, *input).await?.into()
            }
            Request::UpdateTimeToLive(input) => update_time_to_live::run(self, caller, *input).await?.into(),
            Request::DescribeTimeToLive(input) => {
                describe_time_to_live::run(self, caller, *input).await?.into()
            }
            Request::DescribeContinuousBackups(input) => {
                describe_continuous_backups::run(self, caller, *input).await?.into()
            }
            Request::PutResourcePolicy(input) => put_resource_policy::run(self, caller, *input).await?.into(),
            Request::GetResourcePolicy(input) => get_resource_policy::run(self, caller, *input).await?.into(),
            Request::DeleteResourcePolicy(input) => {
                delete_resource_policy::run(self, caller, *input).await?.into()
            }
            Request::DescribeLimits(input) => describe_limits::run(*input).await?.into(),
            Request::DescribeEndpoints(input) => describe_endpoints::run(self, caller, *input).await?.into(),
            Request::PutItem(input) => put_item::run(self, caller, *input).await?.into(),
            Request::GetItem(input) => get_item::run(self, caller, *input).await?.into(),
            Request::UpdateItem(input) => update_item::run(self, caller, *input).await?.into(),
            Request::DeleteItem(input) => delete_item::run(self, caller, *input).await?.into(),
            Request::Query(input) => query::run(self, caller, *input).await?.into(),
            Request::Scan(input) => scan::run(self, caller, *input).await?.into(),
            Request::BatchGetItem(input) => batch_get_item::run(self, caller, *input).await?.into(),
            Request::BatchWriteItem(input) => batch_write_item::run(self, caller, *input).await?.into(),
            Request::ExecuteStatement(input) => execute_statement::run(self, caller, *input).await?.into(),
            Request::BatchExecuteStatement(input) => {
                batch_execute_statement::run(self, caller, *input).await?.into()
            }
            Request::TransactGetItems(input) => transact_get_items::run(self, caller, *input).await?.into(),
            Request::TransactWriteItems(input) => {
                transact_write_items::run(self, caller, *input).await?.into()
            }
            Request::ExecuteTransaction(input) => {
                execute_transaction::run(self, caller, *input).await?.into()
            }
        })
    }

    /// The table that an item operation names. One that is still being made, or already being dropped,
    /// has no items for anyone.
    fn table(&self, caller: &Caller, name: &str) -> Result<Arc<LiveTable>, Error> {
        self.find(caller, name).filter(|table| table.has_items()).ok_or_else(Error::resource_not_found_item)
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
