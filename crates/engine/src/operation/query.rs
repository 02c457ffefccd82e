//! Query: the items of one partition whose sort key satisfies a condition, in order.

use api::{Error, QueryInput, QueryOutput};
use capacity::read_units;
use expression::key_condition::{self, KeyCondition, KeyRange};
use expression::Condition;
use item::ValueBuf;
use store::{Direction, Range};

use super::consumed::consumed;
use super::expressions::{filter, placeholders, projection, read_error};
use super::paging;
use crate::key::{partition, query_range};
use crate::read::{self, PageRequest};
use crate::table::{KeyAttribute, KeySchema, Table};
use crate::{Caller, Engine};

pub async fn run(engine: &Engine, caller: &Caller, input: QueryInput) -> Result<QueryOutput, Error> {
    input.check()?;
    let mut placeholders =
        placeholders(&input.expression_attribute_names, &input.expression_attribute_values)
            .map_err(read_error)?;
    let key_condition = input.key_condition_expression.as_deref().unwrap_or_default();
    let key_condition = KeyCondition::parse(key_condition, &mut placeholders).map_err(read_error)?;
    let filter = filter(&input.filter_expression, &mut placeholders).map_err(read_error)?;
    let projection = projection(&input.projection_expression, &mut placeholders).map_err(read_error)?;
    placeholders.finish().map_err(read_error)?;
    let table = engine.table(caller, &input.table_name)?;
    if let Some(index) = &input.index_name {
        return Err(Error::index_unknown(index));
    }
    let direction = match input.scan_index_forward {
        Some(false) => Direction::Backward,
        _ => Direction::Forward,
    };
    let range = range(&table, &key_condition, &input, direction)?;
    check_filter(&table.keys, filter.as_ref())?;

    let request = PageRequest {
        range,
        direction,
        consistency: paging::consistency(input.consistent_read),
        limit: paging::limit(input.limit),
        filter: filter.as_ref(),
        projection: projection.as_ref(),
        count_only: paging::count_only(input.select),
    };
    let page = read::page(&*engine.store, &request).await?;

    let units = read_units(page.scanned_bytes, paging::read_mode(input.consistent_read));
    Ok(QueryOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table.name, units),
        count: Some(page.count as i32),
        scanned_count: Some(page.scanned as i32),
        last_evaluated_key: paging::last_evaluated_key(&table, &page),
        items: (!request.count_only).then_some(page.items),
    })
}

/// The rows that the key condition names, from the start key on.
fn range(
    table: &Table,
    key_condition: &KeyCondition,
    input: &QueryInput,
    direction: Direction,
) -> Result<Range, Error> {
    let condition = resolve(&table.keys, key_condition)?;
    let range = query_range(table.space(), &condition);
    let Some(start) = &input.exclusive_start_key else { return Ok(range) };
    paging::check_start_key(table, start.as_ref())?;
    if table.keys.sort.is_empty() {
        return Err(Error::query_cannot_be_restarted());
    }
    let position = table.keys.position(start.as_ref());
    if position.partition != partition(condition.partition.iter().map(ValueBuf::as_ref)) {
        return Err(Error::start_key_outside_query());
    }
    if !read::contains(&range, &position) {
        return Err(Error::start_key_outside_sort_condition());
    }
    Ok(read::resume(range, direction, position))
}

/// Holds the key condition against the schema.
fn resolve(keys: &KeySchema, condition: &KeyCondition) -> Result<KeyRange, Error> {
    let (hash, range) = (borrowed(&keys.partition), borrowed(&keys.sort));
    condition.resolve(&hash, &range).map_err(read_error)
}

fn borrowed(attributes: &[KeyAttribute]) -> Vec<key_condition::KeyAttribute<'_>> {
    attributes.iter().map(|it| key_condition::KeyAttribute { name: &it.name, kind: it.kind }).collect()
}

/// A filter sees the item after it was found: it may not name what finds it.
fn check_filter(keys: &KeySchema, filter: Option<&Condition>) -> Result<(), Error> {
    let Some(filter) = filter else { return Ok(()) };
    match filter.top_level_names().find(|name| keys.contains(name)) {
        Some(name) => Err(Error::filter_on_key(name)),
        None => Ok(()),
    }
}
