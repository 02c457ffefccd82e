//! CreateGlobalTable: makes a global table of the first version (2017.11.29). AWS makes none any more, and neither do we; today's are
//! made by UpdateTable (`replica_updates.rs`).

use api::{CreateGlobalTableInput, CreateGlobalTableOutput, Error};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct CreateGlobalTable;

impl Serve for CreateGlobalTable {
    type Input = CreateGlobalTableInput;
    type Output = CreateGlobalTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(_: &'r CreateGlobalTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:CreateGlobalTable", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: CreateGlobalTableInput,
    ) -> Result<CreateGlobalTableOutput, Error> {
        input.check()?;
        Err(Error::global_table_version_unsupported())
    }
}
