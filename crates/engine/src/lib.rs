//! The semantics of DynamoDB. The engine knows no HTTP, no SQL and no text of requests: they come in as
//! `api` inputs, items are kept in a [`store::Store`].
//!
//! The path of a request: [`Engine::call`] passes the input to its file in `operation/`, which checks it,
//! parses its expressions and finds its table. Then [`commit`] changes items, or [`read`] reads them.
//! Everything else that the engine does, it does in [`background`]. Where to begin reading:
//! `operation/update_item.rs`.
//!
//! The folders are rooms. Each has a page beside it with what it offers, and knows only rooms below it: ARCHITECTURE.md
//! has their order.
//!
//! | question | file |
//! |---|---|
//! | which operations are there, and what is one? | `operation/list.rs`, `operation.rs` |
//! | how does a database open and close? | `lib.rs` |
//! | what can be set? | `options.rs` |
//! | what was interrupted, and goes on? | `resuming.rs` |
//! | what does a server do for the others? | `following.rs` |
//! | what do services beside the engine keep? | `service_rows.rs` |
//! | what runs beside the requests? | `background.rs` |

mod background;
mod base;
mod cluster;
mod commit;
mod copies;
mod following;
mod log;
mod operation;
mod options;
mod read;
mod regions;
mod reports;
mod resuming;
mod service_rows;
mod tables;
mod throughput;

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

use api::{Error, Request, Response};
use store::{Store, StoreError};

pub use background::{Health, TaskState, TaskStatus};
pub use base::caller::{Caller, Principal, Verified};
pub use capacity::metric::{Metric, Unit};
pub use capacity::{Access, Cause, Enforcement, RowChange};
pub use copies::difference::{ItemDifference, TableDifference};
use host::SteadyClock;
pub use host::{Environment, Namespace, Sleep};
pub use log::kinesis::{KinesisRecord, KinesisStream, KinesisStreams, PutFuture, PutOutcome};
pub use log::size::ChangeLogSize;
pub use operation::dry_run::{DryRun, IndexRowChange};
pub use operation::injected_fault::faults::{FaultStatus, TooManyFaults};
pub use operation::injected_fault::rule::{DELAY_MAX, FaultKind, FaultRule};
pub use operation::list::{dynamodb, streams};
pub use operation::{AnswerSize, Engine, Kind, item_bytes};
pub use options::Options;
pub use regions::{
    Answer, LostReplica, Message, PairStatus, Peer, Peers, Scaled, ScaledUnits, Scaling, ScalingSettings,
    StrongTable,
};
pub use reports::capacity::{CapacityReport, ShadowKey};
pub use reports::heat::{HeatColumn, HeatReport, ResourceHeat};
pub use reports::insights::{InsightMinute, InsightRule};
pub use reports::metrics::MetricTotal;
pub use tables::format::FORMAT as DATA_FORMAT;
pub use tables::index_change::IndexProgress;
pub use tables::migration;
pub use tables::rebuilding::{Rebuilding, begin_rebuilding};
pub use tables::sketches::SketchTotals;
pub use tables::verify::{Verification, verify};
pub use throughput::dimensions::{Dimensions, MetricId};
pub use throughput::usage::{Ending, Now, Observer, PartUsed, RequestDone, Usage, metered};

use background::Background;
use base::fault;
use cluster::members::Members;
use commit::Commits;
use commit::expiry::Sweep;
use commit::idempotency::TokenClearing;
use copies::Copies;
use following::{Beat, Follow};
use log::Logs;
use log::size::CountLogs;
use log::trimming::Trimming;
use operation::injected_fault::faults::InjectedFaults;
use operation::list;
use read::Reads;
use read::index_delay::{IndexDelay, TakeSnapshots};
use regions::{ForgetTombstones, Regions, Replication};
use reports::metrics::KeepMetrics;
use reports::{Reports, metrics};
use resuming::TakeUp;
use tables::catalog::Catalog;
use tables::clock_watch::{NoteDoubtfulTimes, WatchClock};
use tables::sizes::{CountAll, ShareSizes};
use tables::sketches::Sketches;
use tables::sketches::keeping::KeepSketches;
use tables::{Tables, format, sizes};
use throughput::counting::is_user_error;

