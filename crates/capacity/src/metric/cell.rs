//! The figures of one minute.

use super::Metric;

/// The values of one metric in one minute, or in any longer time: cells add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// How many values there were: `SampleCount`.
    pub count: u64,
    /// `Sum`.
    pub sum: f64,
    /// `Minimum`.
    pub min: f64,
    /// `Maximum`.
    pub max: f64,
}

impl Cell {
    /// A single value.
    pub fn new(value: f64) -> Cell {
        Cell { count: 1, sum: value, min: value, max: value }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.merge(&Cell::new(value));
    }

    /// Adds the values of another cell.
    pub fn merge(&mut self, other: &Cell) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
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
        self.merge_cell(metric, &Cell::new(value));
    }

    /// Adds a cell to a metric.
    pub fn merge_cell(&mut self, metric: Metric, cell: &Cell) {
        match self.list.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, known)) => known.merge(cell),
            None => {
                let at = self.list.partition_point(|(known, _)| *known < metric);
                self.list.insert(at, (metric, *cell));
            }
        }
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

/// The cells of the minute that is not over yet.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    minute: u64,
    cells: Cells,
}

impl Recorder {
    /// Adds a value. The first value of a minute returns the cells of the minute before, if it has any.
    pub fn add(&mut self, metric: Metric, value: f64, now_ms: u64) -> Option<(u64, Cells)> {
        let ended = self.end_minute(now_ms);
        self.cells.add(metric, value);
        ended
    }

    /// Ends the minute if it is over: its number since the epoch, and its cells. A clock that goes back goes on
    /// with the minute that is open.
    pub fn end_minute(&mut self, now_ms: u64) -> Option<(u64, Cells)> {
        let minute = now_ms / 60_000;
        if minute <= self.minute {
            return None;
        }
        let ended = std::mem::replace(&mut self.minute, minute);
        let cells = std::mem::take(&mut self.cells);
        (!cells.is_empty()).then_some((ended, cells))
    }

    /// The minute that is not over yet, and its cells.
    pub fn open_minute(&self) -> (u64, &Cells) {
        (self.minute, &self.cells)
    }
}
