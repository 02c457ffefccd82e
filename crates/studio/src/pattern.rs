//! A pattern of a model, run on the real table: expected items beside those that came back.
//!
//! The expectation does not use keys or plans: the table is read, the model names each item, and `model::meaning`
//! decides by attributes alone which items the pattern wants, and in which order. Up to a bound the whole table is
//! read; beyond the bound it is a sample, and the answer says so.

use api::{Input, QueryInput, Request};
use item::Item;
use model::Model;
use model::meaning;
use model::model::Read;
use model::plan::{ActionPlan, ReadOperation, ReadPlan, plan};
use model::predict::item::{Values, row, size_bytes};
use model::predict::{self};
use model::request::{Given, PlannedRead};
use model::sample::{SampleItem, key_of, rekey};
use serde_json::{Value, json};

use crate::door::Fault;
use crate::live::Live;
use crate::{item_json, legend};

/// How many items of a table are read for the expectation.
const EXAMINED_MAX: usize = 100_000;
/// How many expected items are kept.
const WANTED_MAX: usize = 2_000;
const PAGES_MAX: usize = 20;
/// How many items that did not come back are shown whole.
const HIDDEN_MAX: usize = 50;

/// What the requests returned.
#[derive(Default)]
struct Came {
    items: Vec<Item>,
    requests: Vec<Value>,
    pages: u64,
    examined: u64,
    units: f64,
}

/// The items that the pattern wants.
struct Wanted {
    items: Vec<SampleItem>,
    /// Whether the whole table was read.
    exact: bool,
    examined: usize,
}

pub async fn run(live: &Live, model: &Model, id: &str, values: &Value) -> Result<Value, Fault> {
    let pattern = model.pattern_named(id).ok_or_else(|| Fault::bad(format!("There is no pattern {id}.")))?;
    if !legend::is_single_read(pattern) {
        return Err(Fault::bad(format!(
            "{id} writes, or reads as a group: it is proven in memory, never on your tables."
        )));
    }
    let planned = plan(model, pattern);
    let (Some((_, read)), Some(ActionPlan::Read(read_plan))) =
        (pattern.reads().next(), planned.steps.first().map(|step| &step.kind))
    else {
        return Err(Fault::bad(format!("{id} has no request.")));
    };
    let given = given(model, read, values)?;
    let planned_read = PlannedRead::new(model, read, read_plan);
    let came = fetch(live, planned_read, &given).await?;
    let wanted = wanted(live, model, read, read_plan, &given).await?;
    Ok(judged(planned_read, &came, &wanted))
}

/// Values by name, parameters behind a colon, each as DynamoDB JSON.
fn given(model: &Model, read: &Read, values: &Value) -> Result<Given, Fault> {
    let mut given = Given::default();
    for (name, value) in values.as_object().into_iter().flatten() {
        given
            .set(name, item_json::read_value(value).map_err(|error| Fault::bad(format!("{name}: {error}")))?);
    }
    let missing: Vec<&str> = read
        .by
        .iter()
        .map(|name| name.value.as_str())
        .filter(|name| given.attribute(name).is_none())
        .collect();
    let _ = model;
    if missing.is_empty() {
        Ok(given)
    } else {
        Err(Fault::bad(format!("The reader knows {}: give a value.", missing.join(", "))))
    }
}

async fn fetch(live: &Live, read: PlannedRead<'_>, given: &Given) -> Result<Came, Fault> {
    let unsendable = |error: model::request::Unsendable| Fault::bad(format!("There is no request: {error}."));
    let mut came = Came::default();
    match read.plan.operation {
        ReadOperation::GetItem => {
            for input in read.get_items(given).map_err(unsendable)? {
                let document = measured(input);
                let answer = live.ask("GetItem", &document).await?;
                came.requests.push(json!({ "operation": "GetItem", "input": document }));
                came.take(&answer, answer.get("Item").into_iter())?;
            }
        }
        ReadOperation::Query => {
            for input in read.queries(given).map_err(unsendable)? {
                query(live, input, &mut came).await?;
            }
        }
        ReadOperation::Scan => {
            let document = measured(read.scan(given).map_err(unsendable)?);
            let answer = live.ask("Scan", &document).await?;
            came.requests.push(json!({ "operation": "Scan", "input": document }));
            came.take(&answer, answer["Items"].as_array().into_iter().flatten())?;
        }
    }
    Ok(came)
}

async fn query(live: &Live, input: QueryInput, came: &mut Came) -> Result<(), Fault> {
    let limit = input.limit;
    let mut document = measured(input);
    came.requests.push(json!({ "operation": "Query", "input": document }));
    for _ in 0..PAGES_MAX {
        let answer = live.ask("Query", &document).await?;
        came.take(&answer, answer["Items"].as_array().into_iter().flatten())?;
        match answer.get("LastEvaluatedKey") {
            Some(last) if limit.is_none() => document["ExclusiveStartKey"] = last.clone(),
            _ => break,
        }
    }
    Ok(())
}

/// The request as a document that asks for consumed capacity.
fn measured(input: impl Input<Request = Request>) -> Value {
    let mut body = Vec::new();
    input.into_request().write_json(&mut body);
    let mut document: Value = serde_json::from_slice(&body).unwrap_or_default();
    document["ReturnConsumedCapacity"] = json!("INDEXES");
    document
}

