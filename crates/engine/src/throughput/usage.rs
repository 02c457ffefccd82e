//! What requests do with tables, reported in one place. Every read and every write of items passes here, in two
//! steps:
//!
//! 1. [`Usage::part`]: a part of it used units of a table or global index, or was refused there.
//! 2. [`Usage::request`]: it was answered, with what it returned and how long it took.
//!
//! Metrics, heat and Contributor Insights are kept from these reports; every other reader of them (the studio's
//! traffic) is an [`Observer`]. Nothing is copied for a report: it borrows from the request, and an observer copies
//! what it keeps.
//!
//! Capacity, metrics, alarms and cooldowns go by the time of [`Usage::now`], which may run faster than the clock.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use api::Operation;
use capacity::{Access, Cause, Enforcement};
use item::{Item, ItemRef};
use parking_lot::RwLock;

use super::admission::MeteredTable;
use super::counting::Metrics;
use super::heat::HeatMaps;
use super::insights::Contributors;
use crate::base::table::{Index, KeySchema};
use crate::{Environment, Namespace};

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The time that capacity goes by, in milliseconds since 1970.
    pub ms: u64,
    /// Real time, for latencies.
    us: u64,
}

/// What one request used of a table or global index, or would have used.
#[derive(Clone, Copy)]
pub struct PartUsed<'a> {
    pub(crate) table: &'a MeteredTable,
    /// None for the table itself and its local indexes, which share its throughput.
    pub(crate) index: Option<&'a Index>,
    /// None for what the engine does by itself.
    pub operation: Option<Operation>,
    pub access: Access,
    /// A well-mixed hash of the partition key; none for a Scan.
    pub key_hash: Option<u64>,
    /// Attributes that include the key, as far as the request named it.
    pub(crate) attributes: Option<ItemRef<'a>>,
    /// The item as it was before a write.
    pub(crate) previous: Option<ItemRef<'a>>,
    /// What it used; zero if it was refused.
    pub units: f64,
    /// The limit that it met. Unless it was refused, AWS would have refused it.
    pub limit: Option<Cause>,
    pub is_refused: bool,
    /// The time by the clock of [`Usage`].
    pub now_ms: u64,
}

impl PartUsed<'_> {
    /// The account and Region of the table.
    pub fn namespace(&self) -> &Namespace {
        &self.table.namespace
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The name of the global index.
    pub fn index_name(&self) -> Option<&str> {
        self.index.map(|index| index.name.as_str())
    }

    /// The number of the table or index. It is never used again.
    pub fn space(&self) -> u64 {
        self.index.map_or_else(|| self.table.space(), Index::space).0
    }

    /// Its key attributes in the table or index, as far as they are known: a Query names the partition key
    /// alone, a Scan none.
    pub fn key(&self) -> Option<Item> {
        self.image().map(|image| self.keys().pick(image)).filter(|key| !key.as_ref().is_empty())
    }

    pub(crate) fn keys(&self) -> &KeySchema {
        self.table.keys_of(self.index)
    }

    /// The attributes that include the key. An item that a write takes out of an index has the index key only in
    /// its earlier image.
    pub(crate) fn image(&self) -> Option<ItemRef<'_>> {
        let has_key = |image: &ItemRef<'_>| {
            self.keys().partition.iter().all(|attribute| image.get(&attribute.name).is_some())
        };
        self.attributes.filter(has_key).or(self.previous.filter(has_key)).or(self.attributes)
    }
}

/// How a request ended in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was served. A batch is served if any part of it is.
    Served,
    /// All of it was throttled.
    Throttled,
    /// A condition of it was false.
    ConditionFailed,
    /// This number of its items were in other transactions.
    Conflict { items: usize },
    /// It was refused for another reason that the client can change.
    Refused,
    /// The database failed.
    Failed,
}

/// A request that was answered, or what it did in one of several tables.
#[derive(Clone, Copy)]
pub struct RequestDone<'a> {
    pub(crate) table: &'a MeteredTable,
    pub operation: Operation,
    pub ending: Ending,
    /// How many items a page returned.
    pub returned_items: Option<usize>,
    pub latency_us: u64,
    /// The time by the clock of [`Usage`].
    pub now_ms: u64,
}

impl RequestDone<'_> {
    /// The account and Region of the table.
    pub fn namespace(&self) -> &Namespace {
        &self.table.namespace
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }
}

