//! ExecuteTransaction: up to 100 statements on distinct items, all of them SELECTs or all of them writes and EXISTS
//! checks. It is TransactGetItems or TransactWriteItems with statements for its actions.

use std::collections::HashSet;
use std::sync::Arc;

use api::{Error, ExecuteTransactionInput, ExecuteTransactionOutput, ItemResponse, Operation};
use expression::partiql::Statement;
use store::Key;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access};
use super::cancellation;
use super::digest::Digest;
use super::parameters::shows_failed_item;
use super::statement::{self, Read, Write, statement_error};
use super::transact_get_items::read_all;
use super::transact_write_items::{carry_out, consumed, token};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::commit::Plan;
use crate::operation::Engine;
use crate::read::items::Asked;
use crate::tables::catalog::LiveTable;

pub(super) struct ExecuteTransaction;

impl Serve for ExecuteTransaction {
    type Input = ExecuteTransactionInput;
    type Output = ExecuteTransactionOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r ExecuteTransactionInput, _: &Namespace) -> Vec<Access<'r>> {
        let enclosing = Some("ExecuteTransaction");
        let statements = input.transact_statements.iter();
        statements
            .filter_map(|it| access::of_text(&it.statement, it.parameters.as_ref(), enclosing))
            .collect()
    }

    fn answer_size(input: &ExecuteTransactionInput) -> AnswerSize {
        AnswerSize::of_items(input.transact_statements.len(), usize::MAX)
    }

    fn writes(input: &ExecuteTransactionInput) -> bool {
        !input.transact_statements.iter().all(|one| statement::only_reads(&one.statement))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ExecuteTransactionInput,
    ) -> Result<ExecuteTransactionOutput, Error> {
        input.check()?;
        let requests = input.transact_statements.iter();
        let statements = in_each(requests, |request| {
            let statement = statement::parse(&request.statement, request.parameters.as_ref())?;
            check(&statement)?;
            Ok(statement)
        })?;
        let reads = statements.iter().filter(|statement| statement.is_read()).count();
        if reads == statements.len() {
            read(engine, caller, &input, statements).await
        } else if reads == 0 {
            write(engine, caller, &input, statements).await
        } else {
            Err(Error::statements_mixed_in_transaction())
        }
    }
}

/// Refuses what a statement may ask for in other operations only.
fn check(statement: &Statement) -> Result<(), Error> {
    match statement {
        Statement::Select(select) | Statement::Exists(select) if select.index.is_some() => {
            Err(Error::index_in_transaction())
        }
        statement if statement.returning().is_some() => Err(Error::returning_in_transaction()),
        _ => Ok(()),
    }
}

async fn read(
    engine: &Engine,
    caller: &Caller,
    input: &ExecuteTransactionInput,
    statements: Vec<Statement>,
) -> Result<ExecuteTransactionOutput, Error> {
    let reads = in_each(statements, |statement| {
        let table = engine.table(caller, statement.table())?;
        let Statement::Select(select) = statement else {
            return Err(Error::statements_mixed_in_transaction());
        };
        let read = Read::of(table, select).map_err(statement_error)?;
        read.check_key_values()?;
        Ok(read)
    })?;
    let keys = distinct(reads.iter().map(Read::key).collect(), |key| key)?;
    let tables: Vec<Arc<LiveTable>> = reads.iter().map(|read| read.table.clone()).collect();

    let pairs = reads.iter().zip(&keys);
    let asked: Vec<Asked<'_>> = pairs.map(|(read, key)| read.asked(key)).collect();
    let (items, consumed) = read_all(engine, Operation::ExecuteTransaction, &tables, &asked).await?;

    let found = items.into_iter().zip(&reads);
    let responses = found.map(|(item, read)| ItemResponse { item: item.and_then(|item| read.shown(&item)) });
    Ok(ExecuteTransactionOutput {
        consumed_capacity: consumed.answer_for_reads(input.return_consumed_capacity),
        responses: Some(responses.collect()),
    })
}

async fn write(
    engine: &Engine,
    caller: &Caller,
    input: &ExecuteTransactionInput,
    statements: Vec<Statement>,
) -> Result<ExecuteTransactionOutput, Error> {
    let writes = in_each(statements, |statement| {
        let table = engine.table(caller, statement.table())?;
        let write = Write::of(table, statement).map_err(statement_error)?;
        write.check_key_values()?;
        Ok(write)
    })?;
    let requests = input.transact_statements.iter();
    let shown = requests.map(|request| shows_failed_item(request.return_values_on_condition_check_failure));
    let plans = writes.into_iter().zip(shown).map(|(write, shown)| write.plan(shown)).collect();
    let mut plans: Vec<Plan> = distinct(plans, |plan: &Plan| &plan.key)?;
    let text = input.client_request_token.as_deref();
    let token = token(engine, caller, Operation::ExecuteTransaction, text, || digest(input)).await;

    let done = carry_out(engine, Operation::ExecuteTransaction, &mut plans, token.as_ref()).await?;

    Ok(ExecuteTransactionOutput {
        consumed_capacity: consumed(&done, &plans, input.return_consumed_capacity),
        // One for each statement, even though a write has nothing to return.
        responses: Some(vec![ItemResponse::default(); plans.len()]),
    })
}

/// Calls `make` with each. The first error comes with its position.
fn in_each<T, U>(
    all: impl IntoIterator<Item = T>,
    make: impl Fn(T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let made = |(position, one)| make(one).map_err(|error| error.in_transact_statement(position));
    all.into_iter().enumerate().map(made).collect()
}

/// Refuses two statements on one item. Errors of single statements cancel the transaction.
fn distinct<T, E: Into<Error>>(
    results: Vec<Result<T, E>>,
    key: impl Fn(&T) -> &Key,
) -> Result<Vec<T>, Error> {
    let mut seen = HashSet::new();
    if !results.iter().flatten().all(|result| seen.insert(key(result))) {
        return Err(Error::transaction_items_not_distinct());
    }
    match results.iter().all(Result::is_ok) {
        true => Ok(results.into_iter().flatten().collect()),
        false => Err(cancellation::of_results(results)),
    }
}

/// A digest of what the statements ask for. Parameters that only say what to return are left out.
fn digest(input: &ExecuteTransactionInput) -> blake3::Hash {
    let mut digest = Digest::default();
    for request in &input.transact_statements {
        digest.statement(&request.statement, request.parameters.as_ref());
    }
    digest.finish()
}
