//! An edit as the request that writes it. The page shows all of it before it is sent.
//!
//! A change is an item as it was read and as it should be; either may be missing. The plan is made like this:
//! 1. with a model, key attributes are rendered from the templates, and the version attribute is raised;
//! 2. one change that keeps its key is UpdateItem, PutItem or DeleteItem; everything else is TransactWriteItems;
//! 3. the condition requires that the overwritten attributes still have the values that were read;
//! 4. the units of the table and of each index are predicted, with what happens there.
//!
//! Undo is a change with both items exchanged.

use std::collections::BTreeMap;

use item::{Number, Value as Attribute};
use model::Model;
use model::model::{EntityId, IndexId};
use model::predict::item::{Values, size_bytes};
use model::predict::{RowChange, TRANSACTION_FACTOR, write as write_units};
use model::request::expression::Placeholders;
use model::sample::rekey;
use serde_json::{Map, Value, json};

use crate::builder::Schema;
use crate::{item_json, legend};

/// The limit of one transaction.
const CHANGES_MAX: usize = 100;
/// The condition of a deletion compares up to this many attributes. Larger items only have to exist.
const COMPARED_MAX: usize = 40;

/// The change of one item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub old: Option<Values>,
    pub new: Option<Values>,
}

/// A table by its description.
struct Table<'a> {
    name: &'a str,
    key: Schema<'a>,
    indexes: Vec<Index<'a>>,
}

struct Index<'a> {
    name: &'a str,
    key: Schema<'a>,
    types: BTreeMap<&'a str, &'a str>,
    /// None if everything is.
    projected: Option<Vec<&'a str>>,
}

pub fn plan(description: &Value, model: Option<&Model>, changes: &Value) -> Result<Value, String> {
    let table = Table::of(description);
    let changes = changes.as_array().map_or(&[][..], Vec::as_slice);
    if changes.is_empty() || changes.len() > CHANGES_MAX {
        return Err(format!("one write takes 1 to {CHANGES_MAX} changes, and these are {}", changes.len()));
    }
    let changes: Result<Vec<Change>, String> = changes.iter().map(Change::read).collect();
    let (mut followed, mut notes) = (Vec::new(), Vec::new());
    for change in changes? {
        followed.push(follow(&table, model, change, &mut notes));
    }
    let writes: Vec<Write> = followed.iter().flat_map(|change| table.writes(change)).collect();
    let transaction = writes.len() > 1;
    let (operation, input) = request(&writes, transaction);
    let parts = table.parts(&followed, transaction);
    let total: f64 = parts.iter().filter_map(|part| part["units"].as_f64()).sum();
    Ok(json!({
        "operation": operation,
        "input": input,
        "condition": writes.iter().map(|write| write.condition.clone()).collect::<Vec<_>>(),
        "parts": parts,
        "total": total,
        "items": followed.iter().map(|change| json!({ "old": shown(&change.old), "new": shown(&change.new) })).collect::<Vec<_>>(),
        "notes": notes,
        "code": model_code::request::all(operation, &input),
    }))
}

fn shown(item: &Option<Values>) -> Value {
    item.as_ref().map_or(Value::Null, item_json::of_values)
}

impl Change {
    fn read(document: &Value) -> Result<Change, String> {
        let item = |name: &str| match &document[name] {
            Value::Null => Ok(None),
            item => item_json::values(item).map(Some),
        };
        let change = Change { old: item("old")?, new: item("new")? };
        if change == Change::default() {
            Err("a change has an item before or after it".to_owned())
        } else {
            Ok(change)
        }
    }
}

