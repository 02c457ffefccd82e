//! How often throughput may be decreased, and a table switched to on-demand.

use proptest::prelude::*;

use capacity::{Decreases, Switches};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Midnight UTC of some day.
const MIDNIGHT_MS: u64 = 20_000 * DAY_MS;

#[test]
fn four_decreases_come_first_and_then_one_an_hour() {
    let mut decreases = Decreases::default();
    let at = |minute: u64| MIDNIGHT_MS + minute * MINUTE_MS;
    for minute in [10, 11, 12, 13] {
        assert!(decreases.try_take(at(minute)), "minute {minute}");
    }
    assert!(!decreases.try_take(at(14)));
    assert!(!decreases.try_take(at(72)));
    assert_eq!(decreases.next_ms(), at(73));
    assert!(decreases.try_take(at(73)));
    assert!(!decreases.try_take(at(132)));
    assert_eq!(decreases.today(at(132)), 5);
    assert_eq!(decreases.today(at(24 * 60)), 0);
    assert!(decreases.try_take(at(24 * 60)));
}

#[test]
fn the_four_must_be_within_an_hour_of_the_first() {
    let mut decreases = Decreases::default();
    assert!(decreases.try_take(MIDNIGHT_MS));
    assert!(decreases.try_take(MIDNIGHT_MS + 59 * MINUTE_MS));
    assert!(!decreases.try_take(MIDNIGHT_MS + 61 * MINUTE_MS));
    assert!(decreases.try_take(MIDNIGHT_MS + 119 * MINUTE_MS));
}

#[test]
fn a_table_may_be_switched_to_on_demand_four_times_in_24_hours() {
    let mut switches = Switches::default();
    for hour in 0..4 {
        assert!(switches.try_take(MIDNIGHT_MS + hour * HOUR_MS));
    }
    assert!(!switches.try_take(MIDNIGHT_MS + 23 * HOUR_MS));
    assert_eq!(switches.last_ms(), Some(MIDNIGHT_MS + 3 * HOUR_MS));
    assert_eq!(switches.next_ms(), MIDNIGHT_MS + 24 * HOUR_MS);
    assert!(switches.try_take(MIDNIGHT_MS + 24 * HOUR_MS));
    assert!(!switches.try_take(MIDNIGHT_MS + 24 * HOUR_MS));
    assert!(switches.try_take(MIDNIGHT_MS + 25 * HOUR_MS));
}

proptest! {
    #[test]
    fn no_day_has_more_than_27_decreases(
        waits_ms in prop::collection::vec(0..2 * HOUR_MS, 1..400),
    ) {
        let (mut decreases, mut now_ms) = (Decreases::default(), MIDNIGHT_MS);
        let mut made: Vec<u64> = Vec::new();
        for wait_ms in waits_ms {
            now_ms += wait_ms;
            if decreases.try_take(now_ms) {
                made.push(now_ms);
            }
        }
        for day in made.chunk_by(|one, other| one / DAY_MS == other / DAY_MS) {
            prop_assert!(day.len() <= 27);
            prop_assert!(day.windows(5).all(|five| five[4] - five[0] >= HOUR_MS));
        }
    }
}

#[test]
fn somebody_who_always_tries_gets_27_a_day() {
    let mut decreases = Decreases::default();
    let minutes = 0..24 * 60;
    let made = minutes.filter(|minute| decreases.try_take(MIDNIGHT_MS + minute * MINUTE_MS)).count();
    // Four in the first four minutes; the next is 60 minutes after the last of them.
    assert_eq!(made, 4 + 23);
}
