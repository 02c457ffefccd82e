//! `GET /`: whether the database takes writes, for load balancers and people.
//!
//! After a failure that made it refuse writes, say a full disk, the answer is a 503 with the reason and
//! what to do. The same is in the log, once, and in the errors of requests that fail for it.

use crate::dispatch::Backend;
use crate::reply::Reply;
use api::{Error, ErrorKind};
use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode};
use std::sync::atomic::{AtomicBool, Ordering};

const RESTART: &str = "Mend the cause, then restart Lodestone; acknowledged writes are safe";
const WAIT: &str = "Reads are served, and writes go on by themselves when the cause is gone";

/// Remembers whether the reason was logged.
#[derive(Debug, Default)]
pub(crate) struct Health {
    is_logged: AtomicBool,
}

impl Health {
    /// DynamoDB answers with the name that it was called by, and a space behind it.
    pub(crate) fn answer(&self, health: engine::Health, headers: &HeaderMap) -> Reply {
        match self.noted(health) {
            Ok(()) => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                let host = host.unwrap_or("dynamodb.us-east-1.amazonaws.com");
                Reply::text(StatusCode::OK, format!("healthy: {host} "))
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
