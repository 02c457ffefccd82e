//! Creates the table on a server.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::Connection;
use crate::data::TABLE;
use crate::request::encode;

/// Creates the table and waits until it can be written to.
pub async fn create<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    table: &Value,
) -> Result<()> {
    call(connection, "CreateTable", table).await?;
    for _ in 0..400 {
        if describe(connection).await?["TableStatus"] == "ACTIVE" {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    bail!("the table did not become ACTIVE within ten seconds")
}

pub async fn describe<S: AsyncRead + AsyncWrite + Unpin>(connection: &mut Connection<S>) -> Result<Value> {
    let mut reply = call(connection, "DescribeTable", &json!({"TableName": TABLE})).await?;
    Ok(reply["Table"].take())
}

/// One call, outside any measurement.
pub async fn call<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    operation: &str,
    input: &Value,
) -> Result<Value> {
    let (status, body) = connection.exchange(&encode(operation, input)).await?;
    ensure!(status == 200, "{operation}: {status} {}", String::from_utf8_lossy(body));
    Ok(serde_json::from_slice(body)?)
}
