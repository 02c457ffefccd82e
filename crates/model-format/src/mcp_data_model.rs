//! `dynamodb_data_model.json` of the awslabs DynamoDB MCP server: tables in the shape of CreateTable, items as
//! BatchWriteItem takes them, and access patterns with the command that serves each.

use model::Model;
use model::draft::Draft;
use model::dynamodb_json::Row;
use model::learn::infer;
use model::model::{ActionKind, Pattern};
use model::table_shape::{self, TableSection};
use serde_json::{Map, Value, json};

use crate::create_table;
use crate::document::{id, list, required_list};
use crate::operation::{operation, verb};
use crate::value;
use crate::{Aspect, Format, JSON, Notes, Unreadable};

pub const FORMAT: Format = Format {
    name: "mcp-data-model",
    title: "dynamodb_data_model.json of the awslabs DynamoDB MCP server",
    syntax: &JSON,
    recognises: |document| document["tables"][0]["TableName"].is_string(),
    read: Some(read),
    write: Some(write),
    holds: &[Aspect::CREATE_TABLE, &[Aspect::Samples, Aspect::Patterns]],
};

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let shapes = required_list(document, "tables")?;
    let tables: Vec<TableSection> = shapes.iter().map(table_shape::section).collect::<Result<_, _>>()?;
    let mut draft = Draft::new(tables.first().map_or("model", |table| &table.name));
    for mut table in tables {
        let rows: Vec<Row> = list(&document["items"][&table.name])
            .filter_map(|request| request["PutRequest"]["Item"].as_object().cloned())
            .collect();
        for found in infer::entities(&table, &rows) {
            draft.add_entity(&found.name, &table.name, found.fields);
        }
        if rows.is_empty() {
            draft.add_plain_entity(&table);
        } else {
            table.fields.insert("samples".to_owned(), rows.into_iter().map(Value::Object).collect());
        }
        notes.add(format!("table {}: entities are inferred from its items", table.name));
        draft.add_table(table);
    }
    for pattern in list(&document["access_patterns"]) {
        let id = id(&pattern["pattern"]);
        match pattern_fields(&draft, pattern) {
            Some(fields) => draft.add_pattern(&id, fields),
            None => notes.add(format!("pattern {id} is kept, but not read: its entity can't be recognised")),
        }
    }
    Ok(draft)
}

/// If a table has one entity, the pattern is about that entity.
fn pattern_fields(draft: &Draft, pattern: &Value) -> Option<Map<String, Value>> {
    let operation = pattern["dynamodb_operation"].as_str()?;
    let verb = verb(operation)?;
    let entities = draft.entities_of(pattern["table"].as_str()?);
    let [entity] = entities.as_slice() else { return None };
    let mut fields = Map::new();
    if let Some(description) = pattern["description"].as_str() {
        fields.insert("description".to_owned(), description.into());
    }
    fields.insert(verb.to_owned(), (*entity).into());
    let index = pattern["index"].as_str();
    if let Some(index) = index {
        fields.insert("index".to_owned(), index.into());
    }
    let known = equalities(pattern["implementation"].as_str().unwrap_or_default());
    if verb == "query" && !known.is_empty() {
        fields.insert("by".to_owned(), known.into());
    }
    Some(fields)
}

/// The attributes that the command's key condition fixes: `'#c = :c AND …'` with its names.
fn equalities(command: &str) -> Vec<String> {
    let quoted = |option: &str| {
        let (_, rest) = command.split_once(option)?;
        let mut parts = rest.trim_start().splitn(3, rest.trim_start().chars().next()?);
        parts.nth(1).map(str::to_owned)
    };
    let names: Value = quoted("--expression-attribute-names ")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let condition = quoted("--key-condition-expression ").unwrap_or_default();
    let terms = condition.split(" AND ").flat_map(|term| term.split(" and "));
    terms
        .filter_map(|term| {
            let (name, value) = term.split_once('=')?;
            let name = name.trim();
            let plain =
                !name.is_empty() && !name.contains(['<', '>', '(', ' ']) && value.trim().starts_with(':');
            plain.then(|| names[name].as_str().unwrap_or(name).to_owned())
        })
        .collect()
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let tables: Vec<Value> =
        model.tables.iter().filter_map(|table| create_table::shape_or_note(table, notes)).collect();
    create_table::note_keys(model, notes);
    let patterns: Vec<Value> = model.patterns.iter().filter_map(|one| pattern(model, one, notes)).collect();
    json!({ "tables": tables, "items": items(model), "access_patterns": patterns })
}

fn items(model: &Model) -> Map<String, Value> {
    let mut items = Map::new();
    for id in model.table_ids() {
        let table = model.table(id);
        let literal = table.samples.iter().map(value::row);
        let own = model.entities_of(id).flat_map(|(_, entity)| {
            entity.samples.iter().map(move |row| value::keyed_row(table, entity, row))
        });
        let rows: Vec<Value> =
            literal.chain(own).map(|row| json!({ "PutRequest": { "Item": row } })).collect();
        if !rows.is_empty() {
            items.insert(table.name.value.clone(), rows.into());
        }
    }
    items
}

fn pattern(model: &Model, pattern: &Pattern, notes: &mut Notes) -> Option<Value> {
    let description = pattern.description.clone().unwrap_or_default();
    if let Some(external) = &pattern.external {
        let reason = format!("Delegated to {}", external.value);
        return Some(json!({ "pattern": pattern.id.value, "description": description, "reason": reason }));
    }
    let Some(operation) = operation(pattern) else {
        notes.add(format!("pattern {} is left out: it has several steps", pattern.id.value));
        return None;
    };
    let entity = match &pattern.actions.first()?.kind {
        ActionKind::Read(read) => read.entities.first()?.value,
        ActionKind::Write(write) => write.entity.value,
    };
    let mut shape = json!({ "pattern": pattern.id.value, "description": description });
    shape["table"] = model.table_of(model.entity(entity)).name.value.as_str().into();
    if let Some(index) = &pattern.index {
        shape["index"] = index.value.as_str().into();
    }
    shape["dynamodb_operation"] = operation.into();
    notes.add("the commands (`implementation`) of patterns are not written");
    Some(shape)
}
