//! UpdateGlobalTable: changes a global table of the first version, of which there are none.

use api::{Error, UpdateGlobalTableInput, UpdateGlobalTableOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct UpdateGlobalTable;

impl Serve for UpdateGlobalTable {
    type Input = UpdateGlobalTableInput;
    type Output = UpdateGlobalTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(_: &'r UpdateGlobalTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateGlobalTable", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: UpdateGlobalTableInput,
    ) -> Result<UpdateGlobalTableOutput, Error> {
        input.check()?;
        Err(Error::global_table_not_found(&input.global_table_name))
    }
}
