//! Reading items: one by its key, or a page of a table or index. Query and Scan differ only in the
//! range they walk.

use std::ops::{Bound, ControlFlow};

use api::{Error, limits};
use capacity::{ReadMode, read_units};
use expression::{Condition, Projection};
use item::Item;
use store::{Consistency, Direction, Key, Partition, Position, Range, Read};

use crate::fault;
use crate::source::Source;

/// The item at `key`.
pub async fn item(store: &dyn Read, key: Key, consistency: Consistency) -> Result<Option<Item>, Error> {
    let mut rows = store.get(&[key], consistency).await.map_err(fault::of_store)?;
    Ok(rows.pop().flatten().map(Item::trusted))
}

/// The items at `keys`, in their order.
pub async fn items(
    store: &dyn Read,
    keys: &[Key],
    consistency: Consistency,
) -> Result<Vec<Option<Item>>, Error> {
    let rows = store.get(keys, consistency).await.map_err(fault::of_store)?;
    Ok(rows.into_iter().map(|row| row.map(Item::trusted)).collect())
}

/// What a page is to hold.
pub struct PageRequest<'a> {
    pub source: Source<'a>,
    pub range: Range,
    pub direction: Direction,
    pub mode: ReadMode,
    /// How many items to evaluate at most.
    pub limit: Option<usize>,
    pub filter: Option<&'a Condition>,
    pub projection: Option<&'a Projection>,
    /// Whether each row of a local index is completed from the table.
    pub from_table: bool,
    /// Count the items that pass, don't return them.
    pub count_only: bool,
}

/// A page of a Query or Scan.
#[derive(Default)]
pub struct Page {
    pub items: Vec<Item>,
    /// Items that passed the filter.
    pub count: usize,
    /// Items evaluated, and their size in what was walked.
    pub scanned: usize,
    pub scanned_bytes: usize,
    /// What completing them from the table cost.
    pub table_units: f64,
    /// The key of the last item evaluated, if the page stopped before the range's end.
    pub stopped_at: Option<Item>,
    /// The partition of that item.
    pub stopped_in: Option<Partition>,
}

/// Walks the range until it ends, `limit` items were evaluated, or 1 MB was. The item that crosses
/// the megabyte belongs to the page, so that a page is never empty for want of room.
pub async fn page(store: &dyn Read, request: &PageRequest<'_>) -> Result<Page, Error> {
    let mut page = Page::default();
    extend(&mut page, store, request).await?;
    Ok(page)
}

/// Goes on with a page that is not yet full, in another range.
pub async fn extend(page: &mut Page, store: &dyn Read, request: &PageRequest<'_>) -> Result<(), Error> {
    let mut rows = Vec::new();
    store
        .scan(&request.range, request.direction, consistency(request.mode), &mut |key, row| {
            let item = Item::trusted(row);
            page.scanned += 1;
            page.scanned_bytes += item.as_ref().size_bytes();
            if page.is_full(request.limit) {
                page.stopped_in = Some(*key.partition);
                page.stopped_at = Some(request.source.page_key(item.as_ref()));
            }
            match request.from_table {
                true => rows.push(item),
                false => page.evaluate(item, request),
            }
            if page.stopped_at.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .await
        .map_err(fault::of_store)?;
    page.complete(store, request, &rows).await
}

impl Page {
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

    /// Evaluates the items of index rows, each read from the table.
    async fn complete(
        &mut self,
        store: &dyn Read,
        request: &PageRequest<'_>,
        rows: &[Item],
    ) -> Result<(), Error> {
        let keys: Vec<Key> = rows.iter().map(|row| request.source.table_key(row.as_ref())).collect();
        let items = store.get(&keys, consistency(request.mode)).await.map_err(fault::of_store)?;
        for item in items.into_iter().flatten() {
            let item = Item::trusted(item);
            self.table_units += read_units(item.as_ref().size_bytes(), request.mode);
            self.evaluate(item, request);
        }
        Ok(())
    }
}

pub fn consistency(mode: ReadMode) -> Consistency {
    match mode {
        ReadMode::Eventual => Consistency::Eventual,
        ReadMode::Strong | ReadMode::Transactional => Consistency::Latest,
    }
}

/// The rest of `range` behind a place that was already read.
pub fn resume(mut range: Range, direction: Direction, after: Position) -> Range {
    match direction {
        Direction::Forward => range.start = Bound::Excluded(after),
        Direction::Backward => range.end = Bound::Excluded(after),
    }
    range
}

/// Whether a place lies inside a range.
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
