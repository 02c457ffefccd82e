//! The operations, and the alarms behind them.
//!
//! An alarm is a row. Once a minute, a few seconds after the minute is over, every alarm is evaluated; its row is
//! written when its state changes to another value. Where several servers share a database, one of them evaluates the
//! alarms, and all answer requests from the rows. Only this file starts work of its own, and `close` ends it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::cloudwatch::{
    AlarmHistoryItem, AlarmType, DescribeAlarmHistoryInput, DescribeAlarmHistoryOutput,
    DescribeAlarmsForMetricInput, DescribeAlarmsForMetricOutput, DescribeAlarmsInput, DescribeAlarmsOutput,
    DescribeInsightRulesInput, DescribeInsightRulesOutput, Dimension, GetInsightRuleReportInput,
    GetInsightRuleReportOutput, GetMetricDataInput, GetMetricDataOutput, GetMetricStatisticsInput,
    GetMetricStatisticsOutput, InsightRule, ListMetricsInput, ListMetricsOutput, ListTagsForResourceInput,
    ListTagsForResourceOutput, PutMetricAlarmInput, ScanBy, SetAlarmStateInput, Statistic, TagResourceInput,
    TagResourceOutput, UntagResourceInput, UntagResourceOutput, limits,
};
use api::{Error, ErrorKind};
use capacity::metric::Metric;
use futures_util::future::BoxFuture;
use host::{EachMinute, Environment, Namespace, Rows, RowsError, SharedRows};
use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use crate::alarm::{Alarm, Periods, State, arn};
use crate::data::Source;
use crate::listing::page_start;
use crate::outside::{Insights, Metrics};
use crate::series::{Asked, Stat, Window};
use crate::{data, insight, listing, statistics};

const ALARM_PREFIX: &str = "cloudwatch/alarm/";
/// Which server evaluates the alarms.
const LEASE: &str = "alarms";
/// Requests that began in a minute may end a little later.
const SETTLE: Duration = Duration::from_secs(2);

/// The metrics and alarms of a database.
pub struct CloudWatch {
    pub(crate) shared: Arc<Shared>,
    evaluation: EachMinute,
}

pub(crate) struct Shared {
    metrics: Arc<dyn Metrics>,
    insights: Arc<dyn Insights>,
    rows: Arc<dyn Rows>,
    alarm_rows: SharedRows,
    pub environment: Arc<dyn Environment>,
    alarms: Mutex<BTreeMap<(Namespace, String), Alarm>>,
    /// One request or evaluation at a time changes alarms.
    changes: tokio::sync::Mutex<()>,
}

/// Why the alarms could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum OpenError {
    #[error("reading alarms: {0}")]
    Rows(#[from] RowsError),
    #[error("the row {name} is not an alarm: {reason}")]
    Unreadable { name: String, reason: String },
}

