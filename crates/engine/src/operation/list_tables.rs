//! ListTables: the names of an account's tables in a Region, in pages.

use api::{Error, ListTablesInput, ListTablesOutput, limits};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct ListTables;

impl Serve for ListTables {
    type Input = ListTablesInput;
    type Output = ListTablesOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListTablesInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListTables", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListTablesInput,
    ) -> Result<ListTablesOutput, Error> {
        input.check()?;
        let limit = input.limit.map_or(limits::LIST_TABLES_PAGE_MAX, |limit| limit as usize);
        let after = input.exclusive_start_table_name.as_deref();
        // One name more than asked for shows whether the page is the last.
        let mut names = engine.catalog.names(&caller.namespace, after, limit + 1);
        let more = names.len() > limit;
        names.truncate(limit);
        Ok(ListTablesOutput {
            last_evaluated_table_name: names.last().filter(|_| more).cloned(),
            table_names: Some(names),
        })
    }
}
