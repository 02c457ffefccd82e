//! Metrics: what CloudWatch shows of AWS/DynamoDB, by the minute, kept for 15 days. CloudWatch's API, Prometheus,
//! alarms and the studio all read them here.
//!
//! - Each name of a table has [`Figures`]: the cells of the minute that is open, by their dimensions. A report of
//!   [`crate::usage`] adds to them under one short lock.
//! - [`KeepMetrics`] stores what changed every few seconds, one row for a table and minute, and removes old rows.
//!   `close` stores the rest.
//! - A row belongs to the run of the database that wrote it, so it is replaced as a whole and nothing is counted
//!   twice. A question adds up the rows of all runs.
//!
//! What always holds: after a clean end every figure is stored. After kill -9 the figures of the last
//! [`STORE_INTERVAL`] may be missing, and none is too large.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::{ErrorKind, Operation};
use bytes::Bytes;
use capacity::Access;
use capacity::metric::{self, Cells, Metric, Point, Scope};
use parking_lot::Mutex;
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, Store, StoreError, WriteSet};

use crate::background::Job;
use crate::shadow::Shadow;
use crate::shared::Core;
use crate::table::{BillingMode, Table};
use crate::usage::{Ending, PartUsed, RequestDone};
use crate::{Engine, Namespace, space};

/// The width of a cell.
pub const MINUTE_MS: u64 = 60_000;
/// How often what changed is stored: a killed process loses no more than this.
const STORE_INTERVAL: Duration = Duration::from_secs(5);
/// Rows of one commit.
pub const ROWS_PER_COMMIT: usize = 500;
/// How long minutes are kept.
const KEPT_MINUTES: u64 = 15 * 24 * 60;
/// Metrics without a value for so long are not listed.
const LISTED_MINUTES: u64 = 14 * 24 * 60;
/// How often it is noted that a metric still gets values, and that old rows are removed.
const HOUR_MINUTES: u64 = 60;
/// Minutes of one table that wait for a store that takes no writes. Older ones are given up.
const WAITING_MINUTES_MAX: usize = 60;

/// The dimensions of a metric. None at all are those of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dimensions {
    /// `TableName`.
    pub table: Option<String>,
    /// `GlobalSecondaryIndexName`.
    pub index: Option<String>,
    /// `Operation`.
    pub operation: Option<String>,
    /// `StreamLabel`.
    pub stream_label: Option<String>,
    /// `ReceivingRegion`.
    pub receiving_region: Option<String>,
    /// `ClusterId`.
    pub cluster: Option<String>,
    /// `NodeId`.
    pub node: Option<String>,
}

impl Dimensions {
    /// As CloudWatch names them.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let members = [
            ("TableName", &self.table),
            ("GlobalSecondaryIndexName", &self.index),
            ("Operation", &self.operation),
            ("StreamLabel", &self.stream_label),
            ("ReceivingRegion", &self.receiving_region),
            ("ClusterId", &self.cluster),
            ("NodeId", &self.node),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// The dimensions with these names and values; none if a name is not known or comes twice.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Dimensions> {
        let mut dimensions = Dimensions::default();
        for (name, value) in pairs {
            let member = match name {
                "TableName" => &mut dimensions.table,
                "GlobalSecondaryIndexName" => &mut dimensions.index,
                "Operation" => &mut dimensions.operation,
                "StreamLabel" => &mut dimensions.stream_label,
                "ReceivingRegion" => &mut dimensions.receiving_region,
                "ClusterId" => &mut dimensions.cluster,
                "NodeId" => &mut dimensions.node,
                _ => return None,
            };
            if member.replace(value.to_owned()).is_some() {
                return None;
            }
        }
        Some(dimensions)
    }

    /// The set of cells that has these dimensions; none if no metric has them.
    fn set(&self) -> Option<String> {
        if self.cluster.is_some() || self.node.is_some() {
            let of_cluster = Dimensions {
                cluster: self.cluster.clone(),
                node: self.node.clone(),
                ..Dimensions::default()
            };
            let is_whole = self.cluster.is_some() && *self == of_cluster;
            let node = self.node.as_ref().map(|node| format!("{NODE}{node}"));
            return is_whole.then(|| node.unwrap_or_default());
        }
        if let Some(region) = &self.receiving_region {
            let is_alone = self.index.is_none() && self.operation.is_none() && self.stream_label.is_none();
            return (self.table.is_some() && is_alone).then(|| format!("{REPLICA}{region}"));
        }
        match (&self.table, &self.index, &self.operation, &self.stream_label) {
            (_, None, None, None) => Some(String::new()),
            (Some(_), Some(index), None, None) => Some(format!("{INDEX}{index}")),
            (Some(_), None, Some(operation), None) => Some(format!("{OPERATION}{operation}")),
            (Some(_), None, Some(operation), Some(label)) if operation == "GetRecords" => {
                Some(format!("{STREAM}{label}"))
            }
            _ => None,
        }
    }

    /// Whose figures have these dimensions: a table, a cluster, or the account, which has no name.
    fn subject(&self) -> String {
        match &self.cluster {
            Some(cluster) => format!("{CLUSTER}{cluster}"),
            None => self.table.clone().unwrap_or_default(),
        }
    }

    /// The dimensions of a set of a table or cluster; an account has no name.
    fn of_set(table: &str, set: &str) -> Dimensions {
        if let Some(cluster) = table.strip_prefix(CLUSTER) {
            let node = set.strip_prefix(NODE).map(str::to_owned);
            return Dimensions { cluster: Some(cluster.to_owned()), node, ..Dimensions::default() };
        }
        let (mut index, mut operation, mut stream_label, mut receiving_region) = (None, None, None, None);
        if let Some(name) = set.strip_prefix(INDEX) {
            index = Some(name.to_owned());
        } else if let Some(name) = set.strip_prefix(OPERATION) {
            operation = Some(name.to_owned());
        } else if let Some(label) = set.strip_prefix(STREAM) {
            (operation, stream_label) = (Some("GetRecords".to_owned()), Some(label.to_owned()));
        } else if let Some(region) = set.strip_prefix(REPLICA) {
            receiving_region = Some(region.to_owned());
        }
        let table = (!table.is_empty()).then(|| table.to_owned());
        Dimensions { table, index, operation, stream_label, receiving_region, ..Dimensions::default() }
    }
}

