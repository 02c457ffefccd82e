//! UntagResource: removes tags from a table. A tag that the table does not have is no error.

use api::{Error, UntagResourceInput};

use crate::table::Table;
use crate::{Caller, Engine};

pub async fn run(engine: &Engine, caller: &Caller, input: UntagResourceInput) -> Result<(), Error> {
    input.check()?;
    let arn = input.resource_arn.clone();
    let table = engine.find(caller, &arn)?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    let untag = move |table: &mut Table, _| {
        table.tags.retain(|key, _| !input.tag_keys.contains(key));
        Ok(())
    };
    engine.change_table(&table, untag).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    Ok(())
}
