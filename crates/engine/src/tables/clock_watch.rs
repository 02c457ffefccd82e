//! Watches the clock. Positions in logs are times, so a wrong clock could do harm in two ways:
//!
//! - It leaps ahead: items would expire and records would be trimmed too soon, and every later record would have the
//!   time of the leap. So everything here goes by a [`SteadyClock`], which leaps only with a wall clock that stays where
//!   it leapt to. [`WatchClock`] compares the two every second.
//! - It goes back, or it was ahead when the database was last open: the newest records are ahead of the date. Order
//!   stays: later records come behind them. What is kept for a time is kept longer, because ages go by the date. But a
//!   time that the date passes now says nothing about later records. Such times are noted with the table for as long
//!   as it could be restored to them, and a restore to one of them is refused ([`NoteDoubtfulTimes`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::{ClockEvent, LEAP_MIN};
use store::{Log, LogPosition, StoreError};

use super::Tables;
use super::catalog::LiveTable;
use crate::background::Job;
use crate::base::stream::iso_8601_ms;
use crate::base::table::{DoubtfulTime, Table};

const INTERVAL: Duration = Duration::from_secs(1);
/// No table can be restored to a time that is longer ago.
const KEPT_US: u64 = 35 * 24 * 60 * 60 * 1_000_000;

/// Compares the clocks of this server, for as long as the database is open.
pub struct WatchClock {
    pub tables: Arc<Tables>,
}

impl Job for WatchClock {
    fn name(&self) -> &'static str {
        "watch of the clock"
    }

    fn subject(&self) -> String {
        "this server".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        match self.tables.steady.check() {
            Some(ClockEvent::Leapt(_)) => {
                if let Some(notice) = self.tables.clock_notice() {
                    tracing::warn!("{notice}");
                }
            }
            Some(ClockEvent::Returned) => tracing::warn!("the system's clock shows the right date again"),
            Some(ClockEvent::Believed(by_us)) => tracing::warn!(
                "the date was set {}: the system's clock has stayed there since it leapt",
                direction(by_us)
            ),
            None => {}
        }
        Ok(())
    }
}

/// Notes which times tables can't be restored to, while records are ahead of the date.
pub struct NoteDoubtfulTimes {
    tables: Arc<Tables>,
    /// Whether there may be something to note or to end.
    may_be_open: AtomicBool,
}

impl NoteDoubtfulTimes {
    /// The first run looks at all tables: another run of the program may have left them.
    pub fn new(tables: Arc<Tables>) -> NoteDoubtfulTimes {
        NoteDoubtfulTimes { tables, may_be_open: AtomicBool::new(true) }
    }
}

impl Job for NoteDoubtfulTimes {
    fn name(&self) -> &'static str {
        "note of doubtful times"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        let is_ahead = self.tables.ahead_us().is_some();
        if !is_ahead && !self.may_be_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut is_open = false;
        for table in self.tables.catalog.all_rows_once() {
            if let Some(table) = self.tables.note_doubtful_time(&table).await? {
                is_open |= table.doubtful_times.last().is_some_and(|time| time.until_us.is_none());
            }
        }
        self.may_be_open.store(is_ahead || is_open, Ordering::Relaxed);
        Ok(())
    }
}

impl Tables {
    /// The date, in microseconds since 1970: how old something is goes by it. The clock of commits may be ahead of it.
    pub fn date_us(&self) -> u64 {
        self.environment.now_us()
    }

    /// How far records are ahead of the date; none if it is no more than clocks may differ.
    fn ahead_us(&self) -> Option<u64> {
        let ahead_us = self.clock.latest_us().saturating_sub(self.date_us());
        (ahead_us > micros(LEAP_MIN)).then_some(ahead_us)
    }

    /// What is wrong with the clock, for the operator; none if nothing is.
    pub fn clock_notice(&self) -> Option<String> {
        if let Some((by_us, rest)) = self.steady.leap() {
            return Some(format!(
                "the system's clock was set {}. Dates go on without it: expiry, retention and restore points keep to \
                 the time that has passed. If the clock stays there, it is believed in {}, or after a restart",
                direction(by_us),
                shown(rest)
            ));
        }
        let (ahead_us, latest_us) = (self.ahead_us()?, self.clock.latest_us());
        Some(format!(
            "change records are {} ahead of the system's clock, which was or is wrong. Until {}Z later changes are \
             recorded behind them, and tables can't be restored to a time in between. Backups, the latest restorable \
             time and earlier times are not affected",
            shown(Duration::from_micros(ahead_us)),
            iso_8601_ms(latest_us / 1000)
        ))
    }

