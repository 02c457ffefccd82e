//! Snapshots: how they are opened, kept open and closed. What they are is in [`snapshot`](crate::snapshot).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use store::{Consistency, Direction, Key, Log, LogPosition, Range, Read, StoreError, Visit};
use tokio::task::AbortHandle;

use super::Shared;
use super::database::{Reading, Transaction};
use super::failure::Failure;
use super::transaction::{Attempts, put};
use super::view::View;
use crate::snapshot::{Open, decode_list, encode_list};

/// How often the owner of a snapshot says that it lives.
const BEAT: Duration = Duration::from_secs(15);
/// After this time without a beat, a snapshot is closed.
const SILENCE: Duration = Duration::from_secs(90);
/// More are not opened at the same time: each makes writes larger.
const OPEN_MAX: usize = 64;

/// An open snapshot. Dropping it closes it.
pub(super) struct Snapshot {
    view: View,
    id: u64,
    beating: AbortHandle,
}

/// What changes in the list of open snapshots.
enum Change {
    Open,
    Beat,
    Close,
}

impl Snapshot {
    pub(super) async fn open(shared: &Arc<Shared>) -> Result<Snapshot, StoreError> {
        let id = shared.handle ^ shared.next_serial().rotate_left(32);
        shared.change_snapshot(id, Change::Open).await?;
        let owner = shared.clone();
        let beating = tokio::spawn(async move {
            loop {
                tokio::time::sleep(BEAT).await;
                if let Err(error) = owner.change_snapshot(id, Change::Beat).await {
                    tracing::debug!(%error, "a snapshot could not be kept open");
                }
            }
        });
        let view = View { shared: shared.clone(), snapshot: Some(id) };
        Ok(Snapshot { view, id, beating: beating.abort_handle() })
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.beating.abort();
        let (shared, id) = (self.view.shared.clone(), self.id);
        // Without a runtime the process ends, and the next one that writes closes the snapshot.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { shared.close_snapshot(id).await });
        }
    }
}

#[async_trait]
impl Read for Snapshot {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.view.get(keys).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.view.scan(range, direction, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.view.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.view.log_end(log).await
    }
}

impl Shared {
    /// The snapshots that are open. A commit that has asked conflicts when one more is opened.
    pub(super) async fn open_snapshots(
        self: &Arc<Self>,
        transaction: &Transaction,
    ) -> Result<Vec<u64>, Failure> {
        let list = transaction.get(&self.keys.snapshots(), Reading::Conflicts).await?;
        let Some(list) = list else { return Ok(Vec::new()) };
        let (now, mut open) = (self.opened.elapsed(), Vec::new());
        for Open { id, beat } in decode_list(Some(&list))? {
            open.push(id);
            if self.silent_snapshots.lock().seen_for(id, beat, now) > SILENCE {
                self.silent_snapshots.lock().forget(&id);
                let shared = self.clone();
                tokio::spawn(async move { shared.close_snapshot(id).await });
            }
        }
        Ok(open)
    }

    async fn close_snapshot(&self, id: u64) {
        if let Err(error) = self.change_snapshot(id, Change::Close).await {
            tracing::debug!(%error, "a snapshot is closed later");
        }
    }

    async fn change_snapshot(&self, id: u64, change: Change) -> Result<(), StoreError> {
        let mut attempts = Attempts::new(self.options.wait);
        loop {
            match self.try_to_change_snapshot(id, &change).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }

    /// May be done twice: what is done is in the list.
    async fn try_to_change_snapshot(&self, id: u64, change: &Change) -> Result<(), Failure> {
        let (transaction, key) = (self.begin()?, self.keys.snapshots());
        let list = transaction.get(&key, Reading::Conflicts).await?;
        let mut open = decode_list(list.as_deref())?;
        let found = open.iter().position(|open| open.id == id);
        match (change, found) {
            (Change::Open, None) if open.len() >= OPEN_MAX => {
                let reason = format!("{OPEN_MAX} snapshots are open; try again when one was closed");
                return Err(StoreError::Unavailable(reason).into());
            }
            (Change::Open, None) => open.push(Open { id, beat: 0 }),
            (Change::Open, Some(_)) | (Change::Beat | Change::Close, None) => return Ok(()),
            (Change::Beat, Some(index)) => open[index].beat += 1,
            (Change::Close, Some(index)) => {
                open.remove(index);
                self.keys.snapshot(id).iter().for_each(|range| transaction.clear_range(range));
            }
        }
        match open.is_empty() {
            true => transaction.clear(&key),
            false => transaction.set(&key, &encode_list(&open)),
        }
        self.commit_unmarked(transaction).await
    }

    /// Keeps the end of a log that open snapshots show, before it changes.
    pub(super) async fn keep_end(
        &self,
        transaction: &Transaction,
        snapshots: &[u64],
        log: Log,
        end: LogPosition,
    ) -> Result<(), Failure> {
        let keeping = snapshots.iter().map(|id| async move {
            let kept = self.keys.kept(*id, &self.keys.floor(log));
            if transaction.get(&kept, Reading::Conflicts).await?.is_none() {
                put(transaction, &kept, &end.0.to_be_bytes(), || (Vec::new(), self.generation(0)))?;
            }
            Ok::<(), Failure>(())
        });
        try_join_all(keeping).await.map(|_| ())
    }
}
