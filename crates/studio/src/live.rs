//! The database of the server, or of a connection, for one account and Region: an operation's name and JSON in, JSON out. Proofs,
//! `apply` and the studio's pages all use it.

use std::sync::Arc;

use api::{Error, ErrorKind, Operation, Request, streams};
use engine::{Caller, DryRun, Engine, Kind};
use http::StatusCode;
use proof::{Answer, Endpoint};
use serde_json::Value;

use crate::door::Fault;

pub struct Live {
    pub engine: Arc<Engine>,
    pub caller: Caller,
    /// The database of a connection, which answers instead of the engine.
    pub remote: Option<Arc<dyn Endpoint>>,
    /// Why nothing may be written, if so.
    pub read_only: Option<&'static str>,
}

impl Endpoint for Live {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(async move { self.call(operation, &body).await })
    }

    fn is_immediate(&self) -> bool {
        self.remote.as_ref().is_none_or(|remote| remote.is_immediate())
    }
}

/// A write that is refused, and why.
pub fn read_only(what: &str, why: &str) -> Fault {
    Fault::new(StatusCode::FORBIDDEN, format!("This studio is read-only, so {what} is refused: {why}."))
}

impl Live {
    /// Refuses if nothing may be written.
    pub fn refuse_writes(&self, what: &str) -> Result<(), Fault> {
        self.read_only.map_or(Ok(()), |why| Err(read_only(what, why)))
    }

    /// An anonymous caller of this server, for what the studio itself looks up.
    pub fn of_server(engine: Arc<Engine>, caller: Caller) -> Live {
        Live { engine, caller, remote: None, read_only: None }
    }

    /// An operation of DynamoDB or of DynamoDB Streams: no name is in both.
    pub async fn call(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Error> {
        if let Some(remote) = &self.remote {
            return remote.send(operation, body.to_vec()).await;
        }
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

    /// What a write would do and cost. Other databases can't say it: then there is none.
    pub async fn dry_run(&self, operation: &str, input: &Value) -> Result<Option<DryRun>, Error> {
        if self.remote.is_some() {
            return Ok(None);
        }
        let operation = Operation::from_target_name(operation).ok_or_else(Error::operation_not_served)?;
        let request = Request::decode(operation, input.to_string().as_bytes())?;
        self.engine.dry_run(&self.caller, &request).await.map(Some)
    }

    /// With documents in and out.
    pub async fn ask(&self, operation: &str, input: &Value) -> Result<Value, Error> {
        let answer = self.call(operation, input.to_string().as_bytes()).await?;
        serde_json::from_slice(&answer).map_err(|_| Error::internal())
    }
}

/// Whether a request writes. The engine decides, so that nothing can look like a read here and be run as a write. A request
/// that can't be read counts as a write, unless its operation only reads.
pub fn writes(operation: &str, body: &[u8]) -> bool {
    if let Some(operation) = streams::Operation::from_target_name(operation) {
        return engine::streams::kind(operation) == Kind::Write;
    }
    let Some(operation) = Operation::from_target_name(operation) else { return true };
    if engine::dynamodb::kind(operation) == Kind::Read {
        return false;
    }
    Request::decode(operation, body).map_or(true, |request| engine::dynamodb::writes(&request))
}

/// Every error of the API is the client's, 400, but for the two that say it is not.
pub fn status(error: &Error) -> StatusCode {
    match error.kind {
        ErrorKind::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}
