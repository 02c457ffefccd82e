//! The protocols that contenders speak: DynamoDB's JSON over HTTP, PostgreSQL's, Redis'.
//!
//! Each prepares the requests of a workload as bytes, finds where a reply ends, and knows a correct one. The load
//! generator does nothing else, so that it costs the same for all of them: no client library is measured.

mod postgres;
mod redis;

use std::io::{Error, ErrorKind, Result};

use anyhow::ensure;

use crate::data::Data;
use crate::workload::Workload;

/// More headers than any reply has; a reply with more is refused.
pub const HEADERS_MAX: usize = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    DynamoDb,
    /// Prepared statements, and one transaction for each request.
    Postgres,
    Redis,
}

/// Where the parts of a reply are in the buffer.
pub struct Frame {
    /// As in HTTP: 200, or something else if the request failed.
    pub status: u16,
    pub body_start: usize,
    /// The rest of it may still be on its way.
    pub body_length: usize,
}

impl Protocol {
    /// What a new connection sends first; each is answered.
    pub fn greeting(self) -> Vec<Vec<u8>> {
        match self {
            Protocol::DynamoDb | Protocol::Redis => Vec::new(),
            Protocol::Postgres => vec![postgres::startup()],
        }
    }

    /// What a connection sends before its first request, once the tables are there; each is answered.
    pub fn preparation(self) -> Vec<Vec<u8>> {
        match self {
            Protocol::DynamoDb | Protocol::Redis => Vec::new(),
            Protocol::Postgres => vec![postgres::preparation()],
        }
    }

    /// What makes the table and its index; each is answered. DynamoDB's takes more: see `table`.
    pub fn creation(self) -> Vec<Vec<u8>> {
        match self {
            Protocol::DynamoDb | Protocol::Redis => Vec::new(),
            Protocol::Postgres => vec![postgres::creation()],
        }
    }

    /// A request of a workload; `None` for what has no counterpart.
    pub fn request(self, workload: Workload, data: Data, place: u64) -> Option<Vec<u8>> {
        match self {
            Protocol::DynamoDb => Some(workload.request(data, place)),
            Protocol::Postgres => postgres::request(workload, data, place),
            Protocol::Redis => redis::request(workload, data, place),
        }
    }

    pub fn has(self, workload: Workload) -> bool {
        self.request(workload, Data::new(1), 0).is_some()
    }

    /// `None` while too little of a reply has arrived to know where it ends.
    pub fn frame(self, bytes: &[u8]) -> Result<Option<Frame>> {
        match self {
            Protocol::DynamoDb => http_frame(bytes),
            Protocol::Postgres => Ok(postgres::frame(bytes)),
            Protocol::Redis => redis::frame(bytes),
        }
    }

    /// Whether a reply is correct.
    pub fn check(self, workload: Workload, status: u16, body: &[u8]) -> anyhow::Result<()> {
        let said = || String::from_utf8_lossy(body);
        let items = match self {
            Protocol::DynamoDb => return workload.check(status, body),
            Protocol::Postgres => postgres::items(body),
            Protocol::Redis => redis::items(body),
        };
        ensure!(status == 200, "{status}: {}", said());
        let expected = workload.items_read();
        ensure!(expected.is_none_or(|expected| items == expected), "{items} items: {}", said());
        Ok(())
    }
}

fn http_frame(bytes: &[u8]) -> Result<Option<Frame>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body_start) = response.parse(bytes).map_err(malformed)? else {
        return Ok(None);
    };
    let body_length = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok())
        .ok_or_else(|| malformed("a reply without a Content-Length"))?;
    Ok(Some(Frame { status: response.code.unwrap_or(0), body_start, body_length }))
}

pub fn malformed(reason: impl ToString) -> Error {
    Error::new(ErrorKind::InvalidData, reason.to_string())
}