impl CloudWatch {
    /// Reads the stored alarms. They are evaluated from [`CloudWatch::start`] on.
    pub fn open(
        metrics: Arc<dyn Metrics>,
        insights: Arc<dyn Insights>,
        rows: Arc<dyn Rows>,
        environment: Arc<dyn Environment>,
    ) -> BoxFuture<'static, Result<CloudWatch, OpenError>> {
        Box::pin(async move {
            let alarm_rows = SharedRows::new(rows.clone(), ALARM_PREFIX);
            let (alarms, changes) = (Mutex::default(), tokio::sync::Mutex::default());
            let shared = Shared { metrics, insights, rows, alarm_rows, environment, alarms, changes };
            shared.load().await?;
            let shared = Arc::new(shared);
            Ok(CloudWatch { shared, evaluation: EachMinute::default() })
        })
    }

    /// Evaluates the alarms each minute from now on. To be called within a tokio runtime.
    pub fn start(&self) {
        let shared = self.shared.clone();
        self.evaluation.start(shared.environment.clone(), SETTLE, move || {
            let shared = shared.clone();
            async move { shared.evaluate().await }
        });
    }

    /// Ends the evaluation.
    pub async fn close(&self) {
        self.evaluation.end().await;
    }

    /// Evaluates every alarm once.
    pub async fn evaluate(&self) {
        self.shared.evaluate().await;
    }

    /// The alarms, as other servers have left them.
    pub(crate) async fn current(&self) -> Result<&CloudWatch, Error> {
        drop(self.shared.begin_change().await?);
        Ok(self)
    }

    /// GetMetricStatistics
    pub async fn get_metric_statistics(
        &self,
        namespace: &Namespace,
        input: GetMetricStatisticsInput,
    ) -> Result<GetMetricStatisticsOutput, Error> {
        statistics::get(&*self.shared.metrics, namespace, input, self.shared.now_seconds()).await
    }

    /// GetMetricData
    pub async fn get_metric_data(
        &self,
        namespace: &Namespace,
        input: GetMetricDataInput,
    ) -> Result<GetMetricDataOutput, Error> {
        data::get(self.shared.source(namespace, self.shared.now_seconds()), input).await
    }

    /// ListMetrics
    pub async fn list_metrics(
        &self,
        namespace: &Namespace,
        input: ListMetricsInput,
    ) -> Result<ListMetricsOutput, Error> {
        listing::list(&*self.shared.metrics, namespace, input, self.shared.now_seconds()).await
    }

    /// PutMetricAlarm
    pub async fn put_metric_alarm(
        &self,
        namespace: &Namespace,
        input: PutMetricAlarmInput,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let name = input.alarm_name.clone();
        let before = shared.find(namespace, &name);
        if before.is_none() && shared.of_namespace(namespace).len() >= limits::ALARMS_MAX {
            return Err(Error::new(ErrorKind::LimitExceededFault, "The quota of alarms is exceeded."));
        }
        let now_ms = shared.environment.now_ms();
        shared.store(Alarm::put(namespace.clone(), input, before.as_ref(), now_ms)).await
    }

    /// DescribeAlarms
    pub fn describe_alarms(
        &self,
        namespace: &Namespace,
        input: &DescribeAlarmsInput,
    ) -> Result<DescribeAlarmsOutput, Error> {
        let types = input.alarm_types.as_deref().unwrap_or(&[AlarmType::MetricAlarm]);
        let relates_to_composites =
            input.children_of_alarm_name.is_some() || input.parents_of_alarm_name.is_some();
        let mut alarms = self.shared.of_namespace(namespace);
        alarms.retain(|alarm| {
            types.contains(&AlarmType::MetricAlarm) && !relates_to_composites && is_asked_for(alarm, input)
        });
        let start = page_start(input.next_token.as_deref(), alarms.len())?;
        let page = input.max_records.map_or(limits::DESCRIBE_ALARMS_PAGE, |max| max as usize);
        let page = if input.alarm_names.is_some() { alarms.len() } else { page };
        let end = alarms.len().min(start + page);
        Ok(DescribeAlarmsOutput {
            metric_alarms: Some(alarms[start..end].iter().map(Alarm::describe).collect()),
            composite_alarms: Some(Vec::new()),
            log_alarms: Some(Vec::new()),
            next_token: (end < alarms.len()).then(|| end.to_string()),
        })
    }

    /// DescribeAlarmsForMetric
    pub fn describe_alarms_for_metric(
        &self,
        namespace: &Namespace,
        input: &DescribeAlarmsForMetricInput,
    ) -> DescribeAlarmsForMetricOutput {
        let mut alarms = self.shared.of_namespace(namespace);
        alarms.retain(|alarm| is_for_metric(alarm, input));
        DescribeAlarmsForMetricOutput { metric_alarms: Some(alarms.iter().map(Alarm::describe).collect()) }
    }

    /// DescribeAlarmHistory
    pub fn describe_alarm_history(
        &self,
        namespace: &Namespace,
        input: &DescribeAlarmHistoryInput,
    ) -> Result<DescribeAlarmHistoryOutput, Error> {
        let alarms = self.shared.of_namespace(namespace);
        let is_named = |alarm: &&Alarm| input.alarm_name.as_deref().is_none_or(|name| name == alarm.name());
        let mut items: Vec<AlarmHistoryItem> =
            alarms.iter().filter(is_named).flat_map(Alarm::describe_history).collect();
        let time = |item: &AlarmHistoryItem| item.timestamp.unwrap_or_default();
        items.retain(|item| {
            input.history_item_type.is_none_or(|kind| item.history_item_type == Some(kind))
                && input.start_date.is_none_or(|start| time(item) >= start)
                && input.end_date.is_none_or(|end| time(item) <= end)
        });
        items.sort_by(|one, other| time(other).total_cmp(&time(one)));
        if input.scan_by == Some(ScanBy::TimestampAscending) {
            items.reverse();
        }
        let start = page_start(input.next_token.as_deref(), items.len())?;
        let page = input.max_records.map_or(limits::ALARM_HISTORY_PAGE_MAX, |max| max as usize);
        let end = items.len().min(start + page);
        let next_token = (end < items.len()).then(|| end.to_string());
        items.truncate(end);
        Ok(DescribeAlarmHistoryOutput { alarm_history_items: Some(items.split_off(start)), next_token })
    }

    /// SetAlarmState: until the next evaluation.
    pub async fn set_alarm_state(
        &self,
        namespace: &Namespace,
        input: SetAlarmStateInput,
    ) -> Result<(), Error> {
        let is_json = |text: &String| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if input.state_reason_data.as_ref().is_some_and(|text| !is_json(text)) {
            return Err(Error::new(ErrorKind::InvalidFormatFault, "TestStateReasonData is not valid JSON"));
        }
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut alarm = shared.get(namespace, &input.alarm_name)?;
        let now_ms = shared.environment.now_ms();
        alarm.enter(State::new(input.state_value, input.state_reason, input.state_reason_data, now_ms));
        shared.store(alarm).await
    }

    /// EnableAlarmActions and DisableAlarmActions. Names of no alarm are passed over.
    pub async fn enable_actions(
        &self,
        namespace: &Namespace,
        names: &[String],
        enabled: bool,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        for name in names {
            if let Some(mut alarm) = shared.find(namespace, name) {
                alarm.definition.actions_enabled = Some(enabled);
                shared.store(alarm).await?;
            }
        }
        Ok(())
    }

    /// DeleteAlarms: all of them, or none if one does not exist.
    pub async fn delete_alarms(&self, namespace: &Namespace, names: &[String]) -> Result<(), Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        for name in names {
            shared.get(namespace, name)?;
        }
        for name in names {
            let row = row_name(namespace, name);
            shared.alarm_rows.delete(&row).await.map_err(|error| internal(&error))?;
            shared.alarms.lock().remove(&(namespace.clone(), name.clone()));
        }
        Ok(())
    }

    /// TagResource
    pub async fn tag_resource(
        &self,
        namespace: &Namespace,
        input: TagResourceInput,
    ) -> Result<TagResourceOutput, Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut alarm = shared.by_arn(namespace, &input.resource_arn)?;
        let mut tags = alarm.tags();
        tags.retain(|tag| !input.tags.iter().any(|new| new.key == tag.key));
        tags.extend(input.tags);
        if tags.len() > limits::TAGS_MAX {
            return Err(Error::invalid_value(format!("An alarm has at most {} tags.", limits::TAGS_MAX)));
        }
        alarm.definition.tags = Some(tags);
        shared.store(alarm).await?;
        Ok(TagResourceOutput {})
    }

    /// UntagResource
    pub async fn untag_resource(
        &self,
        namespace: &Namespace,
        input: UntagResourceInput,
    ) -> Result<UntagResourceOutput, Error> {
        let shared = &self.shared;
        let _change = shared.begin_change().await?;
        let mut alarm = shared.by_arn(namespace, &input.resource_arn)?;
        let mut tags = alarm.tags();
        tags.retain(|tag| !input.tag_keys.contains(&tag.key));
        alarm.definition.tags = Some(tags);
        shared.store(alarm).await?;
        Ok(UntagResourceOutput {})
    }

    /// ListTagsForResource
    pub fn list_tags_for_resource(
        &self,
        namespace: &Namespace,
        input: &ListTagsForResourceInput,
    ) -> Result<ListTagsForResourceOutput, Error> {
        let alarm = self.shared.by_arn(namespace, &input.resource_arn)?;
        Ok(ListTagsForResourceOutput { tags: Some(alarm.tags()) })
    }

    /// GetInsightRuleReport
    pub async fn get_insight_rule_report(
        &self,
        namespace: &Namespace,
        input: GetInsightRuleReportInput,
    ) -> Result<GetInsightRuleReportOutput, Error> {
        let window =
            Window::rounded(input.start_time, input.end_time, input.period, self.shared.now_seconds());
        let (start, end) = (window.start_seconds / 60, window.end_seconds.div_ceil(60));
        let found = self.shared.insights.minutes(namespace, &input.rule_name, start, end).await?;
        let rule = found.ok_or_else(|| {
            let message = format!("The rule {} does not exist.", input.rule_name);
            Error::new(ErrorKind::ResourceNotFound, message)
        })?;
        let input = GetInsightRuleReportInput { start_time: window.start_seconds as f64, ..input };
        Ok(insight::report(&input, &rule))
    }

    /// DescribeInsightRules
    pub async fn describe_insight_rules(
        &self,
        namespace: &Namespace,
        input: &DescribeInsightRulesInput,
    ) -> Result<DescribeInsightRulesOutput, Error> {
        let rules = self.shared.insights.rules(namespace).await?;
        let start = page_start(input.next_token.as_deref(), rules.len())?;
        let page = input.max_results.map_or(limits::INSIGHT_RULES_PAGE_MAX, |max| max as usize);
        let end = rules.len().min(start + page);
        let described = rules[start..end].iter().map(|rule| InsightRule {
            name: rule.name.clone(),
            state: "ENABLED".to_owned(),
            schema: r#"{"Name":"ServiceLogRule","Version":1}"#.to_owned(),
            definition: serde_json::json!({
                "Schema": {"Name": "ServiceLogRule", "Version": 1},
                "Contribution": {"Keys": rule.key_labels},
            })
            .to_string(),
            managed_rule: Some(true),
            apply_on_transformed_logs: None,
        });
        Ok(DescribeInsightRulesOutput {
            insight_rules: Some(described.collect()),
            next_token: (end < rules.len()).then(|| end.to_string()),
        })
    }
}

