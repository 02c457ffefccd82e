//! Which states the table may be in after the binary was killed.
//!
//! Three kinds of items:
//! - A *slot* belongs to one writer, which has at most one write in flight. So a slot is in the state of the
//!   last acknowledged write or of the one in flight.
//! - A *counter* is incremented by all writers. It is at least the number of acknowledged increments and at
//!   most the number of sent ones. No two increments return the same count.
//! - A *race* is replaced by all writers, each on the condition that the version is unchanged. Exactly one
//!   writer wins a version, and a writer whose condition failed never does.
//!
//! Every write changes several attributes that must agree with each other. An item's content is a function of
//! its version (and, in a race, its owner), so a half-applied write is found.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

pub const SLOTS_PER_WRITER: usize = 16;
pub const COUNTERS: usize = 4;
pub const RACES: usize = 8;

#[derive(Debug)]
pub struct Ledger {
    slots: Vec<[Slot; SLOTS_PER_WRITER]>,
    counters: [Counter; COUNTERS],
    races: [Race; RACES],
}

impl Ledger {
    pub fn new(writers: usize) -> Ledger {
        Ledger {
            slots: (0..writers).map(|_| Default::default()).collect(),
            counters: Default::default(),
            races: Default::default(),
        }
    }

    pub fn writers(&self) -> usize {
        self.slots.len()
    }

    pub fn slot(&mut self, writer: usize, slot: usize) -> &mut Slot {
        &mut self.slots[writer][slot]
    }

    /// Compares one slot with its item, when nothing else is in flight for it.
    pub fn settle_slot(&mut self, writer: usize, slot: usize, found: Option<&Value>) -> Result<()> {
        self.slots[writer][slot]
            .settle(found, |version| slot_item(writer, slot, version))
            .with_context(|| format!("slot {slot} of writer {writer}"))
    }

    pub fn counter(&mut self, counter: usize) -> &mut Counter {
        &mut self.counters[counter]
    }

    pub fn race(&mut self, race: usize) -> &mut Race {
        &mut self.races[race]
    }

    /// Compares the table with the ledger. Afterwards the ledger knows the outcome of every write.
    pub fn settle(&mut self, mut found: BTreeMap<(String, u64), Value>) -> Result<()> {
        for (writer, slots) in self.slots.iter_mut().enumerate() {
            for (number, slot) in slots.iter_mut().enumerate() {
                let item = found.remove(&(slot_group(writer), number as u64));
                slot.settle(item.as_ref(), |version| slot_item(writer, number, version))
                    .with_context(|| format!("slot {number} of writer {writer}"))?;
            }
        }
        for (number, counter) in self.counters.iter_mut().enumerate() {
            let item = found.remove(&("counter".to_owned(), number as u64));
            counter.settle(item.as_ref()).with_context(|| format!("counter {number}"))?;
        }
        for (number, race) in self.races.iter_mut().enumerate() {
            let item = found.remove(&("race".to_owned(), number as u64));
            race.settle(number, item.as_ref()).with_context(|| format!("race {number}"))?;
        }
        let invented = found.into_values().next();
        ensure!(invented.is_none(), "an item that no client wrote: {}", invented.unwrap_or_default());
        Ok(())
    }
}

/// The version of the item; none if there is no item.
type State = Option<u64>;

#[derive(Debug, Default)]
pub struct Slot {
    certain: State,
    in_flight: Option<State>,
    version_last: u64,
}

impl Slot {
    pub fn certain(&self) -> State {
        self.certain
    }

    /// A version that no write of this slot used before.
    pub fn next_version(&mut self) -> u64 {
        self.version_last += 1;
        self.version_last
    }

    pub fn sent(&mut self, state: State) {
        self.in_flight = Some(state);
    }

    pub fn acknowledged(&mut self) {
        self.certain = self.in_flight.take().unwrap_or(self.certain);
    }

