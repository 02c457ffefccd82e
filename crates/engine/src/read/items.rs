//! Reading items: one, a batch, those of a transaction, or a page of a table or index.
//!
//! Each call admits the read, reads, and charges what it cost; it returns items and their units. Nothing
//! else reads items for a client.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use api::{Operation, limits};
use capacity::{ReadMode, read_units, scan_units};
use expression::{Condition, Projection};
use futures_util::future::try_join_all;
use item::{Item, ItemRef};
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, StoreError};

use super::Reads;
use crate::base::key::share_of;
use crate::base::table::Index;
use crate::base::units::Units;
use crate::read::source::Source;
use crate::tables::catalog::LiveTable;
use crate::throughput::admission::{AdmittedRead, Reading, Target, Throttled};
use crate::throughput::usage::{Ending, Now};

/// Why an item or a page was not read.
#[derive(Debug)]
pub enum ReadError {
    /// The table or index has no throughput left.
    Throttled(Throttled),
    /// The store failed.
    Store(StoreError),
}

/// Why the items of a transaction were not read.
#[derive(Debug)]
pub enum TransactReadError {
    /// Transactions that write are under way on the items at these positions.
    Conflicts(Vec<usize>),
    /// One for each item: those without throughput left are errors.
    Throttled(Vec<Result<(), Throttled>>),
    /// The items together are larger than [`limits::TRANSACTION_BYTES_MAX`].
    TooLarge,
    /// The store failed.
    Store(StoreError),
}

/// A key that was read.
#[derive(Debug)]
pub struct Found {
    pub item: Option<Item>,
    /// What it cost; reading nothing costs as much as the smallest item.
    pub units: f64,
}

impl Found {
    /// Charges the admitted read of an item.
    fn charged(admitted: AdmittedRead<'_>, item: Option<Item>, mode: ReadMode, now: Now) -> Found {
        let units = read_units(size_bytes(&item), mode);
        admitted.charge(units, now);
        Found { item, units }
    }
}

fn size_bytes(item: &Option<Item>) -> usize {
    item.as_ref().map_or(0, Item::size_bytes)
}

/// An item that is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub table: &'a LiveTable,
    pub key: &'a Key,
    /// The key as the client named it.
    pub attributes: ItemRef<'a>,
}

impl<'a> Asked<'a> {
    fn reading(&self, operation: Operation) -> Reading<'a> {
        let Asked { table, key, attributes } = *self;
        Reading { operation, table, target: Target::of_key(key), attributes: Some(attributes) }
    }
}

/// Reads one item.
pub async fn item(
    reads: &Reads,
    operation: Operation,
    asked: Asked<'_>,
    mode: ReadMode,
) -> Result<Found, ReadError> {
    let began = reads.usage.moment();
    let result = read_item(reads, operation, asked, mode).await;
    let returned = result.as_ref().ok().map(|(found, _)| usize::from(found.item.is_some()));
    let ended = result.as_ref().map_or_else(|_| reads.usage.moment(), |(_, now)| *now);
    reads.usage.request(asked.table, operation, ending(&result), returned, (began, ended));
    result.map(|(found, _)| found)
}

async fn read_item(
    reads: &Reads,
    operation: Operation,
    asked: Asked<'_>,
    mode: ReadMode,
) -> Result<(Found, Now), ReadError> {
    let admitted = reads.usage.admit_read(asked.reading(operation)).map_err(ReadError::Throttled)?;
    let mut items = get(reads, std::slice::from_ref(asked.key), mode).await.map_err(ReadError::Store)?;
    let now = reads.usage.moment();
    Ok((Found::charged(admitted, items.pop().flatten(), mode, now), now))
}

fn ending<T>(result: &Result<T, ReadError>) -> Ending {
    match result {
        Ok(_) => Ending::Served,
        Err(ReadError::Throttled(_)) => Ending::Throttled,
        Err(ReadError::Store(_)) => Ending::Failed,
    }
}

