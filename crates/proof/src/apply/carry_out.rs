//! Makes one change: sends the request and waits until the table is active again.

use std::time::Duration;

use api::{Error, ErrorKind};
use serde_json::Value;

use super::change::TableChange;
use super::state::describe;
use crate::endpoint::{Endpoint, ask};

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The database has no such operation.
    NotServed,
    /// The database accepted the request, but the table's description does not show it.
    NotKept,
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often a table is described, nearly always five seconds apart: a day, for the largest index.
const LOOKS_MAX: usize = 17_280;

/// While it waits, `tell` is called with the current status.
pub async fn carry_out(
    endpoint: &dyn Endpoint,
    change: &TableChange,
    tell: impl Fn(&str),
) -> Result<Outcome, Error> {
    match ask(endpoint, change.operation, &change.input).await {
        Ok(_) => {}
        Err(error) if error.kind == ErrorKind::UnknownOperation => return Ok(Outcome::NotServed),
        Err(error) => return Err(error),
    }
    if let Some(table) = change.input["TableName"].as_str() {
        wait_until_active(endpoint, table, tell).await?;
    }
    Ok(Outcome::Done)
}

/// Waits until the table, all of its indexes and replicas can be used, and changed again.
pub async fn wait_until_active(
    endpoint: &dyn Endpoint,
    table: &str,
    tell: impl Fn(&str),
) -> Result<(), Error> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..LOOKS_MAX {
        // A new table may not be visible at once.
        let seen = describe(endpoint, table).await?;
        match seen.as_ref().map_or(Some("CREATING".to_owned()), unsettled) {
            None => return Ok(()),
            Some(status) => tell(&status),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Err(Error::new(ErrorKind::ResourceInUse, format!("{table} has not become active within a day")))
}

/// What is still in progress: `UPDATING`, `GSI2 CREATING, filled from the table`.
fn unsettled(table: &Value) -> Option<String> {
    let indexes = table["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    let busy = indexes.filter(|index| !is_active(&index["IndexStatus"])).map(|index| {
        let filled = if index["Backfilling"] == true { ", filled from the table" } else { "" };
        format!("{} {}{filled}", text(&index["IndexName"]), text(&index["IndexStatus"]))
    });
    let replicas = table["Replicas"].as_array().into_iter().flatten();
    let busy = busy.chain(
        replicas
            .filter(|replica| !is_active(&replica["ReplicaStatus"]))
            .map(|replica| format!("{} {}", text(&replica["RegionName"]), text(&replica["ReplicaStatus"]))),
    );
    busy.chain((!is_active(&table["TableStatus"])).then(|| text(&table["TableStatus"]).to_owned())).next()
}

fn is_active(status: &Value) -> bool {
    matches!(status.as_str(), None | Some("ACTIVE"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
