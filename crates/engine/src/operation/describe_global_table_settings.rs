//! DescribeGlobalTableSettings: the settings of a global table of the first version, of which there are none.

use api::{DescribeGlobalTableSettingsInput, DescribeGlobalTableSettingsOutput, Error};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct DescribeGlobalTableSettings;

impl Serve for DescribeGlobalTableSettings {
    type Input = DescribeGlobalTableSettingsInput;
    type Output = DescribeGlobalTableSettingsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r DescribeGlobalTableSettingsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeGlobalTableSettings", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: DescribeGlobalTableSettingsInput,
    ) -> Result<DescribeGlobalTableSettingsOutput, Error> {
        input.check()?;
        Err(Error::global_table_not_found(&input.global_table_name))
    }
}
