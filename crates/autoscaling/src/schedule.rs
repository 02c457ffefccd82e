//! When a scheduled action is due: `at(…)`, `rate(…)` and `cron(…)`. Pure.
//!
//! A cron expression has six fields: minutes, hours, day of month, month, day of week (1 is Sunday) and year.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const MINUTE_MS: i64 = 60_000;
/// The longest time of which every minute is looked at: after a pause of the process, what is older is missed.
const MINUTES_MAX: i64 = 24 * 60;
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A schedule in a time zone.
#[derive(Clone, Debug)]
pub struct Schedule {
    times: Times,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum Times {
    At { ms: i64 },
    Rate { ms: i64 },
    Cron(Box<[Field; 6]>),
}

/// The values of a field, as a set; none if every value fits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field(Option<Vec<i32>>);

/// What is wrong with a schedule.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum ScheduleError {
    #[error("Schedule must be at(yyyy-mm-ddThh:mm:ss), rate(value unit) or cron(fields)")]
    Form,
    #[error("The time zone {0} is not known")]
    Zone(String),
    #[error("A rate is a positive number of minutes, hours or days: rate(5 minutes)")]
    Rate,
    #[error("A cron expression has six fields: minutes hours day-of-month month day-of-week year")]
    FieldCount,
    #[error("The field {0} of the cron expression is not valid")]
    Field(String),
    #[error("One of day-of-month and day-of-week must be ?")]
    Days,
}

impl Schedule {
    /// A schedule in an IANA time zone; UTC if there is none.
    pub fn parse(text: &str, zone: Option<&str>) -> Result<Schedule, ScheduleError> {
        let zone = match zone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
        };
        let (kind, rest) = text.trim().split_once('(').ok_or(ScheduleError::Form)?;
        let inner = rest.strip_suffix(')').ok_or(ScheduleError::Form)?.trim();
        let times = match kind {
            "at" => {
                let time: DateTime = inner.parse().map_err(|_| ScheduleError::Form)?;
                let time = time.to_zoned(zone.clone()).map_err(|_| ScheduleError::Form)?;
                Times::At { ms: time.timestamp().as_millisecond() }
            }
            "rate" => Times::Rate { ms: parse_rate(inner)? },
            "cron" => Times::Cron(Box::new(parse_cron(inner)?)),
            _ => return Err(ScheduleError::Form),
        };
        Ok(Schedule { times, zone })
    }

    /// Whether it is due after one time and not later than another. Rates count from `origin_ms`.
    pub fn is_due(&self, origin_ms: u64, after_ms: u64, until_ms: u64) -> bool {
        let [origin, after, until] = [origin_ms, after_ms, until_ms].map(|ms| i64::try_from(ms).unwrap_or(0));
        if until <= after {
            return false;
        }
        match &self.times {
            Times::At { ms } => (after + 1..=until).contains(ms),
            Times::Rate { ms } => {
                let count = |time: i64| (time - origin).max(0) / ms;
                count(until) > count(after)
            }
            Times::Cron(fields) => {
                let last = until.div_euclid(MINUTE_MS);
                let first = (after.div_euclid(MINUTE_MS) + 1).max(last - MINUTES_MAX);
                (first..=last).any(|minute| self.fits(fields, minute * MINUTE_MS))
            }
        }
    }

    fn fits(&self, fields: &[Field; 6], ms: i64) -> bool {
        let Ok(time) = Timestamp::from_millisecond(ms) else { return false };
        let time: Zoned = time.to_zoned(self.zone.clone());
        let values = [
            i32::from(time.minute()),
            i32::from(time.hour()),
            i32::from(time.day()),
            i32::from(time.month()),
            i32::from(time.weekday().to_sunday_one_offset()),
            i32::from(time.year()),
        ];
        fields.iter().zip(values).all(|(field, value)| field.fits(value))
    }
}

fn parse_rate(text: &str) -> Result<i64, ScheduleError> {
    let (count, unit) = text.split_once(' ').ok_or(ScheduleError::Rate)?;
    let count: i64 = count.parse().map_err(|_| ScheduleError::Rate)?;
    let minutes = match (unit.trim(), count) {
        ("minute", 1) | ("minutes", _) => 1,
        ("hour", 1) | ("hours", _) => 60,
        ("day", 1) | ("days", _) => 24 * 60,
        _ => return Err(ScheduleError::Rate),
    };
    let ms = count.checked_mul(minutes * MINUTE_MS);
    ms.filter(|ms| *ms > 0).ok_or(ScheduleError::Rate)
}

fn parse_cron(text: &str) -> Result<[Field; 6], ScheduleError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [minutes, hours, day, month, weekday, year] = words[..] else {
        return Err(ScheduleError::FieldCount);
    };
    if (day == "?") == (weekday == "?") {
        return Err(ScheduleError::Days);
    }
    Ok([
        Field::parse(minutes, 0..=59, &[])?,
        Field::parse(hours, 0..=23, &[])?,
        Field::parse(day, 1..=31, &[])?,
        Field::parse(month, 1..=12, &MONTHS)?,
        Field::parse(weekday, 1..=7, &WEEKDAYS)?,
        Field::parse(year, 1970..=2199, &[])?,
    ])
}

impl Field {
    /// Values, ranges and steps, separated by commas. The first of the names means 1, the second 2, and so on.
    fn parse(
        text: &str,
        allowed: std::ops::RangeInclusive<i32>,
        names: &[&str],
    ) -> Result<Field, ScheduleError> {
        if text == "*" || text == "?" {
            return Ok(Field(None));
        }
        let wrong = || ScheduleError::Field(text.to_owned());
        let value = |word: &str| {
            let named = names.iter().position(|name| name.eq_ignore_ascii_case(word));
            let value = named.map(|position| position as i32 + 1).or_else(|| word.parse().ok());
            value.filter(|value| allowed.contains(value)).ok_or_else(wrong)
        };
        let mut values = Vec::new();
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(step.parse::<usize>().map_err(|_| wrong())?)),
                None => (part, None),
            };
            let (first, last) = match (range, range.split_once('-')) {
                ("*", _) => (*allowed.start(), *allowed.end()),
                (_, Some((first, last))) => (value(first)?, value(last)?),
                // `5/15` goes on to the end; `5` alone does not.
                (single, None) => {
                    (value(single)?, if step.is_some() { *allowed.end() } else { value(single)? })
                }
            };
            if first > last || step == Some(0) {
                return Err(wrong());
            }
            values.extend((first..=last).step_by(step.unwrap_or(1)));
        }
        Ok(Field(Some(values)))
    }

    fn fits(&self, value: i32) -> bool {
        self.0.as_ref().is_none_or(|values| values.contains(&value))
    }
}
