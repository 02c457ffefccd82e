//! How much traffic there is, and when: the rates of a model, a curve with a name, or a file of times and rates.

use std::collections::BTreeMap;
use std::fmt;

use super::DAY_MINUTES;
use crate::Model;

/// Four weeks: longer than anything that repeats here.
const MINUTES_MAX: usize = 28 * DAY_MINUTES;
const WEEK_DAYS: usize = 7;

/// How long to play, and what the rates of the model are multiplied by.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    minutes: usize,
    /// From a minute on, until the next of them.
    factors: BTreeMap<usize, f64>,
    /// Whether patterns have their average rate all day, and not the curves of the model.
    is_flat: bool,
}

/// A curve with a name, and what it is.
pub const CURVES: [(&str, &str); 5] = [
    ("day", "a day as the model has it"),
    ("flat", "a day at the average rates of the model"),
    ("week", "seven days as the model has them, the last two at half of the rates"),
    ("spike", "a day as the model has it, and ten times of it from 12:00 to 12:15"),
    ("launch", "a day at the average rates: a tenth of them until 09:00, and three times from then on"),
];

impl Traffic {
    /// This many days at the rates of the model.
    pub fn days(days: usize) -> Traffic {
        Traffic::minutes(days * DAY_MINUTES)
    }

    /// This many minutes from midnight on, at the rates of the model.
    pub fn minutes(minutes: usize) -> Traffic {
        Traffic { minutes, factors: BTreeMap::new(), is_flat: false }
    }

    /// A curve of [`CURVES`].
    pub fn named(name: &str) -> Option<Traffic> {
        let day = Traffic::days(1);
        Some(match name {
            "day" => day,
            "flat" => Traffic { is_flat: true, ..day },
            "week" => {
                let weekend = (WEEK_DAYS - 2) * DAY_MINUTES;
                Traffic::days(WEEK_DAYS).with_spike(weekend, 2 * DAY_MINUTES, 0.5)
            }
            "spike" => day.with_spike(12 * 60, 15, 10.0),
            "launch" => {
                let factors = BTreeMap::from([(0, 0.1), (9 * 60, 3.0)]);
                Traffic { factors, is_flat: true, ..day }
            }
            _ => return None,
        })
    }

    /// With every rate multiplied for some minutes.
    pub fn with_spike(mut self, from_minute: usize, minutes: usize, factor: f64) -> Traffic {
        let after = self.factor(from_minute + minutes);
        self.factors.retain(|minute, _| !(from_minute..from_minute + minutes).contains(minute));
        self.factors.insert(from_minute, factor.max(0.0));
        self.factors.insert(from_minute + minutes, after);
        self
    }

    /// How many minutes there are.
    pub fn length_minutes(&self) -> usize {
        self.minutes
    }

    /// What the rates of the model are multiplied by in a minute.
    pub fn factor(&self, minute: usize) -> f64 {
        self.factors.range(..=minute).next_back().map_or(1.0, |(_, factor)| *factor)
    }

    pub(super) fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Reads lines of times and rates, under the headings `time,rate` or `time,factor`.
    ///
    /// A time is `HH:MM`, `90m`, `2d 06:00` or a date with a time, and must be later than the one before. A rate is that
    /// of all patterns together, in requests each second; a factor multiplies the rates of the model. It holds until the
    /// next line, and the last one for as long as the one before it.
    pub fn read(text: &str, model: &Model) -> Result<Traffic, CurveError> {
        let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, heading) = lines.next().ok_or_else(|| CurveError::new(1, "the file is empty"))?;
        let base = match heading.split_once(',').map(|(time, value)| (time.trim(), value.trim())) {
            Some(("time", "factor")) => 1.0,
            Some(("time", "rate")) => rate(model),
            _ => return Err(CurveError::new(number, "the first line is `time,rate` or `time,factor`")),
        };
        if base <= 0.0 {
            return Err(CurveError::new(
                number,
                "no pattern of the model has a rate; use `time,factor`, or add rates",
            ));
        }
        let mut points: Vec<(usize, f64)> = Vec::new();
        let mut first = None;
        for (number, line) in lines {
            let (minute, value) = point(line).map_err(|message| CurveError::new(number, message))?;
            let minute = minute - *first.get_or_insert(minute);
            if points.last().is_some_and(|(last, _)| *last >= minute as usize) || minute < 0 {
                return Err(CurveError::new(number, "times must rise, by a minute at least"));
            }
            if minute as usize >= MINUTES_MAX {
                return Err(CurveError::new(number, "this is more than four weeks after the first line"));
            }
            points.push((minute as usize, value / base));
        }
        let minutes = match points.as_slice() {
            [] => return Err(CurveError::new(number, "there is no time and no rate")),
            [_] => DAY_MINUTES,
            [.., (before, _), (last, _)] => (2 * last - before).min(MINUTES_MAX),
        };
        Ok(Traffic { minutes, factors: points.into_iter().collect(), is_flat: true })
    }
}

/// A file of times and rates that can't be read.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveError {
    line: usize,
    message: String,
}

impl CurveError {
    fn new(line: usize, message: impl Into<String>) -> CurveError {
        CurveError { line, message: message.into() }
    }
}

impl fmt::Display for CurveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

/// The average rate of all patterns together.
fn rate(model: &Model) -> f64 {
    let rated = model.patterns.iter().filter(|pattern| pattern.external.is_none());
    rated.filter_map(|pattern| pattern.rate.as_ref()).map(|rate| rate.average).sum()
}

/// A time in minutes, and a rate or factor.
fn point(line: &str) -> Result<(i64, f64), String> {
    let (time, value) = line.split_once(',').ok_or("this is not a time, a comma and a number")?;
    let minute = minute(time.trim()).ok_or_else(|| {
        format!("{} is no time; times are like 09:30, 90m, 2d 06:00 or 2026-11-17T09:30:00Z", time.trim())
    })?;
    let number = value.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    let number = number.ok_or_else(|| format!("{} is no rate; it is a number, not below 0", value.trim()))?;
    Ok((minute, number))
}

/// Minutes since the start, or since 1970.
fn minute(text: &str) -> Option<i64> {
    if let Ok(time) = humantime::parse_rfc3339_weak(text) {
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        return i64::try_from(since.as_secs() / 60).ok();
    }
    let (days, clock) = match text.split_once(' ') {
        Some((days, clock)) if clock.contains(':') => (days.strip_suffix('d')?.parse().ok()?, clock),
        _ => (0i64, text),
    };
    if let Some((hours, minutes)) = clock.split_once(':') {
        let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
        let is_of_day = (0..=24).contains(&hours) && (0..60).contains(&minutes) && (0..=365).contains(&days);
        return is_of_day.then(|| (days * 24 + hours) * 60 + minutes);
    }
    let time = humantime::parse_duration(text).ok()?;
    i64::try_from(time.as_secs() / 60).ok()
}
