//! GetMetricStatistics

use std::collections::BTreeMap;

use api::Error;
use api::cloudwatch::{
    Datapoint, ExtendedStatistic, GetMetricStatisticsInput, GetMetricStatisticsOutput, Statistic,
};
use capacity::metric::{Cell, Metric, Point};
use host::Namespace;

use crate::outside::Metrics;
use crate::series::{Asked, Window, extended_value, unit, value};

pub async fn get(
    metrics: &dyn Metrics,
    namespace: &Namespace,
    input: GetMetricStatisticsInput,
    now_seconds: u64,
) -> Result<GetMetricStatisticsOutput, Error> {
    let asked = Asked::new(&input.namespace, &input.metric_name, input.dimensions.as_deref(), input.unit);
    let window = Window::rounded(input.start_time, input.end_time, input.period, now_seconds);
    let points = asked.read(metrics, namespace, &window, now_seconds).await?;
    let statistics = input.statistics.unwrap_or_default();
    let extended = input.extended_statistics.unwrap_or_default();
    let datapoint = |(time, cell): &Point| datapoint(*time, cell, asked.metric, &statistics, &extended);
    Ok(GetMetricStatisticsOutput {
        datapoints: Some(points.iter().filter_map(datapoint).collect()),
        label: Some(input.metric_name),
    })
}

/// A point with the statistics that were asked for, and no others; none if it has no percentiles and they were.
fn datapoint(
    time: u64,
    cell: &Cell,
    metric: Option<Metric>,
    statistics: &[Statistic],
    extended: &[String],
) -> Option<Datapoint> {
    let of = |statistic| statistics.contains(&statistic).then(|| value(cell, statistic));
    let named = |name: &String| Some((name.clone(), extended_value(cell, ExtendedStatistic::named(name)?)?));
    let extended_values: BTreeMap<String, f64> = extended.iter().filter_map(named).collect();
    if !extended.is_empty() && extended_values.is_empty() {
        return None;
    }
    Some(Datapoint {
        timestamp: Some(time as f64),
        sample_count: of(Statistic::SampleCount),
        average: of(Statistic::Average),
        sum: of(Statistic::Sum),
        minimum: of(Statistic::Minimum),
        maximum: of(Statistic::Maximum),
        unit: metric.map(unit),
        extended_statistics: (!extended.is_empty()).then_some(extended_values),
    })
}
