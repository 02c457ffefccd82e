//! A shape of requests -> the access pattern that it is: which entity, by what, and what is asked of it.

use std::collections::BTreeMap;

use expression::condition::Operand;
use expression::key_condition::{KeyAttribute, KeyCondition, Range};
use expression::syntax::Comparator;
use expression::update::{Change, UpdateOperand as Written};
use expression::{Condition, Kind, Placeholders, Update};
use item::{Placeholder, Value, ValueBuf};
use serde_json::{Map, Value as Json, json};

use super::key::{self, GivenAttributes};
use super::shape::{ANY, Shape};
use crate::Model;
use crate::index_keys::{Touched, kept_keys};
use crate::model::{Entity, Grouping, KeySchema, Table, TableId};
use crate::predicate::Operator;
use crate::request::literal::value_of;
use crate::template::{Template, plain_text};

/// A pattern, without its rate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearnedPattern {
    pub grouping: Grouping,
    pub actions: Vec<LearnedAction>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LearnedAction {
    Read(LearnedRead),
    Write(LearnedWrite),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearnedRead {
    pub verb: &'static str,
    pub entities: Vec<String>,
    /// The attributes that the reader knows, with the value if it is a word.
    pub known: BTreeMap<String, Option<String>>,
    pub terms: Vec<String>,
    pub filter: Vec<String>,
    pub order: Option<(String, bool)>,
    pub limit: Option<u64>,
    pub read: Option<Vec<String>>,
    pub counts: bool,
    pub is_strong: bool,
    pub index: Option<String>,
    /// How many requests it takes.
    pub fan_out: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearnedWrite {
    pub verb: &'static str,
    pub entity: String,
    pub by: Vec<String>,
    /// The attributes that are set; to what, if that is a word.
    pub set: BTreeMap<String, Option<NewValue>>,
    pub add: Vec<String>,
    pub remove: Vec<String>,
    pub condition: Vec<String>,
    pub version: Option<String>,
}

/// `OPEN -> SHIPPED`. What it was before is known if the condition says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewValue {
    pub from: Option<String>,
    pub to: String,
}

/// The pattern of a shape and how often each action is in it; or why there is none.
pub fn of_shape(model: &Model, shape: &Shape) -> Result<(LearnedPattern, Vec<u64>), String> {
    let single = |action: LearnedAction| {
        (LearnedPattern { grouping: Grouping::Single, actions: vec![action] }, vec![1])
    };
    let input = &shape.input;
    match shape.operation.as_str() {
        "GetItem" => Ok(single(LearnedAction::Read(get(model, input)?))),
        "Query" => Ok(single(LearnedAction::Read(query(model, input)?))),
        "Scan" => Ok(single(LearnedAction::Read(scan(model, input)?))),
        "PutItem" => Ok(single(LearnedAction::Write(put(model, input)?))),
        "UpdateItem" => Ok(single(LearnedAction::Write(update(model, input)?))),
        "DeleteItem" => Ok(single(LearnedAction::Write(on_key(model, input, "delete")?))),
        "TransactWriteItems" | "TransactGetItems" => {
            let actions = input["TransactItems"].as_array().into_iter().flatten().map(|one| {
                let (verb, inner) =
                    one.as_object().and_then(|one| one.iter().next()).ok_or("a transaction without items")?;
                match verb.as_str() {
                    "Get" => get(model, inner).map(LearnedAction::Read),
                    "Put" => put(model, inner).map(LearnedAction::Write),
                    "Update" => update(model, inner).map(LearnedAction::Write),
                    "Delete" => on_key(model, inner, "delete").map(LearnedAction::Write),
                    _ => on_key(model, inner, "check").map(LearnedAction::Write),
                }
            });
            Ok(grouped(Grouping::Transaction, actions.collect::<Result<_, String>>()?))
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = input["RequestItems"].as_object().into_iter().flatten();
            let actions = tables.flat_map(|(table, asked)| batched(model, table, asked));
            Ok(grouped(Grouping::Batch, actions.collect::<Result<_, String>>()?))
        }
        other => Err(format!("{other} is not read: `{}`", input["Statement"].as_str().unwrap_or_default())),
    }
}

/// Equal actions once, with how often they are there.
fn grouped(grouping: Grouping, actions: Vec<LearnedAction>) -> (LearnedPattern, Vec<u64>) {
    let mut times: Vec<(LearnedAction, u64)> = Vec::new();
    for action in actions {
        match times.iter_mut().find(|(known, _)| *known == action) {
            Some((_, count)) => *count += 1,
            None => times.push((action, 1)),
        }
    }
    let (actions, times) = times.into_iter().unzip();
    (LearnedPattern { grouping, actions }, times)
}

fn batched(model: &Model, table: &str, asked: &Json) -> Vec<Result<LearnedAction, String>> {
    match asked {
        Json::Array(writes) => {
            let write = |one: &Json| {
                let item = &one["PutRequest"]["Item"];
                let asked = json!({ "TableName": table, "Item": item, "Key": one["DeleteRequest"]["Key"] });
                let write =
                    if item.is_object() { put(model, &asked) } else { on_key(model, &asked, "delete") };
                write.map(LearnedAction::Write)
            };
            writes.iter().map(write).collect()
        }
        asked => {
            let get = |key: &Json| {
                let asked =
                    json!({ "TableName": table, "Key": key, "ConsistentRead": asked["ConsistentRead"] });
                get(model, &asked).map(LearnedAction::Read)
            };
            asked["Keys"].as_array().into_iter().flatten().map(get).collect()
        }
    }
}

fn table<'m>(model: &'m Model, input: &Json) -> Result<(TableId, &'m Table), String> {
    let name = input["TableName"].as_str().unwrap_or_default();
    let id = model.table_ids().find(|id| model.table(*id).name.value == name);
    let id = id.ok_or_else(|| format!("table {name} is not described"))?;
    Ok((id, model.table(id)))
}

