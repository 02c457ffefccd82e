//! What auto scaling needs from outside: tables to scale, and CloudWatch.

use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, PutMetricAlarmInput};
use api::{Error, TableDescription, UpdateTableInput};
use async_trait::async_trait;
use host::Namespace;

/// The tables of a database.
#[async_trait]
pub trait Tables: Send + Sync + 'static {
    /// A table as DescribeTable shows it; none if it does not exist.
    async fn describe(&self, namespace: &Namespace, table: &str) -> Result<Option<TableDescription>, Error>;

    async fn update(&self, namespace: &Namespace, input: UpdateTableInput) -> Result<(), Error>;
}

/// Metrics and alarms.
#[async_trait]
pub trait CloudWatch: Send + Sync + 'static {
    async fn statistics(
        &self,
        namespace: &Namespace,
        input: GetMetricStatisticsInput,
    ) -> Result<Vec<Datapoint>, Error>;

    async fn put_alarm(&self, namespace: &Namespace, input: PutMetricAlarmInput) -> Result<(), Error>;

    /// It is no error if the alarm does not exist.
    async fn delete_alarm(&self, namespace: &Namespace, name: &str) -> Result<(), Error>;
}
