//! PutResourcePolicy: sets or replaces a table's policy.

use api::{Error, PutResourcePolicyInput, PutResourcePolicyOutput};

use super::authorization::access::{Access, Resource};
use super::policy;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::{ResourcePolicy, Table};
use crate::operation::Engine;

pub(super) struct PutResourcePolicy;

impl Serve for PutResourcePolicy {
    type Input = PutResourcePolicyInput;
    type Output = PutResourcePolicyOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r PutResourcePolicyInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:PutResourcePolicy", Resource::arn(&input.resource_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: PutResourcePolicyInput,
    ) -> Result<PutResourcePolicyOutput, Error> {
        input.check()?;
        let document = policy::canonical_document(&input.policy)?;
        let arn = input.resource_arn.clone();
        let table = policy::table(engine, caller, &arn)?;
        let now = engine.environment.now_ms();
        let put = move |table: &mut Table, _| {
            policy::check_revision(table, input.expected_revision_id.as_deref())?;
            // The same policy again is no new revision.
            let current = table.policy.as_ref();
            if current.is_none_or(|current| current.document != document) {
                let revision = policy::next_revision(table, now);
                table.policy = Some(ResourcePolicy { document: document.clone(), revision });
                table.policy_removal = None;
            }
            Ok(())
        };
        let changed = engine.change_table(&table, put).await?;
        let table = changed.ok_or_else(|| Error::resource_not_found_table(&table.name))?;
        Ok(PutResourcePolicyOutput {
            revision_id: table.policy.as_ref().map(|policy| policy.revision.clone()),
        })
    }
}
