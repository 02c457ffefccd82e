use super::{Refuse, refuse_table_request};
use crate::violation::Violations;
use crate::{DescribeTableInput, Error};

impl Refuse for DescribeTableInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_table_request(violations)
    }
}

impl DescribeTableInput {
    /// Nothing is left to check: decoding has checked the name.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
