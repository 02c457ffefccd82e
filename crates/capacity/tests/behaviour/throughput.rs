//! What is known of DynamoDB's throttling, in simulated time.

use capacity::{
    Access, Billing, Cause, Decision, Enforcement, HOT_MINUTES, Learned, Part, Place, Quotas, Rate, Resource,
    Settings, Unreadable,
};

use crate::support::{INDEX, Table, causes, hash, part};

fn provisioned(read: u64, write: u64) -> Settings {
    Settings::new(Billing::Provisioned(Rate { read, write }))
}

fn on_demand() -> Settings {
    Settings::new(Billing::ON_DEMAND)
}

fn aws(settings: Settings) -> Table {
    Table::new(Enforcement::Aws, settings)
}

const HOT_KEY: u64 = 42;
const MINUTE: u64 = 60;

/// Of 4,000 provisioned units 1,600 are asked for, which is 40 %. Most of them are for one key.
#[test]
fn a_key_is_throttled_at_1000_writes_while_the_table_is_at_40_percent() {
    let mut table = aws(provisioned(100, 4_000));
    let tally = table
        .run(Access::Write, 1_600, MINUTE, |number| if number.is_multiple_of(4) { number } else { HOT_KEY });
    assert_eq!(tally.reasons(), ["TableWriteKeyRangeThroughputExceeded"]);
    // The key gets its partition's 1,000 (the first second's twice), and the others share their own.
    let expected = 1_000 * MINUTE + 1_000 + 400 * MINUTE;
    assert!(tally.admitted.abs_diff(expected) < expected / 8, "{tally:?}");
    assert!(tally.throttled() > 100 * MINUTE, "{tally:?}");
}

#[test]
fn one_key_alone_gets_exactly_its_partition() {
    for (access, rate) in [(Access::Write, 1_000), (Access::Read, 3_000)] {
        let mut table = aws(provisioned(12_000, 4_000));
        let tally = table.run(access, 2 * rate, 10 * MINUTE, |_| HOT_KEY);
        // The first second may be used twice, and the last request may cost more than is left.
        assert!(tally.admitted <= rate * 10 * MINUTE + rate + 12, "{tally:?}");
        assert!(tally.admitted >= rate * 10 * MINUTE, "{tally:?}");
    }
}

#[test]
fn servers_that_share_a_table_serve_together_what_one_would_serve() {
    for enforcement in [Enforcement::Declared, Enforcement::Aws] {
        let run = |servers: u32| -> u64 {
            let served = |_| {
                let mut table = Table::new(enforcement, provisioned(100, 30));
                table.throughput.share_among(servers);
                table.run(Access::Write, 120 / u64::from(servers), 10 * MINUTE, |number| number).admitted
            };
            (0..servers).map(served).sum()
        };
        let (alone, together) = (run(1), run(3));
        assert!(alone.abs_diff(together) <= alone / 100, "{enforcement:?}: {alone} and {together}");
    }
}

#[test]
fn what_is_left_for_a_write_is_the_share_of_one_server() {
    let mut table = Table::new(Enforcement::Declared, provisioned(100, 30));
    let one = part(Place::Table, 1);
    let alone = table.throughput.headroom(Access::Write, table.now_ms).units(&one);
    table.throughput.share_among(3);
    let mut headroom = table.throughput.headroom(Access::Write, table.now_ms);
    assert_eq!(headroom.units(&one), alone / 3.0);
    headroom.take(&[Part { units: alone / 3.0, ..one }]).unwrap();
    assert!(headroom.take(&[one]).is_err(), "nothing is left");
}

#[test]
fn a_starved_index_refuses_the_writes_of_its_table() {
    let mut table = aws(provisioned(100, 1_000)).with_index(provisioned(100, 5));
    let both = |number| vec![part(Place::Table, number), part(INDEX, number % 3)];
    let tally = table.run_parts(Access::Write, 100, 60, both);
    assert_eq!(tally.reasons(), ["IndexWriteProvisionedThroughputExceeded"]);
    // 300 seconds saved up, and what came since.
    assert!(tally.admitted.abs_diff(5 * 300 + 5 * 60) < 20, "{tally:?}");
    // A write that leaves the index alone is served, and nothing of the refused ones was charged to the table.
    let alone = table.run(Access::Write, 100, 60, |number| number);
    assert_eq!(alone.throttled(), 0);
}

