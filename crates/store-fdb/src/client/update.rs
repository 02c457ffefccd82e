//! Updates, the only way to change rows: read, decide, commit; again after a conflict.
//!
//! 1. The update queues for the latches of its keys, so this server has one update of a row under way.
//! 2. One transaction reads the row of the server among the members, the list of open snapshots and the rows. All of
//!    them conflict with commits that change them. The caller decides.
//! 3. It looks at the ends of the logs, keeps what open snapshots still show, writes, and commits.
//!
//! After a conflict all of this is done again. An update that has lost several times *claims* its rows (`claim`):
//! updates of other servers let it go first.
//!
//! What is too large for one transaction goes before it, in pieces that only the commit makes visible.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{try_join, try_join_all, try_join3};
use store::{Decide, Key, Log, LogPosition, StoreError, WriteSet};
use tokio::time::timeout;

use super::Shared;
use super::claim::Claims;
use super::database::{Reading, Side, Transaction};
use super::failure::Failure;
use super::transaction::{Attempts, get, put};
use super::view::ends;
use crate::keys::{Generation, SORT_LENGTH_MAX, next, piece};
use crate::log::{Ends, lead_us};
use crate::retry::{CONFLICTS_BEFORE_CLAIM, Fault};
use crate::snapshot::encode_kept;
use crate::value::{self, PIECE_BYTES, Stored};

/// The bytes of values in one transaction. FoundationDB takes 10 MB, keys and conflicts included.
const TRANSACTION_BYTES: usize = 4 << 20;
/// Far above any write set of DynamoDB: 4 MB with twenty indexes that hold all of it, and its change records.
const WRITE_SET_BYTES_MAX: usize = 512 << 20;
/// In a write set of more bytes than a transaction takes, values above this size are cut.
const SMALL_BYTES: usize = 512;

/// What one commit reads before the decision.
struct Before {
    snapshots: Vec<u64>,
    rows: Vec<Option<Bytes>>,
}

/// Values that were written ahead of their commit.
#[derive(Default)]
pub(super) struct Staged(HashMap<Staging, (Bytes, Generation)>);

/// Where a value belongs.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Staging {
    Row(Key),
    Record(usize, Log),
}

