//! Sends a write that the file itself has, and compares what is then stored with what the pattern means: the item's
//! attributes, and its key in every index.
//!
//! The items that the request names are made from its keys and are as the pattern's conditions want them. The
//! request's own condition is relaxed for that, because it may be about values that only the application knows. What
//! the condition accepts and refuses is tried in `literal_condition.rs`.

use std::collections::BTreeMap;

use api::{Error, Input, Request, TransactWriteItem, TransactWriteItemsInput, WriteRequest};
use item::{Item, Value, ValueBuf};
use model::Model;
use model::index_keys::Touched as Changes;
use model::model::{Entity, EntityId, Grouping, Pattern, Write, WriteVerb};
use model::plan::{Plan, after_value, changed};
use model::predict::item::Values;
use model::request::Touch;
use model::request::write_case::Chooser;
use model::sample::variant::with;
use model::sample::{FILLER, SampleItem, key_of, rows};
use model::template::{Form, Template, plain_text};

use crate::database::{Database, values};
use crate::fault::Fault;
use crate::literal::send;
use crate::literal_condition;
use crate::trial::name_of;
use crate::write::stored;

/// Holds for every item: none has this attribute.
const ALWAYS: &str = "attribute_not_exists(lodestoneAlways)";

/// One item that a request writes.
pub struct Element {
    table: String,
    /// The verbs of patterns that it can be.
    verbs: &'static [WriteVerb],
    /// The whole item, or its key.
    values: Values,
    condition: Option<String>,
    /// The values that its expressions use.
    pub operands: Vec<Value>,
    /// The same write as a request of its own.
    pub alone: Request,
}

const PUT: &[WriteVerb] = &[WriteVerb::Create, WriteVerb::Put];

impl Element {
    fn of(table: &str, verbs: &'static [WriteVerb], item: &Item, alone: Request) -> Element {
        let (table, values) = (table.to_owned(), values(item));
        Element { table, verbs, values, condition: None, operands: Vec::new(), alone }
    }

    fn guarded(
        mut self,
        condition: Option<&String>,
        operands: Option<&BTreeMap<String, ValueBuf>>,
    ) -> Element {
        self.condition = condition.cloned();
        let operands = operands.into_iter().flat_map(BTreeMap::values);
        self.operands = operands.map(|operand| Value::from(operand.as_ref())).collect();
        self
    }
}

/// Everything in which the request differs from the pattern.
pub async fn faults(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    request: Request,
    data: &[SampleItem],
) -> Result<Vec<Fault>, Fault> {
    let elements = elements(&request);
    let mut faults = Vec::new();
    let mut touched: Vec<Touched<'_>> = Vec::new();
    for element in &elements {
        match touch(model, pattern, plan, element, data) {
            Some(touch) => touched.push(touch),
            None => {
                faults.push(Fault::Request(format!("writes {}, which the pattern does not", shown(element))))
            }
        }
    }
    for (_, write) in pattern.writes() {
        if !touched.iter().any(|one| std::ptr::eq(one.touch.write, write)) {
            let name = &model.entity(write.entity.value).name.value;
            faults.push(Fault::Request(format!("does not {} a `{name}`", write.verb.name())));
        }
    }
    if !faults.is_empty() {
        return Ok(faults);
    }
    faults
        .extend(touched.iter().zip(&elements).filter_map(|(one, element)| unguarded(pattern, one, element)));
    faults.extend(effects(model, request, data, &touched).await?);
    // What lacks a condition is reported above; a `create` without one overwrites, too.
    let creates =
        |one: &Touched<'_>| one.touch.write.verb == WriteVerb::Create && pattern.grouping != Grouping::Batch;
    let tried = touched.iter().zip(&elements);
    for (one, element) in tried.filter(|(one, element)| element.condition.is_some() || creates(one)) {
        faults.extend(literal_condition::faults(model, one, element).await?);
    }
    Ok(faults)
}

/// An item of the request, and what the pattern does to it.
pub struct Touched<'m> {
    pub touch: Touch<'m>,
    pub key: Values,
    /// The attributes that the key tells.
    pub key_values: Values,
}