/// The entity that has such keys. Of several the one of which fewest words are guessed.
fn of_key<'m>(model: &'m Model, input: &Json, member: &str) -> Result<(&'m Entity, GivenAttributes), String> {
    let (id, table) = table(model, input)?;
    let schema = table.key.as_ref().ok_or("a table without keys")?;
    let given = |entity: &Entity| {
        let mut all = GivenAttributes::default();
        for (key, template) in schema.attributes().zip(entity.key_templates()) {
            let given = key::equal(template, &text(&input[member][key.name.as_str()])?)?;
            all.guesses += given.guesses;
            all.known.extend(given.known);
        }
        Some(all)
    };
    let fitting = model.entities_of(id).filter_map(|(_, entity)| Some((entity, given(entity)?)));
    fitting.min_by_key(|(_, given)| given.guesses).ok_or_else(|| {
        let texts =
            schema.attributes().map(|key| text(&input[member][key.name.as_str()]).unwrap_or_default());
        format!("table {}: no item has a key like {}", table.name.value, texts.collect::<Vec<_>>().join(", "))
    })
}

/// The text of a value in DynamoDB JSON, as it stands in a key.
fn text(value: &Json) -> Option<String> {
    value.is_object().then(|| plain_text(&value_of(value)))
}

fn get(model: &Model, input: &Json) -> Result<LearnedRead, String> {
    let (entity, given) = of_key(model, input, "Key")?;
    Ok(LearnedRead {
        verb: "get",
        entities: vec![entity.name.value.clone()],
        known: given.known.into_iter().map(|(name, _)| (name, None)).collect(),
        read: projected(model, input)?,
        is_strong: input["ConsistentRead"] == true,
        fan_out: 1,
        ..LearnedRead::default()
    })
}

fn scan(model: &Model, input: &Json) -> Result<LearnedRead, String> {
    let (id, _) = table(model, input)?;
    Ok(LearnedRead {
        verb: "scan",
        entities: model.entities_of(id).map(|(_, entity)| entity.name.value.clone()).collect(),
        filter: conditions(model, input, "FilterExpression")?,
        limit: input["Limit"].as_u64(),
        read: projected(model, input)?,
        counts: input["Select"] == "COUNT",
        is_strong: input["ConsistentRead"] == true,
        index: input["IndexName"].as_str().map(str::to_owned),
        fan_out: 1,
        ..LearnedRead::default()
    })
}

/// What a Query asks of one entity.
struct Asked {
    given: GivenAttributes,
    terms: Vec<String>,
    next: Option<String>,
}