#[test]
fn every_place_that_refuses_is_named_once() {
    let mut table = aws(provisioned(1, 1)).with_index(provisioned(1, 1));
    let both = [part(Place::Table, 1), part(Place::Table, 1), part(INDEX, 1)];
    let all = both.map(|part| Part { units: 10_000.0, ..part });
    assert_eq!(table.throughput.request(Access::Write, &all, table.now_ms), Decision::Admitted);
    let refused = table.throughput.request(Access::Write, &both, table.now_ms);
    let names: Vec<String> = refused.reasons().iter().map(|reason| reason.name()).collect();
    assert_eq!(names, ["TableWriteProvisionedThroughputExceeded", "IndexWriteProvisionedThroughputExceeded"]);
    assert!(!refused.is_served());
}

#[test]
fn a_new_on_demand_table_takes_4000_writes_and_12000_reads() {
    for (access, rate) in [(Access::Write, 4_000), (Access::Read, 12_000)] {
        let mut table = aws(on_demand());
        let tally = table.run(access, rate * 9 / 10, 60, |number| number);
        assert_eq!(tally.throttled(), 0, "{access:?}");
    }
}

#[test]
fn on_demand_throttles_a_cold_tenfold_spike() {
    let mut table = aws(on_demand());
    let tally = table.run(Access::Write, 38_000, 30, |number| number);
    assert_eq!(tally.reasons(), ["TableWriteKeyRangeThroughputExceeded"]);
    assert!(tally.admitted_per_second() < 4_400.0, "{tally:?}");
    assert!(tally.share() > 0.85, "{tally:?}");
}

/// 3,600 a second for a while makes 7,200 the most 30 minutes later, and that makes 14,400.
#[test]
fn on_demand_doubles_its_previous_peak_every_30_minutes() {
    let mut table = aws(on_demand());
    let mut warm = Vec::new();
    for demand in [3_600, 7_000, 13_000] {
        table.run(Access::Write, demand, 3 * MINUTE, |number| number);
        table.rest(31 * 60);
        // Any request notices that time has passed.
        table.run(Access::Write, 1, 1, |number| number);
        warm.push(table.throughput.resource(Place::Table).warm().write);
    }
    assert_eq!(warm, [7_200, 14_000, 26_000]);
    let served = table.run(Access::Write, 22_000, 20, |number| number);
    assert!(served.share() < 0.02, "{served:?}");
}

#[test]
fn on_demand_does_not_double_before_30_minutes_have_passed() {
    let mut table = aws(on_demand());
    table.run(Access::Write, 3_900, 10 * MINUTE, |number| number);
    table.rest(15 * 60);
    let tally = table.run(Access::Write, 7_600, 30, |number| number);
    assert!(tally.admitted_per_second() < 4_400.0, "{tally:?}");
}

#[test]
fn warm_throughput_never_falls() {
    let mut table = aws(Settings { warm: Some(Rate { read: 0, write: 20_000 }), ..on_demand() });
    table.rest(86_400);
    let tally = table.run(Access::Write, 18_000, 10, |number| number);
    assert!(tally.share() < 0.02, "{tally:?}");
    assert!(table.throughput.resource(Place::Table).partition_count() >= 20);
}

#[test]
fn a_table_that_was_provisioned_high_is_warm_on_demand() {
    let mut table = aws(provisioned(1_000, 10_000));
    table.throughput.set_table(provisioned(10, 10), table.now_ms);
    table.throughput.set_table(on_demand(), table.now_ms);
    let warm = table.throughput.resource(Place::Table).warm();
    assert_eq!(warm, Rate { read: 12_000, write: 10_000 });
}

#[test]
fn an_on_demand_table_stops_at_its_accounts_quota() {
    let warm = Some(Rate { read: 100_000, write: 100_000 });
    let mut table = aws(Settings { warm, ..on_demand() });
    let tally = table.run(Access::Write, 60_000, 10, |number| number);
    assert_eq!(tally.reasons(), ["TableWriteAccountLimitExceeded"]);
    assert!(tally.admitted.abs_diff(40_000 * 11) < 4_000, "{tally:?}");
    let raised = Quotas { table_write_units: 80_000, ..Quotas::default() };
    let mut table = aws(Settings { warm, quotas: raised, ..on_demand() });
    assert!(table.run(Access::Write, 60_000, 10, |number| number).share() < 0.02);
}