/// Renders keys and raises the version as the model says. Items that the model does not describe stay as typed.
fn follow(table: &Table<'_>, model: Option<&Model>, mut change: Change, notes: &mut Vec<String>) -> Change {
    let (Some(model), Some(new)) = (model, change.new.as_mut()) else { return change };
    let known = change.old.as_ref().unwrap_or(new);
    let Some(entity) = legend::entity_of(model, table.name, known) else { return change };
    raise_version(model, entity, change.old.as_ref(), new, notes);
    let typed_keys =
        change.old.as_ref().is_some_and(|old| table.key_names().any(|name| old.get(name) != new.get(name)));
    let describes = change.old.as_ref().is_none_or(|old| {
        let mut again = old.clone();
        rekey(model, entity, &mut again, 0);
        again == *old
    });
    let name = &model.entity(entity).name.value;
    match (typed_keys, describes) {
        (true, _) => notes.push("A key attribute was typed, so the others stay as they are.".to_owned()),
        (_, false) => {
            notes.push(format!("The keys of this {name} are not those of the model: they stay as they are."))
        }
        (false, true) => {
            let before = new.clone();
            rekey(model, entity, new, 0);
            if *new != before {
                notes.push("Key attributes follow from the model.".to_owned());
            }
        }
    }
    change
}

/// Raises the attribute that the model's writers use for optimistic locking.
fn raise_version(
    model: &Model,
    entity: EntityId,
    old: Option<&Values>,
    new: &mut Values,
    notes: &mut Vec<String>,
) {
    let versions = model.patterns.iter().flat_map(|pattern| pattern.writes());
    let mut versions = versions
        .filter(|(_, write)| write.entity.value == entity)
        .filter_map(|(_, write)| write.version.as_ref());
    let Some((version, old)) = versions.next().zip(old) else { return };
    let same = old.get(&version.value).filter(|value| new.get(&version.value) == Some(value));
    if let Some(Attribute::N(number)) = same
        && let Ok(next) = number.checked_add(Number::from(1u64))
        && old != new
    {
        new.insert(version.value.clone(), Attribute::N(next));
        notes.push(format!("{} is raised, as the model's writers do.", version.value));
    }
}

/// One write of a request.
struct Write {
    /// As in TransactWriteItems: Put, Update, Delete.
    kind: &'static str,
    input: Map<String, Value>,
    condition: String,
}

impl Write {
    fn new(kind: &'static str, table: &Table<'_>, condition: String, placeholders: &Placeholders) -> Write {
        let mut input = Map::new();
        input.insert("TableName".into(), table.name.into());
        input.insert("ConditionExpression".into(), condition.clone().into());
        if let Some(names) = placeholders.names() {
            input.insert("ExpressionAttributeNames".into(), json!(names));
        }
        if let Some(values) = placeholders.values() {
            let values: Map<String, Value> =
                values.iter().map(|(name, value)| (name.clone(), item_json::of_buffer(value))).collect();
            input.insert("ExpressionAttributeValues".into(), values.into());
        }
        input.insert("ReturnValuesOnConditionCheckFailure".into(), "ALL_OLD".into());
        Write { kind, input, condition }
    }

    fn with(mut self, name: &str, value: Value) -> Write {
        self.input.insert(name.into(), value);
        self
    }
}

fn request(writes: &[Write], transaction: bool) -> (&'static str, Value) {
    match writes {
        [write] if !transaction => {
            let operation = match write.kind {
                "Put" => "PutItem",
                "Delete" => "DeleteItem",
                _ => "UpdateItem",
            };
            let mut input = write.input.clone();
            input.insert("ReturnConsumedCapacity".into(), "INDEXES".into());
            (operation, Value::Object(input))
        }
        writes => {
            let items: Vec<Value> = writes.iter().map(|write| json!({ write.kind: write.input })).collect();
            ("TransactWriteItems", json!({ "TransactItems": items, "ReturnConsumedCapacity": "INDEXES" }))
        }
    }
}

