//! A CDK program -> tables, as far as it is static: the literals in `new Table(…)`, `new TableV2(…)` and
//! `addGlobalSecondaryIndex(…)`, and constants of the same text. Everything else of a table is named as not read.

use model::draft::Draft;
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use crate::javascript::{Call, as_code, calls};
use crate::{Notes, Unreadable};

const TABLES: [&str; 2] = ["Table", "TableV2"];
const CALLS: [&str; 5] = ["Table", "TableV2", "addGlobalSecondaryIndex", "addLocalSecondaryIndex", "super"];

/// The tables of a program, each with the calls that add to it.
pub fn parse(text: &str) -> Result<Value, Unreadable> {
    let is_cdk = text.contains("aws-cdk-lib") || text.contains("@aws-cdk/aws-dynamodb");
    let (calls, constants) = calls(text, &CALLS);
    let name = |call: &Call| call.name.rsplit('.').next().unwrap_or_default().to_owned();
    let mut tables: Vec<Value> = Vec::new();
    let mut targets: Vec<Option<String>> = Vec::new();
    let mut region = Value::Null;
    for call in &calls {
        match (name(call).as_str(), call.arguments.as_slice()) {
            ("super", arguments) => {
                let given = arguments.get(2).map(|stack| stack["env"]["region"].clone());
                region = given.filter(Value::is_string).unwrap_or(region);
            }
            (kind, [_, id, props]) if TABLES.contains(&kind) => {
                let props = resolved(props, &constants);
                tables.push(json!({ "id": id, "kind": kind, "props": props, "global": [], "local": [] }));
                targets.push(call.target.clone());
            }
            (kind, [index]) => {
                let receiver = call.name.rsplit_once('.').map(|(receiver, _)| receiver.to_owned());
                let Some(at) = targets.iter().rposition(|target| *target == receiver) else { continue };
                let side = if kind == "addGlobalSecondaryIndex" { "global" } else { "local" };
                if let Some(list) = tables[at][side].as_array_mut() {
                    list.push(resolved(index, &constants));
                }
            }
            _ => {}
        }
    }
    match is_cdk && !tables.is_empty() {
        true => Ok(json!({ "cdk": tables, "region": region })),
        false => Err(Unreadable("there is no `new Table(…)` or `new TableV2(…)` of the AWS CDK".to_owned())),
    }
}

/// The value with names of constants replaced.
fn resolved(value: &Value, constants: &Map<String, Value>) -> Value {
    if let Some(code) = as_code(value) {
        return constants.get(code).cloned().unwrap_or_else(|| value.clone());
    }
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), resolved(value, constants)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(elements) => elements.iter().map(|one| resolved(one, constants)).collect(),
        other => other.clone(),
    }
}

pub fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let mut sections = Vec::new();
    for table in document["cdk"].as_array().into_iter().flatten() {
        sections.push(section(table, notes)?);
    }
    let mut draft = Draft::new(sections.first().map_or("", |first: &TableSection| first.name.as_str()));
    draft.region = document["region"].as_str().map(str::to_owned);
    for section in sections {
        draft.add_unknown_entity(&section, notes);
        draft.add_table(section);
    }
    Ok(draft)
}

/// `dynamodb.AttributeType.NUMBER` -> `NUMBER`.
fn constant(value: &Value) -> Option<&str> {
    as_code(value)?.rsplit('.').next()
}

/// `dynamodb.Billing.provisioned({…})` -> `provisioned` and its argument.
fn called(value: &Value) -> Option<(String, Value)> {
    let code = as_code(value)?;
    let name = code.split('(').next()?.rsplit('.').next()?.trim().to_owned();
    let (found, _) = calls(code, &[name.as_str()]);
    let argument = found.into_iter().next().and_then(|call| call.arguments.into_iter().next());
    Some((name, argument.unwrap_or(Value::Null)))
}

/// Reads the members of one object, and knows which are left.
struct Members<'v> {
    of: String,
    members: &'v Map<String, Value>,
    read: Vec<&'static str>,
}

impl<'v> Members<'v> {
    fn take(&mut self, name: &'static str) -> Option<&'v Value> {
        self.read.push(name);
        self.members.get(name)
    }

    /// A text; noted if it is there and is code.
    fn text(&mut self, name: &'static str, notes: &mut Notes) -> Option<String> {
        let value = self.take(name)?;
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            notes.add(format!("{}: its `{name}` is computed by the program", self.of));
        }
        text
    }

    fn rest(&self, notes: &mut Notes) {
        for name in self.members.keys().filter(|name| !self.read.contains(&name.as_str())) {
            notes.add(format!("{}: `{name}` is not read", self.of));
        }
    }
}

