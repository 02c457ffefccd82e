//! The values of condition keys: worked out when a policy asks for them, with the parsers that the operation uses too.
//!
//! A request that can't be parsed has no values for what is wrong with it. That allows nothing: its operation refuses it
//! for the same reason.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use expression::key_condition::KeyRange;
use expression::partiql::{Access as Walk, Statement};
use expression::{Condition, KeyCondition};
use iam::Context;
use item::{Item, ItemRef, ValueRef, View};

use super::super::parameters::Parameters;
use super::super::query::borrowed;
use super::access::{Access, Resource};
use crate::base::table::KeySchema;
use crate::operation::Engine;
use crate::operation::legacy;
use crate::tables::catalog::LiveTable;

/// The condition keys of one action of a request.
pub struct RequestKeys<'a> {
    pub engine: &'a Engine,
    pub access: &'a Access<'a>,
    /// The table that the action is about, if it exists.
    pub table: Option<&'a LiveTable>,
}

impl Context for RequestKeys<'_> {
    fn values(&self, key: &str) -> Vec<String> {
        let detail = &self.access.detail;
        let one = |value: Option<&str>| value.map(str::to_owned).into_iter().collect();
        match key {
            "dynamodb:leadingkeys" | "dynamodb:firstpartitionkeyvalues" => self.partition_values(0),
            "dynamodb:secondpartitionkeyvalues" => self.partition_values(1),
            "dynamodb:thirdpartitionkeyvalues" => self.partition_values(2),
            "dynamodb:fourthpartitionkeyvalues" => self.partition_values(3),
            "dynamodb:attributes" => self.attributes().into_iter().collect(),
            "dynamodb:select" => one(detail.select),
            "dynamodb:returnvalues" => one(detail.return_values),
            "dynamodb:returnconsumedcapacity" => one(detail.return_consumed_capacity),
            "dynamodb:enclosingoperation" => one(detail.enclosing_operation),
            "dynamodb:fulltablescan" => self.is_full_scan().map(|it| it.to_string()).into_iter().collect(),
            "aws:tagkeys" => detail.tags.iter().map(|(name, _)| (*name).to_owned()).collect(),
            _ => match (key.strip_prefix("aws:requesttag/"), key.strip_prefix("aws:resourcetag/")) {
                (Some(name), _) => {
                    let tag = detail.tags.iter().find(|(tag, _)| tag.to_lowercase() == name);
                    one(tag.and_then(|(_, value)| *value))
                }
                (None, Some(name)) => {
                    let mut tags = self.table.into_iter().flat_map(|table| &table.tags);
                    one(tags.find(|(tag, _)| tag.to_lowercase() == name).map(|(_, value)| value.as_str()))
                }
                (None, None) => Vec::new(),
            },
        }
    }
}

