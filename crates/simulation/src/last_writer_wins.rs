//! What clients know of the writes to each key, and what last-writer-wins allows to be there in the end.
//!
//! A write has happened between its request and its answer, and a write without an answer between its request and the moment
//! at which its connection broke, or not at all. So a write that was
//! acknowledged beats every write that was over before it was sent, by more than clocks may differ, and every write whose
//! value it replaced. What is there in the end must be a write that no acknowledged one beats.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A write of one client to one key.
#[derive(Clone, Debug)]
pub struct RegionWrite {
    /// Since everything began.
    pub sent: Duration,
    /// When its answer came, or its connection broke.
    pub ended: Duration,
    /// Unlike that of any other write; none for a deletion.
    pub value: Option<String>,
    pub answer: WriteAnswer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteAnswer {
    /// It happened, and replaced this value.
    Replaced(Option<String>),
    /// It may have happened.
    Lost,
}

impl RegionWrite {
    /// The deletion of what was not there changes nothing.
    fn changes_nothing(&self) -> bool {
        self.value.is_none() && self.answer == WriteAnswer::Replaced(None)
    }

    fn has_happened(&self) -> bool {
        self.answer != WriteAnswer::Lost && !self.changes_nothing()
    }
}

/// All writes, by key.
#[derive(Debug, Default)]
pub struct RegionHistory(BTreeMap<u64, Vec<RegionWrite>>);

impl RegionHistory {
    pub fn note(&mut self, key: u64, write: RegionWrite) {
        self.0.entry(key).or_default().push(write);
    }

    /// How many writes were acknowledged, and how many got no answer.
    pub fn counts(&self) -> (usize, usize) {
        let writes = || self.0.values().flatten();
        let lost = writes().filter(|write| write.answer == WriteAnswer::Lost).count();
        (writes().count() - lost, lost)
    }

    /// Compares the values that are there in the end with what was written. The clocks of two servers differ by at most
    /// `clocks`. The error says what is wrong.
    pub fn check(&self, found: &BTreeMap<u64, String>, clocks: Duration) -> Result<(), String> {
        if let Some(key) = found.keys().find(|key| !self.0.contains_key(key)) {
            return Err(format!("no client wrote the key {key}"));
        }
        for (key, writes) in &self.0 {
            check_key(writes, found.get(key), clocks)
                .map_err(|fault| format!("key {key} is {:?}: {fault}", found.get(key)))?;
        }
        Ok(())
    }
}

fn check_key(writes: &[RegionWrite], found: Option<&String>, clocks: Duration) -> Result<(), String> {
    let replaced: BTreeSet<&String> = writes
        .iter()
        .filter_map(|write| match &write.answer {
            WriteAnswer::Replaced(Some(value)) => Some(value),
            _ => None,
        })
        .collect();
    let last_sent = writes.iter().filter(|write| write.has_happened()).map(|write| write.sent).max();
    let is_beaten = |write: &RegionWrite| {
        let is_over = last_sent.is_some_and(|sent| write.ended + clocks < sent);
        is_over || write.value.as_ref().is_some_and(|value| replaced.contains(value))
    };
    let mut candidates =
        writes.iter().filter(|write| write.value.as_ref() == found && !write.changes_nothing());
    // Nothing is there before the first write.
    let is_untouched = found.is_none() && last_sent.is_none();
    if is_untouched || candidates.any(|write| !is_beaten(write)) {
        return Ok(());
    }
    let last: Vec<&RegionWrite> = writes.iter().rev().take(6).collect();
    Err(format!("a later write was acknowledged, or no client wrote it: {last:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sent_ms: u64, ended_ms: u64, value: Option<&str>, answer: WriteAnswer) -> RegionWrite {
        let value = value.map(str::to_owned);
        RegionWrite {
            sent: Duration::from_millis(sent_ms),
            ended: Duration::from_millis(ended_ms),
            value,
            answer,
        }
    }

    fn allows(writes: &[RegionWrite], found: Option<&str>) -> bool {
        check_key(writes, found.map(str::to_owned).as_ref(), Duration::from_millis(20)).is_ok()
    }

    #[test]
    fn the_later_of_two_acknowledged_writes_is_there() {
        let none = || WriteAnswer::Replaced(None);
        let writes = [write(0, 10, Some("a"), none()), write(100, 110, Some("b"), none())];
        assert!(allows(&writes, Some("b")));
        assert!(!allows(&writes, Some("a")) && !allows(&writes, None) && !allows(&writes, Some("c")));
    }

    #[test]
    fn of_two_writes_at_the_same_time_either_may_win_unless_one_saw_the_other() {
        let none = || WriteAnswer::Replaced(None);
        let both = [write(0, 100, Some("a"), none()), write(50, 110, Some("b"), none())];
        assert!(allows(&both, Some("a")) && allows(&both, Some("b")));
        let saw = WriteAnswer::Replaced(Some("a".to_owned()));
        let both = [write(0, 100, Some("a"), none()), write(50, 110, Some("b"), saw)];
        assert!(!allows(&both, Some("a")) && allows(&both, Some("b")));
    }

    #[test]
    fn a_write_without_an_answer_may_have_happened_or_not() {
        let writes = [
            write(0, 10, Some("a"), WriteAnswer::Replaced(None)),
            write(100, 400, Some("b"), WriteAnswer::Lost),
            write(500, 900, None, WriteAnswer::Lost),
        ];
        assert!(allows(&writes, Some("a")) && allows(&writes, Some("b")) && allows(&writes, None));
        assert!(allows(&writes[1..2], None), "nothing was there before");
    }

    #[test]
    fn a_write_without_an_answer_loses_to_what_was_sent_after_its_connection_broke() {
        let writes = [
            write(0, 10, Some("a"), WriteAnswer::Lost),
            write(100, 110, Some("b"), WriteAnswer::Replaced(None)),
        ];
        assert!(!allows(&writes, Some("a")) && allows(&writes, Some("b")));
    }

    #[test]
    fn a_deletion_of_nothing_beats_nothing() {
        let writes = [
            write(0, 10, Some("a"), WriteAnswer::Replaced(None)),
            write(100, 110, None, WriteAnswer::Replaced(None)),
        ];
        assert!(allows(&writes, Some("a")) && !allows(&writes, None));
    }
}