#[test]
fn an_on_demand_maximum_is_kept() {
    let billing = Billing::OnDemand { max_read: None, max_write: Some(50) };
    for enforcement in [Enforcement::Declared, Enforcement::Aws] {
        let mut table = Table::new(enforcement, Settings::new(billing));
        let tally = table.run(Access::Write, 100, 60, |number| number);
        assert_eq!(tally.reasons(), ["TableWriteMaxOnDemandThroughputExceeded"]);
        assert!(tally.admitted.abs_diff(50 * 60 + 50) <= 2, "{tally:?}");
        assert_eq!(table.run(Access::Read, 1_000, 10, |number| number).throttled(), 0);
    }
}

/// 300 seconds of 3 units at one moment, and then one request more: refused. After 300 seconds the same again.
#[test]
fn burst_is_300_seconds_and_not_one_more() {
    for enforcement in [Enforcement::Declared, Enforcement::Aws] {
        let mut table = Table::new(enforcement, provisioned(3, 3));
        for _ in 0..3 {
            let mut request =
                || table.throughput.request(Access::Write, &[part(Place::Table, 1)], table.now_ms);
            for number in 0..900 {
                assert_eq!(request(), Decision::Admitted, "{number}");
            }
            assert_eq!(causes(&request()), [Cause::ProvisionedThroughputExceeded]);
            table.rest(300);
        }
    }
}

#[test]
fn less_rest_saves_up_less() {
    let mut table = aws(provisioned(10, 10));
    table.run(Access::Write, 500, 60, |number| number);
    table.rest(30);
    let tally = table.run(Access::Write, 500, 1, |number| number);
    assert_eq!(tally.admitted, 30 * 10 + 10);
}

/// Four partitions of 100 units each, and one key that wants 300 of the 400: it gets them from the start.
#[test]
fn adaptive_capacity_lets_an_uneven_table_use_all_of_its_units() {
    let mut table = aws(Settings { warm: Some(Rate { read: 0, write: 4_000 }), ..provisioned(100, 400) });
    assert_eq!(table.throughput.resource(Place::Table).partition_count(), 4);
    let tally =
        table.run(
            Access::Write,
            390,
            10 * MINUTE,
            |number| if number.is_multiple_of(4) { number } else { HOT_KEY },
        );
    assert_eq!(tally.throttled(), 0);
}

/// Two keys of 700 each are in one partition: at first they share 1,000, later each has enough.
#[test]
fn a_hot_partition_splits_and_its_keys_get_apart() {
    let mut table = aws(provisioned(100, 4_000));
    let pair: Vec<u64> = (0..).filter(|key| hash(*key) < u64::MAX / 64).take(2).collect();
    let run = |table: &mut Table, minutes: u64| {
        table.run(Access::Write, 1_400, minutes * MINUTE, |number| pair[(number % 2) as usize])
    };
    let first = run(&mut table, 1);
    assert!(first.share() > 0.25, "{first:?}");
    run(&mut table, 4 * u64::from(HOT_MINUTES));
    let later = run(&mut table, 1);
    assert_eq!(later.throttled(), 0);
}

/// The hot key gets a partition of its own, so that its neighbours are no longer refused. It gets no more
/// than before.
#[test]
fn a_hot_key_is_isolated_and_never_lifted_beyond_its_partition() {
    let neighbours: Vec<u64> = (0..).filter(|key| hash(*key) > u64::MAX / 16 * 15).take(50).collect();
    let keys = |number: u64| {
        if number.is_multiple_of(8) { neighbours[(number / 8) as usize % 50] } else { neighbours[7] }
    };
    let mut table = aws(provisioned(100, 4_000));
    let before = table.run(Access::Write, 1_600, u64::from(HOT_MINUTES) * MINUTE, keys);
    assert!(before.admitted_per_second() < 1_010.0, "{before:?}");
    let after = table.run(Access::Write, 1_600, 2 * MINUTE, keys);
    // 200 for the neighbours, 1,000 for the key.
    assert!((1_190.0..1_215.0).contains(&after.admitted_per_second()), "{after:?}");

    let mut table = aws(Settings { isolates_keys: false, ..provisioned(100, 4_000) });
    let never = table.run(Access::Write, 1_600, 20 * MINUTE, keys);
    assert!(never.admitted_per_second() < 1_005.0, "{never:?}");
}

