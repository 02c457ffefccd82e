//! ListGlobalTables: the global tables of the first version, of which there are none.

use api::{Error, ListGlobalTablesInput, ListGlobalTablesOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct ListGlobalTables;

impl Serve for ListGlobalTables {
    type Input = ListGlobalTablesInput;
    type Output = ListGlobalTablesOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListGlobalTablesInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListGlobalTables", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: ListGlobalTablesInput,
    ) -> Result<ListGlobalTablesOutput, Error> {
        input.check()?;
        Ok(ListGlobalTablesOutput { global_tables: Some(Vec::new()), last_evaluated_global_table_name: None })
    }
}
