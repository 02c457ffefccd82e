//! Counting: each subject has [`Figures`], to which a report adds under one short lock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use api::{ErrorKind, Operation};
use bytes::Bytes;
use capacity::Access;
use capacity::metric::{self, Cells, Metric};
use parking_lot::Mutex;
use store::Space;

use super::dimensions::{CellSet, Subject};
use super::shadow::Shadow;
use super::usage::{Ending, PartUsed, RequestDone};
use crate::Namespace;
use crate::base::table::{BillingMode, Table};

/// The width of a cell.
pub const MINUTE_MS: u64 = 60_000;
/// Minutes of one subject that wait for a store that takes no writes. Older ones are given up.
const WAITING_MINUTES_MAX: usize = 60;

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
    fn add(&mut self, set: CellSet<'_>, metric: Metric, value: f64) {
        let position = self.0.iter().position(|(name, _)| set.is_named(name)).unwrap_or_else(|| {
            self.0.push((set.name(), Cells::new()));
            self.0.len() - 1
        });
        self.0[position].1.add(metric, value);
    }

    /// The cells of a set, if it has any.
    pub fn get(&self, set: CellSet<'_>) -> Option<&Cells> {
        self.0.iter().find(|(name, _)| set.is_named(name)).map(|(_, cells)| cells)
    }

    /// Adds other figures of the same minute.
    pub fn merge(&mut self, other: &Sets) {
        for (name, cells) in &other.0 {
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.merge(cells),
                None => self.0.push((name.clone(), cells.clone())),
            }
        }
    }

    /// The metrics that have a value.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, Metric)> {
        self.0.iter().flat_map(|(name, cells)| cells.iter().map(move |(metric, _)| (name.as_str(), metric)))
    }

    /// The bytes of a row.
    pub fn encode(&self) -> Bytes {
        Bytes::from(metric::encode_sets(self.0.iter().map(|(name, cells)| (name.as_str(), cells))))
    }

    /// What a row holds.
    pub fn decode(row: &[u8]) -> Result<Sets, String> {
        let sets = metric::decode_sets(row).map_err(|error| error.to_string())?;
        Ok(Sets(sets.into_iter().map(|(name, cells)| (name.to_owned(), cells)).collect()))
    }
}

/// The figures of one subject.
pub struct Figures {
    pub(crate) namespace: Namespace,
    /// The name of its [`Subject`].
    pub(crate) subject: String,
    pub(crate) open: Mutex<Open>,
}

/// What is in memory of them.
#[derive(Default)]
pub struct Open {
    pub minute: u64,
    pub sets: Sets,
    /// Whether the store lacks what was added to the open minute.
    pub is_changed: bool,
    /// Minutes that are over and not stored yet.
    pub ended: VecDeque<(u64, Sets)>,
    /// Everything since the database was opened, but for the open minute.
    totals: Sets,
    /// When each metric of each set was last noted in the list of metrics.
    pub noted: HashMap<(String, Metric), u64>,
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
    pub fn unstored(&self) -> impl Iterator<Item = (u64, &Sets)> {
        let open = self.is_changed.then_some((self.minute, &self.sets));
        self.ended.iter().map(|(minute, sets)| (*minute, sets)).chain(open)
    }

    /// All minutes in memory.
    pub fn minutes(&self) -> impl Iterator<Item = (u64, &Sets)> {
        self.ended.iter().map(|(minute, sets)| (*minute, sets)).chain([(self.minute, &self.sets)])
    }

    /// Everything since the database was opened.
    pub fn totals(&self) -> Sets {
        let mut totals = self.totals.clone();
        totals.merge(&self.sets);
        totals
    }
}

impl Figures {
    fn change(&self, now_ms: u64, add: impl FnOnce(&mut Sets)) {
        let mut open = self.open.lock();
        open.roll(now_ms / MINUTE_MS);
        add(&mut open.sets);
        open.is_changed = true;
    }

    /// Adds values to metrics of one set.
    pub fn add(&self, set: CellSet<'_>, values: &[(Metric, f64)], now_ms: u64) {
        self.change(now_ms, |sets| values.iter().for_each(|(metric, value)| sets.add(set, *metric, *value)));
    }

    /// Notes what a table declares.
    pub fn sample(&self, table: &Table, now_ms: u64) {
        let metric = |access: Access| match (table.billing.mode, access) {
            (BillingMode::Provisioned, Access::Read) => Metric::ProvisionedReadCapacityUnits,
            (BillingMode::Provisioned, Access::Write) => Metric::ProvisionedWriteCapacityUnits,
            (BillingMode::OnDemand, Access::Read) => Metric::OnDemandMaxReadRequestUnits,
            (BillingMode::OnDemand, Access::Write) => Metric::OnDemandMaxWriteRequestUnits,
        };
        let global = table.indexes.iter().filter(|index| index.is_global());
        for index in std::iter::once(None).chain(global.map(Some)) {
            let set = index.map_or(CellSet::Whole, |index| CellSet::Index(&index.name));
            for access in Access::BOTH {
                if let Some(units) = table.declared_units(index, access) {
                    self.add(set, &[(metric(access), units as f64)], now_ms);
                }
            }
        }
    }
}

