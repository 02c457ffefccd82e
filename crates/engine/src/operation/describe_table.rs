//! DescribeTable: the definition and the state of a table.

use api::{DescribeTableInput, DescribeTableOutput, Error, TableName};

use super::authorization::access::{Access, Resource};
use super::description::current;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::failures;
use crate::operation::Engine;

pub(super) struct DescribeTable;

impl Serve for DescribeTable {
    type Input = DescribeTableInput;
    type Output = DescribeTableOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeTable", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeTableInput,
    ) -> Result<DescribeTableOutput, Error> {
        input.check()?;
        let name = &input.table_name;
        match engine.find(caller, name)? {
            Some(table) => {
                // A job may have changed it a moment ago, and the client's next request may go to another server.
                if let Some(members) = &engine.members {
                    members.agree().await.map_err(fault::of_store)?;
                }
                Ok(DescribeTableOutput { table: Some(current(&table, engine.usage.now().ms)) })
            }
            None => {
                let short = TableName::parse(name).map_or(name.as_str(), |parsed| parsed.name);
                let arn = caller.namespace.table_arn(short);
                let error = Error::resource_not_found_table(name);
                Err(failures::explain(engine, &caller.namespace, &arn, error).await)
            }
        }
    }
}