impl Shared {
    /// Reads the alarms as they are stored.
    async fn load(&self) -> Result<(), OpenError> {
        let mut alarms = BTreeMap::new();
        for (name, row) in self.alarm_rows.load().await? {
            let alarm = Alarm::decode(&row).map_err(|reason| OpenError::Unreadable { name, reason })?;
            alarms.insert((alarm.namespace.clone(), alarm.name().to_owned()), alarm);
        }
        *self.alarms.lock() = alarms;
        Ok(())
    }

    /// Waits for changes under way, and learns what other servers have changed.
    pub async fn begin_change(&self) -> Result<MutexGuard<'_, ()>, Error> {
        let change = self.changes.lock().await;
        if self.rows.are_shared() {
            self.load().await.map_err(|error| internal(&error))?;
        }
        Ok(change)
    }

    fn now_seconds(&self) -> u64 {
        self.environment.now_ms() / 1000
    }

    fn source<'s>(&'s self, namespace: &'s Namespace, now_seconds: u64) -> Source<'s> {
        Source { metrics: &*self.metrics, insights: &*self.insights, namespace, now_seconds }
    }

    fn find(&self, namespace: &Namespace, name: &str) -> Option<Alarm> {
        self.alarms.lock().get(&(namespace.clone(), name.to_owned())).cloned()
    }

    fn get(&self, namespace: &Namespace, name: &str) -> Result<Alarm, Error> {
        self.find(namespace, name).ok_or_else(|| Error::alarm_not_found(name))
    }

    fn by_arn(&self, namespace: &Namespace, resource: &str) -> Result<Alarm, Error> {
        let name = resource.strip_prefix(&arn(namespace, "")).unwrap_or_default();
        self.find(namespace, name).ok_or_else(|| {
            Error::new(ErrorKind::ResourceNotFound, format!("The resource {resource} does not exist."))
        })
    }

    /// The alarms of an account in a Region, by name.
    fn of_namespace(&self, namespace: &Namespace) -> Vec<Alarm> {
        let alarms = self.alarms.lock();
        let from = (namespace.clone(), String::new());
        let own = alarms.range(from..).take_while(|((owner, _), _)| owner == namespace);
        own.map(|(_, alarm)| alarm.clone()).collect()
    }

    /// Keeps an alarm, and shows it when it is kept.
    async fn store(&self, alarm: Alarm) -> Result<(), Error> {
        let row = row_name(&alarm.namespace, alarm.name());
        self.alarm_rows.put(&row, alarm.encode()).await.map_err(|error| internal(&error))?;
        self.alarms.lock().insert((alarm.namespace.clone(), alarm.name().to_owned()), alarm);
        Ok(())
    }

    /// Puts every alarm into the state that its metric asks for. One that can't be read is tried again in a minute.
    async fn evaluate(&self) {
        match self.rows.take_lease(LEASE).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!(%error, "alarms can't be evaluated"),
        }
        // What can't be read is logged there.
        if self.begin_change().await.is_err() {
            return;
        }
        let names: Vec<(Namespace, String)> = self.alarms.lock().keys().cloned().collect();
        for (namespace, name) in names {
            let _change = self.changes.lock().await;
            let Some(alarm) = self.find(&namespace, &name) else { continue };
            if let Err(error) = self.evaluate_one(alarm).await {
                tracing::warn!(%error, alarm = name, "an alarm can't be evaluated");
            }
        }
    }

    async fn evaluate_one(&self, mut alarm: Alarm) -> Result<(), Error> {
        let now_ms = self.environment.now_ms();
        let Some(periods) = self.periods(&alarm, now_ms / 1000).await? else { return Ok(()) };
        let state = alarm.judge(&periods, now_ms);
        if state.value() == alarm.state.value() {
            return Ok(());
        }
        alarm.enter(state);
        self.store(alarm).await
    }

    /// What an alarm sees; none if it has too few values for its percentile, and stays as it is.
    async fn periods(&self, alarm: &Alarm, now_seconds: u64) -> Result<Option<Periods>, Error> {
        let (start, end) = alarm.span(now_seconds);
        let period = alarm.period_seconds();
        let values = match &alarm.definition.metrics {
            Some(queries) => {
                let shown = queries.iter().find(|query| query.return_data.unwrap_or(true));
                let id = shown.map(|query| query.id.clone()).unwrap_or_default();
                let span = (start as f64, end as f64);
                let mut series = self.source(&alarm.namespace, now_seconds).calculate(queries, span).await?;
                Some(series.remove(&id).map(|series| series.points).unwrap_or_default())
            }
            None => self.metric_values(alarm, (start, end, period), now_seconds).await?,
        };
        let times = (start..end).step_by(period as usize);
        Ok(values.map(|values| times.map(|time| (time, values.get(&time).copied())).collect()))
    }

    async fn metric_values(
        &self,
        alarm: &Alarm,
        (start_seconds, end_seconds, period_seconds): (u64, u64, u64),
        now_seconds: u64,
    ) -> Result<Option<BTreeMap<u64, f64>>, Error> {
        let PutMetricAlarmInput { namespace, metric_name, dimensions, unit, .. } = &alarm.definition;
        let (space, name) = (namespace.as_deref(), metric_name.as_deref());
        let asked =
            Asked::new(space.unwrap_or_default(), name.unwrap_or_default(), dimensions.as_deref(), *unit);
        let window = Window { start_seconds, end_seconds, period_seconds };
        let cells = asked.read(&*self.metrics, &alarm.namespace, &window, now_seconds).await?;
        if cells.last().is_some_and(|(_, cell)| (cell.count as f64) < alarm.values_min()) {
            return Ok(None);
        }
        let statistic = Stat::named(alarm.statistic_name().unwrap_or_default());
        let mut values = statistic.series(&cells);
        // DynamoDB reports that nothing was consumed, too: an idle table has zeros, and not gaps.
        let is_consumption = matches!(
            asked.metric,
            Some(Metric::ConsumedReadCapacityUnits | Metric::ConsumedWriteCapacityUnits)
        );
        if is_consumption && statistic != Stat::Plain(Statistic::SampleCount) {
            let created_ms = self.metrics.created_ms(&alarm.namespace, &asked.dimensions).await?;
            let since = created_ms.map_or(u64::MAX, |created_ms| created_ms / 1000);
            for time in (start_seconds..end_seconds).step_by(period_seconds as usize) {
                if time + period_seconds > since {
                    values.entry(time).or_insert(0.0);
                }
            }
        }
        Ok(Some(values))
    }
}

