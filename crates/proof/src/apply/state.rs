//! The current state of a table: the answers of the operations that describe it.

use std::collections::BTreeMap;

use api::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, ask};

#[derive(Clone, Debug, Default)]
pub struct State {
    /// The answer of DescribeTable.
    pub table: Value,
    /// The attribute by which items expire.
    pub ttl: Option<String>,
    /// Whether point-in-time recovery is on; `None` if the database does not say.
    pub pitr: Option<bool>,
    pub tags: BTreeMap<String, String>,
}

/// The most pages of tags: a table has at most 50 tags.
const TAG_PAGES_MAX: usize = 10;

/// `None` if there is no such table.
pub async fn observe(endpoint: &dyn Endpoint, table: &str) -> Result<Option<State>, Error> {
    let Some(description) = describe(endpoint, table).await? else { return Ok(None) };
    Ok(Some(State {
        ttl: ttl(endpoint, table).await?,
        pitr: pitr(endpoint, table).await?,
        tags: tags(endpoint, &description["TableArn"]).await?,
        table: description,
    }))
}

/// The answer of DescribeTable; `None` if there is no such table.
pub async fn describe(endpoint: &dyn Endpoint, table: &str) -> Result<Option<Value>, Error> {
    match ask(endpoint, "DescribeTable", &json!({ "TableName": table })).await {
        Ok(mut answer) => Ok(Some(answer["Table"].take())),
        Err(error) if error.kind == ErrorKind::ResourceNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The answer of an operation that not every database has.
async fn perhaps(endpoint: &dyn Endpoint, operation: &str, input: &Value) -> Result<Value, Error> {
    match ask(endpoint, operation, input).await {
        Err(error) if error.kind == ErrorKind::UnknownOperation => Ok(Value::Null),
        answer => answer,
    }
}

async fn ttl(endpoint: &dyn Endpoint, table: &str) -> Result<Option<String>, Error> {
    let answer = perhaps(endpoint, "DescribeTimeToLive", &json!({ "TableName": table })).await?;
    let described = &answer["TimeToLiveDescription"];
    let is_on = matches!(described["TimeToLiveStatus"].as_str(), Some("ENABLED" | "ENABLING"));
    Ok(described["AttributeName"].as_str().filter(|_| is_on).map(str::to_owned))
}

async fn pitr(endpoint: &dyn Endpoint, table: &str) -> Result<Option<bool>, Error> {
    let answer = perhaps(endpoint, "DescribeContinuousBackups", &json!({ "TableName": table })).await?;
    let backups = &answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    Ok(backups["PointInTimeRecoveryStatus"].as_str().map(|status| status == "ENABLED"))
}

async fn tags(endpoint: &dyn Endpoint, arn: &Value) -> Result<BTreeMap<String, String>, Error> {
    let mut tags = BTreeMap::new();
    let mut input = json!({ "ResourceArn": arn });
    for _ in 0..TAG_PAGES_MAX {
        let answer = perhaps(endpoint, "ListTagsOfResource", &input).await?;
        for tag in answer["Tags"].as_array().into_iter().flatten() {
            if let (Some(key), Some(value)) = (tag["Key"].as_str(), tag["Value"].as_str()) {
                tags.insert(key.to_owned(), value.to_owned());
            }
        }
        match answer.get("NextToken") {
            Some(token) if !token.is_null() => input["NextToken"] = token.clone(),
            _ => break,
        }
    }
    Ok(tags)
}