fn section(table: &Value, notes: &mut Notes) -> Result<TableSection, Unreadable> {
    let id = table["id"].as_str().unwrap_or("table").to_owned();
    let empty = Map::new();
    let mut members =
        Members { of: id.clone(), members: table["props"].as_object().unwrap_or(&empty), read: Vec::new() };
    let name = members.text("tableName", notes).unwrap_or_else(|| {
        notes.add(format!("{id}: its name is made when it is deployed; the model calls it `{id}`"));
        id.clone()
    });
    let mut fields = Map::new();
    put_keys(&mut fields, &mut members);
    if !fields.contains_key("partition") {
        return Err(Unreadable(format!("table {id}: its partition key is computed by the program")));
    }
    put_billing(&mut fields, &mut members, table["kind"] == "Table", notes);
    if let Some(ttl) = members.text("timeToLiveAttribute", notes) {
        fields.insert("ttl".to_owned(), ttl.into());
    }
    for member in ["stream", "dynamoStream"] {
        let view = members.take(member).and_then(constant);
        let word = match view {
            Some("NEW_AND_OLD_IMAGES") => "new-and-old",
            Some("NEW_IMAGE") => "new",
            Some("OLD_IMAGE") => "old",
            Some("KEYS_ONLY") => "keys",
            _ => continue,
        };
        fields.insert("stream".to_owned(), word.into());
    }
    let recovery =
        members.take("pointInTimeRecoverySpecification").map(|one| &one["pointInTimeRecoveryEnabled"]);
    if let Some(on) = members.take("pointInTimeRecovery").or(recovery).and_then(Value::as_bool) {
        fields.insert("pitr".to_owned(), on.into());
    }
    if let Some(on) = members.take("deletionProtection").and_then(Value::as_bool) {
        fields.insert("deletion-protection".to_owned(), on.into());
    }
    if members.take("tableClass").and_then(constant) == Some("STANDARD_INFREQUENT_ACCESS") {
        fields.insert("class".to_owned(), "infrequent-access".into());
    }
    put_encryption(&mut fields, members.take("encryption"));
    let replicas = members.take("replicas").and_then(Value::as_array).into_iter().flatten();
    let regions = members.take("replicationRegions").and_then(Value::as_array).into_iter().flatten();
    let replicas: Vec<&str> =
        replicas.filter_map(|one| one["region"].as_str()).chain(regions.filter_map(Value::as_str)).collect();
    if !replicas.is_empty() {
        fields.insert("replicas".to_owned(), json!(replicas));
    }
    let tags = members.take("tags").and_then(Value::as_array).into_iter().flatten();
    let tags: Map<String, Value> =
        tags.filter_map(|tag| Some((tag["key"].as_str()?.to_owned(), tag["value"].clone()))).collect();
    if !tags.is_empty() {
        fields.insert("tags".to_owned(), Value::Object(tags));
    }
    let own = |list: Option<&'_ Value>| list.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut indexes = Map::new();
    let global = [own(members.take("globalSecondaryIndexes")), own(table.get("global"))].concat();
    let local = [own(members.take("localSecondaryIndexes")), own(table.get("local"))].concat();
    for (is_local, index) in global.iter().map(|one| (false, one)).chain(local.iter().map(|one| (true, one)))
    {
        let (name, fields) = index_fields(&id, index, is_local, notes)?;
        indexes.insert(name, Value::Object(fields));
    }
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    members.rest(notes);
    Ok(TableSection { name, fields })
}

