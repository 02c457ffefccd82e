//! A history: who sent which request, when, and what the answer was.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Action, Answer, Key};

/// A logical clock: every reading is higher than the one before, so if one request ended before another began, its
/// end has the lower number.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// How the actions of one request belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One action.
    Single,
    /// All or none, at one moment.
    Transaction,
    /// Each by itself.
    Batch,
    /// All of them read one partition through a local index.
    Index,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: Kind,
    /// Each is on another item.
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