fn query(model: &Model, input: &Json) -> Result<LearnedRead, String> {
    let (id, table) = table(model, input)?;
    let index = input["IndexName"].as_str();
    let position = index.map(|name| table.indexes.iter().position(|index| index.name.value == name));
    let schema = match position {
        None => table.key.as_ref().ok_or("a table without keys")?,
        Some(Some(position)) => &table.indexes[position].key,
        Some(None) => return Err(format!("table {} has no index {}", table.name.value, index.unwrap_or(""))),
    };
    let range = key_range(schema, input)?;
    let position = position.flatten();
    let mut found: Vec<(&Entity, Asked)> = Vec::new();
    for (_, entity) in model.entities_of(id) {
        let templates: Option<(Vec<&Template>, Vec<&Template>)> = match position {
            None => entity.key.as_ref().map(|key| (vec![&key.partition], key.sort.iter().collect())),
            Some(position) => entity
                .entries
                .iter()
                .find(|entry| entry.index.0 == position)
                .map(|entry| (entry.partition.iter().collect(), entry.sort.iter().collect())),
        };
        let Some((partition, sort)) = templates else { continue };
        if let Some(asked) = asked(&partition, &sort, &range) {
            found.push((entity, asked));
        }
    }
    let least = found.iter().map(|(_, asked)| asked.given.guesses).min().unwrap_or(0);
    found.retain(|(_, asked)| asked.given.guesses == least);
    let Some((first, asked)) = found.first() else {
        let texts: Vec<String> = range.partition.iter().map(plain).collect();
        return Err(format!("table {}: no item has a key like {}", table.name.value, texts.join(", ")));
    };
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, word) in &asked.given.known {
        // What all of several entities tell is known; what only one has says nothing about the others.
        if found.iter().all(|(_, asked)| asked.given.known.iter().any(|(other, _)| other == name)) {
            known.insert(name.clone(), word.clone());
        }
    }
    let unknown =
        asked.given.shards.iter().filter(|(attribute, _)| {
            attribute.as_ref().is_none_or(|attribute| !known.contains_key(attribute))
        });
    let fan_out = unknown.map(|(_, count)| *count).product::<u64>().max(1);
    let mut terms = asked.terms.clone();
    let entry = position.and_then(|index| first.entries.iter().find(|entry| entry.index.0 == index));
    let sparse = entry.and_then(|entry| entry.when.as_ref()).filter(|_| found.len() == 1);
    for term in sparse.into_iter().flat_map(|when| &when.terms) {
        match (term.operator, term.operands.first()) {
            (Operator::Equal, Some(crate::predicate::Operand::Literal(value))) => {
                known.insert(term.attribute.value.clone(), Some(value.clone()));
            }
            _ => terms.push(term.to_string()),
        }
    }
    let descending = input["ScanIndexForward"] == false;
    Ok(LearnedRead {
        verb: "query",
        entities: found.iter().map(|(entity, _)| entity.name.value.clone()).collect(),
        known,
        terms,
        filter: conditions(model, input, "FilterExpression")?,
        order: asked.next.clone().filter(|_| found.len() == 1).map(|next| (next, descending)),
        limit: input["Limit"].as_u64(),
        read: projected(model, input)?,
        counts: input["Select"] == "COUNT",
        is_strong: input["ConsistentRead"] == true,
        index: index.map(str::to_owned),
        fan_out,
    })
}

