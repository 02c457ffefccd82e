//! GetResourcePolicy: a table's policy and its revision.

use api::{Error, GetResourcePolicyInput, GetResourcePolicyOutput};

use super::authorization::access::{Access, Resource};
use super::policy;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct GetResourcePolicy;

impl Serve for GetResourcePolicy {
    type Input = GetResourcePolicyInput;
    type Output = GetResourcePolicyOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r GetResourcePolicyInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:GetResourcePolicy", Resource::arn(&input.resource_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: GetResourcePolicyInput,
    ) -> Result<GetResourcePolicyOutput, Error> {
        input.check()?;
        let arn = &input.resource_arn;
        let table = policy::table(engine, caller, arn)?;
        let policy = table.policy.clone().ok_or_else(|| Error::policy_not_found(arn))?;
        Ok(GetResourcePolicyOutput { policy: Some(policy.document), revision_id: Some(policy.revision) })
    }
}