/// How sets of cells are named in what is stored: `` for the table, `i:` and an index, `o:` and an operation,
/// `s:` and the label of a stream, `r:` and a Region that changes are sent to.
pub const INDEX: &str = "i:";
const OPERATION: &str = "o:";
const STREAM: &str = "s:";
const REPLICA: &str = "r:";
/// A node of a cluster. The figures of clusters are kept as those of a table with a name that no table has.
const NODE: &str = "n:";
const CLUSTER: &str = "dax/";

/// A metric with its dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId {
    pub metric: Metric,
    pub dimensions: Dimensions,
}

/// Which cells of a table a value is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set<'a> {
    Table,
    Index(&'a str),
    Operation(Operation),
    Stream(&'a str),
    Replica(&'a str),
    Node(&'a str),
}

impl Set<'_> {
    fn name(self) -> String {
        match self {
            Set::Table => String::new(),
            Set::Index(index) => format!("{INDEX}{index}"),
            Set::Operation(operation) => format!("{OPERATION}{}", operation.name()),
            Set::Stream(label) => format!("{STREAM}{label}"),
            Set::Replica(region) => format!("{REPLICA}{region}"),
            Set::Node(node) => format!("{NODE}{node}"),
        }
    }

    fn is_named(self, name: &str) -> bool {
        match self {
            Set::Table => name.is_empty(),
            Set::Index(index) => name.strip_prefix(INDEX) == Some(index),
            Set::Operation(operation) => name.strip_prefix(OPERATION) == Some(operation.name()),
            Set::Stream(label) => name.strip_prefix(STREAM) == Some(label),
            Set::Replica(region) => name.strip_prefix(REPLICA) == Some(region),
            Set::Node(node) => name.strip_prefix(NODE) == Some(node),
        }
    }
}

/// The cells of one minute, by the names of their sets.
#[derive(Clone, Debug, Default)]
pub struct Sets(Vec<(String, Cells)>);

impl IntoIterator for Sets {
    type Item = (String, Cells);
    type IntoIter = std::vec::IntoIter<(String, Cells)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Sets {
    fn cells(&mut self, set: Set<'_>) -> &mut Cells {
        let position = self.0.iter().position(|(name, _)| set.is_named(name)).unwrap_or_else(|| {
            self.0.push((set.name(), Cells::new()));
            self.0.len() - 1
        });
        &mut self.0[position].1
    }

    fn get(&self, name: &str) -> Option<&Cells> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, cells)| cells)
    }

    fn merge(&mut self, other: &Sets) {
        for (name, cells) in &other.0 {
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.merge(cells),
                None => self.0.push((name.clone(), cells.clone())),
            }
        }
    }

    fn encode(&self) -> Bytes {
        Bytes::from(metric::encode_sets(self.0.iter().map(|(name, cells)| (name.as_str(), cells))))
    }
}

/// The figures of one name of a table, or of an account.
pub struct Figures {
    namespace: Namespace,
    /// Empty for the account.
    table: String,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    minute: u64,
    sets: Sets,
    /// Whether the store lacks what was added to the open minute.
    is_changed: bool,
    /// Minutes that are over and not stored yet.
    ended: VecDeque<(u64, Sets)>,
    /// Everything since the database was opened, but for the open minute.
    totals: Sets,
    /// When each metric of each set was last noted in the list of metrics.
    noted: HashMap<(String, Metric), u64>,
}

