//! Checks a history against the commits that the store saw, in their order.
//!
//! The commits say which requests of unknown outcome happened, and when. What they had to do follows from the requests
//! alone: each commit is compared with its request applied to the items as the commits before it left them. So a
//! request
//!
//! - that was acknowledged is one commit between its beginning and its end (a batch: one for each item);
//! - that was refused is none, and its condition was false at some moment of its time;
//! - of unknown outcome is one or none, whole or not at all, also if it was sent several times with one token;
//! - that only reads saw what was there at some moment of its time, a transaction all at one moment.
//!
//! No item changes without a request.

use std::collections::BTreeMap;

use crate::{Action, Answer, Content, Event, Key, Kind};

/// A commit that changed items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// By the clock of the history.
    pub at: u64,
    /// The time that its change records have, if it has any.
    pub logged_us: Option<u64>,
    /// The request that it belongs to, by its number in the history.
    pub request: Option<usize>,
    pub items: BTreeMap<Key, Option<Content>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayFault {
    #[error("the commit at {at} changed {key:?}, and no request asked for it")]
    Unasked { at: u64, key: Key },
    #[error("request {request} was refused or not done, but {key:?} was changed at {at}: {event}")]
    DoneAllTheSame { request: usize, key: Key, at: u64, event: String },
    #[error("request {request} was acknowledged, but its change of {key:?} is lost: {event}")]
    Lost { request: usize, key: Key, event: String },
    #[error("request {request} was carried out twice, at {first} and {second}: {event}")]
    Twice { request: usize, first: u64, second: u64, event: String },
    #[error("request {request} was committed in part, at {at}: {event}")]
    Divided { request: usize, at: u64, event: String },
    #[error("request {request} was committed at {at}, outside its time: {event}")]
    OutsideItsTime { request: usize, at: u64, event: String },
    #[error(
        "request {request} made {key:?} {after:?} of {before:?} at {at}, which is not what it asks for: {event}"
    )]
    Wrong {
        request: usize,
        key: Key,
        at: u64,
        before: Option<Content>,
        after: Option<Content>,
        event: String,
    },
    #[error("request {request} saw what was there at no moment of its time: {event}")]
    NeverThere { request: usize, event: String },
}

/// The items at every moment.
pub struct Timeline<'a> {
    commits: &'a [Commit],
    /// What each item became, and at which commit.
    changes: BTreeMap<Key, Vec<(usize, Option<Content>)>>,
}

impl<'a> Timeline<'a> {
    pub fn new(commits: &'a [Commit]) -> Timeline<'a> {
        let mut changes: BTreeMap<Key, Vec<(usize, Option<Content>)>> = BTreeMap::new();
        for (number, commit) in commits.iter().enumerate() {
            for (key, content) in &commit.items {
                changes.entry(*key).or_default().push((number, *content));
            }
        }
        Timeline { commits, changes }
    }

    /// An item after the first `count` commits.
    fn after(&self, key: Key, count: usize) -> Option<Content> {
        let changes = self.changes.get(&key).map_or(&[][..], Vec::as_slice);
        let known = changes.partition_point(|(number, _)| *number < count);
        known.checked_sub(1).and_then(|last| changes[last].1)
    }

    /// The numbers of commits before a moment.
    fn before(&self, at: u64) -> usize {
        self.commits.partition_point(|commit| commit.at < at)
    }

    /// All items as their change records with times up to this one left them.
    pub fn as_logged_through(&self, time_us: u64) -> BTreeMap<Key, Content> {
        let last = |changes: &Vec<(usize, Option<Content>)>| {
            let is_known = |number: usize| self.commits[number].logged_us.is_some_and(|us| us <= time_us);
            changes.iter().rev().find(|(number, _)| is_known(*number)).and_then(|(_, content)| *content)
        };
        self.changes.iter().filter_map(|(key, changes)| Some((*key, last(changes)?))).collect()
    }

    /// All items after all commits.
    pub fn last(&self) -> BTreeMap<Key, Content> {
        let last = |changes: &Vec<(usize, Option<Content>)>| changes.last().and_then(|(_, content)| *content);
        self.changes.iter().filter_map(|(key, changes)| Some((*key, last(changes)?))).collect()
    }

    /// Every change of an item, old and new, in order; what left it as it was is none.
    pub fn changes_of(&self, key: Key) -> Vec<(Option<Content>, Option<Content>)> {
        let mut before = None;
        let mut found = Vec::new();
        for (_, after) in self.changes.get(&key).into_iter().flatten() {
            if before != *after {
                found.push((before, *after));
            }
            before = *after;
        }
        found
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.changes.keys().copied()
    }
}

/// Checks all requests of a history.
pub fn check(commits: &[Commit], events: &[Event]) -> Result<(), ReplayFault> {
    let timeline = Timeline::new(commits);
    let mut done: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, commit) in commits.iter().enumerate() {
        match (commit.request, commit.items.first_key_value()) {
            (Some(request), _) if request < events.len() => done.entry(request).or_default().push(number),
            (_, Some((key, _))) => return Err(ReplayFault::Unasked { at: commit.at, key: *key }),
            _ => {}
        }
    }
    for (request, event) in events.iter().enumerate() {
        let done = done.get(&request).map_or(&[][..], Vec::as_slice);
        let check = Check { timeline: &timeline, request, event };
        check.commits(done)?;
        check.answers(done)?;
    }
    Ok(())
}

