//! Whatever a function does, delivery keeps its promises:
//! - every record is delivered, filtered out, or reported as given up;
//! - the records of one partition key are first delivered or given up in order;
//! - the position never passes a record that is none of these, also if the poller starts again from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use triggers::{Delivery, Filters, Invocation, Outcome, Poller, Position};

use crate::support::*;

/// What the function does with one call.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    Succeed,
    Fail,
    Unreachable,
    /// Reports the record at this place as failed.
    FailItem(usize),
    Nonsense,
}

#[derive(Clone, Debug)]
struct Scenario {
    delivery: Delivery,
    /// The partition key of each record.
    keys: Vec<u64>,
    behaviours: Vec<Behaviour>,
    /// How many records are read at a time.
    page: usize,
    /// After this many calls the poller starts again from the stored position.
    restart_after: usize,
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        4 => Just(Behaviour::Succeed),
        3 => Just(Behaviour::Fail),
        1 => Just(Behaviour::Unreachable),
        2 => (0..20_usize).prop_map(Behaviour::FailItem),
        1 => Just(Behaviour::Nonsense),
    ]
}

prop_compose! {
    fn any_delivery()(
        batch_size in 1..12_usize,
        window_s in prop_oneof![Just(0_u64), 1..5_u64],
        lanes in 1..4_usize,
        retries_max in prop_oneof![Just(None), (0..4_u32).prop_map(Some)],
        bisects in any::<bool>(),
        reports_item_failures in any::<bool>(),
        tumbling in any::<bool>(),
        filtered in any::<bool>(),
        short_lived in any::<bool>(),
    ) -> Delivery {
        let filters = match filtered {
            true => Filters::parse([r#"{"dynamodb": {"SequenceNumber": [{"anything-but": ["000000000000000000003"]}]}}"#]),
            false => Filters::parse([]),
        };
        Delivery {
            batch_size,
            batching_window_ms: window_s * 1000,
            lanes: if tumbling { 1 } else { lanes },
            retries_max,
            bisects,
            reports_item_failures,
            tumbling_window_ms: tumbling.then_some(10_000),
            filters: filters.expect("a pattern"),
            record_age_ms_max: if short_lived { 60_000 } else { 86_400_000 },
            ..delivery()
        }
    }
}

prop_compose! {
    fn scenario()(
        delivery in any_delivery(),
        keys in prop::collection::vec(0..5_u64, 1..60),
        behaviours in prop::collection::vec(behaviour(), 1..40),
        page in 1..20_usize,
        restart_after in 1..30_usize,
    ) -> Scenario {
        Scenario { delivery, keys, behaviours, page, restart_after }
    }
}

/// A function, its calls under way, and what came of them.
struct World {
    scenario: Scenario,
    poller: Poller,
    now_ms: u64,
    read: usize,
    pending: Vec<Invocation>,
    calls: usize,
    stored: Position,
    delivered: BTreeSet<u64>,
    /// Records in the order in which they were delivered or given up.
    handled: Vec<u64>,
    given_up: BTreeSet<u64>,
    filtered: BTreeSet<u64>,
}

impl World {
    fn new(scenario: Scenario) -> World {
        let poller =
            Poller::new(Arc::new(scenario.delivery.clone()), "shard-1", Position::default(), START_MS);
        let filtered =
            if scenario.delivery.filters.is_empty() { BTreeSet::new() } else { BTreeSet::from([3]) };
        World {
            scenario,
            poller,
            now_ms: START_MS,
            read: 0,
            pending: Vec::new(),
            calls: 0,
            stored: Position::default(),
            delivered: BTreeSet::new(),
            handled: Vec::new(),
            given_up: BTreeSet::new(),
            filtered,
        }
    }

    /// A record a second, from the start.
    fn entry(&self, index: usize) -> triggers::Entry {
        record_at(index as u64 + 1, self.scenario.keys[index], START_MS + index as u64 * 1000)
    }

    fn read_page(&mut self) {
        if self.poller.has_room() && self.read < self.scenario.keys.len() {
            let end = (self.read + self.scenario.page).min(self.scenario.keys.len());
            let entries: Vec<_> = (self.read..end).map(|index| self.entry(index)).collect();
            self.poller.offer(entries, self.now_ms);
            self.read = end;
        }
        if self.read == self.scenario.keys.len() {
            self.poller.close();
        }
    }

    /// Runs to the end of the shard.
    fn run(&mut self) {
        for _ in 0..20_000 {
            self.read_page();
            let step = self.poller.step(self.now_ms);
            for failure in &step.failures {
                for entry in &failure.records {
                    let number = entry.sequence_number.parse().expect("digits");
                    self.given_up.insert(number);
                    self.handled.push(number);
                }
            }
            self.pending.extend(step.invocations);
            self.store();
            if self.poller.is_finished() {
                return;
            }
            match self.pending.is_empty() {
                true => {
                    // A page is read in every round; a wait for records alone moves the clock, too.
                    let wake = step.wake_at_ms.unwrap_or(self.now_ms);
                    self.now_ms = wake.max(self.now_ms + 1);
                }
                false => self.answer(),
            }
        }
        panic!("delivery does not come to an end");
    }

    /// Ends one of the calls under way. After the listed behaviours the function always succeeds.
    fn answer(&mut self) {
        let call = self.pending.remove(self.calls % self.pending.len());
        let behaviour = self.scenario.behaviours.get(self.calls).copied().unwrap_or(Behaviour::Succeed);
        self.calls += 1;
        self.now_ms += 100;
        let numbers = numbers_of(&call.event);
        let outcome = self.outcome(behaviour, &numbers);
        self.poller.finish(call.lane, &outcome, self.now_ms);
        if self.calls == self.scenario.restart_after {
            self.restart();
        }
    }

    fn outcome(&mut self, behaviour: Behaviour, numbers: &[u64]) -> Outcome {
        let reports = self.scenario.delivery.reports_item_failures;
        let state = json!({"calls": self.calls});
        let with_failures = |failures: Value| answer(json!({"state": state, "batchItemFailures": failures}));
        match behaviour {
            Behaviour::FailItem(place) if reports && !numbers.is_empty() => {
                let place = place % numbers.len();
                self.deliver(&numbers[..place]);
                with_failures(json!([{"itemIdentifier": sequence_number(numbers[place])}]))
            }
            Behaviour::Nonsense if reports => with_failures(json!([{"itemIdentifier": ""}])),
            Behaviour::Fail => function_error(),
            Behaviour::Unreachable => unreachable(),
            _ => {
                self.deliver(numbers);
                with_failures(json!([]))
            }
        }
    }

    fn deliver(&mut self, numbers: &[u64]) {
        self.delivered.extend(numbers);
        self.handled.extend(numbers);
    }

    /// Forgets everything but what was stored.
    fn restart(&mut self) {
        let position = self.stored.clone();
        self.read = position.sequence_number.as_ref().map_or(0, |text| text.parse().expect("digits"));
        let delivery = Arc::new(self.scenario.delivery.clone());
        self.poller = Poller::new(delivery, "shard-1", position, self.now_ms);
        self.pending.clear();
    }

    fn store(&mut self) {
        let Some(position) = self.poller.take_position() else { return };
        let number = |position: &Position| {
            position.sequence_number.as_ref().map_or(0, |text| text.parse::<u64>().expect("digits"))
        };
        assert!(number(&position) >= number(&self.stored), "positions rise");
        for passed in 1..=number(&position) {
            assert!(self.is_done(passed), "the position {} passed record {passed}", number(&position));
        }
        self.stored = position;
    }

    fn is_done(&self, number: u64) -> bool {
        self.delivered.contains(&number) || self.given_up.contains(&number) || self.filtered.contains(&number)
    }

    fn check(&self) {
        assert!(self.stored.is_finished);
        for number in 1..=self.scenario.keys.len() as u64 {
            assert!(self.is_done(number), "record {number} is lost");
            assert!(!(self.filtered.contains(&number) && self.delivered.contains(&number)));
        }
        let mut first_times: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for number in self.handled.iter().filter(|number| seen.insert(**number)) {
            let key = self.scenario.keys[*number as usize - 1];
            first_times.entry(key).or_default().push(*number);
        }
        for (key, numbers) in first_times {
            assert!(numbers.is_sorted(), "key {key} out of order: {numbers:?}");
        }
        if self.scenario.delivery.retries_max.is_none() && self.scenario.delivery.record_age_ms_max > 60_000 {
            assert_eq!(self.given_up, BTreeSet::new(), "nothing may be given up");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_or_out_of_order(scenario in scenario()) {
        let mut world = World::new(scenario);
        world.run();
        world.check();
    }
}