impl Figures {
    fn add(&self, now_ms: u64, add: impl FnOnce(&mut Sets)) {
        let mut open = self.open.lock();
        open.roll(now_ms / MINUTE_MS);
        add(&mut open.sets);
        open.is_changed = true;
    }
}

impl Open {
    /// Ends the minute if it is over. A clock that goes back goes on with the minute that is open.
    fn roll(&mut self, minute: u64) {
        if minute <= self.minute {
            return;
        }
        let ended = std::mem::replace(&mut self.minute, minute);
        let sets = std::mem::take(&mut self.sets);
        if sets.0.is_empty() {
            return;
        }
        self.totals.merge(&sets);
        if std::mem::take(&mut self.is_changed) {
            self.ended.push_back((ended, sets));
        }
        if self.ended.len() > WAITING_MINUTES_MAX {
            self.ended.pop_front();
            tracing::warn!("metrics of a minute are given up: the store has taken none for an hour");
        }
    }

    /// What the store lacks.
    fn unstored(&self) -> impl Iterator<Item = (u64, &Sets)> {
        let open = self.is_changed.then_some((self.minute, &self.sets));
        self.ended.iter().map(|(minute, sets)| (*minute, sets)).chain(open)
    }

    /// All minutes in memory.
    fn minutes(&self) -> impl Iterator<Item = (u64, &Sets)> {
        self.ended.iter().map(|(minute, sets)| (*minute, sets)).chain([(self.minute, &self.sets)])
    }
}

/// The figures of all tables.
pub struct Metrics {
    /// Marks the rows that this run of the database stores.
    pub run: u64,
    figures: Mutex<HashMap<(Namespace, String), Arc<Figures>>>,
    /// What tables had learned when it was last stored.
    learned: Mutex<HashMap<Space, Vec<u8>>>,
    /// When rows were last removed.
    trimmed_minute: AtomicU64,
}

impl Metrics {
    pub fn new(run: u64) -> Metrics {
        Metrics {
            run,
            figures: Mutex::default(),
            learned: Mutex::default(),
            trimmed_minute: AtomicU64::new(0),
        }
    }

    /// The figures of a table; of the account if the name is empty.
    pub fn figures(&self, namespace: &Namespace, table: &str) -> Arc<Figures> {
        let mut figures = self.figures.lock();
        let key = (namespace.clone(), table.to_owned());
        let new = || {
            let (namespace, table) = key.clone();
            Arc::new(Figures { namespace, table, open: Mutex::default() })
        };
        figures.entry(key.clone()).or_insert_with(new).clone()
    }

    fn all(&self) -> Vec<Arc<Figures>> {
        self.figures.lock().values().cloned().collect()
    }

    /// Forgets the figures of dropped tables, and of others that nobody holds, when they are stored and their minute is
    /// over. Until then they are needed: the row of a minute is replaced as a whole.
    fn forget_unused(&self, minute: u64) {
        self.figures.lock().retain(|_, figures| {
            let open = figures.open.lock();
            Arc::strong_count(figures) > 1 || open.minute >= minute || open.unstored().next().is_some()
        });
    }

    /// Counts a part of a request.
    pub fn part(&self, part: &PartUsed<'_>) {
        let set = part.index_name().map_or(Set::Table, Set::Index);
        part.table.meter.figures.add(part.now_ms, |sets| {
            let cells = sets.cells(set);
            if !part.is_refused {
                cells.add(Metric::consumed(part.access), part.units);
            }
            let Some(cause) = part.limit else { return };
            if !part.is_refused {
                Shadow::note(part);
            }
            let (all, one) = match part.is_refused {
                true => {
                    (Metric::throttle_events(part.access), Metric::throttle_events_for(part.access, cause))
                }
                false => (Metric::shadow_events(part.access), Metric::shadow_events_for(part.access, cause)),
            };
            cells.add(all, 1.0);
            cells.add(one, 1.0);
        });
    }

    /// Counts a request.
    pub fn request(&self, request: &RequestDone<'_>) {
        let of_operation = Set::Operation(request.operation);
        request.table.meter.figures.add(request.now_ms, |sets| match request.ending {
            Ending::Served => {
                let cells = sets.cells(of_operation);
                cells.add(Metric::SuccessfulRequestLatency, request.latency_us as f64 / 1000.0);
                if let Some(count) = request.returned_items.filter(|_| returns_items(request.operation)) {
                    cells.add(Metric::ReturnedItemCount, count as f64);
                }
            }
            Ending::Throttled => {
                sets.cells(of_operation).add(Metric::ThrottledRequests, 1.0);
                sets.cells(Set::Table).add(Metric::ThrottledRequests, 1.0);
            }
            Ending::ConditionFailed => {
                sets.cells(Set::Table).add(Metric::ConditionalCheckFailedRequests, 1.0);
            }
            Ending::Conflict { items } => {
                sets.cells(Set::Table).add(Metric::TransactionConflict, items as f64);
            }
            Ending::Failed => sets.cells(of_operation).add(Metric::SystemErrors, 1.0),
            Ending::Refused => {}
        });
    }

