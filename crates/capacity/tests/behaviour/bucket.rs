//! A bucket of units: saved up, spent, owed.

use capacity::{BURST_SECONDS, Bucket};

enum Step {
    Take(f64),
    Pass(u64),
    Rate(u64),
    Open,
    Closed,
}
use Step::*;

/// What a bucket of one unit a second says.
fn check(steps: &[Step]) {
    let mut bucket = Bucket::new(1, BURST_SECONDS);
    let mut now_ms = 1_800_000_000_000;
    for (number, step) in steps.iter().enumerate() {
        match step {
            Take(units) => bucket.take(*units, now_ms),
            Pass(time_ms) => now_ms += time_ms,
            Rate(units_per_second) => bucket.set_rate(*units_per_second),
            Open => assert!(bucket.is_open(now_ms), "step {number}"),
            Closed => assert!(!bucket.is_open(now_ms), "step {number}"),
        }
    }
}

#[test]
fn five_minutes_are_saved_up_and_no_more() {
    check(&[Open, Take(299.5), Open, Take(0.5), Closed]);
    check(&[Pass(3_600_000), Take(300.0), Closed]);
    check(&[Take(300.0), Pass(1_000), Open, Take(1.0), Closed]);
    check(&[Take(300.0), Pass(300_000), Take(299.0), Open, Take(1.0), Closed]);
    check(&[Take(300.0), Pass(3_600_000), Take(300.0), Closed]);
}

#[test]
fn a_debt_is_paid_before_the_next_request() {
    check(&[Take(299.0), Open, Take(21.0), Closed, Pass(20_000), Closed, Pass(1), Open]);
    // However large it was.
    check(&[Take(80_000.0), Pass(300_000), Closed, Pass(1), Open]);
}

#[test]
fn what_is_given_back_can_be_used_again() {
    check(&[Take(300.0), Take(-300.0), Open, Take(300.0), Closed]);
    check(&[Take(-300.0), Take(300.0), Closed]);
}

#[test]
fn another_rate_goes_on_with_what_is_left() {
    check(&[Take(310.0), Rate(1000), Closed, Pass(11), Open]);
    check(&[Open, Rate(10), Take(300.0), Closed, Pass(1), Open]);
    check(&[Rate(10), Pass(300_000), Rate(1), Take(300.0), Closed]);
}

#[test]
fn a_clock_that_goes_back_adds_nothing() {
    let mut bucket = Bucket::new(1, BURST_SECONDS);
    bucket.take(300.0, 10_000);
    assert!(!bucket.is_open(5_000));
    assert!(!bucket.is_open(10_000));
    assert!(bucket.is_open(10_001));
}

#[test]
fn what_is_left_is_counted_in_units() {
    let mut bucket = Bucket::new(1, BURST_SECONDS);
    bucket.take(310.0, 0);
    assert_eq!(bucket.left(4_000), -6.0);
}