    /// The span of doubtful times that this one is in. What is not noted yet is noted first.
    pub(crate) async fn doubtful_time(
        &self,
        table: &LiveTable,
        time_us: u64,
    ) -> Result<Option<DoubtfulTime>, StoreError> {
        let table = self.note_doubtful_time(table).await?;
        let times = table.map(|table| table.doubtful_times.clone()).unwrap_or_default();
        Ok(times.into_iter().find(|time| time.contains(time_us)))
    }

    /// Begins or ends a span of doubtful times of a table, if its records are ahead of the date, or are no more.
    /// Returns the table; none if it is gone.
    async fn note_doubtful_time(&self, table: &LiveTable) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let Some(table) = self.catalog.successor(table) else { return Ok(None) };
        let Some(recovery) = table.recovery else { return Ok(Some(table)) };
        let (date_us, last_us) = (self.date_us(), self.catalog.last_change_us(&table).await?);
        let open = table.doubtful_times.last().filter(|time| time.until_us.is_none()).copied();
        let noted = match open {
            None if last_us > date_us + micros(LEAP_MIN) => {
                let after_us = self.last_change_until(&table, date_us).await?.max(recovery.since_us);
                // In whole milliseconds, so that the time that is shown is certain, too.
                DoubtfulTime { after_us: after_us.next_multiple_of(1000), until_us: None }
            }
            Some(open) if last_us < date_us => DoubtfulTime { until_us: Some(date_us), ..open },
            _ => return Ok(Some(table)),
        };
        tracing::warn!(table = table.name, "{}", explained(&noted));
        let note = move |table: &Table, _| {
            let mut table = table.clone();
            let is_kept = |time: &DoubtfulTime| {
                time.until_us.is_some_and(|until_us| until_us > date_us.saturating_sub(KEPT_US))
            };
            table.doubtful_times.retain(is_kept);
            table.doubtful_times.push(noted);
            Ok::<_, std::convert::Infallible>(table)
        };
        let replaced = self.catalog.replace(&table.namespace, &table.name, note).await?;
        Ok(replaced.and_then(Result::ok))
    }

    /// The time of the last record of a table up to a time; 0 if there is none.
    async fn last_change_until(&self, table: &Table, time_us: u64) -> Result<u64, StoreError> {
        let mut last_us = 0;
        for log in table.log.logs() {
            last_us = last_us.max(self.last_record_until(log, time_us).await?);
        }
        Ok(last_us)
    }

    /// Logs are read forwards, so the last record is found by halving the time in which it is: about fifty reads.
    async fn last_record_until(&self, log: Log, time_us: u64) -> Result<u64, StoreError> {
        // Behind `after` and up to `time_us` there is no record; at or behind `from` there may be one.
        let (mut from_us, mut after_us) = (0, time_us);
        while from_us < after_us {
            let middle_us = from_us + (after_us - from_us) / 2;
            let next = self.store.read_log(log, LogPosition::through(middle_us), 1).await?;
            match next.first().map(|(position, _)| position.time_us()).filter(|next_us| *next_us <= time_us) {
                Some(next_us) => from_us = next_us,
                None => after_us = middle_us,
            }
        }
        Ok(from_us)
    }
}

fn explained(time: &DoubtfulTime) -> String {
    let after = iso_8601_ms(time.after_us / 1000);
    match time.until_us {
        None => format!(
            "changes are recorded under times that are still to come, because the clock was or is wrong: the table \
             can't be restored to a time after {after}Z, except to the latest"
        ),
        Some(until_us) => format!(
            "times of changes are right again: the table can't be restored to a time between {after}Z and {}Z",
            iso_8601_ms(until_us / 1000)
        ),
    }
}

fn direction(by_us: i64) -> String {
    let time = shown(Duration::from_micros(by_us.unsigned_abs()));
    if by_us < 0 { format!("back by {time}") } else { format!("forward by {time}") }
}

/// A time in whole seconds.
fn shown(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
