//! A table in the shape of CreateTable's input, and the same table as a section of the model file. Proofs create tables
//! from it, and other tools' files hold tables in this shape.

use item::Type;
use serde_json::{Map, Value, json};

use crate::draft::Unreadable;
use crate::model::{
    AttributeKind, Billing, Capacity, Encryption, Index, IndexKind, KeySchema, Projection, Table, TableClass,
    Throughput,
};

/// A table section of the model file, with its indexes.
#[derive(Clone, Debug)]
pub struct TableSection {
    pub name: String,
    pub fields: Map<String, Value>,
}

impl TableSection {
    /// The attributes of the table's own key.
    pub fn key_names(&self) -> Vec<String> {
        let sides = [self.fields.get("partition"), self.fields.get("sort")];
        names_in(sides)
    }

    /// Each index with its key attributes.
    pub fn index_keys(&self) -> Vec<(String, Vec<String>)> {
        let indexes = self.fields.get("indexes").and_then(Value::as_object);
        let indexes = indexes.into_iter().flatten();
        indexes.map(|(name, one)| (name.clone(), names_in([one.get("partition"), one.get("sort")]))).collect()
    }

    /// Gives attributes that are a key by themselves the key's type, if theirs differs.
    pub fn fit_types(&self, attributes: &mut Map<String, Value>) {
        let in_indexes = self.index_keys().into_iter().flat_map(|(_, names)| names);
        let keys: Vec<String> = self.key_names().into_iter().chain(in_indexes).collect();
        for (name, kind) in self.attributes().into_iter().filter(|(name, _)| keys.contains(name)) {
            let Some(attribute) = attributes.get_mut(&name) else { continue };
            let stated = attribute["type"].as_str().or(attribute.as_str()).unwrap_or("string");
            let stated = AttributeKind::ALL.into_iter().find(|one| one.name() == stated);
            let stored = stated.map_or(Type::S, AttributeKind::stored);
            if stored.name() != key_tag(&kind) {
                *attribute = kind.into();
            }
        }
    }

    /// Every attribute that keys and projections name, with its type.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, kind: &str| {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), kind.to_owned()));
            }
        };
        let indexes = self.fields.get("indexes").and_then(Value::as_object);
        let indexes: Vec<&Value> = indexes.into_iter().flat_map(Map::values).collect();
        let keys = [self.fields.get("partition"), self.fields.get("sort")];
        let index_keys = indexes.iter().flat_map(|index| [index.get("partition"), index.get("sort")]);
        for key in keys.into_iter().chain(index_keys).flatten().filter_map(Value::as_object) {
            key.iter().for_each(|(name, kind)| add(name, kind.as_str().unwrap_or("string")));
        }
        for projected in indexes.iter().filter_map(|index| index.get("project")?.as_array()).flatten() {
            add(projected.as_str().unwrap_or_default(), "string");
        }
        found
    }
}

/// The API's letter for the model file's `string`, `number` or `binary`.
fn key_tag(kind: &str) -> &'static str {
    match kind {
        "number" => "N",
        "binary" => "B",
        _ => "S",
    }
}

fn names_in<const N: usize>(sides: [Option<&Value>; N]) -> Vec<String> {
    sides.into_iter().flatten().filter_map(Value::as_object).flat_map(Map::keys).cloned().collect()
}

/// A table of CreateTable's shape -> a section of the model file.
pub fn section(shape: &Value) -> Result<TableSection, Unreadable> {
    let name =
        shape["TableName"].as_str().ok_or_else(|| Unreadable("a table has no `TableName`".to_owned()))?;
    let types = shape["AttributeDefinitions"].as_array().cloned().unwrap_or_default();
    let mut fields = key_fields(&shape["KeySchema"], &types);
    let billing = billing(shape);
    fields.insert("billing".to_owned(), billing.name().into());
    put_throughput(&mut fields, shape, billing);
    if shape["TableClass"] == "STANDARD_INFREQUENT_ACCESS" {
        fields.insert("class".to_owned(), "infrequent-access".into());
    }
    if let Some(view) = stream(&shape["StreamSpecification"]) {
        fields.insert("stream".to_owned(), view.into());
    }
    if let Some(protected) = shape["DeletionProtectionEnabled"].as_bool() {
        fields.insert("deletion-protection".to_owned(), protected.into());
    }
    if shape["SSESpecification"]["Enabled"] == true {
        let own = shape["SSESpecification"].get("KMSMasterKeyId").is_some();
        let whose = if own { "customer-managed" } else { "aws-managed" };
        fields.insert("encryption".to_owned(), whose.into());
    }
    let tags = tags(&shape["Tags"]);
    if !tags.is_empty() {
        fields.insert("tags".to_owned(), Value::Object(tags));
    }
    let indexes = indexes(shape, &types, billing);
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    Ok(TableSection { name: name.to_owned(), fields })
}

