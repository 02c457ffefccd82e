//! ExecuteStatement: one PartiQL statement. A SELECT is a Query of each partition that it names, one after the
//! other, or a Scan; anything else is one write.

use api::{Error, ErrorKind, ExecuteStatementInput, ExecuteStatementOutput, Operation};
use expression::Condition;
use expression::partiql::{self, Select, Statement};
use item::Item;
use store::{Direction, Position, Range};

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access};
use super::consumed::{consumed, written};
use super::next_token::{NextToken, Purpose};
use super::paging;
use super::parameters::shows_failed_item;
use super::query::{borrowed, checked_partition_key};
use super::statement::{self, Write, returned, source_error, statement_error};
use super::{Kind, Serve};
use crate::base::caller::Caller;
use crate::base::key::{query_range, segment_range};
use crate::operation::Engine;
use crate::read::items::{self, PageRequest, PageWalk};
use crate::read::source::Source;
use crate::{Namespace, commit};

pub(super) struct ExecuteStatement;

impl Serve for ExecuteStatement {
    type Input = ExecuteStatementInput;
    type Output = ExecuteStatementOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r ExecuteStatementInput, _: &Namespace) -> Vec<Access<'r>> {
        access::of_text(&input.statement, input.parameters.as_ref(), None).into_iter().collect()
    }

    fn answer_size(input: &ExecuteStatementInput) -> AnswerSize {
        AnswerSize::of_page(input.limit, None)
    }

    fn writes(input: &ExecuteStatementInput) -> bool {
        !statement::only_reads(&input.statement)
    }

    async fn run(
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
}

async fn write(
    engine: &Engine,
    caller: &Caller,
    input: &ExecuteStatementInput,
    statement: Statement,
) -> Result<ExecuteStatementOutput, Error> {
    if input.next_token.is_some() {
        // No write ever returned one.
        return Err(Error::next_token_mismatch());
    }
    let show_failed_item = shows_failed_item(input.return_values_on_condition_check_failure);
    let returning = statement.returning();
    let table = engine.table(caller, statement.table())?;
    let mut plan = Write::of(table, statement).map_err(statement_error)?.plan(show_failed_item)?;
    let outcome =
        commit::apply(engine, Operation::ExecuteStatement, &mut plan).await.map_err(
            |error| match Error::from(error) {
                error if error.kind == ErrorKind::ConditionalCheckFailed && show_failed_item => {
                    Error { kind: ErrorKind::ConditionalCheckFailedOfStatement, ..error }
                }
                error => error,
            },
        )?;
    Ok(ExecuteStatementOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &plan.table, &written(&plan, &outcome)),
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
    let index = select.index.as_deref();
    let source = Source::find(&table, index, input.consistent_read, Operation::ExecuteStatement)
        .map_err(source_error)?;
    source.check_attributes(select.list.top_level_names().into_iter().flatten())?;
    let mut rows = Rows::of(source, select)?;
    let purpose = Purpose::of(&input.statement, input.parameters.as_ref());
    let first_range = match &input.next_token {
        Some(token) => rows.resume(source, &NextToken::read(token, &purpose)?)?,
        None => 0,
    };
    let request = PageRequest {
        operation: Operation::ExecuteStatement,
        source,
        walk: rows.walk,
        partition_key: rows.partition_key,
        direction: rows.direction,
        mode: paging::read_mode(input.consistent_read),
        limit: paging::limit(input.limit),
        filter: rows.filter.as_ref(),
        projection: None,
        from_table: source.lacks_any(select.list.top_level_names().into_iter().flatten()),
        count_only: false,
    };

    let page = items::page(engine, &request).await?;

    let next_token = page.stopped.as_ref().map(|stopped| {
        let range = u8::try_from(first_range + stopped.range).expect("a SELECT has at most 50 ranges");
        NextToken { range, after: stopped.key.clone() }.print(&purpose)
    });
    Ok(ExecuteStatementOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &page.units),
        items: Some(page.items.iter().map(|item| select.list.apply(item.as_ref())).collect()),
        last_evaluated_key: page.stopped.map(|stopped| stopped.key),
        next_token,
    })
}

/// The rows that a SELECT looks at, and which of them it wants.
struct Rows {
    /// As many ranges as the SELECT names partitions, or a Scan.
    walk: PageWalk,
    /// The first partition that the SELECT names.
    partition_key: Option<Item>,
    direction: Direction,
    filter: Option<Condition>,
}

impl Rows {
    fn of(source: Source<'_>, select: &Select) -> Result<Rows, Error> {
        let keys = source.keys();
        let access =
            select.access(&borrowed(&keys.partition), &borrowed(&keys.sort)).map_err(statement_error)?;
        Ok(match access {
            partiql::Access::Query { ranges, filter, descending } => {
                let partitions = ranges.iter().map(|range| checked_partition_key(keys, range));
                let partitions = partitions.collect::<Result<Vec<Item>, Error>>()?;
                let ranges = ranges.iter().map(|range| query_range(source.space(), range));
                Rows {
                    walk: PageWalk::Query(ranges.collect()),
                    partition_key: partitions.into_iter().next(),
                    direction: if descending { Direction::Backward } else { Direction::Forward },
                    filter,
                }
            }
            partiql::Access::Scan { filter } => Rows {
                walk: PageWalk::Scan(segment_range(source.space(), 0, 1)),
                partition_key: None,
                direction: Direction::Forward,
                filter,
            },
        })
    }

    /// Leaves out what was read when the token was given; returns how many ranges that are.
    fn resume(&mut self, source: Source<'_>, token: &NextToken) -> Result<usize, Error> {
        let first = usize::from(token.range);
        let position = position(source, &token.after).ok_or_else(Error::next_token_mismatch)?;
        match &mut self.walk {
            PageWalk::Query(ranges) if first < ranges.len() => {
                ranges.drain(..first);
                cut(&mut ranges[0], self.direction, position)?;
            }
            PageWalk::Scan(range) if first == 0 => cut(range, self.direction, position)?,
            _ => return Err(Error::next_token_mismatch()),
        }
        Ok(first)
    }
}

/// Cuts off the part of a range up to a position, that position included.
fn cut(range: &mut Range, direction: Direction, after: Position) -> Result<(), Error> {
    if !items::contains(range, &after) {
        return Err(Error::next_token_mismatch());
    }
    *range = items::resume(range.clone(), direction, after);
    Ok(())
}

/// The position that a page key names, if it is one.
fn position(source: Source<'_>, key: &Item) -> Option<Position> {
    source.check_start_key(key.as_ref()).is_ok().then(|| source.position(key.as_ref()))
}