/// What a batch reads of one table.
pub struct BatchRead {
    pub table: Arc<LiveTable>,
    /// At least one, all distinct.
    pub keys: Vec<Key>,
    /// The same keys as the client named them.
    pub attributes: Vec<Item>,
    pub mode: ReadMode,
}

/// The outcome for one key of a batch.
pub enum BatchFound {
    Found(Found),
    /// The table has no throughput left for it.
    Throttled(Throttled),
    /// It did not fit into the answer, or one before it did not.
    NoRoom,
}

/// Reads the keys of several tables, up to `bytes_max` of items, and answers for each in order. Each key is
/// admitted by itself, when the ones before it were charged.
pub async fn batch(
    reads: &Reads,
    asked: &[BatchRead],
    bytes_max: usize,
) -> Result<Vec<Vec<BatchFound>>, StoreError> {
    let began = reads.usage.moment();
    let result = read_batch(reads, asked, bytes_max).await;
    let ended = reads.usage.moment();
    for (number, read) in asked.iter().enumerate() {
        let is_throttled = |found: &BatchFound| matches!(found, BatchFound::Throttled(_));
        let ending = match &result {
            Ok(found) if found[number].iter().all(is_throttled) => Ending::Throttled,
            Ok(_) => Ending::Served,
            Err(_) => Ending::Failed,
        };
        reads.usage.request(&read.table, Operation::BatchGetItem, ending, None, (began, ended));
    }
    result
}

async fn read_batch(
    reads: &Reads,
    asked: &[BatchRead],
    bytes_max: usize,
) -> Result<Vec<Vec<BatchFound>>, StoreError> {
    let items = try_join_all(asked.iter().map(|read| get(reads, &read.keys, read.mode))).await?;
    let now = reads.usage.moment();
    let mut room_bytes = Some(bytes_max);
    let mut found = Vec::with_capacity(asked.len());
    for (read, items) in asked.iter().zip(items) {
        let keys = read.keys.iter().zip(&read.attributes);
        let asked = keys.map(|(key, attributes)| read.asked(key, attributes));
        let admit = |(asked, item)| batch_item(reads, asked, item, read.mode, &mut room_bytes, now);
        found.push(asked.zip(items).map(admit).collect());
    }
    Ok(found)
}

impl BatchRead {
    fn asked<'a>(&'a self, key: &'a Key, attributes: &'a Item) -> Asked<'a> {
        Asked { table: &self.table, key, attributes: attributes.as_ref() }
    }
}

/// `room_bytes` is none as soon as an item did not fit, so that the keys that are left over are the last.
fn batch_item(
    reads: &Reads,
    asked: Asked<'_>,
    item: Option<Item>,
    mode: ReadMode,
    room_bytes: &mut Option<usize>,
    now: Now,
) -> BatchFound {
    let admitted = match reads.usage.admit_read(asked.reading(Operation::BatchGetItem)) {
        Ok(admitted) => admitted,
        Err(throttled) => return BatchFound::Throttled(throttled),
    };
    *room_bytes = room_bytes.and_then(|room_bytes| room_bytes.checked_sub(size_bytes(&item)));
    match room_bytes {
        Some(_) => BatchFound::Found(Found::charged(admitted, item, mode, now)),
        None => BatchFound::NoRoom,
    }
}