fn asked(
    partition: &[&Template],
    sort: &[&Template],
    range: &expression::key_condition::KeyRange,
) -> Option<Asked> {
    let mut given = GivenAttributes::default();
    let mut add = |one: GivenAttributes| {
        given.guesses += one.guesses;
        given.known.extend(one.known);
        given.shards.extend(one.shards);
    };
    for (template, value) in partition.iter().zip(&range.partition) {
        add(key::equal(template, &plain(value))?);
    }
    for (template, value) in sort.iter().zip(&range.sort_prefix) {
        add(key::equal(template, &plain(value))?);
    }
    let Some(template) = sort.get(range.sort_prefix.len()) else {
        return Some(Asked { given, terms: Vec::new(), next: None });
    };
    let first = |given: &GivenAttributes| given.known.last().map(|(name, _)| name.clone());
    let mut terms = Vec::new();
    let next = match &range.sort {
        None => key::begin(template, "")?.next,
        Some(Range::Equal(value)) => {
            add(key::equal(template, &plain(value))?);
            None
        }
        Some(Range::BeginsWith(value)) => {
            let mut begun = key::begin(template, &plain(value))?;
            let next = begun.next.clone();
            if begun.is_partial
                && let Some((name, _)) = begun.known.pop()
            {
                terms.push(format!("{name} begins_with {}", parameter(&name)));
                add(begun);
                Some(name)
            } else {
                add(begun);
                next
            }
        }
        Some(Range::Between(lower, upper)) => {
            let (lower, upper) = (key::bound(template, &plain(lower))?, key::bound(template, &plain(upper))?);
            let longer = if lower.known.len() >= upper.known.len() { &lower } else { &upper };
            let ranged = first(longer);
            let mut common = longer.clone();
            common.known.pop();
            let has = |given: &GivenAttributes| ranged.is_some() && first(given) == ranged;
            if let Some(name) = &ranged {
                terms.push(match (has(&lower), has(&upper)) {
                    (true, false) => format!("{name} >= {}", parameter(name)),
                    (false, true) => format!("{name} <= {}", parameter(name)),
                    _ => format!("{name} between {0}From and {0}To", parameter(name)),
                });
            }
            let next = ranged.or_else(|| longer.next.clone());
            add(common);
            next
        }
        Some(Range::Less(value)) => Some(compared(template, value, "<", &mut terms, &mut add)?),
        Some(Range::LessOrEqual(value)) => Some(compared(template, value, "<=", &mut terms, &mut add)?),
        Some(Range::Greater(value)) => Some(compared(template, value, ">", &mut terms, &mut add)?),
        Some(Range::GreaterOrEqual(value)) => Some(compared(template, value, ">=", &mut terms, &mut add)?),
    };
    Some(Asked { given, terms, next })
}

/// A sort key on one side of a bound: the last attribute that the bound has is compared.
fn compared(
    template: &Template,
    value: &ValueBuf,
    operator: &str,
    terms: &mut Vec<String>,
    add: &mut impl FnMut(GivenAttributes),
) -> Option<String> {
    let mut given = key::bound(template, &plain(value))?;
    let (name, _) = given.known.pop()?;
    terms.push(format!("{name} {operator} {}", parameter(&name)));
    add(given);
    Some(name)
}

fn plain(value: &ValueBuf) -> String {
    plain_text(&Value::from(value.as_ref()))
}

fn parameter(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Placeholder::Value.of(&word)
}

fn names(input: &Json) -> BTreeMap<String, String> {
    let names = input["ExpressionAttributeNames"].as_object().into_iter().flatten();
    names.filter_map(|(key, name)| Some((key.clone(), name.as_str()?.to_owned()))).collect()
}

fn values(input: &Json) -> BTreeMap<String, ValueBuf> {
    let values = input["ExpressionAttributeValues"].as_object().into_iter().flatten();
    values.map(|(key, value)| (key.clone(), ValueBuf::from(value_of(value)))).collect()
}

fn key_range(schema: &KeySchema, input: &Json) -> Result<expression::key_condition::KeyRange, String> {
    let text = input["KeyConditionExpression"].as_str();
    let text = text.ok_or("a Query without KeyConditionExpression is not read")?;
    let (names, values) = (names(input), values(input));
    let mut placeholders = Placeholders::new(Some(&names), Some(&values));
    let condition = KeyCondition::parse(text, &mut placeholders);
    let resolved = condition
        .and_then(|condition| condition.resolve(&attributes(&schema.partition), &attributes(&schema.sort)));
    resolved.map_err(|_| format!("`{text}` is no key condition of this table"))
}

fn attributes(side: &[crate::model::KeyAttribute]) -> Vec<KeyAttribute<'_>> {
    side.iter().map(|key| KeyAttribute { name: &key.name, kind: key.kind }).collect()
}

/// The attributes that are read, without composed keys; `None` if all are.
fn projected(model: &Model, input: &Json) -> Result<Option<Vec<String>>, String> {
    let Some(text) = input["ProjectionExpression"].as_str() else { return Ok(None) };
    let (id, _) = table(model, input)?;
    let names = names(input);
    let is_stored = |name: &str| model.entities_of(id).any(|(_, entity)| entity.attribute(name).is_some());
    let mut read: Vec<String> = text
        .split(',')
        .map(|path| path.trim().split(['.', '[']).next().unwrap_or_default().to_owned())
        .map(|name| names.get(&name).cloned().unwrap_or(name))
        .filter(|name| is_stored(name))
        .collect();
    read.sort();
    read.dedup();
    Ok(Some(read))
}

