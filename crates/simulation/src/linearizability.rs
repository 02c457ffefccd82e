//! Is there an order of the calls, each taking effect at one moment between its beginning and its end, that
//! explains every answer? The search is Wing and Gong's, with Lowe's cache of configurations.
//!
//! A configuration is the set of calls that have taken effect and the state that they led to. From there the search
//! may continue with any call that began before the first of the remaining calls ended. It backtracks from
//! configurations that cannot be continued. What keeps it short:
//!
//! - no configuration is entered twice;
//! - when a call that only reads fits, no alternative to it is tried, because it changes nothing for the others;
//! - an epoch is not left while remaining calls require it, because it never returns;
//! - a pending call (its outcome is unknown, so it may never have taken effect) is only tried after all completed
//!   ones, and only if it makes a difference to the call that follows.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// Configurations entered before the search gives up. A correct history needs few more of them than it has calls,
/// some thousands; a wrong one may have 16 concurrent calls in any order, which are 16 * 2^16 configurations.
const CONFIGURATIONS_MAX: usize = 1_000_000;

/// A call's arguments and its answer.
pub trait Operation: Debug {
    type State: Clone + Eq + Hash + Debug;

    /// The state after the call, if `state` explains the answer.
    fn apply(&self, state: &Self::State) -> Option<Self::State>;

    /// Whether the call leaves every state that explains its answer unchanged.
    fn only_reads(&self) -> bool;

    /// A number that marks the state and never returns once it was left.
    fn epoch(state: &Self::State) -> Option<u64>;

    /// The only epoch whose states explain the answer, if there is only one.
    fn required_epoch(&self) -> Option<u64>;
}

#[derive(Clone, Debug)]
pub struct Call<O> {
    pub invoked: u64,
    /// `None` if the outcome is unknown.
    pub returned: Option<u64>,
    pub operation: O,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinearizabilityViolation {
    #[error("after {explained} of {calls} calls the state is {state}, which explains none of: {stuck}")]
    NotLinearizable { explained: usize, calls: usize, state: String, stuck: String },
    #[error("{configurations} configurations were searched without an answer")]
    Undecided { configurations: usize },
}

/// Checks the calls on one object.
pub fn check<O: Operation>(initial: O::State, calls: &[Call<O>]) -> Result<(), LinearizabilityViolation> {
    let mut completed: Vec<(u64, u64, &O)> = Vec::new();
    let mut pending: Vec<(u64, &O)> = Vec::new();
    for call in calls {
        match call.returned {
            Some(returned) => completed.push((call.invoked, returned, &call.operation)),
            None => pending.push((call.invoked, &call.operation)),
        }
    }
    completed.sort_by_key(|(invoked, ..)| *invoked);
    let mut requiring: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, (_, _, operation)) in completed.iter().enumerate() {
        if let Some(epoch) = operation.required_epoch() {
            requiring.entry(epoch).or_default().push(number);
        }
    }
    Search { completed, pending, requiring }.run(initial)
}

struct Search<'a, O> {
    /// With the times at which they began and ended, in the order of their beginnings.
    completed: Vec<(u64, u64, &'a O)>,
    pending: Vec<(u64, &'a O)>,
    /// The completed calls that require an epoch.
    requiring: HashMap<u64, Vec<usize>>,
}

/// How far an order has come.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration<S> {
    /// Completed calls below this have taken effect,
    first: usize,
    /// and these above it,
    beyond: Vec<usize>,
    /// and these pending ones.
    applied: Vec<usize>,
    state: S,
    /// If the last call to take effect was a pending one: the state before it.
    without: Option<S>,
}

impl<S: Clone> Configuration<S> {
    fn explained(&self) -> usize {
        self.first + self.beyond.len()
    }

    fn includes(&self, number: usize) -> bool {
        number < self.first || self.beyond.contains(&number)
    }

    fn after_completed(&self, number: usize, state: S) -> Configuration<S> {
        let mut next = Configuration { state, without: None, ..self.clone() };
        let at = next.beyond.partition_point(|other| *other < number);
        next.beyond.insert(at, number);
        let reached =
            next.beyond.iter().zip(next.first..).take_while(|(beyond, first)| *beyond == first).count();
        next.beyond.drain(..reached);
        next.first += reached;
        next
    }