    /// Counts a request that a client made wrongly.
    pub fn user_error(&self, namespace: &Namespace, now_ms: u64) {
        let figures = self.figures(namespace, "");
        figures.add(now_ms, |sets| sets.cells(Set::Table).add(Metric::UserErrors, 1.0));
    }
}

impl Figures {
    /// Adds a value to a metric of the table.
    pub fn add_to_table(&self, metric: Metric, value: f64, now_ms: u64) {
        self.add(now_ms, |sets| sets.cells(Set::Table).add(metric, value));
    }

    /// Adds a value to a metric of an index.
    pub fn add_to_index(&self, index: &str, metric: Metric, value: f64, now_ms: u64) {
        self.add(now_ms, |sets| sets.cells(Set::Index(index)).add(metric, value));
    }

    /// Counts a page of a stream.
    pub fn add_records(&self, label: &str, records: usize, bytes: usize, now_ms: u64) {
        self.add(now_ms, |sets| {
            let cells = sets.cells(Set::Stream(label));
            cells.add(Metric::ReturnedRecordsCount, records as f64);
            cells.add(Metric::ReturnedBytes, bytes as f64);
        });
    }

    /// Notes how long a change took to another Region.
    pub fn add_latency(&self, region: &str, latency_ms: f64, now_ms: u64) {
        self.add(now_ms, |sets| sets.cells(Set::Replica(region)).add(Metric::ReplicationLatency, latency_ms));
    }

    /// Notes what a table declares.
    fn sample(&self, table: &Table, now_ms: u64) {
        let metric = |access: Access| match (table.billing.mode, access) {
            (BillingMode::Provisioned, Access::Read) => Metric::ProvisionedReadCapacityUnits,
            (BillingMode::Provisioned, Access::Write) => Metric::ProvisionedWriteCapacityUnits,
            (BillingMode::OnDemand, Access::Read) => Metric::OnDemandMaxReadRequestUnits,
            (BillingMode::OnDemand, Access::Write) => Metric::OnDemandMaxWriteRequestUnits,
        };
        let global = table.indexes.iter().filter(|index| index.is_global());
        for index in std::iter::once(None).chain(global.map(Some)) {
            let set = index.map_or(Set::Table, |index| Set::Index(&index.name));
            for access in Access::BOTH {
                if let Some(units) = table.declared_units(index, access) {
                    self.add(now_ms, |sets| sets.cells(set).add(metric(access), units as f64));
                }
            }
        }
    }
}

/// Whether an error counts as one of the client's: its status is 400, and it is no throttle, failed condition or
/// conflict.
pub fn is_user_error(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::InternalServerError
            | ErrorKind::ServiceUnavailable
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
            | ErrorKind::ConditionalCheckFailed
            | ErrorKind::ConditionalCheckFailedOfStatement
            | ErrorKind::TransactionConflict
            | ErrorKind::TransactionCanceled
    )
}

/// The operations that have `ReturnedItemCount`.
fn returns_items(operation: Operation) -> bool {
    matches!(operation, Operation::Query | Operation::Scan | Operation::ExecuteStatement)
}

/// Stores figures for as long as the database is open.
pub struct KeepMetrics {
    pub core: Arc<Core>,
}

impl Job for KeepMetrics {
    fn name(&self) -> &'static str {
        "keeping of metrics"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    fn delay(&self) -> Duration {
        STORE_INTERVAL
    }

    fn interval(&self) -> Option<Duration> {
        Some(STORE_INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    /// Each server stores what it counted.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let core = &*self.core;
        let now_ms = core.usage.now().ms;
        core.sample_tables(now_ms);
        core.log_shadow(now_ms);
        core.trim_heat(now_ms);
        core.keep_figures(STORE_INTERVAL).await?;
        core.keep_learned().await?;
        core.usage.metrics.forget_unused(now_ms / MINUTE_MS);
        core.trim_metrics(now_ms / MINUTE_MS).await
    }
}

impl Core {
    /// Stores everything that was counted and the store lacks. It is done again in `interval`, or not at all.
    pub(crate) async fn keep_figures(&self, interval: Duration) -> Result<(), StoreError> {
        self.keep_metrics().await?;
        self.keep_insights().await?;
        self.keep_clock(interval).await
    }

