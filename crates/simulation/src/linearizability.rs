//! Is there an order of the calls, each taking effect at one moment between its beginning and its end, that
//! explains every answer? A search after Wing and Gong, with Lowe's memory of places that it has been to.
//!
//! From a place (which calls have taken effect, and the state they led to) the search may go on with any call
//! that began before the first of the others ended. It comes back from places without a way on. What keeps it
//! short:
//!
//! - no place is entered twice;
//! - a call that only reads needs no alternative once it fits, for it changes nothing for the others;
//! - a state with a mark is not left while there are calls to come that need it, for it does not come back;
//! - a call whose outcome was never learnt, and which so may never have taken effect, is only taken if it makes
//!   a difference to the call that follows, and only after all that were learnt.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// Places entered before the search gives up. A right history needs few more places than it has calls, some
/// thousands; a wrong one may have 16 calls at once in any order, which are 16 * 2^16 places.
const PLACES_MAX: usize = 1_000_000;

/// What was called and what it answered.
pub trait Operation: Debug {
    type State: Clone + Eq + Hash + Debug;

    /// The state after it, if `state` explains the answer.
    fn apply(&self, state: &Self::State) -> Option<Self::State>;

    /// Whether it leaves every state as it is that explains its answer.
    fn only_reads(&self) -> bool;

    /// What a state can be told by that never is again once it was left.
    fn mark(state: &Self::State) -> Option<u64>;

    /// The mark of the only state that explains the answer, if there is only one with a mark.
    fn needs(&self) -> Option<u64>;
}

#[derive(Clone, Debug)]
pub struct Call<O> {
    pub invoked: u64,
    /// Nothing if the outcome was never learnt.
    pub returned: Option<u64>,
    pub operation: O,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("after {explained} of {calls} calls the state is {state}, which explains none of: {stuck}")]
    NotLinearizable { explained: usize, calls: usize, state: String, stuck: String },
    #[error("{places} places were searched without an answer")]
    Undecided { places: usize },
}

/// Judges the calls on one object.
pub fn check<O: Operation>(initial: O::State, calls: &[Call<O>]) -> Result<(), Violation> {
    let mut learnt: Vec<(u64, u64, &O)> = Vec::new();
    let mut unlearnt: Vec<(u64, &O)> = Vec::new();
    for call in calls {
        match call.returned {
            Some(returned) => learnt.push((call.invoked, returned, &call.operation)),
            None => unlearnt.push((call.invoked, &call.operation)),
        }
    }
    learnt.sort_by_key(|(invoked, ..)| *invoked);
    let mut needing: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, (_, _, operation)) in learnt.iter().enumerate() {
        if let Some(mark) = operation.needs() {
            needing.entry(mark).or_default().push(number);
        }
    }
    Search { learnt, unlearnt, needing }.run(initial)
}

struct Search<'a, O> {
    /// By the time at which they began.
    learnt: Vec<(u64, u64, &'a O)>,
    unlearnt: Vec<(u64, &'a O)>,
    /// The learnt calls that need the state with a mark.
    needing: HashMap<u64, Vec<usize>>,
}

/// How far an order has come.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place<S> {
    /// Learnt calls below this have taken effect,
    first: usize,
    /// and these above it,
    beyond: Vec<usize>,
    /// and these of the unlearnt.
    applied: Vec<usize>,
    state: S,
    /// The state as it was before, if the last to take effect was an unlearnt call.
    without: Option<S>,
}

impl<S: Clone> Place<S> {
    fn explained(&self) -> usize {
        self.first + self.beyond.len()
    }

    fn includes(&self, number: usize) -> bool {
        number < self.first || self.beyond.contains(&number)
    }

    fn after_learnt(&self, number: usize, state: S) -> Place<S> {
        let mut next = Place { state, without: None, ..self.clone() };
        let at = next.beyond.partition_point(|other| *other < number);
        next.beyond.insert(at, number);
        let reached =
            next.beyond.iter().zip(next.first..).take_while(|(beyond, first)| *beyond == first).count();
        next.beyond.drain(..reached);
        next.first += reached;
        next
    }

