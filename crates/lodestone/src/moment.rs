//! Times as commands take and show them.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment: `2026-11-17T02:00:00Z`, seconds since 1970, or `10m` for ten minutes ago.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment(SystemTime);

impl Moment {
    pub fn now() -> Moment {
        Moment(now())
    }

    /// Seconds since 1970, as DynamoDB has times.
    pub fn seconds(self) -> f64 {
        self.0.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
    }

    pub fn from_seconds(seconds: f64) -> Option<Moment> {
        let since = Duration::try_from_secs_f64(seconds).ok()?;
        UNIX_EPOCH.checked_add(since).map(Moment)
    }

    fn parse(text: &str, now: SystemTime) -> Option<Moment> {
        if let Ok(seconds) = text.parse::<f64>() {
            return Moment::from_seconds(seconds);
        }
        if let Ok(time) = humantime::parse_rfc3339_weak(text) {
            return Some(Moment(time));
        }
        let ago = humantime::parse_duration(text).ok()?;
        now.checked_sub(ago).filter(|time| *time >= UNIX_EPOCH).map(Moment)
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        Moment::parse(text, now()).ok_or_else(|| {
            "a time is 2026-11-17T02:00:00Z (UTC), seconds since 1970, or how long ago: 10m, 2h, 1d"
                .to_owned()
        })
    }
}

/// `2026-11-17T02:00:00Z`, in UTC.
impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", humantime::format_rfc3339_seconds(self.0))
    }
}

/// A time in an answer of DynamoDB, to be read by people.
pub fn shown(seconds: f64) -> String {
    Moment::from_seconds(seconds).map_or_else(|| seconds.to_string(), |moment| moment.to_string())
}

#[expect(clippy::disallowed_methods, reason = "commands are given times relative to now")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, seconds: Option<f64>) {
        let now = UNIX_EPOCH + Duration::from_secs(10_000);
        assert_eq!(Moment::parse(text, now).map(Moment::seconds), seconds, "{text}");
    }

    #[test]
    fn a_time_is_a_date_or_seconds_or_how_long_ago() {
        check("1970-01-01T00:02:00Z", Some(120.0));
        check("1970-01-01 00:02:00.5", Some(120.5));
        check("120.5", Some(120.5));
        check("10m", Some(9_400.0));
        check("1h 30m", Some(4_600.0));
        for wrong in ["", "yesterday", "-5", "1970-01-01", "11000000000y"] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_time_is_shown_to_the_second() {
        assert_eq!(shown(120.75), "1970-01-01T00:02:00Z");
    }
}
