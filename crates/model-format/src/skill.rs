//! The data model of AWS's `amazon-dynamodb` skill. Its file has the same name as the MCP server's, but writes
//! `table_name` instead of `TableName`. It has loads rather than conditions.

use model::Model;
use model::draft::Draft;
use model::learn::infer;
use model::model::{ActionKind, AttributeKind, Consistency, Entity, Index, Pattern, Projection, TableId};
use model::table_shape::{TableSection, projection_of};
use serde_json::{Map, Value, json};

use crate::document::{key_sides, list, put_key_sides, required_list, required_text};
use crate::operation::{operation, verb};
use crate::{Aspect, Format, JSON, Notes, Unreadable};

pub const FORMAT: Format = Format {
    name: "skill",
    title: "the data model of AWS's amazon-dynamodb skill",
    syntax: &JSON,
    recognises: |document| document["tables"][0]["table_name"].is_string(),
    read: Some(read),
    write: Some(write),
    holds: &[&[
        Aspect::Tables,
        Aspect::WideKeys,
        Aspect::Entities,
        Aspect::Counts,
        Aspect::Sizes,
        Aspect::Patterns,
        Aspect::Rates,
        Aspect::Consistency,
    ]],
};

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let tables = required_list(document, "tables")?;
    let mut draft = Draft::new(tables.first().and_then(|one| one["table_name"].as_str()).unwrap_or("model"));
    for shape in tables {
        let table = section(shape)?;
        for entity in list(&shape["entities"]) {
            let name = entity["entity_name"].as_str().unwrap_or("Item");
            draft.add_entity(name, &table.name, entity_fields(&table, entity));
        }
        draft.add_described_table(table);
    }
    for pattern in list(&document["access_patterns"]) {
        let id = pattern["pattern_id"].as_str().unwrap_or("P");
        match pattern_fields(&draft, pattern) {
            Some(fields) => draft.add_pattern(id, fields),
            None => notes.add(format!("pattern {id} is kept, but a model has no word for it")),
        }
    }
    Ok(draft)
}

fn section(shape: &Value) -> Result<TableSection, Unreadable> {
    let name = required_text("a table", shape, "table_name")?;
    let kind = |name: &str| {
        let attributes = list(&shape["entities"]).flat_map(|entity| list(&entity["attributes"]));
        let declared = attributes.into_iter().find(|one| one["name"] == name);
        infer::kind_of_tag(declared.and_then(|one| one["type"].as_str()).unwrap_or("S"))
    };
    let mut fields = key_sides(&shape["key_schema"], kind);
    let index = |index: &Value| {
        let mut fields = key_sides(index, kind);
        let declared = &index["projection"];
        let kind = declared["type"].as_str().or_else(|| declared.as_str());
        fields.insert("project".to_owned(), projection_of(kind, &declared["attributes"]));
        Some((index["index_name"].as_str()?.to_owned(), Value::Object(fields)))
    };
    let indexes: Map<String, Value> = list(&shape["gsis"]).filter_map(index).collect();
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    Ok(TableSection { name: name.to_owned(), fields })
}

fn entity_fields(table: &TableSection, entity: &Value) -> Map<String, Value> {
    let declared = list(&entity["attributes"]).filter_map(|one| {
        let kind = infer::kind_of_tag(one["type"].as_str().unwrap_or("S"));
        Some((one["name"].as_str()?.to_owned(), Value::from(kind)))
    });
    let mut attributes: Map<String, Value> = declared.collect();
    for (name, kind) in table.attributes().into_iter().filter(|(name, _)| table.key_names().contains(name)) {
        attributes.entry(name).or_insert_with(|| kind.into());
    }
    let mut fields = Map::from_iter([("attributes".to_owned(), Value::Object(attributes))]);
    if let Some(count) = entity["estimated_item_count"].as_u64() {
        fields.insert("count".to_owned(), count.into());
    }
    if let Some(size) = entity["estimated_item_size_bytes"].as_u64() {
        fields.insert("size".to_owned(), format!("{size} B").into());
    }
    fields
}