    /// Stores how far a faster clock has come, or will have come by the next time, so that it never goes back.
    async fn keep_clock(&self, interval: Duration) -> Result<(), StoreError> {
        let scale = self.usage.time_scale();
        if scale == 1 {
            return Ok(());
        }
        let lead_ms = (interval.as_millis() as u64).saturating_mul(scale);
        let (key, row) = (space::clock_key(), space::encode_number(self.usage.now().ms + lead_ms));
        let puts = || vec![(key.clone(), row.clone())];
        self.store
            .update(std::slice::from_ref(&key), &mut |_| WriteSet { puts: puts(), ..WriteSet::default() })
            .await
    }

    /// Notes what tables declare: every five minutes while they are used, and otherwise every hour.
    fn sample_tables(&self, now_ms: u64) {
        let minute = now_ms / MINUTE_MS;
        for table in self.catalog.all() {
            table.meter.set_sizes(&table.table, &table.sizes);
            let last = table.meter.sampled_minute.load(Ordering::Relaxed);
            let is_used = table.meter.figures.open.lock().is_changed;
            let interval = if is_used { 5 } else { HOUR_MINUTES };
            if minute >= last + interval {
                table.meter.sampled_minute.store(minute, Ordering::Relaxed);
                table.meter.figures.sample(&table, now_ms);
            }
        }
    }

    /// Stores all figures that the store lacks.
    async fn keep_metrics(&self) -> Result<(), StoreError> {
        // First, because minutes that ended are not in memory any more when they are stored.
        self.note_names().await?;
        let metrics = &self.usage.metrics;
        let mut rows: Vec<(Arc<Figures>, u64, Key, Bytes)> = Vec::new();
        for figures in metrics.all() {
            let open = figures.open.lock();
            for (minute, sets) in open.unstored() {
                let key = row_key(&figures.namespace, &figures.table, minute, metrics.run);
                rows.push((figures.clone(), minute, key, sets.encode()));
            }
        }
        for rows in rows.chunks(ROWS_PER_COMMIT) {
            let keys: Vec<Key> = rows.iter().map(|(_, _, key, _)| key.clone()).collect();
            let puts = || rows.iter().map(|(_, _, key, row)| (key.clone(), row.clone())).collect();
            self.store.update(&keys, &mut |_| WriteSet { puts: puts(), ..WriteSet::default() }).await?;
            for (figures, minute, _, row) in rows {
                let mut open = figures.open.lock();
                // A minute that ended meanwhile may have more than was stored.
                open.ended.retain(|(ended, sets)| ended != minute || sets.encode() != *row);
                if open.minute == *minute && open.sets.encode() == *row {
                    open.is_changed = false;
                }
            }
        }
        Ok(())
    }

    /// Notes which metrics there are, so that they can be listed without reading all minutes.
    async fn note_names(&self) -> Result<(), StoreError> {
        for figures in self.usage.metrics.all() {
            let new = figures.open.lock().names_to_note();
            if new.is_empty() {
                continue;
            }
            let key = space::metric_names_key(&figures.namespace, &figures.table);
            let mut unreadable = None;
            let mut decide = |rows: &[Option<Bytes>]| match Names::decode(rows[0].as_deref()) {
                Ok(mut names) => {
                    names.name(&figures.namespace, &figures.table);
                    new.iter().for_each(|((set, metric), minute)| names.note(set, *metric, *minute));
                    WriteSet { puts: vec![(key.clone(), names.encode())], ..WriteSet::default() }
                }
                Err(error) => {
                    unreadable = Some(error);
                    WriteSet::default()
                }
            };
            self.store.update(std::slice::from_ref(&key), &mut decide).await?;
            unreadable.map_or(Ok(()), Err)?;
            figures.open.lock().noted.extend(new);
        }
        Ok(())
    }

    /// Stores what tables have learned from their traffic, where that changed.
    async fn keep_learned(&self) -> Result<(), StoreError> {
        if !self.usage.enforcement.models_aws() {
            return Ok(());
        }
        let mut rows = Vec::new();
        for table in self.catalog.all() {
            for (space, learned) in table.meter.learned(&table) {
                let known = self.usage.metrics.learned.lock().get(&space) == Some(&learned);
                if !known {
                    rows.push((space, learned));
                }
            }
        }
        for rows in rows.chunks(ROWS_PER_COMMIT) {
            let puts: Vec<(Key, Bytes)> =
                rows.iter().map(|(space, row)| (space::learned_key(*space), row.clone().into())).collect();
            let keys: Vec<Key> = puts.iter().map(|(key, _)| key.clone()).collect();
            self.store.update(&keys, &mut |_| WriteSet { puts: puts.clone(), ..WriteSet::default() }).await?;
            self.usage.metrics.learned.lock().extend(rows.iter().cloned());
        }
        Ok(())
    }

