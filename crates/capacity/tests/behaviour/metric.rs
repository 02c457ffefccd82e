//! Cells of metrics: adding up, keeping, and answering for longer periods.

use capacity::metric::{Cell, Cells, Distribution, Metric, Ranks, buckets, kept_period_seconds};
use capacity::{Access, Cause, Unreadable};
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
    assert_eq!(*cell, Cell { count: 3, sum: 6.0, min: 0.5, max: 4.0, distribution: None });
    assert_eq!(cell.average(), 2.0);
    assert_eq!(cells.get(Metric::ConsumedWriteCapacityUnits), None);
}

fn latencies(values: impl IntoIterator<Item = f64>) -> Cells {
    let mut cells = Cells::new();
    values.into_iter().for_each(|value| cells.add(Metric::SuccessfulRequestLatency, value));
    cells
}

fn distribution(cells: &Cells) -> &Distribution {
    let cell = cells.get(Metric::SuccessfulRequestLatency).unwrap();
    cell.distribution.as_ref().unwrap()
}

#[test]
fn percentiles_are_those_of_the_sorted_values_within_two_percent() {
    // From 10 microseconds to 10 seconds, each a little larger than the one before.
    let values: Vec<f64> =
        (0..10_000).map(|step| 0.01 * 10.0_f64.powf(f64::from(step) * 6.0 / 10_000.0)).collect();
    let cells = latencies(values.iter().rev().copied());
    let found = distribution(&cells);
    for (percent, rank) in [(0.01, 1), (1.0, 100), (50.0, 5_000), (90.0, 9_000), (99.0, 9_900), (99.9, 9_990)]
    {
        let (estimate, exact) = (found.percentile(percent), values[rank - 1]);
        assert!(estimate <= exact && estimate > exact * 0.984, "p{percent}: {estimate} for {exact}");
    }
}

#[test]
fn percentiles_of_small_whole_numbers_are_exact() {
    let mut whole = Distribution::default();
    (0..=128).for_each(|value| whole.add(f64::from(value)));
    for value in 0..=128 {
        assert_eq!(whole.at_rank(f64::from(value) + 1.0), f64::from(value));
        assert_eq!(whole.rank(f64::from(value)), f64::from(value) + 1.0);
    }
    assert_eq!(whole.sum(Ranks { from: 1.0, to: 4.0 }), 1.0 + 2.0 + 3.0);
}

#[test]
fn values_beyond_every_bucket_are_counted_in_the_outermost() {
    let mut strange = Distribution::default();
    for value in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, f64::INFINITY, f64::MAX] {
        strange.add(value);
    }
    assert_eq!(strange.count(), 6);
    assert_eq!(strange.percentile(50.0), 0.0);
    assert!(strange.percentile(100.0) > 1e12);
}

#[test]
fn a_distribution_takes_few_bytes_and_never_many() {
    // Two milliseconds, half as much and twice as much, as a busy minute has them.
    let usual =
        latencies((0..60_000).map(|request| 2.0 * 2.0_f64.powf(f64::from(request % 2_001) / 1_000.0 - 1.0)));
    let bytes = usual.encode().len();
    assert!(bytes < 450, "{bytes}");
    let worst = latencies((0..3_300_000).map(|step| 2.0_f64.powf(f64::from(step) / 60_000.0 - 12.0)));
    let bytes = worst.encode().len();
    assert!(bytes < 13_000, "{bytes}");
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
    let distributions = 12 * Metric::all().filter(|metric| metric.has_percentiles()).count();
    assert!(all.encode().len() <= 1 + 39 * Metric::all().count() + distributions);
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
    // One and two milliseconds: a distribution follows.
    let latency = latencies([1.0, 2.0]).encode();
    let (figures, buckets) = latency.split_at(7);
    assert_eq!(figures, [1, 17, 0, 2, 2, 4, 6]);
    assert_eq!(buckets, [2, 129, 5, 1, 64, 1]);
    let with = |buckets: &[u8]| Cells::decode(&[figures, buckets].concat());
    assert_eq!(with(buckets), Ok(latencies([1.0, 2.0])));
    assert_eq!(with(&[]), Err(Unreadable::End));
    assert_eq!(with(&[0]), Err(Unreadable::Number), "no buckets");
    assert_eq!(with(&[2, 129, 5, 1, 0, 1]), Err(Unreadable::Number), "a bucket twice");
    assert_eq!(with(&[1, 129, 5, 3]), Err(Unreadable::Number), "more values than there were");
    assert_eq!(with(&[2, 1, 1, 255, 127, 1]), Err(Unreadable::Number), "no such bucket");
}

#[test]
fn periods_add_up_their_minutes() {
    let points = (0..10).map(|minute| (minute * 60, Cell::new(Metric::UserErrors, minute as f64)));
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
        let latencies: Vec<(Metric, f64)> =
            values.iter().map(|(_, value)| (Metric::SuccessfulRequestLatency, *value)).collect();
        let values = [values, latencies].concat();
        let (left, right) = values.split_at(at.min(values.len()));
        let mut merged = cells(left);
        merged.merge(&cells(right));
        prop_assert_eq!(merged, cells(&values));
    }
}

#[test]
fn the_facts_stand_in_the_order_of_the_numbers() {
    for (number, metric) in Metric::all().enumerate() {
        let name = metric.name();
        assert_eq!(metric as usize, number, "{name}");
        assert_eq!(format!("{metric:?}"), name);
        assert_eq!(Metric::named(name), Some(metric));
    }
}

/// Stored minutes hold these numbers.
#[test]
fn numbers_never_change() {
    assert_eq!(Metric::ConsumedReadCapacityUnits as u8, 0);
    assert_eq!(Metric::ThrottledRequests as u8, 16);
    assert_eq!(Metric::UserErrors as u8, 24);
    assert_eq!(Metric::MaxProvisionedTableWriteCapacityUtilization as u8, 38);
    assert_eq!(Metric::ClientConnections as u8, 71);
    assert_eq!(Metric::AgeOfOldestUnreplicatedRecord as u8, 75);
}

#[test]
fn a_cause_has_the_metric_of_its_name() {
    for access in Access::BOTH {
        for cause in Cause::ALL {
            let cause_name = cause.as_str().strip_suffix("Exceeded").unwrap();
            let name = format!("{}{cause_name}ThrottleEvents", access.as_str());
            assert_eq!(Metric::throttle_events_for(access, cause).name(), name);
            assert_eq!(Metric::shadow_events_for(access, cause).name(), format!("Shadow{name}"));
        }
    }
}
