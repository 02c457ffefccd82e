//! The checker of transactions refuses wrong histories and accepts right ones.

use simulation::serializability::{Reason, SerializabilityViolation, Transaction, Write, check};
use simulation::{Family, Key};

const A: Key = Key { family: Family::Versioned, number: 0 };
const B: Key = Key { family: Family::Versioned, number: 1 };

/// A transaction from here to there.
fn at(invoked: u64, returned: u64) -> Transaction {
    Transaction { invoked, returned: Some(returned), reads: Vec::new(), writes: Vec::new() }
}

trait Does {
    fn read(self, key: Key, version: u64) -> Self;
    fn write(self, key: Key, previous: u64, version: u64) -> Self;
    fn unknown_outcome(self) -> Self;
}

fn version(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

/// Version 0 stands for none.
impl Does for Transaction {
    fn read(mut self, key: Key, number: u64) -> Self {
        self.reads.push((key, version(number)));
        self
    }

    fn write(mut self, key: Key, previous: u64, version_number: u64) -> Self {
        self.writes.push(Write { key, previous: version(previous), version: version_number });
        self
    }

    fn unknown_outcome(mut self) -> Self {
        self.returned = None;
        self
    }
}

fn right(transactions: &[Transaction]) {
    assert_eq!(check(transactions), Ok(()));
}

fn cycle(transactions: &[Transaction]) -> Vec<(usize, Reason)> {
    match check(transactions) {
        Err(SerializabilityViolation::Cycle(cycle)) => cycle,
        found => panic!("{found:?}"),
    }
}

#[test]
fn transactions_one_after_the_other_are_right() {
    right(&[
        at(0, 1).write(A, 0, 1).write(B, 0, 2),
        at(2, 3).read(A, 1).write(B, 2, 3),
        at(4, 5).read(A, 1).read(B, 3),
    ]);
}

#[test]
fn transactions_at_once_may_come_in_any_order() {
    right(&[at(0, 9).write(A, 5, 6), at(1, 8).write(A, 0, 5).read(B, 0), at(2, 7).read(A, 6).write(B, 0, 1)]);
}

#[test]
fn two_that_replace_the_same_version_lose_an_update() {
    let lost = check(&[at(0, 3).write(A, 0, 1), at(1, 2).write(A, 0, 2)]);
    assert_eq!(
        lost,
        Err(SerializabilityViolation::LostUpdate { first: 0, second: 1, key: A, previous: None })
    );
}

#[test]
fn a_version_out_of_nowhere_is_found() {
    let found = check(&[at(0, 1).read(A, 7)]);
    assert_eq!(found, Err(SerializabilityViolation::NeverWritten { reader: 0, key: A, version: 7 }));
}

#[test]
fn half_a_transaction_seen_is_a_cycle() {
    let found = cycle(&[at(0, 9).write(A, 0, 1).write(B, 0, 2), at(1, 2).read(A, 1).read(B, 0)]);
    assert_eq!(found.len(), 2);
    assert!(found.contains(&(0, Reason::WriteRead(A))) && found.contains(&(1, Reason::ReadWrite(B))));
}

#[test]
fn write_skew_is_a_cycle() {
    let found = cycle(&[at(0, 9).read(A, 0).write(B, 0, 1), at(1, 8).read(B, 0).write(A, 0, 2)]);
    assert_eq!(found.len(), 2);
}

#[test]
fn two_readers_that_disagree_on_the_order_make_a_cycle() {
    let found = cycle(&[
        at(0, 9).write(A, 0, 1),
        at(0, 9).write(B, 0, 2),
        at(1, 8).read(A, 1).read(B, 0),
        at(1, 8).read(A, 0).read(B, 2),
    ]);
    assert_eq!(found.len(), 4);
}

#[test]
fn a_stale_read_is_a_cycle_through_time() {
    let found = cycle(&[at(0, 1).write(A, 0, 1), at(2, 3).write(B, 0, 2), at(4, 5).read(A, 0)]);
    assert_eq!(found, [(0, Reason::RealTime), (2, Reason::ReadWrite(A))]);
}

#[test]
fn a_cycle_is_found_among_much_that_is_right() {
    let mut transactions = vec![at(0, 1).write(A, 0, 1)];
    for number in 1..500 {
        transactions.push(at(number * 2, number * 2 + 1).read(B, 0).write(A, number, number + 1));
    }
    right(&transactions);
    transactions.push(at(2000, 2001).read(A, 250));
    assert_eq!(cycle(&transactions).len(), 2);
}

#[test]
fn a_transaction_of_unknown_outcome_happened_whole_or_not_at_all() {
    let unknown_outcome = at(0, 1).write(A, 0, 1).write(B, 0, 2).unknown_outcome();
    right(&[unknown_outcome.clone(), at(2, 3).read(A, 0).read(B, 0)]);
    right(&[unknown_outcome.clone(), at(2, 3).read(A, 0).read(B, 0), at(4, 5).read(A, 1).read(B, 2)]);
    cycle(&[unknown_outcome.clone(), at(2, 3).read(A, 1).read(B, 0)]);
    cycle(&[unknown_outcome, at(2, 3).read(A, 1), at(4, 5).read(B, 0)]);
}

#[test]
fn what_an_unknown_transaction_replaced_is_only_lost_if_somebody_saw_it() {
    let unknown_outcome = at(0, 1).write(A, 0, 1).unknown_outcome();
    right(&[unknown_outcome.clone(), at(2, 3).write(A, 0, 2), at(4, 5).read(A, 2)]);
    let lost = check(&[unknown_outcome, at(2, 3).write(A, 0, 2), at(4, 5).read(A, 1)]);
    assert!(matches!(lost, Err(SerializabilityViolation::LostUpdate { .. })), "{lost:?}");
}
