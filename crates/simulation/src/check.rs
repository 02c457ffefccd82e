//! Checks a whole history.

use std::collections::{BTreeMap, BTreeSet};

use crate::linearizability::{self, Call, Operation};
use crate::serializability::{self, Transaction, Write};
use crate::workload::{ACCOUNTS, ACCOUNTS_TOTAL};
use crate::{Action, Answer, Condition, Content, Event, Family, Key, Kind};

/// How much was checked, so that a test can tell whether it was enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub items: usize,
    /// Actions on single items, all of them explained by some order.
    pub actions: usize,
    /// Transactions on versioned items, and those of them that wrote.
    pub transactions: usize,
    pub versions_written: usize,
    /// Transactions that read all accounts.
    pub sums: usize,
    /// Requests whose outcome the client does not know.
    pub unknown_outcomes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0:?} is not linearizable: {1}")]
    Item(Key, linearizability::LinearizabilityViolation),
    #[error("the transactions are not serializable: {0}")]
    Transactions(#[from] serializability::SerializabilityViolation),
    #[error("the accounts add up to {sum} for client {client} at {at}")]
    Sum { client: usize, at: u64, sum: i64 },
}

pub fn check(events: &[Event]) -> Result<Findings, Fault> {
    let mut findings = Findings {
        unknown_outcomes: events.iter().filter(|event| event.answers.contains(&Answer::Unknown)).count(),
        ..Findings::default()
    };
    findings.sums = check_sums(events)?;
    let transactions: Vec<Transaction> = events.iter().filter_map(transaction).collect();
    serializability::check(&transactions)?;
    findings.transactions = transactions.len();
    findings.versions_written = transactions.iter().map(|transaction| transaction.writes.len()).sum();
    for (key, calls) in calls_by_item(events) {
        linearizability::check(None, &calls).map_err(|violation| Fault::Item(key, violation))?;
        findings.items += 1;
        findings.actions += calls.len();
    }
    Ok(findings)
}

/// A transaction also counts as an action on each of its items, at some time between its beginning and its end.
fn calls_by_item(events: &[Event]) -> BTreeMap<Key, Vec<Call<(Action, Answer)>>> {
    let mut calls: BTreeMap<Key, Vec<Call<(Action, Answer)>>> = BTreeMap::new();
    for event in events {
        for (key, action, answer) in event.answered().filter(|(_, _, answer)| *answer != Answer::NotDone) {
            calls.entry(key).or_default().push(Call {
                invoked: event.invoked,
                returned: (answer != Answer::Unknown).then_some(event.returned),
                operation: (action, answer),
            });
        }
    }
    calls.values_mut().for_each(drop_unobserved);
    calls
}

/// Drops writes of unknown outcome whose version was never observed. Whether they happened makes no difference: the
/// next write replaced the version.
fn drop_unobserved(calls: &mut Vec<Call<(Action, Answer)>>) {
    let seen: BTreeSet<u64> = calls.iter().filter_map(|call| call.operation.required_epoch()).collect();
    calls.retain(|call| match call.operation {
        (Action::SetVersion(version, _), Answer::Unknown) => seen.contains(&version),
        _ => true,
    });
}

/// What an event says about the versions of versioned items, if it happened.
fn transaction(event: &Event) -> Option<Transaction> {
    if !matches!(event.request.kind, Kind::Single | Kind::Transaction) {
        return None;
    }
    let single = event.request.kind == Kind::Single;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let mut returned = Some(event.returned);
    for (key, action, answer) in event.answered() {
        if key.family != Family::Versioned {
            return None;
        }
        match (answer, action) {
            (Answer::Read(seen), _) => reads.push((key, version(seen))),
            (Answer::RefusedBecauseOf(seen), _) if single => reads.push((key, version(seen))),
            // A cancelled transaction need not have seen its items at one moment.
            (Answer::Refused | Answer::RefusedBecauseOf(_) | Answer::NotDone, _) => return None,
            (Answer::Unknown, Action::Get) => return None,
            (_, Action::Check(Condition::Version(version))) => reads.push((key, version)),
            (_, Action::Put(Content { version: Some(version), .. }, Condition::Version(previous)))
            | (_, Action::SetVersion(version, Condition::Version(previous))) => {
                writes.push(Write { key, previous, version });
            }
            _ => unreachable!("{action:?} is no action on versioned items"),
        }
        if answer == Answer::Unknown {
            returned = None;
        }
    }
    Some(Transaction { invoked: event.invoked, returned, reads, writes })
}

fn version(item: Option<Content>) -> Option<u64> {
    item.and_then(|item| item.version)
}

fn check_sums(events: &[Event]) -> Result<usize, Fault> {
    let mut sums = 0;
    for event in events.iter().filter(|event| event.request.kind == Kind::Transaction) {
        let counts: Vec<i64> = event
            .answered()
            .filter(|(key, ..)| key.family == Family::Account)
            .filter_map(|(_, _, answer)| match answer {
                Answer::Read(item) => Some(item.and_then(|item| item.count).unwrap_or(0)),
                _ => None,
            })
            .collect();
        if counts.len() == usize::from(ACCOUNTS) {
            let sum = counts.iter().sum();
            if sum != ACCOUNTS_TOTAL {
                return Err(Fault::Sum { client: event.client, at: event.invoked, sum });
            }
            sums += 1;
        }
    }
    Ok(sums)
}
