//! GetMetricData: many metrics at once, and expressions over them.

use std::collections::BTreeMap;

use api::Error;
use api::cloudwatch::{
    GetMetricDataInput, GetMetricDataOutput, MetricDataQuery, MetricDataResult, ScanBy, StatusCode, limits,
};
use host::Namespace;

use crate::listing::page_start;
use crate::math::{self, Series};
use crate::outside::Metrics;
use crate::series::{Asked, Window, statistic, value};

/// Points that all queries of a request may have together. Only some of them fit into one answer.
const CALCULATED_POINTS_MAX: u64 = 5 * limits::DATA_POINTS_MAX as u64;

pub async fn get(
    metrics: &dyn Metrics,
    namespace: &Namespace,
    input: GetMetricDataInput,
    now_seconds: u64,
) -> Result<GetMetricDataOutput, Error> {
    let span = (input.start_time, input.end_time);
    let series = calculate(metrics, namespace, &input.metric_data_queries, span, now_seconds).await?;
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

/// The series of every query, by id.
pub async fn calculate(
    metrics: &dyn Metrics,
    namespace: &Namespace,
    queries: &[MetricDataQuery],
    (start, end): (f64, f64),
    now_seconds: u64,
) -> Result<BTreeMap<String, Series>, Error> {
    let window = |period: i32| Window::rounded(start, end, period, now_seconds);
    let stats = || queries.iter().filter_map(|query| Some((query, query.metric_stat.as_ref()?)));
    let points: u64 = stats().map(|(_, stat)| window(stat.period).periods()).sum();
    if points > CALCULATED_POINTS_MAX {
        return Err(Error::validation(Error::too_many_points(points, CALCULATED_POINTS_MAX).message));
    }
    let mut known = BTreeMap::new();
    for (query, stat) in stats() {
        let window = window(stat.period);
        let cells = Asked::of_stat(stat).read(metrics, namespace, &window, now_seconds).await?;
        let statistic = statistic(&stat.stat);
        let points = cells.iter().map(|(time, cell)| (*time, value(cell, statistic))).collect();
        known.insert(query.id.clone(), Series { points, window });
    }
    let expressions =
        queries.iter().filter_map(|query| Some((query.id.as_str(), query.expression.as_deref()?)));
    math::calculate_all(expressions.collect(), known).map_err(Error::validation)
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
