//! Metrics and rankings in memory, for tests and simulations.

use std::collections::BTreeMap;

use async_trait::async_trait;
use capacity::metric::{Cell, Metric, Point};
use host::Namespace;
use parking_lot::Mutex;

use crate::insight::{Ranking, RuleMinutes};
use crate::outside::{Dimensions, InsightRuleSummary, Insights, Metrics, ReadError};

type Minutes = BTreeMap<u64, Cell>;

/// Metrics in memory.
#[derive(Debug, Default)]
pub struct MemoryMetrics {
    minutes: Mutex<BTreeMap<(Namespace, Metric, Dimensions), Minutes>>,
    /// The tables and indexes that exist, by their dimensions, and since when.
    created: Mutex<BTreeMap<(Namespace, Dimensions), u64>>,
}

impl MemoryMetrics {
    /// Adds a value to the minute of a time.
    pub fn add(
        &self,
        namespace: &Namespace,
        metric: Metric,
        dimensions: &Dimensions,
        value: f64,
        now_ms: u64,
    ) {
        let mut minutes = self.minutes.lock();
        let minutes = minutes.entry((namespace.clone(), metric, dimensions.clone())).or_default();
        let minute = now_ms / 60_000 * 60;
        minutes.entry(minute).and_modify(|cell| cell.add(value)).or_insert_with(|| Cell::new(metric, value));
    }

    /// Lets a table or index exist.
    pub fn create(&self, namespace: &Namespace, dimensions: &Dimensions, now_ms: u64) {
        self.created.lock().insert((namespace.clone(), dimensions.clone()), now_ms);
    }
}

#[async_trait]
impl Metrics for MemoryMetrics {
    async fn points(
        &self,
        namespace: &Namespace,
        metric: Metric,
        dimensions: &Dimensions,
        start_seconds: u64,
        end_seconds: u64,
    ) -> Result<Vec<Point>, ReadError> {
        let minutes = self.minutes.lock();
        let minutes = minutes.get(&(namespace.clone(), metric, dimensions.clone()));
        let points = minutes.into_iter().flat_map(|minutes| minutes.range(start_seconds..end_seconds));
        Ok(points.map(|(time, cell)| (*time, cell.clone())).collect())
    }

    async fn list(
        &self,
        namespace: &Namespace,
        since_seconds: u64,
    ) -> Result<Vec<(Metric, Dimensions)>, ReadError> {
        let minutes = self.minutes.lock();
        let is_listed = |((owner, ..), minutes): &(&(Namespace, Metric, Dimensions), &Minutes)| {
            owner == namespace && minutes.range(since_seconds..).next().is_some()
        };
        let listed = minutes.iter().filter(is_listed);
        Ok(listed.map(|((_, metric, dimensions), _)| (*metric, dimensions.clone())).collect())
    }

    async fn created_ms(
        &self,
        namespace: &Namespace,
        dimensions: &Dimensions,
    ) -> Result<Option<u64>, ReadError> {
        Ok(self.created.lock().get(&(namespace.clone(), dimensions.clone())).copied())
    }
}

/// Rules and their rankings in memory.
#[derive(Debug, Default)]
pub struct MemoryInsights(pub Mutex<BTreeMap<String, RuleMinutes>>);

#[async_trait]
impl Insights for MemoryInsights {
    async fn rules(&self, _namespace: &Namespace) -> Result<Vec<InsightRuleSummary>, ReadError> {
        let rules = self.0.lock();
        let summary = |(name, rule): (&String, &RuleMinutes)| InsightRuleSummary {
            name: name.clone(),
            key_labels: rule.key_labels.clone(),
        };
        Ok(rules.iter().map(summary).collect())
    }

    async fn minutes(
        &self,
        _namespace: &Namespace,
        rule: &str,
        start_minute: u64,
        end_minute: u64,
    ) -> Result<Option<RuleMinutes>, ReadError> {
        let rules = self.0.lock();
        Ok(rules.get(rule).map(|rule| {
            let is_inside = |ranking: &&Ranking| (start_minute..end_minute).contains(&ranking.minute);
            RuleMinutes {
                key_labels: rule.key_labels.clone(),
                minutes: rule.minutes.iter().filter(is_inside).cloned().collect(),
            }
        }))
    }
}
