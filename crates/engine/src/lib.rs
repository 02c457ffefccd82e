//! The semantics of DynamoDB. The engine knows no HTTP, no JSON text and no SQL: requests come in as
//! `api` inputs, items are kept in a [`store::Store`].
//!
//! The path of a request: [`Engine::call`] passes the input to its file in `operation/`, which checks it,
//! parses its expressions and finds its table. Then [`write`] changes items, or [`read`] reads them.
//! Everything else that the engine does, it does in [`background`]. Where to begin reading:
//! `operation/update_item.rs`.

mod admission;
mod background;
mod backup;
mod bulk_put;
mod caller;
mod catalog;
mod change;
mod clearing;
mod collection;
mod difference;
mod expiry;
mod export;
mod expressions;
mod failures;
mod fault;
mod filling;
mod following;
mod format;
mod heat;
mod idempotency;
mod import;
mod index;
mod index_change;
mod index_delay;
mod injected_fault;
mod insights;
mod key;
mod kinesis;
mod legacy;
mod loading;
mod members;
mod metrics;
pub mod migration;
mod operation;
mod options;
mod past;
mod places;
mod read;
mod records;
mod replication;
mod restore;
mod rows;
mod search;
mod service_rows;
mod shadow;
mod shared;
mod sizes;
mod source;
mod space;
mod state_change;
mod stream;
mod table;
mod transaction;
mod transfer_record;
mod units;
mod usage;
mod verify;
mod walk;
mod write;

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

use api::{Error, Request, Response, TableName};
use store::{Store, StoreError};

pub use background::{Health, TaskState, TaskStatus};
pub use caller::{Caller, Principal, Verified};
pub use capacity::metric::{Metric, Unit};
pub use capacity::{Access, Cause, Enforcement, RowChange};
pub use change::ChangeLogSize;
pub use difference::{Difference, ItemDifference};
pub use heat::{HeatColumn, HeatReport, ResourceHeat};
pub use host::{Environment, Namespace, Sleep};
pub use index_change::IndexProgress;
pub use injected_fault::rule::{DELAY_MAX, FaultKind, FaultRule};
pub use injected_fault::{FaultStatus, TooManyFaults};
pub use insights::{InsightMinute, InsightRule};
pub use kinesis::{KinesisRecord, KinesisStream, KinesisStreams, PutFuture, PutOutcome};
pub use metrics::{Dimensions, MetricId, MetricTotal};
pub use operation::dry_run::{DryRun, IndexChange};
pub use operation::list::{dynamodb, streams};
pub use operation::{AnswerSize, Kind};
pub use options::Options;
pub use replication::{
    Answer, LostReplica, Message, PairStatus, Peer, Peers, Scaled, ScaledUnits, Scaling, ScalingSettings,
};
pub use search::SketchTotals;
pub use shadow::{CapacityReport, ShadowKey};
pub use usage::{Ending, Now, Observer, PartUsed, RequestDone, Usage};
pub use verify::{Verification, verify};

use background::Background;
use backup::{BackUp, Backup};
use bulk_put::{BulkPutRecord, PutItems};
use catalog::{Catalog, LiveTable};
use change::{CountLogs, Trimming};
use clearing::Clearing;
use expiry::Sweep;
use export::{ExportRecord, ExportTable};
use expressions::Expressions;
use following::{Beat, Follow};
use import::ImportRecord;
use index_delay::{IndexDelay, TakeSnapshots};
use injected_fault::InjectedFaults;
use kinesis::Deliveries;
use members::Members;
use metrics::KeepMetrics;
use operation::list;
use replication::{ForgetTombstones, Replication};
use search::{KeepSketches, Sketches};
use shared::Core;
use sizes::{CountAll, ShareSizes};
use table::{IndexState, TableState};
use transaction::Transactions;

/// A database on a store.
pub struct Engine {
    core: Arc<Core>,
    token_clearing: idempotency::Clearing,
    faults: InjectedFaults,
}