fn touch<'m>(
    model: &'m Model,
    pattern: &'m Pattern,
    plan: &'m Plan,
    element: &Element,
    data: &[SampleItem],
) -> Option<Touched<'m>> {
    let steps = pattern.writes().zip(plan.writes());
    steps.into_iter().find_map(|((_, write), (planned, _))| {
        let id = write.entity.value;
        let is_here = model.table(planned.table).name.value == element.table;
        let key_values = key_values(model, id, &element.values)
            .filter(|_| is_here && element.verbs.contains(&write.verb))?;
        let item = example(model, id, &element.values, &key_values, data)?;
        let touch = Chooser::new(model, data, 0).touch(write, &planned.effects, &item);
        let key = key_of(model, planned.table, &element.values);
        Some(Touched { touch, key, key_values })
    })
}

/// The attributes that the key of an item tells, if it is one of this entity.
fn key_values(model: &Model, id: EntityId, item: &Values) -> Option<Values> {
    let entity = model.entity(id);
    let schema = model.table_of(entity).key.as_ref()?;
    let mut key_values = Values::new();
    for (key, template) in schema.attributes().zip(entity.key_templates()) {
        let value = item.get(&key.name)?;
        if let Some(name) = template.bare() {
            key_values.insert(name.to_owned(), value.clone());
            continue;
        }
        let texts = template.values(&plain_text(value))?;
        key_values.extend(texts.into_iter().map(|(name, text)| (name.to_owned(), entity.typed(name, &text))));
    }
    Some(key_values)
}

/// The file's own row with this key, or a generated item that gets it.
fn example(
    model: &Model,
    id: EntityId,
    item: &Values,
    key_values: &Values,
    data: &[SampleItem],
) -> Option<SampleItem> {
    let table = model.entity(id).table;
    let key = key_of(model, table, item);
    let is_it = |one: &SampleItem| one.entity == Some(id) && key_of(model, table, &one.values) == key;
    if let Some(row) = rows(model).items.into_iter().find(is_it) {
        return Some(row);
    }
    let first = data.iter().find(|one| one.entity == Some(id))?;
    Some(with(model, first, key_values.clone(), 0))
}

/// A pattern with a condition whose request has none.
fn unguarded(pattern: &Pattern, one: &Touched<'_>, element: &Element) -> Option<Fault> {
    let write = one.touch.write;
    let means = match (&write.condition, &write.version) {
        (Some(condition), _) => format!("`if: {condition}`"),
        (None, Some(version)) => format!("`version: {}`", version.value),
        (None, None) if write.verb == WriteVerb::Create => "`create`".to_owned(),
        (None, None) => return None,
    };
    let can = pattern.grouping != Grouping::Batch;
    (can && element.condition.is_none())
        .then(|| Fault::Request(format!("has no condition, and the pattern says {means}")))
}

