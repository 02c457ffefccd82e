//! When a scheduled action is due.

use autoscaling::{Schedule, ScheduleError};
use jiff::Timestamp;

fn ms(time: &str) -> u64 {
    time.parse::<Timestamp>().expect("a time").as_millisecond() as u64
}

fn is_due_at(schedule: &str, zone: Option<&str>, time: &str) -> bool {
    let until_ms = ms(time);
    Schedule::parse(schedule, zone).expect("a schedule").is_due(0, until_ms - 60_000, until_ms)
}

#[test]
fn an_action_at_a_time_is_due_once() {
    let schedule = Schedule::parse("at(2026-11-16T14:00:00)", None).unwrap();
    let noon = ms("2026-11-16T12:00:00Z");
    assert!(!schedule.is_due(0, noon, ms("2026-11-16T13:59:59Z")));
    assert!(schedule.is_due(0, ms("2026-11-16T13:59:59Z"), ms("2026-11-16T14:00:00Z")));
    assert!(!schedule.is_due(0, ms("2026-11-16T14:00:00Z"), ms("2026-11-16T15:00:00Z")));
}

#[test]
fn a_rate_counts_from_its_origin() {
    let schedule = Schedule::parse("rate(5 minutes)", None).unwrap();
    assert!(!schedule.is_due(60_000, 60_000, 6 * 60_000 - 1));
    assert!(schedule.is_due(60_000, 6 * 60_000 - 1, 6 * 60_000));
}

#[test]
fn a_cron_expression_names_minutes_hours_and_days() {
    let weekdays_at_nine = "cron(0 9 ? * MON-FRI *)";
    assert!(is_due_at(weekdays_at_nine, None, "2026-11-16T09:00:00Z"));
    assert!(!is_due_at(weekdays_at_nine, None, "2026-11-16T09:01:00Z"));
    assert!(!is_due_at(weekdays_at_nine, None, "2026-11-15T09:00:00Z"));
    assert!(is_due_at("cron(0/15 * * * ? *)", None, "2026-11-15T03:45:00Z"));
    assert!(!is_due_at("cron(0/15 * * * ? *)", None, "2026-11-15T03:46:00Z"));
    assert!(is_due_at("cron(30 6 1 JAN,JUL ? 2027)", None, "2027-07-01T06:30:00Z"));
    assert!(!is_due_at("cron(30 6 1 JAN,JUL ? 2027)", None, "2026-07-01T06:30:00Z"));
}

#[test]
fn a_time_zone_moves_the_clock_with_its_seasons() {
    let nine = "cron(0 9 * * ? *)";
    assert!(is_due_at(nine, Some("Europe/Zurich"), "2026-07-01T07:00:00Z"));
    assert!(is_due_at(nine, Some("Europe/Zurich"), "2026-12-01T08:00:00Z"));
}

#[test]
fn what_is_no_schedule_is_refused() {
    for text in ["", "at(noon)", "every(5 minutes)", "rate(5)", "rate(0 minutes)", "rate(2 hour)"] {
        assert!(Schedule::parse(text, None).is_err(), "{text}");
    }
    for fields in
        ["* * * * *", "* * * * * *", "60 * * * ? *", "* * L * ? *", "5-1 * * * ? *", "*/0 * * * ? *"]
    {
        assert!(Schedule::parse(&format!("cron({fields})"), None).is_err(), "{fields}");
    }
    assert_eq!(
        Schedule::parse("rate(1 day)", Some("Europe/Atlantis")).unwrap_err(),
        ScheduleError::Zone("Europe/Atlantis".to_owned())
    );
}
