//! Which index keys a request leaves as they were, though it changes an attribute that they are made of. R54 asks of the
//! requests of a file, `learn` of those that an application sent.

use std::collections::{BTreeMap, BTreeSet};

use expression::{Placeholders, Update, update::Change};
use item::{Placeholder, Value, ValueBuf};
use serde_json::Value as Json;

use crate::Span;
use crate::model::{Entity, IndexId, Table};
use crate::request::literal::value_of;

/// The attributes that a request sets or removes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    pub set: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

/// A key attribute that keeps its old value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptKey {
    pub index: IndexId,
    pub key: String,
    /// The attribute that changes.
    pub attribute: String,
    /// The template of the key.
    pub span: Span,
}

impl Touched {
    /// What the update expression of a request touches. `None` if it has none, or one that can't be parsed.
    pub fn by_update(request: &Json) -> Option<Touched> {
        let update = request["UpdateExpression"].as_str()?;
        let members = |name: &str| request[name].as_object().into_iter().flatten();
        let mut names: BTreeMap<String, String> = members("ExpressionAttributeNames")
            .filter_map(|(key, name)| Some((key.clone(), name.as_str()?.to_owned())))
            .collect();
        let mut values: BTreeMap<String, ValueBuf> = members("ExpressionAttributeValues")
            .map(|(key, value)| (key.clone(), ValueBuf::from(value_of(value))))
            .collect();
        // Which values they are makes no difference here, so a request may leave them out; and the names that it should
        // have given.
        for name in placeholders(update, Placeholder::Value) {
            values.entry(name).or_insert_with(|| ValueBuf::from(Value::Null));
        }
        for name in placeholders(update, Placeholder::Name) {
            names.entry(name.clone()).or_insert(name);
        }
        let parsed = Update::parse(update, &mut Placeholders::new(Some(&names), Some(&values))).ok()?;
        let mut touched = Touched::default();
        for action in parsed.actions() {
            let name = action.target.attribute.clone();
            match &action.change {
                Change::Remove => touched.removed.insert(name),
                _ => touched.set.insert(name),
            };
        }
        Some(touched)
    }

    fn has(&self, name: &str) -> bool {
        self.set.contains(name) || self.removed.contains(name)
    }
}

/// The placeholders in an expression: `:status`, or `#status`.
fn placeholders(expression: &str, kind: Placeholder) -> impl Iterator<Item = String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let after = expression.split(kind.sign()).skip(1);
    after.map(move |rest| {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        kind.of(&rest[..end])
    })
}

/// The key attributes that exist for an index alone: neither keys of the table nor attributes of the item.
pub fn own_keys<'m>(table: &'m Table, entity: &'m Entity, index: IndexId) -> impl Iterator<Item = &'m str> {
    let of_table = |name: &str| table.key.as_ref().is_some_and(|key| key.names(name));
    let keys = table.index(index).key.attributes().map(|key| key.name.as_str());
    keys.filter(move |name| !of_table(name) && entity.attribute(name).is_none())
}

/// Every key attribute of an index whose template uses an attribute that is touched, and that is not touched itself.
pub fn kept_keys(table: &Table, entity: &Entity, touched: &Touched) -> Vec<KeptKey> {
    let mut kept = Vec::new();
    for entry in entity.entries.iter().filter(|entry| entry.declared) {
        let own: Vec<&str> = own_keys(table, entity, entry.index).collect();
        for (key, template) in table.index(entry.index).key.attributes().zip(entry.templates()) {
            let cause = template.attributes().find(|name| touched.has(name));
            let Some(attribute) = cause.filter(|_| own.contains(&key.name.as_str())) else { continue };
            if !touched.has(&key.name) {
                kept.push(KeptKey {
                    index: entry.index,
                    key: key.name.clone(),
                    attribute: attribute.to_owned(),
                    span: template.span,
                });
            }
        }
    }
    kept
}
