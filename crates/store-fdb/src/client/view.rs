//! Reading rows and logs: the live ones, or those of a snapshot.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryFutureExt as _;
use futures_util::future::{try_join, try_join_all};
use store::turns::{KEY_WORK, ROW_WORK, Slices};
use store::{Direction, Key, KeyRef, Log, LogPosition, Range, StoreError, Visit};

use super::Shared;
use super::database::{Reading, Transaction};
use super::failure::Failure;
use super::transaction::{Attempts, get, whole};
use crate::keys::{KeyRange, after};
use crate::log::{Ends, decode_floor};
use crate::snapshot::{Part, Source, decode_kept, decode_list, merge};

/// Keys that are read at the same time.
const KEYS_AT_ONCE: usize = 100;
/// Pairs of one page of a scan. FoundationDB ends a page by bytes, too.
const PAGE_PAIRS: usize = 1000;
/// Records of one page.
const PAGE_RECORDS: usize = 1000;

/// What is read.
#[derive(Clone)]
pub(super) struct View {
    pub(super) shared: Arc<Shared>,
    /// None for the live rows.
    pub(super) snapshot: Option<u64>,
}

type Records = Vec<(LogPosition, Bytes)>;

impl View {
    fn attempts(&self) -> Attempts {
        Attempts::new(self.shared.options.wait)
    }

    /// A transaction that reads one moment.
    async fn begin(&self) -> Result<Transaction, Failure> {
        let transaction = self.shared.begin()?;
        if let Some(id) = self.snapshot {
            let list = transaction.get(&self.shared.keys.snapshots(), Reading::Looks).await?;
            if !decode_list(list.as_deref())?.iter().any(|open| open.id == id) {
                let reason = "a snapshot was given up because its owner showed no sign of life";
                return Err(StoreError::Unavailable(reason.to_owned()).into());
            }
        }
        Ok(transaction)
    }

