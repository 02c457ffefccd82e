//! The actions of clients on one item, their possible answers, and which states of the item explain an answer.

use crate::linearizability::Operation;

/// Names an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub family: Family,
    pub number: u8,
}

/// What kinds of actions an item gets, which decides how its history is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// All kinds of actions.
    Register,
    /// Every write names the version that it replaces, so the order of the versions is known.
    Versioned,
    /// Only transfers change it, so the sum of all accounts stays the same.
    Account,
}

/// The attributes of an item other than its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    /// No two writes of a history write the same version.
    pub version: Option<u64>,
    pub count: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Get,
    /// Replaces the whole item.
    Put(Content, Condition),
    /// Sets the version and leaves the count.
    SetVersion(u64, Condition),
    /// Adds to the count, which begins at 0, and leaves the version.
    Add(i64, Condition),
    Delete(Condition),
    /// Writes nothing; only the condition counts.
    Check(Condition),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    Always,
    /// The item has this version, or none.
    Version(Option<u64>),
    CountAtLeast(i64),
}

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The item, as it was read.
    Read(Option<Content>),
    /// The item's version, as read from an index.
    ReadVersion(Option<u64>),
    /// It succeeded.
    Done,
    /// It succeeded, and the item was this before.
    Replaced(Option<Content>),
    /// It succeeded, and the count was this afterwards.
    Counted(i64),
    /// It failed: the condition was false.
    Refused,
    /// It failed: the condition was false for this item.
    RefusedBecauseOf(Option<Content>),
    /// It failed for another reason.
    NotDone,
    /// The client does not know whether it succeeded.
    Unknown,
}

impl Condition {
    pub fn holds(self, item: Option<Content>) -> bool {
        match self {
            Condition::Always => true,
            Condition::Version(version) => version == item.and_then(|item| item.version),
            Condition::CountAtLeast(least) => {
                item.and_then(|item| item.count).is_some_and(|count| count >= least)
            }
        }
    }
}

impl Action {
    pub fn condition(self) -> Condition {
        match self {
            Action::Get => Condition::Always,
            Action::Put(_, condition)
            | Action::SetVersion(_, condition)
            | Action::Add(_, condition)
            | Action::Delete(condition)
            | Action::Check(condition) => condition,
        }
    }

    /// The item after the action, given that its condition held.
    pub fn change(self, item: Option<Content>) -> Option<Content> {
        match self {
            Action::Get | Action::Check(_) => item,
            Action::Put(content, _) => Some(content),
            Action::SetVersion(version, _) => {
                Some(Content { version: Some(version), ..item.unwrap_or_default() })
            }
            Action::Add(amount, _) => {
                let item = item.unwrap_or_default();
                Some(Content { count: Some(item.count.unwrap_or(0) + amount), ..item })
            }
            Action::Delete(_) => None,
        }
    }
}

/// An action and its answer, which is possible in those states of the item that explain the answer.
impl Operation for (Action, Answer) {
    type State = Option<Content>;

    fn apply(&self, item: &Option<Content>) -> Option<Option<Content>> {
        let (action, answer) = *self;
        let (before, holds, after) = (*item, action.condition().holds(*item), action.change(*item));
        let explained = match answer {
            Answer::Read(seen) => seen == before,
            Answer::ReadVersion(seen) => seen == before.and_then(|item| item.version),
            Answer::Done | Answer::Unknown => holds,
            Answer::Replaced(seen) => holds && seen == before,
            Answer::Counted(count) => holds && after.and_then(|item| item.count) == Some(count),
            Answer::Refused => !holds,
            Answer::RefusedBecauseOf(seen) => !holds && seen == before,
            Answer::NotDone => true,
        };
        explained.then_some(if self.only_reads() { before } else { after })
    }

    fn only_reads(&self) -> bool {
        let (action, answer) = self;
        let did_not_happen =
            matches!(answer, Answer::Refused | Answer::RefusedBecauseOf(_) | Answer::NotDone);
        did_not_happen || matches!(action, Action::Get | Action::Check(_))
    }

    /// No version is written twice, so a version that was replaced never returns.
    fn epoch(item: &Option<Content>) -> Option<u64> {
        item.and_then(|item| item.version)
    }

    fn required_epoch(&self) -> Option<u64> {
        let (action, answer) = self;
        match answer {
            Answer::Read(seen) | Answer::Replaced(seen) | Answer::RefusedBecauseOf(seen) => Self::epoch(seen),
            Answer::ReadVersion(seen) => *seen,
            Answer::Done | Answer::Counted(_) => match action.condition() {
                Condition::Version(version) => version,
                Condition::Always | Condition::CountAtLeast(_) => None,
            },
            Answer::Refused | Answer::NotDone | Answer::Unknown => None,
        }
    }
}
