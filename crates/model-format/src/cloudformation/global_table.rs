//! `AWS::DynamoDB::GlobalTable`: reads, backups, tags and keys are declared for each replica. The
//! Region of the stack is one of the replicas; a model lists only the others.

use model::Model;
use model::model::{Billing, Capacity, Encryption, Index, Table, Throughput};
use model::table_shape::{self, TableSection};
use serde_json::{Value, json};

use super::table::{encryption_renamed, put_settings, time_to_live};
use super::{Template, put};
use crate::scaling::{Bounds, FoundBounds, Side};
use crate::{Notes, Unreadable};

const CONFIGURATION: &str = "TargetTrackingScalingPolicyConfiguration";

pub struct Global {
    pub section: TableSection,
    /// The Region of the stack, if the template names it.
    pub home: Option<String>,
}

/// `properties` have been resolved; the stack's own Region is null.
pub fn section(name: &str, properties: &Value) -> Result<Global, Unreadable> {
    let replicas: Vec<&Value> = elements(&properties["Replicas"]).collect();
    let at_home = replicas.iter().position(|replica| !replica["Region"].is_string()).unwrap_or(0);
    let home = replicas.get(at_home).copied().unwrap_or(&Value::Null);
    let mut section = table_shape::section(&shape(name, properties, home))?;
    put_settings(&mut section, properties);
    put_settings(&mut section, home);
    put_bounds(&mut section, None, properties, home);
    for index in elements(&properties["GlobalSecondaryIndexes"]) {
        let name = index["IndexName"].as_str();
        put_bounds(&mut section, name, index, replica_index(home, name.unwrap_or_default()));
    }
    let others = replicas.iter().enumerate().filter(|(position, _)| *position != at_home);
    let others: Vec<&str> = others.filter_map(|(_, replica)| replica["Region"].as_str()).collect();
    if !others.is_empty() {
        section.fields.insert("replicas".to_owned(), others.into());
    }
    Ok(Global { section, home: home["Region"].as_str().map(str::to_owned) })
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn replica_index<'v>(replica: &'v Value, name: &str) -> &'v Value {
    let mut indexes = elements(&replica["GlobalSecondaryIndexes"]);
    indexes.find(|index| index["IndexName"] == name).unwrap_or(&Value::Null)
}

/// The shape of CreateTable, with the initial units.
fn shape(name: &str, properties: &Value, home: &Value) -> Value {
    let mut shape = encryption_renamed(properties.clone());
    put(&mut shape, &["TableName"], name.into());
    for member in ["TableClass", "DeletionProtectionEnabled", "Tags"] {
        put(&mut shape, &[member], home[member].clone());
    }
    if let Some(key) = home["SSESpecification"].get("KMSMasterKeyId") {
        put(&mut shape, &["SSESpecification", "KMSMasterKeyId"], key.clone());
    }
    put_throughput(&mut shape, properties, home);
    for index in shape["GlobalSecondaryIndexes"].as_array_mut().into_iter().flatten() {
        let name = index["IndexName"].as_str().unwrap_or_default().to_owned();
        let written = index.clone();
        put_throughput(index, &written, replica_index(home, &name));
    }
    shape
}

fn put_throughput(shape: &mut Value, writes: &Value, reads: &Value) {
    for (side, settings) in [(Side::Read, reads), (Side::Write, writes)] {
        let word = side.word();
        let provisioned = &settings[format!("{word}ProvisionedThroughputSettings")];
        let scaling = &provisioned[format!("{word}CapacityAutoScalingSettings")];
        let fixed = &provisioned[format!("{word}CapacityUnits")];
        let units = [fixed, &scaling["SeedCapacity"], &scaling["MinCapacity"]];
        if let Some(units) = units.into_iter().find(|units| units.is_u64()) {
            put(shape, &["ProvisionedThroughput", &format!("{word}CapacityUnits")], units.clone());
        }
        let member = format!("Max{word}RequestUnits");
        let most = &settings[format!("{word}OnDemandThroughputSettings")][&member];
        if most.is_u64() {
            put(shape, &["OnDemandThroughput", &member], most.clone());
        }
    }
}

/// Equal bounds are fixed units.
fn put_bounds(section: &mut TableSection, index: Option<&str>, writes: &Value, reads: &Value) {
    for (side, settings) in [(Side::Read, reads), (Side::Write, writes)] {
        let provisioned = &settings[format!("{}ProvisionedThroughputSettings", side.word())];
        let scaling = &provisioned[format!("{}CapacityAutoScalingSettings", side.word())];
        let bounds = FoundBounds::of(scaling, &scaling[CONFIGURATION]);
        if bounds.max.is_some() && bounds.max != bounds.min {
            bounds.put_into(section, index, side);
        }
    }
}

