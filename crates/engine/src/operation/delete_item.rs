//! DeleteItem: removes the item with a key; removing one that isn't there succeeds.

use api::{DeleteItemInput, DeleteItemOutput, Error, ReturnValue, ReturnValuesOnConditionCheckFailure};

use super::consumed::{Units, consumed};
use super::expressions::{placeholders, write_error};
use super::item_collection::metrics;
use crate::write::{self, Change, Plan};
use crate::{Caller, Engine, legacy};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DeleteItemInput,
) -> Result<DeleteItemOutput, Error> {
    let mut plan = plan(engine, caller, &input)?;
    let outcome = write::apply(engine, &mut plan).await?;
    Ok(DeleteItemOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &plan.table, &Units::of_write(&outcome)),
        item_collection_metrics: metrics(input.return_item_collection_metrics, &plan.table, &outcome),
        attributes: outcome.old.filter(|_| input.return_values == Some(ReturnValue::AllOld)),
    })
}

fn plan(engine: &Engine, caller: &Caller, input: &DeleteItemInput) -> Result<Plan, Error> {
    input.check()?;
    let mut placeholders =
        placeholders(&input.expression_attribute_names, &input.expression_attribute_values)
            .map_err(write_error)?;
    let condition = match &input.expected {
        Some(expected) => legacy::expected(expected, input.conditional_operator)?,
        None => engine
            .expressions
            .condition(input.condition_expression.as_deref(), &mut placeholders)
            .map_err(write_error)?,
    };
    placeholders.finish().map_err(write_error)?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of(input.key.as_ref())?;
    Ok(Plan {
        table,
        key,
        change: Change::Delete,
        condition,
        show_failed_item: input.return_values_on_condition_check_failure
            == Some(ReturnValuesOnConditionCheckFailure::AllOld),
    })
}
