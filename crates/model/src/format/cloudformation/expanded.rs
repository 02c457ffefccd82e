//! A template as CloudFormation sees it: what is inside a serverless.yml, with the loops of `Fn::ForEach` written out.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::super::Notes;

const LOOP: &str = "Fn::ForEach::";
/// Loops inside loops, and how many resources they may make: more than a template may have.
const DEPTH_MAX: usize = 5;
const MADE_MAX: usize = 1_000;

/// Whether the template is under `resources` of a serverless.yml.
pub fn inside_serverless(document: &Value) -> bool {
    document.get("Resources").is_none() && document["resources"]["Resources"].is_object()
}

pub fn expanded(document: &Value) -> Cow<'_, Value> {
    let template = if inside_serverless(document) { &document["resources"] } else { document };
    let Some(resources) = template["Resources"].as_object().filter(|resources| has_loop(resources)) else {
        return Cow::Borrowed(template);
    };
    let mut template = template.clone();
    let mut made = Map::new();
    write_out(resources, &template, DEPTH_MAX, &mut made);
    template["Resources"] = Value::Object(made);
    Cow::Owned(template)
}

/// What a change of the model can't be written back into.
pub fn tell(document: &Value, notes: &mut Notes) {
    if document["Resources"].as_object().is_some_and(has_loop) {
        notes.add(
            "what Fn::ForEach makes is read, and comes back as the loop as long as the model is unchanged",
        );
    }
}

fn has_loop(resources: &Map<String, Value>) -> bool {
    resources.keys().any(|name| name.starts_with(LOOP))
}

fn write_out(resources: &Map<String, Value>, template: &Value, depth: usize, made: &mut Map<String, Value>) {
    for (name, resource) in resources {
        let parts = resource.as_array().map(Vec::as_slice).filter(|_| name.starts_with(LOOP));
        let Some([Value::String(variable), collection, Value::Object(body)]) = parts else {
            made.insert(name.clone(), resource.clone());
            continue;
        };
        for value in values(collection, template) {
            if depth > 0 && made.len() < MADE_MAX {
                let body = substituted(&Value::Object(body.clone()), variable, &value);
                body.as_object().into_iter().for_each(|body| write_out(body, template, depth - 1, made));
            }
        }
    }
}

/// The texts of a list, or of a parameter's default.
fn values(collection: &Value, template: &Value) -> Vec<String> {
    let parameter = collection["Ref"].as_str().map(|name| &template["Parameters"][name]["Default"]);
    match (collection, parameter.and_then(Value::as_str)) {
        (Value::Array(values), _) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        (_, Some(list)) => list.split(',').map(|value| value.trim().to_owned()).collect(),
        _ => Vec::new(),
    }
}

fn substituted(value: &Value, variable: &str, with: &str) -> Value {
    let replaced = |text: &str| {
        let plain: String = with.chars().filter(char::is_ascii_alphanumeric).collect();
        text.replace(&format!("${{{variable}}}"), with).replace(&format!("&{{{variable}}}"), &plain)
    };
    match value {
        Value::String(text) => replaced(text).into(),
        Value::Array(elements) => {
            elements.iter().map(|element| substituted(element, variable, with)).collect()
        }
        Value::Object(members)
            if members.len() == 1 && members.get("Ref").is_some_and(|name| name == variable) =>
        {
            with.into()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (replaced(name), substituted(member, variable, with)))
            .collect(),
        other => other.clone(),
    }
}
