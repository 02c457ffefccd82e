//! BatchExecuteStatement: up to 25 statements on single items, all of them SELECTs or all of them writes. Each is
//! carried out by itself; the answer has an item or an error for each, in their order.

use std::collections::HashSet;
use std::sync::Arc;

use api::limits::BATCH_GET_BYTES_MAX;
use api::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, BatchStatementError,
    BatchStatementErrorCodeEnum, BatchStatementRequest, BatchStatementResponse, Error, ErrorKind, Operation,
};
use capacity::ReadMode;
use expression::partiql::{Returning, Statement, StatementError};
use futures_util::future::join_all;
use item::Item;
use store::Key;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access};
use super::consumed::{ConsumedByTable, written};
use super::paging::read_mode;
use super::parameters::shows_failed_item;
use super::statement::{self, Read, Write, returned, statement_error};
use super::{Kind, Serve};
use crate::base::caller::Caller;
use crate::base::units::Units;
use crate::operation::Engine;
use crate::read::items;
use crate::tables::catalog::LiveTable;
use crate::{Namespace, commit};

pub(super) struct BatchExecuteStatement;

impl Serve for BatchExecuteStatement {
    type Input = BatchExecuteStatementInput;
    type Output = BatchExecuteStatementOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(_: &'r BatchExecuteStatementInput, _: &Namespace) -> Vec<Access<'r>> {
        // Each statement has its own answer, so each is asked about when it is planned.
        Vec::new()
    }

    fn answer_size(input: &BatchExecuteStatementInput) -> AnswerSize {
        AnswerSize::of_items(input.statements.len(), BATCH_GET_BYTES_MAX)
    }

    fn writes(input: &BatchExecuteStatementInput) -> bool {
        !input.statements.iter().all(|one| statement::only_reads(&one.statement))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: BatchExecuteStatementInput,
    ) -> Result<BatchExecuteStatementOutput, Error> {
        input.check()?;
        let statements: Vec<Result<Statement, Error>> = input
            .statements
            .iter()
            .map(|request| statement::parse(&request.statement, request.parameters.as_ref()))
            .collect();
        check_mixing(&statements)?;
        let tables: Vec<Option<String>> =
            statements.iter().map(|statement| Some(statement.as_ref().ok()?.table().to_owned())).collect();
        let plans: Vec<Result<Plan, Error>> = statements
            .into_iter()
            .zip(&input.statements)
            .map(|(statement, request)| plan(engine, caller, statement?, request))
            .collect();
        check_duplicates(&plans)?;

        let results = join_all(plans.into_iter().map(|plan| carry_out(engine, plan))).await;

        let mut consumed = ConsumedByTable::default();
        let mut responses = Vec::with_capacity(results.len());
        for (result, table_name) in results.into_iter().zip(tables) {
            responses.push(match result {
                Ok(done) => {
                    consumed.add(&done.table, done.units);
                    BatchStatementResponse { item: done.item, table_name, error: None }
                }
                Err(error) => {
                    BatchStatementResponse { error: Some(shown(error)), table_name, ..Default::default() }
                }
            });
        }
        Ok(BatchExecuteStatementOutput {
            consumed_capacity: consumed.answer(input.return_consumed_capacity),
            responses: Some(responses),
        })
    }
}

/// What one statement does.
enum Plan {
    Read { read: Box<Read>, key: Key, mode: ReadMode },
    Write { plan: Box<commit::Plan>, returning: Option<Returning> },
}

impl Plan {
    fn key(&self) -> &Key {
        match self {
            Plan::Read { key, .. } => key,
            Plan::Write { plan, .. } => &plan.key,
        }
    }
}

/// What one statement did.
struct Done {
    table: Arc<LiveTable>,
    item: Option<Item>,
    units: Units,
}

fn plan(
    engine: &Engine,
    caller: &Caller,
    statement: Statement,
    request: &BatchStatementRequest,
) -> Result<Plan, Error> {
    engine.authorize_statement(caller, &statement)?;
    let table = engine.table(caller, statement.table())?;
    let returning = statement.returning();
    Ok(match statement {
        Statement::Select(select) if select.index.is_some() => {
            return Err(Error::select_without_key_in_batch());
        }
        Statement::Select(select) => {
            let read = Read::of(table, select).map_err(|error| match error {
                StatementError::KeyEquality => Error::select_without_key_in_batch(),
                error => statement_error(error),
            })?;
            Plan::Read { key: read.key()?, read: Box::new(read), mode: read_mode(request.consistent_read) }
        }
        Statement::Exists(_) => return Err(Error::exists_outside_transaction()),
        statement => {
            let show_failed_item = shows_failed_item(request.return_values_on_condition_check_failure);
            let plan = Write::of(table, statement).map_err(statement_error)?.plan(show_failed_item)?;
            Plan::Write { plan: Box::new(plan), returning }
        }
    })
}

async fn carry_out(engine: &Engine, plan: Result<Plan, Error>) -> Result<Done, Error> {
    let operation = Operation::BatchExecuteStatement;
    Ok(match plan? {
        Plan::Read { read, key, mode } => {
            let found = items::item(engine, operation, read.asked(&key), mode).await?;
            let item = found.item.and_then(|item| read.shown(&item));
            Done { item, table: read.table, units: Units::of_table(found.units) }
        }
        Plan::Write { mut plan, returning } => {
            let outcome = commit::apply(engine, operation, &mut plan).await?;
            let units = written(&plan, &outcome);
            Done { item: returned(returning, &plan, outcome), table: plan.table, units }
        }
    })
}

/// Refuses SELECTs beside writes. Statements that can't be parsed are neither.
fn check_mixing(statements: &[Result<Statement, Error>]) -> Result<(), Error> {
    let mut kinds = statements.iter().flatten().map(Statement::is_read);
    let first = kinds.next();
    match kinds.all(|is_read| Some(is_read) == first) {
        true => Ok(()),
        false => Err(Error::statements_mixed_in_batch()),
    }
}

/// Refuses two statements on one item.
fn check_duplicates(plans: &[Result<Plan, Error>]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    match plans.iter().flatten().all(|plan| seen.insert(plan.key())) {
        true => Ok(()),
        false => Err(Error::batch_duplicates()),
    }
}

fn shown(error: Error) -> BatchStatementError {
    BatchStatementError { code: Some(code(error.kind)), message: Some(error.message), item: error.item }
}

/// The short names that errors go by inside an answer.
fn code(kind: ErrorKind) -> BatchStatementErrorCodeEnum {
    use BatchStatementErrorCodeEnum as Code;
    match kind {
        ErrorKind::Validation => Code::ValidationError,
        ErrorKind::ConditionalCheckFailed => Code::ConditionalCheckFailed,
        ErrorKind::DuplicateItem => Code::DuplicateItem,
        ErrorKind::ResourceNotFound => Code::ResourceNotFound,
        ErrorKind::ItemCollectionSizeLimitExceeded => Code::ItemCollectionSizeLimitExceeded,
        // There is no code for the latter, and both are tried again.
        ErrorKind::TransactionConflict | ErrorKind::ReplicatedWriteConflict => Code::TransactionConflict,
        ErrorKind::ProvisionedThroughputExceeded => Code::ProvisionedThroughputExceeded,
        ErrorKind::RequestLimitExceeded => Code::RequestLimitExceeded,
        ErrorKind::Throttling => Code::ThrottlingError,
        ErrorKind::AccessDenied => Code::AccessDenied,
        _ => Code::InternalServerError,
    }
}

/// What the statements need, each by itself.
pub(super) fn accesses(input: &BatchExecuteStatementInput) -> Vec<Access<'_>> {
    let statements = input.statements.iter();
    statements.filter_map(|it| access::of_text(&it.statement, it.parameters.as_ref(), None)).collect()
}
