//! What a read means: which items it must find, by their attributes alone. Keys and plans are not used here, so that
//! plans can be checked against the meaning.

use std::cmp::Ordering;

use item::Value;

use crate::Model;
use crate::model::{Entity, Read};
use crate::plan::Filter;
use crate::predicate::{Operand, Predicate, Term};
use crate::request::Given;
use crate::sample::SampleItem;
use crate::template::plain_text;

/// The items wanted, as positions in the data, in the requested order.
pub fn wanted(model: &Model, read: &Read, data: &[SampleItem], given: &Given) -> Vec<usize> {
    let found = examined(model, read, data, given).into_iter();
    let passes = |position: &usize| {
        let item = &data[*position];
        let entity = item.entity.map(|id| model.entity(id));
        entity.is_some_and(|entity| holds(read.filter.as_ref(), entity, item, given))
    };
    found.filter(passes).collect()
}

/// The same before filters: what a good plan reads.
pub fn examined(model: &Model, read: &Read, data: &[SampleItem], given: &Given) -> Vec<usize> {
    let is_wanted = |item: &SampleItem| {
        let Some(id) = item.entity.filter(|id| read.entities.iter().any(|wanted| wanted.value == *id)) else {
            return false;
        };
        let entity = model.entity(id);
        let has = |name: &str| item.get(name).is_some() || entity.attribute(name).is_none();
        let has_all = read.by.iter().all(|name| has(name));
        has_all && is_known(read, item, given) && holds(read.conditions.as_ref(), entity, item, given)
    };
    let mut found: Vec<usize> = (0..data.len()).filter(|position| is_wanted(&data[*position])).collect();
    found.sort_by(|one, other| order(read, &data[*one], &data[*other]));
    found
}

/// What the request reads: the same without the conditions that only a filter can check.
pub fn met(model: &Model, read: &Read, filters: &[Filter], data: &[SampleItem], given: &Given) -> Vec<usize> {
    let known = |name: &str| filters.iter().any(|one| matches!(one, Filter::Known(own) if own == name));
    let filtered = |term: &Term| filters.iter().any(|one| matches!(one, Filter::Term(own) if own == term));
    let mut keyed = read.clone();
    keyed.by.retain(|name| !known(name));
    if let Some(conditions) = &mut keyed.conditions {
        conditions.terms.retain(|term| !filtered(term));
    }
    examined(model, &keyed, data, given)
}

/// Whether the item has the known values, for those attributes that it has.
pub fn is_known(read: &Read, item: &SampleItem, given: &Given) -> bool {
    read.by.iter().all(|name| match (item.get(name), given.attribute(name)) {
        (Some(own), Some(known)) => own == known,
        _ => true,
    })
}

/// Terms about attributes that only other entities of the read have do not apply to this item.
fn holds(predicate: Option<&Predicate>, entity: &Entity, item: &SampleItem, given: &Given) -> bool {
    let Some(predicate) = predicate else { return true };
    let terms = predicate.terms.iter().filter(|term| entity.attribute(&term.attribute).is_some());
    let bound = Predicate { terms: terms.map(|term| bind(term, given)).collect(), span: predicate.span };
    bound.holds(|name| item.get(name))
}

/// Parameters replaced by their values.
fn bind(term: &Term, given: &Given) -> Term {
    let operands = term.operands.iter().map(|operand| match operand {
        Operand::Parameter(name) => given
            .parameter(name)
            .map_or_else(|| operand.clone(), |value| Operand::Literal(plain_text(&value))),
        Operand::Literal(_) => operand.clone(),
    });
    Term { operands: operands.collect(), ..term.clone() }
}

/// Compares by the requested order, attribute by attribute.
pub fn order(read: &Read, one: &SampleItem, other: &SampleItem) -> Ordering {
    for by in &read.order {
        let (Some(one), Some(other)) = (one.get(&by.attribute), other.get(&by.attribute)) else { continue };
        let ordering = compare(&one, &other);
        if ordering != Ordering::Equal {
            return if by.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

/// Numbers by their value, bytes as bytes, everything else as text.
pub fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::N(one), Value::N(other)) => one.cmp(other),
        (Value::B(one), Value::B(other)) => one.cmp(other),
        _ => plain_text(one).cmp(&plain_text(other)),
    }
}
