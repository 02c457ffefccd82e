//! Heat by key range and time: which parts of a table or index were used when.
//!
//! A matrix of [`RANGES`] ranges of key hashes by time: the last hour in minutes, and the day before that in
//! quarters of an hour. A column without requests is absent. Memory: at most 60 + 97 columns of 776 bytes,
//! 122 KB for a table or index.

use std::collections::VecDeque;

use crate::throttle::Access;

/// Ranges of key hashes, of equal width.
pub const RANGES: usize = 64;
/// Minutes that are kept one by one.
pub const MINUTES: u64 = 60;
/// Minutes that are added up when they are older.
pub const QUARTER_MINUTES: u64 = 15;
/// Minutes after which nothing is kept.
pub const KEPT_MINUTES: u64 = 24 * 60;

/// What happened in one range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Square {
    /// Read units used.
    pub read: f32,
    /// Write units used.
    pub write: f32,
    /// Requests refused, or refused if it were AWS.
    pub throttled: f32,
}

/// What happened in a minute, or in a quarter of an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The first minute, counted from the epoch.
    pub minute: u64,
    /// How many minutes it covers: 1 or 15.
    pub minutes: u64,
    /// One square for each range, the lowest hashes first.
    pub squares: Box<[Square; RANGES]>,
}

/// The matrix of one table or index.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    minutes: VecDeque<Column>,
    quarters: VecDeque<Column>,
}

impl Heat {
    /// An empty one.
    pub fn new() -> Heat {
        Heat::default()
    }

    /// Notes the units that a request used.
    pub fn add(&mut self, key_hash: u64, access: Access, units: f64, now_ms: u64) {
        let square = self.square(key_hash, now_ms);
        match access {
            Access::Read => square.read += units as f32,
            Access::Write => square.write += units as f32,
        }
    }

    /// Notes that a request was refused, or would have been.
    pub fn add_throttled(&mut self, key_hash: u64, now_ms: u64) {
        self.square(key_hash, now_ms).throttled += 1.0;
    }

    /// All columns, the oldest first.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.quarters.iter().chain(&self.minutes)
    }

    fn square(&mut self, key_hash: u64, now_ms: u64) -> &mut Square {
        let minute = now_ms / 60_000;
        // A clock that goes back counts in the latest minute.
        if self.minutes.back().is_none_or(|last| last.minute < minute) {
            self.minutes.push_back(Column::new(minute, 1));
            self.age(now_ms);
            debug_assert!(self.minutes.len() as u64 <= MINUTES, "single minutes are kept for an hour");
        }
        let last = self.minutes.len() - 1;
        &mut self.minutes[last].squares[range_of(key_hash)]
    }

    /// Adds up minutes that are over an hour old, and forgets what is over a day old.
    pub fn age(&mut self, now_ms: u64) {
        let minute = now_ms / 60_000;
        while let Some(old) = pop_older(&mut self.minutes, minute, MINUTES) {
            let quarter = old.minute - old.minute % QUARTER_MINUTES;
            if self.quarters.back().is_none_or(|last| last.minute < quarter) {
                self.quarters.push_back(Column::new(quarter, QUARTER_MINUTES));
            }
            if let Some(last) = self.quarters.back_mut() {
                last.add(&old);
            }
        }
        while pop_older(&mut self.quarters, minute, KEPT_MINUTES).is_some() {}
    }
}

impl Column {
    fn new(minute: u64, minutes: u64) -> Column {
        Column { minute, minutes, squares: Box::new([Square::default(); RANGES]) }
    }

    fn add(&mut self, other: &Column) {
        for (square, other) in self.squares.iter_mut().zip(other.squares.iter()) {
            square.read += other.read;
            square.write += other.write;
            square.throttled += other.throttled;
        }
    }
}

/// Removes the oldest column if it began at least `age_minutes` ago.
fn pop_older(columns: &mut VecDeque<Column>, minute: u64, age_minutes: u64) -> Option<Column> {
    let is_old = columns.front().is_some_and(|column| column.minute + age_minutes <= minute);
    if is_old { columns.pop_front() } else { None }
}

/// The range of a key hash.
pub fn range_of(key_hash: u64) -> usize {
    (key_hash >> (64 - RANGES.trailing_zeros())) as usize
}
