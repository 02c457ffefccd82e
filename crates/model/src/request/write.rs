//! A write of one item -> what is sent: the item or its key, the update, the condition.

use api::{
    BatchWriteItemInput, ConditionCheck, Delete, DeleteItemInput, DeleteRequest, Input, Put, PutItemInput,
    PutRequest, Request, TransactWriteItem, TransactWriteItemsInput, Update, UpdateItemInput, WriteRequest,
};
use item::{Item, Value};

use super::Unsendable;
use super::expression::Placeholders;
use super::write_case::{Touch, amount};
use crate::Model;
use crate::model::{Entity, Table, WriteVerb};
use crate::sample::{item, key_of};

/// One write, ready for any of the operations that write.
pub struct WriteParts {
    pub table_name: String,
    pub key: Item,
    pub item: Option<Item>,
    pub condition: Option<String>,
    pub update: Option<String>,
    pub placeholders: Placeholders,
}

/// The parts of the request that writes one item.
pub fn parts(model: &Model, touch: &Touch<'_>) -> Result<WriteParts, Unsendable> {
    let table = model.table(touch.table);
    let entity = model.entity(touch.entity);
    let mut placeholders = Placeholders::default();
    let condition = condition(&mut placeholders, table, entity, touch)?;
    let update = match touch.write.verb {
        WriteVerb::Update => update(&mut placeholders, touch),
        _ => None,
    };
    let any = touch.old.as_ref().or(touch.new.as_ref()).cloned().unwrap_or_default();
    Ok(WriteParts {
        table_name: table.name.value.clone(),
        key: item(&key_of(model, touch.table, &any)),
        item: touch.new.as_ref().map(item),
        condition,
        update,
        placeholders,
    })
}

/// The condition that the model asks for: no item before a create, the version that was read, and its `if`.
fn condition(
    placeholders: &mut Placeholders,
    table: &Table,
    entity: &Entity,
    touch: &Touch<'_>,
) -> Result<Option<String>, Unsendable> {
    let write = touch.write;
    let mut terms = Vec::new();
    let partition = table.key.as_ref().and_then(|key| key.partition.first()).map(|key| key.name.as_str());
    if let (WriteVerb::Create, Some(partition)) = (write.verb, partition) {
        terms.push(format!("attribute_not_exists({})", placeholders.name(partition)));
    }
    for term in write.condition.iter().flat_map(|condition| &condition.terms) {
        let text = placeholders.term(entity, table, term, &touch.given);
        terms.push(text.ok_or_else(|| Unsendable::unknown(term))?);
    }
    let version = write.version.as_ref().and_then(|name| Some((name, touch.old.as_ref()?.get(&name.value)?)));
    if let Some((name, value)) = version {
        terms.push(format!("{} = {}", placeholders.name(name), placeholders.value(name, value)));
    }
    if let (true, WriteVerb::Check, Some(partition)) = (terms.is_empty(), write.verb, partition) {
        terms.push(format!("attribute_exists({})", placeholders.name(partition)));
    }
    Ok((!terms.is_empty()).then(|| terms.join(" AND ")))
}

