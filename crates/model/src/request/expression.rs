//! Terms of the model -> expressions of the API. Every value has a placeholder, named after the attribute that
//! it is compared with; a name has one only if it can't be used in an expression directly.

use std::collections::BTreeMap;

use expression::is_reserved;
use item::{Placeholder, Value, ValueBuf};

use super::Given;
use crate::model::{AttributesRead, Entity, IndexId, IndexKind, KeySchema, Projection, Table};
use crate::predicate::{Operator, Term};

/// Why an expression can't use an attribute under its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    ReservedWord,
    /// It has characters that an expression can't have, or that have a meaning there.
    OddCharacters,
}

impl Alias {
    /// Why the attribute needs a placeholder; `None` if it does not.
    pub fn needed(attribute: &str) -> Option<Alias> {
        let plain = attribute.starts_with(|first: char| first.is_ascii_alphabetic())
            && attribute.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        if !plain {
            return Some(Alias::OddCharacters);
        }
        // REMOVE is not a reserved word, but it begins a clause of an update.
        let reserved = is_reserved(attribute) || attribute.eq_ignore_ascii_case("REMOVE");
        reserved.then_some(Alias::ReservedWord)
    }
}

/// The characters of a name that a placeholder can have: letters, digits, `_`.
fn word(attribute: &str) -> String {
    let letters: String =
        attribute.chars().filter(|one| one.is_ascii_alphanumeric() || *one == '_').collect();
    if letters.is_empty() { "name".to_owned() } else { letters }
}

/// The name, or the first of `name2`, `name3`, … that is free.
fn free(name: String, taken: impl Fn(&str) -> bool) -> String {
    let mut chosen = name.clone();
    let mut number = 2;
    while taken(&chosen) {
        chosen = format!("{name}{number}");
        number += 1;
    }
    chosen
}

/// Names and values an expression refers to.
#[derive(Default)]
pub struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, ValueBuf>,
}

impl Placeholders {
    /// The attribute as an expression writes it.
    pub fn name(&mut self, attribute: &str) -> String {
        if Alias::needed(attribute).is_none() {
            return attribute.to_owned();
        }
        if let Some((placeholder, _)) = self.names.iter().find(|(_, name)| *name == attribute) {
            return placeholder.clone();
        }
        let placeholder = free(Placeholder::Name.of(word(attribute)), |name| self.names.contains_key(name));
        self.names.insert(placeholder.clone(), attribute.to_owned());
        placeholder
    }

    /// A value that is compared with the attribute, or assigned to it.
    pub fn value(&mut self, attribute: &str, value: &Value) -> String {
        let placeholder = free(Placeholder::Value.of(word(attribute)), |name| self.values.contains_key(name));
        self.values.insert(placeholder.clone(), value.into());
        placeholder
    }

    pub fn names(&self) -> Option<BTreeMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    pub fn values(&self) -> Option<BTreeMap<String, ValueBuf>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }

    /// A term as a condition or filter. A term without an attribute is about the existence of the item, and so about its
    /// partition key.
    pub fn term(&mut self, entity: &Entity, table: &Table, term: &Term, given: &Given) -> Option<String> {
        let partition = table.key.as_ref().and_then(|key| key.partition.first());
        let attribute = match term.attribute.value.as_str() {
            "" => partition?.name.as_str(),
            attribute => attribute,
        };
        let name = self.name(attribute);
        let operands: Option<Vec<Value>> =
            term.operands.iter().map(|operand| given.operand(entity, attribute, operand)).collect();
        let operands: Vec<String> = operands?.iter().map(|value| self.value(attribute, value)).collect();
        let first = operands.first().map(String::as_str).unwrap_or_default();
        Some(match term.operator {
            Operator::Exists => format!("attribute_exists({name})"),
            Operator::NotExists => format!("attribute_not_exists({name})"),
            Operator::BeginsWith => format!("begins_with({name}, {first})"),
            Operator::Contains => format!("contains({name}, {first})"),
            Operator::In => format!("{name} IN ({})", operands.join(", ")),
            Operator::Between => format!("{name} BETWEEN {}", operands.join(" AND ")),
            comparison => format!("{name} {} {first}", comparison.name()),
        })
    }

    /// The attributes that the read wants, and the keys that identify the item. Attributes that a global index has only
    /// inside its keys are taken from there by the reader.
    pub fn projection(
        &mut self,
        table: &Table,
        index: Option<IndexId>,
        read: Option<&AttributesRead>,
    ) -> Option<String> {
        let wanted = match read? {
            AttributesRead::All | AttributesRead::Count => return None,
            AttributesRead::Keys => &[][..],
            AttributesRead::These(names) => names,
        };
        let index = index.map(|index| table.index(index));
        let held = |name: &&String| match index.map(|index| (index.kind, &index.projection.value)) {
            None | Some((IndexKind::Local, _) | (_, Projection::All)) => true,
            Some((_, Projection::Keys)) => false,
            Some((_, Projection::Include(names))) => names.iter().any(|one| one.value == **name),
        };
        let schemas = table.key.iter().chain(index.map(|index| &index.key));
        let keys = schemas.flat_map(KeySchema::attributes).map(|key| &key.name);
        let mut names: Vec<&String> =
            keys.chain(wanted.iter().map(|name| &name.value).filter(held)).collect();
        names.sort();
        names.dedup();
        Some(names.into_iter().map(|name| self.name(name)).collect::<Vec<_>>().join(", "))
    }
}
