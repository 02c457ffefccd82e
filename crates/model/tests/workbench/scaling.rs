//! Auto scaling over a day, on figures that can be worked out by hand.

use model::cost::scaling::{Provisioned, policy, simulate};
use model::model::{Capacity, Curve, Rate};
use model::traffic::Day;

/// 70 units each second at 70 % take 100 units, in each of 24 hours.
#[test]
fn a_flat_day_is_provisioned_at_the_target() {
    let provisioned = simulate(&Day::flat(70.0), &policy(None));
    assert_eq!(provisioned.hours, [100; 24]);
    assert_eq!(provisioned.unit_hours(), 2_400);
    assert!((provisioned.utilisation - 0.7).abs() < 1e-9);
    assert_eq!(provisioned.throttled, 0.0);
}

/// 700 at noon, 70 in the other hours: the noon hour needs 1,000 units and midnight is back at 100.
#[test]
fn capacity_follows_the_curve_up_and_down() {
    let mut hours = [70.0; 24];
    hours[12] = 700.0;
    let provisioned = simulate(&Day(hours), &policy(None));
    assert!((900..=1_000).contains(&provisioned.hours[12]), "{:?}", provisioned.hours);
    assert!((100..=140).contains(&provisioned.hours[0]), "{:?}", provisioned.hours);
    assert!(provisioned.hours[12] > provisioned.hours[16]);
    assert!(provisioned.utilisation < 0.7);
}

/// 100 units are wanted and 50 are the most: half is refused, once what was saved up is gone.
#[test]
fn a_maximum_throttles() {
    let capacity = Capacity { max: Some(50), ..Capacity::default() };
    let provisioned = simulate(&Day::flat(100.0), &policy(Some(&capacity)));
    assert_eq!(provisioned.hours, [50; 24]);
    assert!((provisioned.throttled - 0.5).abs() < 0.01, "{}", provisioned.throttled);
}

#[test]
fn fixed_capacity_is_what_it_is() {
    let provisioned = Provisioned::fixed(40, &Day::flat(10.0));
    assert_eq!(provisioned.hours, [40; 24]);
    assert!((provisioned.utilisation - 0.25).abs() < 1e-9);
}

#[test]
fn nothing_asked_for_is_the_minimum() {
    assert_eq!(simulate(&Day::NOTHING, &policy(None)).hours, [1; 24]);
}

#[test]
fn a_day_keeps_its_average() {
    let rate = |peak, curve| Rate { average: 100.0, peak, curve };
    let mut weights = [1.0; 24];
    weights[3] = 10.0;
    for rate in [
        rate(None, None),
        rate(Some(400.0), None),
        rate(Some(9_999.0), None),
        rate(None, Some(Curve(weights))),
    ] {
        let day = Day::of(&rate);
        assert!((day.average() - 100.0).abs() < 1e-9, "{day:?}");
        let minutes = (0..1_440).map(|minute| day.at_minute(minute)).sum::<f64>() / 1_440.0;
        assert!((minutes - 100.0).abs() < 1e-6, "{minutes}");
    }
}
