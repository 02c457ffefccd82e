//! TransactWriteItems: up to 100 changes and checks of distinct items, in several tables: all of them, or
//! none.
//!
//! An invalid request is refused as a whole. One whose actions don't fit the tables, the items or other
//! transactions is cancelled, with a reason for each action. One whose rows, with those of indexes and change records,
//! have more than 128 MiB is refused: DynamoDB has no such bound, but memory has.

use std::collections::HashSet;
use std::sync::Arc;

use api::{
    Act, Action, ConsumedCapacity, Error, Operation, ReturnConsumedCapacity, TransactWriteItem,
    TransactWriteItemsInput, TransactWriteItemsOutput,
};
use capacity::{ReadMode, TRANSACTION_FACTOR, read_units};
use expression::Condition;
use store::Key;

use super::answer_size::{self, AnswerSize};
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::ConsumedByTable;
use super::digest::Digest;
use super::item_collection::MetricsByTable;
use super::parameters::{Parameters, shows_failed_item};
use super::{Kind, Serve, scalar_keys};
use super::{cancellation, update_item};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::key::KeyError;
use crate::base::units::Units;
use crate::commit::idempotency::Token;
use crate::commit::{self, Change, Plan, TransactError, Transacted};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

pub(super) struct TransactWriteItems;

impl Serve for TransactWriteItems {
    type Input = TransactWriteItemsInput;
    type Output = TransactWriteItemsOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r TransactWriteItemsInput, _: &Namespace) -> Vec<Access<'r>> {
        // The operation itself refuses an item with no action or with two.
        let actions = input.transact_items.iter().filter_map(|item| item.action().ok());
        actions
            .map(|action| {
                let (name, update) = match action.act {
                    Act::Put { .. } => ("dynamodb:PutItem", None),
                    Act::Delete { .. } => ("dynamodb:DeleteItem", None),
                    Act::Update { update_expression, .. } => ("dynamodb:UpdateItem", Some(update_expression)),
                    Act::ConditionCheck { .. } => ("dynamodb:ConditionCheckItem", None),
                };
                Access::new(name, Resource::table(action.table_name)).with(Detail {
                    items: vec![action.act.attributes()],
                    names: action.expression_attribute_names.as_ref(),
                    values: action.expression_attribute_values.as_ref(),
                    condition: action.condition_expression,
                    update,
                    return_values: access::return_values(None),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    enclosing_operation: Some("TransactWriteItems"),
                    ..Detail::default()
                })
            })
            .collect()
    }

    fn answer_size(input: &TransactWriteItemsInput) -> AnswerSize {
        let returned = input.transact_items.iter().filter(|action| returns_item(action)).count();
        AnswerSize::of_items(returned, usize::MAX)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: TransactWriteItemsInput,
    ) -> Result<TransactWriteItemsOutput, Error> {
        let actions = actions(&input)?;
        let mut plans = plan(engine, caller, &actions)?;
        let request = Operation::TransactWriteItems;
        let token =
            token(engine, caller, request, input.client_request_token.as_deref(), || digest(&actions)).await;
        let done = carry_out(engine, request, &mut plans, token.as_ref()).await?;
        let mut collections = MetricsByTable::default();
        if let Transacted::Now(outcomes) = &done {
            for ((action, plan), outcome) in actions.iter().zip(&plans).zip(outcomes) {
                if !matches!(plan.change, Change::Check { .. }) {
                    let asked = input.return_item_collection_metrics;
                    collections.add(asked, action.table_name, &plan.table, outcome);
                }
            }
        }
        Ok(TransactWriteItemsOutput {
            consumed_capacity: consumed(&done, &plans, input.return_consumed_capacity),
            item_collection_metrics: collections.answer(),
        })
    }
}

/// Refuses transactions on tables with strong consistency between Regions, as DynamoDB does.
pub(super) fn check_not_strong<'t>(mut tables: impl Iterator<Item = &'t LiveTable>) -> Result<(), Error> {
    match tables.find(|table| table.strong.is_some()) {
        Some(table) => Err(Error::not_with_strong("Transactions are", &table.name)),
        None => Ok(()),
    }
}

/// Carries out plans for distinct items as one transaction.
pub(super) async fn carry_out(
    engine: &Engine,
    operation: Operation,
    plans: &mut [Plan],
    token: Option<&Token>,
) -> Result<Transacted, Error> {
    check_not_strong(plans.iter().map(|plan| &*plan.table))?;
    commit::transact(engine, operation, plans, token).await.map_err(|error| match error {
        TransactError::Conflicts(positions) => cancellation::of_conflicts(plans.len(), &positions),
        TransactError::InProgress => Error::transaction_in_progress(),
        TransactError::TokenReused => Error::idempotent_parameter_mismatch(),
        // DynamoDB bounds what the request has, not what it makes. As there, a transaction that is too large is a
        // ValidationException, which no SDK sends again: it would never be carried out.
        TransactError::TooLarge { bytes, bytes_max } => Error::validation(format!(
            "Transaction is too large: its items, with their rows in indexes and their change records, would take {bytes} \
             bytes, and one transaction can have {bytes_max}. Divide it into several"
        )),
        TransactError::Refused(results) => cancellation::of_results(results),
        TransactError::Failed(failure) => failure.into(),
    })
}

