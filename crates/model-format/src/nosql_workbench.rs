//! NoSQL Workbench's data models. Version 3.0 is written; 1.0 to 3.0 are read. Rows are in facets if there
//! are any, else in the table.

use model::Model;
use model::draft::Draft;
use model::dynamodb_json::Row;
use model::learn::infer;
use model::model::{Billing, Capacity, Entity, Index, IndexKind, KeySchema, Table, TableId, Throughput};
use model::table_shape::{TableSection, projection, projection_shape};
use model::template::Template;
use serde_json::{Map, Value, json};

use crate::document::{list, required_list};
use crate::value;
use crate::{Aspect, Format, JSON, Notes, Unreadable};

pub const FORMAT: Format = Format {
    name: "nosql-workbench",
    title: "NoSQL Workbench's data model",
    syntax: &JSON,
    recognises: |document| document["DataModel"].is_array(),
    read: Some(read),
    write: Some(write),
    holds: &[&[
        Aspect::Description,
        Aspect::Tables,
        Aspect::Throughput,
        Aspect::Scaling,
        Aspect::Samples,
        Aspect::Entities,
        Aspect::Templates,
    ]],
};

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let tables = required_list(document, "DataModel")?;
    let mut draft = Draft::new(document["ModelName"].as_str().unwrap_or("model"));
    let description = document["ModelMetadata"]["Description"].as_str().filter(|text| !text.is_empty());
    draft.description = description.map(str::to_owned);
    for shape in tables {
        let mut table = section(shape)?;
        let rows = rows(shape);
        add_entities(&mut draft, &table, shape, notes);
        if !rows.is_empty() {
            table.fields.insert("samples".to_owned(), rows.into_iter().map(Value::Object).collect());
        }
        draft.add_table(table);
    }
    Ok(draft)
}

fn section(shape: &Value) -> Result<TableSection, Unreadable> {
    let name =
        shape["TableName"].as_str().ok_or_else(|| Unreadable("a table has no `TableName`".to_owned()))?;
    let mut fields = key_fields(&shape["KeyAttributes"]);
    let provisioned = shape["BillingMode"] == "PROVISIONED";
    fields.insert("billing".to_owned(), if provisioned { "provisioned" } else { "on-demand" }.into());
    if provisioned {
        put_capacity(&mut fields, &shape["ProvisionedCapacitySettings"]);
    }
    let index = |index: &Value| {
        let mut fields = key_fields(&index["KeyAttributes"]);
        fields.insert("project".to_owned(), projection(&index["Projection"]));
        Some((index["IndexName"].as_str()?.to_owned(), Value::Object(fields)))
    };
    let indexes: Map<String, Value> = list(&shape["GlobalSecondaryIndexes"]).filter_map(index).collect();
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    Ok(TableSection { name: name.to_owned(), fields })
}

fn key_fields(keys: &Value) -> Map<String, Value> {
    let side = |(member, name): (&str, &str)| {
        let attribute = keys[member]["AttributeName"].as_str()?;
        let kind = infer::kind_of_tag(keys[member]["AttributeType"].as_str().unwrap_or("S"));
        Some((name.to_owned(), json!({ attribute: kind })))
    };
    [("PartitionKey", "partition"), ("SortKey", "sort")].into_iter().filter_map(side).collect()
}

fn put_capacity(fields: &mut Map<String, Value>, settings: &Value) {
    let units = &settings["ProvisionedThroughput"];
    let sides = [
        ("read", "ReadCapacityUnits", "AutoScalingRead"),
        ("write", "WriteCapacityUnits", "AutoScalingWrite"),
    ];
    for (name, member, scaling) in sides {
        let mut capacity = Map::new();
        let mut put = |name: &str, value: Option<u64>| {
            value.map(|value| capacity.insert(name.to_owned(), value.into()));
        };
        put("units", units[member].as_u64());
        put("min", settings[scaling]["ScalableTargetRequest"]["MinCapacity"].as_u64());
        put("max", settings[scaling]["ScalableTargetRequest"]["MaxCapacity"].as_u64());
        let target = settings[scaling]["ScalingPolicyConfiguration"]["TargetValue"].as_f64();
        target.map(|target| capacity.insert("target".to_owned(), format!("{target}%").into()));
        if !capacity.is_empty() {
            fields.insert(name.to_owned(), Value::Object(capacity));
        }
    }
}

