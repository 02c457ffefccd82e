//! Schemas -> model.

use item::Type;
use model::draft::Draft;
use model::model::AttributeKind;
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use crate::javascript::{as_code, note_code, pattern};
use crate::{Notes, Unreadable};

pub fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let schemas = document["schemas"].as_object();
    let schemas = schemas.ok_or_else(|| Unreadable("there are no `schemas`".to_owned()))?;
    let mut draft = Draft::new(schemas.keys().next().map_or("model", String::as_str));
    for (name, schema) in schemas {
        let table = section(name, schema);
        for (model, fields) in models(schema) {
            let place = format!("{name}.{model}");
            draft.add_entity(model, name, entity_fields(&table, schema, fields, &place, notes));
        }
        if draft.entities_of(name).is_empty() {
            draft.add_plain_entity(&table);
        }
        draft.add_table(table);
        note_code(&schema["models"], &["type", "make"], notes);
    }
    Ok(draft)
}

/// The application's models, without OneTable's own, which a saved schema contains too.
fn models(schema: &Value) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let models = schema["models"].as_object().into_iter().flatten();
    models.filter(|(name, _)| !name.starts_with('_')).filter_map(|(name, one)| Some((name, one.as_object()?)))
}

/// The field that is stored under this attribute name.
fn field_of<'f>(fields: &'f Map<String, Value>, attribute: &str) -> Option<(&'f str, &'f Value)> {
    let stored = |(name, field): &(&'f String, &'f Value)| field["map"].as_str().unwrap_or(name) == attribute;
    fields.iter().find(stored).map(|(name, field)| (name.as_str(), field))
}

fn section(name: &str, schema: &Value) -> TableSection {
    let mut fields = Map::new();
    let mut indexes = Map::new();
    for (name, index) in schema["indexes"].as_object().into_iter().flatten() {
        let mut keys = key_sides(schema, index);
        if name == "primary" {
            fields.extend(keys);
            continue;
        }
        if index["type"] == "local" {
            keys.shift_remove("partition");
            keys.insert("type".to_owned(), "local".into());
        }
        keys.insert("project".to_owned(), project(&index["project"]));
        indexes.insert(name.clone(), Value::Object(keys));
    }
    let ttl = models(schema).flat_map(|(_, fields)| fields).find(|(_, field)| field["ttl"] == true);
    if let Some((name, field)) = ttl {
        fields.insert("ttl".to_owned(), field["map"].as_str().unwrap_or(name).into());
    }
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    TableSection { name: name.to_owned(), fields }
}

/// `partition` and `sort`, each with its type.
fn key_sides(schema: &Value, index: &Value) -> Map<String, Value> {
    let kind = |name: &str| {
        let declared = models(schema).filter_map(|(_, fields)| Some((fields, field_of(fields, name)?.1)));
        let kinds: Vec<&str> = declared.map(|(fields, field)| key_kind(schema, fields, field)).collect();
        // If models disagree about the type, not all of them can be stored.
        match kinds.as_slice() {
            [first, rest @ ..] if rest.iter().all(|kind| kind == first) => *first,
            _ => "string",
        }
    };
    let side = |(member, side): (&str, &str)| {
        let name = index[member].as_str()?;
        Some((side.to_owned(), json!({ name: kind(name) })))
    };
    [("hash", "partition"), ("sort", "sort")].into_iter().filter_map(side).collect()
}

/// A key with a template is text, unless the template consists of one number.
fn key_kind(schema: &Value, fields: &Map<String, Value>, field: &Value) -> &'static str {
    let template = field["template"].as_str().and_then(|text| text.strip_prefix('{'));
    let value = field["value"].as_str().and_then(|text| text.strip_prefix("${"));
    let source = match (template.or(value), field.get("value")) {
        (None, None) => Some(field),
        (only, _) => only.and_then(|text| fields.get(text.strip_suffix('}')?)),
    };
    match source.filter(|_| type_name(field) != "string").map(|source| kind(schema, source)) {
        Some("number" | "epoch" | "epoch-millis") => "number",
        Some("binary") => "binary",
        _ => "string",
    }
}

