//! From a metric and a statistic to points.

use std::collections::BTreeMap;

use api::Error;
use api::cloudwatch::{
    Dimension, ExtendedStatistic, Metric as ApiMetric, MetricStat, StandardUnit, Statistic, Trim, TrimEnd,
};
use capacity::metric::{Cell, Metric, Point, Ranks, buckets, kept_period_seconds};
use host::Namespace;

use crate::outside::{Dimensions, Metrics};

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
        let metric = Metric::named(name).filter(|metric| metric.namespace() == namespace);
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

/// A statistic that is asked for by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    Plain(Statistic),
    Extended(ExtendedStatistic),
}

impl Stat {
    /// The statistic with this name. Requests with another one were refused before.
    pub fn named(name: &str) -> Stat {
        match name {
            "SampleCount" => Stat::Plain(Statistic::SampleCount),
            "Average" => Stat::Plain(Statistic::Average),
            "Minimum" => Stat::Plain(Statistic::Minimum),
            "Maximum" => Stat::Plain(Statistic::Maximum),
            name => ExtendedStatistic::named(name).map_or(Stat::Plain(Statistic::Sum), Stat::Extended),
        }
    }

    /// Its value in a cell. Without a distribution there are no percentiles.
    pub fn of(self, cell: &Cell) -> Option<f64> {
        match self {
            Stat::Plain(statistic) => Some(value(cell, statistic)),
            Stat::Extended(statistic) => extended_value(cell, statistic),
        }
    }

    /// Its value in every cell that has one, by time.
    pub fn series(self, points: &[Point]) -> BTreeMap<u64, f64> {
        points.iter().filter_map(|(time, cell)| Some((*time, self.of(cell)?))).collect()
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

/// A statistic of a cell's distribution. As in CloudWatch, a cell that is no more than a count, a sum, a minimum and a
/// maximum has one if all of its values are the same.
pub fn extended_value(cell: &Cell, statistic: ExtendedStatistic) -> Option<f64> {
    let values = cell.values()?;
    // Buckets are wider than the values in them.
    let within = |value: f64| value.clamp(cell.min, cell.max);
    let all = values.count() as f64;
    let ranks = |trim: Trim| {
        let rank = |end: TrimEnd| match end {
            TrimEnd::Percent(percent) => all * percent / 100.0,
            TrimEnd::Value(value) => values.rank(value),
        };
        let (from, to) = (rank(trim.low), rank(trim.high));
        Ranks { from, to: to.max(from) }
    };
    let count = |ranks: Ranks| ranks.to - ranks.from;
    Some(match statistic {
        ExtendedStatistic::Percentile(percent) => return cell.percentile(percent),
        ExtendedStatistic::TrimmedCount(trim) => count(ranks(trim)),
        ExtendedStatistic::TrimmedSum(trim) => values.sum(ranks(trim)),
        ExtendedStatistic::PercentileRank(trim) => count(ranks(trim)) / all * 100.0,
        ExtendedStatistic::TrimmedMean(trim) => {
            let ranks = ranks(trim);
            let is_empty = count(ranks) <= 0.0;
            within((!is_empty).then(|| values.sum(ranks) / count(ranks))?)
        }
        ExtendedStatistic::WinsorizedMean(trim) => {
            let ranks = ranks(trim);
            let ends = ranks.from * values.at_rank(ranks.from) + (all - ranks.to) * values.at_rank(ranks.to);
            within((values.sum(ranks) + ends) / all)
        }
    })
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
