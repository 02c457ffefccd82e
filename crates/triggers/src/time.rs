//! Times as events and records of failures spell them.

use std::time::{Duration, UNIX_EPOCH};

/// `2026-11-17T01:20:00Z`
pub fn to_seconds(time_ms: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(time_ms)).to_string()
}

/// `2026-11-17T01:20:00.000Z`
pub fn to_milliseconds(time_ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(time_ms)).to_string()
}
