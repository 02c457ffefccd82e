//! What clients know of the writes to each key, and what last-writer-wins allows to be there in the end.
//!
//! A write has happened between its request and its answer, and a write without an answer between its request and the moment
//! at which its connection broke, or not at all. All servers have the clock of this machine. So a write that was
//! acknowledged beats every write that was over before it was sent, and every write whose value it replaced. What is there in
//! the end must be a write that no acknowledged one beats.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, ensure};

/// By how much the times of two servers on one machine can differ: they count in milliseconds.
const CLOCKS: Duration = Duration::from_millis(20);

/// A write of one client.
#[derive(Clone, Debug)]
pub struct Write {
    /// Since the campaign began.
    pub sent: Duration,
    /// When its answer came, or its connection broke.
    pub ended: Duration,
    /// Unlike that of any other write; none for a deletion.
    pub value: Option<String>,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It happened, and replaced this value.
    Replaced(Option<String>),
    /// It may have happened.
    Lost,
}

impl Write {
    /// The deletion of what was not there changes nothing.
    fn changes_nothing(&self) -> bool {
        self.value.is_none() && self.answer == Answer::Replaced(None)
    }

    fn has_happened(&self) -> bool {
        self.answer != Answer::Lost && !self.changes_nothing()
    }
}

/// All writes, by key.
#[derive(Debug, Default)]
pub struct RegionHistory(BTreeMap<u64, Vec<Write>>);

impl RegionHistory {
    pub fn note(&mut self, key: u64, write: Write) {
        self.0.entry(key).or_default().push(write);
    }

    /// How many writes were acknowledged, and how many got no answer.
    pub fn counts(&self) -> (usize, usize) {
        let writes = || self.0.values().flatten();
        let lost = writes().filter(|write| write.answer == Answer::Lost).count();
        (writes().count() - lost, lost)
    }

    /// Compares the values that are there in the end with what was written.
    pub fn check(&self, found: &BTreeMap<u64, String>) -> Result<()> {
        for key in found.keys() {
            ensure!(self.0.contains_key(key), "no client wrote the key {key}");
        }
        for (key, writes) in &self.0 {
            check_key(writes, found.get(key))
                .map_err(|error| error.context(format!("key {key} is {:?}", found.get(key))))?;
        }
        Ok(())
    }
}

fn check_key(writes: &[Write], found: Option<&String>) -> Result<()> {
    let replaced: BTreeSet<&String> = writes
        .iter()
        .filter_map(|write| match &write.answer {
            Answer::Replaced(Some(value)) => Some(value),
            _ => None,
        })
        .collect();
    let last_sent = writes.iter().filter(|write| write.has_happened()).map(|write| write.sent).max();
    let is_beaten = |write: &Write| {
        let is_over = last_sent.is_some_and(|sent| write.ended + CLOCKS < sent);
        is_over || write.value.as_ref().is_some_and(|value| replaced.contains(value))
    };
    let mut candidates =
        writes.iter().filter(|write| write.value.as_ref() == found && !write.changes_nothing());
    // Nothing is there before the first write.
    let is_untouched = found.is_none() && last_sent.is_none();
    ensure!(
        is_untouched || candidates.any(|write| !is_beaten(write)),
        "a later write was acknowledged, or no client wrote it: {:?}",
        writes.iter().rev().take(6).collect::<Vec<_>>()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sent_ms: u64, ended_ms: u64, value: Option<&str>, answer: Answer) -> Write {
        let value = value.map(str::to_owned);
        Write { sent: Duration::from_millis(sent_ms), ended: Duration::from_millis(ended_ms), value, answer }
    }

    fn allows(writes: &[Write], found: Option<&str>) -> bool {
        check_key(writes, found.map(str::to_owned).as_ref()).is_ok()
    }

    #[test]
    fn the_later_of_two_acknowledged_writes_is_there() {
        let none = || Answer::Replaced(None);
        let writes = [write(0, 10, Some("a"), none()), write(100, 110, Some("b"), none())];
        assert!(allows(&writes, Some("b")));
        assert!(!allows(&writes, Some("a")) && !allows(&writes, None) && !allows(&writes, Some("c")));
    }

    #[test]
    fn of_two_writes_at_the_same_time_either_may_win_unless_one_saw_the_other() {
        let none = || Answer::Replaced(None);
        let both = [write(0, 100, Some("a"), none()), write(50, 110, Some("b"), none())];
        assert!(allows(&both, Some("a")) && allows(&both, Some("b")));
        let saw = Answer::Replaced(Some("a".to_owned()));
        let both = [write(0, 100, Some("a"), none()), write(50, 110, Some("b"), saw)];
        assert!(!allows(&both, Some("a")) && allows(&both, Some("b")));
    }

    #[test]
    fn a_write_without_an_answer_may_have_happened_or_not() {
        let writes = [
            write(0, 10, Some("a"), Answer::Replaced(None)),
            write(100, 400, Some("b"), Answer::Lost),
            write(500, 900, None, Answer::Lost),
        ];
        assert!(allows(&writes, Some("a")) && allows(&writes, Some("b")) && allows(&writes, None));
        assert!(allows(&writes[1..2], None), "nothing was there before");
    }

    #[test]
    fn a_write_without_an_answer_loses_to_what_was_sent_after_its_connection_broke() {
        let writes =
            [write(0, 10, Some("a"), Answer::Lost), write(100, 110, Some("b"), Answer::Replaced(None))];
        assert!(!allows(&writes, Some("a")) && allows(&writes, Some("b")));
    }

    #[test]
    fn a_deletion_of_nothing_beats_nothing() {
        let writes =
            [write(0, 10, Some("a"), Answer::Replaced(None)), write(100, 110, None, Answer::Replaced(None))];
        assert!(allows(&writes, Some("a")) && !allows(&writes, None));
    }
}
