//! What a template's functions evaluate to, where it is known without deploying: the defaults of parameters,
//! and the names of its tables.

use indexmap::IndexMap;
use serde_json::Value;

use super::super::Notes;
use super::super::interpolation::{interpolate, plain, unquoted};

pub struct Known<'d> {
    pub document: &'d Value,
    /// The name of each table, by its logical id.
    pub tables: IndexMap<String, String>,
}

impl Known<'_> {
    /// What a reference to a parameter or table evaluates to.
    fn named(&self, name: &str) -> Option<Value> {
        // `${!word}` in a text is an escaped `${word}`.
        if let Some(literal) = name.strip_prefix('!') {
            return Some(format!("${{{literal}}}").into());
        }
        let parameter = self.document["Parameters"][name].get("Default");
        parameter.map(unquoted).or_else(|| Some(self.tables.get(name)?.as_str().into()))
    }

    /// The value with its functions evaluated; null where that is impossible.
    pub fn resolve(&self, value: &Value) -> Value {
        match (function(value), value) {
            (Some(("Ref", name)), _) => name.as_str().and_then(|name| self.named(name)).unwrap_or_default(),
            (Some(("Fn::Sub", argument)), _) => self.substituted(argument),
            (Some(("Fn::Join", argument)), _) => self.joined(argument),
            (Some(_), _) => Value::Null,
            (None, Value::Array(elements)) => elements.iter().map(|element| self.resolve(element)).collect(),
            (None, Value::Object(members)) => {
                members.iter().map(|(name, member)| (name.clone(), self.member(name, member))).collect()
            }
            (None, other) => other.clone(),
        }
    }

    /// Templates may put numbers and booleans in quotes.
    fn member(&self, name: &str, value: &Value) -> Value {
        let resolved = self.resolve(value);
        let quotable = ["Units", "Capacity", "Enabled", "Cooldown"];
        if quotable.iter().any(|ending| name.ends_with(ending)) { unquoted(&resolved) } else { resolved }
    }

    fn substituted(&self, argument: &Value) -> Value {
        let (text, own) = match argument {
            Value::Array(parts) => (parts.first(), parts.get(1).and_then(Value::as_object)),
            other => (Some(other), None),
        };
        let known = |name: &str| match own.and_then(|own| own.get(name)) {
            Some(value) => Some(self.resolve(value)).filter(|value| !value.is_null()),
            None => self.named(name),
        };
        text.and_then(Value::as_str).map_or(Value::Null, |text| interpolate(text, &known))
    }

    fn joined(&self, argument: &Value) -> Value {
        let parts = argument[1].as_array().into_iter().flatten().map(|part| self.resolve(part));
        let parts: Vec<String> = parts.filter(|part| !part.is_null()).map(|part| plain(&part)).collect();
        argument[0].as_str().map_or(Value::Null, |joint| parts.join(joint).into())
    }

    /// Notes which properties of a table are only known after deployment.
    pub fn not_read(&self, table: &str, properties: &Value, notes: &mut Notes) {
        for (name, value) in properties.as_object().into_iter().flatten() {
            if name != "TableName" && function(value).is_some() && self.resolve(value).is_null() {
                notes.add(format!("table {table}: `{name}` is decided on deployment; it is kept, not read"));
            }
        }
    }
}

/// The function that a value is, with its argument.
pub fn function(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    (name == "Ref" || name.starts_with("Fn::")).then_some((name.as_str(), argument))
}
