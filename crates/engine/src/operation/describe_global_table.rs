//! DescribeGlobalTable: a global table of the first version, of which there are none.

use api::{DescribeGlobalTableInput, DescribeGlobalTableOutput, Error};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct DescribeGlobalTable;

impl Serve for DescribeGlobalTable {
    type Input = DescribeGlobalTableInput;
    type Output = DescribeGlobalTableOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r DescribeGlobalTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeGlobalTable", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: DescribeGlobalTableInput,
    ) -> Result<DescribeGlobalTableOutput, Error> {
        input.check()?;
        Err(Error::global_table_not_found(&input.global_table_name))
    }
}
