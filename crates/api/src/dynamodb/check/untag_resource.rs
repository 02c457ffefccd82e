use super::Refuse;
use super::resource::check_table_arn;
use crate::{Error, UntagResourceInput};

impl Refuse for UntagResourceInput {}

impl UntagResourceInput {
    /// Checks that there are tag keys, and that the ARN is a table's.
    pub fn check(&self) -> Result<(), Error> {
        if self.tag_keys.is_empty() {
            return Err(Error::validation("Atleast one Tag Key needs to be provided as Input."));
        }
        check_table_arn(&self.resource_arn)
    }
}
