//! A template as CloudFormation sees it: what is inside a serverless.yml, with the loops of `Fn::ForEach` written out.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::Notes;

const LOOP: &str = "Fn::ForEach::";
/// Loops inside loops, and how many resources they may make: more than a template may have.
const DEPTH_MAX: usize = 5;
const MADE_MAX: usize = 1_000;

/// Whether the template is under `resources` of a serverless.yml.
pub fn inside_serverless(document: &Value) -> bool {
    document.get("Resources").is_none() && template_of(document).get("Resources").is_some()
}

/// The template itself. In a serverless.yml it may be a list of parts, which are merged.
fn template_of(document: &Value) -> Cow<'_, Value> {
    let inside = &document["resources"];
    match inside {
        _ if document.get("Resources").is_some() => Cow::Borrowed(document),
        Value::Object(_) if inside["Resources"].is_object() => Cow::Borrowed(inside),
        Value::Array(parts) => Cow::Owned(merged(parts)),
        _ => Cow::Borrowed(document),
    }
}

fn merged(parts: &[Value]) -> Value {
    let mut template = Map::new();
    for (section, members) in parts.iter().filter_map(Value::as_object).flatten() {
        match (template.get_mut(section), members) {
            (Some(Value::Object(all)), Value::Object(members)) => all.extend(members.clone()),
            _ => {
                template.insert(section.clone(), members.clone());
            }
        }
    }
    Value::Object(template)
}

pub fn expanded(document: &Value) -> Cow<'_, Value> {
    let template = template_of(document);
    let Some(resources) = template["Resources"].as_object().filter(|resources| has_loop(resources)) else {
        return template;
    };
    let mut made = Map::new();
    write_out(resources, &template, DEPTH_MAX, &mut made);
    let mut template = template.clone().into_owned();
    template["Resources"] = Value::Object(made);
    Cow::Owned(template)
}

/// What a change of the model can't be written back into, and what is not read.
pub fn tell(document: &Value, notes: &mut Notes) {
    if let Value::Array(parts) = &document["resources"] {
        for part in parts.iter().filter(|part| !part.is_object()) {
            notes.add(format!("{part} under `resources` is kept, but not read: import that file by itself"));
        }
        notes.add(
            "the parts of `resources` are read as one template, and come back as they were as long as the model is unchanged",
        );
    }
    let template = template_of(document);
    let resources = template["Resources"].as_object();
    if resources.is_some_and(has_loop) {
        notes.add(
            "what Fn::ForEach makes is read, and comes back as the loop as long as the model is unchanged",
        );
    }
    resources.into_iter().for_each(|resources| tell_of_loops(resources, &template, notes));
}

/// A loop over what only a deployment knows makes nothing here.
fn tell_of_loops(resources: &Map<String, Value>, template: &Value, notes: &mut Notes) {
    for (name, resource) in resources.iter().filter(|(name, _)| name.starts_with(LOOP)) {
        match resource.as_array().map(Vec::as_slice) {
            Some([Value::String(_), collection, Value::Object(body)]) => {
                if values(collection, template).is_empty() {
                    notes.add(format!(
                        "what {name} makes is kept, but not read: only a deployment knows what it goes over"
                    ));
                }
                tell_of_loops(body, template, notes);
            }
            _ => {
                notes.add(format!("{name} is kept, but not read: it is no list of a name, values and a body"))
            }
        }
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
