//! Sends the request that the file itself has for a pattern: DynamoDB must accept it, it must find only items that
//! the pattern asks for, and drop none of them. If rows are expected, it must find those. What a write leaves behind
//! is compared in `literal_write.rs`.

use std::collections::BTreeMap;

use api::{Error, ErrorKind, Request};
use item::Item;
use model::Model;
use model::model::{Pattern, Read};
use model::plan::Plan;
use model::predict::item::Values;
use model::request::literal;
use model::sample::{SampleItem, key_of, rows};

use crate::certificate::Finding;
use crate::database::{Database, values};
use crate::expectation;
use crate::fault::Fault;
use crate::literal_write;
use crate::trial::name_of;

/// The parts of an answer that are checked.
#[derive(Default)]
pub struct Found {
    items: Vec<Item>,
    /// Items that a filter dropped.
    dropped: u64,
    more: bool,
}

pub async fn findings(model: &Model, pattern: &Pattern, plan: &Plan, data: &[SampleItem]) -> Vec<Finding> {
    let Some(request) = literal::request(pattern, plan) else { return Vec::new() };
    let faults = match request {
        Err(error) => Err(error.into()),
        Ok(request) if pattern.is_read() => run(model, pattern, request, data).await.map(|()| Vec::new()),
        Ok(request) => literal_write::faults(model, pattern, plan, request, data).await,
    };
    faults.unwrap_or_else(|fault| vec![fault]).into_iter().map(Finding::of).collect()
}

async fn run(model: &Model, pattern: &Pattern, request: Request, data: &[SampleItem]) -> Result<(), Fault> {
    // Rows are expected with respect to the file's own data only.
    let others = if pattern.expect.len() == 1 { &[][..] } else { data };
    let items = [others, &rows(model).items].concat();
    let database = Database::with(model, &items).await?;
    let answer = send(&database, request).await?;
    match pattern.reads().next() {
        Some((_, read)) => judge(model, pattern, read, &items, &answer),
        None => Ok(()),
    }
}

pub fn is_condition(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled)
}

pub async fn send(database: &Database, request: Request) -> Result<Found, Error> {
    let found = |items: Vec<Item>| Found { items, ..Found::default() };
    let page = |items: Option<Vec<Item>>, scanned: Option<i32>, more: bool| {
        let items = items.unwrap_or_default();
        let dropped = u64::try_from(scanned.unwrap_or(0)).unwrap_or(0).saturating_sub(items.len() as u64);
        Found { items, dropped, more }
    };
    Ok(match request {
        Request::GetItem(input) => found(database.call(*input).await?.item.into_iter().collect()),
        Request::Query(input) => {
            let limited = input.limit.is_some();
            let output = database.call(*input).await?;
            page(output.items, output.scanned_count, output.last_evaluated_key.is_some() && !limited)
        }
        Request::Scan(input) => {
            let limited = input.limit.is_some();
            let output = database.call(*input).await?;
            page(output.items, output.scanned_count, output.last_evaluated_key.is_some() && !limited)
        }
        Request::BatchGetItem(input) => {
            let responses = database.call(*input).await?.responses;
            found(responses.into_iter().flat_map(BTreeMap::into_values).flatten().collect())
        }
        Request::TransactGetItems(input) => {
            let responses = database.call(*input).await?.responses;
            found(responses.into_iter().flatten().filter_map(|response| response.item).collect())
        }
        Request::PutItem(input) => database.call(*input).await.map(|_| Found::default())?,
        Request::UpdateItem(input) => database.call(*input).await.map(|_| Found::default())?,
        Request::DeleteItem(input) => database.call(*input).await.map(|_| Found::default())?,
        Request::BatchWriteItem(input) => database.call(*input).await.map(|_| Found::default())?,
        Request::TransactWriteItems(input) => database.call(*input).await.map(|_| Found::default())?,
        _ => Found::default(),
    })
}

fn judge(
    model: &Model,
    pattern: &Pattern,
    read: &Read,
    items: &[SampleItem],
    answer: &Found,
) -> Result<(), Fault> {
    let table = model.entity(read.entities[0].value).table;
    let found: Vec<Values> = answer.items.iter().map(values).collect();
    let name = |values: &Values| name_of(model, table, values);
    let is_other = |values: &&Values| {
        let key = key_of(model, table, values);
        let stored =
            items.iter().find(|item| item.table == table && key_of(model, table, &item.values) == key);
        let entity = stored.and_then(|item| item.entity);
        entity.is_some_and(|entity| {
            pattern.reads().all(|(_, read)| read.entities.iter().all(|id| id.value != entity))
        })
    };
    let unwanted: Vec<String> = found.iter().filter(is_other).map(name).collect();
    if !unwanted.is_empty() {
        return Err(Fault::Unwanted { items: unwanted });
    }
    if answer.dropped > 0 {
        let returned = found.len() as u64;
        return Err(Fault::Examined { examined: returned + answer.dropped, returned });
    }
    if answer.more && !read.paged.as_ref().is_some_and(|paged| paged.value) {
        return Err(Fault::Pages { expected: 1, read: 2 });
    }
    match pattern.expect.as_slice() {
        [one] => expectation::compare_rows(model, table, one, &found),
        _ => Ok(()),
    }
}