impl std::ops::Deref for Engine {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Engine {
    /// Opens the database that the store holds; an empty store is an empty database. Must be called
    /// inside a tokio runtime, which then runs the background work.
    pub fn open(
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
    ) -> BoxFuture<'static, Result<Engine, StoreError>> {
        Box::pin(async move { Engine::open_with(store, environment, Options::default()).await })
    }

    /// Like [`Engine::open`], with settings.
    pub fn open_with(
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
        options: Options,
    ) -> BoxFuture<'static, Result<Engine, StoreError>> {
        Box::pin(async move {
            format::check(&*store).await?;
            let members = Members::join(&store, &environment, &options).await?;
            if let Some(members) = &members
                && let Err(refusal) = migration::check_open(&*store).await
            {
                // A migration has begun in the meantime, and may not have seen this member.
                members.leave().await?;
                return Err(refusal);
            }
            let background = Background::new(environment.clone(), members.clone());
            let reached_us = metrics::read_clock(&*store, options.time_scale).await?;
            let usage = Usage::new(environment.clone(), options.capacity, options.time_scale, reached_us);
            let usage = Arc::new(usage);
            let clock = Arc::default();
            let (tasks, uses) = (background.clone(), usage.clone());
            let catalog =
                Catalog::load(store.clone(), tasks, uses, Arc::clone(&clock), members.clone()).await?;
            let core = Core {
                store,
                catalog: Arc::new(catalog),
                environment,
                clock,
                background,
                index_delay: (!options.index_delay.is_zero()).then(|| IndexDelay::new(options.index_delay)),
                sketches: Sketches::new(&options, members.is_none()),
                options,
                transactions: Transactions::default(),
                usage,
                replication: Replication::default(),
                deliveries: Deliveries::default(),
                members,
                expressions: Expressions::default(),
            };
            core.start_clock().await?;
            let engine = Engine {
                core: Arc::new(core),
                token_clearing: idempotency::Clearing::default(),
                faults: InjectedFaults::default(),
            };
            engine.start_jobs().await?;
            Ok(engine)
        })
    }

    /// Starts the jobs that run for as long as the database is open, and goes on with what was interrupted when it
    /// was last open.
    async fn start_jobs(&self) -> Result<(), StoreError> {
        let core = &self.core;
        if let Some(members) = &self.members {
            self.background.start(Beat { core: core.clone(), members: members.clone() });
            self.background.start(Follow { core: core.clone(), members: members.clone() });
        }
        core.heal_all_if_alone().await?;
        core.resume_interrupted().await?;
        self.background.start(Sweep { core: core.clone() });
        if !self.usage.is_off() {
            self.background.start(KeepMetrics { core: core.clone() });
        }
        if self.index_delay.is_some() {
            self.background.start(TakeSnapshots { core: core.clone() });
        }
        if self.sketches.is_on() {
            self.background.start(KeepSketches { core: core.clone() });
        }
        self.background.start(CountLogs { core: core.clone() });
        self.background.start(Trimming { core: core.clone() });
        self.background.start(ForgetTombstones::new(core.clone()));
        if self.members.is_some() {
            self.background.start(ShareSizes { core: core.clone() });
        }
        self.background.start(CountAll { core: core.clone() });
        Ok(())
    }

    /// Takes up at once what other servers on the same store did to tables. What they have acknowledged is known
    /// without it; what their jobs did is known a moment later.
    pub fn follow(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.catalog.follow().await })
    }

    /// Whether other servers may work on the same store.
    pub fn is_shared(&self) -> bool {
        self.members.is_some()
    }

    /// Takes the lease of a service beside the engine, which one server at a time runs. Once taken, it is this
    /// server's until it leaves or is expelled.
    pub fn take_lease<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            match &self.members {
                Some(members) => Ok(members.take(name).await?.is_some()),
                None => Ok(true),
            }
        })
    }

    /// Ends when other servers on the same store have expelled this one, which they do when it is silent for long:
    /// it writes nothing any more. The database must be opened again, on a store that is opened again.
    pub fn expelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.members {
                Some(members) => members.expelled().await,
                None => std::future::pending().await,
            }
        })
    }

    /// Closes the database to everybody, because it is moved to another store. The caller closes this one.
    pub fn begin_moving<'a>(&'a self, to: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { migration::pause(&*self.store, to).await })
    }

    /// Ends background work and makes everything durable. Later calls fail.
    pub fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.background.close().await;
            let mut tables = self.catalog.all();
            // The gates are taken in the order in which writes take them. They are held until the store is
            // closed, so that the stored sizes are those of the stored items.
            tables.sort_by_key(|table| table.space());
            let mut gates = Vec::with_capacity(tables.len());
            // The gate of a frozen table is held already, until this server has left.
            let frozen = match &self.members {
                Some(members) => members.frozen_here().await,
                None => None,
            };
            for table in tables.iter().filter(|table| Some(table.space()) != frozen) {
                gates.push(table.gate.write().await);
            }
            if self.health() == Health::Healthy
                && let Err(error) = self.keep_figures(Duration::ZERO).await
            {
                tracing::warn!(%error, "the metrics of the last seconds were not stored");
            }
            if self.health() == Health::Healthy
                && self.members.is_none()
                && let Err(error) = self.catalog.keep_sizes(&tables).await
            {
                tracing::warn!(%error, "the sizes of tables were not stored; the next start counts the items");
            }
            if let Some(delay) = &self.index_delay {
                delay.close();
            }
            if let Some(members) = &self.members
                && let Err(error) = async {
                    sizes::share(&*self.store, &tables).await?;
                    members.leave().await
                }
                .await
            {
                tracing::warn!(%error, "the other servers will expel this one, because it could not leave");
            }
            self.store.close().await
        })
    }

    /// Whether the database takes writes. It does not after a panic of a background task, or after a failure
    /// that made the store refuse writes.
    pub fn health(&self) -> Health {
        match self.background.check().and_then(|()| self.store.health()) {
            Ok(()) => Health::Healthy,
            Err(error) if error.is_transient() => Health::Stalled(error.to_string()),
            Err(error) => Health::Unhealthy(error.to_string()),
        }
    }

    /// Where all use of throughput is reported, and the clock that it goes by.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What the compressed copies of vector indexes hold.
    pub fn sketch_totals(&self) -> SketchTotals {
        self.sketches.totals()
    }

    /// The background tasks that run, and those that gave up.
    pub fn tasks(&self) -> Vec<TaskStatus> {
        self.background.tasks()
    }

    /// Carries out one request to DynamoDB Streams.
    pub fn call_streams<'a>(
        &'a self,
        caller: &'a Caller,
        request: api::streams::Request,
    ) -> BoxFuture<'a, Result<api::streams::Response, Error>> {
        Box::pin(async move {
            self.check_member().await?;
            self.authorize_streams(caller, &request)?;
            list::streams::run(self, caller, request).await
        })
    }

    /// Carries out one request.
    pub fn call<'a>(
        &'a self,
        caller: &'a Caller,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async move {
            self.check_member().await?;
            let result = self.authorized(caller, request).await;
            if let Err(error) = &result
                && metrics::is_user_error(error.kind)
                && !self.usage.is_off()
                && self.catalog.has_tables(&caller.namespace)
            {
                self.usage.metrics.user_error(&caller.namespace, self.usage.now().ms);
            }
            result
        })
    }

    /// Refuses requests, also reads, when this server may not know what others did to tables.
    async fn check_member(&self) -> Result<(), Error> {
        match &self.members {
            // Apart, because it is rare: other requests need no memory for it.
            Some(members) if !members.is_current() => {
                Box::pin(members.renew()).await.map_err(fault::of_store)
            }
            _ => Ok(()),
        }
    }

    async fn authorized(&self, caller: &Caller, request: Request) -> Result<Response, Error> {
        self.authorize(caller, &request)?;
        match self.faults.is_any() {
            false => list::dynamodb::run(self, caller, request).await,
            // Apart, so that requests without faults need no memory for it.
            true => Box::pin(self.carry_out_with_faults(caller, request)).await,
        }
    }

    /// The table of an item operation. A table that is CREATING or DELETING has no items.
    fn table(&self, caller: &Caller, name: &str) -> Result<Arc<LiveTable>, Error> {
        let table = self.find(caller, name)?.filter(|table| table.has_items());
        table.ok_or_else(Error::resource_not_found_item)
    }

    /// The caller's table of this name or ARN. The ARN of another Region is refused, and so is that of another
    /// account, unless policies were asked ([`Engine::authorize`]) and allow it.
    fn find(&self, caller: &Caller, name: &str) -> Result<Option<Arc<LiveTable>>, Error> {
        let text = name;
        let Ok(TableName { name, home }) = TableName::parse(text) else { return Ok(None) };
        let Some(home) = home else { return Ok(self.catalog.find(&caller.namespace, name)) };
        caller.check_region(text, home)?;
        if !caller.is_verified() {
            caller.check_account(home)?;
        }
        Ok(self.catalog.find(&Namespace::new(home.account, home.region), name))
    }
}

