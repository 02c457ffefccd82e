//! DeleteResourcePolicy: removes the policy of a table. The answer is the revision that was removed, or that of
//! an earlier removal. A table without a policy is no error, unless the request expects a revision.

use std::sync::Arc;

use api::{DeleteResourcePolicyInput, DeleteResourcePolicyOutput, Error};

use parking_lot::Mutex;

use super::authorization::access::{Access, Resource};
use super::policy;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct DeleteResourcePolicy;

impl Serve for DeleteResourcePolicy {
    type Input = DeleteResourcePolicyInput;
    type Output = DeleteResourcePolicyOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r DeleteResourcePolicyInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DeleteResourcePolicy", Resource::arn(&input.resource_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DeleteResourcePolicyInput,
    ) -> Result<DeleteResourcePolicyOutput, Error> {
        input.check()?;
        let arn = input.resource_arn.clone();
        let table = policy::table(engine, caller, &arn)?;
        let (now, revision) = (engine.environment.now_ms(), Arc::new(Mutex::new(None)));
        let removed = revision.clone();
        let delete = move |table: &mut Table, _| {
            policy::check_revision(table, input.expected_revision_id.as_deref())?;
            *removed.lock() = policy::current_revision(table).map(str::to_owned);
            if table.policy.is_some() {
                table.policy_removal = Some(policy::next_revision(table, now));
                table.policy = None;
            }
            Ok(())
        };
        let changed = engine.change_table(&table, delete).await?;
        changed.ok_or_else(|| Error::resource_not_found_table(&table.name))?;
        let revision_id = revision.lock().take();
        Ok(DeleteResourcePolicyOutput { revision_id })
    }
}
