//! The figures of one minute.

use std::borrow::Cow;

use super::Metric;
use super::distribution::Distribution;

/// The values of one metric in one minute, or in any longer time: cells add up.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// How many values there were: `SampleCount`.
    pub count: u64,
    /// `Sum`.
    pub sum: f64,
    /// `Minimum`.
    pub min: f64,
    /// `Maximum`.
    pub max: f64,
    /// How the values are distributed, for metrics that have percentiles.
    pub distribution: Option<Distribution>,
}

impl Cell {
    /// A single value of a metric.
    pub fn new(metric: Metric, value: f64) -> Cell {
        let distribution = metric.has_percentiles().then(|| Distribution::of(value, 1));
        Cell { count: 1, sum: value, min: value, max: value, distribution }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.add_figures(1, value, value, value);
        if let Some(distribution) = &mut self.distribution {
            distribution.add(value);
        }
    }

    /// Adds the values of another cell of the same metric.
    pub fn merge(&mut self, other: &Cell) {
        self.add_figures(other.count, other.sum, other.min, other.max);
        if let (Some(distribution), Some(other)) = (&mut self.distribution, &other.distribution) {
            distribution.merge(other);
        }
    }

    fn add_figures(&mut self, count: u64, sum: f64, min: f64, max: f64) {
        self.count += count;
        self.sum += sum;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// How its values are distributed, as far as that is known: also if all of them are the same.
    pub fn values(&self) -> Option<Cow<'_, Distribution>> {
        match &self.distribution {
            Some(distribution) => Some(Cow::Borrowed(distribution)),
            None => (self.min == self.max).then(|| Cow::Owned(Distribution::of(self.min, self.count))),
        }
    }

    /// The smallest value that `percent` of all values do not exceed.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let value = self.values()?.percentile(percent);
        // Buckets are wider than the values in them, and the largest value is known exactly.
        Some(if percent >= 100.0 { self.max } else { value.clamp(self.min, self.max) })
    }

    /// Whether all values are the same, and nothing but their number and one of them need be kept.
    pub(super) fn is_uniform(&self) -> bool {
        self.min == self.max && self.sum == self.min * self.count as f64
    }

    /// `Average`.
    pub fn average(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// The cells of one set of dimensions, by metric. They are few, and looked up one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    list: Vec<(Metric, Cell)>,
}

impl Cells {
    /// None.
    pub fn new() -> Cells {
        Cells::default()
    }

    /// Adds a value to a metric.
    pub fn add(&mut self, metric: Metric, value: f64) {
        match self.list.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, cell)) => cell.add(value),
            None => self.insert(metric, Cell::new(metric, value)),
        }
    }

    /// Adds a cell to a metric.
    pub fn merge_cell(&mut self, metric: Metric, cell: &Cell) {
        match self.list.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, known)) => known.merge(cell),
            None => self.insert(metric, cell.clone()),
        }
    }

    fn insert(&mut self, metric: Metric, cell: Cell) {
        let at = self.list.partition_point(|(known, _)| *known < metric);
        self.list.insert(at, (metric, cell));
    }

    /// Adds all cells of another set.
    pub fn merge(&mut self, other: &Cells) {
        for (metric, cell) in other.iter() {
            self.merge_cell(metric, cell);
        }
    }

    /// The cell of a metric, if it has any value.
    pub fn get(&self, metric: Metric) -> Option<&Cell> {
        self.list.iter().find(|(known, _)| *known == metric).map(|(_, cell)| cell)
    }

    /// All cells in the order of their metrics.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &Cell)> {
        self.list.iter().map(|(metric, cell)| (*metric, cell))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
