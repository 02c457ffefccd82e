//! Sends the request that the file itself has for a pattern: DynamoDB must accept it, it must find only items that
//! the pattern asks for, and drop none of them. If rows are expected, it must find those.

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
use crate::trial::name_of;

/// The parts of an answer that are checked.
#[derive(Default)]
struct Answer {
    items: Vec<Item>,
    /// Items that a filter dropped.
    dropped: u64,
    more: bool,
}

pub async fn findings(model: &Model, pattern: &Pattern, plan: &Plan, data: &[SampleItem]) -> Vec<Finding> {
    let Some(request) = literal::request(pattern, plan) else { return Vec::new() };
    match run(model, pattern, request, data).await {
        Ok(()) => Vec::new(),
        Err(fault) => vec![Finding::of(fault)],
    }
}

async fn run(
    model: &Model,
    pattern: &Pattern,
    request: Result<Request, Error>,
    data: &[SampleItem],
) -> Result<(), Fault> {
    let request = request?;
    // Rows are expected with respect to the file's own data only.
    let others = if pattern.expect.len() == 1 { &[][..] } else { data };
    let items = [others, &rows(model).items].concat();
    let database = Database::with(model, &items).await?;
    let answer = match send(&database, request).await {
        // A condition may fail; that depends on the data.
        Err(error) if is_condition(&error) => return Ok(()),
        answer => answer?,
    };
    match pattern.reads().next() {
        Some((_, read)) => judge(model, pattern, read, &items, &answer),
        None => Ok(()),
    }
}

fn is_condition(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled)
}

async fn send(database: &Database, request: Request) -> Result<Answer, Error> {
    let found = |items: Vec<Item>| Answer { items, ..Answer::default() };
    let page = |items: Option<Vec<Item>>, scanned: Option<i32>, more: bool| {
        let items = items.unwrap_or_default();
        let dropped = u64::try_from(scanned.unwrap_or(0)).unwrap_or(0).saturating_sub(items.len() as u64);
        Answer { items, dropped, more }
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
        Request::PutItem(input) => database.call(*input).await.map(|_| Answer::default())?,
        Request::UpdateItem(input) => database.call(*input).await.map(|_| Answer::default())?,
        Request::DeleteItem(input) => database.call(*input).await.map(|_| Answer::default())?,
        Request::BatchWriteItem(input) => database.call(*input).await.map(|_| Answer::default())?,
        Request::TransactWriteItems(input) => database.call(*input).await.map(|_| Answer::default())?,
        _ => Answer::default(),
    })
}

fn judge(
    model: &Model,
    pattern: &Pattern,
    read: &Read,
    items: &[SampleItem],
    answer: &Answer,
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
