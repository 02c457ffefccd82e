//! GetMetricStatistics

use api::Error;
use api::cloudwatch::{Datapoint, GetMetricStatisticsInput, GetMetricStatisticsOutput, Statistic};
use capacity::metric::{Cell, Metric};
use host::Namespace;

use crate::outside::Metrics;
use crate::series::{Asked, Window, unit, value};

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
    let datapoint = |(time, cell): (u64, Cell)| datapoint(time, &cell, asked.metric, &statistics);
    Ok(GetMetricStatisticsOutput {
        datapoints: Some(points.into_iter().map(datapoint).collect()),
        label: Some(input.metric_name),
    })
}

/// A point with the statistics that were asked for, and no others.
fn datapoint(time: u64, cell: &Cell, metric: Option<Metric>, statistics: &[Statistic]) -> Datapoint {
    let of = |statistic| statistics.contains(&statistic).then(|| value(cell, statistic));
    Datapoint {
        timestamp: Some(time as f64),
        sample_count: of(Statistic::SampleCount),
        average: of(Statistic::Average),
        sum: of(Statistic::Sum),
        minimum: of(Statistic::Minimum),
        maximum: of(Statistic::Maximum),
        unit: metric.map(unit),
        extended_statistics: None,
    }
}
