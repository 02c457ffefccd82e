//! The forms in which requests and policies write times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads `20261116T120000Z`, the form of signatures.
pub fn parse_basic(text: &str) -> Option<SystemTime> {
    let bytes = text.as_bytes();
    if !is_basic(text) {
        return None;
    }
    let mut extended = *b"0000-00-00T00:00:00Z";
    for (at, from, to) in [(0, 0, 4), (5, 4, 6), (8, 6, 8), (11, 9, 11), (14, 11, 13), (17, 13, 15)] {
        extended[at..at + to - from].copy_from_slice(&bytes[from..to]);
    }
    humantime::parse_rfc3339(std::str::from_utf8(&extended).ok()?).ok()
}

/// Whether a text has the form that [`parse_basic`] reads. It need not be a time.
pub fn is_basic(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digits = |from: usize, to: usize| bytes[from..to].iter().all(u8::is_ascii_digit);
    bytes.len() == 16 && bytes[8] == b'T' && bytes[15] == b'Z' && is_digits(0, 8) && is_digits(9, 15)
}

/// The inverse of [`parse_basic`].
pub fn basic(time: SystemTime) -> String {
    let extended = extended(time);
    extended.chars().filter(|character| !matches!(character, '-' | ':')).collect()
}

/// `2026-11-16T12:00:00Z`, the form of `aws:CurrentTime`.
pub fn extended(time: SystemTime) -> String {
    // Times before 1970 and after 9999 have no such form.
    let latest = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_seconds(time.clamp(UNIX_EPOCH, latest)).to_string()
}

/// Reads a time as policies write it: seconds since 1970, a date, or a date with a time, with `Z`, an offset or
/// neither. Milliseconds since 1970.
pub fn parse_policy_date(text: &str) -> Option<i64> {
    if !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && let Ok(seconds) = text.parse::<i64>()
    {
        return seconds.checked_mul(1000);
    }
    if text.len() == "2026-11-16".len() {
        return parse_policy_date(&format!("{text}T00:00:00Z"));
    }
    if let Some(at) = text.len().checked_sub(6)
        && text.is_char_boundary(at)
        && matches!(text.as_bytes()[at], b'+' | b'-')
        && text.contains('T')
    {
        let (local, offset) = text.split_at(at);
        let (hours, minutes) = offset[1..].split_once(':')?;
        let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
        let sign = if offset.starts_with('-') { -1 } else { 1 };
        return parse_policy_date(local)?.checked_sub(sign * minutes * 60_000);
    }
    // A time without seconds.
    let text = match text.strip_suffix('Z').unwrap_or(text) {
        short if short.len() == "2026-11-16T12:00".len() => format!("{short}:00Z"),
        long => format!("{long}Z"),
    };
    let time = humantime::parse_rfc3339(&text).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_times_are_read_and_written() {
        let time = parse_basic("20261116T120005Z").expect("a time");
        assert_eq!(basic(time), "20261116T120005Z");
        assert_eq!(extended(time), "2026-11-16T12:00:05Z");
        for wrong in ["", "20261316T120000Z", "2026-11-16T12:00:00Z", "20261116T1200000", "20261116T12000éZ"]
        {
            assert_eq!(parse_basic(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn policies_write_dates_in_several_forms() {
        for text in [
            "1794830400",
            "2026-11-16T12:00:00Z",
            "2026-11-16T12:00Z",
            "2026-11-16T12:00:00",
            "2026-11-16T14:00:00+02:00",
            "2026-11-16T12:00:00.000Z",
        ] {
            assert_eq!(parse_policy_date(text), Some(1_794_830_400_000), "{text}");
        }
        assert_eq!(parse_policy_date("2026-11-16"), Some(1_794_787_200_000));
        for wrong in
            ["", "tomorrow", "2026-11-16T", "2026-13-16", "99999999999999999999", "2026-11-16T12:00:00+xx:00"]
        {
            assert_eq!(parse_policy_date(wrong), None, "{wrong}");
        }
    }
}
