//! PutItem: makes an item, or replaces the one with its key.

use api::{Error, Operation, PutItemInput, PutItemOutput, ReturnValue};
use expression::Condition;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::{consumed, written};
use super::item_collection::metrics;
use super::parameters::{Parameters, shows_failed_item};
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::commit::{self, Change, Plan};
use crate::operation::Engine;

pub(super) struct PutItem;

impl Serve for PutItem {
    type Input = PutItemInput;
    type Output = PutItemOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r PutItemInput, _: &Namespace) -> Vec<Access<'r>> {
        let access = Access::new("dynamodb:PutItem", Resource::table(&input.table_name)).with(Detail {
            items: vec![&input.item],
            listed: access::listed(None, [access::keys(input.expected.as_ref())]),
            names: input.expression_attribute_names.as_ref(),
            values: input.expression_attribute_values.as_ref(),
            condition: input.condition_expression.as_deref(),
            return_values: access::return_values(input.return_values),
            return_consumed_capacity: access::return_consumed_capacity(input.return_consumed_capacity),
            ..Detail::default()
        });
        vec![access]
    }

    fn answer_size(input: &PutItemInput) -> AnswerSize {
        AnswerSize::of_write(input.return_values, input.return_values_on_condition_check_failure)
    }

    async fn run(engine: &Engine, caller: &Caller, input: PutItemInput) -> Result<PutItemOutput, Error> {
        let mut plan = plan(engine, caller, &input)?;
        let outcome = commit::apply(engine, Operation::PutItem, &mut plan).await?;
        Ok(PutItemOutput {
            consumed_capacity: consumed(
                input.return_consumed_capacity,
                &plan.table,
                &written(&plan, &outcome),
            ),
            item_collection_metrics: metrics(input.return_item_collection_metrics, &plan.table, &outcome),
            attributes: outcome.old.filter(|_| input.return_values == Some(ReturnValue::AllOld)),
        })
    }
}

pub(super) fn plan(engine: &Engine, caller: &Caller, input: &PutItemInput) -> Result<Plan, Error> {
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
    scalar_keys::check(&table, condition.iter().flat_map(Condition::paths))?;
    let plan = Plan::of_client(table, key, Change::Put(input.item.clone()));
    Ok(plan.on_condition(condition, shows_failed_item(input.return_values_on_condition_check_failure)))
}
