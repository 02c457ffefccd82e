//! Answering: the minutes of a metric, from the rows of all runs and from memory, and its total since the start.

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::ops::Range;

use capacity::metric::{Metric, Point, Scope};
use store::StoreError;

use super::storing::{minutes_range, read_row};
use crate::Namespace;
use crate::base::rows::visit_rows;
use crate::reports::Reports;
use crate::throughput::counting::Sets;
use crate::throughput::dimensions::{CellSet, Dimensions, MetricId, Subject};

/// The sum of a metric since the database was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricTotal {
    pub namespace: Namespace,
    pub id: MetricId,
    pub count: u64,
    pub sum: f64,
}

impl Reports {
    /// The minutes of a metric that begin between two times in seconds since 1970, the second excluded, in order.
    /// A minute without values is absent. [`capacity::metric::buckets`] adds them up to longer periods.
    pub fn metric_points<'a>(
        &'a self,
        namespace: &'a Namespace,
        id: &'a MetricId,
        start_seconds: u64,
        end_seconds: u64,
    ) -> BoxFuture<'a, Result<Vec<Point>, StoreError>> {
        Box::pin(async move {
            let Some((subject, set)) = id.dimensions.cells() else { return Ok(Vec::new()) };
            let minutes = start_seconds.div_ceil(60)..end_seconds.div_ceil(60);
            let found = self.minutes_of(namespace, subject, minutes).await?;
            let point =
                |(minute, sets): (u64, Sets)| Some((minute * 60, sets.get(set)?.get(id.metric)?.clone()));
            Ok(found.into_iter().filter_map(point).collect())
        })
    }

    /// All figures of a subject in some minutes.
    pub(crate) async fn minutes_of(
        &self,
        namespace: &Namespace,
        subject: Subject<'_>,
        minutes: Range<u64>,
    ) -> Result<BTreeMap<u64, Sets>, StoreError> {
        // What is in memory first: in the meantime it may be stored and forgotten here.
        let known = self.usage.metrics.known(namespace, subject);
        let in_memory: BTreeMap<u64, Sets> = known.map_or_else(BTreeMap::new, |figures| {
            figures.open.lock().minutes().map(|(minute, sets)| (minute, sets.clone())).collect()
        });
        let mut found: BTreeMap<u64, Sets> = BTreeMap::new();
        let range = minutes_range(namespace, &subject.name(), minutes.clone());
        visit_rows(&*self.store, &range, |key, row| {
            let (minute, run, sets) = read_row(&key, &row)?;
            if run != self.usage.metrics.run || !in_memory.contains_key(&minute) {
                found.entry(minute).or_default().merge(&sets);
            }
            Ok(())
        })
        .await?;
        for (minute, sets) in in_memory.iter().filter(|(minute, _)| minutes.contains(minute)) {
            found.entry(*minute).or_default().merge(sets);
        }
        Ok(found)
    }

    /// The sums of all metrics since the database was opened, by metric. What is sampled, not counted, is left out.
    pub fn metric_totals(&self) -> Vec<MetricTotal> {
        let mut totals = Vec::new();
        for figures in self.usage.metrics.all() {
            let (namespace, sets) = (&figures.namespace, figures.open.lock().totals());
            for (set, cells) in sets {
                let dimensions = Dimensions::of(Subject::named(&figures.subject), CellSet::named(&set));
                let counted = cells.iter().filter(|(metric, _)| is_counted(*metric));
                totals.extend(counted.map(|(metric, cell)| {
                    let id = MetricId { metric, dimensions: dimensions.clone() };
                    MetricTotal { namespace: namespace.clone(), id, count: cell.count, sum: cell.sum }
                }));
            }
        }
        totals.sort_by(|one, other| (&one.id, &one.namespace).cmp(&(&other.id, &other.namespace)));
        totals
    }
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
