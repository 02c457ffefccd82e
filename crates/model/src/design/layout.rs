//! How items of an entity could be keyed, in the table or in an index: which attributes make up the
//! partition key, which the sort key, and which items take part. Layouts that a read suggests are proposed here;
//! [`crate::plan`] decides whether they serve it.

use std::collections::BTreeSet;

use crate::Model;
use crate::model::{Entity, EntityId, Read};
use crate::predicate::Operator;

/// With more known attributes than this, not every split is tried.
const SPLIT_MAX: usize = 4;
/// Nor are more orders of the attributes left for the sort key.
const ORDERS_MAX: usize = 6;

/// How items of an entity are keyed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyLayout {
    /// Empty if one constant key holds all items.
    pub partition: Vec<String>,
    pub sort: Vec<SortElement>,
    /// Only items for which all of these hold are in the index.
    pub members: Vec<Member>,
}

/// One attribute of a sort key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortElement {
    pub attribute: String,
    /// Against the direction of the key: `desc(rating, 5)`.
    pub inverted: bool,
}

/// `status = OPEN`, or that an attribute exists at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub attribute: String,
    pub value: Option<String>,
}

impl KeyLayout {
    /// Every attribute in it, once.
    pub fn attributes(&self) -> BTreeSet<&str> {
        let sort = self.sort.iter().map(|element| element.attribute.as_str());
        self.partition.iter().map(String::as_str).chain(sort).collect()
    }

    /// The simplest key of an entity: its identity.
    pub fn of_identity(identity: &[String]) -> KeyLayout {
        KeyLayout { partition: identity.to_vec(), sort: Vec::new(), members: Vec::new() }
    }

    /// A whole partition in the order of the identity.
    pub fn of_partition(partition: &[String], identity: &[String]) -> KeyLayout {
        KeyLayout { partition: partition.to_vec(), sort: Vec::new(), members: Vec::new() }
            .made_unique(identity)
    }

    /// Adds the missing attributes of the identity at the end of the sort key, so that no two items have the same key
    /// and ties have a fixed order.
    pub fn made_unique(mut self, identity: &[String]) -> KeyLayout {
        for name in identity {
            if !self.attributes().contains(name.as_str()) {
                self.sort.push(SortElement { attribute: name.clone(), inverted: false });
            }
        }
        self
    }
}

/// What a read knows and wants of one entity.
struct Wanted {
    equal: Vec<String>,
    /// What the pattern itself says of the items: `status = OPEN`, `exists escalatedTo`.
    constant: Vec<Member>,
    /// What follows in the sort key: a range first, then the order.
    tail: Vec<SortElement>,
}

/// Every layout that could serve the read for this entity; the ones with the finest partitions come first.
pub fn proposals(model: &Model, read: &Read, id: EntityId) -> Vec<KeyLayout> {
    let entity = model.entity(id);
    let wanted = wanted(entity, read);
    let shared = |name: &str| read.entities.iter().all(|id| model.entity(id.value).attribute(name).is_some());
    let mut layouts = Vec::new();
    for members in sparse_choices(&wanted) {
        let known: Vec<String> = wanted
            .equal
            .iter()
            .filter(|name| !members.iter().any(|one| one.value.is_some() && one.attribute == **name))
            .cloned()
            .collect();
        for partition in splits(&known).into_iter().filter(|split| split.iter().all(|name| shared(name))) {
            let rest: Vec<String> = known.iter().filter(|name| !partition.contains(name)).cloned().collect();
            for order in orders(&rest) {
                layouts.push(layout(entity, &wanted, &partition, order, &members));
            }
        }
    }
    layouts
}

fn layout(
    entity: &Entity,
    wanted: &Wanted,
    partition: &[String],
    order: Vec<String>,
    members: &[Member],
) -> KeyLayout {
    let first = order.into_iter().map(|attribute| SortElement { attribute, inverted: false });
    let sort: Vec<SortElement> = first.chain(wanted.tail.iter().cloned()).collect();
    let mut layout = KeyLayout { partition: partition.to_vec(), sort, members: members.to_vec() };
    // An item that lacks an attribute of the key is not in the index.
    let optional = |name: &&str| entity.attribute(name).is_some_and(|attribute| attribute.optional);
    let absent: Vec<Member> = layout
        .attributes()
        .into_iter()
        .filter(optional)
        .map(|name| Member { attribute: name.to_owned(), value: None })
        .filter(|member| !layout.members.contains(member))
        .collect();
    layout.members.extend(absent);
    layout
}

fn wanted(entity: &Entity, read: &Read) -> Wanted {
    let own = |name: &str| entity.attribute(name).is_some();
    let terms: Vec<_> = read.conditions.iter().flat_map(|conditions| &conditions.terms).collect();
    let asked = terms
        .iter()
        .filter(|term| matches!(term.operator, Operator::Equal | Operator::In))
        .map(|term| &term.attribute);
    let mut equal: Vec<String> = Vec::new();
    for name in read.by.iter().chain(asked).map(|name| &name.value).filter(|name| own(name)) {
        if !equal.contains(name) {
            equal.push(name.clone());
        }
    }
    let constant = terms.iter().filter(|term| own(&term.attribute)).filter_map(|term| {
        let value = match term.operator {
            Operator::Equal => Some(term.operands.first()?.literal()?.to_owned()),
            Operator::Exists => None,
            _ => return None,
        };
        Some(Member { attribute: term.attribute.value.clone(), value })
    });
    let range = terms.iter().filter(|term| term.operator.is_range()).map(|term| &term.attribute.value);
    let mut tail: Vec<SortElement> = Vec::new();
    let ordered = read.order.iter().map(|order| (&order.attribute.value, order.descending));
    let backward = read.order.first().is_some_and(|order| order.descending);
    for (name, descending) in range.map(|name| (name, backward)).chain(ordered) {
        let there = equal.contains(name) || tail.iter().any(|element| element.attribute == *name);
        if own(name) && !there {
            tail.push(SortElement { attribute: name.clone(), inverted: descending != backward });
        }
    }
    Wanted { equal, constant: constant.collect(), tail }
}

/// None of the constants as a condition of the index, those that items merely have, or all of them.
fn sparse_choices(wanted: &Wanted) -> Vec<Vec<Member>> {
    let present = wanted.constant.iter().filter(|member| member.value.is_none()).cloned().collect();
    let mut choices = vec![Vec::new(), present, wanted.constant.clone()];
    choices.dedup();
    choices
}

/// Which of the known attributes make up the partition key: all first, then fewer.
fn splits(known: &[String]) -> Vec<Vec<String>> {
    if known.is_empty() || known.len() > SPLIT_MAX {
        return vec![known.to_vec()];
    }
    let mut masks: Vec<usize> = (1..1 << known.len()).collect();
    masks.sort_by_key(|mask| std::cmp::Reverse(mask.count_ones()));
    let chosen = |mask: usize| {
        known.iter().enumerate().filter(move |(at, _)| mask & (1 << at) != 0).map(|(_, name)| name.clone())
    };
    masks.into_iter().map(|mask| chosen(mask).collect()).collect()
}

fn orders(names: &[String]) -> Vec<Vec<String>> {
    let mut orders: Vec<Vec<String>> = vec![Vec::new()];
    for name in names {
        orders = orders
            .iter()
            .flat_map(|order| {
                (0..=order.len()).rev().map(|at| {
                    let mut longer = order.clone();
                    longer.insert(at, name.clone());
                    longer
                })
            })
            .take(ORDERS_MAX)
            .collect();
    }
    orders
}