/// `None` for operations on several items, whose steps are not listed.
fn pattern_fields(draft: &Draft, pattern: &Value) -> Option<Map<String, Value>> {
    let operation = pattern["operation"].as_str()?;
    let verb = verb(operation)?;
    let written = list(&pattern["entities_written"]).find_map(Value::as_str);
    let entities = draft.entities_of(pattern["table"].as_str()?);
    let entity = written.filter(|name| entities.contains(name)).or_else(|| entities.first().copied())?;
    let mut fields = Map::from_iter([(verb.to_owned(), Value::from(entity))]);
    let set: Vec<Value> = list(&pattern["attributes_written"]).cloned().collect();
    if verb == "update" && !set.is_empty() {
        fields.insert("set".to_owned(), set.into());
    }
    let rates = [("average", &pattern["avg_rps"]), ("peak", &pattern["peak_rps"])];
    let rate: Map<String, Value> = rates
        .into_iter()
        .filter_map(|(name, rate)| Some((name.to_owned(), format!("{}/s", rate.as_f64()?).into())))
        .collect();
    if !rate.is_empty() {
        fields.insert("rate".to_owned(), Value::Object(rate));
    }
    if let Some(returned) = pattern["items_per_request"].as_f64().filter(|_| matches!(verb, "query" | "scan"))
    {
        fields.insert("returns".to_owned(), returned.into());
    }
    if let Some(description) = pattern["description"].as_str() {
        fields.insert("description".to_owned(), description.into());
    }
    if let Some(consistency @ ("strong" | "eventual")) = pattern["consistency"].as_str() {
        fields.insert("consistency".to_owned(), consistency.into());
    }
    if let Some(index) = pattern["index"].as_str() {
        fields.insert("index".to_owned(), index.into());
    }
    Some(fields)
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let tables: Vec<Value> = model.table_ids().map(|id| table(model, id)).collect();
    let patterns: Vec<Value> = model.patterns.iter().filter_map(|one| pattern(model, one, notes)).collect();
    json!({ "tables": tables, "access_patterns": patterns })
}

fn table(model: &Model, id: TableId) -> Value {
    let table = model.table(id);
    let entities: Vec<Value> = model.entities_of(id).map(|(_, entity)| entity_shape(model, entity)).collect();
    let mut shape = json!({ "table_name": table.name.value, "key_schema": {}, "entities": entities });
    if let Some(key) = &table.key {
        put_key_sides(&mut shape["key_schema"], &key.partition, &key.sort);
    }
    let indexes: Vec<Value> = table.global_indexes().map(index).collect();
    if !indexes.is_empty() {
        shape["gsis"] = indexes.into();
    }
    shape
}

fn index(index: &Index) -> Value {
    let mut shape = json!({ "index_name": index.name.value });
    put_key_sides(&mut shape, &index.key.partition, &index.key.sort);
    shape["projection"] = match &index.projection.value {
        Projection::All => json!({ "type": "ALL" }),
        Projection::Keys => json!({ "type": "KEYS_ONLY" }),
        Projection::Include(names) => {
            let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
            json!({ "type": "INCLUDE", "attributes": names })
        }
    };
    shape
}

fn entity_shape(model: &Model, entity: &Entity) -> Value {
    let mut shape = json!({ "entity_name": entity.name.value });
    if let Some(size) = &entity.size {
        shape["estimated_item_size_bytes"] = size.typical.into();
    }
    if let Some(items) = model.entity_named(&entity.name).and_then(|id| model.items(id)) {
        shape["estimated_item_count"] = (items as u64).into();
    }
    let kind = |kind: AttributeKind| kind.stored().name();
    shape["attributes"] =
        entity.attributes.values().map(|one| json!({ "name": one.name, "type": kind(one.kind) })).collect();
    shape
}

fn pattern(model: &Model, pattern: &Pattern, notes: &mut Notes) -> Option<Value> {
    let (Some(operation), Some(action)) = (operation(pattern), pattern.actions.first()) else {
        notes.add(format!("pattern {} is left out: there is no word for it", pattern.id.value));
        return None;
    };
    let entity = match &action.kind {
        ActionKind::Read(read) => model.entity(read.entities.first()?.value),
        ActionKind::Write(write) => model.entity(write.entity.value),
    };
    let mut shape = json!({
        "pattern_id": pattern.id.value,
        "operation": operation,
        "table": model.table_of(entity).name.value,
    });
    if let Some(description) = &pattern.description {
        shape["description"] = description.as_str().into();
    }
    if let Some(index) = &pattern.index {
        shape["index"] = index.value.as_str().into();
    }
    if let Some(rate) = &pattern.rate {
        shape["peak_rps"] = number(rate.peak());
        shape["avg_rps"] = number(rate.average);
    }
    match &action.kind {
        ActionKind::Read(read) => {
            if let Some(returns) = &read.returns {
                shape["items_per_request"] = number(returns.typical);
            }
        }
        ActionKind::Write(write) => {
            let names: Vec<&str> = write.set.iter().map(|change| change.attribute.value.as_str()).collect();
            if !names.is_empty() {
                shape["attributes_written"] = names.into();
            }
            shape["entities_written"] = json!([entity.name.value]);
        }
    }
    if let Some(size) = &entity.size {
        shape["estimated_item_size_bytes"] = size.typical.into();
    }
    if let Some(consistency) = &pattern.consistency {
        let strong = consistency.value == Consistency::Strong;
        shape["consistency"] = if strong { "strong" } else { "eventual" }.into();
    }
    Some(shape)
}

/// Whole numbers without a decimal point.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value < 1e15 { (value as u64).into() } else { value.into() }
}
