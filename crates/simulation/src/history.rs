//! A history: who asked what, when, and what the answer was.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Action, Answer, Key};

/// The time of a history: it goes forward by one whenever somebody looks, so what ended before something
/// else began has the lower number.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// How the actions of a request belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One action.
    Single,
    /// All or none, at one moment.
    Transaction,
    /// Each by itself.
    Batch,
    /// All are readings of one partition through a local index.
    Index,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: Kind,
    /// Of distinct items.
    pub actions: Vec<(Key, Action)>,
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Event {
    pub client: usize,
    pub request: Request,
    pub invoked: u64,
    pub returned: u64,
    /// One for each action.
    pub answers: Vec<Answer>,
}

impl Event {
    /// Each action with its answer.
    pub fn answered(&self) -> impl Iterator<Item = (Key, Action, Answer)> {
        self.request.actions.iter().zip(&self.answers).map(|((key, action), answer)| (*key, *action, *answer))
    }
}
