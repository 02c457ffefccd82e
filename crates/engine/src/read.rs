//! Reading items: one by its key, or a page of a range. Query and Scan differ only in their range.

use std::ops::{Bound, ControlFlow};

use api::{Error, limits};
use expression::{Condition, Projection};
use item::Item;
use store::{Consistency, Direction, Key, Partition, Range, Read};

use crate::fault;

/// The item at `key`.
pub async fn item(store: &dyn Read, key: Key, consistency: Consistency) -> Result<Option<Item>, Error> {
    let mut rows = store.get(&[key], consistency).await.map_err(fault::of_store)?;
    rows.pop().flatten().map(Item::from_stored).transpose().map_err(fault::of_data)
}

/// What a page is to hold.
pub struct PageRequest<'a> {
    pub range: Range,
    pub direction: Direction,
    pub consistency: Consistency,
    /// How many items to evaluate at most.
    pub limit: Option<usize>,
    pub filter: Option<&'a Condition>,
    pub projection: Option<&'a Projection>,
    /// Count the items that pass, don't return them.
    pub count_only: bool,
}

/// A page of a Query or Scan.
#[derive(Default)]
pub struct Page {
    pub items: Vec<Item>,
    /// Items that passed the filter.
    pub count: usize,
    /// Items evaluated, and their size: what is charged.
    pub scanned: usize,
    pub scanned_bytes: usize,
    /// The last item evaluated, if the page stopped before the range's end.
    pub stopped_at: Option<Item>,
    /// Where that item lives.
    pub stopped_in: Option<Partition>,
}

/// Walks the range until it ends, `limit` items were evaluated, or 1 MB was. The item that crosses
/// the megabyte belongs to the page, so that a page is never empty for want of room.
pub async fn page(store: &dyn Read, request: &PageRequest<'_>) -> Result<Page, Error> {
    let mut page = Page::default();
    let mut corrupt = None;
    store
        .scan(&request.range, request.direction, request.consistency, &mut |key, row| {
            let item = match Item::from_stored(row) {
                Ok(item) => item,
                Err(error) => {
                    corrupt = Some(error);
                    return ControlFlow::Break(());
                }
            };
            page.evaluate(&item, request);
            if page.is_full(request.limit) {
                page.stopped_in = Some(*key.partition);
                page.stopped_at = Some(item);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .await
        .map_err(fault::of_store)?;
    match corrupt {
        Some(error) => Err(fault::of_data(error)),
        None => Ok(page),
    }
}

impl Page {
    fn evaluate(&mut self, item: &Item, request: &PageRequest<'_>) {
        self.scanned += 1;
        self.scanned_bytes += item.as_ref().size_bytes();
        if request.filter.is_some_and(|filter| !filter.evaluate(Some(item.as_ref()))) {
            return;
        }
        self.count += 1;
        if !request.count_only {
            self.items.push(match request.projection {
                Some(projection) => projection.apply(item.as_ref()),
                None => item.clone(),
            });
        }
    }

    fn is_full(&self, limit: Option<usize>) -> bool {
        limit.is_some_and(|limit| self.scanned >= limit) || self.scanned_bytes >= limits::PAGE_BYTES_MAX
    }
}

/// The rest of `range` behind a place that was already read.
pub fn resume(mut range: Range, direction: Direction, after: store::Position) -> Range {
    match direction {
        Direction::Forward => range.start = Bound::Excluded(after),
        Direction::Backward => range.end = Bound::Excluded(after),
    }
    range
}

/// Whether a place lies inside a range.
pub fn contains(range: &Range, position: &store::Position) -> bool {
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
