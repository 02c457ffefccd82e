use super::{Refuse, refuse_table_request};
use crate::violation::Violations;
use crate::{DescribeTableInput, Error};

impl Refuse for DescribeTableInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_table_request(violations)
    }
}

impl DescribeTableInput {
    /// The name is all there is, and it is already checked.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