impl<'a> Table<'a> {
    fn of(description: &'a Value) -> Table<'a> {
        let types: BTreeMap<&str, &str> = description["AttributeDefinitions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| Some((one["AttributeName"].as_str()?, one["AttributeType"].as_str()?)))
            .collect();
        let lists = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
        let described = lists.into_iter().filter_map(|list| description[list].as_array()).flatten();
        let indexes = described.map(|index| Index {
            name: index["IndexName"].as_str().unwrap_or_default(),
            key: Schema::of(&index["KeySchema"]),
            types: types.clone(),
            projected: projected(&index["Projection"]),
        });
        Table {
            name: description["TableName"].as_str().unwrap_or_default(),
            key: Schema::of(&description["KeySchema"]),
            indexes: indexes.collect(),
        }
    }

    /// Key attributes of the table and of all indexes.
    fn key_names(&self) -> impl Iterator<Item = &'a str> {
        self.key.names().chain(self.indexes.iter().flat_map(|index| index.key.names()))
    }

    fn key_of(&self, item: &Values) -> Values {
        let named = self.key.names().filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
        named.collect()
    }

    /// A changed key takes a Delete and a Put.
    fn writes(&self, change: &Change) -> Vec<Write> {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) if self.key_of(old) == self.key_of(new) => vec![self.update(old, new)],
            (old, new) => {
                let delete = old.iter().map(|old| self.delete(old));
                delete.chain(new.iter().map(|new| self.put(new))).collect()
            }
        }
    }

    fn put(&self, new: &Values) -> Write {
        let mut placeholders = Placeholders::default();
        let condition = format!("attribute_not_exists({})", self.partition(&mut placeholders));
        Write::new("Put", self, condition, &placeholders).with("Item", item_json::of_values(new))
    }

    fn delete(&self, old: &Values) -> Write {
        let mut placeholders = Placeholders::default();
        let mut terms = vec![format!("attribute_exists({})", self.partition(&mut placeholders))];
        let rest: Vec<(&String, &Attribute)> =
            old.iter().filter(|(name, _)| !self.key.names().any(|key| key == name.as_str())).collect();
        if rest.len() <= COMPARED_MAX {
            terms.extend(rest.iter().map(|(name, value)| equals(&mut placeholders, name, value)));
        }
        let key = item_json::of_values(&self.key_of(old));
        Write::new("Delete", self, terms.join(" AND "), &placeholders).with("Key", key)
    }

    fn update(&self, old: &Values, new: &Values) -> Write {
        let mut placeholders = Placeholders::default();
        let mut names: Vec<&String> =
            old.keys().chain(new.keys()).filter(|name| old.get(*name) != new.get(*name)).collect();
        names.sort();
        names.dedup();
        let (mut set, mut remove) = (Vec::new(), Vec::new());
        let mut terms = vec![format!("attribute_exists({})", self.partition(&mut placeholders))];
        for name in names {
            let alias = placeholders.name(name);
            terms.push(match old.get(name) {
                Some(was) => equals(&mut placeholders, name, was),
                None => format!("attribute_not_exists({alias})"),
            });
            match new.get(name) {
                Some(value) => set.push(format!("{alias} = {}", placeholders.value(name, value))),
                None => remove.push(alias),
            }
        }
        let clause = |word: &str, parts: &[String]| {
            (!parts.is_empty()).then(|| format!("{word} {}", parts.join(", ")))
        };
        let clauses: Vec<String> =
            [clause("SET", &set), clause("REMOVE", &remove)].into_iter().flatten().collect();
        let write = Write::new("Update", self, terms.join(" AND "), &placeholders)
            .with("Key", item_json::of_values(&self.key_of(new)));
        // An update that changes nothing only checks that the item exists.
        if clauses.is_empty() { write } else { write.with("UpdateExpression", clauses.join(" ").into()) }
    }

    fn partition(&self, placeholders: &mut Placeholders) -> String {
        placeholders.name(self.key.partition.first().copied().unwrap_or_default())
    }

    /// The units of the table and of each index that is touched, and what happens there.
    fn parts(&self, changes: &[Change], transaction: bool) -> Vec<Value> {
        let factor = if transaction { TRANSACTION_FACTOR } else { 1.0 };
        let mut table_units = 0.0;
        let mut indexes: Vec<(f64, Vec<&'static str>)> = vec![(0.0, Vec::new()); self.indexes.len()];
        for (old, new) in changes.iter().flat_map(|change| self.images(change)) {
            let rows: Vec<(IndexId, RowChange)> = self
                .indexes
                .iter()
                .enumerate()
                .map(|(at, index)| (IndexId(at), index.change(&self.key, old, new)))
                .collect();
            let units = write_units(old.map(size_bytes), new.map(size_bytes), rows.iter().copied(), factor);
            table_units += units.table;
            for (IndexId(at), change) in rows {
                let (sum, seen) = &mut indexes[at];
                *sum += units.index(IndexId(at));
                if let Some(what) = what(change).filter(|what| !seen.contains(what)) {
                    seen.push(what);
                }
            }
        }
        let own = json!({ "name": self.name, "index": false, "units": table_units, "what": [] });
        let others = self.indexes.iter().zip(indexes).filter(|(_, (units, _))| *units > 0.0);
        std::iter::once(own)
            .chain(others.map(|(index, (units, what))| {
                json!({ "name": index.name, "index": true, "units": units, "what": what })
            }))
            .collect()
    }

    /// The item before and after each write.
    fn images<'c>(&self, change: &'c Change) -> Vec<(Option<&'c Values>, Option<&'c Values>)> {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) if self.key_of(old) != self.key_of(new) => {
                vec![(Some(old), None), (None, Some(new))]
            }
            (old, new) => vec![(old.as_ref(), new.as_ref())],
        }
    }
}