#[test]
fn ten_gigabytes_make_a_partition() {
    let mut table = aws(provisioned(10, 10));
    let count = |table: &Table| table.throughput.resource(Place::Table).partition_count();
    assert_eq!(count(&table), 1);
    table.throughput.set_bytes(Place::Table, 10 << 30);
    assert_eq!(count(&table), 1);
    table.throughput.set_bytes(Place::Table, (10 << 30) + 1);
    assert_eq!(count(&table), 2);
    table.throughput.set_bytes(Place::Table, 100 << 30);
    assert_eq!(count(&table), 16);
    // Nothing is joined again.
    table.throughput.set_bytes(Place::Table, 1);
    assert_eq!(count(&table), 16);
    table.throughput.set_bytes(Place::Table, u64::MAX);
    assert_eq!(count(&table), capacity::PARTITIONS_MAX);
}

#[test]
fn declared_knows_no_partitions() {
    let mut table = Table::new(Enforcement::Declared, provisioned(100, 4_000));
    assert_eq!(table.run(Access::Write, 3_900, 60, |_| HOT_KEY).throttled(), 0);
    let mut table = Table::new(Enforcement::Declared, on_demand());
    assert_eq!(table.run(Access::Write, 50_000, 5, |_| HOT_KEY).throttled(), 0);
}

#[test]
fn shadow_serves_everything_and_counts_what_aws_refuses() {
    let spike = |enforcement| {
        let mut table = Table::new(enforcement, provisioned(10, 10)).with_index(provisioned(5, 5));
        let both = |number| vec![part(Place::Table, number), part(INDEX, number)];
        let tally = table.run_parts(Access::Write, 50, 10 * MINUTE, both);
        let decision = table.throughput.request(Access::Write, &both(0), table.now_ms);
        (tally, decision.is_served())
    };
    let ((aws, aws_serves), (shadow, shadow_serves)) = (spike(Enforcement::Aws), spike(Enforcement::Shadow));
    assert_eq!(aws, shadow);
    assert!(aws.throttled() > 0 && !aws_serves && shadow_serves);
}

#[test]
fn off_knows_no_limit() {
    let mut table = Table::new(Enforcement::Off, provisioned(1, 1));
    assert_eq!(table.run(Access::Write, 10_000, 5, |_| HOT_KEY).throttled(), 0);
}

#[test]
fn what_is_given_back_can_be_used_again() {
    let mut table = aws(provisioned(1, 1));
    let all = Part { units: 300.0, ..part(Place::Table, 1) };
    let back = Part { units: -300.0, ..all };
    let now_ms = table.now_ms;
    assert_eq!(table.throughput.request(Access::Write, &[all], now_ms), Decision::Admitted);
    table.throughput.charge(Access::Write, &[back], now_ms);
    assert_eq!(table.throughput.request(Access::Write, &[all], now_ms), Decision::Admitted);
    assert_ne!(table.throughput.request(Access::Write, &[all], now_ms), Decision::Admitted);
}

#[test]
fn what_was_learned_outlives_a_restart() {
    let mut table = aws(on_demand());
    table.run(Access::Write, 3_600, 2 * MINUTE, |number| number);
    table.rest(31 * 60);
    table.run(Access::Write, 1, 1, |number| number);
    let learned = table.throughput.resource(Place::Table).learned();
    assert_eq!(learned.warm.write, 7_200);
    let mut again = Resource::new(on_demand(), true, table.now_ms);
    again.resume(&Learned::decode(&learned.encode()).unwrap());
    assert_eq!(again.learned(), learned);
    assert_eq!(Learned::decode(&[7, 0, 0]), Err(Unreadable::Format(7)));
    let beyond = [&[1, 0, 0][..], &[0xff; 9], &[1, 1]].concat();
    assert_eq!(Learned::decode(&beyond), Err(Unreadable::Number));
}

#[test]
fn switching_the_mode_keeps_partitions() {
    let mut table = aws(provisioned(100, 8_000));
    let count = table.throughput.resource(Place::Table).partition_count();
    table.throughput.set_table(on_demand(), table.now_ms);
    table.throughput.set_table(provisioned(5, 5), table.now_ms);
    assert_eq!(table.throughput.resource(Place::Table).partition_count(), count);
    let tally = table.run(Access::Write, 100, 30, |number| number);
    assert_eq!(tally.reasons(), ["TableWriteProvisionedThroughputExceeded"]);
}