/// The figures of all subjects.
pub struct Metrics {
    /// Marks the rows that this run of the database stores.
    pub run: u64,
    figures: Mutex<BTreeMap<(Namespace, String), Arc<Figures>>>,
    /// What tables had learned when it was last stored.
    pub(crate) learned: Mutex<HashMap<Space, Vec<u8>>>,
    /// When rows were last removed.
    pub(crate) trimmed_minute: AtomicU64,
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

    /// The figures of a subject, which begin now if there are none.
    pub fn figures(&self, namespace: &Namespace, subject: Subject<'_>) -> Arc<Figures> {
        let key = (namespace.clone(), subject.name());
        let new = |(namespace, subject): &(Namespace, String)| {
            let (namespace, subject) = (namespace.clone(), subject.clone());
            Arc::new(Figures { namespace, subject, open: Mutex::default() })
        };
        self.figures.lock().entry(key).or_insert_with_key(new).clone()
    }

    /// The figures of a subject, if there are any in memory.
    pub(crate) fn known(&self, namespace: &Namespace, subject: Subject<'_>) -> Option<Arc<Figures>> {
        self.figures.lock().get(&(namespace.clone(), subject.name())).cloned()
    }

    /// Whether the store lacks anything of them.
    pub(crate) fn has_unstored(&self) -> bool {
        self.figures.lock().values().any(|figures| figures.open.lock().unstored().next().is_some())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Figures>> {
        self.figures.lock().values().cloned().collect()
    }

    /// Forgets figures that no table uses any more, once they are stored and their minute is over. Until then they are
    /// needed: the row of a minute is replaced as a whole.
    pub(crate) fn forget_unused(&self, minute: u64) {
        self.figures.lock().retain(|_, figures| {
            let open = figures.open.lock();
            Arc::strong_count(figures) > 1 || open.minute >= minute || open.unstored().next().is_some()
        });
    }

    /// Counts a part of a request.
    pub fn part(&self, part: &PartUsed<'_>) {
        let set = part.index_name().map_or(CellSet::Whole, CellSet::Index);
        let access = part.access;
        part.table.meter.figures.change(part.now_ms, |sets| {
            if !part.is_refused {
                sets.add(set, Metric::consumed(access), part.units);
            }
            let Some(cause) = part.limit else { return };
            if !part.is_refused {
                Shadow::note(part);
            }
            let (all, one) = match part.is_refused {
                true => (Metric::throttle_events(access), Metric::throttle_events_for(access, cause)),
                false => (Metric::shadow_events(access), Metric::shadow_events_for(access, cause)),
            };
            sets.add(set, all, 1.0);
            sets.add(set, one, 1.0);
        });
    }

    /// Counts a request.
    pub fn request(&self, request: &RequestDone<'_>) {
        let of_operation = CellSet::Operation(request.operation.name());
        request.table.meter.figures.change(request.now_ms, |sets| match request.ending {
            Ending::Served => {
                let latency_ms = request.latency_us as f64 / 1000.0;
                sets.add(of_operation, Metric::SuccessfulRequestLatency, latency_ms);
                if let Some(count) = request.returned_items.filter(|_| returns_items(request.operation)) {
                    sets.add(of_operation, Metric::ReturnedItemCount, count as f64);
                }
            }
            Ending::Throttled => {
                sets.add(of_operation, Metric::ThrottledRequests, 1.0);
                sets.add(CellSet::Whole, Metric::ThrottledRequests, 1.0);
            }
            Ending::ConditionFailed => sets.add(CellSet::Whole, Metric::ConditionalCheckFailedRequests, 1.0),
            Ending::Conflict { items } => {
                sets.add(CellSet::Whole, Metric::TransactionConflict, items as f64);
            }
            Ending::Failed => sets.add(of_operation, Metric::SystemErrors, 1.0),
            Ending::Refused => {}
        });
    }

    /// Counts a request that a client made wrongly.
    pub fn user_error(&self, namespace: &Namespace, now_ms: u64) {
        let figures = self.figures(namespace, Subject::Account);
        figures.add(CellSet::Whole, &[(Metric::UserErrors, 1.0)], now_ms);
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
            | ErrorKind::ReplicatedWriteConflict
            | ErrorKind::TransactionCanceled
    )
}

/// The operations that have `ReturnedItemCount`.
fn returns_items(operation: Operation) -> bool {
    matches!(operation, Operation::Query | Operation::Scan | Operation::ExecuteStatement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_figures_are_kept_until_their_minute_is_over_and_stored() {
        let metrics = Metrics::new(1);
        let namespace = Namespace::new("000000000000", "r");
        let add = || {
            let figures = metrics.figures(&namespace, Subject::Cluster("cluster"));
            figures.add(CellSet::Whole, &[(Metric::ItemCacheHits, 1.0)], 7 * MINUTE_MS);
        };
        add();
        metrics.all()[0].open.lock().is_changed = false;
        metrics.forget_unused(7);
        add();
        let hits = |figures: &Figures| {
            figures.open.lock().sets.get(CellSet::Whole).unwrap().get(Metric::ItemCacheHits).unwrap().sum
        };
        assert_eq!(hits(&metrics.all()[0]), 2.0);
        metrics.forget_unused(8);
        assert_eq!(metrics.all().len(), 1, "it is not stored");
        metrics.all()[0].open.lock().is_changed = false;
        metrics.forget_unused(8);
        assert_eq!(metrics.all().len(), 0);
    }
}
