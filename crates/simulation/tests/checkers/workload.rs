//! The random workload, run on a small database that can be made to err. The checkers find every kind of error, and
//! report nothing when there is none.

use std::collections::BTreeMap;

use simulation::{
    Action, Answer, Client, Clock, Content, Event, Fault, Findings, Key, Kind, Request, check, final_reads,
    setup,
};

const CLIENTS: usize = 16;
const REQUESTS: usize = 4000;
const SEEDS: u64 = 5;

/// What the database sometimes does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Error {
    None,
    /// A write is acknowledged and forgotten.
    LosesAWrite,
    /// A read shows the item as it was some time ago.
    ReadsAnOldItem,
    /// A false condition is taken for true.
    ForgetsACondition,
    /// The second half of a transaction comes later.
    SplitsATransaction,
    /// Conditions on items that a transaction does not write are not looked at.
    IgnoresChecks,
    /// The index is behind its table.
    LeavesTheIndexBehind,
    /// A transaction of unknown outcome is carried out in part.
    CarriesOutAPart,
}

/// The items, and their earlier states.
struct Database {
    error: Error,
    items: BTreeMap<Key, Content>,
    before: BTreeMap<Key, Content>,
    chance: fastrand::Rng,
    /// The delayed halves of split transactions.
    pending: Vec<(Key, Action)>,
}

impl Database {
    fn errs(&mut self, error: Error) -> bool {
        // The index is seldom read.
        let one_in = if error == Error::LeavesTheIndexBehind { 4 } else { 40 };
        self.error == error && self.chance.u8(0..one_in) == 0
    }

    fn apply(&mut self, key: Key, action: Action) {
        if let Some(old) = self.items.get(&key) {
            self.before.insert(key, *old);
        }
        match action.change(self.items.get(&key).copied()) {
            Some(item) => drop(self.items.insert(key, item)),
            None => drop(self.items.remove(&key)),
        }
    }

    fn read(&mut self, key: Key) -> Option<Content> {
        match self.errs(Error::ReadsAnOldItem) {
            true => self.before.get(&key).copied(),
            false => self.items.get(&key).copied(),
        }
    }

    fn holds(&mut self, key: Key, action: Action) -> bool {
        let ignored = self.error == Error::IgnoresChecks && matches!(action, Action::Check(_));
        ignored
            || action.condition().holds(self.items.get(&key).copied())
            || self.errs(Error::ForgetsACondition)
    }

    fn answer(&mut self, request: &Request) -> Vec<Answer> {
        if self.chance.u8(0..20) == 0 {
            for (key, action) in std::mem::take(&mut self.pending) {
                self.apply(key, action);
            }
        }
        let actions = &request.actions;
        if request.kind == Kind::Index {
            let behind = self.errs(Error::LeavesTheIndexBehind);
            let items = if behind { &self.before } else { &self.items };
            let version = |key| items.get(key).and_then(|item: &Content| item.version);
            return actions.iter().map(|(key, _)| Answer::ReadVersion(version(key))).collect();
        }
        let refused: Vec<bool> = actions.iter().map(|(key, action)| !self.holds(*key, *action)).collect();
        if refused.contains(&true) {
            let answer = |((key, _), refused): (&(Key, Action), &bool)| match refused {
                true => Answer::RefusedBecauseOf(self.items.get(key).copied()),
                false => Answer::NotDone,
            };
            return actions.iter().zip(&refused).map(answer).collect();
        }
        if request.kind == Kind::Transaction && self.errs(Error::CarriesOutAPart) {
            let (key, action) = actions[0];
            self.apply(key, action);
            return vec![Answer::Unknown; actions.len()];
        }
        let split = request.kind == Kind::Transaction && self.errs(Error::SplitsATransaction);
        let mut answers = Vec::new();
        for (place, (key, action)) in actions.iter().enumerate() {
            let old = self.read(*key);
            if split && place > 0 {
                self.pending.push((*key, *action));
            } else if !self.errs(Error::LosesAWrite) {
                self.apply(*key, *action);
            }
            answers.push(match (action, request.kind) {
                (Action::Get, _) => Answer::Read(old),
                (Action::Add(..), Kind::Single) => {
                    Answer::Counted(action.change(old).and_then(|item| item.count).unwrap_or(0))
                }
                (_, Kind::Single) => Answer::Replaced(old),
                _ => Answer::Done,
            });
        }
        answers
    }
}

/// Requests overlap as those of clients on several threads would: each takes effect at some time between its
/// beginning and its end.
fn run(seed: u64, error: Error) -> Result<Findings, Fault> {
    let clock = Clock::default();
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut database = Database {
        error: Error::None,
        items: BTreeMap::new(),
        before: BTreeMap::new(),
        chance: chance.fork(),
        pending: Vec::new(),
    };
    let mut events = Vec::new();
    let ask = |database: &mut Database, client, invoked, request: Request| {
        let answers = database.answer(&request);
        Event { client, request, invoked, returned: 0, answers }
    };
    let finish = |mut event: Event| {
        event.returned = clock.tick();
        event
    };
    for request in setup() {
        events.push(finish(ask(&mut database, 0, clock.tick(), request)));
    }
    database.error = error;
    let mut clients: Vec<Client> = (0..CLIENTS).map(|number| Client::new(seed, number)).collect();
    let mut asked: Vec<Option<(u64, Request)>> = vec![None; CLIENTS];
    let mut answered: Vec<Option<Event>> = vec![None; CLIENTS];
    while events.len() < REQUESTS {
        let number = chance.usize(0..CLIENTS);
        if let Some(event) = answered[number].take() {
            let event = finish(event);
            clients[number].learn(&event.request, &event.answers);
            events.push(event);
        } else if let Some((invoked, request)) = asked[number].take() {
            answered[number] = Some(ask(&mut database, number, invoked, request));
        } else {
            asked[number] = Some((clock.tick(), clients[number].next_request()));
        }
    }
    events.extend(answered.into_iter().flatten().map(finish));
    database.error = Error::None;
    for request in final_reads() {
        events.push(finish(ask(&mut database, 0, clock.tick(), request)));
    }
    check(&events)
}

#[test]
fn a_right_database_passes() {
    for seed in 0..SEEDS {
        let findings = run(seed, Error::None).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        assert!(findings.actions > REQUESTS, "{findings:?}");
        assert!(findings.versions_written > 50 && findings.sums > 50, "{findings:?}");
    }
}

#[test]
fn every_error_is_found() {
    for (error, name) in [
        (Error::LosesAWrite, "lost writes"),
        (Error::ReadsAnOldItem, "old items"),
        (Error::ForgetsACondition, "forgotten conditions"),
        (Error::SplitsATransaction, "split transactions"),
        (Error::IgnoresChecks, "ignored checks"),
        (Error::LeavesTheIndexBehind, "an index behind its table"),
        (Error::CarriesOutAPart, "part of an unknown transaction"),
    ] {
        for seed in 0..SEEDS {
            assert!(run(seed, error).is_err(), "{name} were not found, seed {seed}");
        }
    }
}
