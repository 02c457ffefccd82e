use super::Refuse;
use super::resource::check_table_arn;
use crate::{Error, GetResourcePolicyInput};

impl Refuse for GetResourcePolicyInput {}

impl GetResourcePolicyInput {
    pub fn check(&self) -> Result<(), Error> {
        check_table_arn(&self.resource_arn)
    }
}