/// SET, ADD and REMOVE for everything that differs before and after, keys of indexes included.
fn update(placeholders: &mut Placeholders, touch: &Touch<'_>) -> Option<String> {
    let (old, new) = (touch.old.as_ref()?, touch.new.as_ref()?);
    let adds = |name: &str| touch.write.add.iter().find(|change| change.attribute.value == name);
    let asked = |name: &str| touch.write.set.iter().any(|change| change.attribute.value == name);
    let (mut set, mut add) = (Vec::new(), Vec::new());
    for (name, value) in new {
        if let Some(change) = adds(name) {
            let operand = added(&amount(change.to.as_ref()).to_string(), old.get(name), value);
            add.push(format!("{} {}", placeholders.name(name), placeholders.value(name, &operand)));
        } else if asked(name) || old.get(name) != Some(value) {
            set.push(format!("{} = {}", placeholders.name(name), placeholders.value(name, value)));
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let remove: Vec<String> = gone.map(|name| placeholders.name(name)).collect();
    let clause =
        |word: &str, parts: &[String]| (!parts.is_empty()).then(|| format!("{word} {}", parts.join(", ")));
    let clauses = [clause("SET", &set), clause("ADD", &add), clause("REMOVE", &remove)];
    let text = clauses.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// The operand of ADD: the number, or the new members of a set.
pub fn added(amount: &str, old: Option<&Value>, new: &Value) -> Value {
    match (old, new) {
        (Some(Value::Ss(old)), Value::Ss(new)) => Value::string_set(new.difference(old).cloned()),
        (Some(Value::Ns(old)), Value::Ns(new)) => Value::number_set(new.difference(old).cloned()),
        _ => item::Number::parse(amount).map_or_else(|_| new.clone(), Value::N),
    }
}

impl WriteParts {
    pub fn put_item(self) -> PutItemInput {
        PutItemInput {
            item: self.item.unwrap_or_default(),
            condition_expression: self.condition,
            expression_attribute_names: self.placeholders.names(),
            expression_attribute_values: self.placeholders.values(),
            table_name: self.table_name,
            ..PutItemInput::default()
        }
    }

    pub fn update_item(self) -> UpdateItemInput {
        UpdateItemInput {
            key: self.key,
            update_expression: self.update,
            condition_expression: self.condition,
            expression_attribute_names: self.placeholders.names(),
            expression_attribute_values: self.placeholders.values(),
            table_name: self.table_name,
            ..UpdateItemInput::default()
        }
    }

    pub fn delete_item(self) -> DeleteItemInput {
        DeleteItemInput {
            key: self.key,
            condition_expression: self.condition,
            expression_attribute_names: self.placeholders.names(),
            expression_attribute_values: self.placeholders.values(),
            table_name: self.table_name,
            ..DeleteItemInput::default()
        }
    }

    fn transact_item(self, verb: WriteVerb) -> TransactWriteItem {
        let (names, values) = (self.placeholders.names(), self.placeholders.values());
        let mut transact = TransactWriteItem::default();
        match verb {
            WriteVerb::Create | WriteVerb::Put => {
                transact.put = Some(Put {
                    item: self.item.unwrap_or_default(),
                    condition_expression: self.condition,
                    expression_attribute_names: names,
                    expression_attribute_values: values,
                    table_name: self.table_name,
                    ..Put::default()
                });
            }
            WriteVerb::Update => {
                transact.update = Some(Update {
                    key: self.key,
                    update_expression: self.update.unwrap_or_default(),
                    condition_expression: self.condition,
                    expression_attribute_names: names,
                    expression_attribute_values: values,
                    table_name: self.table_name,
                    ..Update::default()
                });
            }
            WriteVerb::Delete => {
                transact.delete = Some(Delete {
                    key: self.key,
                    condition_expression: self.condition,
                    expression_attribute_names: names,
                    expression_attribute_values: values,
                    table_name: self.table_name,
                    ..Delete::default()
                });
            }
            WriteVerb::Check => {
                transact.condition_check = Some(ConditionCheck {
                    key: self.key,
                    condition_expression: self.condition.unwrap_or_default(),
                    expression_attribute_names: names,
                    expression_attribute_values: values,
                    table_name: self.table_name,
                    ..ConditionCheck::default()
                });
            }
        }
        transact
    }
}

/// The request that writes one item.
pub fn single(model: &Model, touch: &Touch<'_>) -> Result<Request, Unsendable> {
    let parts = parts(model, touch)?;
    match touch.write.verb {
        WriteVerb::Create | WriteVerb::Put => Ok(parts.put_item().into_request()),
        WriteVerb::Update => Ok(parts.update_item().into_request()),
        WriteVerb::Delete => Ok(parts.delete_item().into_request()),
        WriteVerb::Check => Err(Unsendable::lone_check()),
    }
}

pub fn transaction(model: &Model, touches: &[Touch<'_>]) -> Result<TransactWriteItemsInput, Unsendable> {
    let items = touches.iter().map(|touch| Ok(parts(model, touch)?.transact_item(touch.write.verb)));
    Ok(TransactWriteItemsInput {
        transact_items: items.collect::<Result<_, Unsendable>>()?,
        ..TransactWriteItemsInput::default()
    })
}

/// A batch puts and deletes; it has neither updates nor conditions.
pub fn batch(model: &Model, touches: &[Touch<'_>]) -> Result<BatchWriteItemInput, Unsendable> {
    let mut input = BatchWriteItemInput { ..BatchWriteItemInput::default() };
    for touch in touches {
        let parts = parts(model, touch)?;
        let request = match (touch.write.verb, parts.item) {
            (WriteVerb::Create | WriteVerb::Put, Some(item)) => {
                WriteRequest { put_request: Some(PutRequest { item }), ..WriteRequest::default() }
            }
            (WriteVerb::Delete, _) => {
                let delete_request = Some(DeleteRequest { key: parts.key });
                WriteRequest { delete_request, ..WriteRequest::default() }
            }
            (verb, _) => {
                return Err(Unsendable::Impossible(format!(
                    "a batch puts and deletes; it has no {}",
                    verb.name()
                )));
            }
        };
        input.request_items.entry(parts.table_name).or_default().push(request);
    }
    Ok(input)
}
