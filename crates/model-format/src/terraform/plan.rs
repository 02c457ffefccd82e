//! The plan or state that `terraform show -json` prints, with every value computed. It is read like a configuration.

use model::diagnostic::listed;
use serde_json::{Map, Value, json};

use super::{TABLE, resources};
use crate::Notes;

/// What is read of a table, and what a plan computes from it.
const READ: [&str; 28] = [
    "name",
    "billing_mode",
    "hash_key",
    "range_key",
    "key_schema",
    "attribute",
    "global_secondary_index",
    "local_secondary_index",
    "table_class",
    "stream_enabled",
    "stream_view_type",
    "deletion_protection_enabled",
    "server_side_encryption",
    "tags",
    "read_capacity",
    "write_capacity",
    "on_demand_throughput",
    "ttl",
    "point_in_time_recovery",
    "replica",
    "id",
    "arn",
    "stream_arn",
    "stream_label",
    "tags_all",
    "region",
    "timeouts",
    "lifecycle",
];

/// A plan does not come back, so nothing of it is kept: what a table has beyond a model is named.
pub fn tell_unread(configuration: &Value, notes: &mut Notes) {
    for (label, table) in resources(configuration, TABLE) {
        let members = table.as_object().into_iter().flatten();
        let unread = members.filter(|(name, value)| !READ.contains(&name.as_str()) && says(value));
        let mut names: Vec<&str> = unread.map(|(name, _)| name.as_str()).collect();
        let within = [("point_in_time_recovery", "recovery_period_in_days"), ("replica", "kms_key_arn")];
        let within = within.into_iter().filter(|(block, name)| {
            super::blocks(&table[*block]).any(|block| block.get(*name).is_some_and(says))
        });
        names.extend(within.map(|(_, name)| name));
        if !names.is_empty() {
            notes.add(format!("{label}: {} has no place in a model", listed(&names)));
        }
    }
}

/// Plans have every argument: null, false, empty or zero where nothing was given.
fn says(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => elements.iter().any(says),
        Value::Object(members) => members.values().any(says),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) => true,
    }
}

/// Deeper than modules are nested in practice.
const DEPTH_MAX: usize = 16;

pub fn configuration(document: &Value) -> Value {
    let mut configuration = json!({ "resource": {} });
    let values = document.get("planned_values").or_else(|| document.get("values")).unwrap_or(&Value::Null);
    for resource in of_module(&values["root_module"], DEPTH_MAX) {
        let (Some(kind), Some(label)) = (resource["type"].as_str(), label(resource)) else { continue };
        configuration["resource"][kind][label] = literal(&resource["values"]);
    }
    let provider = &document["configuration"]["provider_config"]["aws"]["expressions"];
    if let Some(region) = provider["region"]["constant_value"].as_str() {
        configuration["provider"]["aws"]["region"] = region.into();
    }
    configuration
}

fn of_module(module: &Value, depth: usize) -> Vec<&Value> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let list = |name: &str| module[name].as_array().into_iter().flatten();
    let own = list("resources").filter(|resource| resource["mode"] != "data");
    own.chain(list("child_modules").flat_map(|module| of_module(module, depth))).collect()
}

/// The name of a resource that exists once in the root module; else its address.
fn label(resource: &Value) -> Option<String> {
    let name = resource["name"].as_str()?;
    let address = resource["address"].as_str().unwrap_or(name);
    let plain = format!("{}.{name}", resource["type"].as_str()?);
    if address == plain { Some(name.to_owned()) } else { Some(address.to_owned()) }
}

/// Nothing is left to evaluate: `${` is plain text.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) => super::literal(text),
        Value::Array(elements) => elements.iter().map(literal).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let name = super::literal(name).as_str().unwrap_or_default().to_owned();
                (name, literal(value))
            };
            Value::Object(members.iter().map(member).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
