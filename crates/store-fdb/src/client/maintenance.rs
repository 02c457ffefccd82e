//! What changes logs and spaces as a whole: closing, raising and trimming logs, clearing spaces. All of it may be done
//! twice. What removes something may not happen late, when the space or the log is in use again.

use std::sync::Arc;

use futures_util::future::try_join_all;
use store::{Log, LogPosition, Range, Space, StoreError};

use super::Shared;
use super::database::{Side, Transaction};
use super::failure::Failure;
use super::staging::{Staged, TRANSACTION_BYTES};
use super::transaction::Attempts;
use super::view::ends;
use crate::keys::next;

/// Rows of a space that a step of clearing removes at most while a snapshot is open: each is kept.
const STEP_ROWS: usize = 50;
/// Pieces of records are removed so long after their time: a commit may still need them.
const PIECES_TIME_US: u64 = 60_000_000;

impl Shared {
    /// Sees to it that no record appears at or below a position, at which there is a record.
    pub(super) async fn close_log(&self, log: Log, through: LogPosition) -> Result<(), Failure> {
        let transaction = self.begin()?;
        self.raise_floor(&transaction, log, through)?;
        self.commit_unmarked(transaction).await
    }

    fn raise_floor(&self, transaction: &Transaction, log: Log, to: LogPosition) -> Result<(), Failure> {
        transaction.raise(&self.keys.floor(log), to.0);
        Ok(transaction.conflict(&self.keys.closing(log, to), Side::Writes)?)
    }

    pub(super) async fn raise_ends(self: &Arc<Self>, logs: &[Log], time_us: u64) -> Result<(), StoreError> {
        let mut attempts = Attempts::new(self.options.wait);
        loop {
            match self.try_to_raise(logs, LogPosition::through(time_us)).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }

    async fn try_to_raise(self: &Arc<Self>, logs: &[Log], to: LogPosition) -> Result<(), Failure> {
        let transaction = self.begin()?;
        let snapshots = self.open_snapshots(&transaction).await?;
        let raising = logs.iter().map(|log| async {
            if !snapshots.is_empty() {
                let end = ends(self, &transaction, *log).await?.end();
                self.keep_end(&transaction, &snapshots, *log, end).await?;
            }
            self.raise_floor(&transaction, *log, to)
        });
        try_join_all(raising).await?;
        self.commit_unmarked(transaction).await
    }

    pub(super) async fn trim(self: &Arc<Self>, log: Log, through: LogPosition) -> Result<(), StoreError> {
        let mut attempts = Attempts::new(self.options.wait);
        loop {
            match self.try_to_trim(log, through).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }

    /// The floor keeps the end of the log, so its positions are never given out again.
    async fn try_to_trim(self: &Arc<Self>, log: Log, through: LogPosition) -> Result<(), Failure> {
        let transaction = self.begin_commit()?;
        let end = ends(self, &transaction, log).await?.end();
        let last = through.min(end);
        if last > LogPosition(0) {
            self.raise_floor(&transaction, log, last)?;
            transaction.clear_range(&self.keys.records(log, LogPosition(0), last));
        }
        let pieces = self.keys.pieces_of_log(log);
        let old_us = last.time_us().saturating_sub(PIECES_TIME_US).to_be_bytes();
        let pieces_end = match through.0 {
            u64::MAX => {
                // Also those of a record that another commit appends now.
                transaction.conflict(&self.keys.records(log, last, through), Side::Reads)?;
                next(pieces.clone())
            }
            _ => [&pieces[..], &old_us].concat(),
        };
        transaction.clear_range(&(pieces, pieces_end));
        self.commit(transaction).await
    }

    pub(super) async fn clear_space(self: &Arc<Self>, space: Space) -> Result<(), StoreError> {
        let (mut attempts, mut staged) = (Attempts::new(self.options.wait), Staged::default());
        loop {
            match self.clear_step(space, &mut staged).await {
                Ok(true) => return Ok(()),
                Ok(false) => attempts = Attempts::new(self.options.wait),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }

    /// Whether the space is empty now. Without snapshots, that takes one commit, however many rows there are.
    async fn clear_step(self: &Arc<Self>, space: Space, staged: &mut Staged) -> Result<bool, Failure> {
        let transaction = self.begin_commit()?;
        self.check_member(&transaction).await?;
        let snapshots = self.open_snapshots(&transaction).await?;
        if snapshots.is_empty() {
            self.keys.space(space).iter().for_each(|range| transaction.clear_range(range));
            self.commit(transaction).await?;
            return Ok(true);
        }
        let range = self.keys.rows(&Range::all(space));
        let (rows, mut has_more) = transaction.some(&range, false, STEP_ROWS).await?;
        let (mut kept, mut bytes) = (Vec::new(), 0);
        for (row, _) in rows {
            kept.extend(self.to_keep(&transaction, &snapshots, &row, None).await?);
            transaction.clear(&row);
            self.clear_pieces(&transaction, &row, None);
            bytes = kept.iter().map(|value| self.size_of(value)).sum();
            if bytes > TRANSACTION_BYTES / 2 {
                has_more = true;
                break;
            }
        }
        let staged = self.make_room(&transaction, &kept, bytes, staged).await?;
        self.store(&transaction, &kept, staged)?;
        self.commit(transaction).await?;
        Ok(!has_more)
    }
}