impl Shared {
    pub(super) async fn update_rows(
        self: &Arc<Self>,
        keys: &[Key],
        decide: &mut Decide<'_>,
    ) -> Result<(), StoreError> {
        let Ok(mut latches) = timeout(self.options.wait, self.latches.take(keys)).await else {
            let reason = format!("others held a row of the update for {:?}", self.options.wait);
            return Err(StoreError::Unavailable(reason));
        };
        let rows: Vec<Vec<u8>> = keys.iter().map(|key| self.keys.row(key)).collect();
        let mut claims = Claims::new(self, &rows, latches.are_contended());
        let (mut attempts, mut staged) = (Attempts::new(self.options.wait), Staged::default());
        loop {
            let outcome = self.attempt(&mut claims, decide, &mut staged, attempts.conflicts()).await;
            let Err(failure) = outcome else {
                latches.set_contended(claims.has_met_others());
                return Ok(());
            };
            if failure.fault() == Fault::Conflict {
                claims.watch();
                latches.set_contended(true);
            }
            if let Err(error) = self.try_again(&mut attempts, failure).await {
                claims.give_up().await;
                return Err(error);
            }
            if attempts.conflicts() >= CONFLICTS_BEFORE_CLAIM {
                claims.make().await;
            }
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        claims: &mut Claims<'_>,
        decide: &mut Decide<'_>,
        staged: &mut Staged,
        conflicts: u32,
    ) -> Result<(), Failure> {
        let (transaction, rows) = (self.begin()?, claims.rows());
        let (before, ()) = try_join(self.read_before(&transaction, rows), claims.check(&transaction)).await?;
        let write_set = decide(&before.rows);
        if write_set.is_empty() {
            claims.give_up().await;
            return Ok(());
        }
        write_set.debug_assert_distinct();
        if check_sizes(&write_set)? > TRANSACTION_BYTES {
            self.write_ahead(&transaction, &write_set, staged).await?;
        }
        self.keep_rows(&transaction, &before, rows, &write_set).await?;
        self.write_rows(&transaction, &write_set, staged)?;
        claims.clear(&transaction);
        let appending =
            Appending::begin(self, &transaction, &before.snapshots, &write_set, conflicts).await?;
        appending.write(&transaction, &write_set, staged)?;
        self.commit(transaction).await
    }

    /// Reads what every commit depends on, and the rows.
    async fn read_before(
        self: &Arc<Self>,
        transaction: &Transaction,
        rows: &[Vec<u8>],
    ) -> Result<Before, Failure> {
        let rows =
            rows.iter().map(|row| get(transaction, row, || self.keys.pieces_of_row(row), Reading::Conflicts));
        let (snapshots, (), rows) =
            try_join3(self.open_snapshots(transaction), self.check_member(transaction), try_join_all(rows))
                .await?;
        Ok(Before { snapshots, rows })
    }

    /// Keeps the rows that open snapshots show, before they change.
    async fn keep_rows(
        &self,
        transaction: &Transaction,
        before: &Before,
        rows: &[Vec<u8>],
        write_set: &WriteSet,
    ) -> Result<(), Failure> {
        if before.snapshots.is_empty() {
            return Ok(());
        }
        let known: HashMap<&[u8], &Option<Bytes>> =
            rows.iter().map(Vec::as_slice).zip(&before.rows).collect();
        let changed = write_set.puts.iter().map(|(key, _)| key).chain(&write_set.deletes);
        let keeping = changed.map(|key| self.keys.row(key)).map(|row| {
            let known = known.get(&row[..]).copied().cloned();
            self.keep_row(transaction, &before.snapshots, row, known)
        });
        try_join_all(keeping).await.map(|_| ())
    }

    /// `known` is what the row holds, if it was read.
    pub(super) async fn keep_row(
        &self,
        transaction: &Transaction,
        snapshots: &[u64],
        row: Vec<u8>,
        known: Option<Option<Bytes>>,
    ) -> Result<(), Failure> {
        let mut missing = Vec::new();
        for id in snapshots {
            if transaction.get(&self.keys.kept(*id, &row), Reading::Conflicts).await?.is_none() {
                missing.push(*id);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let before = match known {
            Some(before) => before,
            None => get(transaction, &row, || self.keys.pieces_of_row(&row), Reading::Conflicts).await?,
        };
        let kept = encode_kept(before.as_deref());
        for id in missing {
            let pieces = || (self.keys.pieces_of_kept(id, &row), self.generation(0));
            put(transaction, &self.keys.kept(id, &row), &kept, pieces)?;
        }
        Ok(())
    }

    fn write_rows(
        &self,
        transaction: &Transaction,
        write_set: &WriteSet,
        staged: &Staged,
    ) -> Result<(), Failure> {
        for (key, value) in &write_set.puts {
            let row = self.keys.row(key);
            let pieces = self.keys.pieces_of_row(&row);
            let all = (pieces.clone(), next(pieces.clone()));
            match staged.0.get(&Staging::Row(key.clone())) {
                Some((_, generation)) => {
                    // Another commit that clears the pieces conflicts.
                    transaction.conflict(&all, Side::Reads)?;
                    let own = [&pieces[..], &generation.encode()].concat();
                    transaction.clear_range(&(all.0, own.clone()));
                    transaction.clear_range(&(next(own), all.1));
                    let stored = Stored::InPieces { generation: *generation, length: value.len() };
                    transaction.set(&row, &stored.encode());
                }
                None => {
                    transaction.clear_range(&all);
                    put(transaction, &row, value, || (pieces, self.generation(0)))?;
                }
            }
        }
        for row in write_set.deletes.iter().map(|key| self.keys.row(key)) {
            let pieces = self.keys.pieces_of_row(&row);
            transaction.clear(&row);
            transaction.clear_range(&(pieces.clone(), next(pieces)));
        }
        Ok(())
    }

    /// Writes the large values of a write set ahead of its commit, a transaction's worth at a time. If there was
    /// anything to write, the update begins again, and finds it written.
    async fn write_ahead(
        self: &Arc<Self>,
        commit: &Transaction,
        write_set: &WriteSet,
        staged: &mut Staged,
    ) -> Result<(), Failure> {
        let rows = write_set.puts.iter().map(|(key, value)| (Staging::Row(key.clone()), value));
        let records = write_set.appends.iter().enumerate();
        let records = records.map(|(index, (log, value))| (Staging::Record(index, *log), value));
        let before = std::mem::take(&mut staged.0);
        let (mut transaction, mut bytes, mut is_new) = (self.begin()?, 0, false);
        for (place, value) in rows.chain(records).filter(|(_, value)| value.len() > SMALL_BYTES) {
            let pieces = self.pieces_of(&place);
            // Another commit may have removed them, and with the first one all.
            if let Some((same, generation)) = before.get(&place).filter(|(before, _)| before == value)
                && commit.get(&piece(&pieces, *generation, 0), Reading::Conflicts).await?.is_some()
            {
                staged.0.insert(place, (same.clone(), *generation));
                continue;
            }
            is_new = true;
            let generation = self.generation(write_set.now_us);
            for (number, part) in value::pieces(value)? {
                transaction.set(&piece(&pieces, generation, number), part);
                bytes += part.len();
                if bytes > TRANSACTION_BYTES - PIECE_BYTES {
                    let full = std::mem::replace(&mut transaction, self.begin()?);
                    self.commit(full).await?;
                    bytes = 0;
                }
            }
            staged.0.insert(place, (value.clone(), generation));
        }
        if !is_new {
            return Ok(());
        }
        self.commit(transaction).await?;
        Err(Failure::WrittenAhead)
    }

    fn pieces_of(&self, place: &Staging) -> Vec<u8> {
        match place {
            Staging::Row(key) => self.keys.pieces_of_row(&self.keys.row(key)),
            Staging::Record(_, log) => self.keys.pieces_of_log(*log),
        }
    }
}

/// The appends of one commit, at a time that they have for themselves until the commit has ended.
struct Appending<'a> {
    shared: &'a Shared,
    logs: Vec<(Log, Ends)>,
    time_us: u64,
}

impl<'a> Appending<'a> {
    async fn begin(
        shared: &'a Shared,
        transaction: &Transaction,
        snapshots: &[u64],
        write_set: &WriteSet,
        conflicts: u32,
    ) -> Result<Appending<'a>, Failure> {
        let mut logs: Vec<Log> = write_set.appends.iter().map(|(log, _)| *log).collect();
        logs.sort_unstable();
        logs.dedup();
        let logs =
            logs.into_iter().map(|log| async move { Ok((log, ends(shared, transaction, log).await?)) });
        let logs: Vec<(Log, Ends)> = try_join_all(logs).await.map_err(|failure: Failure| failure)?;
        for (log, ends) in &logs {
            shared.keep_end(transaction, snapshots, *log, ends.end()).await?;
        }
        for part in &write_set.log_parts {
            let ends = ends(shared, transaction, part.log).await?;
            shared.keep_end(transaction, snapshots, part.log, ends.end()).await?;
        }
        let now_us = write_set.now_us + lead_us(conflicts);
        let time_us = shared.appends.lock().begin(now_us, &logs);
        Ok(Appending { shared, logs, time_us })
    }

    fn write(&self, transaction: &Transaction, write_set: &WriteSet, staged: &Staged) -> Result<(), Failure> {
        let keys = &self.shared.keys;
        for (log, _) in &self.logs {
            let first = LogPosition::new(self.time_us, 0);
            transaction.conflict(&keys.closings_from(*log, first), Side::Reads)?;
            transaction.conflict(&keys.moment(*log, self.time_us), Side::Reads)?;
        }
        for (index, (log, record)) in write_set.appends.iter().enumerate() {
            let key = keys.record(*log, LogPosition::new(self.time_us, index));
            match staged.0.get(&Staging::Record(index, *log)) {
                Some((_, generation)) => {
                    let stored = Stored::InPieces { generation: *generation, length: record.len() };
                    transaction.set(&key, &stored.encode());
                }
                None => {
                    let pieces = || (keys.pieces_of_log(*log), self.shared.generation(self.time_us));
                    put(transaction, &key, record, pieces)?;
                }
            }
        }
        for part in &write_set.log_parts {
            for (position, record) in &part.records {
                let pieces = || (keys.pieces_of_log(part.log), self.shared.generation(position.time_us()));
                put(transaction, &keys.record(part.log, *position), record, pieces)?;
            }
            transaction.raise(&keys.floor(part.log), part.end.0);
        }
        Ok(())
    }
}

impl Drop for Appending<'_> {
    fn drop(&mut self) {
        self.shared.appends.lock().end(self.time_us, self.logs.iter().map(|(log, _)| *log));
    }
}

/// The bytes of the values of a write set.
fn check_sizes(write_set: &WriteSet) -> Result<usize, StoreError> {
    let keys = write_set.puts.iter().map(|(key, _)| key).chain(&write_set.deletes);
    let longest = keys.map(|key| key.position.sort.len()).max().unwrap_or(0);
    if longest > SORT_LENGTH_MAX {
        return Err(StoreError::Unavailable(format!(
            "sort bytes of length {longest}: FoundationDB's keys have room for {SORT_LENGTH_MAX}"
        )));
    }
    let puts = write_set.puts.iter().map(|(_, value)| value.len());
    let appends = write_set.appends.iter().map(|(_, record)| record.len());
    let parts = write_set.log_parts.iter().flat_map(|part| &part.records).map(|(_, record)| record.len());
    let size = puts.chain(appends).chain(parts).sum();
    match size > WRITE_SET_BYTES_MAX {
        true => Err(StoreError::Unavailable(format!(
            "a write set of {size} bytes; {WRITE_SET_BYTES_MAX} is the most"
        ))),
        false => Ok(size),
    }
}