/// All rows, of facets first.
fn rows(shape: &Value) -> Vec<Row> {
    let facets = list(&shape["TableFacets"]).flat_map(|facet| list(&facet["TableData"]));
    facets.chain(list(&shape["TableData"])).filter_map(|row| row.as_object().cloned()).collect()
}

fn add_entities(draft: &mut Draft, table: &TableSection, shape: &Value, notes: &mut Notes) {
    let facets: Vec<&Value> =
        list(&shape["TableFacets"]).filter(|facet| facet["FacetName"].is_string()).collect();
    let rows = rows(shape);
    if facets.is_empty() && rows.is_empty() {
        draft.add_unknown_entity(table, notes);
        return;
    }
    for facet in &facets {
        let fields = facet_fields(table, shape, facet);
        draft.add_entity(facet["FacetName"].as_str().unwrap_or_default(), &table.name, fields);
    }
    if facets.is_empty() {
        notes.add(format!(
            "table {}: entities are inferred from the rows, by the words in their keys",
            table.name
        ));
        for found in infer::entities(table, &rows) {
            draft.add_entity(&found.name, &table.name, found.fields);
        }
    }
}

/// Inferred from its rows; from its aliases, if it has no rows.
fn facet_fields(table: &TableSection, shape: &Value, facet: &Value) -> Map<String, Value> {
    let rows: Vec<&Row> = list(&facet["TableData"]).filter_map(Value::as_object).collect();
    let mut fields = if rows.is_empty() { by_alias(table, facet) } else { infer::fields(table, &rows) };
    let made: Vec<String> = ["key", "indexes"].iter().flat_map(|part| made(fields.get(*part))).collect();
    let kind = |name: &str| {
        let declared = list(&shape["NonKeyAttributes"]).find(|one| one["AttributeName"] == name);
        infer::kind_of_tag(declared.and_then(|one| one["AttributeType"].as_str()).unwrap_or("S"))
    };
    if let Some(Value::Object(attributes)) = fields.get_mut("attributes") {
        for name in list(&facet["NonKeyAttributes"]).filter_map(Value::as_str) {
            if !made.iter().any(|one| one == name) && !attributes.contains_key(name) {
                attributes.insert(name.to_owned(), json!({ "type": kind(name), "optional": true }));
            }
        }
    }
    fields
}

/// The keys that have templates, of the table or of its indexes.
fn made(part: Option<&Value>) -> Vec<String> {
    let members = part.and_then(Value::as_object).into_iter().flatten();
    let names = members.flat_map(|(name, value)| match value {
        Value::Object(entry) => entry.keys().cloned().collect(),
        _ => vec![name.clone()],
    });
    names.collect()
}

/// `ORDER#<date>#<id>`; the keys are plain attributes if nothing in them is marked.
fn by_alias(table: &TableSection, facet: &Value) -> Map<String, Value> {
    let alias = &facet["KeyAttributeAlias"];
    let aliases = [&alias["PartitionKeyAlias"], &alias["SortKeyAlias"]];
    let kinds = table.attributes();
    let kind = |name: &str| {
        let found = kinds.iter().find(|(key, _)| key == name);
        found.map_or("string", |(_, kind)| kind.as_str()).to_owned()
    };
    let mut key = Map::new();
    let mut attributes = Map::new();
    for (name, alias) in table.key_names().into_iter().zip(aliases) {
        match alias.as_str().filter(|alias| alias.contains('<') || alias.contains('#')) {
            Some(alias) => key.insert(name, template_of(alias).into()),
            None => attributes.insert(name.clone(), kind(&name).into()),
        };
    }
    let mut fields = Map::from_iter([("attributes".to_owned(), Value::Object(attributes))]);
    if !key.is_empty() {
        fields.insert("key".to_owned(), Value::Object(key));
    }
    fields
}