    pub(super) async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut attempts = self.attempts();
        loop {
            match self.get_once(keys).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => self.shared.try_again(&mut attempts, failure).await?,
            }
        }
    }

    async fn get_once(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Failure> {
        let transaction = self.begin().await?;
        let mut slices = Slices::begin();
        let mut rows = Vec::with_capacity(keys.len());
        for part in keys.chunks(KEYS_AT_ONCE) {
            let found = part.iter().map(|key| self.row(&transaction, self.shared.keys.row(key)));
            rows.extend(try_join_all(found).await?);
            slices.spend(part.len() * KEY_WORK).await;
        }
        Ok(rows)
    }

    async fn row(&self, transaction: &Transaction, row: Vec<u8>) -> Result<Option<Bytes>, Failure> {
        let keys = &self.shared.keys;
        let live = get(transaction, &row, || keys.pieces_of_row(&row), Reading::Looks);
        let Some(id) = self.snapshot else { return live.await };
        let kept_key = keys.kept(id, &row);
        let kept = get(transaction, &kept_key, || keys.pieces_of_kept(id, &row), Reading::Looks);
        match try_join(kept, live).await? {
            (Some(kept), _) => Ok(decode_kept(&kept)?),
            (None, live) => Ok(live),
        }
    }

    pub(super) async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        if range.is_empty() {
            return self.shared.begin().map(|_| ()).map_err(Failure::into_error);
        }
        let is_backward = direction == Direction::Backward;
        let mut rest = self.shared.keys.rows(range);
        let (mut attempts, mut slices) = (self.attempts(), Slices::begin());
        // One transaction, and so one moment, for as long as the cluster allows: five seconds.
        let mut transaction = None;
        loop {
            let (begun, page) = match self.page(transaction.take(), &rest, is_backward).await {
                Ok(page) => page,
                Err(failure) => {
                    self.shared.try_again(&mut attempts, failure).await?;
                    continue;
                }
            };
            attempts = self.attempts();
            transaction = Some(begun);
            let last = page.pairs.last().map(|(key, _)| key.clone());
            for (key, value) in page.pairs {
                slices.spend(ROW_WORK + value.as_ref().map_or(0, Bytes::len)).await;
                let Some(value) = value else { continue };
                let (partition, sort) =
                    self.shared.keys.position_of(&key).ok_or_else(|| unreadable("key"))?;
                if let ControlFlow::Break(()) = visit(KeyRef { partition: &partition, sort }, value) {
                    return Ok(());
                }
            }
            match (page.has_more, last) {
                (true, Some(last)) if is_backward => rest.1 = last,
                (true, Some(last)) => rest.0 = after(last),
                _ => return Ok(()),
            }
        }
    }

    /// The next rows of a range. None is a row that a snapshot does not show.
    async fn page(
        &self,
        transaction: Option<Transaction>,
        range: &KeyRange,
        is_backward: bool,
    ) -> Result<(Transaction, Part<Option<Bytes>>), Failure> {
        let transaction = match transaction {
            Some(transaction) => transaction,
            None => self.begin().await?,
        };
        let (keys, id) = (&self.shared.keys, self.snapshot);
        let live = transaction.some(range, is_backward, PAGE_PAIRS);
        let merged = match id {
            None => merge(part(live.await?), Part { pairs: Vec::new(), has_more: false }, is_backward),
            Some(id) => {
                let kept_range = (keys.kept(id, &range.0), keys.kept(id, &range.1));
                let kept = transaction.some(&kept_range, is_backward, PAGE_PAIRS);
                let (live, kept) = try_join(live, kept).await?;
                let mut kept = part(kept);
                for (key, _) in &mut kept.pairs {
                    *key = keys.of_kept(key).ok_or_else(|| unreadable("kept key"))?;
                }
                merge(part(live), kept, is_backward)
            }
        };
        let mut pairs = Vec::with_capacity(merged.pairs.len());
        for (key, (source, stored)) in merged.pairs {
            let value = match (source, id) {
                (Source::Kept, Some(id)) => {
                    decode_kept(&whole(&transaction, &stored, || keys.pieces_of_kept(id, &key)).await?)?
                }
                _ => Some(whole(&transaction, &stored, || keys.pieces_of_row(&key)).await?),
            };
            pairs.push((key, value));
        }
        Ok((transaction, Part { pairs, has_more: merged.has_more }))
    }

    pub(super) async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        let mut attempts = self.attempts();
        loop {
            match self.closed_end(log, LogPosition(0)).await {
                Ok(end) => return Ok(end),
                Err(failure) => self.shared.try_again(&mut attempts, failure).await?,
            }
        }
    }

    pub(super) async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Records, StoreError> {
        let mut attempts = self.attempts();
        loop {
            match self.read_log_once(log, after, limit).await {
                Ok(records) => return Ok(records),
                Err(failure) => self.shared.try_again(&mut attempts, failure).await?,
            }
        }
    }

    async fn read_log_once(&self, log: Log, after: LogPosition, limit: usize) -> Result<Records, Failure> {
        let end = self.closed_end(log, after).await?;
        if end <= after || limit == 0 {
            return Ok(Vec::new());
        }
        // Begun after the log was closed, so that everything up to its end is there.
        let mut transaction = self.begin().await?;
        let (mut records, mut attempts) = (Records::new(), self.attempts());
        loop {
            let from = records.last().map_or(after, |(position, _)| *position);
            match self.page_of_log(&transaction, log, (from, end), limit - records.len()).await {
                Ok((page, has_more)) => {
                    records.extend(page);
                    if !has_more || records.len() >= limit {
                        return Ok(records);
                    }
                }
                Err(failure) => {
                    self.shared.try_again(&mut attempts, failure).await?;
                    transaction = self.begin().await?;
                }
            }
        }
    }

    async fn page_of_log(
        &self,
        transaction: &Transaction,
        log: Log,
        (from, through): (LogPosition, LogPosition),
        limit: usize,
    ) -> Result<(Records, bool), Failure> {
        let keys = &self.shared.keys;
        let range = keys.records(log, from, through);
        let (pairs, has_more) = transaction.some(&range, false, limit.min(PAGE_RECORDS)).await?;
        let mut records = Vec::with_capacity(pairs.len());
        for (key, stored) in pairs {
            let position = keys.position_of_record(&key).ok_or_else(|| unreadable("record's key"))?;
            records.push((position, whole(transaction, &stored, || keys.pieces_of_log(log)).await?));
        }
        Ok((records, has_more))
    }

    /// The end of a log, through which it is closed if there is anything after this position.
    async fn closed_end(&self, log: Log, after: LogPosition) -> Result<LogPosition, Failure> {
        let transaction = self.begin().await?;
        let live = ends(&self.shared, &transaction, log);
        let Some(id) = self.snapshot else {
            let ends = live.await?;
            if let Some(through) = ends.to_close().filter(|through| *through > after) {
                self.shared.close_log(log, through).await?;
            }
            return Ok(ends.end());
        };
        let kept_key = self.shared.keys.kept(id, &self.shared.keys.floor(log));
        let kept = get(&transaction, &kept_key, Vec::new, Reading::Looks);
        match try_join(kept, live).await? {
            (Some(kept), _) => decode_floor(Some(&kept)).ok_or_else(|| unreadable("end of a log").into()),
            (None, live) => Ok(live.end()),
        }
    }
}

/// Where a log ends at the moment of a transaction, without a conflict.
pub(super) async fn ends(shared: &Shared, transaction: &Transaction, log: Log) -> Result<Ends, Failure> {
    let (floor_key, range) = (shared.keys.floor(log), shared.keys.log(log));
    let floor = transaction.get(&floor_key, Reading::Looks).err_into();
    let (floor, last) = try_join(floor, transaction.some(&range, true, 1)).await?;
    let floor = decode_floor(floor.as_deref()).ok_or_else(|| unreadable("floor of a log"))?;
    let last = match last.0.first() {
        Some((key, _)) => shared.keys.position_of_record(key).ok_or_else(|| unreadable("record's key"))?,
        None => LogPosition(0),
    };
    Ok(Ends { last, floor })
}

fn part((pairs, has_more): (Vec<(Vec<u8>, Bytes)>, bool)) -> Part<Bytes> {
    Part { pairs, has_more }
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Corrupt(format!("a {what} in FoundationDB has an unknown form"))
}
