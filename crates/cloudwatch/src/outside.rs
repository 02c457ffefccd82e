//! What CloudWatch needs from the database: metrics to read, and the minutes of Contributor Insights.

use std::collections::BTreeMap;

use async_trait::async_trait;
use capacity::metric::{Metric, Point};
use host::Namespace;

use crate::insight::RuleMinutes;

/// Names and values.
pub type Dimensions = BTreeMap<String, String>;

/// The metrics of a database.
#[async_trait]
pub trait Metrics: Send + Sync + 'static {
    /// The points of a metric with exactly these dimensions between two times, the second excluded, in order. A
    /// minute without any value has no point. The minute that is not over yet is among them.
    async fn points(
        &self,
        namespace: &Namespace,
        metric: Metric,
        dimensions: &Dimensions,
        start_seconds: u64,
        end_seconds: u64,
    ) -> Result<Vec<Point>, ReadError>;

    /// Every metric with a value since a time.
    async fn list(
        &self,
        namespace: &Namespace,
        since_seconds: u64,
    ) -> Result<Vec<(Metric, Dimensions)>, ReadError>;

    /// When the table or global index of these dimensions was created; none if it does not exist.
    async fn created_ms(
        &self,
        namespace: &Namespace,
        dimensions: &Dimensions,
    ) -> Result<Option<u64>, ReadError>;
}

/// A rule of Contributor Insights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightRuleSummary {
    /// `DynamoDBContributorInsights-PKC-Orders-1763300000000`
    pub name: String,
    /// The names of the key attributes.
    pub key_labels: Vec<String>,
}

/// What Contributor Insights counts.
#[async_trait]
pub trait Insights: Send + Sync + 'static {
    /// The rules in force, in the order of their names.
    async fn rules(&self, namespace: &Namespace) -> Result<Vec<InsightRuleSummary>, ReadError>;

    /// What a rule counted between two minutes since 1970, the second excluded; none if there is no such rule.
    async fn minutes(
        &self,
        namespace: &Namespace,
        rule: &str,
        start_minute: u64,
        end_minute: u64,
    ) -> Result<Option<RuleMinutes>, ReadError>;
}

/// Why the database could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

impl From<ReadError> for api::Error {
    fn from(error: ReadError) -> api::Error {
        tracing::error!(%error, "metrics can't be read");
        api::Error::new(
            api::ErrorKind::InternalServiceFault,
            "The metrics could not be read. Please try again.",
        )
    }
}