impl Engine {
    /// Opens the database that the store holds; an empty store is an empty database. The
    /// environment runs the background work: by default in the tokio runtime in which this is called.
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
            let members =
                Members::join(&store, &environment, options.member_poll, options.member_silence).await?;
            if let Some(members) = &members
                && let Err(refusal) = migration::check_open(&*store).await
            {
                // A migration has begun in the meantime, and may not have seen this member.
                members.leave().await?;
                return Err(refusal);
            }
            let steady = Arc::new(SteadyClock::new(environment));
            let environment: Arc<dyn Environment> = steady.clone();
            let background = Background::new(environment.clone(), members.clone());
            let reached_us = metrics::read_clock(&*store, options.time_scale).await?;
            let usage = Usage::new(environment.clone(), options.capacity, options.time_scale, reached_us);
            let usage = Arc::new(usage);
            let clock = Arc::default();
            let (tasks, uses) = (background.clone(), usage.clone());
            let catalog =
                Catalog::load(store.clone(), tasks, uses, Arc::clone(&clock), members.clone()).await?;
            // Indexes that lag are read from a snapshot of the past, which no copy is of.
            let has_sketches = members.is_none() && options.index_delay.is_zero();
            let tables = Tables {
                store,
                environment,
                steady,
                background,
                members,
                usage,
                clock,
                catalog: Arc::new(catalog),
                sketches: Sketches::new(
                    if has_sketches { options.vector_bytes_max } else { 0 },
                    options.vector_rows_min,
                ),
                state_delay: options.state_delay,
                stream_shards: options.stream_shards,
            };
            tables.start_clock().await?;
            let engine = Engine::of(tables, options);
            engine.start_jobs().await?;
            Ok(engine)
        })
    }

    /// The rooms on top of each other.
    fn of(tables: Tables, options: Options) -> Engine {
        let reports = Reports { tables: Arc::new(tables) };
        let logs = Logs {
            reports: Arc::new(reports),
            kinesis: options.kinesis,
            deliveries: Default::default(),
            change_log_bytes_max: options.change_log_bytes_max,
        };
        let commits = Commits {
            logs: Arc::new(logs),
            transactions: Default::default(),
            replicated_writes: Default::default(),
            budget: Default::default(),
            expressions: Default::default(),
            item_collection_bytes_max: options.item_collection_bytes_max,
            expiry_delay: options.expiry_delay,
            region_clocks: options.region_clocks,
        };
        let reads = Reads {
            commits: Arc::new(commits),
            index_delay: (!options.index_delay.is_zero()).then(|| IndexDelay::new(options.index_delay)),
        };
        let copies = Copies { reads: Arc::new(reads), backups: options.backups, s3: options.s3 };
        let regions = Regions {
            copies: Arc::new(copies),
            replication: Replication::default(),
            peers: options.peers,
            replication_delay: options.replication_delay,
            replicates_transactions_whole: options.replicates_transactions_whole,
        };
        Engine {
            regions: Arc::new(regions),
            endpoint: options.endpoint,
            token_clearing: TokenClearing::default(),
            faults: InjectedFaults::default(),
        }
    }

    /// Starts the jobs that run for as long as the database is open, and goes on with what was interrupted when it
    /// was last open.
    async fn start_jobs(&self) -> Result<(), StoreError> {
        let regions = &self.regions;
        if let Some(members) = &self.members {
            self.background.start(Beat { regions: regions.clone(), members: members.clone() });
            self.background.start(Follow { tables: regions.tables.clone(), members: members.clone() });
        }
        regions.heal_all_if_alone().await?;
        resuming::resume(regions).await?;
        self.background.start(WatchClock { tables: regions.tables.clone() });
        self.background.start(NoteDoubtfulTimes::new(regions.tables.clone()));
        self.background.start(Sweep { commits: regions.commits.clone() });
        if !self.usage.is_off() {
            self.background.start(KeepMetrics::new(regions.reports.clone()));
        }
        if self.index_delay.is_some() {
            self.background.start(TakeSnapshots { reads: regions.reads.clone() });
        }
        if self.sketches.is_on() {
            self.background.start(KeepSketches { tables: regions.tables.clone() });
        }
        self.background.start(TakeUp::new(regions.clone()));
        self.background.start(CountLogs { logs: regions.logs.clone() });
        self.background.start(Trimming::new(regions.logs.clone()));
        self.background.start(ForgetTombstones::new(regions.clone()));
        if self.members.is_some() {
            self.background.start(ShareSizes { tables: regions.tables.clone() });
        }
        self.background.start(CountAll { tables: regions.tables.clone() });
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
            let mut tables = self.catalog.all_rows_once();
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
        Box::pin(self.background.slices().share(async move {
            self.check_member().await?;
            self.authorize_streams(caller, &request)?;
            list::streams::run(self, caller, request).await
        }))
    }

    /// Carries out one request.
    pub fn call<'a>(
        &'a self,
        caller: &'a Caller,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(self.background.slices().share(async move {
            self.check_member().await?;
            let result = self.authorized(caller, request).await;
            if let Err(error) = &result
                && is_user_error(error.kind)
                && !self.usage.is_off()
                && self.catalog.has_tables(&caller.namespace)
            {
                self.usage.metrics.user_error(&caller.namespace, self.usage.now().ms);
            }
            result
        }))
    }

    /// Refuses requests, also reads, when this server may not know what others did to tables.
    async fn check_member(&self) -> Result<(), Error> {
        match &self.members {
            // A renewal is rare. Its future is boxed, so that the future of other requests has no room for it.
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
            // Boxed, so that the future of requests without faults has no room for it.
            true => Box::pin(self.carry_out_with_faults(caller, request)).await,
        }
    }
}

/// Jobs do not outlive the database. What they leave undone is taken up when it is next opened.
impl Drop for Engine {
    fn drop(&mut self) {
        self.background.stop();
    }
}