/// Sends the request to what the pattern expects to be there, and compares.
async fn effects(
    model: &Model,
    request: Request,
    data: &[SampleItem],
    touched: &[Touched<'_>],
) -> Result<Vec<Fault>, Fault> {
    let before = touched.iter().filter_map(|one| Some(sample(one, with_key(one, one.touch.old.clone()?))));
    let database = Database::with(model, &beside(model, data, touched, before.collect())).await?;
    let changes = changes(&request);
    let sent: Result<_, Error> = send(&database, relaxed(request)).await;
    sent?;
    let mut faults = Vec::new();
    for (at, one) in touched.iter().enumerate() {
        let found = stored(model, &database, one.touch.table, &one.key).await?;
        faults.extend(difference(model, one, changes.get(at).and_then(Option::as_ref), found.as_ref()));
        if let Some(found) = &found {
            faults.extend(stale(model, one, found));
        }
    }
    Ok(faults)
}

/// The item with the key that the request names.
pub fn with_key(one: &Touched<'_>, mut values: Values) -> Values {
    values.extend(one.key.clone());
    values
}

/// An item of the entity that is written.
pub fn sample(one: &Touched<'_>, values: Values) -> SampleItem {
    let (table, entity) = (one.touch.table, Some(one.touch.entity));
    SampleItem { table, entity, name: None, values, parent: None }
}

/// The data without the items that the request writes, and these instead.
fn beside(
    model: &Model,
    data: &[SampleItem],
    touched: &[Touched<'_>],
    instead: Vec<SampleItem>,
) -> Vec<SampleItem> {
    let is_touched = |item: &&SampleItem| {
        let key = key_of(model, item.table, &item.values);
        touched.iter().any(|one| one.touch.table == item.table && one.key == key)
    };
    data.iter().filter(|item| !is_touched(item)).cloned().chain(instead).collect()
}

/// Attributes that are not as the pattern says.
fn difference(
    model: &Model,
    one: &Touched<'_>,
    changes: Option<&Changes>,
    found: Option<&Values>,
) -> Option<Fault> {
    let Touch { write, entity, table, .. } = one.touch;
    let name = name_of(model, table, &one.key);
    let old = one.touch.old.as_ref();
    let found = match (write.verb, found) {
        (WriteVerb::Delete, None) => return None,
        (WriteVerb::Delete, Some(_)) => return Some(Fault::Request(format!("does not delete {name}"))),
        (_, None) => return Some(Fault::Request(format!("does not store {name}"))),
        (_, Some(found)) => found,
    };
    let entity = model.entity(entity);
    let wrong = entity.attributes.keys().filter(|name| {
        let key_values = one.key_values.get(*name);
        let now = found.get(*name).or(key_values);
        let before = old.and_then(|old| old.get(*name)).or(key_values);
        is_left_out(write, changes, name) || !is_meant(entity, write, name, before, now)
    });
    let wrong: Vec<String> = wrong.filter(|name| *name != FILLER).map(|name| format!("`{name}`")).collect();
    let what = wrong.join(", ");
    (!wrong.is_empty())
        .then(|| Fault::Request(format!("leaves {what} of {name} other than the pattern says")))
}

/// What each update of a request sets and removes, in the order of its items; `None` for other writes.
fn changes(request: &Request) -> Vec<Option<Changes>> {
    let mut body = Vec::new();
    request.write_json(&mut body);
    let Ok(sent) = serde_json::from_slice::<serde_json::Value>(&body) else { return Vec::new() };
    match sent["TransactItems"].as_array() {
        Some(items) => items.iter().map(|item| Changes::by_update(&item["Update"])).collect(),
        None => vec![Changes::by_update(&sent)],
    }
}

/// Whether the pattern sets an attribute that the update does not name: the old value would do as well otherwise.
fn is_left_out(write: &Write, changes: Option<&Changes>, name: &str) -> bool {
    let is_set = write.set.iter().any(|change| change.attribute.value == name);
    is_set && changes.is_some_and(|changes| !changes.set.contains(name))
}

fn is_meant(entity: &Entity, write: &Write, name: &str, before: Option<&Value>, now: Option<&Value>) -> bool {
    let set = write.set.iter().any(|change| change.attribute.value == name);
    let literal = after_value(write, name).and_then(|operand| operand.literal()).filter(|_| set);
    match write.verb {
        WriteVerb::Check => before == now,
        _ if literal.is_some() => now == literal.map(|text| entity.typed(name, text)).as_ref(),
        WriteVerb::Update if write.remove.iter().any(|one| one.value == name) => now.is_none(),
        WriteVerb::Update if set => now.is_some(),
        WriteVerb::Update if changed(write).any(|one| one == name) => now.is_some() && now != before,
        WriteVerb::Update => now == before,
        WriteVerb::Create | WriteVerb::Put | WriteVerb::Delete => true,
    }
}

/// Keys of indexes that the item's attributes do not give.
fn stale(model: &Model, one: &Touched<'_>, found: &Values) -> Vec<Fault> {
    let entity = model.entity(one.touch.entity);
    let table = model.table(one.touch.table);
    let mut attributes = one.key_values.clone();
    attributes.extend(found.clone());
    let mut faults = Vec::new();
    for entry in entity.entries.iter().filter(|entry| entry.declared) {
        let index = table.index(entry.index);
        let is_own = |name: &str| {
            entity.attribute(name).is_some() || table.key.as_ref().is_some_and(|key| key.names(name))
        };
        let keys = index.key.attributes().zip(entry.templates()).filter(|(key, _)| !is_own(&key.name));
        let member = entry.has(&attributes);
        let wrong = keys.into_iter().find_map(|(key, template)| {
            let rendered = template.render(key.kind, |name| attributes.get(name).cloned(), 0).ok();
            let meant = rendered.filter(|_| member);
            let found = found.get(&key.name);
            let agree = match (&meant, found) {
                // What the writer draws is not known here.
                (Some(_), Some(_)) if is_random(template) => true,
                // An attribute that the template needs is not stored: nothing says what the key must be.
                (None, Some(_)) if member => true,
                (meant, found) => meant.as_ref() == found,
            };
            (!agree).then(|| (found.map(plain_text), meant.as_ref().map(plain_text)))
        });
        faults.extend(wrong.map(|(found, meant)| Fault::StaleKey {
            index: index.name.value.clone(),
            item: name_of(model, one.touch.table, &one.key),
            found,
            meant,
        }));
    }
    faults
}

fn is_random(template: &Template) -> bool {
    template.fields().any(|field| matches!(field.form, Form::Random { .. }))
}

fn shown(element: &Element) -> String {
    let texts: Vec<String> = element.values.values().take(2).map(plain_text).collect();
    format!("{} in {}", texts.join(" "), element.table)
}

fn elements(request: &Request) -> Vec<Element> {
    let alone = request.clone();
    match request {
        Request::PutItem(input) => {
            let element = Element::of(&input.table_name, PUT, &input.item, alone);
            let operands = input.expression_attribute_values.as_ref();
            vec![element.guarded(input.condition_expression.as_ref(), operands)]
        }
        Request::UpdateItem(input) => {
            let element = Element::of(&input.table_name, &[WriteVerb::Update], &input.key, alone);
            let operands = input.expression_attribute_values.as_ref();
            vec![element.guarded(input.condition_expression.as_ref(), operands)]
        }
        Request::DeleteItem(input) => {
            let element = Element::of(&input.table_name, &[WriteVerb::Delete], &input.key, alone);
            let operands = input.expression_attribute_values.as_ref();
            vec![element.guarded(input.condition_expression.as_ref(), operands)]
        }
        Request::TransactWriteItems(input) => input.transact_items.iter().flat_map(of_transaction).collect(),
        Request::BatchWriteItem(input) => {
            let tables = input.request_items.iter();
            let element = |table: &String, one: &WriteRequest| of_batch(table, one, &alone);
            tables
                .flat_map(|(table, writes)| writes.iter().filter_map(move |one| element(table, one)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn of_transaction(one: &TransactWriteItem) -> Vec<Element> {
    // Without a token: the same transaction is sent several times.
    let transact_items = vec![one.clone()];
    let alone = TransactWriteItemsInput { transact_items, ..TransactWriteItemsInput::default() };
    let alone = alone.into_request();
    let put = one.put.as_ref().map(|put| {
        let element = Element::of(&put.table_name, PUT, &put.item, alone.clone());
        element.guarded(put.condition_expression.as_ref(), put.expression_attribute_values.as_ref())
    });
    let update = one.update.as_ref().map(|update| {
        let element = Element::of(&update.table_name, &[WriteVerb::Update], &update.key, alone.clone());
        element.guarded(update.condition_expression.as_ref(), update.expression_attribute_values.as_ref())
    });
    let delete = one.delete.as_ref().map(|delete| {
        let element = Element::of(&delete.table_name, &[WriteVerb::Delete], &delete.key, alone.clone());
        element.guarded(delete.condition_expression.as_ref(), delete.expression_attribute_values.as_ref())
    });
    let check = one.condition_check.as_ref().map(|check| {
        let element = Element::of(&check.table_name, &[WriteVerb::Check], &check.key, alone.clone());
        element.guarded(Some(&check.condition_expression), check.expression_attribute_values.as_ref())
    });
    [put, update, delete, check].into_iter().flatten().collect()
}

fn of_batch(table: &str, one: &WriteRequest, alone: &Request) -> Option<Element> {
    let put = one.put_request.as_ref().map(|put| Element::of(table, PUT, &put.item, alone.clone()));
    let delete = one
        .delete_request
        .as_ref()
        .map(|delete| Element::of(table, &[WriteVerb::Delete], &delete.key, alone.clone()));
    put.or(delete)
}

/// The same request with conditions that always hold, and that still use every name and value.
fn relaxed(mut request: Request) -> Request {
    let relax = |condition: &mut Option<String>| {
        if let Some(text) = condition {
            *text = format!("({text}) OR {ALWAYS}");
        }
    };
    match &mut request {
        Request::PutItem(input) => relax(&mut input.condition_expression),
        Request::UpdateItem(input) => relax(&mut input.condition_expression),
        Request::DeleteItem(input) => relax(&mut input.condition_expression),
        Request::TransactWriteItems(input) => {
            for one in &mut input.transact_items {
                one.put.iter_mut().for_each(|put| relax(&mut put.condition_expression));
                one.update.iter_mut().for_each(|update| relax(&mut update.condition_expression));
                one.delete.iter_mut().for_each(|delete| relax(&mut delete.condition_expression));
                if let Some(check) = &mut one.condition_check {
                    check.condition_expression = format!("({}) OR {ALWAYS}", check.condition_expression);
                }
            }
        }
        _ => {}
    }
    request
}
