//! GetResourcePolicy: a table's policy and its revision.

use api::{Error, GetResourcePolicyInput, GetResourcePolicyOutput};

use super::policy;
use crate::{Caller, Engine};

pub async fn run(
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
