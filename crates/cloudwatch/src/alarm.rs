//! An alarm: what it watches, and what the points that it sees mean. Pure.

use std::collections::VecDeque;
use std::time::{Duration, UNIX_EPOCH};

use api::cloudwatch::{
    AlarmHistoryItem, AlarmType, ComparisonOperator, ExtendedStatistic, HistoryItemType, MetricAlarm,
    PutMetricAlarmInput, Request, StateValue, Tag,
};
use host::Namespace;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Periods before those of the evaluation, from which missing points are made up.
const OLDER_PERIODS: usize = 3;
/// What is remembered of an alarm's past.
const HISTORY_MAX: usize = 50;

/// An alarm and its state.
#[derive(Clone, Debug)]
pub struct Alarm {
    pub namespace: Namespace,
    pub definition: PutMetricAlarmInput,
    pub state: State,
    pub configured_ms: u64,
    /// The latest item first.
    pub history: VecDeque<HistoryItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    value: String,
    pub reason: String,
    pub reason_data: Option<String>,
    pub updated_ms: u64,
    /// When the value changed.
    pub transitioned_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryItem {
    pub at_ms: u64,
    kind: String,
    summary: String,
    data: String,
}

/// The row that an alarm is kept in.
#[derive(Serialize, Deserialize)]
struct Stored {
    namespace: Namespace,
    /// As PutMetricAlarm takes it.
    definition: serde_json::Value,
    state: State,
    configured_ms: u64,
    history: VecDeque<HistoryItem>,
}

/// The periods that an alarm looks at, the oldest first. A period without a point is none.
pub type Periods = Vec<(u64, Option<f64>)>;

impl State {
    pub fn new(value: StateValue, reason: String, reason_data: Option<String>, now_ms: u64) -> State {
        let (updated_ms, transitioned_ms) = (now_ms, now_ms);
        State { value: value.as_str().to_owned(), reason, reason_data, updated_ms, transitioned_ms }
    }

    pub fn value(&self) -> StateValue {
        match self.value.as_str() {
            "OK" => StateValue::Ok,
            "ALARM" => StateValue::Alarm,
            _ => StateValue::InsufficientData,
        }
    }
}

impl Alarm {
    /// The alarm that a request creates or replaces. An alarm that is replaced keeps its state and its tags.
    pub fn put(
        namespace: Namespace,
        mut definition: PutMetricAlarmInput,
        before: Option<&Alarm>,
        now_ms: u64,
    ) -> Alarm {
        let created = State::new(
            StateValue::InsufficientData,
            "Unchecked: Initial alarm creation".to_owned(),
            None,
            now_ms,
        );
        let state = before.map_or(created, |alarm| alarm.state.clone());
        if let Some(alarm) = before {
            definition.tags = alarm.definition.tags.clone();
        }
        let history = before.map_or_else(VecDeque::new, |alarm| alarm.history.clone());
        let mut alarm = Alarm { namespace, definition, state, configured_ms: now_ms, history };
        let change = if before.is_some() { "updated" } else { "created" };
        let summary = format!("Alarm \"{}\" {change}", alarm.name());
        let data = json!({"version": "1.0", "type": if before.is_some() { "Update" } else { "Create" }});
        alarm.remember(HistoryItemType::ConfigurationUpdate, summary, data.to_string(), now_ms);
        alarm
    }

    pub fn name(&self) -> &str {
        &self.definition.alarm_name
    }

    pub fn arn(&self) -> String {
        arn(&self.namespace, self.name())
    }

    /// The length of a period. Checked when the alarm was put: math has one period for all metrics.
    pub fn period_seconds(&self) -> u64 {
        let queries = self.definition.metrics.iter().flatten();
        let period = self.definition.period.or_else(|| queries.filter_map(|query| query.own_period()).next());
        period.map_or(60, |period| period.max(60) as u64)
    }

    /// The name of the statistic of an alarm on one metric.
    pub fn statistic_name(&self) -> Option<&str> {
        let PutMetricAlarmInput { statistic, extended_statistic, .. } = &self.definition;
        statistic.map(|statistic| statistic.as_str()).or(extended_statistic.as_deref())
    }

    /// How many values a period must have, if the alarm ignores percentiles of too few values: enough that about
    /// ten are beyond the percentile.
    pub fn values_min(&self) -> f64 {
        let statistic = self.definition.extended_statistic.as_deref().and_then(ExtendedStatistic::named);
        match (statistic, self.definition.evaluate_low_sample_count_percentile.as_deref()) {
            (Some(ExtendedStatistic::Percentile(percent)), Some("ignore")) => {
                10.0 / (percent.min(100.0 - percent) / 100.0)
            }
            _ => 0.0,
        }
    }

    fn evaluation_periods(&self) -> usize {
        self.definition.evaluation_periods.unwrap_or(1).max(1) as usize
    }

    fn points_to_alarm(&self) -> usize {
        self.definition.datapoints_to_alarm.map_or(self.evaluation_periods(), |points| points.max(1) as usize)
    }

