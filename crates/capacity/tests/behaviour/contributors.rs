//! The keys that are used most, against exact counts.

use std::collections::HashMap;

use capacity::Unreadable;
use capacity::contributors::{
    BYTES_MAX, KEYS_MAX, MINUTE_KEYS_MAX, Minute, Rolling, Sketch, consumed_throughput_units, report,
};
use proptest::prelude::*;

use crate::support::hash;

const KEYS: usize = 1_000_000;
const REQUESTS: u64 = 400_000;
const MINUTE_MS: u64 = 60_000;

fn name(key: u64) -> Box<[u8]> {
    format!("CUSTOMER#{key:08}").into_bytes().into()
}

/// Draws keys so that the n-th is drawn 1/n as often as the first.
struct Zipf {
    /// The share of all keys up to each.
    up_to: Vec<f64>,
    drawn: u64,
}

impl Zipf {
    fn new() -> Zipf {
        let mut sum = 0.0;
        let up_to = (1..=KEYS)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        Zipf { up_to, drawn: 0 }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let chance = hash(self.drawn) as f64 / u64::MAX as f64 * self.up_to[KEYS - 1];
        self.up_to.partition_point(|up_to| *up_to < chance) as u64
    }
}

fn true_top(counts: &HashMap<u64, f64>, count: usize) -> Vec<(Box<[u8]>, f64)> {
    let mut all: Vec<(u64, f64)> = counts.iter().map(|(key, count)| (*key, *count)).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all.into_iter().take(count).map(|(key, count)| (name(key), count)).collect()
}

/// Requests over ten minutes, each of them a write of one unit or a read of half a unit.
#[test]
fn the_top_10_of_a_million_keys_are_found_within_5_percent() {
    let (mut zipf, mut rolling, mut counts) = (Zipf::new(), Rolling::default(), HashMap::new());
    let mut minutes: Vec<Minute> = Vec::new();
    for request in 0..REQUESTS {
        let key = zipf.draw();
        let units = if request % 3 == 0 {
            consumed_throughput_units(0.0, 1.0)
        } else {
            consumed_throughput_units(0.5, 0.0)
        };
        *counts.entry(key).or_default() += units;
        let now_ms = request * 10 * MINUTE_MS / REQUESTS;
        minutes.extend(rolling.add(hash(key), units, now_ms, || name(key)));
    }
    minutes.push(rolling.open_minute());
    assert_eq!(minutes.len(), 10);
    let found = report(&minutes, 10);
    for ((key, count), found) in true_top(&counts, 10).iter().zip(&found) {
        assert_eq!(*key, found.key);
        assert!(found.value <= *count, "{found:?} of {count}");
        assert!(*count <= found.value * 1.05, "{found:?} of {count}");
    }
    let total: f64 = minutes.iter().map(|minute| minute.total).sum();
    assert_eq!(total, counts.values().sum::<f64>());
}

/// The worst order: half of the requests are for keys that come once, before the first key that counts.
#[test]
fn keys_that_become_hot_late_are_found_all_the_same() {
    let (mut zipf, mut sketch, mut counts) = (Zipf::new(), Sketch::new(), HashMap::new());
    for once in 0..REQUESTS / 2 {
        sketch.add(hash(once + (1 << 40)), 1.0, || name(once));
    }
    for _ in 0..REQUESTS / 2 {
        let key = zipf.draw();
        *counts.entry(key).or_default() += 1.0;
        sketch.add(hash(key), 1.0, || name(key));
    }
    for ((key, count), found) in true_top(&counts, 10).iter().zip(sketch.top(10)) {
        assert_eq!(*key, found.key);
        assert!(found.value <= *count && *count <= found.value * 1.05, "{found:?} of {count}");
    }
}

#[test]
fn four_sketches_of_a_table_take_less_than_4_megabytes() {
    let mut sketch = Sketch::new();
    for number in 0..50_000_u64 {
        let key = || vec![b'k'; 3_072].into_boxed_slice();
        sketch.add(hash(number), 1.0, key);
        assert!(4 * sketch.bytes() < 4_000_000, "after {number}");
    }
    assert!(sketch.bytes() > BYTES_MAX / 4);
    let mut sketch = Sketch::new();
    for number in 0..50_000 {
        sketch.add(hash(number), 1.0, || name(number));
        assert!(4 * sketch.bytes() < 4_000_000, "after {number}");
    }
}

