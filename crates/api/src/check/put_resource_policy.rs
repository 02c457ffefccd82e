use super::Refuse;
use super::resource::{check_policy, check_table_arn};
use crate::{Error, PutResourcePolicyInput};

impl Refuse for PutResourcePolicyInput {}

impl PutResourcePolicyInput {
    pub fn check(&self) -> Result<(), Error> {
        check_table_arn(&self.resource_arn)?;
        check_policy(&self.policy)
    }
}
