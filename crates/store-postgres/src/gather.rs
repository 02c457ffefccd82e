//! Work that is ready together shares a round trip.
//!
//! A bounded number of runners take work from a queue. A runner that becomes free takes everything that
//! waits, up to a limit. So a single request starts at once, and under load each round trip serves many.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// A queue of work and its runners.
pub(crate) struct Gather<Work> {
    state: Mutex<State<Work>>,
    runners_max: usize,
    weight_max: usize,
}

struct State<Work> {
    waiting: VecDeque<(Work, usize)>,
    running: usize,
}

impl<Work> Gather<Work> {
    /// A batch weighs at most `weight_max`, unless it is one heavy piece of work.
    pub(crate) fn new(runners_max: usize, weight_max: usize) -> Gather<Work> {
        let state = Mutex::new(State { waiting: VecDeque::new(), running: 0 });
        Gather { state, runners_max: runners_max.max(1), weight_max }
    }

    /// Adds work. The caller starts a task with the runner, if there is one.
    pub(crate) fn add(self: &Arc<Self>, work: Work, weight: usize) -> Option<Runner<Work>> {
        let mut state = self.state.lock();
        state.waiting.push_back((work, weight));
        if state.running == self.runners_max {
            return None;
        }
        state.running += 1;
        Some(Runner { gather: Arc::clone(self), is_counted: true })
    }
}

/// The right to take work; there are at most `runners_max` at the same time.
pub(crate) struct Runner<Work> {
    gather: Arc<Gather<Work>>,
    is_counted: bool,
}

impl<Work> Runner<Work> {
    /// The next batch, oldest work first. Without work, the runner has ended.
    pub(crate) fn next(&mut self) -> Option<Vec<Work>> {
        let mut state = self.gather.state.lock();
        let Some((first, mut weight)) = state.waiting.pop_front() else {
            state.running -= 1;
            self.is_counted = false;
            return None;
        };
        let mut batch = vec![first];
        while let Some((_, next)) = state.waiting.front() {
            weight += next;
            if weight > self.gather.weight_max {
                break;
            }
            batch.extend(state.waiting.pop_front().map(|(work, _)| work));
        }
        Some(batch)
    }
}

/// A runner that ends early, by a panic, makes room for another.
impl<Work> Drop for Runner<Work> {
    fn drop(&mut self) {
        if self.is_counted {
            self.gather.state.lock().running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_waits_is_taken_together_up_to_the_limit() {
        let gather = Arc::new(Gather::new(1, 3));
        let mut runner = gather.add("a", 1).expect("the first work starts a runner");
        assert_eq!(runner.next(), Some(vec!["a"]));
        for (work, weight) in [("b", 1), ("c", 2), ("heavy", 9), ("d", 1)] {
            assert!(gather.add(work, weight).is_none(), "one runner is the most");
        }
        let batches: Vec<_> = std::iter::from_fn(|| runner.next()).collect();
        assert_eq!(batches, [vec!["b", "c"], vec!["heavy"], vec!["d"]]);
        assert!(gather.add("e", 1).is_some(), "the runner has ended");
    }

    #[test]
    fn a_runner_that_fails_makes_room_for_another() {
        let gather = Arc::new(Gather::new(1, 3));
        drop(gather.add("a", 1).expect("a runner"));
        let mut runner = gather.add("b", 1).expect("another runner");
        assert_eq!(runner.next(), Some(vec!["a", "b"]));
    }
}
