//! Query: the items of one partition whose sort key satisfies a condition, in order.

use api::{Error, QueryInput, QueryOutput};
use capacity::read_units;
use expression::Condition;
use expression::key_condition::{self, KeyCondition, KeyRange};
use item::{Item, ItemBuilder, ValueBuf};
use store::{Direction, Range};

use super::consumed::consumed;
use super::expressions::{placeholders, read_error};
use super::paging;
use crate::admission::Place;
use crate::key::{partition, query_range};
use crate::read::{self, PageRequest};
use crate::source::Source;
use crate::table::{KeyAttribute, KeySchema};
use crate::{Caller, Engine, legacy};

pub async fn run(engine: &Engine, caller: &Caller, input: QueryInput) -> Result<QueryOutput, Error> {
    input.check()?;
    let mut placeholders =
        placeholders(&input.expression_attribute_names, &input.expression_attribute_values)
            .map_err(read_error)?;
    let key_condition = match &input.key_conditions {
        Some(conditions) => legacy::key_conditions(conditions, input.index_name.is_some())?,
        None => {
            let text = input.key_condition_expression.as_deref().unwrap_or_default();
            engine.expressions.key_condition(text, &mut placeholders).map_err(read_error)?
        }
    };
    let filter = match &input.query_filter {
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
    let direction = match input.scan_index_forward {
        Some(false) => Direction::Backward,
        _ => Direction::Forward,
    };
    let range = range(source, &key_condition, input.exclusive_start_key.as_ref(), direction)?;
    check_filter(source.keys(), filter.as_ref(), &input)?;
    source.check_select(input.select, projection.as_ref())?;
    let request = PageRequest {
        source,
        range,
        direction,
        mode: paging::read_mode(input.consistent_read),
        limit: paging::limit(input.limit),
        filter: filter.as_ref(),
        projection: projection.as_ref(),
        from_table: source.needs_table(input.select, projection.as_ref()),
        count_only: paging::count_only(input.select),
    };
    let place = Place::of_range(&request.range);
    engine.admit_read(&table, place)?;
    let page = read::page(&*engine.store, &request).await?;

    let units = paging::units(source, &page, read_units(page.scanned_bytes, request.mode));
    engine.charge_read(&table, place, units.total());
    Ok(QueryOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &units),
        count: Some(page.count as i32),
        scanned_count: Some(page.scanned as i32),
        last_evaluated_key: page.stopped_at,
        items: (!request.count_only).then_some(page.items),
    })
}

/// The rows that the key condition names, from the start key on.
fn range(
    source: Source<'_>,
    key_condition: &KeyCondition,
    start: Option<&Item>,
    direction: Direction,
) -> Result<Range, Error> {
    let condition = resolve(source.keys(), key_condition)?;
    check_key_values(source.keys(), &condition)?;
    let range = query_range(source.space(), &condition);
    let Some(start) = start else { return Ok(range) };
    source.check_start_key(start.as_ref())?;
    if source.index.is_none() && source.keys().sort.is_empty() {
        return Err(Error::start_key_of_one_item(start));
    }
    let position = source.position(start.as_ref());
    if position.partition != partition(condition.partition.iter().map(ValueBuf::as_ref)) {
        return Err(Error::start_key_outside_query());
    }
    if !read::contains(&range, &position) {
        return Err(Error::start_key_outside_sort_condition());
    }
    Ok(read::resume(range, direction, position))
}

/// Refuses a partition that no item can be in.
pub(super) fn check_key_values(keys: &KeySchema, condition: &KeyRange) -> Result<(), Error> {
    let mut key = ItemBuilder::default();
    for (attribute, value) in keys.partition.iter().zip(&condition.partition) {
        key.put(&attribute.name, value.as_ref());
    }
    keys.check_values(key.build().as_ref())
}

/// Holds the key condition against the schema.
fn resolve(keys: &KeySchema, condition: &KeyCondition) -> Result<KeyRange, Error> {
    let (hash, range) = (borrowed(&keys.partition), borrowed(&keys.sort));
    condition.resolve(&hash, &range).map_err(read_error)
}

/// Key attributes as the expressions know them.
pub(super) fn borrowed(attributes: &[KeyAttribute]) -> Vec<key_condition::KeyAttribute<'_>> {
    attributes.iter().map(|it| key_condition::KeyAttribute { name: &it.name, kind: it.kind }).collect()
}

/// A filter sees the item after it was found: it may not name what finds it.
fn check_filter(keys: &KeySchema, filter: Option<&Condition>, input: &QueryInput) -> Result<(), Error> {
    let Some(filter) = filter else { return Ok(()) };
    let parameter = if input.query_filter.is_some() { "QueryFilter" } else { "Filter Expression" };
    match filter.top_level_names().find(|name| keys.contains(name)) {
        Some(name) => Err(Error::filter_on_key(parameter, name)),
        None => Ok(()),
    }
}
