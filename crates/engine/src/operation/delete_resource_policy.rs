//! DeleteResourcePolicy: takes a table's policy away. Without one there is nothing to do, unless the
//! request expects a revision.

use api::{DeleteResourcePolicyInput, DeleteResourcePolicyOutput, Error};

use super::policy;
use crate::table::Table;
use crate::{Caller, Engine};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DeleteResourcePolicyInput,
) -> Result<DeleteResourcePolicyOutput, Error> {
    input.check()?;
    let arn = input.resource_arn.clone();
    let table = engine.find(caller, &arn).ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    let revision = table.policy.as_ref().map(|policy| policy.revision.clone());
    let delete = move |table: &mut Table| {
        policy::check_revision(table, input.expected_revision_id.as_deref())?;
        table.policy = None;
        Ok(())
    };
    engine.change(&table, delete).await?.ok_or_else(|| Error::resource_not_found_arn(&arn))?;
    Ok(DeleteResourcePolicyOutput { revision_id: revision })
}
