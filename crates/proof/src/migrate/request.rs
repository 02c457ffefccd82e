//! Requests that jobs send, and the application of a rehearsal.

use api::{
    ConditionCheck, ConsumedCapacity, Delete, DeleteItemInput, Error, ErrorKind, GetItemInput, Put,
    PutItemInput, ReturnConsumedCapacity, ScanInput, TransactWriteItem, TransactWriteItemsInput, Update,
    UpdateItemInput,
};
use item::Item;
use model::predict::item::Values;
use model::request::expression::Placeholders;
use model::sample::item;

use crate::database::values;
use crate::endpoint::{Endpoint, call};

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
    Delete { table: String, key: Values, conditions: Vec<Condition> },
    Check { table: String, key: Values, conditions: Vec<Condition> },
}

/// The result of a write.
#[derive(Debug, Default)]
pub struct Sent {
    /// `false` if a condition failed, or another write of the item was under way.
    pub written: bool,
    /// What it used; nothing is known of a write that was refused.
    pub used: Vec<ConsumedCapacity>,
}

/// One change as a request of its own, several in a transaction.
pub async fn send(endpoint: &dyn Endpoint, mut changes: Vec<ItemChange>) -> Result<Sent, Error> {
    let sent = match (changes.len(), changes.pop()) {
        (_, None) => return Ok(Sent::default()),
        (1, Some(change)) => single(endpoint, change).await,
        (_, Some(last)) => {
            changes.push(last);
            let transact_items = changes.into_iter().map(ItemChange::transacted).collect();
            let input = TransactWriteItemsInput {
                transact_items,
                return_consumed_capacity: IN_DETAIL,
                ..TransactWriteItemsInput::default()
            };
            call(endpoint, input).await.map(|output| output.consumed_capacity.unwrap_or_default())
        }
    };
    match sent {
        Ok(used) => Ok(Sent { written: true, used }),
        Err(error) if is_refusal(&error) => Ok(Sent::default()),
        Err(error) => Err(error),
    }
}

/// With the units of each index.
const IN_DETAIL: Option<ReturnConsumedCapacity> = Some(ReturnConsumedCapacity::Indexes);

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled)
        && error.throttling_reasons.is_empty()
}

async fn single(endpoint: &dyn Endpoint, change: ItemChange) -> Result<Vec<ConsumedCapacity>, Error> {
    let one = change.transacted();
    let mut used = None;
    if let Some(put) = one.put {
        let input = PutItemInput {
            table_name: put.table_name,
            item: put.item,
            condition_expression: put.condition_expression,
            expression_attribute_names: put.expression_attribute_names,
            expression_attribute_values: put.expression_attribute_values,
            return_consumed_capacity: IN_DETAIL,
            ..PutItemInput::default()
        };
        used = call(endpoint, input).await?.consumed_capacity;
    } else if let Some(update) = one.update {
        let input = UpdateItemInput {
            table_name: update.table_name,
            key: update.key,
            update_expression: Some(update.update_expression),
            condition_expression: update.condition_expression,
            expression_attribute_names: update.expression_attribute_names,
            expression_attribute_values: update.expression_attribute_values,
            return_consumed_capacity: IN_DETAIL,
            ..UpdateItemInput::default()
        };
        used = call(endpoint, input).await?.consumed_capacity;
    } else if let Some(delete) = one.delete {
        let input = DeleteItemInput {
            table_name: delete.table_name,
            key: delete.key,
            condition_expression: delete.condition_expression,
            expression_attribute_names: delete.expression_attribute_names,
            expression_attribute_values: delete.expression_attribute_values,
            return_consumed_capacity: IN_DETAIL,
            ..DeleteItemInput::default()
        };
        used = call(endpoint, input).await?.consumed_capacity;
    }
    Ok(used.into_iter().collect())
}

impl ItemChange {
    pub fn delete(table: &str, key: Values) -> ItemChange {
        ItemChange::Delete { table: table.to_owned(), key, conditions: Vec::new() }
    }

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
            ItemChange::Delete { table, key, conditions } => {
                let condition_expression = condition(&conditions, &mut placeholders);
                transact.delete = Some(Delete {
                    table_name: table,
                    key: item(&key),
                    condition_expression,
                    expression_attribute_names: placeholders.names(),
                    expression_attribute_values: placeholders.values(),
                    ..Delete::default()
                });
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

pub async fn get(endpoint: &dyn Endpoint, table: &str, key: &Values) -> Result<Option<Values>, Error> {
    let input = GetItemInput {
        table_name: table.to_owned(),
        key: item(key),
        consistent_read: Some(true),
        ..GetItemInput::default()
    };
    Ok(call(endpoint, input).await?.item.as_ref().map(values))
}

/// One page of a table, or of a segment of it.
pub struct Page {
    pub items: Vec<Values>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Item>,
    pub used: Option<ConsumedCapacity>,
}

/// What to read: a whole table, or one segment of a parallel scan.
pub struct PageOf<'a> {
    pub table: &'a str,
    /// The number of the segment, and how many there are.
    pub segment: Option<(usize, usize)>,
    pub start: Option<Item>,
    pub limit: Option<i32>,
}

pub async fn page(endpoint: &dyn Endpoint, of: PageOf<'_>) -> Result<Page, Error> {
    let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let input = ScanInput {
        table_name: of.table.to_owned(),
        segment: of.segment.map(|(segment, _)| number(segment)),
        total_segments: of.segment.map(|(_, all)| number(all)),
        exclusive_start_key: of.start,
        limit: of.limit,
        consistent_read: Some(true),
        return_consumed_capacity: IN_DETAIL,
        ..ScanInput::default()
    };
    let output = call(endpoint, input).await?;
    Ok(Page {
        items: output.items.iter().flatten().map(values).collect(),
        next: output.last_evaluated_key,
        used: output.consumed_capacity,
    })
}

pub async fn all(endpoint: &dyn Endpoint, table: &str) -> Result<Vec<Values>, Error> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let page = page(endpoint, PageOf { table, segment: None, start, limit: None }).await?;
        found.extend(page.items);
        start = page.next;
        if start.is_none() {
            return Ok(found);
        }
    }
}
