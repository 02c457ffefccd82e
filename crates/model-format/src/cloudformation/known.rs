//! What a template's functions evaluate to, where it is known without deploying: the defaults of parameters,
//! and the names of its tables.

use indexmap::IndexMap;
use serde_json::Value;

use crate::Notes;
use crate::interpolation::{interpolate, plain, unquoted};

/// Conditions may name conditions, and properties are not nested deeper.
const DEPTH_MAX: usize = 20;

pub struct KnownTemplate<'d> {
    pub document: &'d Value,
    /// The name of each table, by its logical id.
    pub tables: IndexMap<String, String>,
}

impl KnownTemplate<'_> {
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
            (Some(("Fn::FindInMap", argument)), _) => self.found_in_map(argument).unwrap_or_default(),
            (Some(("Fn::Select", argument)), _) => self.selected(argument).unwrap_or_default(),
            (Some(("Fn::If", argument)), _) => self.chosen(argument).unwrap_or_default(),
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

    fn found_in_map(&self, argument: &Value) -> Option<Value> {
        let keys = argument.as_array()?.iter().map(|key| plain(&self.resolve(key)));
        let mut found = &self.document["Mappings"];
        for key in keys.take(3) {
            found = found.get(&key)?;
        }
        Some(found.clone())
    }

    fn selected(&self, argument: &Value) -> Option<Value> {
        let position = plain(&self.resolve(&argument[0])).parse::<usize>().ok()?;
        self.resolve(&argument[1]).get(position).cloned()
    }

    /// `[condition, if it holds, else]`.
    fn chosen(&self, argument: &Value) -> Option<Value> {
        let holds = self.holds(&self.document["Conditions"][argument[0].as_str()?], DEPTH_MAX)?;
        Some(self.resolve(&argument[if holds { 1 } else { 2 }]))
    }

    /// Whether a condition holds with the defaults of the parameters.
    fn holds(&self, condition: &Value, depth: usize) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        let (name, argument) = match function(condition) {
            Some(function) => function,
            None => {
                let named = &self.document["Conditions"][condition.get("Condition")?.as_str()?];
                return self.holds(named, depth);
            }
        };
        let mut each = argument.as_array()?.iter().map(|one| self.holds(one, depth));
        match name {
            "Fn::Equals" => {
                let [one, other] = [&argument[0], &argument[1]].map(|side| self.resolve(side));
                (!one.is_null() && !other.is_null()).then(|| plain(&one) == plain(&other))
            }
            "Fn::Not" => each.next()?.map(|holds| !holds),
            "Fn::And" => each.try_fold(true, |all, one| Some(all && one?)),
            "Fn::Or" => each.try_fold(false, |any, one| Some(any || one?)),
            _ => None,
        }
    }

    /// Notes which properties of a table are only known after deployment.
    pub fn not_read(&self, table: &str, properties: &Value, notes: &mut Notes) {
        for (name, value) in
            properties.as_object().into_iter().flatten().filter(|(name, _)| *name != "TableName")
        {
            self.tell_unknown(table, name, value, DEPTH_MAX, notes);
        }
    }

    fn tell_unknown(&self, table: &str, path: &str, value: &Value, depth: usize, notes: &mut Notes) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let is_absent = value["Ref"] == "AWS::NoValue";
        match (function(value), value) {
            (Some(("Fn::If", argument)), _) if self.chosen(argument).is_some() => {}
            (Some(_), _) if !is_absent && self.resolve(value).is_null() => {
                notes.add(format!("table {table}: `{path}` is decided on deployment; it is kept, not read"));
            }
            (Some(_), _) => {}
            (None, Value::Object(members)) => members.iter().for_each(|(name, member)| {
                self.tell_unknown(table, &format!("{path}.{name}"), member, depth, notes);
            }),
            (None, Value::Array(elements)) => {
                elements.iter().for_each(|one| self.tell_unknown(table, path, one, depth, notes));
            }
            (None, _) => {}
        }
    }
}

/// The function that a value is, with its argument.
pub fn function(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    (name == "Ref" || name.starts_with("Fn::")).then_some((name.as_str(), argument))
}
