//! Is there an order of the calls, each taking effect at one moment between its beginning and its end, that
//! explains every answer? A search after Wing and Gong, with Lowe's memory of places that it has been to.
//!
//! From a place (which calls have taken effect, and the state they led to) the search may go on with any call
//! that began before the first of the others ended. It comes back from places without a way on. Two things
//! keep it short: a place is never entered twice, and a call that only reads needs no alternative once it fits,
//! for it changes nothing for the others.
//!
//! Calls whose outcome was never learnt have no end and may also never take effect. They come last.

use std::collections::HashSet;
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
    Search { learnt, unlearnt }.run(initial)
}

struct Search<'a, O> {
    /// By the time at which they began.
    learnt: Vec<(u64, u64, &'a O)>,
    unlearnt: Vec<(u64, &'a O)>,
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
}

impl<S> Place<S> {
    fn explained(&self) -> usize {
        self.first + self.beyond.len()
    }
}

impl<O: Operation> Search<'_, O> {
    fn run(&self, initial: O::State) -> Result<(), Violation> {
        let start = Place { first: 0, beyond: Vec::new(), applied: Vec::new(), state: initial };
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
            if let Some(state) = operation.apply(&place.state) {
                let next = after_learnt(place, number, state);
                if operation.only_reads() {
                    return vec![next];
                }
                ways.push(next);
            }
        }
        for (number, (invoked, operation)) in self.unlearnt.iter().enumerate() {
            if *invoked > deadline || place.applied.contains(&number) {
                continue;
            }
            if let Some(state) = operation.apply(&place.state).filter(|state| *state != place.state) {
                let mut next = Place { state, ..place.clone() };
                let at = next.applied.partition_point(|other| *other < number);
                next.applied.insert(at, number);
                ways.push(next);
            }
        }
        ways
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

fn after_learnt<S: Clone>(place: &Place<S>, number: usize, state: S) -> Place<S> {
    let mut next = Place { state, ..place.clone() };
    let at = next.beyond.partition_point(|other| *other < number);
    next.beyond.insert(at, number);
    let reached = next.beyond.iter().zip(next.first..).take_while(|(beyond, first)| *beyond == first).count();
    next.beyond.drain(..reached);
    next.first += reached;
    next
}