impl Came {
    fn take<'a>(&mut self, answer: &Value, items: impl Iterator<Item = &'a Value>) -> Result<(), Fault> {
        let before = self.items.len();
        for item in items {
            self.items.push(item_json::item(item).map_err(Fault::bad)?);
        }
        self.pages += 1;
        self.examined += answer["ScannedCount"].as_u64().unwrap_or((self.items.len() - before) as u64);
        self.units += answer["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap_or(0.0);
        Ok(())
    }
}

/// Reads the table and keeps the items that the pattern wants.
async fn wanted(
    live: &Live,
    model: &Model,
    read: &Read,
    plan: &ReadPlan,
    given: &Given,
) -> Result<Wanted, Fault> {
    let table = &model.table(plan.table).name.value;
    let mut wanted = Wanted { items: Vec::new(), exact: false, examined: 0 };
    let mut input = json!({ "TableName": table });
    while wanted.examined < EXAMINED_MAX && wanted.items.len() < WANTED_MAX {
        let answer = live.ask("Scan", &input).await?;
        let items = answer["Items"].as_array().map_or(&[][..], Vec::as_slice);
        wanted.examined += items.len();
        let named = items.iter().filter_map(|item| {
            let values = item_json::values(item).ok()?;
            let entity = legend::entity_of(model, table, &values);
            Some(SampleItem { table: plan.table, entity, name: None, values, parent: None })
        });
        let page: Vec<SampleItem> = named.collect();
        let found = meaning::wanted(model, read, &page, given);
        wanted.items.extend(found.into_iter().map(|at| page[at].clone()));
        match answer.get("LastEvaluatedKey") {
            Some(last) => input["ExclusiveStartKey"] = last.clone(),
            None => {
                wanted.exact = true;
                break;
            }
        }
    }
    wanted.items.sort_by(|one, other| meaning::order(read, one, other));
    Ok(wanted)
}

fn judged(read: PlannedRead<'_>, came: &Came, wanted: &Wanted) -> Value {
    let key = |values: &Values| item_json::of_values(&key_of(read.model, read.plan.table, values));
    let limit = read.limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX) * read.plan.fan_out as usize
    });
    let expected: Vec<Value> = wanted.items.iter().map(|item| key(&item.values)).collect();
    let got: Vec<Value> = came.items.iter().map(|item| key(&proof::database::values(item))).collect();
    let unexpected: Vec<&Value> = got.iter().filter(|key| !expected.contains(key)).collect();
    let first: Vec<&Value> = expected.iter().take(limit).collect();
    let missing: Vec<&&Value> = first.iter().filter(|key| !got.contains(key)).collect();
    // Each request of a fan-out is sorted by itself; the reader merges them.
    let of_got: Vec<&SampleItem> = got
        .iter()
        .filter_map(|key| expected.iter().position(|one| one == key))
        .map(|at| &wanted.items[at])
        .collect();
    let sorted = of_got.windows(2).all(|pair| meaning::order(read.read, pair[0], pair[1]).is_le());
    let in_order = sorted || read.plan.fan_out > 1;
    json!({
        "requests": came.requests,
        "items": came.items.iter().map(item_json::document).collect::<Vec<_>>(),
        "got": got,
        "expected": first,
        "missing": if wanted.exact { json!(missing) } else { json!([]) },
        "hidden": if wanted.exact { hidden(read.model, wanted, &got, limit) } else { json!([]) },
        "unexpected": if wanted.exact { json!(unexpected) } else { json!([]) },
        "inOrder": in_order,
        "exact": wanted.exact,
        "looked": wanted.examined,
        "examined": came.examined,
        "pages": came.pages,
        "units": { "predicted": predicted(read, came), "consumed": came.units },
        "right": in_order && (!wanted.exact || (missing.is_empty() && unexpected.is_empty())),
    })
}

/// Expected items that did not come back, with the keys that the model gives them.
fn hidden(model: &Model, wanted: &Wanted, got: &[Value], limit: usize) -> Value {
    let missed = wanted.items.iter().take(limit).filter(|item| {
        let key = item_json::of_values(&key_of(model, item.table, &item.values));
        !got.contains(&key)
    });
    let shown = missed.take(HIDDEN_MAX).map(|item| {
        let mut keyed = item.values.clone();
        if let Some(entity) = item.entity {
            rekey(model, entity, &mut keyed, 0);
        }
        json!({ "item": item_json::of_values(&item.values), "keyed": item_json::of_values(&keyed) })
    });
    shown.collect()
}

/// From the sizes of the returned rows.
fn predicted(read: PlannedRead<'_>, came: &Came) -> f64 {
    use capacity::{ReadMode, read_units};
    let mode = if read.plan.consistent { ReadMode::Strong } else { ReadMode::Eventual };
    let requests = came.requests.len().max(1);
    if read.plan.operation == ReadOperation::GetItem {
        return came
            .items
            .iter()
            .map(|item| read_units(item.size_bytes(), mode))
            .sum::<f64>()
            .max(read_units(0, mode) * requests as f64);
    }
    let table = read.table();
    let bytes = came.items.iter().map(|item| {
        let values = proof::database::values(item);
        match read.plan.index {
            Some(index) => {
                row(table, index, &values).map_or_else(|| size_bytes(&values), |row| size_bytes(&row))
            }
            None => size_bytes(&values),
        }
    });
    match requests {
        1 => predict::query(bytes, read.limit, mode).units,
        // Only the sum over several requests is known: each costs at least the smallest read.
        many => read_units(bytes.sum(), mode).max(read_units(0, mode) * many as f64),
    }
}
