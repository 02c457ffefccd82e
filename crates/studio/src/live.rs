//! The database of the server, for one account and Region: an operation's name and JSON in, JSON out. Proofs,
//! `apply` and the studio's pages all use it.

use std::sync::Arc;

use api::{Error, ErrorKind, Operation, Request, streams};
use engine::{Caller, Engine};
use http::StatusCode;
use proof::{Answer, Endpoint};
use serde_json::Value;

/// Operations that change nothing. Every operation that is not listed counts as a write.
const READS: [&str; 33] = [
    "BatchGetItem",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeEndpoints",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeLimits",
    "DescribeStream",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "GetItem",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "ListStreams",
    "ListTables",
    "ListTagsOfResource",
    "Query",
    "Scan",
    "SearchVectors",
    "TransactGetItems",
];

pub struct Live {
    pub engine: Arc<Engine>,
    pub caller: Caller,
}

impl Endpoint for Live {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(async move { self.call(operation, &body).await })
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

impl Live {
    /// An operation of DynamoDB or of DynamoDB Streams: no name is in both.
    pub async fn call(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Error> {
        let mut answer = Vec::new();
        if let Some(operation) = streams::Operation::from_target_name(operation) {
            let request = streams::Request::decode(operation, body)?;
            self.engine.call_streams(&self.caller, request).await?.write_json(&mut answer);
            return Ok(answer);
        }
        let operation = Operation::from_target_name(operation).ok_or_else(Error::operation_not_served)?;
        let response = self.engine.call(&self.caller, Request::decode(operation, body)?).await?;
        response.write_json(&mut answer);
        Ok(answer)
    }

    /// With documents in and out.
    pub async fn ask(&self, operation: &str, input: &Value) -> Result<Value, Error> {
        let answer = self.call(operation, input.to_string().as_bytes()).await?;
        serde_json::from_slice(&answer).map_err(|_| Error::internal())
    }
}

/// Whether a request writes: by its operation, and PartiQL by each of its statements. They are read as the engine
/// reads them, so that nothing can look like a read here and be run as a write.
pub fn writes(operation: &str, body: &[u8]) -> bool {
    if READS.contains(&operation) {
        return false;
    }
    let Some(operation) = Operation::from_target_name(operation) else { return true };
    match Request::decode(operation, body) {
        Ok(Request::ExecuteStatement(input)) => !is_select(&input.statement),
        Ok(Request::BatchExecuteStatement(input)) => {
            !input.statements.iter().all(|one| is_select(&one.statement))
        }
        Ok(Request::ExecuteTransaction(input)) => {
            !input.transact_statements.iter().all(|one| is_select(&one.statement))
        }
        _ => true,
    }
}

/// SELECT and EXISTS are the statements that only read.
fn is_select(statement: &str) -> bool {
    let word: String = statement.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    word.eq_ignore_ascii_case("SELECT") || word.eq_ignore_ascii_case("EXISTS")
}

/// Every error of the API is the client's, 400, but for the two that say it is not.
pub fn status(error: &Error) -> StatusCode {
    match error.kind {
        ErrorKind::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}
