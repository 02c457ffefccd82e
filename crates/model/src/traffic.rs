//! How a pattern's requests are spread over the hours of a day.

use serde::Serialize;

use crate::model::Rate;

pub const HOURS: usize = 24;

/// Something per second, in each hour of a day: requests, or units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Day(pub [f64; HOURS]);

impl Day {
    pub const NOTHING: Day = Day([0.0; HOURS]);

    /// The same in every hour.
    pub fn flat(rate: f64) -> Day {
        Day([rate; HOURS])
    }

    /// A curve says how the average is spread. A peak without a curve is assumed to last one hour (the one
    /// that begins at noon), and the other hours to be equal, so that the average stays the same.
    pub fn of(rate: &Rate) -> Day {
        match (&rate.curve, rate.peak) {
            (Some(curve), _) => Day::shaped(rate.average, &curve.0),
            (None, Some(peak)) if peak > rate.average => Day::with_peak(rate.average, peak),
            (None, _) => Day::flat(rate.average),
        }
    }

    /// The same, but the busiest hour is raised to the declared peak: the load that keys must sustain.
    pub fn busiest(rate: &Rate) -> Day {
        let mut day = Day::of(rate);
        let hours = day.0.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some((hour, busiest)) = hours.map(|(hour, busiest)| (hour, *busiest)) {
            day.0[hour] = busiest.max(rate.peak());
        }
        day
    }

    fn shaped(average: f64, weights: &[f64; HOURS]) -> Day {
        let weights = weights.map(|weight| weight.max(0.0));
        let mean = weights.iter().sum::<f64>() / HOURS as f64;
        if mean > 0.0 { Day(weights.map(|weight| average * weight / mean)) } else { Day::flat(average) }
    }

    fn with_peak(average: f64, peak: f64) -> Day {
        let day = average * HOURS as f64;
        // A peak too high for the average is shorter than an hour.
        let busiest = peak.min(day);
        let mut hours = [(day - busiest) / (HOURS - 1) as f64; HOURS];
        hours[HOURS / 2] = busiest;
        Day(hours)
    }

    pub fn average(&self) -> f64 {
        self.0.iter().sum::<f64>() / HOURS as f64
    }

    pub fn peak(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    pub fn times(&self, factor: f64) -> Day {
        Day(self.0.map(|rate| rate * factor))
    }

    pub fn add(&mut self, other: &Day) {
        for (one, other) in self.0.iter_mut().zip(other.0) {
            *one += other;
        }
    }

    /// The value at a minute of the day, interpolated between the middles of the hours.
    pub fn at_minute(&self, minute: usize) -> f64 {
        let position = (minute as f64 + 0.5) / 60.0 - 0.5 + HOURS as f64;
        let (before, part) = (position.floor(), position.fract());
        let hour = |step: usize| self.0[(before as usize + step) % HOURS];
        hour(0) * (1.0 - part) + hour(1) * part
    }
}
