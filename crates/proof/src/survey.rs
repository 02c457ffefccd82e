//! Surveys an existing table: its description, and a sample of its items from all parts of it.
//!
//! The table is scanned in segments, one page of each in turn, so that the sample is not from one corner only;
//! and slowly, because the table's users come first. A long run of one kind of item (a player's
//! thousand matches) may hide other kinds, so these are searched for too: after each run of items whose keys
//! begin with the same word, the scan jumps to the next word.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use api::Error;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::apply::state::{State, observe};
use crate::endpoint::{Endpoint, ask};

const SEGMENTS_MAX: usize = 16;
/// How many items of each word are read in that search: enough to distinguish words from values.
const WORD_ITEMS: usize = 3;
/// At least this many items are read in that search.
const OTHERS_MIN: usize = 100;
/// Sorts after anything that can follow a word.
const HIGHEST: char = '\u{10FFFF}';
const LARGEST_NUMBER: &str = "9.9999999999999999999999999999999999999E+125";
/// Read units used per second: a thirtieth of what one partition sustains is seldom missed.
const UNITS_PER_SECOND: f64 = 100.0;

/// The table in the format `table-contents`, with at most this many items; `None` if there is no such
/// table. `tell` is called with the number of items read so far.
pub async fn survey(
    endpoint: &dyn Endpoint,
    table: &str,
    items_max: usize,
    tell: impl Fn(usize),
) -> Result<Option<Value>, Error> {
    let Some(state) = observe(endpoint, table).await? else { return Ok(None) };
    let mut document = described(state);
    let survey = Survey { endpoint, table, key: key_names(&document["Table"]), items_max };
    let (mut items, more) = survey.sample(&tell).await?;
    if more {
        document["LastEvaluatedKey"] = json!({});
        document["SampleSize"] = items.len().into();
        survey.look_for_others(&mut items, &tell).await?;
    }
    document["Items"] = items.into();
    Ok(Some(document))
}

/// What DescribeTable says of each table.
pub fn describe_tables<'a>(
    endpoint: &'a dyn Endpoint,
    tables_max: usize,
) -> BoxFuture<'a, Result<Vec<Value>, Error>> {
    Box::pin(async move {
        let mut tables = Vec::new();
        let mut start = Value::Null;
        while tables.len() < tables_max {
            let input = match start.is_null() {
                true => json!({}),
                false => json!({ "ExclusiveStartTableName": start }),
            };
            let page = ask(endpoint, "ListTables", &input).await?;
            for name in page["TableNames"].as_array().into_iter().flatten() {
                let mut described = ask(endpoint, "DescribeTable", &json!({ "TableName": name })).await?;
                tables.push(described["Table"].take());
            }
            start = page["LastEvaluatedTableName"].clone();
            if start.is_null() {
                break;
            }
        }
        Ok(tables)
    })
}

/// The partition key, and the sort key if there is one.
fn key_names(table: &Value) -> Vec<String> {
    let schema = table["KeySchema"].as_array().into_iter().flatten();
    schema.filter_map(|key| key["AttributeName"].as_str()).map(str::to_owned).collect()
}

/// The answers of the operations that describe a table, in one object.
fn described(state: State) -> Value {
    let mut document = json!({ "Table": state.table });
    if let Some(attribute) = state.ttl {
        document["TimeToLiveDescription"] =
            json!({ "TimeToLiveStatus": "ENABLED", "AttributeName": attribute });
    }
    if let Some(on) = state.pitr {
        let status = if on { "ENABLED" } else { "DISABLED" };
        document["ContinuousBackupsDescription"] =
            json!({ "PointInTimeRecoveryDescription": { "PointInTimeRecoveryStatus": status } });
    }
    let tag = |(key, value)| json!({ "Key": key, "Value": value });
    document["Tags"] = state.tags.into_iter().map(tag).collect();
    document
}

struct Survey<'a> {
    endpoint: &'a dyn Endpoint,
    table: &'a str,
    key: Vec<String>,
    items_max: usize,
}

impl Survey<'_> {
    /// Items, and whether there are more.
    async fn sample(&self, tell: &impl Fn(usize)) -> Result<(Vec<Value>, bool), Error> {
        let mut open = self.scans();
        let mut items = Vec::new();
        // Each answer has an item or ends a segment, so the loop ends.
        while items.len() < self.items_max {
            let share = (self.items_max - items.len()).div_ceil(open.len().max(1));
            let Some(page) = self.page(&mut open, share, Value::clone).await? else { break };
            items.extend(page);
            tell(items.len());
        }
        Ok((items, !open.is_empty()))
    }

    /// Adds items of other words: a quarter as many as there are, and somewhat more in a small sample.
    async fn look_for_others(&self, items: &mut Vec<Value>, tell: &impl Fn(usize)) -> Result<(), Error> {
        let mut known: BTreeSet<String> = items.iter().map(|item| self.place(item)).collect();
        let mut open = self.scans();
        let mut looked_at = 0;
        while looked_at < (self.items_max / 4).max(OTHERS_MIN) {
            let onwards = |key: &Value| past_word(key, self.key.get(1));
            let Some(page) = self.page(&mut open, WORD_ITEMS, onwards).await? else { break };
            looked_at += page.len().max(1);
            items.extend(page.into_iter().filter(|item| known.insert(self.place(item))));
            tell(self.items_max);
        }
        Ok(())
    }

    /// An item's key, as text.
    fn place(&self, item: &Value) -> String {
        self.key.iter().map(|name| item[name].to_string()).collect()
    }

    /// The request for each segment.
    fn scans(&self) -> VecDeque<Value> {
        let segments = self.items_max.clamp(1, SEGMENTS_MAX);
        let scan = |segment| {
            json!({
                "TableName": self.table, "Segment": segment, "TotalSegments": segments,
                "ReturnConsumedCapacity": "TOTAL",
            })
        };
        (0..segments).map(scan).collect()
    }

    /// The next page of the segment whose turn it is, with at most this many items; `None` if all segments have
    /// ended. `onwards` maps the key at which the segment stopped to the one where it continues.
    async fn page(
        &self,
        open: &mut VecDeque<Value>,
        limit: usize,
        onwards: impl Fn(&Value) -> Value,
    ) -> Result<Option<Vec<Value>>, Error> {
        let Some(mut scan) = open.pop_front() else { return Ok(None) };
        scan["Limit"] = limit.into();
        let mut answer = ask(self.endpoint, "Scan", &scan).await?;
        if let Some(key) = answer.get("LastEvaluatedKey").filter(|key| !key.is_null()) {
            scan["ExclusiveStartKey"] = onwards(key);
            open.push_back(scan);
            let units = answer["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap_or(0.0);
            tokio::time::sleep(Duration::from_secs_f64(units / UNITS_PER_SECOND)).await;
        }
        Ok(Some(match answer["Items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }))
    }
}

/// The key after all that begin with the same word: `ORDER#2026…` -> `ORDER#` and the highest character.
/// Numbers have no words: the next key is in another partition.
fn past_word(key: &Value, sort: Option<&String>) -> Value {
    let mut past = key.clone();
    let Some(sort) = sort else { return past };
    if let Some((word, _)) = key[sort]["S"].as_str().and_then(|text| text.split_once('#')) {
        past[sort] = json!({ "S": format!("{word}#{HIGHEST}") });
    } else if key[sort]["N"].is_string() {
        past[sort] = json!({ "N": LARGEST_NUMBER });
    }
    past
}
