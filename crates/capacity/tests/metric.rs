//! Cells of metrics: adding up, keeping, and answering for longer periods.

use capacity::Unreadable;
use capacity::metric::{Cell, Cells, Metric, Recorder, buckets, kept_period_seconds};
use proptest::prelude::*;

fn cells(values: &[(Metric, f64)]) -> Cells {
    let mut cells = Cells::new();
    values.iter().for_each(|(metric, value)| cells.add(*metric, *value));
    cells
}

#[test]
fn a_cell_has_the_four_statistics() {
    let cells = cells(&[1.5, 0.5, 4.0].map(|units| (Metric::ConsumedReadCapacityUnits, units)));
    let cell = cells.get(Metric::ConsumedReadCapacityUnits).unwrap();
    assert_eq!(*cell, Cell { count: 3, sum: 6.0, min: 0.5, max: 4.0 });
    assert_eq!(cell.average(), 2.0);
    assert_eq!(cells.get(Metric::ConsumedWriteCapacityUnits), None);
}

#[test]
fn the_first_value_of_a_minute_ends_the_one_before() {
    let mut recorder = Recorder::default();
    assert_eq!(recorder.add(Metric::UserErrors, 1.0, 60_000), None);
    assert_eq!(recorder.add(Metric::UserErrors, 1.0, 119_999), None);
    // A clock that goes back counts in the open minute.
    assert_eq!(recorder.add(Metric::UserErrors, 1.0, 1_000), None);
    let (minute, ended) = recorder.add(Metric::UserErrors, 1.0, 300_000).unwrap();
    assert_eq!((minute, ended.get(Metric::UserErrors).unwrap().count), (1, 3));
    assert_eq!(recorder.open_minute().0, 5);
    assert!(recorder.end_minute(360_000).is_some());
    // Nothing happened in between.
    assert_eq!(recorder.end_minute(420_000), None);
}

#[test]
fn a_minute_of_a_busy_table_takes_few_bytes() {
    let mut cells = Cells::new();
    for request in 0..60_000 {
        cells.add(Metric::ConsumedReadCapacityUnits, 0.5);
        cells.add(Metric::ConsumedWriteCapacityUnits, f64::from(1 + request % 3));
        cells.add(Metric::ConditionalCheckFailedRequests, 1.0);
    }
    assert!(cells.encode().len() < 30, "{}", cells.encode().len());
    let mut all = Cells::new();
    for metric in Metric::all() {
        all.add(metric, 0.1);
        all.add(metric, f64::MAX);
    }
    assert!(all.encode().len() <= 1 + 39 * Metric::all().count());
}

#[test]
fn bytes_that_are_not_cells_are_an_error() {
    let good = cells(&[(Metric::UserErrors, 1.0)]).encode();
    assert_eq!(good, [1, 24, 8, 1, 2]);
    let decode = |bytes: &[u8]| Cells::decode(bytes).unwrap_err();
    assert_eq!(decode(&[]), Unreadable::End);
    assert_eq!(decode(&[9, 24, 8, 1, 2]), Unreadable::Format(9));
    assert_eq!(decode(&[1, 200, 8, 1, 2]), Unreadable::Metric(200));
    assert_eq!(decode(&[1, 24, 8, 1, 2, 24, 8, 1, 2]), Unreadable::Metric(24));
    assert_eq!(decode(&[1, 24, 16, 1, 2]), Unreadable::Form(16));
    assert_eq!(decode(&[1, 24, 8, 0, 2]), Unreadable::Number);
    assert_eq!(decode(&[1, 24, 8, 1]), Unreadable::End);
    assert_eq!(decode(&[1, 24, 9, 1, 2]), Unreadable::End);
    assert_eq!(decode(&[&[1, 24, 8][..], &[0xff; 10]].concat()), Unreadable::Number);
}

#[test]
fn periods_add_up_their_minutes() {
    let points = (0..10).map(|minute| (minute * 60, Cell::new(minute as f64)));
    let sums = |start, end, period| {
        let found = buckets(points.clone(), start, end, period);
        found.iter().map(|(time, cell)| (*time, cell.sum)).collect::<Vec<_>>()
    };
    assert_eq!(sums(0, 600, 300), [(0, 10.0), (300, 35.0)]);
    // The end is excluded, and periods begin at the start.
    assert_eq!(sums(60, 540, 300), [(60, 15.0), (360, 21.0)]);
    assert_eq!(sums(6_000, 9_000, 60), []);
}

#[test]
fn older_cells_are_kept_for_longer_periods() {
    let at = |days: u64| kept_period_seconds(days * 86_400);
    assert_eq!([at(0), at(14), at(15), at(62)], [Some(60), Some(60), Some(300), Some(300)]);
    assert_eq!([at(63), at(454), at(455)], [Some(3_600), Some(3_600), None]);
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![(0..100_000_u32).prop_map(|halves| f64::from(halves) / 2.0), -1e300..1e300, -1.0..1.0,]
}

proptest! {
    #[test]
    fn cells_come_back_as_they_were_kept(values in prop::collection::vec((0..39_usize, value()), 0..200)) {
        let metrics: Vec<Metric> = Metric::all().collect();
        let values: Vec<(Metric, f64)> =
            values.into_iter().map(|(metric, value)| (metrics[metric], value)).collect();
        let cells = cells(&values);
        prop_assert_eq!(Cells::decode(&cells.encode()), Ok(cells));
    }

    #[test]
    fn any_bytes_are_cells_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(cells) = Cells::decode(&bytes) {
            prop_assert!(cells.iter().all(|(_, cell)| cell.count > 0));
        }
    }

    /// Sums of half units are exact, however the minutes are cut and merged.
    #[test]
    fn merged_cells_are_those_of_all_values(halves in prop::collection::vec(0..10_000_u32, 1..200), at in 0..200_usize) {
        let values: Vec<(Metric, f64)> = halves
            .iter()
            .map(|halves| (Metric::ConsumedWriteCapacityUnits, f64::from(*halves) / 2.0))
            .collect();
        let (left, right) = values.split_at(at.min(values.len()));
        let mut merged = cells(left);
        merged.merge(&cells(right));
        prop_assert_eq!(merged, cells(&values));
    }
}
