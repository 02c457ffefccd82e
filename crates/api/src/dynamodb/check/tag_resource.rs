use super::Refuse;
use super::resource::{check_table_arn, check_tags};
use crate::{Error, TagResourceInput};

impl Refuse for TagResourceInput {}

impl TagResourceInput {
    /// Checks that there are tags, that the ARN is a table's, and each tag.
    pub fn check(&self) -> Result<(), Error> {
        if self.tags.is_empty() {
            // The missing blank is DynamoDB's.
            return Err(Error::validation("Atleast one Tag needs to be provided as Input."));
        }
        check_table_arn(&self.resource_arn)?;
        check_tags(&self.tags)
    }
}