/// Reads distinct items as they are at one moment: all of them, or none.
pub async fn transact(
    reads: &Reads,
    operation: Operation,
    asked: &[Asked<'_>],
) -> Result<Vec<Found>, TransactReadError> {
    let began = reads.usage.moment();
    let result = read_transaction(reads, operation, asked).await;
    let ended = reads.usage.moment();
    let mut seen: Vec<Space> = Vec::new();
    for Asked { table, .. } in asked {
        if !seen.contains(&table.space()) {
            seen.push(table.space());
            let ending = transaction_ending(&result, asked, table);
            reads.usage.request(table, operation, ending, None, (began, ended));
        }
    }
    result
}

fn transaction_ending<T>(
    result: &Result<T, TransactReadError>,
    asked: &[Asked<'_>],
    table: &LiveTable,
) -> Ending {
    match result {
        Ok(_) => Ending::Served,
        Err(TransactReadError::Conflicts(positions)) => {
            let is_of_table = |position: &&usize| asked[**position].table.space() == table.space();
            Ending::Conflict { items: positions.iter().filter(is_of_table).count() }
        }
        Err(TransactReadError::Throttled(_)) => Ending::Throttled,
        Err(TransactReadError::TooLarge) => Ending::Refused,
        Err(TransactReadError::Store(_)) => Ending::Failed,
    }
}

async fn read_transaction(
    reads: &Reads,
    operation: Operation,
    asked: &[Asked<'_>],
) -> Result<Vec<Found>, TransactReadError> {
    let mode = ReadMode::Transactional;
    let keys: Vec<Key> = asked.iter().map(|asked| asked.key.clone()).collect();
    let conflicts = reads.transactions.conflicts(&keys);
    if !conflicts.is_empty() {
        return Err(TransactReadError::Conflicts(conflicts));
    }
    let admitted: Vec<_> =
        asked.iter().map(|asked| reads.usage.admit_read(asked.reading(operation))).collect();
    if admitted.iter().any(Result::is_err) {
        let refused = admitted.into_iter().map(|admitted| admitted.map(drop));
        return Err(TransactReadError::Throttled(refused.collect()));
    }
    // One call of the store reads all rows at one moment.
    let items = get(reads, &keys, mode).await.map_err(TransactReadError::Store)?;
    let total_bytes: usize = items.iter().map(size_bytes).sum();
    let now = reads.usage.moment();
    let charge = |(admitted, item)| Found::charged(admitted, item, mode, now);
    let found: Vec<Found> = admitted.into_iter().flatten().zip(items).map(charge).collect();
    match total_bytes > limits::TRANSACTION_BYTES_MAX {
        true => Err(TransactReadError::TooLarge),
        false => Ok(found),
    }
}

/// The items at `keys`, in their order. An empty list would be a wasted call of the store.
async fn get(reads: &Reads, keys: &[Key], mode: ReadMode) -> Result<Vec<Option<Item>>, StoreError> {
    debug_assert!(!keys.is_empty(), "the store is asked for something");
    let rows = reads.store.get(keys, consistency(mode)).await?;
    assert_eq!(rows.len(), keys.len(), "a row for each key");
    Ok(rows.into_iter().map(|row| row.map(Item::trusted)).collect())
}

/// What a page is to hold.
pub struct PageRequest<'a> {
    pub operation: Operation,
    pub source: Source<'a>,
    pub walk: PageWalk,
    /// The attributes of the partition key that is read; none for a Scan.
    pub partition_key: Option<Item>,
    pub direction: Direction,
    pub mode: ReadMode,
    /// How many items to evaluate at most.
    pub limit: Option<usize>,
    pub filter: Option<&'a Condition>,
    pub projection: Option<&'a Projection>,
    /// Whether the table's items are read for the rows of a local index.
    pub from_table: bool,
    /// Count the items that pass, don't return them.
    pub count_only: bool,
}

/// The rows that a page may look at.
pub enum PageWalk {
    /// Ranges inside single partitions, one after the other; at least one.
    Query(Vec<Range>),
    /// A range of partitions.
    Scan(Range),
}

/// A page of a Query or Scan.
#[derive(Default)]
pub struct Page {
    pub items: Vec<Item>,
    /// Items that passed the filter.
    pub count: usize,
    /// Items evaluated.
    pub scanned: usize,
    /// What the page cost.
    pub units: Units,
    /// Where the page stopped, unless it reached the end of its last range.
    pub stopped: Option<Stopped>,
    /// The size of the evaluated rows in what was walked.
    scanned_bytes: usize,
}

/// The last item that a page evaluated.
pub struct Stopped {
    /// Its page key.
    pub key: Item,
    /// The position of its range in [`PageWalk::Query`].
    pub range: usize,
    partition: Partition,
}

/// Reads a page: walks the ranges until they end, `limit` items were evaluated, or 1 MB was. The item that
/// crosses the megabyte belongs to the page, so that a page is never empty because an item is large.
pub async fn page(reads: &Reads, request: &PageRequest<'_>) -> Result<Page, ReadError> {
    let began = reads.usage.moment();
    let result = read_page(reads, request).await;
    let returned = result.as_ref().ok().map(|page| page.count);
    let (table, operation) = (request.source.table, request.operation);
    reads.usage.request(table, operation, ending(&result), returned, (began, reads.usage.moment()));
    result
}

async fn read_page(reads: &Reads, request: &PageRequest<'_>) -> Result<Page, ReadError> {
    let admitted = reads.usage.admit_read(request.reading()).map_err(ReadError::Throttled)?;
    let mut page = Page::default();
    let mut walked_units = 0.0;
    for (number, range) in request.walk.ranges().iter().enumerate() {
        let before_bytes = page.scanned_bytes;
        page.extend(reads, request, number, range).await.map_err(ReadError::Store)?;
        walked_units += request.units(range, page.scanned_bytes - before_bytes, page.stopped.as_ref());
        if page.stopped.is_some() {
            break;
        }
    }
    page.charge(request.source, walked_units);
    admitted.charge(page.units.total(), reads.usage.moment());
    Ok(page)
}

impl PageWalk {
    fn ranges(&self) -> &[Range] {
        match self {
            PageWalk::Query(ranges) => ranges,
            PageWalk::Scan(range) => std::slice::from_ref(range),
        }
    }
}

impl PageRequest<'_> {
    fn reading(&self) -> Reading<'_> {
        Reading {
            operation: self.operation,
            table: self.source.table,
            target: self.target(),
            attributes: self.partition_key.as_ref().map(Item::as_ref),
        }
    }

    /// What a read of a global index sees while indexes lag behind their tables.
    fn rows_of_the_past(&self, reads: &Reads) -> Option<Arc<dyn store::Read>> {
        let delay = reads.index_delay.as_ref()?;
        let is_global = self.source.index.is_some_and(Index::is_global);
        if is_global { delay.rows(reads.environment.now_ms()) } else { None }
    }

    /// The first partition stands for all that one page reads.
    fn target(&self) -> Target {
        match &self.walk {
            PageWalk::Query(ranges) => Target::of_range(ranges.first().expect("a query has a range")),
            PageWalk::Scan(_) => Target::of_space(self.source.space()),
        }
    }

    /// What walking a range cost.
    fn units(&self, range: &Range, walked_bytes: usize, stopped: Option<&Stopped>) -> f64 {
        match self.walk {
            PageWalk::Query(_) => read_units(walked_bytes, self.mode),
            PageWalk::Scan(_) => {
                let visited = partitions_visited(self.source.table.partitions(), range, stopped);
                scan_units(walked_bytes, visited, self.mode)
            }
        }
    }
}

