//! TransactWriteItems: up to 100 changes and checks of distinct items, in several tables: all of them, or
//! none.
//!
//! A request that makes no sense is refused as a whole. One whose actions don't fit the tables, the items or
//! other transactions is cancelled, with a reason for each action.

use std::collections::HashSet;
use std::sync::Arc;

use api::{
    Act, Action, ConsumedCapacity, Error, Operation, ReturnConsumedCapacity,
    ReturnValuesOnConditionCheckFailure, TransactWriteItemsInput, TransactWriteItemsOutput,
};
use capacity::{ReadMode, read_units};
use expression::Condition;
use store::Key;

use super::consumed::{ConsumedByTable, Units};
use super::digest::Digest;
use super::expressions::{placeholders, read_error};
use super::item_collection::Collections;
use super::{cancellation, update_item};
use crate::catalog::LiveTable;
use crate::idempotency::{Earlier, Token};
use crate::transaction::Refusal;
use crate::write::{self, Applied, Change, Outcome, Plan};
use crate::{Caller, Engine};

/// What a transaction pays for each unit of its tables. Indexes cost what they always do.
const FACTOR: f64 = 2.0;

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: TransactWriteItemsInput,
) -> Result<TransactWriteItemsOutput, Error> {
    input.check()?;
    let actions: Vec<Action<'_>> =
        input.transact_items.iter().map(|item| item.action()).collect::<Result<_, _>>()?;
    let mut plans = plan(engine, caller, &actions)?;
    let request = Operation::TransactWriteItems;
    let token =
        token(engine, caller, request, input.client_request_token.as_deref(), || digest(&actions)).await;
    let done = carry_out(engine, &mut plans, token.as_ref()).await?;
    let mut collections = Collections::default();
    for ((action, plan), outcome) in actions.iter().zip(&plans).zip(done.outcomes()) {
        if !matches!(plan.change, Change::Check) {
            collections.add(input.return_item_collection_metrics, action.table_name, &plan.table, outcome);
        }
    }
    Ok(TransactWriteItemsOutput {
        consumed_capacity: done.consumed(&plans, input.return_consumed_capacity),
        item_collection_metrics: collections.answer(),
    })
}

/// What became of a transaction that was not cancelled.
pub(super) enum Done {
    Now(Vec<Outcome>),
    /// It had been carried out before.
    Earlier(Earlier),
}

/// Carries out plans for distinct items as one transaction.
pub(super) async fn carry_out(
    engine: &Engine,
    plans: &mut [Plan],
    token: Option<&Token>,
) -> Result<Done, Error> {
    let keys = plans.iter().map(|plan| plan.key.clone()).collect();
    let _under_way = engine.transactions.begin(keys, token).map_err(|refusal| match refusal {
        Refusal::Conflict(positions) => cancellation::of_conflicts(plans.len(), &positions),
        Refusal::InProgress => Error::transaction_in_progress(),
    })?;
    match write::apply_all(engine, plans, token, FACTOR).await? {
        Applied::Now(results) if results.iter().any(Result::is_err) => Err(cancellation::of_results(results)),
        Applied::Now(results) => Ok(Done::Now(results.into_iter().flatten().collect())),
        Applied::Earlier { same: true, earlier } => Ok(Done::Earlier(earlier)),
        Applied::Earlier { same: false, .. } => Err(Error::idempotent_parameter_mismatch()),
    }
}

impl Done {
    /// Of each plan, unless nothing was done.
    fn outcomes(&self) -> &[Outcome] {
        match self {
            Done::Now(outcomes) => outcomes,
            Done::Earlier(_) => &[],
        }
    }

    /// What was carried out before costs as much as reading the items.
    pub(super) fn consumed(
        &self,
        plans: &[Plan],
        asked: Option<ReturnConsumedCapacity>,
    ) -> Option<Vec<ConsumedCapacity>> {
        let mut consumed = ConsumedByTable::default();
        match self {
            Done::Now(outcomes) => {
                for (plan, outcome) in plans.iter().zip(outcomes) {
                    let units = Units::of_write(outcome);
                    consumed.add(&plan.table, Units { table: units.table * FACTOR, ..units });
                }
                consumed.answer_for_writes(asked)
            }
            Done::Earlier(earlier) => {
                for (plan, size_bytes) in plans.iter().zip(&earlier.sizes_bytes) {
                    let units = read_units(*size_bytes, ReadMode::Transactional);
                    consumed.add(&plan.table, Units::of_table(units));
                }
                consumed.answer_for_reads(asked)
            }
        }
    }
}

