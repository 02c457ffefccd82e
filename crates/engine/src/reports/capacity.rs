//! How a table uses its throughput, for `lodestone capacity`, and what AWS would have throttled, for the log.

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;

use capacity::metric::{Cells, Metric};
use capacity::{Access, Cause};
use item::Item;
use serde::Serialize;
use store::StoreError;

use super::Reports;
use crate::Namespace;
use crate::base::table::{BillingMode, Index};
use crate::tables::catalog::LiveTable;
use crate::throughput::counting::MINUTE_MS;
use crate::throughput::dimensions::{CellSet, Subject};

/// The time between two lines in the log about one table.
const LOG_INTERVAL_MS: u64 = 5 * MINUTE_MS;
/// The keys in a report.
const KEYS_SHOWN: usize = 10;
const REPORT_MINUTES: u64 = 60;

/// How a table's throughput is used, for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityReport {
    pub table: String,
    /// `PROVISIONED` or `PAY_PER_REQUEST`.
    pub billing_mode: &'static str,
    /// As `serve --capacity` was given.
    pub capacity: &'static str,
    /// Over how many minutes the figures are summed up.
    pub minutes: u64,
    /// The table first, then its global indexes.
    pub resources: Vec<ResourceReport>,
    /// The keys that AWS would have throttled most since the database was opened.
    pub shadow_keys: Vec<ShadowKey>,
}

/// How the throughput of a table or global index is used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceReport {
    pub index: Option<String>,
    pub partitions: usize,
    pub read: AccessReport,
    pub write: AccessReport,
}

/// How reads or writes use throughput.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AccessReport {
    /// Units each second that are provisioned, or the maximum of an on-demand table.
    pub declared: Option<u64>,
    /// Units each second that it could take at once at AWS.
    pub warm: u64,
    /// Units used.
    pub consumed: f64,
    /// The average of the busiest minute, in units each second.
    pub peak_per_second: f64,
    /// Requests refused, by reason.
    pub throttled: BTreeMap<&'static str, u64>,
    /// Requests served that AWS would have refused, by reason.
    pub would_throttle: BTreeMap<&'static str, u64>,
}

/// A key that AWS would have throttled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShadowKey {
    pub index: Option<String>,
    /// The partition key as DynamoDB JSON.
    pub key: serde_json::Value,
    /// How often, at least.
    pub count: u64,
}

impl Reports {
    /// Says in the log what AWS would have throttled, at most every few minutes for one table.
    pub(crate) fn log_shadow(&self, now_ms: u64) {
        for table in self.catalog.all() {
            let mut shadow = table.meter.shadow.lock();
            let Some(shadow) = shadow.as_mut().filter(|shadow| shadow.requests > shadow.logged) else {
                continue;
            };
            if now_ms < shadow.logged_ms + LOG_INTERVAL_MS {
                continue;
            }
            let requests = shadow.requests - shadow.logged;
            (shadow.logged, shadow.logged_ms) = (shadow.requests, now_ms);
            tracing::warn!(
                "AWS would have throttled {requests} requests of {}; all were served. Why: lodestone capacity {}",
                table.full_name(),
                table.name
            );
        }
    }
}

impl Reports {
    /// How a table used its throughput in the last hour; none if there is no such table.
    pub fn capacity_report<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<CapacityReport>, StoreError>> {
        Box::pin(async move {
            let Some(table) = self.catalog.find(namespace, table) else { return Ok(None) };
            let minute = self.usage.now().ms / MINUTE_MS;
            let minutes = minute.saturating_sub(REPORT_MINUTES - 1)..minute + 1;
            let mut sums: BTreeMap<String, Cells> = BTreeMap::new();
            let mut peaks: BTreeMap<(String, usize), f64> = BTreeMap::new();
            for (_, sets) in self.minutes_of(namespace, Subject::Table(&table.name), minutes).await? {
                for (set, cells) in sets.into_iter() {
                    for access in Access::BOTH {
                        let used = cells.get(Metric::consumed(access)).map_or(0.0, |cell| cell.sum);
                        let peak = peaks.entry((set.clone(), access.position())).or_default();
                        *peak = peak.max(used / 60.0);
                    }
                    sums.entry(set).or_default().merge(&cells);
                }
            }
            let resource = |index: Option<&Index>| {
                let set = index.map_or(CellSet::Whole, |index| CellSet::Index(&index.name)).name();
                let cells = sums.get(&set).cloned().unwrap_or_default();
                let (warm, partitions) = table.meter.warm(index.map(Index::space));
                let of = |access: Access| AccessReport {
                    declared: table.declared_units(index, access),
                    warm: warm.of(access),
                    consumed: cells.get(Metric::consumed(access)).map_or(0.0, |cell| cell.sum),
                    peak_per_second: peaks.get(&(set.clone(), access.position())).copied().unwrap_or(0.0),
                    throttled: by_cause(&cells, |cause| Metric::throttle_events_for(access, cause)),
                    would_throttle: by_cause(&cells, |cause| Metric::shadow_events_for(access, cause)),
                };
                let index = index.map(|index| index.name.clone());
                ResourceReport { index, partitions, read: of(Access::Read), write: of(Access::Write) }
            };
            let global = table.indexes.iter().filter(|index| index.is_global());
            Ok(Some(CapacityReport {
                table: table.name.clone(),
                billing_mode: match table.billing.mode {
                    BillingMode::Provisioned => "PROVISIONED",
                    BillingMode::OnDemand => "PAY_PER_REQUEST",
                },
                capacity: self.usage.enforcement.as_str(),
                minutes: REPORT_MINUTES,
                resources: std::iter::once(None).chain(global.map(Some)).map(resource).collect(),
                shadow_keys: shadow_keys(&table),
            }))
        })
    }
}

fn by_cause(cells: &Cells, metric: impl Fn(Cause) -> Metric) -> BTreeMap<&'static str, u64> {
    let count = |cause: Cause| Some((cause.as_str(), cells.get(metric(cause))?.sum as u64));
    Cause::ALL.into_iter().filter_map(count).collect()
}

fn shadow_keys(table: &LiveTable) -> Vec<ShadowKey> {
    let top = table.meter.shadow.lock().as_ref().map(|shadow| shadow.keys.top(KEYS_SHOWN));
    let shown = |contributor: capacity::contributors::Contributor| {
        let zero = contributor.key.iter().position(|byte| *byte == 0)?;
        let (index, key) = (&contributor.key[..zero], &contributor.key[zero + 1..]);
        let key = Item::from_stored(bytes::Bytes::copy_from_slice(key)).ok()?;
        let mut json = Vec::new();
        item::json::write_item(key.as_ref(), &mut json);
        let index = String::from_utf8(index.to_vec()).ok().filter(|index| !index.is_empty());
        Some(ShadowKey { index, key: serde_json::from_slice(&json).ok()?, count: contributor.value as u64 })
    };
    top.into_iter().flatten().filter_map(shown).collect()
}