    /// Removes minutes that are too old, once an hour.
    async fn trim_metrics(&self, minute: u64) -> Result<(), StoreError> {
        let last = self.usage.metrics.trimmed_minute.load(Ordering::Relaxed);
        if minute < last + HOUR_MINUTES {
            return Ok(());
        }
        let mut tables = Vec::new();
        visit_rows(&*self.store, &Range::all(space::METRIC_NAMES), |key, row| tables.push((key, row)))
            .await?;
        for (key, row) in tables {
            let names = Names::decode(Some(&row))?;
            let partition = names.partition();
            let end = Position { partition, sort: minute.saturating_sub(KEPT_MINUTES).to_be_bytes().into() };
            let start = Position { partition, sort: Vec::new() };
            let range =
                Range { space: space::METRICS, start: Bound::Included(start), end: Bound::Excluded(end) };
            delete_rows(&*self.store, &range).await?;
            if names.last_minute() + KEPT_MINUTES < minute {
                let delete = || WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
                self.store.update(std::slice::from_ref(&key), &mut |_| delete()).await?;
            }
        }
        self.trim_insights(minute).await?;
        self.usage.metrics.trimmed_minute.store(minute, Ordering::Relaxed);
        Ok(())
    }
}

impl Open {
    /// The metrics in memory that were not noted in the last hour.
    fn names_to_note(&self) -> Vec<((String, Metric), u64)> {
        let mut new: BTreeMap<(String, Metric), u64> = BTreeMap::new();
        for (minute, sets) in self.minutes() {
            for (set, cells) in &sets.0 {
                for (metric, _) in cells.iter() {
                    let name = (set.clone(), metric);
                    if self.noted.get(&name).is_none_or(|noted| noted + HOUR_MINUTES <= minute) {
                        new.insert(name, minute);
                    }
                }
            }
        }
        new.into_iter().collect()
    }
}

/// Which metrics a table has, and when each had its last value, to the hour.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Names {
    account: String,
    region: String,
    table: String,
    sets: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Names {
    fn decode(row: Option<&[u8]>) -> Result<Names, StoreError> {
        let Some(row) = row else { return Ok(Names::default()) };
        serde_json::from_slice(row)
            .map_err(|error| StoreError::Corrupt(format!("the names of a table's metrics: {error}")))
    }

    fn encode(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("names and numbers"))
    }

    fn name(&mut self, namespace: &Namespace, table: &str) {
        (self.account, self.region) = (namespace.account.to_string(), namespace.region.to_string());
        self.table = table.to_owned();
    }

    fn note(&mut self, set: &str, metric: Metric, minute: u64) {
        let last = self.sets.entry(set.to_owned()).or_default().entry(metric.name().to_owned()).or_default();
        *last = (*last).max(minute);
    }

    fn partition(&self) -> Partition {
        partition(&Namespace::new(self.account.as_str(), self.region.as_str()), &self.table)
    }

    fn last_minute(&self) -> u64 {
        self.sets.values().flat_map(BTreeMap::values).copied().max().unwrap_or(0)
    }
}

impl Engine {
    /// Counts what a cache in front of the tables did for an account.
    pub fn count_cluster(&self, namespace: &Namespace, cluster: &str, node: &str, values: &[(Metric, f64)]) {
        if self.usage.is_off() {
            return;
        }
        let figures = self.usage.metrics.figures(namespace, &format!("{CLUSTER}{cluster}"));
        figures.add(self.usage.now().ms, |sets| {
            for (metric, value) in values {
                sets.cells(Set::Table).add(*metric, *value);
                sets.cells(Set::Node(node)).add(*metric, *value);
            }
        });
    }

    /// The metrics of an account and Region that had a value in the last two weeks.
    pub async fn metrics(&self, namespace: &Namespace) -> Result<Vec<MetricId>, StoreError> {
        let now_minute = self.usage.now().ms / MINUTE_MS;
        let mut found: BTreeMap<(String, String, Metric), u64> = BTreeMap::new();
        let mut unreadable = None;
        let range = space::metric_names_range(namespace);
        visit_rows(&*self.store, &range, |_, row| match Names::decode(Some(&row)) {
            Ok(names) => {
                for (set, metrics) in &names.sets {
                    for (metric, minute) in metrics {
                        if let Some(metric) = Metric::named(metric) {
                            found.insert((names.table.clone(), set.clone(), metric), *minute);
                        }
                    }
                }
            }
            Err(error) => unreadable = Some(error),
        })
        .await?;
        unreadable.map_or(Ok(()), Err)?;
        for figures in self.usage.metrics.all().iter().filter(|figures| figures.namespace == *namespace) {
            for (minute, sets) in figures.open.lock().minutes() {
                for (set, cells) in &sets.0 {
                    for (metric, _) in cells.iter() {
                        found.insert((figures.table.clone(), set.clone(), metric), minute);
                    }
                }
            }
        }
        let is_listed = |minute: &u64| minute + LISTED_MINUTES > now_minute;
        let listed = found.into_iter().filter(|(_, minute)| is_listed(minute));
        Ok(listed
            .map(|((table, set, metric), _)| MetricId {
                metric,
                dimensions: Dimensions::of_set(&table, &set),
            })
            .collect())
    }

