//! DescribeLimits: how much throughput an account may provision. These are the quotas of a new account;
//! they are not enforced.

use api::{DescribeLimitsInput, DescribeLimitsOutput, Error};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

const ACCOUNT_UNITS_MAX: i64 = 80_000;
const TABLE_UNITS_MAX: i64 = 40_000;

pub(super) struct DescribeLimits;

impl Serve for DescribeLimits {
    type Input = DescribeLimitsInput;
    type Output = DescribeLimitsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r DescribeLimitsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeLimits", Resource::Any)
    }

    async fn run(_: &Engine, _: &Caller, input: DescribeLimitsInput) -> Result<DescribeLimitsOutput, Error> {
        input.check()?;
        Ok(DescribeLimitsOutput {
            account_max_read_capacity_units: Some(ACCOUNT_UNITS_MAX),
            account_max_write_capacity_units: Some(ACCOUNT_UNITS_MAX),
            table_max_read_capacity_units: Some(TABLE_UNITS_MAX),
            table_max_write_capacity_units: Some(TABLE_UNITS_MAX),
        })
    }
}
