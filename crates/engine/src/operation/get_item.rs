//! GetItem: one item by its key.

use api::{Error, GetItemInput, GetItemOutput};
use capacity::{ReadMode, read_units};

use super::consumed::consumed;
use super::expressions::{placeholders, projection, read_error};
use super::paging::{consistency, read_mode};
use crate::{Caller, Engine, read};

pub async fn run(engine: &Engine, caller: &Caller, input: GetItemInput) -> Result<GetItemOutput, Error> {
    input.check()?;
    let mut placeholders =
        placeholders(&input.expression_attribute_names, &None).map_err(read_error)?;
    let projection = projection(&input.projection_expression, &mut placeholders).map_err(read_error)?;
    placeholders.finish().map_err(read_error)?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of(input.key.as_ref())?;

    let item = read::item(&*engine.store, key, consistency(input.consistent_read)).await?;

    let mode: ReadMode = read_mode(input.consistent_read);
    let units = read_units(item.as_ref().map_or(0, |item| item.as_ref().size_bytes()), mode);
    Ok(GetItemOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table.name, units),
        item: item.map(|item| match &projection {
            Some(projection) => projection.apply(item.as_ref()),
            None => item,
        }),
    })
}