fn put_keys(fields: &mut Map<String, Value>, members: &mut Members<'_>) {
    let sides: [(&str, [&'static str; 2]); 2] =
        [("partition", ["partitionKey", "partitionKeys"]), ("sort", ["sortKey", "sortKeys"])];
    for (side, names) in sides {
        let mut keys = Map::new();
        for member in names.into_iter().filter_map(|name| members.take(name)) {
            let one = member.is_object().then_some(member);
            for key in one.into_iter().chain(member.as_array().into_iter().flatten()) {
                let kind = match constant(&key["type"]) {
                    Some("NUMBER") => "number",
                    Some("BINARY") => "binary",
                    _ => "string",
                };
                if let Some(name) = key["name"].as_str() {
                    keys.insert(name.to_owned(), kind.into());
                }
            }
        }
        if !keys.is_empty() {
            fields.insert(side.to_owned(), Value::Object(keys));
        }
    }
}

/// A `Table` is provisioned with 5 units unless it says otherwise; a `TableV2` is on demand.
fn put_billing(
    fields: &mut Map<String, Value>,
    members: &mut Members<'_>,
    is_first: bool,
    notes: &mut Notes,
) {
    let mode = members.take("billingMode").and_then(constant);
    let billing = members.take("billing").and_then(called);
    let units = [("read", members.take("readCapacity")), ("write", members.take("writeCapacity"))];
    let is_on_demand = match (&billing, mode) {
        (Some((name, _)), _) => name != "provisioned",
        (None, Some(mode)) => mode != "PROVISIONED",
        (None, None) => !is_first,
    };
    fields.insert("billing".to_owned(), if is_on_demand { "on-demand" } else { "provisioned" }.into());
    for (side, given) in units.into_iter().filter(|_| is_first && !is_on_demand) {
        fields.insert(side.to_owned(), given.and_then(Value::as_u64).unwrap_or(5).into());
    }
    let Some((name, given)) = billing else { return };
    if name == "provisioned" {
        put_capacity(fields, &members.of, &given["readCapacity"], &given["writeCapacity"], notes);
    } else {
        put_most(fields, &given);
    }
}

/// The most that an on-demand table or index serves.
fn put_most(fields: &mut Map<String, Value>, given: &Value) {
    for (side, member) in [("read", "maxReadRequestUnits"), ("write", "maxWriteRequestUnits")] {
        if let Some(most) = given[member].as_u64() {
            fields.insert(side.to_owned(), json!({ "max": most }));
        }
    }
}

/// `Capacity.fixed(50)`, or `Capacity.autoscaled({…})`.
fn put_capacity(fields: &mut Map<String, Value>, of: &str, read: &Value, write: &Value, notes: &mut Notes) {
    for (side, given) in [("read", read), ("write", write)] {
        let Some((name, argument)) = called(given) else { continue };
        let number = |member: &str| argument[member].as_u64();
        match (name.as_str(), number("minCapacity"), number("maxCapacity")) {
            ("fixed", ..) if argument.is_u64() => {
                fields.insert(side.to_owned(), argument);
            }
            // A `TableV2` has no other way to say that its write units are fixed.
            ("autoscaled", Some(least), Some(most)) if least == most => {
                fields.insert(side.to_owned(), least.into());
            }
            ("autoscaled", Some(least), Some(most)) => {
                let target = argument["targetUtilizationPercent"].as_f64().unwrap_or(70.0);
                let units = number("seedCapacity").unwrap_or(least);
                let scaled =
                    json!({ "units": units, "min": least, "max": most, "target": format!("{target}%") });
                fields.insert(side.to_owned(), scaled);
            }
            _ => notes.add(format!("{of}: its {side} capacity is computed by the program")),
        }
    }
}

fn put_encryption(fields: &mut Map<String, Value>, given: Option<&Value>) {
    let name = given.and_then(called).map(|(name, _)| name);
    let word = match name.or_else(|| given.and_then(constant).map(str::to_owned)).as_deref() {
        Some("awsManagedKey" | "AWS_MANAGED") => "aws-managed",
        Some("customerManagedKey" | "CUSTOMER_MANAGED") => "customer-managed",
        Some("dynamoOwnedKey" | "DEFAULT") => "aws-owned",
        _ => return,
    };
    fields.insert("encryption".to_owned(), word.into());
}

fn index_fields(
    table: &str,
    index: &Value,
    is_local: bool,
    notes: &mut Notes,
) -> Result<(String, Map<String, Value>), Unreadable> {
    let empty = Map::new();
    let of = format!("an index of {table}");
    let mut members = Members { of, members: index.as_object().unwrap_or(&empty), read: Vec::new() };
    let name = members.text("indexName", notes);
    let name =
        name.ok_or_else(|| Unreadable(format!("table {table}: an index has a name that is computed")))?;
    members.of = format!("{table}/{name}");
    let mut fields = Map::new();
    if is_local {
        fields.insert("type".to_owned(), "local".into());
    }
    put_keys(&mut fields, &mut members);
    let names = members.take("nonKeyAttributes").cloned().unwrap_or_else(|| json!([]));
    let project = match members.take("projectionType").and_then(constant) {
        Some("KEYS_ONLY") => json!("keys"),
        Some("INCLUDE") => names,
        _ => json!("all"),
    };
    fields.insert("project".to_owned(), project);
    put_most(&mut fields, index);
    members.read.extend(["maxReadRequestUnits", "maxWriteRequestUnits"]);
    let (read, write) = (members.take("readCapacity"), members.take("writeCapacity"));
    for (side, units) in [("read", read), ("write", write)] {
        if let Some(units) = units.and_then(Value::as_u64) {
            fields.insert(side.to_owned(), units.into());
        }
    }
    let of_code = |value: Option<&Value>| value.filter(|value| !value.is_u64()).cloned().unwrap_or_default();
    put_capacity(&mut fields, &members.of, &of_code(read), &of_code(write), notes);
    members.rest(notes);
    Ok((name, fields))
}