    /// The minutes of a metric that begin between two times in seconds since 1970, the second excluded, in order.
    /// A minute without values is absent. [`capacity::metric::buckets`] adds them up to longer periods.
    pub async fn metric_points(
        &self,
        namespace: &Namespace,
        id: &MetricId,
        start_seconds: u64,
        end_seconds: u64,
    ) -> Result<Vec<Point>, StoreError> {
        let Some(set) = id.dimensions.set() else { return Ok(Vec::new()) };
        let table = id.dimensions.subject();
        let minutes = start_seconds.div_ceil(60)..end_seconds.div_ceil(60);
        let found = self.table_minutes(namespace, &table, minutes).await?;
        let point =
            |(minute, sets): (u64, Sets)| Some((minute * 60, sets.get(&set)?.get(id.metric)?.clone()));
        Ok(found.into_iter().filter_map(point).collect())
    }

    /// All figures of a table in some minutes.
    pub(crate) async fn table_minutes(
        &self,
        namespace: &Namespace,
        table: &str,
        minutes: std::ops::Range<u64>,
    ) -> Result<BTreeMap<u64, Sets>, StoreError> {
        let mut found: BTreeMap<u64, Sets> = BTreeMap::new();
        // What is in memory first: in the meantime it may be stored and forgotten here.
        let in_memory = self.minutes_in_memory(namespace, table);
        let is_in_memory = |minute: u64| in_memory.iter().any(|(known, _)| *known == minute);
        let partition = partition(namespace, table);
        let at = |minute: u64| Position { partition, sort: minute.to_be_bytes().to_vec() };
        let range = Range {
            space: space::METRICS,
            start: Bound::Included(at(minutes.start)),
            end: Bound::Excluded(at(minutes.end)),
        };
        let mut unreadable = None;
        visit_rows(&*self.store, &range, |key, row| match read_row(&key, &row) {
            Ok((minute, run, _)) if run == self.usage.metrics.run && is_in_memory(minute) => {}
            Ok((minute, _, sets)) => found.entry(minute).or_default().merge(&sets),
            Err(error) => unreadable = Some(error),
        })
        .await?;
        unreadable.map_or(Ok(()), Err)?;
        for (minute, sets) in in_memory.iter().filter(|(minute, _)| minutes.contains(minute)) {
            found.entry(*minute).or_default().merge(sets);
        }
        Ok(found)
    }

    fn minutes_in_memory(&self, namespace: &Namespace, table: &str) -> Vec<(u64, Sets)> {
        let figures = self.usage.metrics.figures.lock().get(&(namespace.clone(), table.to_owned())).cloned();
        let Some(figures) = figures else { return Vec::new() };
        let open = figures.open.lock();
        open.minutes().map(|(minute, sets)| (minute, sets.clone())).collect()
    }

    /// The sums of all metrics since the database was opened, by metric. What is sampled, not counted, is left out.
    pub fn metric_totals(&self) -> Vec<MetricTotal> {
        let mut totals = Vec::new();
        for figures in self.usage.metrics.all() {
            let mut sets = figures.open.lock().totals.clone();
            sets.merge(&figures.open.lock().sets);
            for (set, cells) in sets {
                let (namespace, dimensions) = (&figures.namespace, Dimensions::of_set(&figures.table, &set));
                totals.extend(cells.iter().filter(|(metric, _)| is_counted(*metric)).map(
                    |(metric, cell)| {
                        let id = MetricId { metric, dimensions: dimensions.clone() };
                        MetricTotal { namespace: namespace.clone(), id, count: cell.count, sum: cell.sum }
                    },
                ));
            }
        }
        totals.sort_by(|one, other| (&one.id, &one.namespace).cmp(&(&other.id, &other.namespace)));
        totals
    }
}

/// The sum of a metric since the database was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricTotal {
    pub namespace: Namespace,
    pub id: MetricId,
    pub count: u64,
    pub sum: f64,
}

/// Whether the values of a metric add up to something. Those of a cache are counted by the cache itself.
fn is_counted(metric: Metric) -> bool {
    use Metric::*;
    metric.scope() != Scope::Cluster
        && !matches!(
            metric,
            ProvisionedReadCapacityUnits
                | ProvisionedWriteCapacityUnits
                | OnDemandMaxReadRequestUnits
                | OnDemandMaxWriteRequestUnits
                | OnlineIndexPercentageProgress
        )
}

