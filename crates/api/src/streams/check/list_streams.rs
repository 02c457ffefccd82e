use super::{check_limit, check_stream_arn};
use crate::Error;
use crate::streams::{ListStreamsInput, limits};
use crate::violation::Refuse;

impl Refuse for ListStreamsInput {}

impl ListStreamsInput {
    /// Checks the page's size and where it starts.
    pub fn check(&self) -> Result<(), Error> {
        check_limit(self.limit, limits::LIST_STREAMS_PAGE_MAX)?;
        self.exclusive_start_stream_arn.as_deref().map_or(Ok(()), check_stream_arn)
    }
}
