//! The plan or state that `terraform show -json` prints, with every value computed. It is read like a configuration.

use serde_json::{Map, Value, json};

/// Deeper than anybody nests modules.
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
