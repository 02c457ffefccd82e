//! The list of metrics: a row for each subject says which metrics it has, so that they are listed without reading all
//! minutes.

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;

use bytes::Bytes;
use capacity::metric::Metric;
use serde::{Deserialize, Serialize};
use store::{StoreError, WriteSet};

use super::HOUR_MINUTES;
use crate::Namespace;
use crate::base::rows::visit_rows;
use crate::base::space;
use crate::reports::Reports;
use crate::throughput::counting::MINUTE_MS;
use crate::throughput::counting::{Figures, Open};
use crate::throughput::dimensions::{CellSet, Dimensions, MetricId, Subject};

/// Metrics without a value for so long are not listed.
const LISTED_MINUTES: u64 = 14 * 24 * 60;

/// Which metrics a subject has, and when each had its last value, to the hour.
#[derive(Default, Serialize, Deserialize)]
pub struct Names {
    account: String,
    region: String,
    /// The name of the subject.
    #[serde(rename = "table")]
    pub subject: String,
    sets: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Names {
    /// What a row holds.
    pub fn decode(row: &[u8]) -> Result<Names, StoreError> {
        serde_json::from_slice(row)
            .map_err(|error| StoreError::Corrupt(format!("the names of a table's metrics: {error}")))
    }

    /// The row with more metrics in it.
    fn extended(row: Option<&[u8]>, figures: &Figures, new: &[NotedMetric]) -> Result<Bytes, StoreError> {
        let mut names = row.map(Names::decode).transpose()?.unwrap_or_default();
        let Namespace { account, region } = &figures.namespace;
        (names.account, names.region) = (account.to_string(), region.to_string());
        names.subject = figures.subject.clone();
        for ((set, metric), minute) in new {
            let metrics = names.sets.entry(set.clone()).or_default();
            let last = metrics.entry(metric.name().to_owned()).or_default();
            *last = (*last).max(*minute);
        }
        Ok(Bytes::from(serde_json::to_vec(&names).expect("names and numbers")))
    }

    /// Whose subject it is.
    pub fn namespace(&self) -> Namespace {
        Namespace::new(self.account.as_str(), self.region.as_str())
    }

    /// When any of its metrics last had a value.
    pub fn last_minute(&self) -> u64 {
        self.sets.values().flat_map(BTreeMap::values).copied().max().unwrap_or(0)
    }

    fn metrics(&self) -> impl Iterator<Item = (&str, Metric, u64)> {
        self.sets.iter().flat_map(|(set, metrics)| {
            metrics.iter().filter_map(|(name, minute)| Some((set.as_str(), Metric::named(name)?, *minute)))
        })
    }
}

/// A metric of a set, and a minute in which it had a value.
type NotedMetric = ((String, Metric), u64);

impl Open {
    /// The metrics in memory that were not noted in the last hour.
    fn metrics_to_note(&self) -> Vec<NotedMetric> {
        let mut new = BTreeMap::new();
        for (minute, sets) in self.minutes() {
            for (set, metric) in sets.metrics() {
                let name = (set.to_owned(), metric);
                if self.noted.get(&name).is_none_or(|noted| noted + HOUR_MINUTES <= minute) {
                    new.insert(name, minute);
                }
            }
        }
        new.into_iter().collect()
    }
}

impl Reports {
    /// Notes which metrics there are.
    pub(crate) async fn note_metrics(&self) -> Result<(), StoreError> {
        for figures in self.usage.metrics.all() {
            let new = figures.open.lock().metrics_to_note();
            if new.is_empty() {
                continue;
            }
            let key = space::metric_names_key(&figures.namespace, &figures.subject);
            let mut noted = Ok(());
            let mut decide =
                |rows: &[Option<Bytes>]| match Names::extended(rows[0].as_deref(), &figures, &new) {
                    Ok(row) => WriteSet { puts: vec![(key.clone(), row)], ..WriteSet::default() },
                    Err(error) => {
                        noted = Err(error);
                        WriteSet::default()
                    }
                };
            self.store.update(std::slice::from_ref(&key), &mut decide).await?;
            noted?;
            figures.open.lock().noted.extend(new);
        }
        Ok(())
    }
}

impl Reports {
    /// The metrics of an account and Region that had a value in the last two weeks.
    pub fn metrics<'a>(
        &'a self,
        namespace: &'a Namespace,
    ) -> BoxFuture<'a, Result<Vec<MetricId>, StoreError>> {
        Box::pin(async move {
            let mut found: BTreeMap<(String, String, Metric), u64> = BTreeMap::new();
            visit_rows(&*self.store, &space::metric_names_range(namespace), |_, row| {
                let names = Names::decode(&row)?;
                let metrics = names.metrics();
                found.extend(
                    metrics.map(|(set, metric, minute)| {
                        ((names.subject.clone(), set.to_owned(), metric), minute)
                    }),
                );
                Ok(())
            })
            .await?;
            for figures in self.usage.metrics.all().iter().filter(|figures| figures.namespace == *namespace) {
                for (minute, sets) in figures.open.lock().minutes() {
                    found
                        .extend(sets.metrics().map(|(set, metric)| {
                            ((figures.subject.clone(), set.to_owned(), metric), minute)
                        }));
                }
            }
            let now_minute = self.usage.now().ms / MINUTE_MS;
            let listed = found.into_iter().filter(|(_, minute)| minute + LISTED_MINUTES > now_minute);
            let id = |((subject, set, metric), _): ((String, String, Metric), u64)| MetricId {
                metric,
                dimensions: Dimensions::of(Subject::named(&subject), CellSet::named(&set)),
            };
            Ok(listed.map(id).collect())
        })
    }
}
