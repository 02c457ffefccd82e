//! `aws_dynamodb_table` <-> the shape of CreateTable.

use model::model::{Encryption, Index, IndexKind, KeySchema, Table, TableClass};
use model::table_shape::{self, TableSection};
use serde_json::{Map, Value, json};

use super::{Configuration, blocks, literal};
use crate::scaling::{Scaling, Side};
use crate::{Notes, Unreadable};

/// `resource` has been resolved.
pub fn section(name: &str, resource: &Value) -> Result<TableSection, Unreadable> {
    let mut section = table_shape::section(&shape(name, resource))?;
    let ttl = blocks(&resource["ttl"]).find(|ttl| ttl["enabled"] == true);
    if let Some(attribute) = ttl.and_then(|ttl| given(&ttl["attribute_name"])) {
        section.fields.insert("ttl".to_owned(), attribute.into());
    }
    let recovery = blocks(&resource["point_in_time_recovery"]).next();
    if let Some(enabled) = recovery.and_then(|recovery| recovery["enabled"].as_bool()) {
        section.fields.insert("pitr".to_owned(), enabled.into());
    }
    let replicas = blocks(&resource["replica"]).filter_map(|replica| given(&replica["region_name"]));
    let replicas: Vec<&str> = replicas.collect();
    if !replicas.is_empty() {
        section.fields.insert("replicas".to_owned(), replicas.into());
    }
    Ok(section)
}

