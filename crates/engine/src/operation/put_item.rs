//! PutItem: makes an item, or replaces the one with its key.

use api::{Error, Operation, PutItemInput, PutItemOutput, ReturnValue};

use super::consumed::{consumed, written};
use super::item_collection::metrics;
use super::parameters::{Parameters, shows_failed_item};
use crate::write::{self, Change, Plan};
use crate::{Caller, Engine};

pub async fn run(engine: &Engine, caller: &Caller, input: PutItemInput) -> Result<PutItemOutput, Error> {
    let mut plan = plan(engine, caller, &input)?;
    let outcome = write::apply(engine, Operation::PutItem, &mut plan).await?;
    Ok(PutItemOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &plan.table, &written(&plan, &outcome)),
        item_collection_metrics: metrics(input.return_item_collection_metrics, &plan.table, &outcome),
        attributes: outcome.old.filter(|_| input.return_values == Some(ReturnValue::AllOld)),
    })
}

fn plan(engine: &Engine, caller: &Caller, input: &PutItemInput) -> Result<Plan, Error> {
    input.check()?;
    let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
    let mut parameters = Parameters::of_write(engine, names, values)?;
    let condition = parameters.condition_or_expected(
        input.condition_expression.as_deref(),
        input.expected.as_ref(),
        input.conditional_operator,
    )?;
    parameters.finish()?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of_item(input.item.as_ref())?;
    let plan = Plan::of_client(table, key, Change::Put(input.item.clone()));
    Ok(plan.on_condition(condition, shows_failed_item(input.return_values_on_condition_check_failure)))
}