/// CreateTable's default is provisioned, but that needs units. They may be there and not known.
fn billing(shape: &Value) -> Billing {
    let units = shape["ProvisionedThroughput"].get("ReadCapacityUnits");
    let has_units = units.is_some_and(|units| units.as_u64() != Some(0));
    match shape["BillingMode"].as_str() {
        Some("PROVISIONED") => Billing::Provisioned,
        None if has_units => Billing::Provisioned,
        _ => Billing::OnDemand,
    }
}

/// `partition` and `sort`, each with types.
fn key_fields(schema: &Value, types: &[Value]) -> Map<String, Value> {
    let mut fields = Map::new();
    for (role, name) in [("HASH", "partition"), ("RANGE", "sort")] {
        let side = elements(schema).filter(|key| key["KeyType"] == role);
        let names = side.filter_map(|key| key["AttributeName"].as_str());
        let attributes: Map<String, Value> =
            names.map(|name| (name.to_owned(), key_type(types, name).into())).collect();
        if !attributes.is_empty() {
            fields.insert(name.to_owned(), Value::Object(attributes));
        }
    }
    fields
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn key_type(types: &[Value], name: &str) -> &'static str {
    let found = types.iter().find(|one| one["AttributeName"] == name);
    match found.and_then(|one| one["AttributeType"].as_str()) {
        Some("N") => "number",
        Some("B") => "binary",
        _ => "string",
    }
}

/// Units if they are provisioned, the maximum if not.
fn put_throughput(fields: &mut Map<String, Value>, shape: &Value, billing: Billing) {
    let provisioned = &shape["ProvisionedThroughput"];
    let most = &shape["OnDemandThroughput"];
    let sides = [
        ("read", &provisioned["ReadCapacityUnits"], &most["MaxReadRequestUnits"]),
        ("write", &provisioned["WriteCapacityUnits"], &most["MaxWriteRequestUnits"]),
    ];
    for (name, units, most) in sides {
        match billing {
            Billing::Provisioned => units.as_u64().map(|units| fields.insert(name.to_owned(), units.into())),
            Billing::OnDemand => {
                most.as_u64().map(|most| fields.insert(name.to_owned(), json!({ "max": most })))
            }
        };
    }
}

fn stream(specification: &Value) -> Option<&'static str> {
    match specification["StreamViewType"].as_str().filter(|_| specification["StreamEnabled"] != false)? {
        "KEYS_ONLY" => Some("keys"),
        "NEW_IMAGE" => Some("new"),
        "OLD_IMAGE" => Some("old"),
        "NEW_AND_OLD_IMAGES" => Some("new-and-old"),
        _ => None,
    }
}

fn tags(list: &Value) -> Map<String, Value> {
    let tag = |tag: &Value| Some((tag["Key"].as_str()?.to_owned(), tag["Value"].clone()));
    elements(list).filter_map(tag).filter(|(_, value)| value.is_string()).collect()
}

fn indexes(shape: &Value, types: &[Value], billing: Billing) -> Map<String, Value> {
    let global = elements(&shape["GlobalSecondaryIndexes"]).map(|index| (index, IndexKind::Global));
    let local = elements(&shape["LocalSecondaryIndexes"]).map(|index| (index, IndexKind::Local));
    let index = |(index, kind): (&Value, IndexKind)| {
        let mut fields = key_fields(&index["KeySchema"], types);
        if kind == IndexKind::Local {
            fields.shift_remove("partition");
            fields.insert("type".to_owned(), "local".into());
        }
        fields.insert("project".to_owned(), projection(&index["Projection"]));
        put_throughput(&mut fields, index, billing);
        Some((index["IndexName"].as_str()?.to_owned(), Value::Object(fields)))
    };
    global.chain(local).filter_map(index).collect()
}

/// A projection as the model file writes it.
pub fn projection(projection: &Value) -> Value {
    projection_of(projection["ProjectionType"].as_str(), &projection["NonKeyAttributes"])
}

/// The same from what the API calls a projection's type and its attributes that are no keys.
pub fn projection_of(kind: Option<&str>, attributes: &Value) -> Value {
    match kind {
        Some("KEYS_ONLY") => "keys".into(),
        Some("INCLUDE") => attributes.clone(),
        _ => "all".into(),
    }
}