    fn settle(&mut self, found: Option<&Value>, item: impl Fn(u64) -> Value) -> Result<()> {
        let state = found.map(version_of).transpose()?;
        let allowed = state == self.certain || Some(state) == self.in_flight;
        ensure!(
            allowed,
            "holds {state:?}; acknowledged is {:?}, in flight {:?}",
            self.certain,
            self.in_flight
        );
        if let (Some(found), Some(version)) = (found, state) {
            ensure!(*found == item(version), "half applied: {found}");
        }
        (self.certain, self.in_flight) = (state, None);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub struct Counter {
    /// The count at the last settlement.
    base: u64,
    sent: u64,
    returned: BTreeSet<u64>,
}

impl Counter {
    pub fn sent(&mut self) {
        self.sent += 1;
    }

    pub fn acknowledged(&mut self, item: &Value) -> Result<()> {
        let count = count_of(item)?;
        ensure!(count > self.base && self.returned.insert(count), "the count {count} was reached twice");
        Ok(())
    }

    fn settle(&mut self, found: Option<&Value>) -> Result<()> {
        let count = found.map_or(Ok(0), count_of)?;
        let least = (self.base + self.returned.len() as u64).max(self.returned.last().copied().unwrap_or(0));
        let most = self.base + self.sent;
        ensure!((least..=most).contains(&count), "counts {count}, promised is {least} to {most}");
        *self = Counter { base: count, ..Counter::default() };
        Ok(())
    }
}

#[derive(Debug, Default)]
pub struct Race {
    /// The version at the last settlement, and its owner.
    base: Option<(u64, usize)>,
    /// How often each writer tried to write each version and was not refused. A writer that got no answer tries
    /// again, and is refused if its first try has happened: so tries are counted.
    runners: BTreeMap<u64, BTreeMap<usize, u32>>,
    winners: BTreeMap<u64, usize>,
}

impl Race {
    /// The newest version known to be there.
    pub fn version(&self) -> State {
        self.winners.last_key_value().map(|(version, _)| *version).or(self.base.map(|(version, _)| version))
    }

    pub fn sent(&mut self, version: u64, writer: usize) {
        *self.runners.entry(version).or_default().entry(writer).or_default() += 1;
    }

    pub fn acknowledged(&mut self, version: u64, writer: usize) -> Result<()> {
        let other = self.winners.insert(version, writer);
        ensure!(other.is_none(), "version {version} was won by {writer} and by {other:?}");
        Ok(())
    }

    pub fn refused(&mut self, version: u64, writer: usize) {
        if let Some(tries) = self.runners.get_mut(&version).and_then(|runners| runners.get_mut(&writer)) {
            *tries = tries.saturating_sub(1);
        }
    }

    fn settle(&mut self, number: usize, found: Option<&Value>) -> Result<()> {
        let state =
            found.map(|item| Ok::<_, anyhow::Error>((version_of(item)?, owner_of(item)?))).transpose()?;
        ensure!(
            state.map(|(version, _)| version) >= self.version(),
            "lost {:?}: holds {state:?}",
            self.version()
        );
        if let (Some(found), Some((version, owner))) = (found, state) {
            let tries = self.runners.get(&version).and_then(|runners| runners.get(&owner));
            let ran = tries.is_some_and(|tries| *tries > 0);
            ensure!(
                state == self.base || ran,
                "{owner} holds version {version}, but was refused or never tried"
            );
            let winner = self.winners.get(&version).copied().unwrap_or(owner);
            ensure!(winner == owner, "{owner} holds version {version}, but {winner} won it");
            ensure!(*found == race_item(number, version, owner), "half applied: {found}");
        }
        *self = Race { base: state, ..Race::default() };
        Ok(())
    }
}

pub fn slot_group(writer: usize) -> String {
    format!("slot#{writer}")
}

/// The item of a slot in a version. Most payloads are small, some are large.
pub fn slot_item(writer: usize, slot: usize, version: u64) -> Value {
    let mut item = json!({"group": {"S": slot_group(writer)}, "number": {"N": slot.to_string()}});
    for (name, value) in slot_content(writer, slot, version) {
        item[name] = value;
    }
    item
}

/// The attributes of a slot other than its key, all computed from the version.
pub fn slot_content(writer: usize, slot: usize, version: u64) -> [(&'static str, Value); 5] {
    let text = version.to_string();
    let mut random = fastrand::Rng::with_seed(version ^ ((writer as u64) << 32) ^ ((slot as u64) << 48));
    let length = if random.u8(..) < 8 { random.usize(2_000..20_000) } else { random.usize(10..300) };
    let payload: String = (0..length).map(|_| random.alphanumeric()).collect();
    [
        ("version", json!({"N": text})),
        ("twin", json!({"N": text})),
        ("nested", json!({"M": {"version": {"N": text}}})),
        ("list", json!({"L": [{"N": text}, {"S": text}]})),
        ("payload", json!({"S": payload})),
    ]
}

pub fn race_item(race: usize, version: u64, owner: usize) -> Value {
    json!({
        "group": {"S": "race"}, "number": {"N": race.to_string()},
        "version": {"N": version.to_string()}, "owner": {"N": owner.to_string()},
        "seal": {"S": format!("{version} by {owner}")},
    })
}

fn number(item: &Value, name: &str) -> Result<u64> {
    let text = item[name]["N"].as_str().with_context(|| format!("{name} is missing: {item}"))?;
    text.parse().with_context(|| format!("{name} is not a count: {item}"))
}

fn version_of(item: &Value) -> Result<u64> {
    number(item, "version")
}

fn owner_of(item: &Value) -> Result<usize> {
    Ok(number(item, "owner")? as usize)
}

/// A counter is stored in two attributes, which must agree.
fn count_of(item: &Value) -> Result<u64> {
    let (raised, mirror) = (number(item, "raised")?, number(item, "mirror")?);
    ensure!(raised == mirror, "half applied: {item}");
    Ok(raised)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(prepare: impl Fn(&mut Slot), found: Option<u64>) -> Result<()> {
        let mut slot = Slot::default();
        prepare(&mut slot);
        let item = |version| slot_item(0, 0, version);
        slot.settle(found.map(item).as_ref(), item)
    }

    #[test]
    fn a_slot_is_as_acknowledged_or_as_in_flight() {
        let acknowledged = |slot: &mut Slot| {
            slot.sent(Some(1));
            slot.acknowledged();
        };
        assert!(slot(acknowledged, Some(1)).is_ok());
        assert!(slot(acknowledged, None).is_err(), "lost");
        assert!(slot(acknowledged, Some(2)).is_err(), "invented");

        let deleting = |slot: &mut Slot| {
            acknowledged(slot);
            slot.sent(None);
        };
        assert!(slot(deleting, Some(1)).is_ok());
        assert!(slot(deleting, None).is_ok());
    }

    #[test]
    fn a_slot_whose_attributes_disagree_is_half_applied() {
        let mut slot = Slot::default();
        slot.sent(Some(1));
        let mut item = slot_item(3, 4, 1);
        item["twin"] = json!({"N": "0"});
        let error = slot.settle(Some(&item), |version| slot_item(3, 4, version)).unwrap_err();
        assert!(error.to_string().starts_with("half applied"), "{error}");
    }

    fn counted(count: u64) -> Value {
        json!({"raised": {"N": count.to_string()}, "mirror": {"N": count.to_string()}})
    }

    #[test]
    fn a_counter_is_between_acknowledged_and_sent() {
        let settle = |found: u64| {
            let mut counter = Counter::default();
            (0..5).for_each(|_| counter.sent());
            counter.acknowledged(&counted(1)).unwrap();
            counter.acknowledged(&counted(3)).unwrap();
            counter.settle(Some(&counted(found)))
        };
        assert!(settle(2).is_err(), "3 was promised");
        assert!(settle(3).is_ok());
        assert!(settle(5).is_ok());
        assert!(settle(6).is_err(), "only 5 were sent");
    }

    #[test]
    fn a_count_is_reached_once() {
        let mut counter = Counter::default();
        counter.acknowledged(&counted(1)).unwrap();
        assert!(counter.acknowledged(&counted(1)).is_err());
    }

    #[test]
    fn a_race_is_held_by_a_runner_who_was_not_refused() {
        let settle = |version: u64, owner: usize| {
            let mut race = Race::default();
            race.sent(1, 7);
            race.acknowledged(1, 7).unwrap();
            race.sent(2, 7);
            race.sent(2, 8);
            race.refused(2, 8);
            race.settle(0, Some(&race_item(0, version, owner)))
        };
        assert!(settle(1, 7).is_ok());
        assert!(settle(2, 7).is_ok());
        assert!(settle(2, 8).is_err(), "8 was refused");
        assert!(settle(1, 8).is_err(), "7 won");
        assert!(settle(3, 7).is_err(), "no client wrote it");
    }

    #[test]
    fn a_try_without_an_answer_may_have_won_although_the_next_was_refused() {
        let mut race = Race::default();
        race.sent(1, 7);
        race.sent(1, 7);
        race.refused(1, 7);
        assert!(race.settle(0, Some(&race_item(0, 1, 7))).is_ok());
    }

    #[test]
    fn an_item_that_no_client_wrote_is_found() {
        let found = BTreeMap::from([(("slot#9".to_owned(), 0), slot_item(9, 0, 1))]);
        assert!(Ledger::new(1).settle(found).is_err());
    }
}
