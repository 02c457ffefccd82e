//! Query: the items of one partition whose sort key satisfies a condition, in order.

use api::{Error, Operation, QueryInput, QueryOutput};
use expression::key_condition::{self, KeyCondition, KeyRange};
use expression::{Condition, Projection};
use item::{Item, ItemBuilder, ValueBuf};
use store::{Direction, Range};

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::consumed;
use super::paging;
use super::parameters::{Parameters, read_error};
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::key::{EmptyKind, KeyError, partition, query_range};
use crate::base::table::{KeyAttribute, KeySchema};
use crate::operation::Engine;
use crate::operation::legacy;
use crate::read::items::{self, PageRequest, PageWalk};
use crate::read::source::Source;

pub(super) struct Query;

impl Serve for Query {
    type Input = QueryInput;
    type Output = QueryOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r QueryInput, _: &Namespace) -> Vec<Access<'r>> {
        let is_projected = input.projection_expression.is_some() || input.attributes_to_get.is_some();
        let maps = [access::keys(input.query_filter.as_ref()), access::keys(input.key_conditions.as_ref())];
        let access =
            Access::new("dynamodb:Query", Resource::source(&input.table_name, input.index_name.as_deref()))
                .with(Detail {
                    listed: access::listed(input.attributes_to_get.as_ref(), maps),
                    names: input.expression_attribute_names.as_ref(),
                    values: input.expression_attribute_values.as_ref(),
                    filter: input.filter_expression.as_deref(),
                    key_condition: input.key_condition_expression.as_deref(),
                    key_conditions: input.key_conditions.as_ref(),
                    projection: input.projection_expression.as_deref(),
                    select: access::select(input.select, is_projected),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    ..Detail::default()
                });
        vec![access]
    }

    fn answer_size(input: &QueryInput) -> AnswerSize {
        AnswerSize::of_page(input.limit, input.select)
    }

    async fn run(engine: &Engine, caller: &Caller, input: QueryInput) -> Result<QueryOutput, Error> {
        input.check()?;
        let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
        let mut parameters = Parameters::of_read(engine, names, values)?;
        parameters.check_filter_is_not_empty(input.filter_expression.as_deref())?;
        let key_condition = match &input.key_conditions {
            Some(conditions) => legacy::key_conditions(conditions, input.index_name.is_some())?,
            None => {
                parameters.key_condition(input.key_condition_expression.as_deref().unwrap_or_default())?
            }
        };
        let filter = parameters.filter(
            input.filter_expression.as_deref(),
            input.query_filter.as_ref(),
            input.conditional_operator,
        )?;
        let projection = parameters
            .projection(input.projection_expression.as_deref(), input.attributes_to_get.as_deref())?;
        parameters.finish()?;
        let table = engine.table(caller, &input.table_name)?;
        let source =
            Source::find(&table, input.index_name.as_deref(), input.consistent_read, Operation::Query)?;
        let direction = match input.scan_index_forward {
            Some(false) => Direction::Backward,
            _ => Direction::Forward,
        };
        let (partition_key, range) =
            range(source, &key_condition, input.exclusive_start_key.as_ref(), direction)?;
        scalar_keys::check_source(source, filter.iter().flat_map(Condition::paths))?;
        check_filter(source.keys(), filter.as_ref(), &input)?;
        scalar_keys::check_source(source, projection.iter().flat_map(Projection::paths))?;
        source.check_select(input.select, projection.as_ref())?;
        let request = PageRequest {
            operation: Operation::Query,
            source,
            partition_key: Some(partition_key),
            walk: PageWalk::Query(vec![range]),
            direction,
            mode: paging::read_mode(input.consistent_read),
            limit: paging::limit(input.limit),
            filter: filter.as_ref(),
            projection: projection.as_ref(),
            from_table: source.needs_table(input.select, projection.as_ref()),
            count_only: paging::count_only(input.select),
        };

        let page = items::page(engine, &request).await?;

        Ok(QueryOutput {
            consumed_capacity: consumed(input.return_consumed_capacity, &table, &page.units),
            count: Some(page.count as i32),
            scanned_count: Some(page.scanned as i32),
            last_evaluated_key: page.stopped.map(|stopped| stopped.key),
            items: (!request.count_only).then_some(page.items),
        })
    }
}

/// The partition key and the rows that the key condition names, from the start key on.
fn range(
    source: Source<'_>,
    key_condition: &KeyCondition,
    start: Option<&Item>,
    direction: Direction,
) -> Result<(Item, Range), Error> {
    let condition = resolve(source.keys(), key_condition)?;
    let partition_key = checked_partition_key(source.keys(), &condition)?;
    check_sort_values(source.keys(), &condition)?;
    let range = query_range(source.space(), &condition);
    let Some(start) = start else { return Ok((partition_key, range)) };
    source.check_start_key(start.as_ref())?;
    if source.index.is_none() && source.keys().sort.is_empty() {
        return Err(Error::start_key_of_one_item(start));
    }
    let position = source.position(start.as_ref());
    if position.partition != partition(condition.partition.iter().map(ValueBuf::as_ref)) {
        return Err(Error::start_key_outside_query());
    }
    if !items::contains(&range, &position) {
        return Err(Error::start_key_outside_sort_condition());
    }
    Ok((partition_key, items::resume(range, direction, position)))
}

/// The attributes of the partition key. A partition that no item can be in is refused.
pub(super) fn checked_partition_key(keys: &KeySchema, condition: &KeyRange) -> Result<Item, Error> {
    let mut key = ItemBuilder::default();
    for (attribute, value) in keys.partition.iter().zip(&condition.partition) {
        key.put(&attribute.name, value.as_ref());
    }
    let key = key.build();
    keys.check_values(key.as_ref())?;
    Ok(key)
}

/// Refuses an empty value for a sort key: no item has one.
fn check_sort_values(keys: &KeySchema, condition: &KeyRange) -> Result<(), Error> {
    let last = condition.sort.iter().map(|range| range.values().map(ValueBuf::as_ref).collect::<Vec<_>>());
    let values = condition.sort_prefix.iter().map(|value| vec![value.as_ref()]).chain(last);
    for (attribute, values) in keys.sort.iter().zip(values) {
        if let Some(kind) = values.into_iter().find_map(EmptyKind::of) {
            return Err(KeyError::Empty { attribute: attribute.name.clone(), kind }.into());
        }
    }
    Ok(())
}

/// What the key condition means for these keys.
fn resolve(keys: &KeySchema, condition: &KeyCondition) -> Result<KeyRange, Error> {
    let (hash, range) = (borrowed(&keys.partition), borrowed(&keys.sort));
    condition.resolve(&hash, &range).map_err(read_error)
}

/// Key attributes as the expressions know them.
pub(super) fn borrowed(attributes: &[KeyAttribute]) -> Vec<key_condition::KeyAttribute<'_>> {
    attributes.iter().map(|it| key_condition::KeyAttribute { name: &it.name, kind: it.kind }).collect()
}

/// Refuses a filter on key attributes: conditions on them belong in the key condition.
fn check_filter(keys: &KeySchema, filter: Option<&Condition>, input: &QueryInput) -> Result<(), Error> {
    let Some(filter) = filter else { return Ok(()) };
    let parameter = if input.query_filter.is_some() { "QueryFilter" } else { "Filter Expression" };
    match filter.top_level_names().find(|name| keys.contains(name)) {
        Some(name) => Err(Error::filter_on_key(parameter, name)),
        None => Ok(()),
    }
}