/// The plans of the actions. Faults of expressions come first, then those of tables, of key values, of
/// targets; what remains is a fault of one action and cancels the transaction.
fn plan(engine: &Engine, caller: &Caller, actions: &[Action<'_>]) -> Result<Vec<Plan>, Error> {
    let parsed = actions.iter().map(|action| parse(engine, action)).collect::<Result<Vec<_>, Error>>()?;
    let find = |action: &Action<'_>| engine.table(caller, action.table_name);
    let tables = actions.iter().map(find).collect::<Result<Vec<_>, Error>>()?;
    for (action, table) in actions.iter().zip(&tables) {
        table.keys.check_values(action.act.attributes().as_ref())?;
    }
    let keys: Vec<Result<Key, Error>> =
        actions.iter().zip(&tables).map(|(action, table)| key(action.act, table)).collect();
    let mut seen = HashSet::new();
    if !keys.iter().flatten().all(|key| seen.insert(key)) {
        return Err(Error::transaction_items_not_distinct());
    }
    let mut results = Vec::with_capacity(actions.len());
    for (((action, table), key), parsed) in actions.iter().zip(tables).zip(keys).zip(parsed) {
        results.push(key.and_then(|key| bind(action, table, key, parsed)));
    }
    match results.iter().all(Result::is_ok) {
        true => Ok(results.into_iter().flatten().collect()),
        false => Err(cancellation::of_results(results)),
    }
}

/// An action with its expressions read.
struct Parsed {
    condition: Option<Condition>,
    change: Change,
}

fn parse(engine: &Engine, action: &Action<'_>) -> Result<Parsed, Error> {
    let mut placeholders =
        placeholders(action.expression_attribute_names, action.expression_attribute_values)
            .map_err(read_error)?;
    let text = action.condition_expression.map(AsRef::as_ref);
    let condition = engine.expressions.condition(text, &mut placeholders).map_err(read_error)?;
    let change = match action.act {
        Act::Put { item } => Change::Put(item.clone()),
        Act::Delete { .. } => Change::Delete,
        Act::Update { key, update_expression } => {
            let update =
                engine.expressions.update(update_expression, &mut placeholders).map_err(read_error)?;
            Change::Update { update: Box::new(update), key_attributes: key.clone() }
        }
        Act::ConditionCheck { .. } => Change::Check,
    };
    placeholders.finish().map_err(read_error)?;
    Ok(Parsed { condition, change })
}

fn key(act: Act<'_>, table: &LiveTable) -> Result<Key, Error> {
    match act {
        Act::Put { item } => table.key_of_item(item.as_ref()),
        Act::Delete { key } | Act::Update { key, .. } | Act::ConditionCheck { key } => {
            table.key_of(key.as_ref())
        }
    }
}

fn bind(action: &Action<'_>, table: Arc<LiveTable>, key: Key, parsed: Parsed) -> Result<Plan, Error> {
    let Parsed { condition, change } = parsed;
    if let Change::Update { update, .. } = &change {
        update_item::check(&table, update)?;
    }
    let show_failed_item =
        action.return_values_on_condition_check_failure == Some(ReturnValuesOnConditionCheckFailure::AllOld);
    Ok(Plan { table, key, change, condition, show_failed_item })
}

/// The token of a request that has one; `digest` is of all that the request asks for.
pub(super) async fn token(
    engine: &Engine,
    caller: &Caller,
    operation: Operation,
    text: Option<&str>,
    digest: impl Fn() -> blake3::Hash,
) -> Option<Token> {
    let text = text?;
    let now_ms = engine.environment.now_ms();
    engine.token_clearing.keep_up(&engine.background, &engine.store, now_ms).await;
    Some(Token::new(caller, operation, text, digest(), now_ms))
}

/// A fingerprint of what the actions ask for. What is merely to be reported doesn't count.
fn digest(actions: &[Action<'_>]) -> blake3::Hash {
    let mut digest = Digest::default();
    for action in actions {
        digest.text(match action.act {
            Act::Put { .. } => "Put",
            Act::Delete { .. } => "Delete",
            Act::Update { .. } => "Update",
            Act::ConditionCheck { .. } => "ConditionCheck",
        });
        digest.text(action.table_name);
        digest.item(action.act.attributes());
        if let Act::Update { update_expression, .. } = action.act {
            digest.text(update_expression);
        }
        digest.text(action.condition_expression.unwrap_or_default());
        digest.map(action.expression_attribute_names, |digest, name| digest.text(name));
        digest.map(action.expression_attribute_values, |digest, value| {
            digest.bytes(&value.clone().into_stored());
        });
    }
    digest.finish()
}