impl RequestKeys<'_> {
    /// Whether the request names an item with these key attributes. A Query or SELECT names the partition key alone.
    pub fn name(&self, key: &Item) -> bool {
        let detail = &self.access.detail;
        if detail.items.iter().any(|item| agrees(item.as_ref(), key)) {
            return true;
        }
        let Some(keys) = self.keys() else { return false };
        let of_partition = |range: &KeyRange| {
            let mut parts = keys.partition.iter().zip(&range.partition);
            parts.all(|(attribute, value)| key.get(&attribute.name).is_none_or(|it| it == value.as_ref()))
                && keys.partition.iter().any(|attribute| key.get(&attribute.name).is_some())
        };
        let (hash, range) = (borrowed(&keys.partition), borrowed(&keys.sort));
        match &detail.statement {
            Some(Statement::Insert(insert)) => agrees(insert.item.as_ref(), key),
            Some(Statement::Select(select)) => match select.access(&hash, &range) {
                Ok(Walk::Query { ranges, .. }) => ranges.iter().any(of_partition),
                _ => false,
            },
            Some(statement) => keyed(statement, keys).is_some_and(|named| agrees(named.as_ref(), key)),
            None => {
                let condition = self.key_condition().and_then(|it| it.resolve(&hash, &range).ok());
                condition.is_some_and(|range| of_partition(&range))
            }
        }
    }

    /// The values of a partition key's attribute, of all items that the request names.
    fn partition_values(&self, number: usize) -> Vec<String> {
        let detail = &self.access.detail;
        let is_keyed = !detail.items.is_empty()
            || detail.key_condition.is_some()
            || detail.key_conditions.is_some()
            || detail.statement.is_some();
        if !is_keyed {
            return Vec::new();
        }
        let Some(keys) = self.keys() else {
            // No table, no key attributes: a value that no item has, so that a condition on the key can't hold of a
            // table that is made between this check and the request.
            return vec![String::new()];
        };
        let Some(attribute) = keys.partition.get(number) else { return Vec::new() };
        let of_item = |item: &Item| item.get(&attribute.name).and_then(text);
        if let Some(statement) = &detail.statement {
            return self.statement_values(statement, keys, number);
        }
        if let Some(condition) = self.key_condition() {
            let range = condition.resolve(&borrowed(&keys.partition), &borrowed(&keys.sort));
            let value =
                range.ok().and_then(|range| range.partition.get(number).and_then(|it| text(it.as_ref())));
            return value.into_iter().collect();
        }
        let mut values: Vec<String> = detail.items.iter().filter_map(|item| of_item(item)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn statement_values(&self, statement: &Statement, keys: &KeySchema, number: usize) -> Vec<String> {
        let of_item = |item: &Item| item.get(&keys.partition[number].name).and_then(text);
        match statement {
            Statement::Insert(insert) => of_item(&insert.item).into_iter().collect(),
            Statement::Select(select) => {
                match select.access(&borrowed(&keys.partition), &borrowed(&keys.sort)) {
                    Ok(Walk::Query { ranges, .. }) => {
                        let values = ranges.iter().filter_map(|it| it.partition.get(number));
                        values.filter_map(|value| text(value.as_ref())).collect()
                    }
                    _ => Vec::new(),
                }
            }
            _ => keyed(statement, keys).and_then(|key| of_item(&key)).into_iter().collect(),
        }
    }

    /// The key schema of what is read or written: the index's if one is named.
    fn keys(&self) -> Option<&KeySchema> {
        let table = self.table?;
        match &self.access.resource {
            Resource::Index { index, .. } => table.index(index).map(|index| &index.keys),
            _ => Some(&table.keys),
        }
    }

    fn key_condition(&self) -> Option<KeyCondition> {
        let detail = &self.access.detail;
        if let Some(conditions) = detail.key_conditions {
            let on_index = matches!(self.access.resource, Resource::Index { .. });
            return legacy::key_conditions(conditions, on_index).ok();
        }
        self.parsed(|parameters| parameters.key_condition(detail.key_condition?).ok())
    }

    /// The top-level attributes that the request names.
    fn attributes(&self) -> BTreeSet<String> {
        let detail = &self.access.detail;
        let mut names: BTreeSet<String> = detail.listed.iter().map(|name| (*name).to_owned()).collect();
        let mut add = |name: &str| {
            names.insert(name.to_owned());
        };
        for item in &detail.items {
            item.as_ref().iter().for_each(|(name, _)| add(name));
        }
        let condition = self.parsed(|parameters| parameters.condition(Some(detail.condition?)).ok()?);
        let filter = self.parsed(|parameters| parameters.filter(Some(detail.filter?), None, None).ok()?);
        for condition in [condition, filter].iter().flatten() {
            condition.top_level_names().for_each(&mut add);
        }
        if let Some(condition) = detail.key_condition.and_then(|_| self.key_condition()) {
            condition.attributes().for_each(&mut add);
        }
        if let Some(update) = self.parsed(|parameters| parameters.update(detail.update?).ok()) {
            update.paths().for_each(|path| add(&path.attribute));
        }
        let projection =
            self.parsed(|parameters| parameters.projection(Some(detail.projection?), None).ok()?);
        if let Some(projection) = projection {
            projection.top_level_names().for_each(&mut add);
        }
        if let Some(statement) = &detail.statement {
            statement_names(statement, &mut add);
        }
        names
    }

    /// Reads one expression of the request.
    fn parsed<T>(&self, read: impl FnOnce(&mut Parameters<'_>) -> Option<T>) -> Option<T> {
        let (names, values) = (self.access.detail.names.cloned(), self.access.detail.values.cloned());
        let mut parameters = Parameters::of_read(self.engine, &names, &values).ok()?;
        read(&mut parameters)
    }

    /// Whether a SELECT reads all of its table or index. Other requests don't have the key.
    fn is_full_scan(&self) -> Option<bool> {
        let Some(Statement::Select(select)) = &self.access.detail.statement else { return None };
        let Some(keys) = self.keys() else { return Some(true) };
        let access = select.access(&borrowed(&keys.partition), &borrowed(&keys.sort));
        Some(!matches!(access, Ok(Walk::Query { .. })))
    }
}

/// The key of the item that a statement checks, updates or deletes.
fn keyed(statement: &Statement, keys: &KeySchema) -> Option<Item> {
    let (hash, range) = (borrowed(&keys.partition), borrowed(&keys.sort));
    let keyed = match statement {
        Statement::Exists(select) => select.existence(&hash, &range),
        Statement::Update(update) => update.keyed(&hash, &range),
        Statement::Delete(delete) => delete.keyed(&hash, &range),
        Statement::Insert(_) | Statement::Select(_) => return None,
    };
    keyed.ok().map(|keyed| keyed.key)
}

/// Whether an item has all attributes of a key with these values.
pub fn agrees(item: ItemRef<'_>, key: &Item) -> bool {
    key.as_ref().iter().all(|(name, value)| item.get(name) == Some(value))
}

fn statement_names(statement: &Statement, add: &mut impl FnMut(&str)) {
    let mut of_condition = |condition: &Option<Condition>| {
        condition.iter().flat_map(Condition::top_level_names).for_each(&mut *add);
    };
    match statement {
        Statement::Select(select) | Statement::Exists(select) => {
            of_condition(&select.condition);
            select.list.top_level_names().into_iter().flatten().for_each(add);
        }
        Statement::Insert(insert) => insert.item.as_ref().iter().for_each(|(name, _)| add(name)),
        Statement::Update(update) => {
            of_condition(&update.condition);
            update.changes.paths().for_each(|path| add(&path.attribute));
        }
        Statement::Delete(delete) => of_condition(&delete.condition),
    }
}

/// A key value as policies write it: numbers in their one form, binary in base64.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value.view() {
        View::S(text) => Some(text.to_owned()),
        View::N(number) => Some(number.to_string()),
        View::B(bytes) => Some(STANDARD.encode(bytes)),
        _ => None,
    }
}
