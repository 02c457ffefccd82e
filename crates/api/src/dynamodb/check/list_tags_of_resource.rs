use super::Refuse;
use super::resource::check_table_arn;
use crate::{Error, ListTagsOfResourceInput};

impl Refuse for ListTagsOfResourceInput {}

impl ListTagsOfResourceInput {
    /// Checks that the ARN is a table's, and that there is no NextToken.
    pub fn check(&self) -> Result<(), Error> {
        check_table_arn(&self.resource_arn)?;
        // All tags of a table fit one answer, so Lodestone gives out no token.
        match self.next_token {
            Some(_) => Err(Error::validation("Invalid NextToken")),
            None => Ok(()),
        }
    }
}