/// Sees what is used. It is called by the thread of the request: it must be quick and may not block.
pub trait Observer: Send + Sync {
    /// A part of a request used units, or met a limit.
    fn part(&self, _part: &PartUsed<'_>) {}

    /// A request was answered.
    fn request(&self, _request: &RequestDone<'_>) {}
}

thread_local! {
    /// The units that were used by the future that this thread polls.
    static METER: Cell<f64> = const { Cell::new(0.0) };
}

/// Runs a request, and adds up the units that it uses. A future is polled by one thread at a time, and reports are made
/// while it is polled: what the thread's meter gains then is its own.
pub async fn metered<T>(request: impl Future<Output = T>) -> (T, f64) {
    let mut request = std::pin::pin!(request);
    let mut units = 0.0;
    let answer = std::future::poll_fn(|context| {
        let before = METER.get();
        let polled = request.as_mut().poll(context);
        units += METER.get() - before;
        polled
    });
    (answer.await, units)
}

/// Reports use that does not count as the request's.
pub fn unmetered(report: impl FnOnce()) {
    let own = METER.get();
    report();
    METER.set(own);
}

/// Where all use of throughput is reported.
pub struct Usage {
    pub(crate) enforcement: Enforcement,
    environment: Arc<dyn Environment>,
    /// When the database was opened.
    opened_us: u64,
    /// The time of capacity then; from there it runs `time_scale` times as fast.
    began_us: u64,
    time_scale: u64,
    pub(crate) metrics: Metrics,
    observers: RwLock<Vec<Arc<dyn Observer>>>,
    is_observed: AtomicBool,
    /// How many servers share the limits of tables.
    servers: AtomicU32,
}

impl Usage {
    /// `reached_us` is how far a faster clock had come when the database was last open.
    pub(crate) fn new(
        environment: Arc<dyn Environment>,
        enforcement: Enforcement,
        time_scale: u32,
        reached_us: Option<u64>,
    ) -> Usage {
        let opened_us = environment.now_us();
        let began_us = reached_us.unwrap_or(0).max(opened_us);
        let time_scale = u64::from(time_scale.max(1));
        let metrics = Metrics::new(environment.random() as u64);
        let (observers, is_observed) = (RwLock::default(), AtomicBool::new(false));
        let servers = AtomicU32::new(1);
        Usage {
            enforcement,
            environment,
            opened_us,
            began_us,
            time_scale,
            metrics,
            observers,
            is_observed,
            servers,
        }
    }

    /// How many servers share the limits of tables.
    pub(crate) fn servers(&self) -> u32 {
        self.servers.load(Ordering::Relaxed)
    }

    /// Returns whether it is news.
    pub(crate) fn set_servers(&self, servers: u32) -> bool {
        self.servers.swap(servers, Ordering::Relaxed) != servers
    }

    /// The time.
    pub fn now(&self) -> Now {
        let us = self.environment.now_us();
        let passed_us = us.saturating_sub(self.opened_us);
        let scaled_us = self.began_us.saturating_add(passed_us.saturating_mul(self.time_scale));
        Now { ms: scaled_us / 1000, us }
    }

    /// The time of a report. Without reports the clock is not read.
    pub(crate) fn moment(&self) -> Now {
        if self.is_off() { Now { ms: 0, us: 0 } } else { self.now() }
    }

    /// How many times as fast as real time it runs.
    pub fn time_scale(&self) -> u64 {
        self.time_scale
    }

    /// Whether nothing is counted.
    pub fn is_off(&self) -> bool {
        self.enforcement == Enforcement::Off
    }

    /// Whether requests that exceed a limit are refused.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self.enforcement, Enforcement::Declared | Enforcement::Aws)
    }

    /// Reports everything from now on to one more observer.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.write().push(observer);
        self.is_observed.store(true, Ordering::Release);
    }

    /// Reports a part of a request.
    pub(crate) fn part(&self, part: &PartUsed<'_>) {
        METER.with(|meter| meter.set(meter.get() + part.units));
        self.metrics.part(part);
        HeatMaps::note(part);
        Contributors::note(part);
        if self.is_observed.load(Ordering::Acquire) {
            self.observers.read().iter().for_each(|observer| observer.part(part));
        }
    }

    /// Reports that a request was answered. `began` is when it came.
    pub(crate) fn request(
        &self,
        table: &MeteredTable,
        operation: Operation,
        ending: Ending,
        returned_items: Option<usize>,
        (began, now): (Now, Now),
    ) {
        if self.is_off() {
            return;
        }
        let latency_us = now.us.saturating_sub(began.us);
        let request = RequestDone { table, operation, ending, returned_items, latency_us, now_ms: now.ms };
        self.metrics.request(&request);
        if self.is_observed.load(Ordering::Acquire) {
            self.observers.read().iter().for_each(|observer| observer.request(&request));
        }
    }
}
