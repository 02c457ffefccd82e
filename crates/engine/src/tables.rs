//! Which tables there are, what states they pass, and what is kept of them beside their items.
//!
//! | question | file |
//! |---|---|
//! | which tables are there? | `catalog.rs`; `replacement.rs` decides what a change turns a row into |
//! | how much do they hold? | `sizes.rs` |
//! | when is a table ACTIVE, and when is it gone? | `state_change.rs`, `clearing.rs` |
//! | how is an index created while writes go on? | `index_change.rs`, with `filling.rs` for the rows |
//! | what makes a search of vectors quick? | `sketches.rs` |
//! | is the clock right, and which times can't be told apart? | `clock_watch.rs` |
//! | can this version read the store, and is it being moved? | `format.rs`, `migration.rs` |
//! | is what is stored right, and how are indexes made again? | `verify.rs`, `rebuilding.rs` |
//!
//! Knows tables and their throughput; no item is written or read for clients here.

pub mod catalog;
pub mod clearing;
pub mod clock_watch;
pub mod filling;
pub mod format;
pub mod index_change;
pub mod migration;
pub mod rebuilding;
pub mod replacement;
pub mod sizes;
pub mod sketches;
pub mod state_change;
pub mod verify;

use std::sync::Arc;
use std::time::Duration;

use api::{Error, TableName};
use bytes::Bytes;
use host::SteadyClock;
use store::{Space, Store, StoreError, WriteSet};

use crate::background::Background;
use crate::base::caller::Caller;
use crate::base::clock::ChangeClock;
use crate::base::space;
use crate::base::strong;
use crate::base::table::Table;
use crate::cluster::members::Members;
use crate::throughput::usage::Usage;
use crate::{Environment, Namespace};
use catalog::{Catalog, ChangeRefusal, LiveTable, Replaced};
use sketches::Sketches;

/// What this room shares with those above it.
pub struct Tables {
    pub(crate) store: Arc<dyn Store>,
    /// Time and chance. The date is that of `steady`.
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) steady: Arc<SteadyClock>,
    pub(crate) background: Background,
    /// The servers that share the store, if it is shared.
    pub(crate) members: Option<Arc<Members>>,
    pub(crate) usage: Arc<Usage>,
    /// The time of commits.
    pub(crate) clock: Arc<ChangeClock>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sketches: Sketches,
    /// How long a table stays CREATING, UPDATING or DELETING.
    pub(crate) state_delay: Duration,
    /// How many shards a stream has at first.
    pub(crate) stream_shards: u16,
}

impl Tables {
    /// The table of an item operation. A table that is CREATING or DELETING has no items.
    pub(crate) fn table(&self, caller: &Caller, name: &str) -> Result<Arc<LiveTable>, Error> {
        let table = self.find(caller, name)?.filter(|table| table.has_items());
        table.ok_or_else(Error::resource_not_found_item)
    }

    /// The caller's table of this name or ARN. The ARN of another Region is refused, and so is that of another
    /// account, unless policies were asked (`operation/authorization.rs`) and allow it.
    pub(crate) fn find(&self, caller: &Caller, name: &str) -> Result<Option<Arc<LiveTable>>, Error> {
        let text = name;
        let Ok(TableName { name, home }) = TableName::parse(text) else { return Ok(None) };
        let Some(home) = home else { return Ok(self.catalog.find(&caller.namespace, name)) };
        caller.check_region(text, home)?;
        if !caller.is_verified() {
            caller.check_account(home)?;
        }
        Ok(self.catalog.find(&Namespace::new(home.account, home.region), name))
    }

