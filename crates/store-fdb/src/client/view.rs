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
use crate::value;

/// Keys that are read at the same time.
const KEYS_AT_ONCE: usize = 100;
/// Pairs of one page of a scan. FoundationDB ends a page by bytes, too.
const PAGE_PAIRS: usize = 1000;
/// Records of one page.
const PAGE_RECORDS: usize = 1000;

/// The bytes of values that are read at the same time: as many as the largest answer of DynamoDB has.
const READ_BYTES: usize = 1 << 20;

/// What is read.
#[derive(Clone)]
pub(super) struct View {
    pub(super) shared: Arc<Shared>,
    /// None for the live rows.
    pub(super) snapshot: Option<u64>,
}

/// A page of a scan. What is in pieces is read when the scan comes there.
struct Page {
    transaction: Transaction,
    pairs: Pairs,
    has_more: bool,
}

/// A key, with what is stored there.
type Pair = (Vec<u8>, (Source, Bytes));
type Pairs = std::vec::IntoIter<Pair>;

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
        let (mut attempts, mut slices, mut page) = (self.attempts(), Slices::begin(), None);
        loop {
            let rows = match self.next_rows(&mut page, &rest, is_backward).await {
                Ok(rows) if rows.is_empty() => return Ok(()),
                Ok(rows) => rows,
                Err(failure) => {
                    self.shared.try_again(&mut attempts, failure).await?;
                    page = None;
                    continue;
                }
            };
            attempts = self.attempts();
            for (key, value) in rows {
                slices.spend(ROW_WORK + value.as_ref().map_or(0, Bytes::len)).await;
                if let Some(value) = value {
                    let (partition, sort) =
                        self.shared.keys.position_of(&key).ok_or_else(|| unreadable("key"))?;
                    if let ControlFlow::Break(()) = visit(KeyRef { partition: &partition, sort }, value) {
                        return Ok(());
                    }
                }
                match is_backward {
                    true => rest.1 = key,
                    false => rest.0 = after(key),
                }
            }
        }
    }

    /// Some rows at the beginning of the rest of a scan; at its end, none. A row without a value is one that a snapshot does not
    /// show. All is read in one transaction, and so at one moment, for as long as the cluster allows: five seconds.
    async fn next_rows(
        &self,
        page: &mut Option<Page>,
        rest: &KeyRange,
        is_backward: bool,
    ) -> Result<Vec<(Vec<u8>, Option<Bytes>)>, Failure> {
        let transaction = match page {
            Some(Page { pairs, has_more: false, .. }) if pairs.len() == 0 => return Ok(Vec::new()),
            Some(page) if page.pairs.len() > 0 => return self.rows_of(page).await,
            _ => page.take().map(|page| page.transaction),
        };
        let transaction = match transaction {
            Some(transaction) => transaction,
            None => self.begin().await?,
        };
        self.rows_of(page.insert(self.page(transaction, rest, is_backward).await?)).await
    }

    /// The next rows of a page.
    async fn rows_of(&self, page: &mut Page) -> Result<Vec<(Vec<u8>, Option<Bytes>)>, Failure> {
        let some = take_some(&mut page.pairs)?;
        let (keys, transaction) = (&self.shared.keys, &page.transaction);
        let rows = some.into_iter().map(|(key, (source, stored))| async move {
            let value = match (source, self.snapshot) {
                (Source::Kept, Some(id)) => {
                    decode_kept(&whole(transaction, &stored, || keys.pieces_of_kept(id, &key)).await?)?
                }
                _ => Some(whole(transaction, &stored, || keys.pieces_of_row(&key)).await?),
            };
            Ok((key, value))
        });
        try_join_all(rows).await
    }

    /// The next pairs of a range.
    async fn page(
        &self,
        transaction: Transaction,
        range: &KeyRange,
        is_backward: bool,
    ) -> Result<Page, Failure> {
        let keys = &self.shared.keys;
        let live = transaction.some(range, is_backward, PAGE_PAIRS);
        let merged = match self.snapshot {
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
        Ok(Page { transaction, pairs: merged.pairs.into_iter(), has_more: merged.has_more })
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
            let (from, count) = (records.last().map_or(after, |(position, _)| *position), records.len());
            match self.page_of_log(&transaction, log, (from, end), limit - count, &mut records).await {
                Ok(has_more) if !has_more || records.len() >= limit => return Ok(records),
                Ok(_) => {}
                Err(failure) => {
                    if records.len() > count {
                        attempts = self.attempts();
                    }
                    self.shared.try_again(&mut attempts, failure).await?;
                    transaction = self.begin().await?;
                }
            }
        }
    }

    /// Reads the next records, and returns whether there are more. After a failure, those that were read are there.
    async fn page_of_log(
        &self,
        transaction: &Transaction,
        log: Log,
        (from, through): (LogPosition, LogPosition),
        limit: usize,
        records: &mut Records,
    ) -> Result<bool, Failure> {
        let keys = &self.shared.keys;
        let range = keys.records(log, from, through);
        let (pairs, has_more) = transaction.some(&range, false, limit.min(PAGE_RECORDS)).await?;
        let pairs: Vec<_> = pairs.into_iter().map(|(key, stored)| (key, (Source::Live, stored))).collect();
        let mut pairs = pairs.into_iter();
        while pairs.len() > 0 {
            let some = take_some(&mut pairs)?.into_iter().map(|(key, (_, stored))| async move {
                let position = keys.position_of_record(&key).ok_or_else(|| unreadable("record's key"))?;
                Ok::<_, Failure>((position, whole(transaction, &stored, || keys.pieces_of_log(log)).await?))
            });
            records.extend(try_join_all(some).await?);
        }
        Ok(has_more)
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

/// The next pairs whose values are read at the same time, one at the least.
fn take_some(pairs: &mut Pairs) -> Result<Vec<Pair>, StoreError> {
    let (mut count, mut bytes) = (0, 0);
    for (_, (_, stored)) in pairs.as_slice() {
        bytes += value::length(stored)?;
        if count > 0 && bytes > READ_BYTES {
            break;
        }
        count += 1;
    }
    Ok(pairs.take(count).collect())
}

fn part((pairs, has_more): (Vec<(Vec<u8>, Bytes)>, bool)) -> Part<Bytes> {
    Part { pairs, has_more }
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Corrupt(format!("a {what} in FoundationDB has an unknown form"))
}
