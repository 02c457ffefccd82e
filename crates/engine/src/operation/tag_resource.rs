//! TagResource: adds tags to a table, or changes the values of its tags.

use api::{Error, TagResourceInput, limits};

use crate::table::Table;
use crate::{Caller, Engine};

pub async fn run(engine: &Engine, caller: &Caller, input: TagResourceInput) -> Result<(), Error> {
    input.check()?;
    let arn = input.resource_arn.clone();
    let table = engine.find(caller, &arn)?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    let tag = move |table: &mut Table, _| {
        table.tags.extend(input.tags.iter().map(|tag| (tag.key.clone(), tag.value.clone())));
        if table.tags.len() > limits::TAGS_MAX { Err(Error::too_many_tags()) } else { Ok(()) }
    };
    engine.change_table(&table, tag).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    Ok(())
}
