use super::check_stream_arn;
use crate::Error;
use crate::streams::{GetShardIteratorInput, ShardIteratorType};
use crate::violation::Refuse;

impl Refuse for GetShardIteratorInput {}

impl GetShardIteratorInput {
    /// Checks the ARN, and that the request says where to start in the way that its type asks for.
    pub fn check(&self) -> Result<(), Error> {
        check_stream_arn(&self.stream_arn)?;
        let (by_number, by_time) = match self.shard_iterator_type {
            ShardIteratorType::AtSequenceNumber | ShardIteratorType::AfterSequenceNumber => (true, false),
            ShardIteratorType::AtTimestamp => (false, true),
            ShardIteratorType::TrimHorizon | ShardIteratorType::Latest => (false, false),
        };
        self.check_start("SequenceNumber", self.sequence_number.is_some(), by_number)?;
        self.check_start("Timestamp", self.timestamp.is_some(), by_time)?;
        match &self.sequence_number {
            Some(number) if !number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(Error::invalid_parameter(format_args!("SequenceNumber is not a number: {number}")))
            }
            _ => Ok(()),
        }
    }

    /// The service refuses both cases as a ValidationException; the words are ours.
    fn check_start(&self, member: &str, present: bool, needed: bool) -> Result<(), Error> {
        let kind = self.shard_iterator_type.as_str();
        match (present, needed) {
            (false, true) => Err(Error::invalid_parameter(format_args!(
                "{member} must be specified when ShardIteratorType is {kind}"
            ))),
            (true, false) => Err(Error::invalid_parameter(format_args!(
                "{member} must not be specified when ShardIteratorType is {kind}"
            ))),
            _ => Ok(()),
        }
    }
}