impl Core {
    /// Goes on with what was interrupted: when the database was last open, or on a server that is gone.
    pub(crate) async fn resume_interrupted(self: &Arc<Core>) -> Result<(), StoreError> {
        for space in self.catalog.dropped_spaces().await? {
            self.background.start(Clearing::of_space(self.catalog.clone(), space));
        }
        for table in self.catalog.all() {
            let is_joining = table.membership.as_ref().is_some_and(|own| own.joins_from.is_some());
            if table.restore.is_some() {
                self.start_restore(&table);
            } else if table.import.is_some() || is_joining {
                // The job that fills it makes it ACTIVE.
            } else if self.members.is_some() && table.state != TableState::Active {
                // Another server may be about to do it when the delay is over.
                self.background.start(self.state_change(&table));
            } else {
                self.state_change(&table).finish().await?;
            }
        }
        let tables = self.catalog.all();
        for table in &tables {
            for index in table.indexes.iter().filter(|index| index.state != IndexState::Active) {
                self.start_index_change(table, index);
            }
        }
        for table in &tables {
            self.start_expiry_fill(table);
            self.start_deliveries(table);
        }
        for backup in records::all::<Backup>(&*self.store).await? {
            if !backup.is_available {
                self.background.start(BackUp { core: self.clone(), backup });
            }
        }
        self.resume_transfers().await?;
        self.resume_replication().await
    }

    /// Goes on with the exports, imports and bulk puts that were under way.
    async fn resume_transfers(self: &Arc<Core>) -> Result<(), StoreError> {
        for record in ExportRecord::under_way(&*self.store).await? {
            let request = record.request().map_err(|error| record.unreadable(error))?;
            let filter = request.filter_specification.as_ref();
            let filter = operation::export_table_to_point_in_time::filter(self, filter);
            let filter = filter.map_err(|error| record.unreadable(error))?;
            self.background.start(ExportTable { core: self.clone(), record, request, filter });
        }
        for record in ImportRecord::under_way(&*self.store).await? {
            self.start_import(record.clone()).map_err(|error| record.unreadable(error))?;
        }
        for record in BulkPutRecord::under_way(&*self.store).await? {
            let job = PutItems::of(self.clone(), record.clone());
            self.background.start(job.map_err(|error| record.unreadable(error))?);
        }
        Ok(())
    }
}

/// Jobs do not outlive the database. What they leave undone is taken up when it is next opened.
impl Drop for Engine {
    fn drop(&mut self) {
        self.background.stop();
    }
}