fn is_asked_for(alarm: &Alarm, input: &DescribeAlarmsInput) -> bool {
    let has_prefix =
        |text: &str, prefix: &Option<String>| prefix.as_deref().is_none_or(|prefix| text.starts_with(prefix));
    let definition = &alarm.definition;
    let lists = [&definition.alarm_actions, &definition.ok_actions, &definition.insufficient_data_actions];
    let mut actions = lists.into_iter().flatten().flatten();
    input.alarm_names.as_ref().is_none_or(|names| names.iter().any(|name| name == alarm.name()))
        && has_prefix(alarm.name(), &input.alarm_name_prefix)
        && input.state_value.is_none_or(|state| state == alarm.state.value())
        && (input.action_prefix.is_none() || actions.any(|action| has_prefix(action, &input.action_prefix)))
}

fn is_for_metric(alarm: &Alarm, input: &DescribeAlarmsForMetricInput) -> bool {
    let sorted = |dimensions: &Option<Vec<Dimension>>| {
        let dimensions = dimensions.iter().flatten();
        let pairs = dimensions.map(|dimension| (dimension.name.clone(), dimension.value.clone()));
        pairs.collect::<BTreeMap<String, String>>()
    };
    let definition = &alarm.definition;
    definition.metric_name.as_ref() == Some(&input.metric_name)
        && definition.namespace.as_ref() == Some(&input.namespace)
        && sorted(&definition.dimensions) == sorted(&input.dimensions)
        && input.period.is_none_or(|period| definition.period == Some(period))
        && input.statistic.is_none_or(|statistic| definition.statistic == Some(statistic))
        && (input.extended_statistic.is_none() || definition.extended_statistic == input.extended_statistic)
        && input.unit.is_none_or(|unit| definition.unit == Some(unit))
}

fn row_name(namespace: &Namespace, name: &str) -> String {
    format!("{ALARM_PREFIX}{}/{}/{name}", namespace.account, namespace.region)
}

fn internal(error: &dyn std::error::Error) -> Error {
    tracing::error!(%error, "an alarm can't be read or stored");
    Error::new(ErrorKind::InternalServiceFault, "The alarm could not be stored. Please try again.")
}