/// How many of the table's partitions are between the start of a scan and the position where it stopped.
fn partitions_visited(partitions: u64, range: &Range, stopped: Option<&Stopped>) -> u64 {
    let first = match &range.start {
        Bound::Included(position) | Bound::Excluded(position) => position.partition,
        Bound::Unbounded => Partition::FIRST,
    };
    let last = match (stopped, &range.end) {
        (Some(stopped), _) => stopped.partition,
        (None, Bound::Included(position) | Bound::Excluded(position)) => position.partition,
        (None, Bound::Unbounded) => Partition::LAST,
    };
    share_of(&last, partitions).saturating_sub(share_of(&first, partitions)) + 1
}

impl Page {
    /// Goes on with a page that is not yet full, in another range.
    async fn extend(
        &mut self,
        reads: &Reads,
        request: &PageRequest<'_>,
        number: usize,
        range: &Range,
    ) -> Result<(), StoreError> {
        let mut rows = Vec::new();
        let mut visit = |position: store::KeyRef<'_>, row| {
            let item = Item::trusted(row);
            debug_assert!(is_at(request.source, &item, position), "a row is at the position of its key");
            self.scanned += 1;
            self.scanned_bytes += item.size_bytes();
            if self.is_full(request.limit) {
                let key = request.source.page_key(item.as_ref());
                self.stopped = Some(Stopped { key, range: number, partition: *position.partition });
            }
            match request.from_table {
                true => rows.push(item),
                false => self.evaluate(item, request),
            }
            if self.stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (direction, consistency) = (request.direction, consistency(request.mode));
        match request.rows_of_the_past(reads) {
            Some(past) => past.scan(range, direction, consistency, &mut visit).await?,
            None => reads.store.scan(range, direction, consistency, &mut visit).await?,
        }
        if rows.is_empty() { Ok(()) } else { self.evaluate_from_table(reads, request, &rows).await }
    }

