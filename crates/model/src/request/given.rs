//! What the application knows when it sends a request: values of attributes (`by`) and of parameters
//! (`:since`). Each pattern is tried with many of them, all taken from the data.

use std::collections::BTreeMap;

use crate::model::{AttributeKind, Entity, Expectation, Pattern, Read};
use crate::predicate::{Operand, Operator, Term};
use crate::sample::SampleItem;
use crate::template::plain_text;
use crate::{Model, meaning};
use item::{Placeholder, Value};

/// How often one pattern is tried; more would show nothing new.
const TRIES_MAX: usize = 40;
/// A value that no item has.
const ABSENT: &str = "absent";

/// Attributes by name, parameters by `:name`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given(BTreeMap<String, Value>);

impl Given {
    pub fn attribute(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned()
    }

    pub fn parameter(&self, name: &str) -> Option<Value> {
        self.0.get(&Placeholder::Value.of(name)).cloned()
    }

    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub fn set_parameter(&mut self, name: &str, value: Value) {
        self.0.insert(Placeholder::Value.of(name), value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The known value of an attribute, by `by` or by an equality.
    pub fn known(&self, read: &Read, entity: &Entity, attribute: &str) -> Option<Value> {
        let equal = read.conditions.as_ref().and_then(|conditions| conditions.equality(attribute));
        match equal {
            Some(operand) => self.operand(entity, attribute, operand),
            None => self.attribute(attribute),
        }
    }

    /// The value of an operand that is compared with the attribute.
    pub fn operand(&self, entity: &Entity, attribute: &str, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Literal(text) => Some(entity.typed(attribute, text)),
            Operand::Parameter(name) => self.parameter(name),
        }
    }

    /// The values that the file gives: parameters with or without their colon, attributes in their type.
    pub fn of_expectation(pattern: &Pattern, model: &Model, expectation: &Expectation) -> Given {
        let mut given = Given::default();
        for (name, value) in &expectation.given {
            let plain = Placeholder::Value.word(name).unwrap_or(name);
            for (_, read) in pattern.reads() {
                let entity = model.entity(read.entities[0].value);
                if read.by.iter().any(|by| by.value == plain) {
                    given.set(plain, entity.typed(plain, &plain_text(&value.value)));
                }
                for term in
                    parameterised(read).filter(|(_, parameter)| *parameter == plain).map(|(term, _)| term)
                {
                    let value = entity.typed(&term.attribute, &plain_text(&value.value));
                    given.set_parameter(plain, value);
                }
            }
        }
        given
    }
}

impl<'a> FromIterator<(&'a str, &'a Value)> for Given {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a Value)>>(known: I) -> Given {
        Given(known.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect())
    }
}

/// Each parameter of a read with its term.
fn parameterised(read: &Read) -> impl Iterator<Item = (&Term, &str)> {
    let terms = read.conditions.iter().chain(&read.filter).flat_map(|predicate| &predicate.terms);
    terms.flat_map(|term| {
        term.operands.iter().filter_map(move |operand| match operand {
            Operand::Parameter(name) => Some((term, name.as_str())),
            Operand::Literal(_) => None,
        })
    })
}

/// All values that a reader of this data could know, without repetitions, and one that does not exist.
pub fn tries(model: &Model, read: &Read, data: &[SampleItem]) -> Vec<Given> {
    let mut tries: Vec<Given> = Vec::new();
    let wanted = data.iter().filter(|item| read.entities.iter().any(|id| Some(id.value) == item.entity));
    for item in wanted {
        let given = of_item(read, item, data);
        tries.extend(given.filter(|given| !tries.contains(given)));
        if tries.len() == TRIES_MAX {
            break;
        }
    }
    tries.extend(tries.first().and_then(|first| absent(model, read, first)));
    tries
}

/// What a reader who looks for this item knows.
fn of_item(read: &Read, item: &SampleItem, data: &[SampleItem]) -> Option<Given> {
    let mut given = Given::default();
    for name in &read.by {
        given.set(name, item.get(name)?);
    }
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    for term in terms.filter(|term| !matches!(term.operator, Operator::In) && !term.operator.is_range()) {
        for operand in &term.operands {
            if let Operand::Parameter(name) = operand {
                given.set_parameter(name, item.get(&term.attribute)?);
            }
        }
    }
    let ranged = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    for term in ranged.filter(|term| matches!(term.operator, Operator::In) || term.operator.is_range()) {
        span(read, term, item, data, &mut given);
    }
    // What a filter compares with is in the middle, too: some items pass, others do not.
    for term in read.filter.iter().flat_map(|filter| &filter.terms) {
        span(read, term, item, data, &mut given);
    }
    Some(given)
}

/// Bounds in the middle of the data, so that there are items on both sides.
fn span(read: &Read, term: &Term, item: &SampleItem, data: &[SampleItem], given: &mut Given) {
    let siblings =
        data.iter().filter(|other| other.entity == item.entity && meaning::is_known(read, other, given));
    let mut values: Vec<Value> = siblings.filter_map(|other| other.get(&term.attribute)).collect();
    values.sort_by(meaning::compare);
    values.dedup();
    let own = item.get(&term.attribute);
    let count = term.operands.len();
    for (position, operand) in term.operands.iter().enumerate() {
        let Operand::Parameter(name) = operand else { continue };
        let place = (values.len() * (2 * position + 1) / (2 * count)).min(values.len().saturating_sub(1));
        let chosen = match (term.operator, &own) {
            (Operator::BeginsWith, Some(Value::S(text))) => Some(Value::S(beginning(text))),
            _ => values.get(place).cloned(),
        };
        if let Some(value) = chosen {
            given.set_parameter(name, value);
        }
    }
}

/// More than half of a text.
fn beginning(text: &str) -> String {
    text.chars().take(text.chars().count().div_ceil(2).max(1)).collect()
}

/// The same question about an item that does not exist.
fn absent(model: &Model, read: &Read, first: &Given) -> Option<Given> {
    let entity = model.entity(read.entities[0].value);
    let free = |name: &str| {
        entity.attribute(name).is_some_and(|attribute| {
            attribute.kind == AttributeKind::String
                && attribute.values.is_empty()
                && attribute.constant.is_none()
        })
    };
    let name = read.by.iter().find(|name| free(name))?;
    let mut given = first.clone();
    given.set(name, Value::from(ABSENT));
    Some(given)
}
