//! CloudWatch, mounted on the server: what it needs of the database, and its operations on the same port.

use std::sync::Arc;

use api::cloudwatch::{Call, Request as Asked};
use api::{DescribeTableInput, ErrorKind, Protocol, TableDescription};
use async_trait::async_trait;
use bytes::Bytes;
use capacity::metric::{Metric, Point};
use cloudwatch::{
    CloudWatch, Dimensions, InsightRuleSummary, Insights, Metrics, Ranking, ReadError, RuleMinutes, alarm_arn,
};
use engine::{Caller, Engine, InsightMinute};
use host::Namespace;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use server::{NeighbourService, PageAnswer};

use crate::service_host::{Clock, EngineRows, caller, namespace, send};

/// Opens the alarms of a database, and evaluates them from now on.
pub async fn open(engine: Arc<Engine>) -> Result<Arc<CloudWatchService>, String> {
    let service = read(engine).await?;
    service.0.start();
    Ok(service)
}

/// Opens the alarms of a database, which are not evaluated yet.
pub async fn read(engine: Arc<Engine>) -> Result<Arc<CloudWatchService>, String> {
    let rows = Arc::new(EngineRows(engine.clone()));
    let clock = Arc::new(Clock::OfCapacity(engine.clone()));
    let opened =
        CloudWatch::open(Arc::new(OfEngine(engine.clone())), Arc::new(OfEngine(engine)), rows, clock).await;
    let cloudwatch = opened.map_err(|error| format!("can't open the alarms: {error}"))?;
    Ok(Arc::new(CloudWatchService(Arc::new(cloudwatch))))
}

/// CloudWatch's operations.
pub struct CloudWatchService(pub Arc<CloudWatch>);

impl std::fmt::Debug for CloudWatchService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CloudWatchService")
    }
}

impl NeighbourService for CloudWatchService {
    fn service(&self) -> api::Service {
        api::Service::CloudWatch
    }

    fn owns(&self, head: &Parts) -> bool {
        call(head).is_some()
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            match call(&head) {
                Some(call) => match authorize(&caller, &call, &body) {
                    Ok(()) => self.0.answer(&namespace(&caller), &call, &body).await,
                    Err(error) => self.0.refusal(&call, &error),
                },
                None => self.refuse(&head, &api::Error::unknown_operation()),
            }
        })
    }

    fn refuse(&self, head: &Parts, error: &api::Error) -> Response<Bytes> {
        let call = call(head).unwrap_or_else(Call::json);
        self.0.refusal(&call, error)
    }
}

/// Refuses a request that policies do not allow. What is no request needs nothing: it is refused for that.
fn authorize(caller: &Caller, call: &Call, body: &[u8]) -> Result<(), api::Error> {
    if !caller.is_verified() {
        return Ok(());
    }
    let Ok(asked) = call.read(body) else { return Ok(()) };
    let action = format!("{}:{}", api::Service::CloudWatch.action_prefix(), asked.operation().name());
    let namespace = namespace(caller);
    let alarm = |name: &str| alarm_arn(&namespace, name);
    let resources: Vec<String> = match &asked {
        Asked::GetMetricStatistics(_)
        | Asked::GetMetricData(_)
        | Asked::ListMetrics(_)
        | Asked::DescribeInsightRules(_) => vec!["*".to_owned()],
        Asked::GetInsightRuleReport(input) => {
            let Namespace { account, region } = &namespace;
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
    };
    resources.iter().try_for_each(|resource| caller.authorize(&action, resource))
}

fn call(head: &Parts) -> Option<Call> {
    let call = Call::of(
        head.uri.path(),
        text(&head.headers, "x-amz-target"),
        text(&head.headers, CONTENT_TYPE.as_str()),
    )?;
    // Other services take forms, too.
    let is_signed_for_us = || {
        let scope = format!("/{}/", api::Service::CloudWatch.signing_name());
        let header = text(&head.headers, AUTHORIZATION.as_str()).unwrap_or_default();
        header.contains(&scope) || head.uri.query().is_some_and(|query| query.contains("%2Fmonitoring%2F"))
    };
    Some(call).filter(|call| call.protocol() != Protocol::Query || is_signed_for_us())
}

/// A header, if it is text.
pub fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// A table as DescribeTable shows it; none if it does not exist.
pub async fn describe_table(
    engine: &Engine,
    namespace: &Namespace,
    table: &str,
) -> Result<Option<TableDescription>, api::Error> {
    let input = DescribeTableInput { table_name: table.to_owned() };
    match send(engine, namespace, input).await {
        Ok(output) => Ok(output.table),
        Err(error) if error.kind == ErrorKind::ResourceNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The metrics of an engine.
struct OfEngine(Arc<Engine>);

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
        let namespace = caller(namespace).namespace;
        let points = self.0.metric_points(&namespace, &id, start_seconds, end_seconds).await;
        points.map_err(|error| ReadError(error.to_string()))
    }

    /// The engine lists what had a value in two weeks; for a shorter time, each metric is looked at.
    async fn list(
        &self,
        namespace: &Namespace,
        since_seconds: u64,
    ) -> Result<Vec<(Metric, Dimensions)>, ReadError> {
        let owner = caller(namespace).namespace;
        let failed = |error: store::StoreError| ReadError(error.to_string());
        let now_seconds = self.0.usage().now().ms / 1000;
        let is_short = now_seconds.saturating_sub(since_seconds) < TWO_WEEKS_SECONDS;
        let mut listed = Vec::new();
        for id in self.0.metrics(&owner).await.map_err(failed)? {
            let has_values = !is_short
                || !self
                    .0
                    .metric_points(&owner, &id, since_seconds, now_seconds + 60)
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
        let rules = self.0.insight_rules(&caller(namespace).namespace).into_iter();
        Ok(rules.map(|rule| InsightRuleSummary { name: rule.name, key_labels: rule.key_labels }).collect())
    }

    async fn minutes(
        &self,
        namespace: &Namespace,
        rule: &str,
        start_minute: u64,
        end_minute: u64,
    ) -> Result<Option<RuleMinutes>, ReadError> {
        let namespace = caller(namespace).namespace;
        let found = self.0.insight_minutes(&namespace, rule, start_minute..end_minute).await;
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
