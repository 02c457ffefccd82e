//! The audit log: who did what to which table, one line of JSON a request.
//!
//! ```json
//! {"time":"2026-11-17T04:00:00.123Z","id":"0HK…","from":"10.0.0.7","tls":true,"account":"000000000000",
//!  "region":"us-east-1","principal":"AKIDEXAMPLE","service":"dynamodb","operation":"PutItem",
//!  "tables":["Songs"],"outcome":"ok","us":412}
//! ```
//!
//! A line is made when its request is answered, whether it succeeded or not. It holds names alone: tables, callers,
//! operations, error names. With [`Audit::with_bodies`] it also holds the request's body, and how many items a Query or
//! Scan returned, from which `lodestone model learn` learns. The lines are written by a thread of their own ([`log`]), so
//! that a slow disk does not slow requests down.

mod log;
mod subject;

pub use log::{AuditFile, AuditLog};

use crate::peer::Peer;
use api::{Error, ErrorKind, Service};
use bytes::Bytes;
use engine::{Caller, Principal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Bodies above this size are left out of the log.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Whether and how requests are recorded.
#[derive(Clone, Debug)]
pub struct Audit {
    log: Arc<AuditLog>,
    with_bodies: bool,
    is_required: bool,
}

impl Audit {
    pub fn new(log: Arc<AuditLog>) -> Audit {
        Audit { log, with_bodies: false, is_required: false }
    }

    /// Records the bodies of requests too, and with them keys and items.
    pub fn with_bodies(self, with_bodies: bool) -> Audit {
        Audit { with_bodies, ..self }
    }

    /// Refuses requests while they can't be recorded.
    pub fn required(self, is_required: bool) -> Audit {
        Audit { is_required, ..self }
    }

    /// Lines that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.log.lost()
    }

    /// Refuses requests while they must be recorded and can't be.
    pub fn check(&self) -> Result<(), Error> {
        if !self.is_required || self.log.is_writing() {
            return Ok(());
        }
        let message = "The audit log can't be written, and no request is served without it.";
        Err(Error::new(ErrorKind::ServiceUnavailable, message))
    }

    /// Records a request that was answered on another port.
    pub fn record(&self, answered: Answered<'_>) {
        let now = Instant::now();
        drop(Record {
            audit: self.clone(),
            id: answered.id,
            outcome: answered.outcome.to_owned(),
            began: now.checked_sub(answered.took).unwrap_or(now),
            from: answered.from,
            tls: answered.is_encrypted,
            caller: answered.caller.cloned(),
            service: answered.service,
            operation: answered.operation.to_owned(),
            tables: answered.tables.to_vec(),
            body: None,
            items: None,
        });
    }

    /// Begins to record a request, unless it must be recorded and can't be.
    pub(crate) fn begin(
        &self,
        peer: &Peer,
        request_id: &[u8],
        service: &'static str,
        operation: String,
        body: &Bytes,
    ) -> Result<Record, Error> {
        self.check()?;
        Ok(Record {
            id: String::from_utf8_lossy(request_id).into_owned(),
            outcome: "cut off".to_owned(),
            began: Instant::now(),
            from: peer.ip,
            tls: peer.is_secure,
            caller: None,
            service,
            operation,
            tables: subject::tables(body),
            body: (self.with_bodies && body.len() <= BODY_BYTES_MAX).then(|| body.clone()),
            items: None,
            audit: self.clone(),
        })
    }
}

/// A request that was answered, for [`Audit::record`].
pub struct Answered<'a> {
    pub id: String,
    pub from: IpAddr,
    pub is_encrypted: bool,
    /// None if the sender could not be identified.
    pub caller: Option<&'a Caller>,
    pub service: &'static str,
    pub operation: &'a str,
    pub tables: &'a [String],
    /// `ok`, or the name of an error.
    pub outcome: &'a str,
    pub took: Duration,
}

/// A request that is being served. Its line is written when this is dropped: a client that goes away before it is
/// answered may have changed something all the same.
#[derive(Debug)]
pub(crate) struct Record {
    audit: Audit,
    id: String,
    outcome: String,
    began: Instant,
    from: IpAddr,
    tls: bool,
    caller: Option<Caller>,
    service: &'static str,
    operation: String,
    tables: Vec<String>,
    body: Option<Bytes>,
    items: Option<u64>,
}

/// What is read of an answer.
#[derive(Deserialize)]
struct Counted {
    #[serde(rename = "Count")]
    count: Option<u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    id: &'a str,
    from: IpAddr,
    tls: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    service: &'a str,
    operation: &'a str,
    tables: &'a [String],
    outcome: &'a str,
    us: u64,
    /// How many items came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
}

impl Record {
    /// The signature is in order: it is this caller.
    pub(crate) fn note_caller(&mut self, caller: &Caller) {
        self.caller = Some(caller.clone());
    }

    /// How many items a Query or Scan returned, where bodies are recorded.
    pub(crate) fn note_answer(&mut self, answer: &[u8]) {
        if self.body.is_some() && matches!(self.operation.as_str(), "Query" | "Scan") {
            let counted = serde_json::from_slice::<Counted>(answer);
            self.items = counted.ok().and_then(|counted| counted.count);
        }
    }

    /// The request is answered: `ok`, or the name of its error.
    pub(crate) fn end(mut self, outcome: &str) {
        self.outcome = outcome.to_owned();
    }

    fn line(&self) -> Line<'_> {
        let namespace = self.caller.as_ref().map(|caller| &caller.namespace);
        Line {
            time: timestamp(),
            id: &self.id,
            from: self.from,
            tls: self.tls,
            account: namespace.map(|namespace| &*namespace.account),
            region: namespace.map(|namespace| &*namespace.region),
            principal: self.caller.as_ref().and_then(|caller| name(&caller.principal)),
            service: self.service,
            operation: &self.operation,
            tables: &self.tables,
            outcome: &self.outcome,
            us: self.began.elapsed().as_micros() as u64,
            items: self.items,
            // A body that is not JSON was refused, so it is left out.
            body: self.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()),
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Ok(mut text) = serde_json::to_vec(&self.line()) {
            text.push(b'\n');
            self.audit.log.write(text);
        }
    }
}

fn name(principal: &Principal) -> Option<&str> {
    match principal {
        Principal::Anonymous => None,
        Principal::AccessKey(id) => Some(id),
        Principal::Verified(verified) => Some(&verified.identity.arn),
    }
}

/// What the log calls a service.
pub(crate) fn service_name(service: Option<Service>) -> &'static str {
    service.map_or("unknown", Service::signing_name)
}

#[allow(clippy::disallowed_methods, reason = "the log says when something really happened")]
fn timestamp() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
