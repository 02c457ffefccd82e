//! Which keys a WHERE clause names. Only terms that AND joins at the top level count; every other term becomes part
//! of a filter or condition.

use std::cmp::Ordering;

use item::{Item, ItemBuilder, ValueBuf};

use super::error::StatementError;
use super::statement::{Delete, Select, UpdateStatement};
use crate::condition::{Condition, Operand};
use crate::error::Fault;
use crate::key_condition::{self, KeyAttribute, KeyCondition, KeyRange, Range, Term};
use crate::path::Path;

/// The most partitions that one SELECT may name.
pub const PARTITIONS_MAX: usize = 50;

/// How a SELECT reads its table or index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// One Query after another. There is at least one, and each reads another partition.
    Query {
        ranges: Vec<KeyRange>,
        filter: Option<Condition>,
        /// Within each partition.
        descending: bool,
    },
    Scan {
        filter: Option<Condition>,
    },
}

/// One item by its whole key, and the condition that it must meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The key attributes; their types are not yet checked.
    pub key: Item,
    pub condition: Option<Condition>,
}

impl Select {
    /// A Query if WHERE gives the partition key by `=`, by IN or by an OR of these; otherwise a Scan. `hash` and
    /// `range` are the key schema of the table or index that is read.
    pub fn access(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<Access, StatementError> {
        let ([partition], [] | [_]) = (hash, range) else { return Err(StatementError::MultiAttributeKey) };
        self.check_order(partition, range)?;
        let mut terms = conjuncts(self.condition.as_ref());
        let Some(mut partitions) = take_map(&mut terms, |term| partitions(term, partition.name)) else {
            return match self.order[..] {
                [] => Ok(Access::Scan { filter: self.condition.clone() }),
                _ => Err(StatementError::OrderWithoutPartition),
            };
        };
        sort_partitions(&mut partitions, self.order_of(partition.name));
        if partitions.len() > PARTITIONS_MAX {
            let fault = Fault::OperandCount { operator: "IN", count: partitions.len() };
            return Err(StatementError::Fault(Box::new(fault)));
        }
        let sort = range.first().and_then(|key| take_sort(&mut terms, key.name));
        let ranges = partitions
            .into_iter()
            .map(|value| {
                let named = Term { attribute: partition.name.to_owned(), range: Range::Equal(value) };
                KeyCondition::new(sort.iter().cloned().chain([named]).collect())?.resolve(hash, range)
            })
            .collect::<Result<Vec<KeyRange>, _>>()?;
        // If ORDER BY names only the partition key, its direction applies to the sort key too.
        let direction = range.first().and_then(|key| self.order_of(key.name));
        let descending = direction.or_else(|| self.order_of(partition.name)) == Some(Ordering::Greater);
        Ok(Access::Query { ranges, filter: all_of(terms), descending })
    }

    /// Without a condition the item need not exist.
    pub fn keyed(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<Keyed, StatementError> {
        let (key, terms) = split_key(self.condition.as_ref(), hash, range)?;
        Ok(Keyed { key, condition: all_of(terms) })
    }

    /// For EXISTS: the condition includes that the item exists.
    pub fn existence(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<Keyed, StatementError> {
        Ok(existing(split_key(self.condition.as_ref(), hash, range)?, hash))
    }

    /// `Greater` is descending.
    fn order_of(&self, attribute: &str) -> Option<Ordering> {
        let order = self.order.iter().find(|order| order.attribute == attribute)?;
        Some(if order.descending { Ordering::Greater } else { Ordering::Less })
    }

    fn check_order(
        &self,
        partition: &KeyAttribute<'_>,
        range: &[KeyAttribute<'_>],
    ) -> Result<(), StatementError> {
        if !self.order.is_empty() && self.condition.is_none() {
            return Err(StatementError::OrderWithoutWhere);
        }
        let is_key = |name: &str| partition.name == name || range.iter().any(|key| key.name == name);
        match self.order.iter().find(|order| !is_key(&order.attribute)) {
            Some(order) => Err(StatementError::OrderOfAttribute(order.attribute.clone())),
            None => Ok(()),
        }
    }
}

impl UpdateStatement {
    /// UPDATE never creates an item: the condition includes that it exists.
    pub fn keyed(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<Keyed, StatementError> {
        Ok(existing(split_key(self.condition.as_ref(), hash, range)?, hash))
    }
}

impl Delete {
    /// Deleting an item that does not exist is no error, unless WHERE asks for more than the key.
    pub fn keyed(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<Keyed, StatementError> {
        let (key, terms) = split_key(self.condition.as_ref(), hash, range)?;
        Ok(Keyed { key, condition: all_of(terms) })
    }
}

/// Removes an equality for each key attribute from the terms.
fn split_key(
    condition: Option<&Condition>,
    hash: &[KeyAttribute<'_>],
    range: &[KeyAttribute<'_>],
) -> Result<(Item, Vec<Condition>), StatementError> {
    let mut terms = conjuncts(condition);
    let mut key = ItemBuilder::default();
    for attribute in hash.iter().chain(range) {
        let equal = |term: &Condition| match key_term(term, attribute.name)?.range {
            Range::Equal(value) => Some(value),
            _ => None,
        };
        let value = take_map(&mut terms, equal).ok_or(StatementError::KeyEquality)?;
        key.put(attribute.name, value.as_ref());
    }
    Ok((key.build(), terms))
}

fn existing((key, mut terms): (Item, Vec<Condition>), hash: &[KeyAttribute<'_>]) -> Keyed {
    let exists = |key: &KeyAttribute<'_>| Condition::AttributeExists(Path::of_attribute(key.name));
    terms.splice(0..0, hash.first().map(exists));
    Keyed { key, condition: all_of(terms) }
}

/// The terms that AND joins, also within parentheses. Recursion is bounded by the 300 operators of a condition.
fn conjuncts(condition: Option<&Condition>) -> Vec<Condition> {
    fn collect(condition: &Condition, terms: &mut Vec<Condition>) {
        match condition {
            Condition::And(inner) => inner.iter().for_each(|term| collect(term, terms)),
            other => terms.push(other.clone()),
        }
    }
    let mut terms = Vec::new();
    condition.into_iter().for_each(|condition| collect(condition, &mut terms));
    terms
}

fn all_of(mut terms: Vec<Condition>) -> Option<Condition> {
    match terms.len() {
        0 | 1 => terms.pop(),
        _ => Some(Condition::And(terms)),
    }
}

/// Removes the first term that `wanted` accepts, and returns what it made of the term.
fn take_map<T>(terms: &mut Vec<Condition>, wanted: impl Fn(&Condition) -> Option<T>) -> Option<T> {
    let (place, found) =
        terms.iter().enumerate().find_map(|(place, term)| wanted(term).map(|found| (place, found)))?;
    terms.remove(place);
    Some(found)
}

/// The values that the term allows for the partition key, if it allows only certain ones.
fn partitions(term: &Condition, name: &str) -> Option<Vec<ValueBuf>> {
    match term {
        Condition::Or(either) if !either.is_empty() => {
            let values: Option<Vec<_>> = either.iter().map(|term| partitions(term, name)).collect();
            values.map(|values| values.concat())
        }
        Condition::In { subject: Operand::Path(path), members } if *path == Path::of_attribute(name) => {
            members
                .iter()
                .map(|member| match member {
                    Operand::Value(value) => Some(value.clone()),
                    _ => None,
                })
                .collect()
        }
        term => match key_term(term, name)?.range {
            Range::Equal(value) => Some(vec![value]),
            _ => None,
        },
    }
}

/// Each partition once: in the order of the text, unless ORDER BY asks for another.
fn sort_partitions(partitions: &mut Vec<ValueBuf>, order: Option<Ordering>) {
    let mut distinct: Vec<ValueBuf> = Vec::new();
    for value in partitions.drain(..) {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    if let Some(order) = order {
        distinct.sort_by(|a, b| a.as_ref().partial_cmp_same_type(b.as_ref()).unwrap_or(Ordering::Equal));
        if order == Ordering::Greater {
            distinct.reverse();
        }
    }
    *partitions = distinct;
}

/// Removes the term that narrows the sort key most: an equality if there is one. The others become filters.
fn take_sort(terms: &mut Vec<Condition>, name: &str) -> Option<Term> {
    let equal = |term: &Condition| key_term(term, name).filter(|term| matches!(term.range, Range::Equal(_)));
    take_map(terms, equal).or_else(|| take_map(terms, |term| key_term(term, name)))
}

/// The term as one of a key condition, if it is about this attribute.
fn key_term(term: &Condition, name: &str) -> Option<Term> {
    key_condition::term(term.clone()).ok().filter(|term| term.attribute == name)
}
