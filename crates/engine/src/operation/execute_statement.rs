//! ExecuteStatement: one PartiQL statement. A SELECT is a Query of each partition that it names, one after the
//! other, or a Scan; anything else is one write.

use api::{
    Error, ErrorKind, ExecuteStatementInput, ExecuteStatementOutput, ReturnValuesOnConditionCheckFailure,
};
use capacity::{read_units, scan_units};
use expression::Condition;
use expression::partiql::{Access, Select, Statement};
use item::Item;
use store::{Direction, Range};

use super::consumed::{Units, consumed};
use super::next_token::{NextToken, Purpose};
use super::query::{borrowed, check_key_values};
use super::statement::{self, Write, returned, statement_error};
use super::{paging, scan};
use crate::admission::Place;
use crate::key::{query_range, segment_range};
use crate::read::{self, Page, PageRequest};
use crate::source::Source;
use crate::{Caller, Engine, write};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: ExecuteStatementInput,
) -> Result<ExecuteStatementOutput, Error> {
    input.check()?;
    match statement::parse(&input.statement, input.parameters.as_ref())? {
        Statement::Select(select) => read(engine, caller, &input, &select).await,
        Statement::Exists(_) => Err(Error::exists_outside_transaction()),
        statement => write(engine, caller, &input, statement).await,
    }
}

async fn write(
    engine: &Engine,
    caller: &Caller,
    input: &ExecuteStatementInput,
    statement: Statement,
) -> Result<ExecuteStatementOutput, Error> {
    if input.next_token.is_some() {
        return Err(Error::next_token_mismatch()); // no write ever gave one
    }
    let show_failed_item =
        input.return_values_on_condition_check_failure == Some(ReturnValuesOnConditionCheckFailure::AllOld);
    let returning = statement.returning();
    let table = engine.table(caller, statement.table())?;
    let mut plan = Write::of(table, statement).map_err(statement_error)?.plan(show_failed_item)?;
    let outcome = write::apply(engine, &mut plan).await.map_err(|error| match error.kind {
        ErrorKind::ConditionalCheckFailed if show_failed_item => {
            Error { kind: ErrorKind::ConditionalCheckFailedOfStatement, ..error }
        }
        _ => error,
    })?;
    Ok(ExecuteStatementOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &plan.table, &Units::of_write(&outcome)),
        items: Some(returned(returning, &plan, outcome).into_iter().collect()),
        ..ExecuteStatementOutput::default()
    })
}

async fn read(
    engine: &Engine,
    caller: &Caller,
    input: &ExecuteStatementInput,
    select: &Select,
) -> Result<ExecuteStatementOutput, Error> {
    let table = engine.table(caller, &select.table)?;
    let source = Source::find(&table, select.index.as_deref(), input.consistent_read)?;
    source.check_attributes(select.list.top_level_names().into_iter().flatten())?;
    let mut walk = Walk::of(source, select)?;
    let purpose = Purpose::of(&input.statement, input.parameters.as_ref());
    let first = match &input.next_token {
        Some(token) => walk.resume(source, &NextToken::read(token, &purpose)?)?,
        None => 0,
    };

    let mut request = PageRequest {
        source,
        range: walk.ranges[first].clone(),
        direction: walk.direction,
        mode: paging::read_mode(input.consistent_read),
        limit: paging::limit(input.limit),
        filter: walk.filter.as_ref(),
        projection: None,
        from_table: source.lacks_any(select.list.top_level_names().into_iter().flatten()),
        count_only: false,
    };
    // The first partition stands for all: they are read together.
    let place =
        if walk.is_scan { Place::anywhere_in(source.space()) } else { Place::of_range(&request.range) };
    engine.admit_read(&table, place)?;
    let mut page = Page::default();
    let mut units = 0.0;
    let mut next_token = None;
    for (place, range) in (0u8..).zip(walk.ranges).skip(first) {
        request.range = range;
        let before_bytes = page.scanned_bytes;
        read::extend(&mut page, &*engine.store, &request).await?;
        let walked_bytes = page.scanned_bytes - before_bytes;
        units += match walk.is_scan {
            true => {
                let visited = scan::partitions_visited(&table, &request.range, &page);
                scan_units(walked_bytes, visited, request.mode)
            }
            false => read_units(walked_bytes, request.mode),
        };
        if let Some(after) = page.stopped_at.clone() {
            next_token = Some(NextToken { range: place, after }.print(&purpose));
            break;
        }
    }

    let units = paging::units(source, &page, units);
    engine.charge_read(&table, place, units.total());
    Ok(ExecuteStatementOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &units),
        items: Some(page.items.iter().map(|item| select.list.apply(item.as_ref())).collect()),
        last_evaluated_key: page.stopped_at,
        next_token,
    })
}

/// The rows that a SELECT looks at.
struct Walk {
    /// At least one, at most as many as a SELECT may name partitions.
    ranges: Vec<Range>,
    direction: Direction,
    filter: Option<Condition>,
    is_scan: bool,
}

impl Walk {
    fn of(source: Source<'_>, select: &Select) -> Result<Walk, Error> {
        let keys = source.keys();
        let access =
            select.access(&borrowed(&keys.partition), &borrowed(&keys.sort)).map_err(statement_error)?;
        Ok(match access {
            Access::Query { ranges, filter, descending } => {
                ranges.iter().try_for_each(|range| check_key_values(keys, range))?;
                Walk {
                    ranges: ranges.iter().map(|range| query_range(source.space(), range)).collect(),
                    direction: if descending { Direction::Backward } else { Direction::Forward },
                    filter,
                    is_scan: false,
                }
            }
            Access::Scan { filter } => Walk {
                ranges: vec![segment_range(source.space(), 0, 1)],
                direction: Direction::Forward,
                filter,
                is_scan: true,
            },
        })
    }

    /// Cuts off what was read when the token was given; tells which range to go on with.
    fn resume(&mut self, source: Source<'_>, token: &NextToken) -> Result<usize, Error> {
        let first = usize::from(token.range);
        let position = position(source, &token.after);
        match (self.ranges.get_mut(first), position) {
            (Some(range), Some(position)) if read::contains(range, &position) => {
                *range = read::resume(range.clone(), self.direction, position);
                Ok(first)
            }
            _ => Err(Error::next_token_mismatch()),
        }
    }
}

fn position(source: Source<'_>, key: &Item) -> Option<store::Position> {
    source.check_start_key(key.as_ref()).is_ok().then(|| source.position(key.as_ref()))
}
