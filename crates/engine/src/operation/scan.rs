//! Scan: walks a whole table, or one segment of it, in the order of the hashes.

use std::ops::Bound;

use api::{Error, ScanInput, ScanOutput};
use capacity::scan_units;
use store::{Direction, Partition, Range};

use super::consumed::consumed;
use super::expressions::{placeholders, read_error};
use super::paging;
use crate::admission::Place;
use crate::key::{segment_range, share_of};
use crate::read::{self, Page, PageRequest};
use crate::source::Source;
use crate::table::Table;
use crate::{Caller, Engine, legacy};

pub async fn run(engine: &Engine, caller: &Caller, input: ScanInput) -> Result<ScanOutput, Error> {
    input.check()?;
    let mut placeholders =
        placeholders(&input.expression_attribute_names, &input.expression_attribute_values)
            .map_err(read_error)?;
    let filter = match &input.scan_filter {
        Some(conditions) => legacy::filter(conditions, input.conditional_operator)?,
        None => engine
            .expressions
            .filter(input.filter_expression.as_deref(), &mut placeholders)
            .map_err(read_error)?,
    };
    let projection = match &input.attributes_to_get {
        Some(names) => Some(legacy::attributes_to_get(names)),
        None => engine
            .expressions
            .projection(input.projection_expression.as_deref(), &mut placeholders)
            .map_err(read_error)?,
    };
    placeholders.finish().map_err(read_error)?;
    let table = engine.table(caller, &input.table_name)?;
    let source = Source::find(&table, input.index_name.as_deref(), input.consistent_read)?;
    source.check_select(input.select, projection.as_ref())?;
    let request = PageRequest {
        source,
        range: range(source, &input)?,
        direction: Direction::Forward,
        mode: paging::read_mode(input.consistent_read),
        limit: paging::limit(input.limit),
        filter: filter.as_ref(),
        projection: projection.as_ref(),
        from_table: source.needs_table(input.select, projection.as_ref()),
        count_only: paging::count_only(input.select),
    };
    let place = Place::anywhere_in(source.space());
    engine.admit_read(&table, place)?;
    let page = read::page(&*engine.store, &request).await?;

    let visited = partitions_visited(&table, &request.range, &page);
    let units = paging::units(source, &page, scan_units(page.scanned_bytes, visited, request.mode));
    engine.charge_read(&table, place, units.total());
    Ok(ScanOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &units),
        count: Some(page.count as i32),
        scanned_count: Some(page.scanned as i32),
        last_evaluated_key: page.stopped_at,
        items: (!request.count_only).then_some(page.items),
    })
}

/// The segment's hashes, from the start key on.
fn range(source: Source<'_>, input: &ScanInput) -> Result<Range, Error> {
    let (segment, total) = (input.segment.unwrap_or(0), input.total_segments.unwrap_or(1));
    let range = segment_range(source.space(), segment as u32, total as u32);
    let Some(start) = &input.exclusive_start_key else { return Ok(range) };
    source.check_start_key(start.as_ref()).map_err(|_| Error::scan_start_key_invalid())?;
    let position = source.position(start.as_ref());
    if !read::contains(&range, &position) {
        return Err(Error::start_key_outside_segment(segment, total));
    }
    Ok(read::resume(range, Direction::Forward, position))
}

/// How many of the table's partitions lie between where the page began and where it stopped.
pub(super) fn partitions_visited(table: &Table, range: &Range, page: &Page) -> u64 {
    let partitions = table.partitions();
    let first = match &range.start {
        Bound::Included(position) | Bound::Excluded(position) => position.partition,
        Bound::Unbounded => Partition::FIRST,
    };
    let last = match (&page.stopped_in, &range.end) {
        (Some(partition), _) => *partition,
        (None, Bound::Included(position) | Bound::Excluded(position)) => position.partition,
        (None, Bound::Unbounded) => Partition::LAST,
    };
    share_of(&last, partitions).saturating_sub(share_of(&first, partitions)) + 1
}
