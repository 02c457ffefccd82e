//! How much traffic of one kind an on-demand table or index can take: twice its previous peak.
//!
//! A peak is a minute's average. It counts as previous once it is 30 minutes old, so traffic may double every
//! 30 minutes and not faster. What was reached once never falls: this is the table's warm throughput.

use crate::throttle::Access;
use crate::units::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, PARTITIONS_ON_DEMAND};

/// How old a peak must be before twice as much is there.
pub const PEAK_AGE_MINUTES: usize = 30;
const GROWTH: f64 = 2.0;

/// The throughput that a table has grown to.
#[derive(Clone, Debug)]
pub struct Growth {
    units_per_second: f64,
    /// The averages of the last minutes, in a ring.
    recent: [f64; PEAK_AGE_MINUTES],
    at: usize,
}

impl Growth {
    /// A table that sustains this many units from the start.
    pub fn new(units_per_second: u64) -> Growth {
        Growth { units_per_second: units_per_second as f64, recent: [0.0; PEAK_AGE_MINUTES], at: 0 }
    }

    /// What a new on-demand table can take.
    pub fn initial_units(access: Access) -> u64 {
        let partition = match access {
            Access::Read => PARTITION_READ_UNITS,
            Access::Write => PARTITION_WRITE_UNITS,
        };
        PARTITIONS_ON_DEMAND * partition
    }

    /// What it can take now.
    pub fn units_per_second(&self) -> f64 {
        self.units_per_second
    }

    /// Raises the sustained units to at least this many.
    pub fn raise(&mut self, units_per_second: u64) {
        self.units_per_second = self.units_per_second.max(units_per_second as f64);
    }

    /// Notes the units used in a minute. The one of 30 minutes ago becomes a previous peak.
    pub fn end_minute(&mut self, minute_sum: f64) {
        debug_assert!(self.at < PEAK_AGE_MINUTES && minute_sum.is_finite(), "a minute has a sum");
        let previous = std::mem::replace(&mut self.recent[self.at], minute_sum / 60.0);
        self.at = (self.at + 1) % PEAK_AGE_MINUTES;
        self.units_per_second = self.units_per_second.max(GROWTH * previous);
    }
}
