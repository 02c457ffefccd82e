//! UpdateItem: changes an item's attributes, making the item if it isn't there.

use api::{Error, Operation, ReturnValue, UpdateItemInput, UpdateItemOutput, limits};
use expression::{Condition, Update};
use item::Item;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::{consumed, written};
use super::item_collection::metrics;
use super::parameters::{Parameters, shows_failed_item};
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::commit::{self, Change, Outcome, Plan};
use crate::operation::Engine;
use crate::operation::legacy;

pub(super) struct UpdateItem;

impl Serve for UpdateItem {
    type Input = UpdateItemInput;
    type Output = UpdateItemOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateItemInput, _: &Namespace) -> Vec<Access<'r>> {
        let access = Access::new("dynamodb:UpdateItem", Resource::table(&input.table_name)).with(Detail {
            items: vec![&input.key],
            listed: access::listed(
                None,
                [access::keys(input.expected.as_ref()), access::keys(input.attribute_updates.as_ref())],
            ),
            names: input.expression_attribute_names.as_ref(),
            values: input.expression_attribute_values.as_ref(),
            condition: input.condition_expression.as_deref(),
            update: input.update_expression.as_deref(),
            return_values: access::return_values(input.return_values),
            return_consumed_capacity: access::return_consumed_capacity(input.return_consumed_capacity),
            ..Detail::default()
        });
        vec![access]
    }

    fn answer_size(input: &UpdateItemInput) -> AnswerSize {
        AnswerSize::of_write(input.return_values, input.return_values_on_condition_check_failure)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateItemInput,
    ) -> Result<UpdateItemOutput, Error> {
        let mut plan = plan(engine, caller, &input)?;
        let outcome = commit::apply(engine, Operation::UpdateItem, &mut plan).await?;
        Ok(UpdateItemOutput {
            consumed_capacity: consumed(
                input.return_consumed_capacity,
                &plan.table,
                &written(&plan, &outcome),
            ),
            item_collection_metrics: metrics(input.return_item_collection_metrics, &plan.table, &outcome),
            attributes: attributes(input.return_values, &plan, outcome),
        })
    }
}

pub(super) fn plan(engine: &Engine, caller: &Caller, input: &UpdateItemInput) -> Result<Plan, Error> {
    input.check()?;
    let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
    let mut parameters = Parameters::of_write(engine, names, values)?;
    let condition = parameters.condition_or_expected(
        input.condition_expression.as_deref(),
        input.expected.as_ref(),
        input.conditional_operator,
    )?;
    let update = match (&input.update_expression, &input.attribute_updates) {
        (Some(text), _) => parameters.update(text)?,
        (None, Some(updates)) => legacy::attribute_updates(updates)?,
        (None, None) => Update::of_attributes([]),
    };
    parameters.finish()?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of(input.key.as_ref())?;
    scalar_keys::check(&table, condition.iter().flat_map(Condition::paths))?;
    check(&table, &update)?;
    let change = Change::Update { update: Box::new(update), key_attributes: input.key.clone() };
    let plan = Plan::of_client(table, key, change);
    Ok(plan.on_condition(condition, shows_failed_item(input.return_values_on_condition_check_failure)))
}

/// Refuses an update that changes the key, or that is too large whatever item it finds.
pub(super) fn check(table: &Table, update: &Update) -> Result<(), Error> {
    if let Some(target) = update.targets().find(|target| table.keys.contains(target)) {
        return Err(Error::key_not_updatable(target));
    }
    match update.charge_bytes() > limits::ITEM_BYTES_MAX {
        true => Err(Error::item_to_update_too_large()),
        false => Ok(()),
    }
}

/// The attributes that ReturnValues asks for; absent, not empty, when nothing qualifies.
pub(super) fn attributes(asked: Option<ReturnValue>, plan: &Plan, outcome: Outcome) -> Option<Item> {
    let Change::Update { update, .. } = &plan.change else { return None };
    match asked? {
        ReturnValue::None => None,
        ReturnValue::AllOld => outcome.old,
        ReturnValue::AllNew => outcome.new,
        ReturnValue::UpdatedOld => update.updated_old(outcome.old.as_ref()?.as_ref()),
        ReturnValue::UpdatedNew => update.updated_new(outcome.new.as_ref()?.as_ref()),
    }
}