/// What a transaction cost. One that was carried out before costs as much as reading its items.
pub(super) fn consumed(
    done: &Transacted,
    plans: &[Plan],
    asked: Option<ReturnConsumedCapacity>,
) -> Option<Vec<ConsumedCapacity>> {
    let mut consumed = ConsumedByTable::default();
    match done {
        Transacted::Now(outcomes) => {
            for (plan, outcome) in plans.iter().zip(outcomes) {
                consumed.add(&plan.table, outcome.units(&plan.table, TRANSACTION_FACTOR));
            }
            consumed.answer_for_writes(asked)
        }
        Transacted::Earlier(earlier) => {
            for (plan, size_bytes) in plans.iter().zip(&earlier.sizes_bytes) {
                let units = read_units(*size_bytes, ReadMode::Transactional);
                consumed.add(&plan.table, Units::of_table(units));
            }
            consumed.answer_for_reads(asked)
        }
    }
}

/// The plans of a request.
pub(super) fn plans(
    engine: &Engine,
    caller: &Caller,
    input: &TransactWriteItemsInput,
) -> Result<Vec<Plan>, Error> {
    plan(engine, caller, &actions(input)?)
}

fn actions(input: &TransactWriteItemsInput) -> Result<Vec<Action<'_>>, Error> {
    input.check()?;
    input.transact_items.iter().map(TransactWriteItem::action).collect()
}

/// The plans of the actions. Errors come in this order: expressions, tables, key values, two actions on one
/// item. All others are errors of one action and cancel the transaction.
fn plan(engine: &Engine, caller: &Caller, actions: &[Action<'_>]) -> Result<Vec<Plan>, Error> {
    let parsed = actions.iter().map(|action| parse(engine, action)).collect::<Result<Vec<_>, Error>>()?;
    let find = |action: &Action<'_>| engine.table(caller, action.table_name);
    let tables = actions.iter().map(find).collect::<Result<Vec<_>, Error>>()?;
    for (action, table) in actions.iter().zip(&tables) {
        table.keys.check_values(action.act.attributes().as_ref())?;
    }
    let keys: Vec<Result<Key, KeyError>> =
        actions.iter().zip(&tables).map(|(action, table)| key(action.act, table)).collect();
    let mut seen = HashSet::new();
    if !keys.iter().flatten().all(|key| seen.insert(key)) {
        return Err(Error::transaction_items_not_distinct());
    }
    let mut results = Vec::with_capacity(actions.len());
    for (((action, table), key), parsed) in actions.iter().zip(tables).zip(keys).zip(parsed) {
        results.push(key.map_err(Error::from).and_then(|key| bind(action, table, key, parsed)));
    }
    match results.iter().all(Result::is_ok) {
        true => Ok(results.into_iter().flatten().collect()),
        false => Err(cancellation::of_results(results)),
    }
}

/// An action whose expressions are bound.
struct Parsed {
    condition: Option<Condition>,
    change: Change,
}

fn parse(engine: &Engine, action: &Action<'_>) -> Result<Parsed, Error> {
    let (names, values) = (action.expression_attribute_names, action.expression_attribute_values);
    let mut parameters = Parameters::of_read(engine, names, values)?;
    let condition = parameters.condition(action.condition_expression.map(AsRef::as_ref))?;
    let change = match action.act {
        Act::Put { item } => Change::Put(item.clone()),
        Act::Delete { key } => Change::Delete { key_attributes: key.clone() },
        Act::Update { key, update_expression } => {
            let update = parameters.update(update_expression)?;
            Change::Update { update: Box::new(update), key_attributes: key.clone() }
        }
        Act::ConditionCheck { key } => Change::Check { key_attributes: key.clone() },
    };
    parameters.finish()?;
    Ok(Parsed { condition, change })
}

fn key(act: Act<'_>, table: &LiveTable) -> Result<Key, KeyError> {
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
    scalar_keys::check(&table, condition.iter().flat_map(Condition::paths))?;
    let plan = Plan::of_client(table, key, change);
    Ok(plan.on_condition(condition, shows_failed_item(action.return_values_on_condition_check_failure)))
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

/// A digest of what the actions ask for. Parameters that only say what to return are left out.
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

fn returns_item(action: &TransactWriteItem) -> bool {
    [
        action.condition_check.as_ref().and_then(|check| check.return_values_on_condition_check_failure),
        action.delete.as_ref().and_then(|delete| delete.return_values_on_condition_check_failure),
        action.put.as_ref().and_then(|put| put.return_values_on_condition_check_failure),
        action.update.as_ref().and_then(|update| update.return_values_on_condition_check_failure),
    ]
    .into_iter()
    .any(answer_size::returns_on_failure)
}
