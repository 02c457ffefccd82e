//! Values that are written ahead of the commit that needs them.
//!
//! A transaction of FoundationDB takes 10 MB. Values are what makes a commit larger, so they go before it, in pieces that
//! nothing names yet, as many transactions as it takes. The commit itself then stores which pieces are whose, and
//! conflicts with every change of them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use store::{Log, LogPosition};

use super::Shared;
use super::database::{Reading, Transaction};
use super::failure::Failure;
use super::transaction::put;
use crate::keys::{Generation, next, piece};
use crate::value::{self, Stored};

/// The bytes of one transaction, keys and conflicts included. FoundationDB takes 10 MB.
pub(super) const TRANSACTION_BYTES: usize = 4 << 20;
/// In a commit of more bytes than a transaction takes, values above this size are cut, unless their keys are long.
const SMALL_BYTES: usize = 512;
/// How often a transaction counts a key: in the pair that it writes and at both ends of what conflicts with it …
const KEYS_PER_PAIR: usize = 3;
/// … at both ends of what is removed, and of what conflicts with that …
pub(super) const KEYS_PER_RANGE: usize = 4;
/// … and at both ends of what it conflicts with when it is read.
pub(super) const KEYS_PER_LOOK: usize = 2;
/// The names of generations, and what else makes a key longer than that of its row.
pub(super) const KEY_MARGIN: usize = 32;
/// How much older than its record a piece may be: half of what [trimming](Shared::trim) leaves.
const RECORD_LAG_US: u64 = 30_000_000;

/// Where a value belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The row with this key.
    Row(Vec<u8>),
    /// A record that the commit appends, by its number.
    Record(usize, Log),
    /// A record of another store's log.
    Carried(Log, LogPosition),
    /// What a snapshot shows in the place of the row with this key.
    Kept(u64, Vec<u8>),
}

/// A value of a commit.
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) bytes: Bytes,
    /// The time of a record; 0 for others.
    pub(super) time_us: u64,
}

/// Values that were written ahead.
#[derive(Default)]
pub(super) struct Staged(HashMap<Place, (Bytes, Generation)>);

impl Staged {
    /// The pieces of exactly this value, unless they are too old for a record.
    fn find(&self, value: &Value) -> Option<Generation> {
        let (bytes, generation) = self.0.get(&value.place)?;
        let is_recent = generation.time_us.saturating_add(RECORD_LAG_US) >= value.time_us;
        (is_recent && bytes == &value.bytes).then_some(*generation)
    }
}

