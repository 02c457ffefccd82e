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
//! What is too large for one transaction goes before it, in pieces that only the commit makes visible (`staging`).

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
use super::staging::{KEY_MARGIN, KEYS_PER_LOOK, KEYS_PER_RANGE, Place, Staged, Value};
use super::transaction::{Attempts, get};
use super::view::ends;
use crate::keys::SORT_LENGTH_MAX;
use crate::log::{Ends, lead_us};
use crate::retry::{CONFLICTS_BEFORE_CLAIM, Fault};
use crate::snapshot::encode_kept;

/// Far above any write set of DynamoDB: 4 MB with twenty indexes that hold all of it, and its change records.
const WRITE_SET_BYTES_MAX: usize = 512 << 20;

/// What one commit reads before the decision.
struct Before {
    snapshots: Vec<u64>,
    rows: Vec<Option<Bytes>>,
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
        let (commit, rows) = (self.begin_commit()?, claims.rows());
        let (before, ()) = try_join(self.read_before(&commit, rows), claims.check(&commit)).await?;
        let write_set = decide(&before.rows);
        if write_set.is_empty() {
            claims.give_up().await;
            return Ok(());
        }
        check(&write_set)?;
        let appending = Appending::begin(self, &commit, &before.snapshots, &write_set, conflicts).await?;
        let mut values = self.values(&write_set, appending.time_us);
        values.extend(self.rows_to_keep(&commit, &before, rows, &write_set).await?);
        let bytes = self.check_size(rows, &write_set.deletes, &values)?;
        let staged = self.make_room(&commit, &values, bytes, staged).await?;
        self.store(&commit, &values, staged)?;
        for row in write_set.deletes.iter().map(|key| self.keys.row(key)) {
            commit.clear(&row);
            self.clear_pieces(&commit, &row, None);
        }
        claims.clear(&commit);
        appending.conflict(&commit, &write_set)?;
        self.commit(commit).await
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

    /// What open snapshots show of the rows that change.
    async fn rows_to_keep(
        &self,
        transaction: &Transaction,
        before: &Before,
        rows: &[Vec<u8>],
        write_set: &WriteSet,
    ) -> Result<Vec<Value>, Failure> {
        if before.snapshots.is_empty() {
            return Ok(Vec::new());
        }
        let known: HashMap<&[u8], &Option<Bytes>> =
            rows.iter().map(Vec::as_slice).zip(&before.rows).collect();
        let changed = write_set.puts.iter().map(|(key, _)| key).chain(&write_set.deletes);
        let changed: Vec<Vec<u8>> = changed.map(|key| self.keys.row(key)).collect();
        let keeping = changed.iter().map(|row| {
            let known = known.get(&row[..]).copied().cloned();
            self.to_keep(transaction, &before.snapshots, row, known)
        });
        Ok(try_join_all(keeping).await?.into_iter().flatten().collect())
    }

    /// What is to be kept of a row before it changes. `known` is what the row holds, if it was read.
    pub(super) async fn to_keep(
        &self,
        transaction: &Transaction,
        snapshots: &[u64],
        row: &[u8],
        known: Option<Option<Bytes>>,
    ) -> Result<Vec<Value>, Failure> {
        let mut missing = Vec::new();
        for id in snapshots {
            if transaction.get(&self.keys.kept(*id, row), Reading::Conflicts).await?.is_none() {
                missing.push(*id);
            }
        }
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let before = match known {
            Some(before) => before,
            None => get(transaction, row, || self.keys.pieces_of_row(row), Reading::Conflicts).await?,
        };
        let bytes = Bytes::from(encode_kept(before.as_deref()));
        let kept = |id| Value { place: Place::Kept(id, row.to_vec()), bytes: bytes.clone(), time_us: 0 };
        Ok(missing.into_iter().map(kept).collect())
    }

    /// The values of a write set whose records are appended at this time.
    fn values(&self, write_set: &WriteSet, time_us: u64) -> Vec<Value> {
        let value = |place, bytes: &Bytes, time_us| Value { place, bytes: bytes.clone(), time_us };
        let rows = write_set.puts.iter();
        let rows = rows.map(|(key, bytes)| value(Place::Row(self.keys.row(key)), bytes, 0));
        let appended = write_set.appends.iter().enumerate();
        let appended =
            appended.map(|(number, (log, bytes))| value(Place::Record(number, *log), bytes, time_us));
        let carried = write_set.log_parts.iter().flat_map(|part| {
            { part.records.iter() }
                .map(|(at, bytes)| value(Place::Carried(part.log, *at), bytes, at.time_us()))
        });
        rows.chain(appended).chain(carried).collect()
    }

    /// The bytes of a transaction that reads these rows, and makes these changes.
    fn check_size(&self, rows: &[Vec<u8>], deletes: &[Key], values: &[Value]) -> Result<usize, StoreError> {
        let read = rows.iter().map(|row| KEYS_PER_LOOK * row.len());
        let deleted = deletes.iter().map(|key| self.keys.row(key).len() + KEY_MARGIN);
        let deleted = deleted.map(|length| 2 * KEYS_PER_RANGE * length);
        let size = read.chain(deleted).chain(values.iter().map(|value| self.size_of(value))).sum();
        match size > WRITE_SET_BYTES_MAX {
            true => Err(StoreError::Unavailable(format!(
                "a write set of {size} bytes; {WRITE_SET_BYTES_MAX} is the most"
            ))),
            false => Ok(size),
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
        let time_us = shared.appends.lock().begin(write_set.now_us, lead_us(conflicts), &logs);
        Ok(Appending { shared, logs, time_us })
    }

    /// What the records conflict with, and the floors below those that are carried.
    fn conflict(&self, transaction: &Transaction, write_set: &WriteSet) -> Result<(), Failure> {
        let keys = &self.shared.keys;
        for (log, _) in &self.logs {
            let first = LogPosition::new(self.time_us, 0);
            transaction.conflict(&keys.closings_from(*log, first), Side::Reads)?;
            transaction.conflict(&keys.moment(*log, self.time_us), Side::Reads)?;
        }
        for part in &write_set.log_parts {
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

/// Refuses what FoundationDB's keys have no room for.
fn check(write_set: &WriteSet) -> Result<(), StoreError> {
    write_set.debug_assert_distinct();
    let keys = write_set.puts.iter().map(|(key, _)| key).chain(&write_set.deletes);
    let longest = keys.map(|key| key.position.sort.len()).max().unwrap_or(0);
    match longest > SORT_LENGTH_MAX {
        true => Err(StoreError::Unavailable(format!(
            "sort bytes of length {longest}: FoundationDB's keys have room for {SORT_LENGTH_MAX}"
        ))),
        false => Ok(()),
    }
}
