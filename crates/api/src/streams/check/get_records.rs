use super::check_limit;
use crate::Error;
use crate::streams::{GetRecordsInput, limits};
use crate::violation::Refuse;

impl Refuse for GetRecordsInput {}

impl GetRecordsInput {
    /// Checks the page's size. Whether the iterator is one of ours is the engine's to check.
    pub fn check(&self) -> Result<(), Error> {
        check_limit(self.limit, limits::GET_RECORDS_PAGE_MAX)
    }
}