/// Whether a metric can have these dimensions.
pub fn has_dimensions(metric: Metric, dimensions: &Dimensions) -> bool {
    if metric.scope() == Scope::Cluster || dimensions.cluster.is_some() || dimensions.node.is_some() {
        let is_of_cluster = dimensions.cluster.is_some() && dimensions.set().is_some();
        return metric.scope() == Scope::Cluster && is_of_cluster;
    }
    let Dimensions { table, index, operation, stream_label, receiving_region, .. } = dimensions;
    if receiving_region.is_some() || metric.scope() == Scope::Replica {
        let is_alone = index.is_none() && operation.is_none() && stream_label.is_none();
        return metric.scope() == Scope::Replica && table.is_some() && receiving_region.is_some() && is_alone;
    }
    let given = (table.is_some(), index.is_some(), operation.is_some(), stream_label.is_some());
    match metric.scope() {
        Scope::Resource => matches!(given, (true, _, false, false)),
        Scope::Table => matches!(given, (true, false, false, false)),
        Scope::Index => matches!(given, (true, true, false, false)),
        Scope::Operation if metric == Metric::ThrottledRequests => matches!(given, (true, false, _, false)),
        Scope::Operation => matches!(given, (true, false, true, false)),
        Scope::Stream => matches!(given, (true, false, true, true)),
        Scope::Account => matches!(given, (false, false, false, false)),
        Scope::Replica | Scope::Cluster => false,
    }
}

/// The minute and the run of a row, and its figures.
fn read_row(key: &Key, row: &[u8]) -> Result<(u64, u64, Sets), StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt(format!("a minute of metrics: {reason}"));
    let (minute, run) = key.position.sort.split_at_checked(8).unwrap_or_default();
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    let (minute, run) =
        number(minute).zip(number(run)).ok_or_else(|| corrupt("its key is no minute".to_owned()))?;
    let sets = metric::decode_sets(row).map_err(|error| corrupt(error.to_string()))?;
    let sets = sets.into_iter().map(|(name, cells)| (name.to_owned(), cells));
    Ok((minute, run, Sets(sets.collect())))
}

/// How far a faster clock had come when the database was last open. At real speed there is no other clock.
pub async fn read_clock(store: &dyn Store, time_scale: u32) -> Result<Option<u64>, StoreError> {
    if time_scale <= 1 {
        return Ok(None);
    }
    let row = store.get(&[space::clock_key()], Consistency::Latest).await?.pop().flatten();
    Ok(row.map(|row| space::decode_number(&row)).transpose()?.map(|ms| ms.saturating_mul(1000)))
}

/// Deletes all rows of a range, some at a time.
pub async fn delete_rows(store: &dyn Store, range: &Range) -> Result<(), StoreError> {
    loop {
        let mut keys: Vec<Key> = Vec::new();
        let mut visit = |key: store::KeyRef<'_>, _| {
            keys.push(Key { space: range.space, position: key.to_position() });
            if keys.len() < ROWS_PER_COMMIT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        store.scan(range, Direction::Forward, Consistency::Latest, &mut visit).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let delete = || WriteSet { deletes: keys.clone(), ..WriteSet::default() };
        store.update(&keys, &mut |_| delete()).await?;
    }
}

/// Visits all rows of a range.
pub async fn visit_rows(
    store: &dyn Store,
    range: &Range,
    mut visit: impl FnMut(Key, Bytes) + Send,
) -> Result<(), StoreError> {
    store
        .scan(range, Direction::Forward, Consistency::Latest, &mut |key, row| {
            visit(Key { space: range.space, position: key.to_position() }, row);
            ControlFlow::Continue(())
        })
        .await
}

fn row_key(namespace: &Namespace, table: &str, minute: u64, run: u64) -> Key {
    let mut sort = minute.to_be_bytes().to_vec();
    sort.extend(run.to_be_bytes());
    Key { space: space::METRICS, position: Position { partition: partition(namespace, table), sort } }
}

fn partition(namespace: &Namespace, table: &str) -> Partition {
    space::hashed(&format!("{}/{}/{table}", namespace.account, namespace.region))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_nobody_holds_are_kept_until_their_minute_is_over_and_stored() {
        let metrics = Metrics::new(1);
        let namespace = Namespace::new("000000000000", "r");
        let add = || {
            let figures = metrics.figures(&namespace, "dax/cluster");
            figures.add(7 * MINUTE_MS, |sets| sets.cells(Set::Table).add(Metric::ItemCacheHits, 1.0));
        };
        add();
        metrics.all()[0].open.lock().is_changed = false;
        metrics.forget_unused(7);
        add();
        let hits = |figures: &Figures| {
            figures.open.lock().sets.get("").unwrap().get(Metric::ItemCacheHits).unwrap().sum
        };
        assert_eq!(hits(&metrics.all()[0]), 2.0);
        metrics.forget_unused(8);
        assert_eq!(metrics.all().len(), 1, "it is not stored");
        metrics.all()[0].open.lock().is_changed = false;
        metrics.forget_unused(8);
        assert_eq!(metrics.all().len(), 0);
    }
}