fn equals(placeholders: &mut Placeholders, name: &str, value: &Attribute) -> String {
    let alias = placeholders.name(name);
    format!("{alias} = {}", placeholders.value(&format!("was_{name}"), value))
}

fn projected(projection: &Value) -> Option<Vec<&str>> {
    if projection["ProjectionType"] == "ALL" {
        return None;
    }
    let names = projection["NonKeyAttributes"].as_array().into_iter().flatten();
    Some(names.filter_map(Value::as_str).collect())
}

fn what(change: RowChange) -> Option<&'static str> {
    match change {
        RowChange::None => None,
        RowChange::Enter(_) => Some("put"),
        RowChange::Leave(_) => Some("delete"),
        RowChange::Replace { .. } => Some("update"),
        RowChange::Move { .. } => Some("delete and put"),
    }
}

impl Index<'_> {
    /// The item's row: none unless it has every key attribute, each of its type.
    fn row(&self, table: &Schema<'_>, item: &Values) -> Option<Values> {
        let has = |name: &str| {
            item.get(name).is_some_and(|value| self.types.get(name) == Some(&value.kind().name()))
        };
        if !self.key.names().all(has) {
            return None;
        }
        let is_key = |name: &str| self.key.names().chain(table.names()).any(|key| key == name);
        let holds =
            |name: &str| self.projected.as_ref().is_none_or(|names| is_key(name) || names.contains(&name));
        Some(
            item.iter()
                .filter(|(name, _)| holds(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    fn change(&self, table: &Schema<'_>, old: Option<&Values>, new: Option<&Values>) -> RowChange {
        let old = old.and_then(|item| self.row(table, item));
        let new = new.and_then(|item| self.row(table, item));
        match (old, new) {
            (None, None) => RowChange::None,
            (None, Some(new)) => RowChange::Enter(size_bytes(&new)),
            (Some(old), None) => RowChange::Leave(size_bytes(&old)),
            (Some(old), Some(new)) if old == new => RowChange::None,
            (Some(old), Some(new)) => {
                let stays = self.key.names().all(|name| old.get(name) == new.get(name));
                let (old, new) = (size_bytes(&old), size_bytes(&new));
                if stays { RowChange::Replace { old, new } } else { RowChange::Move { old, new } }
            }
        }
    }
}
