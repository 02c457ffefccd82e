//! The name of a stream.

use crate::TableName;

/// A stream's ARN, taken apart: `arn:aws:dynamodb:region:account:table/Name/stream/label`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamArn<'a> {
    /// The stream's table, with its account and Region.
    pub table: TableName<'a>,
    /// What tells the streams of one table apart: the time at which the stream was enabled.
    pub label: &'a str,
}

impl<'a> StreamArn<'a> {
    /// Parses the ARN of a stream and nothing else.
    pub fn parse(text: &'a str) -> Option<StreamArn<'a>> {
        let (table, label) = text.split_once("/stream/")?;
        let table = TableName::parse_arn(table)?;
        (!label.is_empty()).then_some(StreamArn { table, label })
    }
}