fn put(model: &Model, input: &Json) -> Result<LearnedWrite, String> {
    let (entity, _) = of_key(model, input, "Item")?;
    let terms = terms(model, input, "ConditionExpression")?;
    let is_create = terms.iter().any(|term| term.is_absence);
    Ok(LearnedWrite {
        verb: if is_create { "create" } else { "put" },
        entity: entity.name.value.clone(),
        condition: terms.into_iter().filter(|term| !term.is_absence).map(|term| term.text).collect(),
        ..LearnedWrite::default()
    })
}

fn on_key(model: &Model, input: &Json, verb: &'static str) -> Result<LearnedWrite, String> {
    let (entity, given) = of_key(model, input, "Key")?;
    let mut by: Vec<String> = given.known.into_iter().map(|(name, _)| name).collect();
    by.sort();
    by.dedup();
    Ok(LearnedWrite {
        verb,
        entity: entity.name.value.clone(),
        by,
        condition: conditions(model, input, "ConditionExpression")?,
        ..LearnedWrite::default()
    })
}

fn update(model: &Model, input: &Json) -> Result<LearnedWrite, String> {
    let mut write = on_key(model, input, "update")?;
    let (entity, _) = of_key(model, input, "Key")?;
    let (_, table) = table(model, input)?;
    let text =
        input["UpdateExpression"].as_str().ok_or("an UpdateItem without UpdateExpression is not read")?;
    let (names, values) = (names(input), values(input));
    let update = Update::parse(text, &mut Placeholders::new(Some(&names), Some(&values)))
        .map_err(|_| format!("`{text}` is no update"))?;
    let terms = terms(model, input, "ConditionExpression")?;
    let is_composed = |name: &str| {
        entity.attribute(name).is_none() && table.indexes.iter().any(|index| index.key.names(name))
    };
    for action in update.actions() {
        let name = action.target.attribute.as_str();
        // What the key gives is the same after the write: ElectroDB writes it each time.
        if is_composed(name) || write.by.iter().any(|known| known == name) || name.starts_with("__edb_") {
            continue;
        }
        let compared = terms.iter().find(|term| term.equals.as_ref().is_some_and(|(one, _)| one == name));
        match &action.change {
            Change::Set(Written::Sum(..)) | Change::Add(_) if compared.is_some_and(|term| term.is_number) => {
                write.version = Some(name.to_owned());
            }
            Change::Set(Written::Value(_)) if compared.is_some_and(|term| term.is_number) => {
                write.version = Some(name.to_owned());
            }
            Change::Set(Written::Value(value)) => {
                let from = compared.and_then(|term| term.equals.as_ref()?.1.clone());
                write.set.insert(name.to_owned(), word(value).map(|to| NewValue { from, to }));
            }
            Change::Set(Written::Sum(..) | Written::Difference(..)) | Change::Add(_) => {
                write.add.push(name.to_owned());
            }
            Change::Set(_) => {
                write.set.insert(name.to_owned(), None);
            }
            Change::Remove => write.remove.push(name.to_owned()),
            Change::Delete(_) => {
                write.set.insert(name.to_owned(), None);
            }
        }
    }
    write.add.sort();
    write.remove.sort();
    let is_version = |term: &Term| {
        term.equals.as_ref().is_some_and(|(name, _)| write.version.as_deref() == Some(name.as_str()))
    };
    write.condition = terms.iter().filter(|term| !is_version(term)).map(|term| term.text.clone()).collect();
    write.condition.dedup();
    Ok(write)
}

/// The index keys that the updates of a shape leave as they were, in words: they are made of what it changes.
pub fn stale(model: &Model, shape: &Shape) -> Vec<String> {
    let transacted = shape.input["TransactItems"].as_array().into_iter().flatten();
    let updates =
        transacted.map(|one| &one["Update"]).chain((shape.operation == "UpdateItem").then_some(&shape.input));
    updates.flat_map(|input| stale_in(model, input, shape.seen.requests)).collect()
}

fn stale_in(model: &Model, input: &Json, requests: u64) -> Vec<String> {
    let (Ok((entity, _)), Ok((_, table)), Some(touched)) =
        (of_key(model, input, "Key"), table(model, input), Touched::by_update(input))
    else {
        return Vec::new();
    };
    let kept = kept_keys(table, entity, &touched).into_iter();
    kept.map(|kept| {
        let (name, index) = (&entity.name.value, &table.index(kept.index).name.value);
        format!(
            "{requests} updates of `{name}` leave index `{index}` stale: they change `{}`, and not `{}`, which is made of it",
            kept.attribute, kept.key
        )
    })
    .collect()
}

