//! PutResourcePolicy: sets or replaces a table's policy.

use api::{Error, PutResourcePolicyInput, PutResourcePolicyOutput};

use super::policy;
use crate::table::{ResourcePolicy, Table};
use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: PutResourcePolicyInput,
) -> Result<PutResourcePolicyOutput, Error> {
    input.check()?;
    policy::check_document(&input.policy)?;
    let arn = input.resource_arn.clone();
    let table = engine.find(caller, &arn).ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    let revision = policy::revision(engine.environment.random());
    let put = move |table: &mut Table| {
        policy::check_revision(table, input.expected_revision_id.as_deref())?;
        // The same policy again is no new revision.
        if table.policy.as_ref().is_none_or(|policy| policy.document != input.policy) {
            let (document, revision) = (input.policy.clone(), revision.clone());
            table.policy = Some(ResourcePolicy { document, revision });
        }
        Ok(())
    };
    let table = engine.change(&table, put).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    Ok(PutResourcePolicyOutput { revision_id: table.policy.as_ref().map(|policy| policy.revision.clone()) })
}
