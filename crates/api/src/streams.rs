//! DynamoDB Streams: the change records of tables.

mod check;
mod error;
mod generated;
pub mod limits;
mod stream_arn;

pub use generated::*;
pub use stream_arn::StreamArn;
