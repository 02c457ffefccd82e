//! The requests of a random workload: everything that can be done to an item, on so few items that the clients are in
//! each other's way most of the time.
//!
//! A client's requests depend on its seed and on the answers that it got: it remembers what it saw of each
//! item, and writes on the condition that the item has not changed.

use std::collections::BTreeMap;

use crate::{Action, Answer, Condition, Content, Family, Key, Kind, Request};

const REGISTERS: u8 = 6;
const VERSIONED: u8 = 5;
pub(crate) const ACCOUNTS: u8 = 4;
const ACCOUNT_START: i64 = 100;
pub(crate) const ACCOUNTS_TOTAL: i64 = ACCOUNTS as i64 * ACCOUNT_START;

/// Each client writes versions from a range of its own.
const VERSIONS_PER_CLIENT: u64 = 1_000_000;

/// The requests that create the items before the clients begin.
pub fn setup() -> Vec<Request> {
    let put = |key: Key, version, count| {
        let content = Content { version: Some(version), count };
        single(key, Action::Put(content, Condition::Version(None)))
    };
    let versioned = keys(Family::Versioned).map(|key| put(key, 100 + u64::from(key.number), None));
    let accounts =
        keys(Family::Account).map(|key| put(key, 200 + u64::from(key.number), Some(ACCOUNT_START)));
    versioned.chain(accounts).collect()
}

/// Reads everything when the clients are done, so that a write to the wrong item is noticed.
pub fn final_reads() -> Vec<Request> {
    [Family::Register, Family::Versioned, Family::Account]
        .into_iter()
        .flat_map(|family| {
            let gets = || keys(family).map(|key| (key, Action::Get)).collect();
            [
                Request { kind: Kind::Transaction, actions: gets() },
                Request { kind: Kind::Index, actions: gets() },
            ]
        })
        .chain(all_keys().map(|key| single(key, Action::Get)))
        .collect()
}

fn all_keys() -> impl Iterator<Item = Key> {
    [Family::Register, Family::Versioned, Family::Account].into_iter().flat_map(keys)
}

fn keys(family: Family) -> impl Iterator<Item = Key> {
    let count = match family {
        Family::Register => REGISTERS,
        Family::Versioned => VERSIONED,
        Family::Account => ACCOUNTS,
    };
    (0..count).map(move |number| Key { family, number })
}

fn single(key: Key, action: Action) -> Request {
    Request { kind: Kind::Single, actions: vec![(key, action)] }
}

pub struct Client {
    chance: fastrand::Rng,
    next_version: u64,
    seen: BTreeMap<Key, Option<Content>>,
}

impl Client {
    pub fn new(seed: u64, number: usize) -> Client {
        let number = number as u64 + 1;
        Client {
            chance: fastrand::Rng::with_seed(seed.wrapping_mul(1000).wrapping_add(number)),
            next_version: number * VERSIONS_PER_CLIENT,
            seen: BTreeMap::new(),
        }
    }

    /// The next request of this client.
    pub fn next_request(&mut self) -> Request {
        match self.chance.u8(0..100) {
            0..45 => self.on_register(),
            45..55 => self.on_registers(Kind::Batch),
            55..62 => self.on_registers(Kind::Transaction),
            62..65 => self.read_some(Family::Register, Kind::Batch),
            65..68 => self.read_some(Family::Register, Kind::Transaction),
            68..70 => Request { kind: Kind::Index, actions: gets(keys(Family::Register)) },
            70..75 => self.read_some(Family::Versioned, Kind::Transaction),
            75..86 => self.write_versions(),
            86..95 => self.transfer(),
            _ => Request { kind: Kind::Transaction, actions: gets(keys(Family::Account)) },
        }
    }