fn project(project: &Value) -> Value {
    match project {
        Value::Array(names) => names.clone().into(),
        Value::String(word) if word == "keys" => "keys".into(),
        _ => "all".into(),
    }
}

/// `String` means the same as `"string"`.
fn type_name(field: &Value) -> String {
    let name = field["type"].as_str().or_else(|| as_code(&field["type"]));
    name.unwrap_or("string").to_lowercase()
}

fn entity_fields(
    table: &TableSection,
    schema: &Value,
    fields: &Map<String, Value>,
    place: &str,
    notes: &mut Notes,
) -> Map<String, Value> {
    let mut templates: Map<String, Value> = Map::new();
    let is_number = |name: &str| {
        let kind = fields.get(name).map(|field| kind(schema, field));
        matches!(kind, Some("number" | "epoch" | "epoch-millis"))
    };
    let type_field = schema["params"]["typeField"].as_str().unwrap_or("_type");
    let index_keys = table.index_keys();
    let keys = table.key_names();
    for key in keys.iter().chain(index_keys.iter().flat_map(|(_, keys)| keys)) {
        if let Some((name, field)) = field_of(fields, key)
            && let Some(template) = template(key, name, field, &is_number, place, type_field, notes)
        {
            templates.insert(key.clone(), template.into());
        }
    }
    let is_made = |name: &str| templates.contains_key(fields[name]["map"].as_str().unwrap_or(name));
    let mut attributes: Map<String, Value> = fields
        .iter()
        .filter(|(name, _)| !is_made(name))
        .map(|(name, field)| (name.clone(), described(schema, field)))
        .collect();
    add_timestamps(schema, &mut attributes);
    for key in keys.iter().filter(|key| !templates.contains_key(*key)) {
        let attribute = attributes.entry(key.clone()).or_insert_with(|| "string".into());
        attribute.as_object_mut().map(|attribute| attribute.shift_remove("optional"));
    }
    table.fit_types(&mut attributes);
    tell(fields, place, notes);
    let of = |names: &[String]| -> Map<String, Value> {
        names.iter().filter_map(|name| Some((name.clone(), templates.get(name)?.clone()))).collect()
    };
    let entry = |(index, names): &(String, Vec<String>)| {
        let names: Vec<String> = names.iter().filter(|name| !keys.contains(name)).cloned().collect();
        let mut entry = of(&names);
        let whole = names.iter().all(|name| entry.contains_key(name) || attributes.contains_key(name));
        let made = names.iter().filter_map(|name| field_of(fields, name));
        if let Some(when) = made.filter_map(|(_, field)| field["when"].as_str()).next() {
            entry.insert("when".to_owned(), when.into());
        }
        (whole && !entry.is_empty()).then(|| (index.clone(), Value::Object(entry)))
    };
    let entries: Map<String, Value> = index_keys.iter().filter_map(entry).collect();
    let parts = [("key", of(&keys)), ("attributes", attributes), ("indexes", entries)];
    let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
    parts.map(|(name, part)| (name.to_owned(), Value::Object(part))).collect()
}

/// The library puts the model's name in place of the field that holds it: `${_type}#${id}`.
fn typed(value: &str, place: &str, type_field: &str) -> String {
    let model = place.rsplit('.').next().unwrap_or(place);
    value.replace(&format!("${{{type_field}}}"), model)
}

/// `None` if the key is an ordinary attribute.
fn template(
    key: &str,
    name: &str,
    field: &Value,
    is_number: &dyn Fn(&str) -> bool,
    place: &str,
    type_field: &str,
    notes: &mut Notes,
) -> Option<String> {
    if let Some(template) = field["template"].as_str() {
        return Some(template.to_owned());
    }
    match &field["value"] {
        Value::String(value) => {
            let template = template_of(&typed(value, place, type_field), is_number);
            if template.is_none() {
                notes.add(format!("{place}.{name}: the model has no word for `{value}`"));
            }
            template
        }
        Value::Bool(true) => {
            notes.add(format!("{place}.{name}: the function that makes it is not in the schema"));
            None
        }
        _ => (name != key).then(|| format!("{{{name}}}")),
    }
}

