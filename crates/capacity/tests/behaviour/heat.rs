//! The matrix of key ranges and minutes.

use capacity::Access;
use capacity::heat::{Column, Heat, RANGES, range_of};
use proptest::prelude::*;

const MINUTE_MS: u64 = 60_000;

#[test]
fn a_request_heats_its_range_and_minute() {
    let mut heat = Heat::new();
    heat.add(0, Access::Read, 0.5, 5 * MINUTE_MS);
    heat.add(u64::MAX, Access::Write, 2.0, 5 * MINUTE_MS);
    heat.add_throttled(u64::MAX, 6 * MINUTE_MS);
    let columns: Vec<&Column> = heat.columns().collect();
    assert_eq!(columns.iter().map(|column| column.minute).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(columns[0].squares[0].read, 0.5);
    assert_eq!(columns[0].squares[RANGES - 1].write, 2.0);
    assert_eq!(columns[1].squares[RANGES - 1].throttled, 1.0);
}

#[test]
fn ranges_are_of_equal_width() {
    let width = u64::MAX / RANGES as u64 + 1;
    assert_eq!(range_of(width - 1), 0);
    assert_eq!(range_of(width), 1);
    assert_eq!(range_of(u64::MAX), RANGES - 1);
}

#[test]
fn an_hour_is_kept_in_minutes_and_a_day_in_quarters() {
    let mut heat = Heat::new();
    for minute in 0..3 * 24 * 60 {
        heat.add(minute << 50, Access::Write, 1.0, minute * MINUTE_MS);
        assert!(heat.columns().count() <= 60 + 97);
    }
    let columns: Vec<&Column> = heat.columns().collect();
    let (minutes, quarters): (Vec<&Column>, Vec<&Column>) =
        columns.iter().partition(|column| column.minutes == 1);
    assert_eq!(minutes.len(), 60);
    assert!((92..=93).contains(&quarters.len()), "{}", quarters.len());
    let units = |column: &Column| column.squares.iter().map(|square| square.write).sum::<f32>();
    assert!(minutes.iter().all(|column| units(column) == 1.0));
    assert!(quarters[1..quarters.len() - 1].iter().all(|column| units(column) == 15.0));
}

proptest! {
    #[test]
    fn columns_are_in_order_and_bounded(waits in prop::collection::vec(0..400_u64, 1..300)) {
        let (mut heat, mut minute) = (Heat::new(), 1_000);
        for wait in waits {
            minute += wait;
            heat.add(wait, Access::Read, 1.0, minute * MINUTE_MS);
            heat.add(wait, Access::Read, 1.0, (minute - 1) * MINUTE_MS);
        }
        let starts: Vec<u64> = heat.columns().map(|column| column.minute).collect();
        prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1] + 15));
        prop_assert!(starts.len() <= 60 + 97);
        prop_assert!(starts.iter().all(|start| start + 24 * 60 + 15 > minute));
    }
}
