use super::{Refuse, refuse_table_request};
use crate::violation::Violations;
use crate::{DeleteTableInput, Error};

impl Refuse for DeleteTableInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_table_request(violations)
    }
}

impl DeleteTableInput {
    /// Nothing is left to check: decoding has checked the name.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