    /// Refuses writes after a panic of a background task. A store checks its own health at each write.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        self.background.check()
    }

    /// Makes the clock pass every record that is stored, and every time at which a shard was opened or closed.
    pub(crate) async fn start_clock(&self) -> Result<(), StoreError> {
        for table in self.catalog.all() {
            self.clock.pass(self.catalog.last_change_us(&table).await?);
            self.clock.pass(table.log.last_time_us());
        }
        Ok(())
    }

    /// A time that divides the changes of a table: all records up to it can be read, and all later ones have
    /// a greater time.
    pub(crate) async fn cut(&self, table: &LiveTable) -> Result<u64, StoreError> {
        if let Some(members) = &self.members {
            return self.catalog.cut(members, table, self.clock.now_us(&*self.environment)).await;
        }
        let time_us = self.clock.now_us(&*self.environment).max(self.catalog.last_change_us(table).await?);
        self.clock.pass(time_us);
        self.pass_writes(table).await?;
        Ok(time_us)
    }

    /// Waits until the writes to a table that are under way on this server can be read.
    pub(crate) async fn pass_writes(&self, table: &LiveTable) -> Result<(), StoreError> {
        table.wait_for_writes().await;
        self.settle().await
    }

    /// Waits until all that was committed can be read. The write of a request that was cut off holds no gate
    /// any more, but its commit may still be under way; this one comes behind it.
    async fn settle(&self) -> Result<(), StoreError> {
        let key = space::barrier_key();
        let mut decide =
            |_: &[Option<Bytes>]| WriteSet { puts: vec![(key.clone(), Bytes::new())], ..WriteSet::default() };
        self.store.update(std::slice::from_ref(&key), &mut decide).await
    }

    /// Changes a table while no write to it is under way. The change is given a time that divides the table's
    /// records: all that are there are at or before it, and all later ones are after it. So a shard that is
    /// closed at that time has exactly the records that its readers could see.
    pub(crate) async fn change_between_writes<E: Send + 'static>(
        &self,
        table: &LiveTable,
        change: impl Fn(&Table, Space, u64) -> Result<Table, E> + Send + Sync + 'static,
    ) -> Result<Option<Result<Arc<LiveTable>, E>>, StoreError> {
        let (refusal, refused) = ChangeRefusal::none();
        let change = move |tables: &[Table], unused, time_us| {
            let changed = refused.keep(change(&tables[0], unused, time_us))?;
            Some(strong::share(changed, &tables[1..]))
        };
        Ok(refusal.explain(self.change_between_writes_boxed(table, Vec::new(), Box::new(change)).await?))
    }

    /// The same for a change of a table and its strong replicas. It may make replicas in new Regions.
    pub(crate) async fn change_replicas_between_writes<E: Send + 'static>(
        &self,
        table: &LiveTable,
        new_regions: Vec<String>,
        change: impl Fn(&[Table], Space, u64) -> Result<Vec<Table>, E> + Send + Sync + 'static,
    ) -> Result<Option<Result<Arc<LiveTable>, E>>, StoreError> {
        let (refusal, refused) = ChangeRefusal::none();
        let change = move |tables: &[Table], unused, time_us| refused.keep(change(tables, unused, time_us));
        Ok(refusal.explain(self.change_between_writes_boxed(table, new_regions, Box::new(change)).await?))
    }

    async fn change_between_writes_boxed(
        &self,
        table: &LiveTable,
        new_regions: Vec<String>,
        change: Box<ChangeAtTime>,
    ) -> Result<Replaced, StoreError> {
        if let Some(members) = &self.members {
            return self.change_between_writes_of_all(members, table, new_regions, change).await;
        }
        let _between_writes = table.gate.clone().write_owned().await;
        self.settle().await?;
        let mut time_us = self.clock.now_us(&*self.environment);
        if let Some(table) = self.catalog.successor(table) {
            time_us = time_us.max(self.catalog.last_change_us(&table).await?);
        }
        self.clock.pass(time_us);
        let change = move |tables: &[Table], unused| change(tables, unused, time_us);
        self.catalog.replace_boxed(&table.namespace, &table.name, new_regions, Box::new(change)).await
    }

    /// The same while the table is frozen on all servers.
    async fn change_between_writes_of_all(
        &self,
        members: &Arc<Members>,
        table: &LiveTable,
        new_regions: Vec<String>,
        change: Box<ChangeAtTime>,
    ) -> Result<Replaced, StoreError> {
        let (members, catalog) = (members.clone(), self.catalog.clone());
        let (clock, environment) = (self.clock.clone(), self.environment.clone());
        let Some(table) = self.catalog.successor(table) else { return Ok(Replaced::Gone) };
        let (definition, name) = (table.table.clone(), table.name.clone());
        let change_frozen = async move {
            let changed = async {
                let time_us = catalog.cut(&members, &definition, clock.now_us(&*environment)).await?;
                let change = Box::new(move |tables: &[Table], unused| change(tables, unused, time_us));
                catalog.replace_boxed(&definition.namespace, &definition.name, new_regions, change).await
            };
            members.while_frozen(table.space(), &table.gate, changed).await
        };
        self.background.carry_through("change between writes", &name, change_frozen).await?
    }
}

/// Changes a table and its strong replicas, given a space that no table has used and the time that divides its records;
/// `None` if it refuses.
type ChangeAtTime = dyn Fn(&[Table], Space, u64) -> Option<Vec<Table>> + Send + Sync;