/// A comparison of a condition, as a model file has it.
struct Term {
    text: String,
    /// The attribute that must equal a value; which, if it is a word.
    equals: Option<(String, Option<String>)>,
    is_number: bool,
    /// That there is no such item yet.
    is_absence: bool,
}

fn conditions(model: &Model, input: &Json, member: &str) -> Result<Vec<String>, String> {
    Ok(terms(model, input, member)?.into_iter().map(|term| term.text).collect())
}

fn terms(model: &Model, input: &Json, member: &str) -> Result<Vec<Term>, String> {
    let Some(text) = input[member].as_str() else { return Ok(Vec::new()) };
    let (names, values) = (names(input), values(input));
    let condition = Condition::parse(Kind::Filter, text, &mut Placeholders::new(Some(&names), Some(&values)));
    let condition = condition.map_err(|_| format!("`{text}` is no condition"))?;
    let (_, table) = table(model, input)?;
    let mut terms = Vec::new();
    collect(&condition, table, &mut terms)
        .ok_or_else(|| format!("`{text}` is more than comparisons joined by AND"))?;
    Ok(terms)
}

fn collect(condition: &Condition, table: &Table, terms: &mut Vec<Term>) -> Option<()> {
    let is_key = |name: &str| table.key.as_ref().is_some_and(|key| key.names(name));
    let mut add = |text: String, equals, is_number, is_absence| {
        terms.push(Term { text, equals, is_number, is_absence });
    };
    match condition {
        Condition::And(all) => {
            for one in all {
                collect(one, table, terms)?;
            }
        }
        Condition::AttributeExists(path) if is_key(&path.attribute) => {
            add("exists".to_owned(), None, false, false)
        }
        Condition::AttributeNotExists(path) if is_key(&path.attribute) => {
            add("not exists".to_owned(), None, false, true);
        }
        Condition::AttributeExists(path) => add(format!("exists {}", path.attribute), None, false, false),
        Condition::AttributeNotExists(path) => {
            add(format!("not exists {}", path.attribute), None, false, false)
        }
        Condition::Compare { comparator, left, right } => {
            let (name, comparator, value) = match (left, right) {
                (Operand::Path(path), Operand::Value(value)) => (&path.attribute, *comparator, value),
                (Operand::Value(value), Operand::Path(path)) => {
                    (&path.attribute, comparator.mirrored(), value)
                }
                _ => return None,
            };
            let equals = (comparator == Comparator::Equal).then(|| (name.clone(), word(value)));
            let is_number = matches!(Value::from(value.as_ref()), Value::N(_));
            add(format!("{name} {} {}", comparator.sign(), operand(name, value)), equals, is_number, false);
        }
        Condition::Between { subject: Operand::Path(path), .. } => {
            let name = &path.attribute;
            add(format!("{name} between {0}From and {0}To", parameter(name)), None, false, false);
        }
        Condition::BeginsWith(Operand::Path(path), Operand::Value(value)) => {
            let name = &path.attribute;
            add(format!("{name} begins_with {}", operand(name, value)), None, false, false);
        }
        Condition::Contains(Operand::Path(path), Operand::Value(value)) => {
            let name = &path.attribute;
            add(format!("{name} contains {}", operand(name, value)), None, false, false);
        }
        Condition::In { subject: Operand::Path(path), members } => {
            let name = &path.attribute;
            let members = members.iter().enumerate().map(|(number, member)| match member {
                Operand::Value(value) => {
                    word(value).unwrap_or_else(|| format!("{}{number}", parameter(name)))
                }
                _ => format!("{}{number}", parameter(name)),
            });
            let members: Vec<String> = members.collect();
            add(format!("{name} in ({})", members.join(", ")), None, false, false);
        }
        _ => return None,
    }
    Some(())
}

