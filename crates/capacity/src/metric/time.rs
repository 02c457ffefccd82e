//! How long minutes are kept, and how they answer for longer periods.

use super::cell::Cell;

const DAY_SECONDS: u64 = 86_400;

/// A time in seconds since the epoch, and the values from then on.
pub type Point = (u64, Cell);

/// The period of the cells that are kept at an age: minutes for 15 days, 5 minutes for 63, hours for 455, and
/// then nothing.
pub fn kept_period_seconds(age_seconds: u64) -> Option<u64> {
    match age_seconds / DAY_SECONDS {
        0..15 => Some(60),
        15..63 => Some(300),
        63..455 => Some(3_600),
        _ => None,
    }
}

/// Adds up the points between two times, the second excluded, into periods. A period without points is absent.
/// Periods are aligned to the epoch if the start is, and to the start if not. The points must be in order.
pub fn buckets(
    points: impl IntoIterator<Item = Point>,
    start_seconds: u64,
    end_seconds: u64,
    period_seconds: u64,
) -> Vec<Point> {
    let period_seconds = period_seconds.max(1);
    // A start that is a multiple of the period makes both the same.
    let bucket_of = |time: u64| time - (time - start_seconds) % period_seconds;
    let mut buckets: Vec<Point> = Vec::new();
    for (time, cell) in points.into_iter().filter(|(time, _)| (start_seconds..end_seconds).contains(time)) {
        let bucket = bucket_of(time);
        match buckets.last_mut().filter(|(last, _)| *last == bucket) {
            Some((_, sum)) => sum.merge(&cell),
            None => buckets.push((bucket, cell)),
        }
    }
    buckets
}
