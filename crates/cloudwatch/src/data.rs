//! GetMetricData: many metrics at once, and expressions over them.

use std::collections::BTreeMap;

use api::Error;
use api::cloudwatch::{
    GetMetricDataInput, GetMetricDataOutput, MetricDataQuery, MetricDataResult, ScanBy, StatusCode, limits,
};
use host::Namespace;

use crate::insight::{self, RuleMetric};
use crate::listing::page_start;
use crate::math::{self, Expression, Series};
use crate::outside::{Insights, Metrics};
use crate::series::{Asked, Stat, Window};

/// Points that all queries of a request may have together. Only some of them fit into one answer.
const CALCULATED_POINTS_MAX: u64 = 5 * limits::DATA_POINTS_MAX as u64;

/// The period of a rule's figures, unless their query has one.
const RULE_PERIOD_SECONDS: i32 = 60;

/// Where the figures of queries come from.
#[derive(Clone, Copy)]
pub struct Source<'s> {
    pub metrics: &'s dyn Metrics,
    pub insights: &'s dyn Insights,
    pub namespace: &'s Namespace,
    pub now_seconds: u64,
}

/// The figures of rules, by query, rule and figure.
type RuleSeries = BTreeMap<(String, String, RuleMetric), Series>;

pub async fn get(source: Source<'_>, input: GetMetricDataInput) -> Result<GetMetricDataOutput, Error> {
    let span = (input.start_time, input.end_time);
    let series = source.calculate(&input.metric_data_queries, span).await?;
    let is_shown = |query: &&MetricDataQuery| query.return_data.unwrap_or(true);
    let mut results = Vec::new();
    for query in input.metric_data_queries.iter().filter(is_shown) {
        let mut points: Vec<(u64, f64)> = series[&query.id].points.clone().into_iter().collect();
        if input.scan_by.unwrap_or(ScanBy::TimestampDescending) == ScanBy::TimestampDescending {
            points.reverse();
        }
        results.push((query, points));
    }
    let max = input.max_datapoints.map_or(limits::DATA_POINTS_MAX, |max| max as usize);
    page(&results, max, input.next_token.as_deref())
}

impl Source<'_> {
    /// The series of every query, by id.
    pub async fn calculate(
        self,
        queries: &[MetricDataQuery],
        (start, end): (f64, f64),
    ) -> Result<BTreeMap<String, Series>, Error> {
        let window = |period: i32| Window::rounded(start, end, period, self.now_seconds);
        let expressions = queries.iter().filter_map(|query| Some((query, query.expression.as_deref()?)));
        let expressions = math::parse_all(expressions.map(|(query, text)| (query.id.as_str(), text)));
        let expressions = expressions.map_err(Error::validation)?;
        let stats = || queries.iter().filter_map(|query| Some((query, query.metric_stat.as_ref()?)));
        let points: u64 = stats().map(|(_, stat)| window(stat.period).periods()).sum();
        // Every minute of a rule is read.
        let rules: usize = expressions.iter().map(|(_, expression)| expression.rule_metrics().len()).sum();
        let points =
            points.saturating_add(window(RULE_PERIOD_SECONDS).periods().saturating_mul(rules as u64));
        if points > CALCULATED_POINTS_MAX {
            return Err(Error::validation(Error::too_many_points(points, CALCULATED_POINTS_MAX).message));
        }
        let mut known = BTreeMap::new();
        for (query, stat) in stats() {
            let window = window(stat.period);
            let cells =
                Asked::of_stat(stat).read(self.metrics, self.namespace, &window, self.now_seconds).await?;
            known.insert(query.id.clone(), Series { points: Stat::named(&stat.stat).series(&cells), window });
        }
        let period = |id: &str| {
            let query = queries.iter().find(|query| query.id == id);
            query.and_then(|query| query.period).unwrap_or(RULE_PERIOD_SECONDS)
        };
        let rules = self.read_rules(&expressions, |id| window(period(id))).await?;
        let of_rule = |id: &str, rule: &str, metric: RuleMetric| {
            rules.get(&(id.to_owned(), rule.to_owned(), metric)).cloned()
        };
        math::calculate_all(expressions, known, &of_rule).map_err(Error::validation)
    }

    /// The figures of rules that expressions use. Like a metric, a rule that does not exist has no points.
    async fn read_rules(
        self,
        expressions: &[(&str, Expression)],
        window: impl Fn(&str) -> Window,
    ) -> Result<RuleSeries, Error> {
        let mut read = RuleSeries::new();
        for (id, expression) in expressions {
            for (rule, metric) in expression.rule_metrics() {
                let window = window(id);
                let (start, end) = (window.start_seconds / 60, window.end_seconds.div_ceil(60));
                let minutes = self.insights.minutes(self.namespace, rule, start, end).await?;
                let points = insight::series(&minutes.unwrap_or_default(), metric, &window);
                read.insert(((*id).to_owned(), rule.to_owned(), metric), Series { points, window });
            }
        }
        Ok(read)
    }
}

/// As many points as an answer may have; the token says how many came before.
fn page(
    results: &[(&MetricDataQuery, Vec<(u64, f64)>)],
    max: usize,
    token: Option<&str>,
) -> Result<GetMetricDataOutput, Error> {
    let all: usize = results.iter().map(|(_, points)| points.len()).sum();
    let start = page_start(token, all)?;
    let end = all.min(start + max);
    let mut before = 0;
    let mut page = Vec::new();
    for (query, points) in results {
        let from = start.saturating_sub(before).min(points.len());
        let to = end.saturating_sub(before).min(points.len());
        before += points.len();
        page.push(result(query, &points[from..to], to == points.len()));
    }
    Ok(GetMetricDataOutput {
        metric_data_results: Some(page),
        next_token: (end < all).then(|| end.to_string()),
        messages: Some(Vec::new()),
    })
}

fn result(query: &MetricDataQuery, points: &[(u64, f64)], is_complete: bool) -> MetricDataResult {
    let metric_name = query.metric_stat.as_ref().and_then(|stat| stat.metric.metric_name.clone());
    MetricDataResult {
        id: Some(query.id.clone()),
        label: query.label.clone().or(metric_name).or_else(|| Some(query.id.clone())),
        timestamps: Some(points.iter().map(|(time, _)| *time as f64).collect()),
        values: Some(points.iter().map(|(_, value)| *value).collect()),
        status_code: Some(if is_complete { StatusCode::Complete } else { StatusCode::PartialData }),
        messages: None,
    }
}