/// A value that is the same in all requests of a shape.
fn word(value: &ValueBuf) -> Option<String> {
    match Value::from(value.as_ref()) {
        Value::S(text) if !text.contains(ANY) && !text.is_empty() => Some(text),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn operand(name: &str, value: &ValueBuf) -> String {
    word(value).unwrap_or_else(|| parameter(name))
}

impl LearnedRead {
    pub fn fields(&self) -> Map<String, Json> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Json| {
            fields.insert(name.to_owned(), value);
        };
        match <&[String; 1]>::try_from(self.entities.as_slice()) {
            Ok([one]) => put(self.verb, one.as_str().into()),
            Err(_) => put(self.verb, json!(self.entities)),
        }
        let by: Vec<&String> =
            self.known.iter().filter(|(_, word)| word.is_none()).map(|(name, _)| name).collect();
        if !by.is_empty() {
            put("by", json!(by));
        }
        let equal = self.known.iter().filter_map(|(name, word)| Some(format!("{name} = {}", word.as_ref()?)));
        let terms: Vec<String> = equal.chain(self.terms.iter().cloned()).collect();
        if !terms.is_empty() {
            put("where", terms.join(" and ").into());
        }
        if !self.filter.is_empty() {
            put("filter", self.filter.join(" and ").into());
        }
        if let Some((attribute, descending)) = &self.order {
            put("order", format!("{attribute}{}", if *descending { " desc" } else { "" }).into());
        }
        if let Some(limit) = self.limit {
            put("limit", limit.into());
        }
        match &self.read {
            _ if self.counts => put("read", "count".into()),
            Some(names) if names.is_empty() => put("read", "keys".into()),
            Some(names) => put("read", json!(names)),
            None => {}
        }
        if let Some(index) = &self.index {
            put("index", index.as_str().into());
        }
        if self.fan_out > 1 {
            put("fan-out", self.fan_out.into());
        }
        put("consistency", if self.is_strong { "strong" } else { "eventual" }.into());
        fields
    }

    /// `query-order-by-customerId`.
    pub fn name(&self) -> String {
        let by: Vec<&str> = self.known.keys().map(String::as_str).collect();
        let by = if by.is_empty() { String::new() } else { format!("-by-{}", by.join("-and-")) };
        format!("{}-{}{by}", self.verb, self.entities.join("-and-"))
    }
}

impl LearnedWrite {
    pub fn fields(&self) -> Map<String, Json> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Json| {
            fields.insert(name.to_owned(), value);
        };
        put(self.verb, self.entity.as_str().into());
        if !self.by.is_empty() {
            put("by", json!(self.by));
        }
        let change = |(name, value): (&String, &Option<NewValue>)| {
            let text = match value {
                Some(NewValue { from: Some(from), to }) => format!("{from} -> {to}"),
                Some(NewValue { from: None, to }) => to.clone(),
                None => parameter(name),
            };
            (name.clone(), Json::String(text))
        };
        if self.set.values().any(Option::is_some) {
            put("set", Json::Object(self.set.iter().map(change).collect()));
        } else if !self.set.is_empty() {
            put("set", json!(self.set.keys().collect::<Vec<_>>()));
        }
        for (member, names) in [("add", &self.add), ("remove", &self.remove)] {
            if !names.is_empty() {
                put(member, json!(names));
            }
        }
        if !self.condition.is_empty() {
            put("if", self.condition.join(" and ").into());
        }
        if let Some(version) = &self.version {
            put("version", version.as_str().into());
        }
        fields
    }
}

impl LearnedAction {
    fn fields(&self) -> Map<String, Json> {
        match self {
            LearnedAction::Read(read) => read.fields(),
            LearnedAction::Write(write) => write.fields(),
        }
    }
}

impl LearnedPattern {
    /// The pattern as a model file has it.
    pub fn fields(&self, times: &[u64]) -> Map<String, Json> {
        let member = match self.grouping {
            Grouping::Single => return self.actions.first().map(LearnedAction::fields).unwrap_or_default(),
            Grouping::Transaction => "transact",
            Grouping::Batch => "batch",
        };
        let action = |(action, times): (&LearnedAction, &u64)| {
            let mut fields = action.fields();
            fields.remove("consistency");
            if *times > 1 {
                fields.insert("times".to_owned(), (*times).into());
            }
            Json::Object(fields)
        };
        let actions: Vec<Json> = self.actions.iter().zip(times).map(action).collect();
        Map::from_iter([(member.to_owned(), Json::Array(actions))])
    }

    pub fn name(&self) -> String {
        let of = |action: &LearnedAction| match action {
            LearnedAction::Read(read) => read.name(),
            LearnedAction::Write(write) => format!("{}-{}", write.verb, write.entity),
        };
        let names: Vec<String> = self.actions.iter().map(of).collect();
        names.join("-")
    }

    pub fn fan_out(&self) -> u64 {
        match self.actions.as_slice() {
            [LearnedAction::Read(read)] => read.fan_out.max(1),
            _ => 1,
        }
    }
}