struct Check<'a> {
    timeline: &'a Timeline<'a>,
    request: usize,
    event: &'a Event,
}

impl Check<'_> {
    fn event(&self) -> String {
        format!("{:?}", self.event)
    }

    /// Each commit does what the request asks for, at a moment when it may.
    fn commits(&self, done: &[usize]) -> Result<(), ReplayFault> {
        let (request, event) = (self.request, self.event);
        if event.request.kind != Kind::Batch
            && let [first, second, ..] = done
        {
            let [first, second] = [*first, *second].map(|number| self.timeline.commits[number].at);
            return Err(ReplayFault::Twice { request, first, second, event: self.event() });
        }
        for number in done {
            let commit = &self.timeline.commits[*number];
            let is_known = event.answers.iter().all(|answer| *answer != Answer::Unknown);
            if commit.at < event.invoked || (is_known && commit.at > event.returned) {
                return Err(ReplayFault::OutsideItsTime { request, at: commit.at, event: self.event() });
            }
            for (key, after) in &commit.items {
                let action = event.request.actions.iter().find(|(asked, _)| asked == key);
                let (_, action) = action.ok_or(ReplayFault::Unasked { at: commit.at, key: *key })?;
                let before = self.timeline.after(*key, *number);
                if !action.condition().holds(before) || action.change(before) != *after {
                    let (at, before, after) = (commit.at, before, *after);
                    let (key, event) = (*key, self.event());
                    return Err(ReplayFault::Wrong { request, key, at, before, after, event });
                }
            }
            if event.request.kind == Kind::Transaction {
                self.is_whole(*number)?;
            }
        }
        Ok(())
    }

    /// A transaction changes all its items in one commit, and all its conditions hold there.
    fn is_whole(&self, number: usize) -> Result<(), ReplayFault> {
        let commit = &self.timeline.commits[number];
        let is_done = |(key, action): &(Key, Action)| {
            let before = self.timeline.after(*key, number);
            action.condition().holds(before)
                && (commit.items.contains_key(key) || action.change(before) == before)
        };
        match self.event.request.actions.iter().all(is_done) {
            true => Ok(()),
            false => Err(ReplayFault::Divided { request: self.request, at: commit.at, event: self.event() }),
        }
    }

    /// Each answer is explained by the commits.
    fn answers(&self, done: &[usize]) -> Result<(), ReplayFault> {
        let (request, event) = (self.request, self.event);
        let mut reads = Vec::new();
        for (key, action, answer) in event.answered() {
            let own = done.iter().find(|number| self.timeline.commits[**number].items.contains_key(&key));
            match (answer, own) {
                (Answer::Unknown | Answer::NotDone, None) => {}
                (Answer::Unknown, Some(_)) => {}
                (Answer::Done | Answer::Replaced(_) | Answer::Counted(_), Some(number)) => {
                    let before = self.timeline.after(key, *number);
                    if !(action, answer).explains(before) {
                        return Err(ReplayFault::NeverThere { request, event: self.event() });
                    }
                }
                // What changes nothing needs no commit, but must have found the item so.
                (_, None) => reads.push((key, action, answer)),
                (_, Some(number)) => {
                    let at = self.timeline.commits[*number].at;
                    return Err(ReplayFault::DoneAllTheSame { request, key, at, event: self.event() });
                }
            }
        }
        match event.request.kind {
            // A cancelled transaction need not have seen its items at one moment.
            Kind::Transaction if reads.iter().all(|(_, _, answer)| !answer.is_refusal()) => {
                self.was_there(&reads)
            }
            _ => reads.iter().try_for_each(|read| self.was_there(std::slice::from_ref(read))),
        }
    }

    /// Some moment of the request's time explains these answers.
    fn was_there(&self, reads: &[(Key, Action, Answer)]) -> Result<(), ReplayFault> {
        let moments = self.timeline.before(self.event.invoked)..=self.timeline.before(self.event.returned);
        let explains = |count: usize, (key, action, answer): &(Key, Action, Answer)| {
            let state = self.timeline.after(*key, count);
            let is_unchanged = *action == Action::Get || answer.is_refusal() || action.change(state) == state;
            is_unchanged && (*action, *answer).explains(state)
        };
        if moments.clone().any(|count| reads.iter().all(|read| explains(count, read))) {
            return Ok(());
        }
        let (request, event) = (self.request, self.event());
        let is_write = |(_, action, answer): &&(Key, Action, Answer)| {
            !matches!(action, Action::Get | Action::Check(_)) && !answer.is_refusal()
        };
        Err(match reads.iter().find(is_write) {
            Some((key, ..)) => ReplayFault::Lost { request, key: *key, event },
            None => ReplayFault::NeverThere { request, event },
        })
    }
}

impl Answer {
    /// Whether it says that a condition was false.
    fn is_refusal(self) -> bool {
        matches!(self, Answer::Refused | Answer::RefusedBecauseOf(_))
    }
}

/// Whether an action on an item may get an answer.
trait Explains {
    fn explains(self, before: Option<Content>) -> bool;
}

impl Explains for (Action, Answer) {
    fn explains(self, before: Option<Content>) -> bool {
        crate::linearizability::Operation::apply(&self, &before).is_some()
    }
}