    /// The span that it looks at: whole periods since 1970, the last of which is over.
    pub fn span(&self, now_seconds: u64) -> (u64, u64) {
        let period = self.period_seconds();
        let end = now_seconds - now_seconds % period;
        let periods = (self.evaluation_periods() + OLDER_PERIODS) as u64;
        (end.saturating_sub(periods * period), end)
    }

    /// The state that the periods of [`Alarm::span`] put it in.
    pub fn judge(&self, periods: &Periods, now_ms: u64) -> State {
        let (count, needed) = (self.evaluation_periods(), self.points_to_alarm());
        // With enough points in sight, the latest count, wherever there are gaps.
        let present: Vec<(u64, f64)> =
            periods.iter().filter_map(|(time, value)| Some((*time, (*value)?))).collect();
        let seen = &present[present.len().saturating_sub(count)..];
        let breaching = seen.iter().filter(|(_, value)| self.is_breach(*value)).count();
        let missing = count - seen.len();
        let value = match (missing, self.definition.treat_missing_data.as_deref().unwrap_or("missing")) {
            (0, _) if breaching >= needed => StateValue::Alarm,
            (0, _) => StateValue::Ok,
            (_, "breaching") if breaching + missing >= needed => StateValue::Alarm,
            (_, "breaching") => StateValue::Ok,
            (_, "notBreaching") if breaching >= needed => StateValue::Alarm,
            (_, "notBreaching") => StateValue::Ok,
            (_, _) if breaching >= needed => StateValue::Alarm,
            (_, "ignore") => self.state.value(),
            (_, _) if seen.is_empty() => StateValue::InsufficientData,
            (_, _) if breaching < seen.len() => StateValue::Ok,
            // All that there is breaches, but it is not as old as what the alarm needs.
            _ => self.state.value(),
        };
        let reason = self.reason(value, seen, breaching, missing);
        let data = self.reason_data(seen, now_ms);
        let mut state = State::new(value, reason, Some(data), now_ms);
        if value == self.state.value() {
            state.transitioned_ms = self.state.transitioned_ms;
        }
        state
    }

    fn is_breach(&self, value: f64) -> bool {
        let threshold = self.definition.threshold.unwrap_or_default();
        match self.definition.comparison_operator {
            Some(ComparisonOperator::GreaterThanOrEqualToThreshold) => value >= threshold,
            Some(ComparisonOperator::LessThanThreshold) => value < threshold,
            Some(ComparisonOperator::LessThanOrEqualToThreshold) => value <= threshold,
            _ => value > threshold,
        }
    }

    /// In CloudWatch's words.
    fn reason(&self, value: StateValue, seen: &[(u64, f64)], breaching: usize, missing: usize) -> String {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if value == StateValue::InsufficientData {
            let were = if missing == 1 { "was" } else { "were" };
            return format!("Insufficient Data: {missing} datapoint{} {were} unknown.", plural(missing));
        }
        let count = if value == StateValue::Alarm { breaching } else { seen.len() - breaching };
        let points: Vec<String> =
            seen.iter().rev().map(|(time, value)| format!("{value:?} ({})", day_and_time(*time))).collect();
        let not = if value == StateValue::Alarm { "" } else { "not " };
        let were = if count == 1 { "was" } else { "were" };
        let (from, to) = (self.state.value().as_str(), value.as_str());
        let needed = match value {
            StateValue::Alarm => self.points_to_alarm(),
            _ => self.evaluation_periods() - self.points_to_alarm() + 1,
        };
        format!(
            "Threshold Crossed: {count} out of the last {} datapoint{} [{}] {were} {not}{} the threshold ({:?}) \
             (minimum {needed} datapoint{} for {from} -> {to} transition).",
            seen.len(),
            plural(seen.len()),
            points.join(", "),
            self.comparison(),
            self.definition.threshold.unwrap_or_default(),
            plural(needed)
        )
    }

    fn comparison(&self) -> &'static str {
        match self.definition.comparison_operator {
            Some(ComparisonOperator::GreaterThanOrEqualToThreshold) => "greater than or equal to",
            Some(ComparisonOperator::LessThanThreshold) => "less than",
            Some(ComparisonOperator::LessThanOrEqualToThreshold) => "less than or equal to",
            _ => "greater than",
        }
    }