/// Plans have "" for a missing value.
fn given(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn shape(name: &str, resource: &Value) -> Value {
    let attribute = |one: &Value| json!({ "AttributeName": one["name"], "AttributeType": one["type"] });
    let encryption = blocks(&resource["server_side_encryption"]).next().unwrap_or(&Value::Null);
    let mut shape = json!({
        "TableName": name,
        "AttributeDefinitions": blocks(&resource["attribute"]).map(attribute).collect::<Value>(),
        "KeySchema": key_schema(resource),
        "GlobalSecondaryIndexes": blocks(&resource["global_secondary_index"]).map(index).collect::<Value>(),
        "LocalSecondaryIndexes": blocks(&resource["local_secondary_index"]).map(index).collect::<Value>(),
        "BillingMode": resource["billing_mode"],
        "TableClass": resource["table_class"],
        "StreamSpecification": {
            "StreamEnabled": resource["stream_enabled"] == true,
            "StreamViewType": resource["stream_view_type"],
        },
        "DeletionProtectionEnabled": resource["deletion_protection_enabled"],
        "SSESpecification": { "Enabled": encryption["enabled"] },
        "Tags": tags(&resource["tags"]),
    });
    // An expression that could not be evaluated is null; in a plan "" means no key.
    if let Some(key) = encryption.get("kms_key_arn").filter(|key| **key != "") {
        shape["SSESpecification"]["KMSMasterKeyId"] = key.clone();
    }
    put_throughput(&mut shape, resource);
    shape
}

fn put_throughput(shape: &mut Value, resource: &Value) {
    let most = blocks(&resource["on_demand_throughput"]).next().unwrap_or(&Value::Null);
    for side in Side::BOTH {
        let (word, name) = (side.word(), side.name());
        if let Some(units) = resource[format!("{name}_capacity")].as_u64().filter(|units| *units > 0) {
            shape["ProvisionedThroughput"][format!("{word}CapacityUnits")] = units.into();
        }
        if let Some(most) = most[format!("max_{name}_request_units")].as_u64() {
            shape["OnDemandThroughput"][format!("Max{word}RequestUnits")] = most.into();
        }
    }
}

/// `key_schema`, or the two older attributes.
fn key_schema(resource: &Value) -> Value {
    let element = |name: &Value, role: &Value| json!({ "AttributeName": name, "KeyType": role });
    let listed: Vec<Value> = blocks(&resource["key_schema"])
        .map(|key| element(&key["attribute_name"], &key["key_type"]))
        .collect();
    if !listed.is_empty() {
        return listed.into();
    }
    let sides = [("hash_key", "HASH"), ("range_key", "RANGE")];
    let sides = sides.into_iter().filter(|(name, _)| given(&resource[*name]).is_some());
    sides.map(|(name, role)| element(&resource[name], &role.into())).collect()
}

fn index(index: &Value) -> Value {
    let mut shape = json!({
        "IndexName": index["name"],
        "KeySchema": key_schema(index),
        "Projection": {
            "ProjectionType": index["projection_type"],
            "NonKeyAttributes": index["non_key_attributes"].as_array().cloned().unwrap_or_default(),
        },
    });
    put_throughput(&mut shape, index);
    shape
}

fn tags(tags: &Value) -> Value {
    let tag = |(name, value): (&String, &Value)| json!({ "Key": name, "Value": value });
    tags.as_object().into_iter().flatten().map(tag).collect()
}

pub fn resource(
    configuration: &mut Configuration<'_>,
    table: &Table,
    shape: &Value,
    scaling: &[Scaling<'_>],
    notes: &mut Notes,
) -> Value {
    let mut resource = json!({ "name": literal(&table.name.value), "billing_mode": shape["BillingMode"] });
    put_capacity(&mut resource, shape);
    put_key(&mut resource, table.key.as_ref());
    put_settings(&mut resource, table, notes);
    let definitions = shape["AttributeDefinitions"].as_array().into_iter().flatten();
    let definition =
        |one: &Value| json!({ "name": escaped(&one["AttributeName"]), "type": one["AttributeType"] });
    resource["attribute"] = definitions.map(definition).collect();
    let shapes = |name: &str| shape[name].as_array().cloned().unwrap_or_default();
    let global = table.global_indexes().zip(shapes("GlobalSecondaryIndexes"));
    let global: Vec<Value> = global.map(|(index, shape)| global_index(index, &shape)).collect();
    let local = table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    let local: Vec<Value> = local.map(local_index).collect();
    for (name, blocks) in [("global_secondary_index", global), ("local_secondary_index", local)] {
        if !blocks.is_empty() {
            resource[name] = blocks.into();
        }
    }
    put_blocks(configuration, &mut resource, table);
    put_ignored(&mut resource, table, scaling, notes);
    resource
}

fn escaped(text: &Value) -> Value {
    literal(text.as_str().unwrap_or_default())
}

fn put_capacity(resource: &mut Value, shape: &Value) {
    for side in Side::BOTH {
        let units = &shape["ProvisionedThroughput"][format!("{}CapacityUnits", side.word())];
        if units.is_u64() {
            resource[format!("{}_capacity", side.name())] = units.clone();
        }
    }
    let most = Side::BOTH.into_iter().filter_map(|side| {
        let most = shape["OnDemandThroughput"][format!("Max{}RequestUnits", side.word())].as_u64()?;
        Some((format!("max_{}_request_units", side.name()), most.into()))
    });
    let most: Map<String, Value> = most.collect();
    if !most.is_empty() {
        resource["on_demand_throughput"] = Value::Array(vec![Value::Object(most)]);
    }
}

fn put_key(resource: &mut Value, key: Option<&KeySchema>) {
    let sides = key.map(|key| [("hash_key", key.partition.first()), ("range_key", key.sort.first())]);
    for (name, attribute) in sides.into_iter().flatten() {
        if let Some(attribute) = attribute {
            resource[name] = literal(&attribute.name);
        }
    }
}

fn put_settings(resource: &mut Value, table: &Table, notes: &mut Notes) {
    if table.class == TableClass::InfrequentAccess {
        resource["table_class"] = "STANDARD_INFREQUENT_ACCESS".into();
    }
    let view = match &table.stream {
        Some(view) => Some(view.api_name()),
        None if table.replicas.is_empty() => None,
        None => {
            notes.add(format!("table {} gets a stream, because it has replicas", table.name.value));
            Some("NEW_AND_OLD_IMAGES")
        }
    };
    if let Some(view) = view {
        resource["stream_enabled"] = true.into();
        resource["stream_view_type"] = view.into();
    }
    if let Some(protected) = &table.deletion_protection {
        resource["deletion_protection_enabled"] = protected.value.into();
    }
    if !table.tags.is_empty() {
        let tag = |(name, value): &(String, String)| {
            (literal(name).as_str().unwrap_or_default().to_owned(), literal(value))
        };
        resource["tags"] = Value::Object(table.tags.iter().map(tag).collect::<Map<_, _>>());
    }
}

fn global_index(index: &Index, shape: &Value) -> Value {
    let mut block = named_index(index);
    let key =
        |key: &Value| json!({ "attribute_name": escaped(&key["AttributeName"]), "key_type": key["KeyType"] });
    put_capacity(&mut block, shape);
    block["key_schema"] = table_shape::key_schema(&index.key).iter().map(key).collect();
    block
}

fn local_index(index: &Index) -> Value {
    let mut block = named_index(index);
    if let Some(sort) = index.key.sort.first() {
        block["range_key"] = literal(&sort.name);
    }
    block
}

fn named_index(index: &Index) -> Value {
    let projection = table_shape::projection_shape(&index.projection);
    let mut block =
        json!({ "name": literal(&index.name.value), "projection_type": projection["ProjectionType"] });
    if let Some(names) = projection["NonKeyAttributes"].as_array() {
        block["non_key_attributes"] = names.iter().map(escaped).collect();
    }
    block
}

fn put_blocks(configuration: &mut Configuration<'_>, resource: &mut Value, table: &Table) {
    if let Some(ttl) = &table.ttl {
        resource["ttl"] = json!([{ "attribute_name": literal(ttl), "enabled": true }]);
    }
    if let Some(pitr) = &table.pitr {
        resource["point_in_time_recovery"] = json!([{ "enabled": pitr.value }]);
    }
    if table.encryption != Encryption::AwsOwned {
        resource["server_side_encryption"] = json!([{ "enabled": true }]);
    }
    let own_key = table.encryption == Encryption::CustomerManaged;
    if own_key {
        resource["server_side_encryption"][0]["kms_key_arn"] = configuration.key_variable(None);
    }
    let replicas = table.replicas.iter().map(|region| {
        let mut replica = json!({ "region_name": literal(region), "propagate_tags": true });
        if let Some(pitr) = &table.pitr {
            replica["point_in_time_recovery"] = pitr.value.into();
        }
        if let Some(protected) = &table.deletion_protection {
            replica["deletion_protection_enabled"] = protected.value.into();
        }
        if own_key {
            replica["kms_key_arn"] = configuration.key_variable(Some(region));
        }
        replica
    });
    let replicas: Vec<Value> = replicas.collect();
    if !replicas.is_empty() {
        resource["replica"] = replicas.into();
    }
}

/// The next apply must not reset capacity that scales.
fn put_ignored(resource: &mut Value, table: &Table, scaling: &[Scaling<'_>], notes: &mut Notes) {
    let of_table = scaling.iter().filter(|one| one.index.is_none());
    let ignored: Vec<String> = of_table.map(|one| format!("{}_capacity", one.side.name())).collect();
    if !ignored.is_empty() {
        resource["lifecycle"] = json!([{ "ignore_changes": ignored }]);
    }
    if scaling.iter().any(|one| one.index.is_some()) {
        notes.add(format!(
            "table {}: Terraform sets the scaled capacity of an index back on each apply, unless all of \
             `global_secondary_index` stands in `ignore_changes`",
            table.name.value
        ));
    }
}
