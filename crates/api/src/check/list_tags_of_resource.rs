use super::Refuse;
use super::resource::check_table_arn;
use crate::{Error, ListTagsOfResourceInput};

impl Refuse for ListTagsOfResourceInput {}

impl ListTagsOfResourceInput {
    pub fn check(&self) -> Result<(), Error> {
        check_table_arn(&self.resource_arn)?;
        // All the tags that a table can have fit one answer, so no token was ever given out.
        match self.next_token {
            Some(_) => Err(Error::validation("Invalid NextToken")),
            None => Ok(()),
        }
    }
}
