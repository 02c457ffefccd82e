//! What holds of any traffic: no limit is ever exceeded, and nothing that is within all limits is refused.

use std::collections::HashMap;

use capacity::{
    Access, Billing, Bucket, Decision, Enforcement, PARTITION_WRITE_UNITS, PARTITIONS_MAX, Part, Place, Rate,
    Settings, Throughput,
};
use proptest::prelude::*;

use crate::support::{START_MS, hash};

/// A request: how long after the one before, for which key, and of how many half units.
type Request = (u64, u64, u32);

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let wait_ms = prop_oneof![4 => 0..5_u64, 2 => 0..500_u64, 1 => 0..400_000_u64];
    prop::collection::vec((wait_ms, 0..6_u64, 1..2_000_u32), 1..400)
}

/// A debt of more than 300 seconds is forgiven. From 4 units a second on, none of the requests above leaves one: they
/// have 1,000 units at most.
fn settings() -> impl Strategy<Value = Settings> {
    let provisioned = (4..5_000_u64, 4..5_000_u64)
        .prop_map(|(read, write)| Settings::new(Billing::Provisioned(Rate { read, write })));
    let on_demand = prop::option::of(4..5_000_u64)
        .prop_map(|max_write| Settings::new(Billing::OnDemand { max_read: None, max_write }));
    prop_oneof![provisioned, on_demand]
}

/// Plays writes, and returns those that were admitted with their times.
fn play(enforcement: Enforcement, settings: Settings, requests: &[Request]) -> Vec<(u64, u64, f64)> {
    let mut throughput = Throughput::new(enforcement, settings, START_MS);
    let mut now_ms = START_MS;
    let mut admitted = Vec::new();
    for (wait_ms, key, halves) in requests {
        now_ms += wait_ms;
        let units = f64::from(*halves) / 2.0;
        let part = Part { place: Place::Table, key_hash: Some(hash(*key)), units };
        if throughput.request(Access::Write, &[part], now_ms) == Decision::Admitted {
            admitted.push((now_ms, *key, units));
        }
    }
    admitted
}

/// Whether no stretch of time has more than the rate allows: what is saved up, what comes, and one request that
/// is larger than what is left.
fn is_within(admitted: &[(u64, f64)], rate: f64, burst_seconds: f64) -> bool {
    let stretch = |from: usize| {
        let mut sum = 0.0;
        admitted[from..].iter().all(|(at_ms, units)| {
            let seconds = (at_ms - admitted[from].0) as f64 / 1_000.0;
            let is_open = sum < rate * (seconds + burst_seconds) + 1e-6;
            sum += units;
            is_open
        })
    };
    (0..admitted.len()).all(stretch)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn declared_units_are_never_exceeded(settings in settings(), requests in requests()) {
        let limit = match settings.billing {
            Billing::Provisioned(rate) => Some((rate.write as f64, 300.0)),
            Billing::OnDemand { max_write, .. } => max_write.map(|units| (units as f64, 1.0)),
        };
        for enforcement in [Enforcement::Declared, Enforcement::Aws, Enforcement::Shadow] {
            let admitted = play(enforcement, settings, &requests);
            let all: Vec<(u64, f64)> = admitted.iter().map(|(at_ms, _, units)| (*at_ms, *units)).collect();
            match limit {
                Some((rate, burst_seconds)) => prop_assert!(is_within(&all, rate, burst_seconds)),
                None if enforcement == Enforcement::Declared => prop_assert_eq!(all.len(), requests.len()),
                None => {}
            }
        }
    }

    #[test]
    fn no_key_ever_gets_more_than_a_partition(settings in settings(), requests in requests()) {
        let mut by_key: HashMap<u64, Vec<(u64, f64)>> = HashMap::new();
        for (at_ms, key, units) in play(Enforcement::Aws, settings, &requests) {
            by_key.entry(key).or_default().push((at_ms, units));
        }
        for admitted in by_key.values() {
            prop_assert!(is_within(admitted, PARTITION_WRITE_UNITS as f64, 1.0));
        }
    }

    #[test]
    fn shadow_and_aws_decide_alike(settings in settings(), requests in requests()) {
        prop_assert_eq!(
            play(Enforcement::Shadow, settings, &requests),
            play(Enforcement::Aws, settings, &requests)
        );
    }

    /// A request a second of one unit, on different keys, is below every limit.
    #[test]
    fn what_is_within_all_limits_is_served(settings in settings(), seconds in 1..2_000_u64) {
        let calm: Vec<Request> = (0..seconds).map(|second| (1_000, second, 2)).collect();
        prop_assert_eq!(play(Enforcement::Aws, settings, &calm).len(), calm.len());
    }

    /// Some keys, close together or far apart, that are hot for half an hour.
    #[test]
    fn partitions_stay_in_order_and_bounded(
        keys in prop::collection::vec((any::<u64>(), 0..64_u32, any::<bool>()), 1..5),
        settings in settings(),
        bytes in any::<u64>(),
    ) {
        let mut throughput = Throughput::new(Enforcement::Shadow, settings, START_MS);
        let before = throughput.resource(Place::Table).partition_count();
        for second in 0..30 * 60 {
            for (hash, shift, from_the_end) in &keys {
                let hash = hash >> shift;
                let key_hash = Some(if *from_the_end { u64::MAX - hash } else { hash });
                let part = Part { place: Place::Table, key_hash, units: 1_000.0 };
                throughput.request(Access::Write, &[part], START_MS + second * 1_000);
            }
        }
        let firsts = throughput.resource(Place::Table).learned().partitions;
        prop_assert_eq!(firsts[0], 0);
        prop_assert!(firsts.windows(2).all(|pair| pair[0] < pair[1]));
        let is_hot = match settings.billing {
            Billing::Provisioned(rate) => rate.write >= 4_000,
            Billing::OnDemand { max_write, .. } => max_write.is_none(),
        };
        prop_assert!(!is_hot || firsts.len() > before, "{} after {}", firsts.len(), before);
        throughput.set_bytes(Place::Table, bytes);
        prop_assert!(throughput.resource(Place::Table).partition_count() <= PARTITIONS_MAX);
    }

    #[test]
    fn a_bucket_is_open_exactly_while_something_is_left(
        rate in 1..10_000_u64,
        takes in prop::collection::vec((0..2_000_u64, 0..5_000_u32), 1..300),
    ) {
        let (mut bucket, mut now_ms) = (Bucket::new(rate, 300.0), 0);
        // In thousandths of half units, exactly.
        let per_ms = u128::from(rate) * 2;
        let most = per_ms as i128 * 300_000;
        let mut balance = most;
        for (wait_ms, halves) in takes {
            now_ms += wait_ms;
            balance = (balance + per_ms as i128 * i128::from(wait_ms)).min(most);
            prop_assert_eq!(bucket.is_open(now_ms), balance > 0);
            if balance > 0 {
                bucket.take(f64::from(halves) / 2.0, now_ms);
                balance -= i128::from(halves) * 1_000;
            }
        }
    }
}
