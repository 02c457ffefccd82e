//! GetItem: one item by its key.

use api::{Error, GetItemInput, GetItemOutput};
use capacity::read_units;

use super::consumed::{Units, consumed};
use super::expressions::{placeholders, read_error};
use super::paging::read_mode;
use crate::admission::Place;
use crate::{Caller, Engine, legacy, read};

pub async fn run(engine: &Engine, caller: &Caller, input: GetItemInput) -> Result<GetItemOutput, Error> {
    input.check()?;
    let mut placeholders = placeholders(&input.expression_attribute_names, &None).map_err(read_error)?;
    let projection = match &input.attributes_to_get {
        Some(names) => Some(legacy::attributes_to_get(names)),
        None => engine
            .expressions
            .projection(input.projection_expression.as_deref(), &mut placeholders)
            .map_err(read_error)?,
    };
    placeholders.finish().map_err(read_error)?;
    let table = engine.table(caller, &input.table_name)?;
    let key = table.key_of(input.key.as_ref())?;

    let mode = read_mode(input.consistent_read);
    let place = Place::of_key(&key);
    engine.admit_read(&table, place)?;
    let item = read::item(&*engine.store, key, read::consistency(mode)).await?;

    let units = read_units(item.as_ref().map_or(0, |item| item.as_ref().size_bytes()), mode);
    engine.charge_read(&table, place, units);
    Ok(GetItemOutput {
        consumed_capacity: consumed(input.return_consumed_capacity, &table, &Units::of_table(units)),
        item: item.map(|item| match &projection {
            Some(projection) => projection.apply(item.as_ref()),
            None => item,
        }),
    })
}
