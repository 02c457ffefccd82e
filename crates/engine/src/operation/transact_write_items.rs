//! TransactWriteItems: up to 100 changes and checks of distinct items, in several tables: all of them, or
//! none.
//!
//! A request that makes no sense is refused as a whole. One whose actions don't fit the tables, the items or
//! other transactions is cancelled, with a reason for each action.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use api::{
    Act, Action, Error, ReturnValuesOnConditionCheckFailure, TransactWriteItemsInput,
    TransactWriteItemsOutput,
};
use capacity::{ReadMode, read_units};
use expression::{Condition, Kind, Update};
use item::Item;
use store::Key;

use super::consumed::{ConsumedByTable, Units};
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
    let plans = plan(engine, caller, &actions)?;
    let token = token(engine, caller, &input, &actions).await;

    let keys = plans.iter().map(|plan| plan.key.clone()).collect();
    let _under_way = engine.transactions.begin(keys, token.as_ref()).map_err(|refusal| match refusal {
        Refusal::Conflict(positions) => cancellation::of_conflicts(plans.len(), &positions),
        Refusal::InProgress => Error::transaction_in_progress(),
    })?;
    match write::apply_all(&*engine.store, &plans, token.as_ref()).await? {
        Applied::Now(results) if results.iter().any(Result::is_err) => Err(cancellation::of_results(results)),
        Applied::Now(results) => {
            let outcomes: Vec<Outcome> = results.into_iter().flatten().collect();
            Ok(answer(&input, &actions, &plans, &outcomes))
        }
        Applied::Earlier { same: true, earlier } => Ok(answer_again(&input, &plans, &earlier)),
        Applied::Earlier { same: false, .. } => Err(Error::idempotent_parameter_mismatch()),
    }
}

fn answer(
    input: &TransactWriteItemsInput,
    actions: &[Action<'_>],
    plans: &[Plan],
    outcomes: &[Outcome],
) -> TransactWriteItemsOutput {
    let mut consumed = ConsumedByTable::default();
    let mut collections = Collections::default();
    for ((action, plan), outcome) in actions.iter().zip(plans).zip(outcomes) {
        let units = Units::of_write(outcome);
        consumed.add(&plan.table, Units { table: units.table * FACTOR, ..units });
        if !matches!(plan.change, Change::Check) {
            collections.add(action.table_name, &plan.table, outcome);
        }
    }
    TransactWriteItemsOutput {
        consumed_capacity: consumed.answer_for_writes(input.return_consumed_capacity),
        item_collection_metrics: collections.answer(input.return_item_collection_metrics),
    }
}

/// The answer to a request that was carried out before: it costs as much as reading the items.
fn answer_again(
    input: &TransactWriteItemsInput,
    plans: &[Plan],
    earlier: &Earlier,
) -> TransactWriteItemsOutput {
    let mut consumed = ConsumedByTable::default();
    for (plan, size_bytes) in plans.iter().zip(&earlier.sizes_bytes) {
        consumed.add(&plan.table, Units::of_table(read_units(*size_bytes, ReadMode::Transactional)));
    }
    TransactWriteItemsOutput {
        consumed_capacity: consumed.answer_for_reads(input.return_consumed_capacity),
        item_collection_metrics: None,
    }
}

/// The plans of the actions. Faults of expressions come first, then those of tables, of key values, of
/// targets; what remains is a fault of one action and cancels the transaction.
fn plan(engine: &Engine, caller: &Caller, actions: &[Action<'_>]) -> Result<Vec<Plan>, Error> {
    let parsed = actions.iter().map(parse).collect::<Result<Vec<_>, Error>>()?;
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

fn parse(action: &Action<'_>) -> Result<Parsed, Error> {
    let mut placeholders =
        placeholders(action.expression_attribute_names, action.expression_attribute_values)
            .map_err(read_error)?;
    let condition = action.condition_expression;
    let condition = condition.map(|text| Condition::parse(Kind::Condition, text, &mut placeholders));
    let condition = condition.transpose().map_err(read_error)?;
    let change = match action.act {
        Act::Put { item } => Change::Put(item.clone()),
        Act::Delete { .. } => Change::Delete,
        Act::Update { key, update_expression } => {
            let update = Update::parse(update_expression, &mut placeholders).map_err(read_error)?;
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

async fn token(
    engine: &Engine,
    caller: &Caller,
    input: &TransactWriteItemsInput,
    actions: &[Action<'_>],
) -> Option<Token> {
    let text = input.client_request_token.as_ref()?;
    let now_ms = engine.environment.now_ms();
    engine.token_clearing.keep_up(&engine.store, now_ms).await;
    Some(Token::new(caller, text, digest(actions), now_ms))
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
    digest.0.finalize()
}

/// Each part with its length before it, so that no two lists of parts look alike.
#[derive(Default)]
struct Digest(blake3::Hasher);

impl Digest {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn item(&mut self, item: &Item) {
        self.bytes(&item.clone().into_stored());
    }

    fn map<T>(&mut self, map: &Option<BTreeMap<String, T>>, add: impl Fn(&mut Digest, &T)) {
        let entries = || map.iter().flatten();
        self.bytes(&entries().count().to_be_bytes());
        for (name, value) in entries() {
            self.text(name);
            add(self, value);
        }
    }
}
