//! An edit as the request that writes it. The page shows all of it before it is sent.
//!
//! A change is an item as it was read and as it should be; either may be missing. The plan is made like this:
//! 1. with a model, key attributes are rendered from the templates, and the version attribute is raised;
//! 2. one change that keeps its key is UpdateItem, PutItem or DeleteItem; everything else is TransactWriteItems;
//! 3. the condition requires that the overwritten attributes still have the values that were read;
//! 4. the engine runs the write dry: the units of the table and of each index, with what happens there, or the error that
//!    the write would answer. Another database can't do that, so its price is not known before the write.
//!
//! So the price is that of the items that are stored. If an attribute that the edit overwrites is not what was read any
//! more, the condition fails, and the page shows the stored item before anything is written.
//!
//! Undo is a change with both items exchanged.

use api::Error;
use engine::{DryRun, RowChange};
use item::{Number, Value as Attribute};
use model::Model;
use model::model::EntityId;
use model::predict::item::Values;
use model::request::expression::Placeholders;
use model::sample::rekey;
use serde_json::{Map, Value, json};

use crate::builder::Schema;
use crate::door::Fault;
use crate::live::{self, Live};
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
    /// The entity of a new item, whose keys are made from its attributes. Other items are known by their keys.
    pub entity: Option<String>,
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
}

/// The write of an edit, with its price.
pub async fn plan(
    live: &Live,
    description: &Value,
    model: Option<&Model>,
    changes: &Value,
) -> Result<Value, Fault> {
    let table = Table::of(description);
    let changes = changes.as_array().map_or(&[][..], Vec::as_slice);
    if changes.is_empty() || changes.len() > CHANGES_MAX {
        return Err(Fault::bad(format!(
            "one write takes 1 to {CHANGES_MAX} changes, and these are {}",
            changes.len()
        )));
    }
    let changes: Result<Vec<Change>, String> = changes.iter().map(Change::read).collect();
    let (mut followed, mut notes) = (Vec::new(), Vec::new());
    for change in changes.map_err(Fault::bad)? {
        followed.push(follow(&table, model, change, &mut notes));
    }
    let writes: Vec<Write> = followed.iter().flat_map(|change| table.writes(change)).collect();
    let (operation, input) = request(&writes);
    let Price { parts, total, refusal } = table.price(live.dry_run(operation, &input).await)?;
    Ok(json!({
        "operation": operation,
        "input": input,
        "condition": writes.iter().map(|write| write.condition.clone()).collect::<Vec<_>>(),
        "parts": parts,
        "total": total,
        "refusal": refusal,
        "items": followed.iter().map(|change| json!({ "old": shown(&change.old), "new": shown(&change.new) })).collect::<Vec<_>>(),
        "notes": notes,
        "code": model_code::request::all(operation, &input),
    }))
}

/// What a write costs, or why it would be refused.
struct Price {
    /// The table and each index that is touched, with units and what happens there; empty if the write is refused or its
    /// price is not known.
    parts: Vec<Value>,
    /// None without a refusal: another database would write it, for a price that is not known here.
    total: Option<f64>,
    /// The error as the write would answer it.
    refusal: Value,
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
        let entity = document["entity"].as_str().map(str::to_owned);
        let change = Change { old: item("old")?, new: item("new")?, entity };
        if change.old.is_none() && change.new.is_none() {
            Err("a change has an item before or after it".to_owned())
        } else {
            Ok(change)
        }
    }
}

/// Renders keys and raises the version as the model says. Items that the model does not describe stay as typed.
fn follow(table: &Table<'_>, model: Option<&Model>, mut change: Change, notes: &mut Vec<String>) -> Change {
    let (Some(model), Some(new)) = (model, change.new.as_mut()) else { return change };
    if change.old.is_none() {
        // An item that comes back after its deletion is what it was.
        if let Some(named) = &change.entity {
            make_keys(table, model, named, new, notes);
        }
        return change;
    }
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

/// The keys of a new item follow from the templates of its entity. A key that was typed stays.
fn make_keys(table: &Table<'_>, model: &Model, named: &str, new: &mut Values, notes: &mut Vec<String>) {
    let mut entities = model.entity_ids();
    let Some(entity) = entities.find(|id| {
        model.entity(*id).name.value == named && model.table_of(model.entity(*id)).name.value == table.name
    }) else {
        return;
    };
    let typed: Vec<(String, Attribute)> = table
        .key_names()
        .filter(|name| model.entity(entity).attribute(name).is_none())
        .filter_map(|name| Some((name.to_owned(), new.get(name)?.clone())))
        .collect();
    rekey(model, entity, new, 0);
    if typed.is_empty() {
        notes.push("Key attributes follow from the model.".to_owned());
    } else {
        notes.push("A key attribute was typed, and stays as it is.".to_owned());
        new.extend(typed);
    }
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

fn request(writes: &[Write]) -> (&'static str, Value) {
    match writes {
        [write] => {
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
        let lists = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
        let described = lists.into_iter().filter_map(|list| description[list].as_array()).flatten();
        let indexes = described.map(|index| Index {
            name: index["IndexName"].as_str().unwrap_or_default(),
            key: Schema::of(&index["KeySchema"]),
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

    /// A write that the client could correct has a refusal instead of a price; any other error is the answer. Without a dry
    /// run the price is not known, which is not a price of zero.
    fn price(&self, dry_run: Result<Option<DryRun>, Error>) -> Result<Price, Fault> {
        match dry_run {
            Ok(None) => Ok(Price { parts: Vec::new(), total: None, refusal: Value::Null }),
            Ok(Some(dry_run)) => {
                let total = dry_run.consumed_capacity.iter().filter_map(|table| table.capacity_units).sum();
                Ok(Price { parts: self.parts(&dry_run), total: Some(total), refusal: Value::Null })
            }
            Err(error) if live::status(&error).is_client_error() => {
                Ok(Price { parts: Vec::new(), total: None, refusal: Fault::from(error).body })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The table and each index that is touched.
    fn parts(&self, dry_run: &DryRun) -> Vec<Value> {
        let consumed = || dry_run.consumed_capacity.iter();
        let own: f64 = consumed().filter_map(|one| one.table.as_ref()?.capacity_units).sum();
        let own = json!({ "name": self.name, "index": false, "units": own, "what": [] });
        let of_index = |index: &Index<'_>| {
            let maps =
                consumed().flat_map(|one| [&one.global_secondary_indexes, &one.local_secondary_indexes]);
            let units = maps.flatten().find_map(|units| units.get(index.name))?.capacity_units?;
            Some(
                json!({ "name": index.name, "index": true, "units": units, "what": what(dry_run, index.name) }),
            )
        };
        std::iter::once(own).chain(self.indexes.iter().filter_map(of_index)).collect()
    }
}

fn equals(placeholders: &mut Placeholders, name: &str, value: &Attribute) -> String {
    let alias = placeholders.name(name);
    format!("{alias} = {}", placeholders.value(&format!("was_{name}"), value))
}

/// What happens to rows of an index, each kind once.
fn what(dry_run: &DryRun, index: &str) -> Vec<&'static str> {
    let mut seen = Vec::new();
    for one in dry_run.index_changes.iter().filter(|one| one.index == index) {
        let what = match one.change {
            RowChange::None => continue,
            RowChange::Enter(_) => "put",
            RowChange::Leave(_) => "delete",
            RowChange::Replace { .. } => "update",
            RowChange::Move { .. } => "delete and put",
        };
        if !seen.contains(&what) {
            seen.push(what);
        }
    }
    seen
}
