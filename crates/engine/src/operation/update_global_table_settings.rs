//! UpdateGlobalTableSettings: changes the settings of a global table of the first version, of which there are none.

use api::{Error, UpdateGlobalTableSettingsInput, UpdateGlobalTableSettingsOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct UpdateGlobalTableSettings;

impl Serve for UpdateGlobalTableSettings {
    type Input = UpdateGlobalTableSettingsInput;
    type Output = UpdateGlobalTableSettingsOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(_: &'r UpdateGlobalTableSettingsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateGlobalTableSettings", Resource::Any)
    }

    async fn run(
        _: &Engine,
        _: &Caller,
        input: UpdateGlobalTableSettingsInput,
    ) -> Result<UpdateGlobalTableSettingsOutput, Error> {
        input.check()?;
        Err(Error::global_table_not_found(&input.global_table_name))
    }
}