/// A bare `<id>` is named after the word before it.
fn template_of(alias: &str) -> String {
    let mut word = String::new();
    let part = |part: &str| {
        let marked = part.strip_prefix('<').and_then(|part| part.strip_suffix('>'));
        let Some(name) = marked else {
            word = part.to_lowercase();
            return part.replace('{', "{{").replace('}', "}}");
        };
        let name: String = name.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
        let name =
            if name.eq_ignore_ascii_case("id") || name.is_empty() { format!("{word}Id") } else { name };
        format!("{{{name}}}")
    };
    alias.split('#').map(part).collect::<Vec<_>>().join("#")
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let tables: Vec<Value> = model.table_ids().filter_map(|id| table(model, id, notes)).collect();
    json!({
        "ModelName": model.name.value,
        "ModelMetadata": {
            "Author": "",
            // A fixed date: this crate reads no clock.
            "DateCreated": "Jan 01, 2026, 12:00 AM",
            "DateLastModified": "Jan 01, 2026, 12:00 AM",
            "Description": model.description.clone().unwrap_or_default(),
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": tables,
    })
}

fn table(model: &Model, id: TableId, notes: &mut Notes) -> Option<Value> {
    let table = model.table(id);
    let Some(key) = &table.key else {
        notes.add(format!("table {} has no keys yet", table.name.value));
        return None;
    };
    let entities: Vec<&Entity> = model.entities_of(id).map(|(_, entity)| entity).collect();
    let owner = |row| entities.iter().position(|entity| value::is_of(table, entity, row));
    let loose: Vec<Row> = table.samples.iter().filter(|row| owner(row).is_none()).map(value::row).collect();
    let facets: Vec<Value> = entities
        .iter()
        .enumerate()
        .map(|(position, entity)| {
            let literal = table.samples.iter().filter(|row| owner(row) == Some(position)).map(value::row);
            let own = entity.samples.iter().map(|row| value::keyed_row(table, entity, row));
            facet(table, entity, literal.chain(own).collect())
        })
        .collect();
    let indexes: Vec<Value> = table
        .indexes
        .iter()
        .filter_map(|one| if is_held(one, notes) { Some(index(one)) } else { None })
        .collect();
    note_throughput(table, notes);
    let mut shape = json!({
        "TableName": table.name.value,
        "KeyAttributes": key_attributes(key),
        "NonKeyAttributes": non_key_attributes(table, key, &entities),
        "TableFacets": facets,
        "GlobalSecondaryIndexes": indexes,
        "TableData": loose,
        "DataAccess": { "MySql": {} },
        "BillingMode": if table.billing.value == Billing::OnDemand { "PAY_PER_REQUEST" } else { "PROVISIONED" },
    });
    if table.billing.value == Billing::Provisioned {
        shape["ProvisionedCapacitySettings"] = capacity_settings(table);
    }
    Some(shape)
}

/// Notes every throughput setting but provisioned units: the format can't hold others.
fn note_throughput(table: &Table, notes: &mut Notes) {
    let name = &table.name.value;
    if table.indexes.iter().any(|index| index.throughput != Throughput::default()) {
        notes.add(format!("table {name}: the throughput of indexes is left out"));
    }
    if table.billing.value == Billing::OnDemand && table.throughput != Throughput::default() {
        notes.add(format!("table {name}: limits of on-demand throughput are left out"));
    }
}

fn key_attributes(key: &KeySchema) -> Value {
    let mut keys = Map::new();
    for (name, attribute) in [("PartitionKey", key.partition.first()), ("SortKey", key.sort.first())] {
        if let Some(attribute) = attribute {
            let described =
                json!({ "AttributeName": attribute.name, "AttributeType": attribute.kind.name() });
            keys.insert(name.to_owned(), described);
        }
    }
    Value::Object(keys)
}

fn is_held(index: &Index, notes: &mut Notes) -> bool {
    let narrow = index.key.partition.len() < 2 && index.key.sort.len() < 2;
    let held = index.kind == IndexKind::Global && narrow;
    if !held {
        notes.add(format!(
            "index {} is left out: it is local, or its key has several attributes",
            index.name.value
        ));
    }
    held
}

fn index(index: &Index) -> Value {
    json!({
        "IndexName": index.name.value,
        "KeyAttributes": key_attributes(&index.key),
        "Projection": projection_shape(&index.projection),
    })
}

/// Every attribute that is used has to be declared, keys of indexes among them.
fn non_key_attributes(table: &Table, key: &KeySchema, entities: &[&Entity]) -> Vec<Value> {
    let mut kinds: Map<String, Value> = Map::new();
    let of_indexes = table.indexes.iter().flat_map(|index| index.key.attributes());
    let of_indexes = of_indexes.map(|one| (one.name.clone(), one.kind.name()));
    let declared = entities.iter().flat_map(|entity| entity.attributes.values());
    let declared = declared.map(|one| (one.name.clone(), one.kind.stored().name()));
    let rows = table.samples.iter().flat_map(|row| &row.values);
    let rows = rows.map(|(name, value)| (name.clone(), value.value.kind().name()));
    for (name, kind) in of_indexes.chain(declared).chain(rows).filter(|(name, _)| !key.names(name)) {
        kinds.entry(name).or_insert_with(|| kind.into());
    }
    kinds.iter().map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })).collect()
}

