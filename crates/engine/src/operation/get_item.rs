//! GetItem: one item by its key.

use api::{Error, GetItemInput, GetItemOutput, Operation};

use super::consumed::consumed;
use super::paging::read_mode;
use super::parameters::Parameters;
use crate::read::{self, Asked};
use crate::units::Units;
use crate::{Caller, Engine};

pub async fn run(engine: &Engine, caller: &Caller, input: GetItemInput) -> Result<GetItemOutput, Error> {
    input.check()?;
    let mut parameters = Parameters::of_read(engine, &input.expression_attribute_names, &None)?;
    let projection =
        parameters.projection(input.projection_expression.as_deref(), input.attributes_to_get.as_deref())?;
    parameters.finish()?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of(input.key.as_ref())?;

    let asked = Asked { table: &table, key: &key, attributes: input.key.as_ref() };
    let found = read::item(engine, Operation::GetItem, asked, read_mode(input.consistent_read)).await?;

    Ok(GetItemOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &Units::of_table(found.units)),
        item: found.item.map(|item| match &projection {
            Some(projection) => projection.apply(item.as_ref()),
            None => item,
        }),
    })
}
