//! Could the transactions have happened one after the other, in an order that agrees with real time?
//!
//! Every write names the version that it replaces, and no version is written twice, so the order of an item's
//! versions is known and nothing has to be guessed. One transaction comes before another for four reasons:
//! it wrote a version that the other replaced, it wrote a version that the other read, it read a version that the
//! other replaced, or it ended before the other began. An order exists exactly if these have no cycle.
//!
//! A transaction of unknown outcome counts as done if another one saw a version that it wrote. It then did
//! everything that it was asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Key;

/// The version of an item; `None` before its first.
pub type Version = Option<u64>;

#[derive(Clone, Debug)]
pub struct Transaction {
    pub invoked: u64,
    /// `None` if the outcome is unknown.
    pub returned: Option<u64>,
    pub reads: Vec<(Key, Version)>,
    pub writes: Vec<Write>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub key: Key,
    pub previous: Version,
    pub version: u64,
}

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The second replaced a version that the first wrote.
    WriteWrite(Key),
    /// The second read a version that the first wrote.
    WriteRead(Key),
    /// The second replaced a version that the first read.
    ReadWrite(Key),
    /// The first ended before the second began.
    RealTime,
}

/// Transactions are identified by their index in the history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SerializabilityViolation {
    #[error("transaction {reader} saw version {version} of {key:?}, which no transaction wrote")]
    NeverWritten { reader: usize, key: Key, version: u64 },
    #[error("transactions {first} and {second} both replaced version {previous:?} of {key:?}")]
    LostUpdate { first: usize, second: usize, key: Key, previous: Version },
    #[error("each of these transactions comes before the next, and the last before the first: {0:?}")]
    Cycle(Vec<(usize, Reason)>),
}

pub fn check(transactions: &[Transaction]) -> Result<(), SerializabilityViolation> {
    let done = done(transactions);
    let mut graph = Graph::default();
    let versions = Versions::of(transactions, &done)?;
    for reader in &done {
        for (key, version) in seen(&transactions[*reader]) {
            if let Some(version) = version {
                let writer = versions.writer.get(&(key, version));
                let writer = *writer.ok_or(SerializabilityViolation::NeverWritten {
                    reader: *reader,
                    key,
                    version,
                })?;
                graph.add(writer, *reader, Reason::WriteRead(key));
            }
            if let Some(next) = versions.next.get(&(key, version)) {
                graph.add(*reader, *next, Reason::ReadWrite(key));
            }
        }
        for write in &transactions[*reader].writes {
            if let Some(next) = versions.next.get(&(write.key, Some(write.version))) {
                graph.add(*reader, *next, Reason::WriteWrite(write.key));
            }
        }
    }
    graph.add_real_time(transactions, &done);
    match graph.cycle() {
        Some(cycle) => Err(SerializabilityViolation::Cycle(cycle)),
        None => Ok(()),
    }
}

/// The versions that a transaction read, and those that it replaced, which it must have seen too.
fn seen(transaction: &Transaction) -> impl Iterator<Item = (Key, Version)> {
    let replaced = transaction.writes.iter().map(|write| (write.key, write.previous));
    transaction.reads.iter().copied().chain(replaced)
}

/// The transactions that happened: those with a known outcome, and those that wrote a version which another one that
/// happened saw.
fn done(transactions: &[Transaction]) -> BTreeSet<usize> {
    let mut in_doubt: BTreeMap<(Key, u64), usize> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for (number, transaction) in transactions.iter().enumerate() {
        match transaction.returned {
            Some(_) => drop(done.insert(number)),
            None => {
                in_doubt.extend(transaction.writes.iter().map(|write| ((write.key, write.version), number)))
            }
        }
    }
    let mut looking: Vec<usize> = done.iter().copied().collect();
    while let Some(number) = looking.pop() {
        for (key, version) in seen(&transactions[number]) {
            if let Some(writer) = version.and_then(|version| in_doubt.get(&(key, version)))
                && done.insert(*writer)
            {
                looking.push(*writer);
            }
        }
    }
    done
}

#[derive(Default)]
struct Versions {
    writer: BTreeMap<(Key, u64), usize>,
    /// The transaction that replaced a version.
    next: BTreeMap<(Key, Version), usize>,
}

impl Versions {
    fn of(
        transactions: &[Transaction],
        done: &BTreeSet<usize>,
    ) -> Result<Versions, SerializabilityViolation> {
        let mut versions = Versions::default();
        for number in done {
            for Write { key, previous, version } in &transactions[*number].writes {
                versions.writer.insert((*key, *version), *number);
                if let Some(first) = versions.next.insert((*key, *previous), *number) {
                    let (key, previous) = (*key, *previous);
                    return Err(SerializabilityViolation::LostUpdate {
                        first,
                        second: *number,
                        key,
                        previous,
                    });
                }
            }
        }
        Ok(versions)
    }
}

