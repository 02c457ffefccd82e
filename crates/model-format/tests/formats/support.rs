//! A document through a model and back.

use model::{Model, Source, file};
use model_format::{self as format, Import};
use serde_json::Value;

pub fn import(name: &str, document: &Value) -> Import {
    let format = format::format(name).unwrap();
    let text = document.to_string();
    assert_eq!(format::detect(&text).map(|found| found.name), Some(name), "{document:#}");
    format::import(format, &text).unwrap_or_else(|error| panic!("{}\n{document:#}", error.0))
}

pub fn read(text: &str) -> Model {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}\n{text}"))
}

/// What a model file becomes, and the notes about what is missing.
pub fn export(name: &str, model: &str) -> (Value, Vec<String>) {
    let (text, notes) = export_text(name, model);
    ((format::format(name).unwrap().syntax.parse)(&text).unwrap(), notes)
}

pub fn export_text(name: &str, model: &str) -> (String, Vec<String>) {
    let export = format::export(format::format(name).unwrap(), &read(model)).unwrap();
    (export.text, export.notes.0)
}

/// The document comes back, also when its model has been through its file.
pub fn round_trip(name: &str, document: &Value) -> Import {
    let import = import(name, document);
    let (again, _) = export(name, &import.text);
    let parse = format::format(name).unwrap().syntax.parse;
    assert_eq!(again, parse(&document.to_string()).unwrap(), "through\n{}", import.text);
    import
}

/// The document with an unknown member in every object that has a fixed set of them.
pub fn with_unknown_members(document: &Value) -> Value {
    match document {
        Value::Object(members) => {
            let free = ["TableData", "items", "entities", "PutRequest", "Ref", "Fn::Sub"];
            let known = members.iter().map(|(name, value)| {
                let value =
                    if free.contains(&name.as_str()) { value.clone() } else { with_unknown_members(value) };
                (name.clone(), value)
            });
            known.chain([("x-unknown".to_owned(), serde_json::json!({ "a": [1, null, "1.5"] }))]).collect()
        }
        Value::Array(elements) => elements.iter().map(with_unknown_members).collect(),
        other => other.clone(),
    }
}