/// A table in the shape of CreateTable; `None` if it has no keys yet.
pub fn shape(table: &Table) -> Option<Value> {
    let key = table.key.as_ref()?;
    let mut shape = json!({
        "TableName": table.name.value,
        "AttributeDefinitions": attribute_definitions(table),
        "KeySchema": key_schema(key),
    });
    for (name, kind) in
        [("GlobalSecondaryIndexes", IndexKind::Global), ("LocalSecondaryIndexes", IndexKind::Local)]
    {
        let indexes: Vec<Value> = table
            .indexes
            .iter()
            .filter(|index| index.kind == kind)
            .map(|one| index_shape(table, one))
            .collect();
        if !indexes.is_empty() {
            shape[name] = indexes.into();
        }
    }
    shape["BillingMode"] = match table.billing.value {
        Billing::OnDemand => "PAY_PER_REQUEST".into(),
        Billing::Provisioned => "PROVISIONED".into(),
    };
    put_throughput_shape(&mut shape, &table.throughput, table.billing.value);
    if let Some(view) = &table.stream {
        shape["StreamSpecification"] = json!({ "StreamEnabled": true, "StreamViewType": view.api_name() });
    }
    if table.encryption != Encryption::AwsOwned {
        shape["SSESpecification"] = json!({ "Enabled": true, "SSEType": "KMS" });
    }
    if table.class == TableClass::InfrequentAccess {
        shape["TableClass"] = "STANDARD_INFREQUENT_ACCESS".into();
    }
    if let Some(protected) = &table.deletion_protection {
        shape["DeletionProtectionEnabled"] = protected.value.into();
    }
    if !table.tags.is_empty() {
        let tag = |(key, value): &(String, String)| json!({ "Key": key, "Value": value });
        shape["Tags"] = table.tags.iter().map(tag).collect();
    }
    Some(shape)
}

/// Each key attribute of the table and its indexes, once.
pub fn attribute_definitions(table: &Table) -> Vec<Value> {
    let indexes = table.indexes.iter().map(|index| &index.key);
    let mut names: Vec<&str> = Vec::new();
    let mut definitions = Vec::new();
    for key in table.key.iter().chain(indexes).flat_map(KeySchema::attributes) {
        if !names.contains(&key.name.as_str()) {
            names.push(&key.name);
            definitions.push(json!({ "AttributeName": key.name, "AttributeType": key_letter(key.kind) }));
        }
    }
    definitions
}

/// `S`, `N` or `B`.
pub fn key_letter(kind: Type) -> &'static str {
    kind.name()
}

/// All partition attributes before all sort attributes.
pub fn key_schema(key: &KeySchema) -> Vec<Value> {
    let role = |role: &'static str| move |key: &crate::model::KeyAttribute| json!({ "AttributeName": key.name, "KeyType": role });
    key.partition.iter().map(role("HASH")).chain(key.sort.iter().map(role("RANGE"))).collect()
}

fn index_shape(table: &Table, index: &Index) -> Value {
    let mut shape = json!({
        "IndexName": index.name.value,
        "KeySchema": key_schema(&index.key),
        "Projection": projection_shape(&index.projection),
    });
    if index.kind == IndexKind::Global {
        let own = index.throughput != Throughput::default();
        let throughput = if own { &index.throughput } else { &table.throughput };
        if own || table.billing.value == Billing::Provisioned {
            put_throughput_shape(&mut shape, throughput, table.billing.value);
        }
    }
    shape
}

pub fn projection_shape(projection: &Projection) -> Value {
    match projection {
        Projection::All => json!({ "ProjectionType": "ALL" }),
        Projection::Keys => json!({ "ProjectionType": "KEYS_ONLY" }),
        Projection::Include(names) => {
            let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
            json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names })
        }
    }
}

fn put_throughput_shape(shape: &mut Value, throughput: &Throughput, billing: Billing) {
    let read = throughput.read.as_ref().map(|one| &one.value);
    let write = throughput.write.as_ref().map(|one| &one.value);
    match billing {
        Billing::Provisioned => {
            shape["ProvisionedThroughput"] =
                json!({ "ReadCapacityUnits": units(read), "WriteCapacityUnits": units(write) });
        }
        Billing::OnDemand => {
            let most = |capacity: Option<&Capacity>| capacity.and_then(|capacity| capacity.max);
            for (name, most) in [("MaxReadRequestUnits", most(read)), ("MaxWriteRequestUnits", most(write))] {
                if let Some(most) = most {
                    shape["OnDemandThroughput"][name] = most.into();
                }
            }
        }
    }
}

/// What a table starts with: its units, or the minimum of its scaling.
pub fn units(capacity: Option<&Capacity>) -> u64 {
    capacity.and_then(|capacity| capacity.units.or(capacity.min)).unwrap_or(5)
}