/// A transaction, or a moment at which one ended. A transaction that began later comes after the moment, and moments
/// come one after another, so the real-time order of all pairs takes few edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Transaction(usize),
    Moment(u64),
}

#[derive(Default)]
struct Graph {
    after: BTreeMap<Node, Vec<(Node, Reason)>>,
}

impl Graph {
    fn add(&mut self, first: usize, second: usize, reason: Reason) {
        // A transaction sees its own writes.
        if first != second {
            self.edge(Node::Transaction(first), Node::Transaction(second), reason);
        }
    }

    fn edge(&mut self, first: Node, second: Node, reason: Reason) {
        self.after.entry(first).or_default().push((second, reason));
    }

    fn add_real_time(&mut self, transactions: &[Transaction], done: &BTreeSet<usize>) {
        let ends: BTreeSet<u64> = done.iter().filter_map(|number| transactions[*number].returned).collect();
        for (earlier, later) in ends.iter().zip(ends.iter().skip(1)) {
            self.edge(Node::Moment(*earlier), Node::Moment(*later), Reason::RealTime);
        }
        for number in done {
            let Transaction { invoked, returned, .. } = transactions[*number];
            if let Some(returned) = returned {
                self.edge(Node::Transaction(*number), Node::Moment(returned), Reason::RealTime);
            }
            if let Some(last) = ends.range(..invoked).next_back() {
                self.edge(Node::Moment(*last), Node::Transaction(*number), Reason::RealTime);
            }
        }
    }

    fn after(&self, node: Node) -> &[(Node, Reason)] {
        self.after.get(&node).map_or(&[], Vec::as_slice)
    }

    /// A short cycle, if there is one.
    fn cycle(&self) -> Option<Vec<(usize, Reason)>> {
        let nodes = self.any_cycle();
        nodes.into_iter().filter_map(|node| self.cycle_through(node)).min_by_key(Vec::len)
    }

    /// The transactions of some cycle. Nodes without a predecessor are removed until nevery remaining node has a predecessor to remove. Every
    /// remaining node has a predecessor, so walking back must end in a cycle.
    fn any_cycle(&self) -> BTreeSet<Node> {
        let mut before: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for (node, after) in &self.after {
            before.entry(*node).or_default();
            for (next, _) in after {
                before.entry(*next).or_default().push(*node);
            }
        }
        let mut left: BTreeMap<Node, usize> =
            before.iter().map(|(node, before)| (*node, before.len())).collect();
        let mut free: Vec<Node> =
            left.iter().filter(|(_, count)| **count == 0).map(|(node, _)| *node).collect();
        while let Some(node) = free.pop() {
            left.remove(&node);
            for (next, _) in self.after(node) {
                let count = left.get_mut(next).expect("a node with a predecessor has not been removed");
                *count -= 1;
                if *count == 0 {
                    free.push(*next);
                }
            }
        }
        let Some((first, _)) = left.first_key_value() else { return BTreeSet::new() };
        let back = |node: Node| {
            *before[&node]
                .iter()
                .find(|node| left.contains_key(node))
                .expect("every remaining node has a predecessor")
        };
        let mut walked = BTreeSet::new();
        let mut node = *first;
        while walked.insert(node) {
            node = back(node);
        }
        let mut cycle = BTreeSet::new();
        while cycle.insert(node) {
            node = back(node);
        }
        cycle.retain(|node| matches!(node, Node::Transaction(_)));
        cycle
    }

    /// The cycle with the fewest transactions through `start`. Moments cost nothing, so they are followed first.
    fn cycle_through(&self, start: Node) -> Option<Vec<(usize, Reason)>> {
        let mut came_from: BTreeMap<Node, (Node, Reason)> = BTreeMap::new();
        let mut next = VecDeque::from([(0, start)]);
        let mut fewest: BTreeMap<Node, usize> = BTreeMap::new();
        while let Some((count, node)) = next.pop_front() {
            for (after, reason) in self.after(node) {
                let to_moment = matches!(after, Node::Moment(_));
                let count = if to_moment { count } else { count + 1 };
                if fewest.get(after).is_some_and(|fewest| *fewest <= count) {
                    continue;
                }
                fewest.insert(*after, count);
                came_from.insert(*after, (node, *reason));
                match to_moment {
                    true => next.push_front((count, *after)),
                    false => next.push_back((count, *after)),
                }
            }
        }
        came_from.contains_key(&start).then(|| walk_back(&came_from, start))
    }
}

fn walk_back(came_from: &BTreeMap<Node, (Node, Reason)>, start: Node) -> Vec<(usize, Reason)> {
    let mut cycle = Vec::new();
    let mut node = start;
    loop {
        let (before, reason) = came_from[&node];
        // Moments only connect transactions; they are not reported.
        if let Node::Transaction(number) = before {
            cycle.push((number, reason));
        }
        node = before;
        if node == start {
            cycle.reverse();
            return cycle;
        }
    }
}