    fn after_pending(&self, number: usize, state: S) -> Configuration<S> {
        let mut next = Configuration { state, without: Some(self.state.clone()), ..self.clone() };
        let at = next.applied.partition_point(|other| *other < number);
        next.applied.insert(at, number);
        next
    }
}

impl<O: Operation> Search<'_, O> {
    fn run(&self, initial: O::State) -> Result<(), LinearizabilityViolation> {
        let start = Configuration {
            first: 0,
            beyond: Vec::new(),
            applied: Vec::new(),
            state: initial,
            without: None,
        };
        let mut entered = HashSet::from([start.clone()]);
        let mut furthest = start.clone();
        let mut unexplored = vec![start];
        while let Some(configuration) = unexplored.pop() {
            if configuration.explained() == self.completed.len() {
                return Ok(());
            }
            if entered.len() > CONFIGURATIONS_MAX {
                return Err(LinearizabilityViolation::Undecided { configurations: entered.len() });
            }
            if configuration.explained() > furthest.explained() {
                furthest = configuration.clone();
            }
            // The last on the stack is tried first.
            for next in self.successors(&configuration).into_iter().rev() {
                if entered.insert(next.clone()) {
                    unexplored.push(next);
                }
            }
        }
        Err(self.stuck(&furthest))
    }

    /// The completed calls that may take effect next, in the order of their ends, and the time before which any call
    /// that takes effect next must have begun.
    fn candidates(&self, configuration: &Configuration<O::State>) -> (Vec<usize>, u64) {
        let mut deadline = u64::MAX;
        let mut candidates = Vec::new();
        for (number, (invoked, returned, _)) in self.completed.iter().enumerate().skip(configuration.first) {
            if *invoked > deadline {
                break;
            }
            if !configuration.beyond.contains(&number) {
                deadline = deadline.min(*returned);
                candidates.push(number);
            }
        }
        candidates.sort_by_key(|number| self.completed[*number].1);
        (candidates, deadline)
    }

    fn successors(&self, configuration: &Configuration<O::State>) -> Vec<Configuration<O::State>> {
        let (candidates, deadline) = self.candidates(configuration);
        let mut unexplored = Vec::new();
        for number in candidates {
            let operation = self.completed[number].2;
            let Some(state) = difference(configuration, operation) else { continue };
            let next = configuration.after_completed(number, state);
            if operation.only_reads() {
                return vec![next];
            }
            if self.may_leave_epoch(configuration, &next) {
                unexplored.push(next);
            }
        }
        for (number, (invoked, operation)) in self.pending.iter().enumerate() {
            if *invoked > deadline || configuration.applied.contains(&number) {
                continue;
            }
            if let Some(state) =
                difference(configuration, *operation).filter(|state| *state != configuration.state)
            {
                let next = configuration.after_pending(number, state);
                if self.may_leave_epoch(configuration, &next) {
                    unexplored.push(next);
                }
            }
        }
        unexplored
    }

    /// Whether no remaining call requires the epoch that is left.
    fn may_leave_epoch(
        &self,
        configuration: &Configuration<O::State>,
        next: &Configuration<O::State>,
    ) -> bool {
        let epoch = O::epoch(&configuration.state).filter(|epoch| O::epoch(&next.state) != Some(*epoch));
        let requiring = epoch.and_then(|epoch| self.requiring.get(&epoch)).into_iter().flatten();
        requiring.into_iter().all(|number| next.includes(*number))
    }

    fn stuck(&self, configuration: &Configuration<O::State>) -> LinearizabilityViolation {
        let stuck: Vec<String> = self
            .candidates(configuration)
            .0
            .iter()
            .map(|number| format!("{:?}", self.completed[*number]))
            .collect();
        LinearizabilityViolation::NotLinearizable {
            explained: configuration.explained(),
            calls: self.completed.len(),
            state: format!("{:?}", configuration.state),
            stuck: stuck.join("; "),
        }
    }
}

/// The state after an operation, unless it would be the same without the pending call before it.
fn difference<O: Operation>(configuration: &Configuration<O::State>, operation: &O) -> Option<O::State> {
    let state = operation.apply(&configuration.state)?;
    let without = configuration.without.as_ref().and_then(|without| operation.apply(without));
    if without.as_ref() == Some(&state) { None } else { Some(state) }
}
