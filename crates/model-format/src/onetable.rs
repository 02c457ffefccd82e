//! OneTable's schemas, by table. JSON and modules are read; a module is written. A value template can express
//! attributes and padding only: other keys are `value: true` there, and computed by a function
//! that is written beside the template it implements (`template`, `when`).
//!
//! Times are written as text that must look like a time. OneTable's own dates always have milliseconds, which
//! would change the keys.

mod read;
mod write;

use serde_json::{Map, Value, json};

use crate::{Aspect, Format, Syntax, Unreadable, javascript, kept};

pub const FORMAT: Format = Format {
    name: "onetable",
    title: "OneTable's schema, as a module or JSON",
    syntax: &SYNTAX,
    recognises: |document| document["schemas"].is_object(),
    read: Some(|document, notes| read::read(&kept::unwrapped(document), notes)),
    write: Some(|model, notes| with_whole_keys(write::write(model, notes))),
    holds: &[&[
        Aspect::Tables,
        Aspect::LocalIndexes,
        Aspect::Ttl,
        Aspect::Entities,
        Aspect::Templates,
        Aspect::Sparse,
        Aspect::Choices,
    ]],
};

const SYNTAX: Syntax =
    Syntax { parse: |text| schemas(&javascript::parse(text)?).map(with_whole_keys), print: module };

/// The name of a table if the document has none.
const UNNAMED: &str = "table";

/// Every schema of the document under the name of its table.
fn schemas(document: &Value) -> Result<Value, Unreadable> {
    if is_schema(document) {
        let name = document["name"].as_str().unwrap_or(UNNAMED);
        return Ok(json!({ "schemas": { name: document } }));
    }
    let bound = document.as_object().into_iter().flatten();
    let mut found = Map::new();
    for (name, value) in bound {
        if is_schema(value) {
            let name = value["name"].as_str().unwrap_or(if is_general(name) { UNNAMED } else { name });
            found.insert(name.to_owned(), value.clone());
        }
        let within = value.as_object().into_iter().flatten().filter(|(_, schema)| is_schema(schema));
        found.extend(within.map(|(name, schema)| (name.clone(), schema.clone())));
    }
    if found.is_empty() {
        return Err(Unreadable("there is no object with `indexes` and `models` in this".to_owned()));
    }
    Ok(json!({ "schemas": found }))
}

fn is_schema(value: &Value) -> bool {
    value["indexes"]["primary"].is_object() && value["models"].is_object()
}

/// Names that say nothing about the table.
fn is_general(name: &str) -> bool {
    let name = name.to_lowercase();
    ["default", "schema", "exports"].contains(&name.as_str())
}

/// Treats a field with a value template as one value, so that its parts are not restored one by one.
fn with_whole_keys(mut document: Value) -> Value {
    let schemas = document["schemas"].as_object_mut().into_iter().flat_map(Map::values_mut);
    let models = schemas.filter_map(|schema| schema["models"].as_object_mut()).flat_map(Map::values_mut);
    for field in models.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if field.get("value").is_some() {
            *field = kept::whole(field.take());
        }
    }
    document
}

fn module(document: &Value) -> String {
    let schemas = javascript::print(&kept::unwrapped(&document["schemas"]), 0);
    let hash = if schemas.contains("crc32(") { "import { crc32 } from \"node:zlib\";\n" } else { "" };
    format!(
        r#"import {{ Table }} from "dynamodb-onetable";
{hash}
// A schema for each table.
export const schemas = {schemas};

// The keys that a value template can't make, once what they need is known; null for an item that is not in
// the index.
const value = ({{ models }}) => (model, path, item) => {{
  const {{ needs, make }} = models[model.name][path];
  const given = item[path] !== undefined || needs.some((name) => item[name] === undefined);
  return given ? item[path] : make(item);
}};

// The table of a schema; `name` is what it is called in the database.
export const open = (client, table, name = table) =>
  new Table({{ name, client, schema: schemas[table], value: value(schemas[table]), partial: true }});
"#
    )
}