pub fn properties(
    template: &mut Template<'_>,
    model: &Model,
    table: &Table,
    shape: Value,
    notes: &mut Notes,
) -> Value {
    let mut properties = json!({});
    for member in ["TableName", "AttributeDefinitions", "KeySchema"] {
        properties[member] = shape[member].clone();
    }
    let indexes: Vec<Value> = table.global_indexes().map(|index| self::index(table, index, notes)).collect();
    if !indexes.is_empty() {
        properties["GlobalSecondaryIndexes"] = indexes.into();
    }
    for member in ["LocalSecondaryIndexes", "BillingMode"] {
        if let Some(value) = shape.get(member) {
            properties[member] = value.clone();
        }
    }
    put_capacity(&mut properties, table, &table.throughput, Side::Write, notes);
    if let Some(view) = &table.stream {
        properties["StreamSpecification"] = json!({ "StreamViewType": view.api_name() });
    } else if !table.replicas.is_empty() {
        properties["StreamSpecification"] = json!({ "StreamViewType": "NEW_AND_OLD_IMAGES" });
        notes.add(format!("table {} gets a stream, because it has replicas", table.name.value));
    }
    if table.encryption != Encryption::AwsOwned {
        properties["SSESpecification"] = json!({ "SSEEnabled": true, "SSEType": "KMS" });
    }
    if let Some(ttl) = &table.ttl {
        properties["TimeToLiveSpecification"] = time_to_live(ttl);
    }
    let home = model.region.as_ref().map(|region| region.value.as_str());
    let regions =
        std::iter::once(home).chain(table.replicas.iter().map(|region| Some(region.value.as_str())));
    let replicas: Vec<Value> = regions
        .enumerate()
        .map(|(position, region)| {
            let key_region = region.filter(|_| position > 0);
            replica(template, table, &shape, region, key_region)
        })
        .collect();
    properties["Replicas"] = replicas.into();
    properties
}

fn index(table: &Table, index: &Index, notes: &mut Notes) -> Value {
    let mut shape = json!({
        "IndexName": index.name.value,
        "KeySchema": table_shape::key_schema(&index.key),
        "Projection": table_shape::projection_shape(&index.projection),
    });
    put_capacity(&mut shape, table, throughput(table, index), Side::Write, notes);
    shape
}

/// An index without a throughput of its own has its table's, if that is provisioned.
fn throughput<'m>(table: &'m Table, index: &'m Index) -> &'m Throughput {
    let inherits = table.billing.value == Billing::Provisioned && index.throughput == Throughput::default();
    if inherits { &table.throughput } else { &index.throughput }
}

fn put_capacity(shape: &mut Value, table: &Table, throughput: &Throughput, side: Side, notes: &mut Notes) {
    let word = side.word();
    let capacity = side.of(throughput).cloned().unwrap_or_default();
    match table.billing.value {
        Billing::Provisioned => {
            let settings = capacity_settings(table, &capacity, side, notes);
            shape[format!("{word}ProvisionedThroughputSettings")] = settings;
        }
        Billing::OnDemand => {
            if let Some(most) = capacity.max {
                let limit = json!({ format!("Max{word}RequestUnits"): most });
                shape[format!("{word}OnDemandThroughputSettings")] = limit;
            }
        }
    }
}

/// Writes always scale here: fixed units become equal bounds.
fn capacity_settings(table: &Table, capacity: &Capacity, side: Side, notes: &mut Notes) -> Value {
    let units = table_shape::units(Some(capacity));
    let word = side.word();
    let bounds = match (Bounds::of(capacity), side) {
        (Some(bounds), _) => bounds,
        (None, Side::Read) => return json!({ format!("{word}CapacityUnits"): units }),
        (None, Side::Write) => {
            notes.add(format!(
                "table {}: a global table's writes always scale; {units} units become {units} to {units}",
                table.name.value
            ));
            let fixed = Capacity { min: Some(units), max: Some(units), ..capacity.clone() };
            match Bounds::of(&fixed) {
                Some(bounds) => bounds,
                None => return Value::Null,
            }
        }
    };
    let mut scaling = json!({ "MinCapacity": bounds.min, "MaxCapacity": bounds.max });
    if units != bounds.min {
        scaling["SeedCapacity"] = units.into();
    }
    scaling[CONFIGURATION] = bounds.policy();
    json!({ format!("{word}CapacityAutoScalingSettings"): scaling })
}

/// What CreateTable declares for the whole table is declared for each replica.
fn replica(
    template: &mut Template<'_>,
    table: &Table,
    shape: &Value,
    region: Option<&str>,
    key_region: Option<&str>,
) -> Value {
    let mut replica = match region {
        Some(region) => json!({ "Region": region }),
        None => json!({ "Region": { "Ref": "AWS::Region" } }),
    };
    put_capacity(&mut replica, table, &table.throughput, Side::Read, &mut Notes::default());
    let indexes: Vec<Value> = table
        .global_indexes()
        .map(|index| {
            let mut shape = json!({ "IndexName": index.name.value });
            put_capacity(&mut shape, table, throughput(table, index), Side::Read, &mut Notes::default());
            shape
        })
        .filter(|shape| shape.as_object().is_some_and(|members| members.len() > 1))
        .collect();
    if !indexes.is_empty() {
        replica["GlobalSecondaryIndexes"] = indexes.into();
    }
    if table.encryption == Encryption::CustomerManaged {
        replica["SSESpecification"] = json!({ "KMSMasterKeyId": template.key_parameter(key_region) });
    }
    if let Some(pitr) = &table.pitr {
        replica["PointInTimeRecoverySpecification"] = json!({ "PointInTimeRecoveryEnabled": pitr.value });
    }
    for member in ["TableClass", "DeletionProtectionEnabled", "Tags"] {
        if let Some(value) = shape.get(member) {
            replica[member] = value.clone();
        }
    }
    replica
}
