use super::Refuse;
use super::resource::{check_policy, check_table_arn};
use crate::{Error, PutResourcePolicyInput};

impl Refuse for PutResourcePolicyInput {}

impl PutResourcePolicyInput {
    /// Checks that the ARN is a table's, and the policy's size.
    pub fn check(&self) -> Result<(), Error> {
        check_table_arn(&self.resource_arn)?;
        check_policy(&self.policy)
    }
}
