//! DescribeTable: the definition and the state of a table.

use api::{DescribeTableInput, DescribeTableOutput, Error};

use super::description::current;
use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DescribeTableInput,
) -> Result<DescribeTableOutput, Error> {
    input.check()?;
    let table = engine
        .find(caller, &input.table_name)?
        .ok_or_else(|| Error::resource_not_found_table(&input.table_name))?;
    Ok(DescribeTableOutput { table: Some(current(&table)) })
}