    fn is_full(&self, limit: Option<usize>) -> bool {
        limit.is_some_and(|limit| self.scanned >= limit) || self.scanned_bytes >= limits::PAGE_BYTES_MAX
    }

    fn evaluate(&mut self, item: Item, request: &PageRequest<'_>) {
        if request.filter.is_some_and(|filter| !filter.evaluate(Some(item.as_ref()))) {
            return;
        }
        self.count += 1;
        if !request.count_only {
            self.items.push(match request.projection {
                Some(projection) => projection.apply(item.as_ref()),
                None => item,
            });
        }
    }

    /// Evaluates the table's items of index rows. An item that was deleted since its row was read is left
    /// out.
    async fn evaluate_from_table(
        &mut self,
        reads: &Reads,
        request: &PageRequest<'_>,
        rows: &[Item],
    ) -> Result<(), StoreError> {
        let keys: Vec<Key> = rows.iter().map(|row| request.source.table_key(row.as_ref())).collect();
        for item in get(reads, &keys, request.mode).await?.into_iter().flatten() {
            self.units.table += read_units(item.size_bytes(), request.mode);
            self.evaluate(item, request);
        }
        Ok(())
    }

    /// Adds what walking cost to what reading from the table did.
    fn charge(&mut self, source: Source<'_>, walked_units: f64) {
        self.units.add(match source.index {
            Some(index) => Units::of_index(&index.name, walked_units),
            None => Units::of_table(walked_units),
        });
    }
}

fn is_at(source: Source<'_>, item: &Item, row: store::KeyRef<'_>) -> bool {
    let position = source.position(item.as_ref());
    position.partition == *row.partition && position.sort == row.sort
}

fn consistency(mode: ReadMode) -> Consistency {
    match mode {
        ReadMode::Eventual => Consistency::Eventual,
        ReadMode::Strong | ReadMode::Transactional => Consistency::Latest,
    }
}

/// The rest of `range` behind a position that was already read.
pub fn resume(mut range: Range, direction: Direction, after: Position) -> Range {
    match direction {
        Direction::Forward => range.start = Bound::Excluded(after),
        Direction::Backward => range.end = Bound::Excluded(after),
    }
    range
}

/// Whether a position is inside a range.
pub fn contains(range: &Range, position: &Position) -> bool {
    let behind_start = match &range.start {
        Bound::Included(start) => position >= start,
        Bound::Excluded(start) => position > start,
        Bound::Unbounded => true,
    };
    let before_end = match &range.end {
        Bound::Included(end) => position <= end,
        Bound::Excluded(end) => position < end,
        Bound::Unbounded => true,
    };
    behind_start && before_end
}