    /// Remembers what the answers show.
    pub fn learn(&mut self, request: &Request, answers: &[Answer]) {
        for ((key, action), answer) in request.actions.iter().zip(answers) {
            let before = self.seen.get(key).copied().unwrap_or_default();
            let item = match answer {
                Answer::Read(item) | Answer::RefusedBecauseOf(item) => *item,
                Answer::Replaced(item) => action.change(*item),
                Answer::Done => action.change(before),
                Answer::ReadVersion(version) => {
                    Some(Content { version: *version, ..before.unwrap_or_default() })
                }
                Answer::Counted(count) => Some(Content { count: Some(*count), ..before.unwrap_or_default() }),
                Answer::Refused | Answer::NotDone | Answer::Unknown => continue,
            };
            self.seen.insert(*key, item);
        }
    }

    fn on_register(&mut self) -> Request {
        let key = self.any(Family::Register, 1)[0];
        let action = match self.chance.u8(0..10) {
            0..3 => Action::Get,
            _ => self.change(key),
        };
        single(key, action)
    }

    /// A batch has no conditions, and only puts and deletes.
    fn on_registers(&mut self, kind: Kind) -> Request {
        let count = self.chance.usize(2..=4);
        let mut actions = Vec::new();
        for key in self.any(Family::Register, count) {
            let action = match kind {
                Kind::Batch if self.chance.u8(0..5) == 0 => Action::Delete(Condition::Always),
                Kind::Batch => Action::Put(self.content(), Condition::Always),
                _ if self.chance.u8(0..6) == 0 => Action::Check(self.as_seen(key)),
                _ => self.change(key),
            };
            actions.push((key, action));
        }
        Request { kind, actions }
    }

    fn change(&mut self, key: Key) -> Action {
        let condition = if self.chance.bool() { Condition::Always } else { self.as_seen(key) };
        match self.chance.u8(0..10) {
            0..2 => Action::Put(self.content(), condition),
            2..5 => Action::SetVersion(self.version(), condition),
            5..9 => Action::Add(self.chance.i64(1..=3), condition),
            _ => Action::Delete(condition),
        }
    }

    fn read_some(&mut self, family: Family, kind: Kind) -> Request {
        let count = self.chance.usize(2..=3);
        Request { kind, actions: gets(self.any(family, count).into_iter()) }
    }

    /// Replaces the versions of some items on the condition that they, and perhaps a further item, are unchanged.
    /// Two clients that each check what the other writes must be isolated from each other: this is write skew.
    fn write_versions(&mut self) -> Request {
        let count = self.chance.usize(1..=3);
        let mut actions = Vec::new();
        for key in self.any(Family::Versioned, count) {
            let condition = self.as_seen(key);
            let action = match self.chance.u8(0..3) {
                0 if !actions.is_empty() => Action::Check(condition),
                1 => Action::SetVersion(self.version(), condition),
                _ => Action::Put(Content { version: Some(self.version()), count: None }, condition),
            };
            actions.push((key, action));
        }
        let kind = if count == 1 { Kind::Single } else { Kind::Transaction };
        Request { kind, actions }
    }

    fn transfer(&mut self) -> Request {
        let amount = self.chance.i64(1..=60);
        let accounts = self.any(Family::Account, 2);
        let actions = vec![
            (accounts[0], Action::Add(-amount, Condition::CountAtLeast(amount))),
            (accounts[1], Action::Add(amount, Condition::Always)),
        ];
        Request { kind: Kind::Transaction, actions }
    }

    /// Some distinct items of a family, in any order.
    fn any(&mut self, family: Family, count: usize) -> Vec<Key> {
        let mut keys: Vec<Key> = keys(family).collect();
        self.chance.shuffle(&mut keys);
        keys.truncate(count);
        keys
    }

    fn as_seen(&self, key: Key) -> Condition {
        Condition::Version(self.seen.get(&key).copied().flatten().and_then(|item| item.version))
    }

    fn content(&mut self) -> Content {
        let count = self.chance.bool().then(|| self.chance.i64(0..10));
        Content { version: Some(self.version()), count }
    }

    fn version(&mut self) -> u64 {
        self.next_version += 1;
        self.next_version
    }
}

fn gets(keys: impl Iterator<Item = Key>) -> Vec<(Key, Action)> {
    keys.map(|key| (key, Action::Get)).collect()
}