/// `ORDER#${createdAt}#${line:3:0}` -> `ORDER#{createdAt}#{line:03}`; `None` if the padded value is not a number,
/// or the padding is not zeros.
fn template_of(value: &str, is_number: &dyn Fn(&str) -> bool) -> Option<String> {
    let literal = |text: &str| text.replace('{', "{{").replace('}', "}}");
    let mut pieces = value.split("${");
    let mut template = literal(pieces.next()?);
    for piece in pieces {
        let (field, rest) = piece.split_once('}')?;
        let mut parts = field.split(':');
        let name = parts.next()?;
        let width: Option<u32> = parts.next().map(str::parse).transpose().ok()?;
        let with_zeros = matches!(parts.next(), None | Some("" | "0")) && is_number(name);
        if name.is_empty() || (width.is_some() && !with_zeros) {
            return None;
        }
        template += &match width {
            Some(width) => format!("{{{name}:0{width}}}"),
            None => format!("{{{name}}}"),
        };
        template += &literal(rest);
    }
    (!template.is_empty()).then_some(template)
}

fn described(schema: &Value, field: &Value) -> Value {
    let mut attribute = json!({ "type": kind(schema, field) });
    let choices = field["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    let number = attribute["type"] == "number";
    let text =
        AttributeKind::ALL.iter().any(|one| one.name() == attribute["type"] && one.stored() == Type::S);
    let fits = |choice: &Value| (number && choice.is_number()) || (text && choice.is_string());
    match choices {
        [only] if fits(only) && *only == field["default"] => attribute["value"] = only.clone(),
        several if !several.is_empty() && several.iter().all(fits) => {
            attribute["values"] = several.iter().map(plain_text).collect();
        }
        _ => {}
    }
    let given = ["default", "generate", "value"].iter().any(|name| field.get(*name).is_some());
    if field["required"] != true && !given {
        attribute["optional"] = true.into();
    }
    attribute
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(schema: &Value, field: &Value) -> &'static str {
    let iso = field.get("isoDates").unwrap_or(&schema["params"]["isoDates"]) == true;
    let form = field["validate"].as_str().and_then(pattern::kind_of);
    match (type_name(field).as_str(), field["generate"].as_str()) {
        ("date", _) if field["ttl"] == true => "epoch",
        ("date", _) if iso => "timestamp",
        ("date", _) => "epoch-millis",
        ("number", _) => "number",
        ("boolean", _) => "boolean",
        ("binary" | "buffer" | "arraybuffer", _) => "binary",
        ("array", _) => "list",
        ("object", _) => "map",
        ("set", _) => match type_name(&field["items"]).as_str() {
            "number" => "number-set",
            "binary" => "binary-set",
            _ => "string-set",
        },
        (_, Some("uuid")) => "uuid",
        (_, Some("ulid")) => "ulid",
        _ => form.map_or("string", |kind| kind.name()),
    }
}

fn add_timestamps(schema: &Value, attributes: &mut Map<String, Value>) {
    let params = &schema["params"];
    let kind = if params["isoDates"] == true { "timestamp" } else { "epoch-millis" };
    let stamps = [("create", "createdField", "created"), ("update", "updatedField", "updated")];
    for (when, member, name) in stamps {
        if params["timestamps"] == true || params["timestamps"] == when {
            let name = params[member].as_str().unwrap_or(name);
            attributes.entry(name.to_owned()).or_insert_with(|| kind.into());
        }
    }
}

fn tell(fields: &Map<String, Value>, place: &str, notes: &mut Notes) {
    for (name, field) in fields {
        if field["unique"] == true {
            notes.add(format!(
                "{place}.{name}: that it is unique is kept, but the items which OneTable writes for it \
                 (`_unique#…`) are not in the model"
            ));
        }
        if let Some(stored) = field["map"].as_str() {
            notes.add(format!("{place}.{name}: the model calls it so, though it is stored as `{stored}`"));
        }
        if field["crypt"] == true {
            notes.add(format!("{place}.{name}: that it is encrypted is kept, but not in the model"));
        }
    }
}
