//! Requests that the application and the jobs send.

use api::{
    ConditionCheck, Delete, DeleteItemInput, Error, ErrorKind, GetItemInput, Put, PutItemInput, ScanInput,
    TransactWriteItem, TransactWriteItemsInput, Update, UpdateItemInput,
};
use item::Item;
use model::predict::item::Values;
use model::request::expression::Placeholders;
use model::sample::item;

use crate::database::{Database, values};

/// What must hold for an item to be written.
#[derive(Clone, Debug)]
pub enum Condition {
    Exists(String),
    Lacks(String),
    /// The attribute is as it was read; `None` if it was absent.
    Is(String, Option<item::Value>),
}

/// One write of an item.
#[derive(Clone, Debug)]
pub enum ItemChange {
    Put { table: String, item: Values, conditions: Vec<Condition> },
    Update { table: String, key: Values, from: Values, to: Values, conditions: Vec<Condition> },
    Delete { table: String, key: Values },
    Check { table: String, key: Values, conditions: Vec<Condition> },
}

/// Returns whether it was written; `false` if a condition failed.
pub async fn send(database: &Database, mut changes: Vec<ItemChange>) -> Result<bool, String> {
    let sent = match (changes.len(), changes.pop()) {
        (_, None) => return Ok(false),
        (1, Some(change)) => single(database, change).await,
        (_, Some(last)) => {
            changes.push(last);
            let transact_items = changes.into_iter().map(ItemChange::transacted).collect();
            let input = TransactWriteItemsInput { transact_items, ..TransactWriteItemsInput::default() };
            database.call(input).await.map(|_| ())
        }
    };
    match sent {
        Ok(()) => Ok(true),
        Err(error) if is_refusal(&error) => Ok(false),
        Err(error) => Err(error.message),
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled)
        && error.throttling_reasons.is_empty()
}

async fn single(database: &Database, change: ItemChange) -> Result<(), Error> {
    let one = change.transacted();
    if let Some(put) = one.put {
        let input = PutItemInput {
            table_name: put.table_name,
            item: put.item,
            condition_expression: put.condition_expression,
            expression_attribute_names: put.expression_attribute_names,
            expression_attribute_values: put.expression_attribute_values,
            ..PutItemInput::default()
        };
        return database.call(input).await.map(|_| ());
    }
    if let Some(update) = one.update {
        let input = UpdateItemInput {
            table_name: update.table_name,
            key: update.key,
            update_expression: Some(update.update_expression),
            condition_expression: update.condition_expression,
            expression_attribute_names: update.expression_attribute_names,
            expression_attribute_values: update.expression_attribute_values,
            ..UpdateItemInput::default()
        };
        return database.call(input).await.map(|_| ());
    }
    if let Some(delete) = one.delete {
        let input =
            DeleteItemInput { table_name: delete.table_name, key: delete.key, ..DeleteItemInput::default() };
        return database.call(input).await.map(|_| ());
    }
    Ok(())
}

impl ItemChange {
    fn transacted(self) -> TransactWriteItem {
        let mut transact = TransactWriteItem::default();
        let mut placeholders = Placeholders::default();
        match self {
            ItemChange::Put { table, item: new, conditions } => {
                let condition_expression = condition(&conditions, &mut placeholders);
                transact.put = Some(Put {
                    table_name: table,
                    item: item(&new),
                    condition_expression,
                    expression_attribute_names: placeholders.names(),
                    expression_attribute_values: placeholders.values(),
                    ..Put::default()
                });
            }
            ItemChange::Update { table, key, from, to, conditions } => {
                let update_expression = difference(&from, &to, &mut placeholders);
                let condition_expression = condition(&conditions, &mut placeholders);
                transact.update = Some(Update {
                    table_name: table,
                    key: item(&key),
                    update_expression,
                    condition_expression,
                    expression_attribute_names: placeholders.names(),
                    expression_attribute_values: placeholders.values(),
                    ..Update::default()
                });
            }
            ItemChange::Delete { table, key } => {
                transact.delete = Some(Delete { table_name: table, key: item(&key), ..Delete::default() });
            }
            ItemChange::Check { table, key, conditions } => {
                transact.condition_check = Some(ConditionCheck {
                    table_name: table,
                    key: item(&key),
                    condition_expression: condition(&conditions, &mut placeholders).unwrap_or_default(),
                    expression_attribute_names: placeholders.names(),
                    expression_attribute_values: placeholders.values(),
                    ..ConditionCheck::default()
                });
            }
        }
        transact
    }
}

fn condition(conditions: &[Condition], placeholders: &mut Placeholders) -> Option<String> {
    let terms: Vec<String> = conditions
        .iter()
        .map(|condition| match condition {
            Condition::Exists(name) => format!("attribute_exists({})", placeholders.name(name)),
            Condition::Lacks(name) | Condition::Is(name, None) => {
                format!("attribute_not_exists({})", placeholders.name(name))
            }
            Condition::Is(name, Some(value)) => {
                format!("{} = {}", placeholders.name(name), placeholders.value(name, value))
            }
        })
        .collect();
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// SET and REMOVE for everything that differs.
fn difference(from: &Values, to: &Values, placeholders: &mut Placeholders) -> String {
    let changed = to.iter().filter(|(name, value)| from.get(*name) != Some(value));
    let set: Vec<String> = changed
        .map(|(name, value)| format!("{} = {}", placeholders.name(name), placeholders.value(name, value)))
        .collect();
    let gone = from.keys().filter(|name| !to.contains_key(*name));
    let remove: Vec<String> = gone.map(|name| placeholders.name(name)).collect();
    let clause =
        |word: &str, parts: &[String]| (!parts.is_empty()).then(|| format!("{word} {}", parts.join(", ")));
    [clause("SET", &set), clause("REMOVE", &remove)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

pub async fn get(database: &Database, table: &str, key: &Values) -> Result<Option<Values>, String> {
    let input = GetItemInput {
        table_name: table.to_owned(),
        key: item(key),
        consistent_read: Some(true),
        ..GetItemInput::default()
    };
    let output = database.call(input).await.map_err(|error| error.message)?;
    Ok(output.item.as_ref().map(values))
}

/// One page of a table, and the key where the next begins.
pub async fn page(
    database: &Database,
    table: &str,
    start: Option<Item>,
    limit: Option<i32>,
) -> Result<(Vec<Values>, Option<Item>), String> {
    let input = ScanInput {
        table_name: table.to_owned(),
        exclusive_start_key: start,
        limit,
        consistent_read: Some(true),
        ..ScanInput::default()
    };
    let output = database.call(input).await.map_err(|error| error.message)?;
    Ok((output.items.iter().flatten().map(values).collect(), output.last_evaluated_key))
}

pub async fn all(database: &Database, table: &str) -> Result<Vec<Values>, String> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let (items, next) = page(database, table, start, None).await?;
        found.extend(items);
        start = next;
        if start.is_none() {
            return Ok(found);
        }
    }
}
