//! A server that campaigns start, call and kill, on the embedded store or on PostgreSQL.
//!
//! Its clock can be set ahead (by libfaketime, from outside), so that a campaign of minutes sees records become older
//! than a day, shards close and logs trimmed.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ::bench::connection::Connection;
use ::bench::request::encode_for;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::command;
use crate::evidence::Scratch;
use crate::tools;
use crate::wait;

/// How the server is started.
pub struct Victim {
    binary: PathBuf,
    scratch: Scratch,
    storage: Vec<String>,
    options: Vec<String>,
    /// How far its clock is ahead of ours.
    pub ahead_s: u64,
}

impl Victim {
    /// Of the campaign with this name, on an empty database of PostgreSQL, if there is its URL, or on the embedded store.
    pub fn new(
        campaign: &str,
        binary: Option<&PathBuf>,
        postgres: Option<&str>,
        options: &[&str],
    ) -> Result<Victim> {
        tools::faketime()?;
        let binary = command::lodestone(binary)?;
        let scratch = Scratch::new(campaign)?;
        let storage = match postgres {
            Some(url) => vec!["--postgres".to_owned(), url.to_owned()],
            None => vec!["--data".to_owned(), scratch.path().join("data").display().to_string()],
        };
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Ok(Victim { binary, scratch, storage, options, ahead_s: 0 })
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }

    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Takes note of something for the case that the campaign fails.
    pub fn note(&self, name: &str, text: impl std::fmt::Display) {
        self.scratch.note(name, text);
    }

    /// The data and the server's log are not needed any more.
    pub fn passed(self) {
        self.scratch.passed();
    }

    pub async fn start(&self) -> Result<Server> {
        self.leap(0)?;
        let log = OpenOptions::new().create(true).append(true).open(self.folder().join("server.log"))?;
        let clock = [
            format!("LD_PRELOAD={}", tools::FAKETIME),
            format!("FAKETIME_TIMESTAMP_FILE={}", self.clock_file().display()),
            "FAKETIME_CACHE_DURATION=1".to_owned(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
            self.binary.display().to_string(),
        ];
        let serve = ["serve", "--host", "127.0.0.1", "--port", "0"].map(str::to_owned);
        let arguments = clock.iter().chain(&serve).chain(&self.storage).chain(&self.options);
        Server::start(Path::new("/usr/bin/env"), arguments, log.into()).await
    }

    /// Sets the clock of the server that runs ahead of the right time, which the server sees within a second.
    pub fn leap(&self, by_s: u64) -> Result<()> {
        // A server that reads the file while it is written must see a whole offset.
        let new = self.clock_file().with_extension("new");
        std::fs::write(&new, format!("+{}s\n", self.ahead_s + by_s))?;
        Ok(std::fs::rename(new, self.clock_file())?)
    }

    fn clock_file(&self) -> PathBuf {
        self.folder().join("clock")
    }

    /// What the server's clock shows, in microseconds.
    pub fn now_us(&self) -> u64 {
        now_us(self.ahead_s)
    }
}

/// What a clock shows that is so far ahead of ours, in microseconds.
#[allow(clippy::disallowed_methods, reason = "the server under test has the same clock")]
pub fn now_us(ahead_s: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64 + ahead_s * 1_000_000
}

/// Sends a request to DynamoDB that must succeed.
pub async fn call(connection: &mut Connection, operation: &str, body: &Value) -> Result<Value> {
    call_service(connection, "DynamoDB_20120810", operation, body).await
}

/// Sends a request to DynamoDB Streams that must succeed.
pub async fn call_streams(connection: &mut Connection, operation: &str, body: &Value) -> Result<Value> {
    call_service(connection, "DynamoDBStreams_20120810", operation, body).await
}

async fn call_service(
    connection: &mut Connection,
    service: &str,
    operation: &str,
    body: &Value,
) -> Result<Value> {
    let request = encode_for(service, operation, body);
    let (status, reply) = connection.exchange(&request).await.context(operation.to_owned())?;
    ensure!(status == 200, "{operation}: {status} {}", String::from_utf8_lossy(reply));
    Ok(serde_json::from_slice(reply)?)
}

/// Waits until a table is ACTIVE.
pub async fn until_active(connection: &mut Connection, table: &str) -> Result<()> {
    wait::until(&format!("{table} is ACTIVE"), async || {
        let shown = call(connection, "DescribeTable", &json!({"TableName": table})).await?;
        Ok(shown["Table"]["TableStatus"] == "ACTIVE")
    })
    .await
}

/// All items of a table or index.
pub async fn scan(connection: &mut Connection, table: &str, index: Option<&str>) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    let visit = |page: &[Value]| {
        items.extend_from_slice(page);
        Ok(())
    };
    scan_pages(connection, table, index, visit).await?;
    Ok(items)
}

/// Visits the items of a table or index, page by page.
pub async fn scan_pages(
    connection: &mut Connection,
    table: &str,
    index: Option<&str>,
    mut visit: impl FnMut(&[Value]) -> Result<()>,
) -> Result<()> {
    let mut request = json!({"TableName": table});
    match index {
        Some(index) => request["IndexName"] = json!(index),
        None => request["ConsistentRead"] = json!(true),
    }
    loop {
        let page = call(connection, "Scan", &request).await?;
        visit(page["Items"].as_array().context("a page has items")?)?;
        match page.get("LastEvaluatedKey") {
            Some(key) => request["ExclusiveStartKey"] = key.clone(),
            None => return Ok(()),
        }
    }
}
