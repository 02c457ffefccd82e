//! `GET /`: whether the database takes writes, for load balancers and people.
//!
//! After a failure that made it refuse writes, say a full disk, the answer is a 503 with the reason and
//! what to do. The same is in the log, once, and in the errors of requests that fail for it.
//!
//! A second line says what is wrong with the clock, if anything is: the database goes on, and works correctly.

use crate::dispatch::Backend;
use crate::reply::Reply;
use api::{Error, ErrorKind};
use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode};
use std::sync::atomic::{AtomicBool, Ordering};

const RESTART: &str = "Mend the cause, then restart Lodestone; acknowledged writes are safe";
const WAIT: &str = "Reads are served, and writes go on by themselves when the cause is gone";

/// Remembers whether the reason was logged.
#[derive(Debug)]
pub(crate) struct Health {
    is_logged: AtomicBool,
    is_of_local: bool,
}

/// DynamoDB Local has no page at its root: it refuses a request without signature, and health checks wait for that.
const ANSWER_OF_LOCAL: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#MissingAuthenticationToken","Message":"Request must contain either a valid (registered) AWS access key ID or X.509 certificate."}"#;

impl Health {
    /// With DynamoDB's answer, or with that of DynamoDB Local.
    pub(crate) fn new(is_of_local: bool) -> Health {
        Health { is_logged: AtomicBool::new(false), is_of_local }
    }

    /// DynamoDB answers with the name that it was called by, and a space behind it.
    pub(crate) fn answer(&self, backend: &impl Backend, headers: &HeaderMap) -> Reply {
        match self.noted(backend.health()) {
            Ok(()) if self.is_of_local => Reply::text(StatusCode::BAD_REQUEST, ANSWER_OF_LOCAL.to_owned()),
            Ok(()) => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                let host = host.unwrap_or("dynamodb.us-east-1.amazonaws.com");
                let clock = backend.clock_notice().map(|notice| format!("\nclock: {notice}\n"));
                Reply::text(StatusCode::OK, format!("healthy: {host} {}", clock.unwrap_or_default()))
            }
            Err(reason) => Reply::text(StatusCode::SERVICE_UNAVAILABLE, format!("unhealthy: {reason}\n")),
        }
    }

    /// Gives an internal error the reason why the database refuses writes, if it does.
    pub(crate) fn explain(&self, error: Error, backend: &impl Backend) -> Error {
        if error.kind != ErrorKind::InternalServerError {
            return error;
        }
        match self.noted(backend.health()) {
            Ok(()) => error,
            Err(reason) => {
                let message = format!("{}: {reason}", Error::internal().message);
                Error::new(error.kind, message)
            }
        }
    }

    /// The reason and the way out, if there is one. The first to see it logs it.
    fn noted(&self, health: engine::Health) -> Result<(), String> {
        let refusal = match health {
            engine::Health::Healthy => {
                self.is_logged.store(false, Ordering::Relaxed);
                return Ok(());
            }
            engine::Health::Stalled(reason) => format!("{reason}. {WAIT}"),
            engine::Health::Unhealthy(reason) => format!("{reason}. {RESTART}"),
        };
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::error!("THE DATABASE REFUSES WRITES: {refusal}");
        }
        Err(refusal)
    }
}
