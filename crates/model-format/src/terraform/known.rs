//! What expressions of a configuration evaluate to, where it is known without a plan: defaults of variables,
//! locals, and attributes of other resources.

use indexmap::IndexMap;
use serde_json::Value;

use super::{TABLE, blocks};
use crate::interpolation::{interpolate, unquoted};

/// A reference may lead to another one; this bound ends cycles.
const STEPS_MAX: usize = 8;

/// What is known of a configuration without a plan.
pub struct KnownConfiguration<'d> {
    document: &'d Value,
    /// The name of each table, by the name of its resource.
    pub tables: IndexMap<String, String>,
}

impl<'d> KnownConfiguration<'d> {
    pub fn new(document: &'d Value) -> KnownConfiguration<'d> {
        KnownConfiguration { document, tables: IndexMap::new() }
    }

    /// The value with its expressions evaluated; null where that is impossible.
    pub fn resolve(&self, value: &Value) -> Value {
        self.resolve_within(value, STEPS_MAX)
    }

    fn resolve_within(&self, value: &Value, steps: usize) -> Value {
        match value {
            Value::String(text) => {
                let known = |expression: &str| self.named(expression, steps.checked_sub(1)?);
                match interpolate(text, &known) {
                    Value::String(text) => text.replace("%%{", "%{").into(),
                    other => other,
                }
            }
            Value::Array(elements) => {
                elements.iter().map(|element| self.resolve_within(element, steps)).collect()
            }
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| (self.text(name, steps), self.member(name, member, steps)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Names of members may contain expressions too.
    fn text(&self, name: &str, steps: usize) -> String {
        let resolved = self.resolve_within(&name.into(), steps);
        resolved.as_str().unwrap_or(name).to_owned()
    }

    /// Terraform converts text to numbers and booleans where it needs them.
    fn member(&self, name: &str, value: &Value, steps: usize) -> Value {
        let resolved = self.resolve_within(value, steps);
        let quotable = ["_capacity", "_units", "enabled", "_cooldown", "target_value"];
        if quotable.iter().any(|ending| name.ends_with(ending)) { unquoted(&resolved) } else { resolved }
    }

    /// `var.stage`, `local.name`, `aws_dynamodb_table.shop.name`.
    fn named(&self, expression: &str, steps: usize) -> Option<Value> {
        let path: Vec<&str> = expression.split('.').collect();
        let found = match path.as_slice() {
            ["var", name] => blocks(&self.document["variable"][*name]).next()?.get("default")?,
            ["local", name] => blocks(&self.document["locals"]).find_map(|locals| locals.get(*name))?,
            [TABLE, label, "name" | "id"] => return Some(self.tables.get(*label)?.as_str().into()),
            [kind, label, member] => {
                blocks(&self.document["resource"][*kind][*label]).next()?.get(*member)?
            }
            _ => return None,
        };
        Some(self.resolve_within(found, steps)).filter(|value| !value.is_null())
    }
}