    fn reason_data(&self, seen: &[(u64, f64)], now_ms: u64) -> String {
        let values: Vec<f64> = seen.iter().map(|(_, value)| *value).collect();
        let data = json!({
            "version": "1.0",
            "queryDate": humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(now_ms)).to_string(),
            "startDate": seen.first().map(|(time, _)| rfc3339(*time)),
            "statistic": self.statistic_name(),
            "period": self.period_seconds(),
            "recentDatapoints": values,
            "threshold": self.definition.threshold,
        });
        data.to_string()
    }

    /// Takes on a state. `true` if its value is another one, which is worth remembering.
    pub fn enter(&mut self, state: State) -> bool {
        let (from, to) = (self.state.value(), state.value());
        let is_transition = from != to;
        if is_transition {
            let summary = format!("Alarm updated from {} to {}", from.as_str(), to.as_str());
            let side = |state: &State| json!({"stateValue": state.value, "stateReason": state.reason});
            let data = json!({"version": "1.0", "oldState": side(&self.state), "newState": side(&state)});
            self.remember(HistoryItemType::StateUpdate, summary, data.to_string(), state.updated_ms);
        }
        self.state = state;
        is_transition
    }

    fn remember(&mut self, kind: HistoryItemType, summary: String, data: String, at_ms: u64) {
        let kind = kind.as_str().to_owned();
        self.history.push_front(HistoryItem { at_ms, kind, summary, data });
        self.history.truncate(HISTORY_MAX);
    }

    /// As DescribeAlarms shows it.
    pub fn describe(&self) -> MetricAlarm {
        let definition = self.definition.clone();
        let list = |list: Option<Vec<String>>| Some(list.unwrap_or_default());
        let is_on_metric = definition.metrics.is_none();
        MetricAlarm {
            alarm_arn: Some(self.arn()),
            alarm_name: Some(definition.alarm_name),
            alarm_description: definition.alarm_description,
            alarm_configuration_updated_timestamp: Some(seconds(self.configured_ms)),
            actions_enabled: Some(definition.actions_enabled.unwrap_or(true)),
            alarm_actions: list(definition.alarm_actions),
            ok_actions: list(definition.ok_actions),
            insufficient_data_actions: list(definition.insufficient_data_actions),
            comparison_operator: definition.comparison_operator,
            threshold: definition.threshold,
            evaluation_periods: definition.evaluation_periods,
            datapoints_to_alarm: definition.datapoints_to_alarm,
            treat_missing_data: definition.treat_missing_data,
            metric_name: definition.metric_name,
            namespace: definition.namespace,
            dimensions: is_on_metric.then(|| definition.dimensions.unwrap_or_default()),
            statistic: definition.statistic,
            extended_statistic: definition.extended_statistic,
            evaluate_low_sample_count_percentile: definition.evaluate_low_sample_count_percentile,
            period: definition.period,
            unit: definition.unit,
            metrics: definition.metrics,
            state_value: Some(self.state.value()),
            state_reason: Some(self.state.reason.clone()),
            state_reason_data: self.state.reason_data.clone(),
            state_updated_timestamp: Some(seconds(self.state.updated_ms)),
            state_transitioned_timestamp: Some(seconds(self.state.transitioned_ms)),
            ..MetricAlarm::default()
        }
    }

    /// As DescribeAlarmHistory shows it, the latest first.
    pub fn describe_history(&self) -> impl Iterator<Item = AlarmHistoryItem> + '_ {
        self.history.iter().map(|item| AlarmHistoryItem {
            alarm_name: Some(self.name().to_owned()),
            alarm_type: Some(AlarmType::MetricAlarm),
            timestamp: Some(seconds(item.at_ms)),
            history_item_type: Some(match item.kind.as_str() {
                "StateUpdate" => HistoryItemType::StateUpdate,
                _ => HistoryItemType::ConfigurationUpdate,
            }),
            history_summary: Some(item.summary.clone()),
            history_data: Some(item.data.clone()),
            ..AlarmHistoryItem::default()
        })
    }

    pub fn tags(&self) -> Vec<Tag> {
        self.definition.tags.clone().unwrap_or_default()
    }

    /// The bytes to keep.
    pub fn encode(&self) -> Vec<u8> {
        let mut definition = Vec::new();
        Request::PutMetricAlarm(Box::new(self.definition.clone())).write_json(&mut definition);
        let stored = Stored {
            namespace: self.namespace.clone(),
            definition: serde_json::from_slice(&definition).expect("the encoder prints JSON"),
            state: self.state.clone(),
            configured_ms: self.configured_ms,
            history: self.history.clone(),
        };
        serde_json::to_vec(&stored).expect("JSON can be printed")
    }

    /// The alarm that was kept.
    pub fn decode(row: &[u8]) -> Result<Alarm, String> {
        let stored: Stored = serde_json::from_slice(row).map_err(|error| error.to_string())?;
        let Stored { namespace, definition, state, configured_ms, history } = stored;
        let request =
            Request::decode(api::cloudwatch::Operation::PutMetricAlarm, definition.to_string().as_bytes());
        match request.map_err(|error| error.to_string())? {
            Request::PutMetricAlarm(definition) => {
                Ok(Alarm { namespace, definition: *definition, state, configured_ms, history })
            }
            _ => Err("it is another request".to_owned()),
        }
    }
}

/// `arn:aws:cloudwatch:us-east-1:000000000000:alarm:name`
pub fn arn(namespace: &Namespace, name: &str) -> String {
    format!("arn:aws:cloudwatch:{}:{}:alarm:{name}", namespace.region, namespace.account)
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn rfc3339(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

/// `16/11/26 14:01:00`
fn day_and_time(seconds: u64) -> String {
    let text = rfc3339(seconds);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    format!("{}/{}/{} {}", part(8, 10), part(5, 7), part(2, 4), part(11, 19))
}
