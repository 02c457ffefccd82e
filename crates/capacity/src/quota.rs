//! How often a table may be changed: decreases of provisioned throughput, and switches to on-demand. And how
//! much throughput a table and an account may have.

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Decreases that may be made within an hour of the first of a day.
const DECREASES_AT_FIRST: u32 = 4;
/// Switches from provisioned to on-demand in any 24 hours.
const SWITCHES_MAX: usize = 4;

/// The most throughput that an account's tables may have, in units each second, until AWS raises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Reads of one table, and of each of its global indexes.
    pub table_read_units: u64,
    /// Writes of one table, and of each of its global indexes.
    pub table_write_units: u64,
    /// Reads provisioned for all tables and indexes of an account in one Region.
    pub account_read_units: u64,
    /// Writes provisioned for all tables and indexes of an account in one Region.
    pub account_write_units: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas {
            table_read_units: 40_000,
            table_write_units: 40_000,
            account_read_units: 80_000,
            account_write_units: 80_000,
        }
    }
}

/// The decreases of one table, or of one global index, today.
///
/// Four may be made within one hour as long as they are the first of the day. After that one is allowed
/// whenever there was none in the preceding 60 minutes. A day begins at midnight UTC, and has at most 27.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decreases {
    /// How many there were on the day of the latest one.
    pub count: u32,
    /// When the first of that day was made.
    pub first_ms: u64,
    /// When the latest was made.
    pub last_ms: u64,
}

impl Decreases {
    /// How many were made on the day of `now_ms`: `NumberOfDecreasesToday`.
    pub fn today(&self, now_ms: u64) -> u32 {
        if self.last_ms / DAY_MS == now_ms / DAY_MS { self.count } else { 0 }
    }

    /// Whether one more is allowed now.
    pub fn is_allowed(&self, now_ms: u64) -> bool {
        let today = self.today(now_ms);
        let since = |then_ms: u64| now_ms.saturating_sub(then_ms);
        today == 0
            || (today < DECREASES_AT_FIRST && since(self.first_ms) < HOUR_MS)
            || since(self.last_ms) >= HOUR_MS
    }

    /// When the next one is allowed, if none is now.
    pub fn next_ms(&self) -> u64 {
        let midnight_ms = (self.last_ms / DAY_MS + 1) * DAY_MS;
        midnight_ms.min(self.last_ms + HOUR_MS)
    }

    /// Makes one, whether or not it is allowed.
    pub fn take(&mut self, now_ms: u64) {
        let today = self.today(now_ms);
        let first_ms = if today == 0 { now_ms } else { self.first_ms };
        *self = Decreases { count: today + 1, first_ms, last_ms: now_ms };
    }

    /// Makes one if it is allowed, and says whether it was.
    pub fn try_take(&mut self, now_ms: u64) -> bool {
        let allowed = self.is_allowed(now_ms);
        if allowed {
            self.take(now_ms);
        }
        allowed
    }
}

/// The latest switches of a table from provisioned to on-demand. Switches back are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// When they were made; none before the first.
    pub at_ms: [Option<u64>; SWITCHES_MAX],
}

impl Switches {
    /// Whether one more is allowed now: four in any 24 hours are.
    pub fn is_allowed(&self, now_ms: u64) -> bool {
        self.at_ms.iter().any(|at_ms| Switches::is_over(*at_ms, now_ms))
    }

    /// When the latest was made.
    pub fn last_ms(&self) -> Option<u64> {
        self.at_ms.iter().flatten().max().copied()
    }

    /// When the next one is allowed, if none is now.
    pub fn next_ms(&self) -> u64 {
        self.at_ms.iter().flatten().min().map_or(0, |at_ms| at_ms + DAY_MS)
    }

    /// Makes one, whether or not it is allowed: it takes the place of the oldest.
    pub fn take(&mut self, now_ms: u64) {
        if let Some(oldest) = self.at_ms.iter_mut().min() {
            *oldest = Some(now_ms);
        }
    }

    /// Makes one if it is allowed, and says whether it was.
    pub fn try_take(&mut self, now_ms: u64) -> bool {
        let allowed = self.is_allowed(now_ms);
        if allowed {
            self.take(now_ms);
        }
        allowed
    }

    fn is_over(at_ms: Option<u64>, now_ms: u64) -> bool {
        at_ms.is_none_or(|at_ms| now_ms.saturating_sub(at_ms) >= DAY_MS)
    }
}
