//! CloudWatch, mounted on the server: what it needs of the database, and its operations on the same port.

use std::sync::Arc;

use api::cloudwatch::{Call, Request as Asked};
use api::{DescribeTableInput, Error, ErrorKind, Protocol, Service, TableDescription};
use async_trait::async_trait;
use bytes::Bytes;
use capacity::metric::{Metric, Point};
use cloudwatch::{
    CloudWatch, Dimensions, InsightRuleSummary, Insights, Metrics, Ranking, ReadError, RuleMinutes, alarm_arn,
};
use engine::{Engine, InsightMinute};
use host::Namespace;
use http::Response;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;

use crate::neighbour::{Mounted, Neighbour, Permission, Received, text};
use crate::service_host::{Clock, OfEngine, send};

/// Opens the alarms of a database, and evaluates them from now on.
pub async fn open(engine: Arc<Engine>) -> Result<Arc<CloudWatchService>, String> {
    let service = read(engine).await?;
    service.0.start();
    Ok(service)
}

/// Opens the alarms of a database, which are not evaluated yet.
pub async fn read(engine: Arc<Engine>) -> Result<Arc<CloudWatchService>, String> {
    let (database, clock) = (Arc::new(OfEngine(engine.clone())), Arc::new(Clock::OfCapacity(engine)));
    let opened = CloudWatch::open(database.clone(), database.clone(), database, clock).await;
    let cloudwatch = opened.map_err(|error| format!("can't open the alarms: {error}"))?;
    Ok(Arc::new(Neighbour(Arc::new(cloudwatch))))
}

/// CloudWatch's operations.
pub type CloudWatchService = Neighbour<CloudWatch>;

impl Mounted for CloudWatch {
    const SERVICE: Service = Service::CloudWatch;

    fn owns(head: &Parts) -> bool {
        call(head).is_some()
    }

    async fn permission(&self, request: Received<'_>) -> Result<Option<Permission>, Error> {
        let asked = call(request.head).and_then(|call| call.read(request.body).ok());
        Ok(asked.map(|asked| Permission {
            operation: asked.operation().name(),
            resources: resources(request.namespace, &asked),
        }))
    }

    async fn answer(&self, request: Received<'_>) -> Response<Bytes> {
        let Received { namespace, head, body } = request;
        match call(head) {
            Some(call) => self.answer(namespace, &call, body).await,
            None => Mounted::refusal(self, head, &Error::unknown_operation()),
        }
    }

    fn refusal(&self, head: &Parts, error: &Error) -> Response<Bytes> {
        self.refusal(&call(head).unwrap_or_else(Call::json), error)
    }
}

fn resources(namespace: &Namespace, asked: &Asked) -> Vec<String> {
    let alarm = |name: &str| alarm_arn(namespace, name);
    match asked {
        Asked::GetMetricStatistics(_)
        | Asked::GetMetricData(_)
        | Asked::ListMetrics(_)
        | Asked::DescribeInsightRules(_) => vec!["*".to_owned()],
        Asked::GetInsightRuleReport(input) => {
            let Namespace { account, region } = namespace;
            vec![format!("arn:aws:cloudwatch:{region}:{account}:insight-rule/{}", input.rule_name)]
        }
        Asked::DescribeAlarms(_) | Asked::DescribeAlarmsForMetric(_) => vec![alarm("*")],
        Asked::DescribeAlarmHistory(input) => vec![alarm(input.alarm_name.as_deref().unwrap_or("*"))],
        Asked::PutMetricAlarm(input) => vec![alarm(&input.alarm_name)],
        Asked::SetAlarmState(input) => vec![alarm(&input.alarm_name)],
        Asked::EnableAlarmActions(input) => input.alarm_names.iter().map(|name| alarm(name)).collect(),
        Asked::DisableAlarmActions(input) => input.alarm_names.iter().map(|name| alarm(name)).collect(),
        Asked::DeleteAlarms(input) => input.alarm_names.iter().map(|name| alarm(name)).collect(),
        Asked::TagResource(input) => vec![input.resource_arn.clone()],
        Asked::UntagResource(input) => vec![input.resource_arn.clone()],
        Asked::ListTagsForResource(input) => vec![input.resource_arn.clone()],
    }
}

