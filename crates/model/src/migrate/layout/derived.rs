//! Index keys that writers compose.

use std::collections::BTreeMap;

use item::Type;

use crate::model::{Entity, Model, Table};
use crate::predicate::Predicate;
use crate::template::Template;

/// A key attribute that a writer composes: its value, and when it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub attribute: String,
    pub template: Template,
    pub when: Option<Predicate>,
    pub kind: Type,
}

/// The index keys that writers compose for items of an entity, without attributes that items have anyway.
pub fn composed(model: &Model, entity: &Entity) -> BTreeMap<String, Derived> {
    let table = model.table_of(entity);
    let mut composed = BTreeMap::new();
    for entry in &entity.entries {
        for (key, template) in table.index(entry.index).key.attributes().zip(entry.templates()) {
            if is_own(table, entity, &key.name) {
                continue;
            }
            composed.entry(key.name.clone()).or_insert_with(|| Derived {
                attribute: key.name.clone(),
                template: template.clone(),
                when: entry.when.clone(),
                kind: key.kind,
            });
        }
    }
    composed
}

/// Whether items have the attribute anyway: as data, or as the table's key.
fn is_own(table: &Table, entity: &Entity, attribute: &str) -> bool {
    entity.attribute(attribute).is_some() || table.key.as_ref().is_some_and(|key| key.names(attribute))
}

impl Derived {
    /// `CUST#{customerId}#{status} when status = OPEN`.
    pub fn formula(&self) -> String {
        match &self.when {
            Some(when) => format!("{} when {when}", self.template),
            None => self.template.to_string(),
        }
    }

    /// Whether both write the same value in the same cases.
    pub fn is_like(&self, other: &Derived) -> bool {
        self.kind == other.kind && self.formula() == other.formula()
    }

    /// The attributes it is composed of.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let terms = self.when.iter().flat_map(|when| &when.terms);
        let named = terms.map(|term| term.attribute.value.as_str()).filter(|name| !name.is_empty());
        self.template.attributes().chain(named)
    }
}