    fn after_unlearnt(&self, number: usize, state: S) -> Place<S> {
        let mut next = Place { state, without: Some(self.state.clone()), ..self.clone() };
        let at = next.applied.partition_point(|other| *other < number);
        next.applied.insert(at, number);
        next
    }
}

impl<O: Operation> Search<'_, O> {
    fn run(&self, initial: O::State) -> Result<(), Violation> {
        let start =
            Place { first: 0, beyond: Vec::new(), applied: Vec::new(), state: initial, without: None };
        let mut entered = HashSet::from([start.clone()]);
        let mut furthest = start.clone();
        let mut ways = vec![start];
        while let Some(place) = ways.pop() {
            if place.explained() == self.learnt.len() {
                return Ok(());
            }
            if entered.len() > PLACES_MAX {
                return Err(Violation::Undecided { places: entered.len() });
            }
            if place.explained() > furthest.explained() {
                furthest = place.clone();
            }
            // The way to try first comes last.
            for next in self.ways_on(&place).into_iter().rev() {
                if entered.insert(next.clone()) {
                    ways.push(next);
                }
            }
        }
        Err(self.stuck(&furthest))
    }

    /// The learnt calls that may take effect next, the first to end first, and the time before which
    /// whatever takes effect next must have begun.
    fn candidates(&self, place: &Place<O::State>) -> (Vec<usize>, u64) {
        let mut deadline = u64::MAX;
        let mut candidates = Vec::new();
        for (number, (invoked, returned, _)) in self.learnt.iter().enumerate().skip(place.first) {
            if *invoked > deadline {
                break;
            }
            if !place.beyond.contains(&number) {
                deadline = deadline.min(*returned);
                candidates.push(number);
            }
        }
        candidates.sort_by_key(|number| self.learnt[*number].1);
        (candidates, deadline)
    }

    fn ways_on(&self, place: &Place<O::State>) -> Vec<Place<O::State>> {
        let (candidates, deadline) = self.candidates(place);
        let mut ways = Vec::new();
        for number in candidates {
            let operation = self.learnt[number].2;
            let Some(state) = difference(place, operation) else { continue };
            let next = place.after_learnt(number, state);
            if operation.only_reads() {
                return vec![next];
            }
            if self.may_leave(place, &next) {
                ways.push(next);
            }
        }
        for (number, (invoked, operation)) in self.unlearnt.iter().enumerate() {
            if *invoked > deadline || place.applied.contains(&number) {
                continue;
            }
            if let Some(state) = difference(place, *operation).filter(|state| *state != place.state) {
                let next = place.after_unlearnt(number, state);
                if self.may_leave(place, &next) {
                    ways.push(next);
                }
            }
        }
        ways
    }

    /// Whether nobody needs the state that is left.
    fn may_leave(&self, place: &Place<O::State>, next: &Place<O::State>) -> bool {
        let mark = O::mark(&place.state).filter(|mark| O::mark(&next.state) != Some(*mark));
        let needing = mark.and_then(|mark| self.needing.get(&mark)).into_iter().flatten();
        needing.into_iter().all(|number| next.includes(*number))
    }

    fn stuck(&self, place: &Place<O::State>) -> Violation {
        let stuck: Vec<String> =
            self.candidates(place).0.iter().map(|number| format!("{:?}", self.learnt[*number])).collect();
        Violation::NotLinearizable {
            explained: place.explained(),
            calls: self.learnt.len(),
            state: format!("{:?}", place.state),
            stuck: stuck.join("; "),
        }
    }
}

/// The state after an operation, unless it would be the same without the unlearnt call before it.
fn difference<O: Operation>(place: &Place<O::State>, operation: &O) -> Option<O::State> {
    let state = operation.apply(&place.state)?;
    let without = place.without.as_ref().and_then(|without| operation.apply(without));
    if without.as_ref() == Some(&state) { None } else { Some(state) }
}