fn call(head: &Parts) -> Option<Call> {
    let call = Call::of(
        head.uri.path(),
        text(&head.headers, "x-amz-target"),
        text(&head.headers, CONTENT_TYPE.as_str()),
    )?;
    // Other services take forms, too.
    let is_signed_for_us = || {
        let scope = format!("/{}/", Service::CloudWatch.signing_name());
        let header = text(&head.headers, AUTHORIZATION.as_str()).unwrap_or_default();
        header.contains(&scope) || head.uri.query().is_some_and(|query| query.contains("%2Fmonitoring%2F"))
    };
    Some(call).filter(|call| call.protocol() != Protocol::Query || is_signed_for_us())
}

/// A table as DescribeTable shows it; none if it does not exist.
pub async fn describe_table(
    engine: &Engine,
    namespace: &Namespace,
    table: &str,
) -> Result<Option<TableDescription>, Error> {
    let input = DescribeTableInput { table_name: table.to_owned() };
    match send(engine, namespace, input).await {
        Ok(output) => Ok(output.table),
        Err(error) if error.kind == ErrorKind::ResourceNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The metrics of an engine.
#[async_trait]
impl Metrics for OfEngine {
    async fn points(
        &self,
        namespace: &Namespace,
        metric: Metric,
        dimensions: &Dimensions,
        start_seconds: u64,
        end_seconds: u64,
    ) -> Result<Vec<Point>, ReadError> {
        let pairs = dimensions.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let Some(dimensions) = engine::Dimensions::from_pairs(pairs) else { return Ok(Vec::new()) };
        let id = engine::MetricId { metric, dimensions };
        let points = self.0.metric_points(namespace, &id, start_seconds, end_seconds).await;
        points.map_err(|error| ReadError(error.to_string()))
    }

    /// The engine lists what had a value in two weeks; for a shorter time, each metric is looked at.
    async fn list(
        &self,
        namespace: &Namespace,
        since_seconds: u64,
    ) -> Result<Vec<(Metric, Dimensions)>, ReadError> {
        let failed = |error: store::StoreError| ReadError(error.to_string());
        let now_seconds = self.0.usage().now().ms / 1000;
        let is_short = now_seconds.saturating_sub(since_seconds) < TWO_WEEKS_SECONDS;
        let mut listed = Vec::new();
        for id in self.0.metrics(namespace).await.map_err(failed)? {
            let has_values = !is_short
                || !self
                    .0
                    .metric_points(namespace, &id, since_seconds, now_seconds + 60)
                    .await
                    .map_err(failed)?
                    .is_empty();
            if has_values {
                let pairs = id.dimensions.pairs().map(|(name, value)| (name.to_owned(), value.to_owned()));
                listed.push((id.metric, pairs.collect()));
            }
        }
        Ok(listed)
    }

    async fn created_ms(
        &self,
        namespace: &Namespace,
        dimensions: &Dimensions,
    ) -> Result<Option<u64>, ReadError> {
        let Some(table) = dimensions.get("TableName") else { return Ok(None) };
        let described = describe_table(&self.0, namespace, table).await;
        let Some(table) = described.map_err(|error| ReadError(error.to_string()))? else { return Ok(None) };
        let exists = dimensions.get("GlobalSecondaryIndexName").is_none_or(|name| {
            let mut indexes = table.global_secondary_indexes.iter().flatten();
            indexes.any(|index| index.index_name.as_ref() == Some(name))
        });
        let created_ms = table.creation_date_time.map(|seconds| (seconds * 1000.0) as u64);
        Ok(created_ms.filter(|_| exists))
    }
}

const TWO_WEEKS_SECONDS: u64 = 14 * 24 * 3600;

/// The rules of Contributor Insights.
#[async_trait]
impl Insights for OfEngine {
    async fn rules(&self, namespace: &Namespace) -> Result<Vec<InsightRuleSummary>, ReadError> {
        let rules = self.0.insight_rules(namespace).into_iter();
        Ok(rules.map(|rule| InsightRuleSummary { name: rule.name, key_labels: rule.key_labels }).collect())
    }

    async fn minutes(
        &self,
        namespace: &Namespace,
        rule: &str,
        start_minute: u64,
        end_minute: u64,
    ) -> Result<Option<RuleMinutes>, ReadError> {
        let found = self.0.insight_minutes(namespace, rule, start_minute..end_minute).await;
        let found = found.map_err(|error| ReadError(error.to_string()))?;
        let ranking = |counted: InsightMinute| {
            let InsightMinute { minute, total, distinct, contributors } = counted;
            Ranking { minute, total, distinct, contributors }
        };
        Ok(found.map(|(rule, minutes)| RuleMinutes {
            key_labels: rule.key_labels,
            minutes: minutes.into_iter().map(ranking).collect(),
        }))
    }
}