impl Shared {
    /// Writes values ahead if a transaction has no room for a commit of this size. What was written ahead for this commit is
    /// in the answer.
    pub(super) async fn make_room<'a>(
        self: &Arc<Self>,
        commit: &Transaction,
        values: &[Value],
        bytes: usize,
        staged: &'a mut Staged,
    ) -> Result<&'a Staged, Failure> {
        if bytes <= TRANSACTION_BYTES {
            // An attempt before this one may have been larger, but nothing here conflicts with the loss of its pieces.
            *staged = Staged::default();
            return Ok(staged);
        }
        self.write_ahead(commit, values, staged).await?;
        Ok(staged)
    }

    /// Writes the large ones of these values, a transaction's worth at a time. If there was anything to write, the
    /// commit begins again, and finds it written.
    async fn write_ahead(
        self: &Arc<Self>,
        commit: &Transaction,
        values: &[Value],
        staged: &mut Staged,
    ) -> Result<(), Failure> {
        let missing = self.missing(commit, values, staged).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let (mut ahead, mut bytes, mut whole) = (self.begin_commit()?, 0, Vec::new());
        for value in missing {
            let (pieces, generation) = (self.pieces_of(&value.place), self.generation(value.time_us));
            for (number, part) in value::pieces(&value.bytes)? {
                if bytes + part.len() > TRANSACTION_BYTES {
                    let full = std::mem::replace(&mut ahead, self.begin_commit()?);
                    self.commit(full).await?;
                    staged.0.extend(whole.drain(..));
                    bytes = 0;
                }
                self.check_place(&ahead, &value.place).await?;
                let key = piece(&pieces, generation, number);
                ahead.set(&key, part);
                bytes += KEYS_PER_PAIR * key.len() + part.len();
            }
            whole.push((value.place.clone(), (value.bytes.clone(), generation)));
        }
        self.commit(ahead).await?;
        staged.0.extend(whole);
        Err(Failure::WrittenAhead)
    }

    /// The large values that are not written ahead. Others may have removed pieces, and with the first one all: the
    /// commit conflicts with that from here on.
    async fn missing<'a>(
        &self,
        commit: &Transaction,
        values: &'a [Value],
        staged: &Staged,
    ) -> Result<Vec<&'a Value>, Failure> {
        let large = values.iter().filter(|value| self.is_large(value));
        let looks = large.map(|value| async move {
            let Some(generation) = staged.find(value) else { return Ok(Some(value)) };
            let first = piece(&self.pieces_of(&value.place), generation, 0);
            let found = commit.get(&first, Reading::Conflicts).await?;
            Ok::<_, Failure>(found.is_none().then_some(value))
        });
        Ok(try_join_all(looks).await?.into_iter().flatten().collect())
    }

    /// Closing a snapshot removes what is kept for it. No piece may come after that.
    async fn check_place(self: &Arc<Self>, ahead: &Transaction, place: &Place) -> Result<(), Failure> {
        let Place::Kept(id, _) = place else { return Ok(()) };
        match self.open_snapshots(ahead).await?.contains(id) {
            true => Ok(()),
            false => Err(Failure::SnapshotClosed),
        }
    }

    /// Adds values to a commit: whole, or by the names of their pieces if they are written already.
    pub(super) fn store(
        &self,
        commit: &Transaction,
        values: &[Value],
        staged: &Staged,
    ) -> Result<(), Failure> {
        for value in values {
            let (key, generation) = (self.key_of(value), staged.find(value));
            if let Place::Row(row) = &value.place {
                self.clear_pieces(commit, row, generation);
            }
            let Some(generation) = generation else {
                let pieces = || (self.pieces_of(&value.place), self.generation(value.time_us));
                put(commit, &key, &value.bytes, pieces)?;
                continue;
            };
            let stored = Stored::InPieces { generation, length: value.bytes.len() };
            commit.set(&key, &stored.encode());
        }
        Ok(())
    }

    /// Removes the pieces of a row, but not those of this generation.
    pub(super) fn clear_pieces(&self, commit: &Transaction, row: &[u8], but: Option<Generation>) {
        let pieces = self.keys.pieces_of_row(row);
        let all = (pieces.clone(), next(pieces.clone()));
        let Some(generation) = but else { return commit.clear_range(&all) };
        let own = [&pieces[..], &generation.encode()].concat();
        commit.clear_range(&(all.0, own.clone()));
        commit.clear_range(&(next(own), all.1));
    }

    /// Whether a transaction gets smaller by writing this value ahead.
    fn is_large(&self, value: &Value) -> bool {
        value.bytes.len() > SMALL_BYTES + (KEYS_PER_RANGE + KEYS_PER_LOOK) * self.key_of(value).len()
    }

    /// Where a value is stored, or the names of its pieces.
    fn key_of(&self, value: &Value) -> Vec<u8> {
        match &value.place {
            Place::Row(row) => row.clone(),
            Place::Record(number, log) => self.keys.record(*log, LogPosition::new(value.time_us, *number)),
            Place::Carried(log, position) => self.keys.record(*log, *position),
            Place::Kept(id, row) => self.keys.kept(*id, row),
        }
    }

    /// The keys of a value's pieces begin so.
    fn pieces_of(&self, place: &Place) -> Vec<u8> {
        match place {
            Place::Row(row) => self.keys.pieces_of_row(row),
            Place::Record(_, log) | Place::Carried(log, _) => self.keys.pieces_of_log(*log),
            Place::Kept(id, row) => self.keys.pieces_of_kept(*id, row),
        }
    }

    /// The bytes that a value takes in a transaction.
    pub(super) fn size_of(&self, value: &Value) -> usize {
        let keys = match value.place {
            Place::Row(_) => KEYS_PER_PAIR + KEYS_PER_RANGE,
            Place::Kept(..) => KEYS_PER_PAIR + KEYS_PER_LOOK,
            Place::Record(..) | Place::Carried(..) => KEYS_PER_PAIR,
        };
        keys * (self.key_of(value).len() + KEY_MARGIN) + value.bytes.len()
    }
}
