//! Rules for requests that need neither a metric nor an alarm, and how broken constraints are reported.

use std::collections::BTreeSet;

use super::*;
use crate::Error;
use crate::violation::{Constraint, Refuse, Violation, Violations};

/// CloudWatch reports a missing member by itself, and everything else as most services do.
fn refuse(violations: Violations) -> Error {
    let is_missing = |violation: &Violation| violation.constraint == Constraint::NotNull;
    let missing = violations.iter().find(|violation| is_missing(violation));
    match missing.map(|violation| capitalized(&violation.member)) {
        Some(missing) => Error::missing_parameter(&missing),
        None => violations.into_error(),
    }
}

fn capitalized(member: &str) -> String {
    let (first, rest) = member.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// Inputs whose shape says all there is to check.
macro_rules! checked_by_shape {
    ($($input:ident),* $(,)?) => {
        $(
            impl $input {
                /// Nothing beyond the shape.
                pub fn check(&self) -> Result<(), Error> {
                    Ok(())
                }
            }
        )*
    };
}

macro_rules! refuse_alike {
    ($($input:ident),* $(,)?) => {
        $(
            impl Refuse for $input {
                fn refuse(&self, violations: Violations) -> Error {
                    refuse(violations)
                }
            }
        )*
    };
}

refuse_alike!(
    GetMetricStatisticsInput,
    GetMetricDataInput,
    ListMetricsInput,
    PutMetricAlarmInput,
    DescribeAlarmsInput,
    DescribeAlarmsForMetricInput,
    DescribeAlarmHistoryInput,
    SetAlarmStateInput,
    EnableAlarmActionsInput,
    DisableAlarmActionsInput,
    DeleteAlarmsInput,
    TagResourceInput,
    UntagResourceInput,
    ListTagsForResourceInput,
    GetInsightRuleReportInput,
    DescribeInsightRulesInput,
);

checked_by_shape!(
    ListMetricsInput,
    DescribeAlarmsForMetricInput,
    DescribeAlarmHistoryInput,
    SetAlarmStateInput,
    EnableAlarmActionsInput,
    DisableAlarmActionsInput,
    DeleteAlarmsInput,
    TagResourceInput,
    UntagResourceInput,
    ListTagsForResourceInput,
    DescribeInsightRulesInput,
);

impl GetMetricStatisticsInput {
    /// Statistics of one kind, a period of whole minutes, and not too many points.
    pub fn check(&self) -> Result<(), Error> {
        let has = |list: Option<usize>| list.is_some_and(|length| length > 0);
        let plain = has(self.statistics.as_ref().map(Vec::len));
        let extended = has(self.extended_statistics.as_ref().map(Vec::len));
        match (plain, extended) {
            (false, false) => {
                return Err(Error::new(
                    crate::ErrorKind::MissingRequiredParameter,
                    "At least one of the parameters Statistics and ExtendedStatistics must be specified.",
                ));
            }
            (true, true) => {
                return Err(Error::invalid_combination(
                    "The parameters Statistics and ExtendedStatistics may not be specified together.",
                ));
            }
            _ => {}
        }
        for statistic in self.extended_statistics.iter().flatten() {
            check_extended_statistic("ExtendedStatistics", statistic)?;
        }
        check_dimensions(self.dimensions.as_deref())?;
        check_period(self.period)?;
        check_times(self.start_time, self.end_time)?;
        let seconds = (self.end_time - self.start_time) as u64;
        let points = seconds.div_ceil(self.period as u64);
        match points > limits::STATISTICS_POINTS_MAX {
            true => Err(Error::too_many_points(points, limits::STATISTICS_POINTS_MAX)),
            false => Ok(()),
        }
    }
}

impl GetMetricDataInput {
    /// The window, and that the queries are few and well-formed.
    pub fn check(&self) -> Result<(), Error> {
        let times = [self.start_time, self.end_time];
        if times.iter().any(|time| !is_time(*time)) || self.start_time >= self.end_time {
            return Err(Error::validation("The value for parameter StartTime must be less than EndTime."));
        }
        if let Some(max) = self.max_datapoints
            && !(1..=limits::DATA_POINTS_MAX as i32).contains(&max)
        {
            return Err(Error::validation(format!(
                "The value {max} for parameter MaxDatapoints is not valid: it is between 1 and {}.",
                limits::DATA_POINTS_MAX
            )));
        }
        check_queries(&self.metric_data_queries)
    }
}

impl DescribeAlarmsInput {
    /// Names and a prefix exclude each other.
    pub fn check(&self) -> Result<(), Error> {
        match self.alarm_names.is_some() && self.alarm_name_prefix.is_some() {
            true => Err(Error::invalid_combination(
                "AlarmNamePrefix and AlarmNames cannot be specified in the same call.",
            )),
            false => Ok(()),
        }
    }
}

impl GetInsightRuleReportInput {
    /// The window, the period, and how many contributors.
    pub fn check(&self) -> Result<(), Error> {
        check_period(self.period)?;
        check_times(self.start_time, self.end_time)?;
        let count = self.max_contributor_count.unwrap_or(limits::CONTRIBUTORS);
        if !(1..=limits::CONTRIBUTORS_MAX).contains(&count) {
            return Err(Error::invalid_value(format!(
                "The value {count} for parameter MaxContributorCount is not valid: rules of DynamoDB report 1 to {} \
                 contributors.",
                limits::CONTRIBUTORS_MAX
            )));
        }
        match self.order_by.as_deref() {
            None | Some("Sum" | "Maximum") => Ok(()),
            Some(other) => Err(Error::invalid_value(format!(
                "The value {other} for parameter OrderBy is not valid: it is Sum or Maximum."
            ))),
        }
    }
}

impl PutMetricAlarmInput {
    /// What is watched, how, and against what.
    pub fn check(&self) -> Result<(), Error> {
        if self.evaluation_criteria.is_some() || self.evaluation_window.is_some() {
            return Err(Error::validation(
                "Lodestone evaluates alarms on metrics and metric math; leave out EvaluationCriteria and \
                 EvaluationWindow",
            ));
        }
        if self.threshold_metric_id.is_some() {
            return Err(Error::validation(
                "Lodestone has no anomaly detection; compare with Threshold instead of ThresholdMetricId",
            ));
        }
        if self.comparison_operator.is_none() {
            return Err(Error::missing_parameter("ComparisonOperator"));
        }
        let periods = self.evaluation_periods.ok_or_else(|| Error::missing_parameter("EvaluationPeriods"))?;
        if self.threshold.is_none() {
            return Err(Error::missing_parameter("Threshold"));
        }
        if self.datapoints_to_alarm.is_some_and(|points| points > periods) {
            return Err(Error::validation(
                "DatapointsToAlarm must be less than or equal to EvaluationPeriods.",
            ));
        }
        match self.treat_missing_data.as_deref() {
            None | Some("missing" | "notBreaching" | "breaching" | "ignore") => {}
            Some(other) => {
                return Err(Error::validation(format!(
                    "The value {other} is not supported for TreatMissingData parameter. Valid values are \
                     [breaching, notBreaching, ignore, missing]."
                )));
            }
        }
        let period = match &self.metrics {
            Some(queries) => self.check_math(queries)?,
            None => self.check_metric()?,
        };
        let seconds = i64::from(period) * i64::from(periods);
        let seconds_max = if period < 3600 {
            limits::ALARM_SECONDS_MAX_OF_SHORT_PERIODS
        } else {
            limits::ALARM_SECONDS_MAX
        };
        match seconds > seconds_max {
            true => Err(Error::validation(format!(
                "Metrics cannot be checked across more than {seconds_max} seconds (EvaluationPeriods * Period must \
                 be <= {seconds_max})."
            ))),
            false => Ok(()),
        }
    }

    /// An alarm on one metric; gives back its period.
    fn check_metric(&self) -> Result<i32, Error> {
        if self.metric_name.is_none() {
            return Err(Error::missing_parameter("MetricName"));
        }
        if self.namespace.is_none() {
            return Err(Error::missing_parameter("Namespace"));
        }
        match (&self.statistic, &self.extended_statistic) {
            (None, None) => return Err(Error::missing_parameter("Statistic")),
            (Some(_), Some(_)) => {
                return Err(Error::invalid_combination(
                    "Statistic and ExtendedStatistic cannot be specified together.",
                ));
            }
            (None, Some(statistic)) => check_extended_statistic("ExtendedStatistic", statistic)?,
            (Some(_), None) => {}
        }
        match self.evaluate_low_sample_count_percentile.as_deref() {
            None | Some("evaluate" | "ignore") => {}
            Some(other) => {
                return Err(Error::validation(format!(
                    "The value {other} is not supported for EvaluateLowSampleCountPercentile parameter. Valid values are \
                     [evaluate, ignore]."
                )));
            }
        }
        check_dimensions(self.dimensions.as_deref())?;
        let period = self.period.ok_or_else(|| Error::missing_parameter("Period"))?;
        check_period(period)?;
        Ok(period)
    }

    /// An alarm on metric math; gives back the period of its metrics.
    fn check_math(&self, queries: &[MetricDataQuery]) -> Result<i32, Error> {
        if self.metric_name.is_some() || self.namespace.is_some() || self.period.is_some() {
            return Err(Error::validation(
                "Metrics can't be specified together with MetricName, Namespace or Period.",
            ));
        }
        check_queries(queries)?;
        let shown = queries.iter().filter(|query| query.return_data.unwrap_or(true)).count();
        if shown != 1 {
            return Err(Error::validation("Exactly one element of the metrics list should return data."));
        }
        let periods: BTreeSet<i32> = queries.iter().filter_map(MetricDataQuery::own_period).collect();
        match Vec::from_iter(periods)[..] {
            [period] => Ok(period),
            _ => Err(Error::validation("All metrics of an alarm must have the same period.")),
        }
    }
}

impl MetricDataQuery {
    /// The period of its metric, or of its expression.
    pub fn own_period(&self) -> Option<i32> {
        self.metric_stat.as_ref().map(|stat| stat.period).or(self.period)
    }
}

fn check_queries(queries: &[MetricDataQuery]) -> Result<(), Error> {
    if queries.is_empty() || queries.len() > limits::DATA_QUERIES_MAX {
        return Err(Error::validation(format!(
            "The collection MetricDataQueries must have 1 to {} elements.",
            limits::DATA_QUERIES_MAX
        )));
    }
    let mut ids = BTreeSet::new();
    for query in queries {
        check_query(query)?;
        if !ids.insert(query.id.as_str()) {
            return Err(Error::validation(format!(
                "The value '{}' for parameter Id is not unique in MetricDataQueries.",
                query.id
            )));
        }
    }
    Ok(())
}

fn check_query(query: &MetricDataQuery) -> Result<(), Error> {
    let id = &query.id;
    let is_id = id.starts_with(|first: char| first.is_ascii_lowercase())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_id {
        return Err(Error::validation(format!(
            "The value '{id}' for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$."
        )));
    }
    match (&query.metric_stat, &query.expression) {
        (Some(stat), None) => {
            check_statistic(&stat.stat)?;
            if stat.metric.namespace.is_none() || stat.metric.metric_name.is_none() {
                return Err(Error::validation(format!(
                    "The metric of '{id}' must have a Namespace and a MetricName."
                )));
            }
            check_dimensions(stat.metric.dimensions.as_deref()).map_err(as_validation)?;
            check_period(stat.period).map_err(as_validation)
        }
        (None, Some(_)) => query.period.map_or(Ok(()), check_period).map_err(as_validation),
        _ => Err(Error::validation(format!(
            "Exactly one of MetricStat and Expression must be specified for '{id}'."
        ))),
    }
}

/// Operations with queries report everything under one name.
fn as_validation(error: Error) -> Error {
    Error::validation(error.message)
}

fn check_statistic(statistic: &str) -> Result<(), Error> {
    match statistic {
        "SampleCount" | "Average" | "Sum" | "Minimum" | "Maximum" => Ok(()),
        other => check_extended_statistic("Stat", other).map_err(as_validation),
    }
}

fn check_extended_statistic(parameter: &str, statistic: &str) -> Result<(), Error> {
    match ExtendedStatistic::named(statistic) {
        Some(_) => Ok(()),
        None => Err(Error::invalid_value(format!(
            "The value {statistic} for parameter {parameter} is not supported."
        ))),
    }
}

/// A name at most once.
fn check_dimensions(dimensions: Option<&[Dimension]>) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for dimension in dimensions.unwrap_or_default() {
        if !names.insert(dimension.name.as_str()) {
            return Err(Error::invalid_value(format!(
                "Each dimension may be given once: {} is there twice.",
                dimension.name
            )));
        }
    }
    Ok(())
}

fn check_period(period: i32) -> Result<(), Error> {
    match period > 0 && period % 60 == 0 {
        true => Ok(()),
        false => Err(Error::invalid_value(
            "The parameter Period must be a multiple of 60: metrics of DynamoDB have a point for each minute.",
        )),
    }
}

fn check_times(start: f64, end: f64) -> Result<(), Error> {
    match is_time(start) && is_time(end) && start < end {
        true => Ok(()),
        false => {
            Err(Error::invalid_value("The parameter StartTime must be less than the parameter EndTime."))
        }
    }
}

/// Between 1970 and the year 9999, so that all that is calculated with it stays in range.
fn is_time(seconds: f64) -> bool {
    (0.0..=253_402_300_799.0).contains(&seconds)
}
