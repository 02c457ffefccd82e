//! DescribeTable: the definition and the state of a table.

use api::{DescribeTableInput, DescribeTableOutput, Error, TableName};

use super::description::current;
use crate::{Caller, Engine, failures};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DescribeTableInput,
) -> Result<DescribeTableOutput, Error> {
    input.check()?;
    let name = &input.table_name;
    match engine.find(caller, name)? {
        Some(table) => Ok(DescribeTableOutput { table: Some(current(&table, engine.usage.now().ms)) }),
        None => {
            let short = TableName::parse(name).map_or(name.as_str(), |parsed| parsed.name);
            let arn = caller.namespace.table_arn(short);
            let error = Error::resource_not_found_table(name);
            Err(failures::explain(engine, &caller.namespace, &arn, error).await)
        }
    }
}
