//! Rules for requests that need no stream, one file an operation.

mod describe_stream;
mod get_records;
mod get_shard_iterator;
mod list_streams;

use super::StreamArn;
use crate::Error;
use crate::violation::{Constraint, Violation};

/// The service takes fewer than the facts allow.
fn check_limit(limit: Option<i32>, max: usize) -> Result<(), Error> {
    match limit {
        Some(limit) if limit > max as i32 => {
            let violation = Violation::of_value("limit", limit, Constraint::ValueMax(max as i64));
            Err(Error::violations([violation.to_string()].into_iter()))
        }
        _ => Ok(()),
    }
}

fn check_stream_arn(arn: &str) -> Result<(), Error> {
    match StreamArn::parse(arn) {
        Some(_) => Ok(()),
        None => Err(Error::stream_arn_invalid(arn)),
    }
}
