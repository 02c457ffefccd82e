//! The members of CreateTable, as `aws dynamodb create-table --cli-input-json` takes them; one object, or a
//! list for several tables.

use model::Model;
use model::draft::{Draft, Notes, Unreadable};
use model::model::{Encryption, Table};
use model::table_shape::{TableSection, section, shape};
use serde_json::Value;

use crate::{Aspect, Format, JSON};

pub const FORMAT: Format = Format {
    name: "create-table",
    title: "the input of CreateTable, as JSON",
    syntax: &JSON,
    recognises: |document| tables_of(document).is_ok_and(|tables| tables.iter().all(is_table)),
    read: Some(read),
    write: Some(write),
    holds: &[Aspect::CREATE_TABLE],
};

/// The CLI takes the name as an argument, too.
fn is_table(shape: &Value) -> bool {
    let named = shape.get("TableName").is_none_or(Value::is_string);
    named && shape["KeySchema"].is_array() && shape["AttributeDefinitions"].is_array()
}

/// The name of a table that has none.
const UNNAMED: &str = "table";

/// What DescribeTable returns has a `Table` around it.
fn tables_of(document: &Value) -> Result<Vec<Value>, Unreadable> {
    let tables = match document {
        Value::Array(tables) if !tables.is_empty() => tables.clone(),
        Value::Object(members) if members.contains_key("KeySchema") => vec![document.clone()],
        _ => return Err(Unreadable("expected an object with `KeySchema`, or a list of such".to_owned())),
    };
    Ok(tables)
}

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let tables = tables_of(document)?;
    let mut sections: Vec<TableSection> = Vec::new();
    for table in &tables {
        let mut table = table.clone();
        if table.get("TableName").is_none() {
            table["TableName"] = UNNAMED.into();
            notes.add(format!("a table has no name: the model calls it `{UNNAMED}`"));
        }
        sections.push(section(&table)?);
    }
    let mut draft = Draft::new(sections.first().map_or("", |first| &first.name));
    for table in sections {
        draft.add_unknown_entity(&table, notes);
        draft.add_table(table);
    }
    Ok(draft)
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let shapes: Vec<Value> = model.tables.iter().filter_map(|table| shape_or_note(table, notes)).collect();
    note_keys(model, notes);
    match <[Value; 1]>::try_from(shapes) {
        Ok([shape]) => shape,
        Err(shapes) => Value::Array(shapes),
    }
}

/// The shape of a table; a note if the table has no keys yet.
pub fn shape_or_note(table: &Table, notes: &mut Notes) -> Option<Value> {
    let shape = shape(table);
    if shape.is_none() {
        notes.add(format!("table {} has no keys yet: `lodestone model design` finds them", table.name.value));
    }
    shape
}

/// Notes that the id of a customer-managed key is not in a model.
pub fn note_keys(model: &Model, notes: &mut Notes) {
    for table in model.tables.iter().filter(|table| table.encryption == Encryption::CustomerManaged) {
        notes.add(format!("table {}: add your key as `KMSMasterKeyId`", table.name.value));
    }
}