#[test]
fn few_keys_are_counted_exactly() {
    let mut sketch = Sketch::new();
    for number in 0..KEYS_MAX as u64 * 10 {
        sketch.add(hash(number % KEYS_MAX as u64), 0.5, || name(number));
    }
    assert!(sketch.top(KEYS_MAX).iter().all(|key| key.value == 5.0 && key.error == 0.0));
    let minute = sketch.end_minute(3);
    assert_eq!((minute.minute, minute.distinct, minute.total), (3, KEYS_MAX as u64, KEYS_MAX as f64 * 5.0));
    assert_eq!(minute.contributors.len(), MINUTE_KEYS_MAX);
}

#[test]
fn many_keys_are_counted_approximately() {
    let mut sketch = Sketch::new();
    for number in 0..200_000 {
        sketch.add(hash(number), 1.0, || name(number));
    }
    let distinct = sketch.end_minute(0).distinct;
    assert!(distinct.abs_diff(200_000) < 20_000, "{distinct}");
}

#[test]
fn minutes_without_requests_leave_nothing() {
    let mut rolling = Rolling::default();
    assert_eq!(rolling.add(1, 1.0, 5 * MINUTE_MS, || name(1)), None);
    // A clock that goes back counts in the open minute.
    assert_eq!(rolling.add(1, 1.0, 4 * MINUTE_MS, || name(1)), None);
    let ended = rolling.end_minute(9 * MINUTE_MS).unwrap();
    assert_eq!((ended.minute, ended.total), (5, 2.0));
    assert_eq!(rolling.end_minute(10 * MINUTE_MS), None);
}

#[test]
fn a_minute_comes_back_as_it_was_kept() {
    let mut sketch = Sketch::new();
    for number in 0..20_000_u64 {
        sketch.add(hash(number % 9_000), 0.5 + (number % 7) as f64 * 0.3, || name(number % 9_000));
    }
    let minute = sketch.end_minute(29_000_000);
    let bytes = minute.encode();
    assert_eq!(Minute::decode(&bytes), Ok(minute));
    assert!(bytes.len() < 5_000, "{}", bytes.len());
    assert_eq!(Minute::decode(&bytes[..bytes.len() - 1]), Err(Unreadable::End));
    assert_eq!(Minute::decode(&[]), Err(Unreadable::End));
    assert_eq!(Minute::decode(&[2]), Err(Unreadable::Format(2)));
    // A key that is said to be longer than all that follows.
    assert_eq!(Minute::decode(&[1, 0, 0, 0, 0, 0xff, 0xff, 0x7f]), Err(Unreadable::End));
    assert_eq!(Minute::decode(&[1, 0, 7, 0]), Err(Unreadable::Form(7)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_count_is_within_its_error(seed in any::<u64>(), spread in 1..60_000_u64) {
        let (mut sketch, mut counts) = (Sketch::new(), HashMap::<u64, f64>::new());
        for number in 0..20_000_u64 {
            // Small numbers are more frequent.
            let draw = hash(seed ^ number);
            let key = draw % spread.min(1 + draw / 7 % spread).max(1);
            let units = 0.5 * (1 + draw % 5) as f64;
            *counts.entry(key).or_default() += units;
            sketch.add(hash(key), units, || name(key));
        }
        let found = sketch.top(KEYS_MAX);
        let missed = 2.0 / KEYS_MAX as f64 * sketch.total();
        let known: HashMap<&[u8], _> = found.iter().map(|found| (&*found.key, found)).collect();
        for (key, count) in &counts {
            match known.get(&*name(*key)) {
                Some(found) => {
                    prop_assert!(found.value <= count + 1e-6);
                    prop_assert!(*count <= found.value + found.error + 1e-6);
                }
                None => prop_assert!(*count <= missed, "{} of {}", count, sketch.total()),
            }
        }
    }
}
