//! From a metric and a statistic to points.

use api::Error;
use api::cloudwatch::{Dimension, Metric as ApiMetric, MetricStat, StandardUnit, Statistic};
use capacity::metric::{Cell, Metric, Point, buckets, kept_period_seconds};
use host::Namespace;

use crate::outside::{Dimensions, Metrics};

/// The only namespace with metrics.
pub const NAMESPACE: &str = "AWS/DynamoDB";

/// A metric that is asked for. It may not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// None for a name or namespace that no metric has.
    pub metric: Option<Metric>,
    pub dimensions: Dimensions,
    /// Only values of this unit.
    pub unit: Option<StandardUnit>,
}

/// A span of time, and its division into periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub start_seconds: u64,
    pub end_seconds: u64,
    pub period_seconds: u64,
}

impl Asked {
    pub fn new(
        namespace: &str,
        name: &str,
        dimensions: Option<&[Dimension]>,
        unit: Option<StandardUnit>,
    ) -> Asked {
        let metric = (namespace == NAMESPACE).then(|| Metric::named(name)).flatten();
        let dimensions = dimensions.unwrap_or_default().iter();
        let dimensions = dimensions.map(|dimension| (dimension.name.clone(), dimension.value.clone()));
        Asked { metric, dimensions: dimensions.collect(), unit }
    }

    pub fn of_stat(stat: &MetricStat) -> Asked {
        let ApiMetric { namespace, metric_name, dimensions } = &stat.metric;
        let (namespace, name) = (namespace.as_deref(), metric_name.as_deref());
        Asked::new(namespace.unwrap_or_default(), name.unwrap_or_default(), dimensions.as_deref(), stat.unit)
    }

    /// The cell of every period that has one. A metric that does not exist has none.
    pub async fn read(
        &self,
        metrics: &dyn Metrics,
        namespace: &Namespace,
        window: &Window,
        now_seconds: u64,
    ) -> Result<Vec<Point>, Error> {
        let Some(metric) = self.metric.filter(|metric| self.has_unit_of(*metric)) else {
            return Ok(Vec::new());
        };
        let Window { start_seconds, end_seconds, period_seconds } = *window;
        let points = metrics.points(namespace, metric, &self.dimensions, start_seconds, end_seconds).await?;
        // Figures that are kept by the hour can't answer for less.
        let fits = |(time, _): &Point| {
            let kept = kept_period_seconds(now_seconds.saturating_sub(*time));
            kept.is_some_and(|kept| period_seconds.is_multiple_of(kept))
        };
        Ok(buckets(points.into_iter().filter(fits), start_seconds, end_seconds, period_seconds))
    }

    fn has_unit_of(&self, metric: Metric) -> bool {
        self.unit.is_none_or(|unit| unit.as_str() == metric.unit().as_str())
    }
}

impl Window {
    /// The window that a request means: its start is rounded down, the more the older it is.
    pub fn rounded(start: f64, end: f64, period: i32, now_seconds: u64) -> Window {
        let (start, end) = (start as u64, end.ceil() as u64);
        let grid = kept_period_seconds(now_seconds.saturating_sub(start)).unwrap_or(3600);
        Window { start_seconds: start - start % grid, end_seconds: end, period_seconds: period as u64 }
    }

    /// How many periods it has.
    pub fn periods(&self) -> u64 {
        self.end_seconds.saturating_sub(self.start_seconds).div_ceil(self.period_seconds)
    }
}

/// A statistic of a cell.
pub fn value(cell: &Cell, statistic: Statistic) -> f64 {
    match statistic {
        Statistic::SampleCount => cell.count as f64,
        Statistic::Average => cell.average(),
        Statistic::Sum => cell.sum,
        Statistic::Minimum => cell.min,
        Statistic::Maximum => cell.max,
    }
}

/// The statistic with this name. Requests with another one were refused before.
pub fn statistic(name: &str) -> Statistic {
    match name {
        "SampleCount" => Statistic::SampleCount,
        "Average" => Statistic::Average,
        "Minimum" => Statistic::Minimum,
        "Maximum" => Statistic::Maximum,
        _ => Statistic::Sum,
    }
}

/// A metric's unit as the API has it.
pub fn unit(metric: Metric) -> StandardUnit {
    match metric.unit() {
        capacity::metric::Unit::Count => StandardUnit::Count,
        capacity::metric::Unit::Milliseconds => StandardUnit::Milliseconds,
        capacity::metric::Unit::Bytes => StandardUnit::Bytes,
        capacity::metric::Unit::Percent => StandardUnit::Percent,
    }
}