fn facet(table: &Table, entity: &Entity, rows: Vec<Row>) -> Value {
    let templates: Vec<&Template> = entity.key_templates().collect();
    let mut aliases = Map::new();
    for (name, template) in ["PartitionKeyAlias", "SortKeyAlias"].into_iter().zip(templates) {
        aliases.insert(name.to_owned(), alias(template).into());
    }
    let keys = table.key.iter().flat_map(KeySchema::attributes).map(|key| key.name.as_str());
    let keys: Vec<&str> = keys.collect();
    let entries = entity.entries.iter().filter(|entry| entry.declared);
    let of_entries = entries.flat_map(|entry| table.index(entry.index).key.attributes());
    let mut names: Vec<&str> = Vec::new();
    let all = entity.attributes.keys().map(String::as_str).chain(of_entries.map(|key| key.name.as_str()));
    for name in all.filter(|name| !keys.contains(name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    json!({
        "FacetName": entity.name.value,
        "KeyAttributeAlias": aliases,
        "TableData": rows,
        "NonKeyAttributes": names,
        "DataAccess": { "MySql": {} },
    })
}

fn alias(template: &Template) -> String {
    match template.bare() {
        Some(attribute) => attribute.to_owned(),
        None => template.to_string().replace('{', "<").replace('}', ">"),
    }
}

fn capacity_settings(table: &Table) -> Value {
    let read = table.throughput.read.as_ref().map(|one| one.value.clone()).unwrap_or_default();
    let write = table.throughput.write.as_ref().map(|one| one.value.clone()).unwrap_or_default();
    let units = |capacity: &Capacity| capacity.units.or(capacity.min).unwrap_or(5);
    let mut settings = json!({
        "ProvisionedThroughput": { "ReadCapacityUnits": units(&read), "WriteCapacityUnits": units(&write) },
    });
    for (name, capacity) in [("AutoScalingRead", &read), ("AutoScalingWrite", &write)] {
        if let (Some(min), Some(max)) = (capacity.min, capacity.max) {
            settings[name] = json!({
                "ScalableTargetRequest": { "MinCapacity": min, "MaxCapacity": max },
                "ScalingPolicyConfiguration": { "TargetValue": (capacity.target.unwrap_or(0.7) * 100.0).round() },
            });
        }
    }
    settings
}
