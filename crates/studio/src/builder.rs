//! A read from its parts: the operation that serves it, its expressions, what it will read and what that costs.
//!
//! The page sends what the user chose. This file decides on aliases, placeholders and prices.

use capacity::{PARTITIONS_ON_DEMAND, ReadMode, partitions_provisioned, read_units, scan_units};
use model::facts::Facts;
use model::request::expression::{Alias, Placeholders};
use serde_json::{Map, Value, json};

use crate::item_json;

/// What one page holds.
const PAGE_BYTES: f64 = 1_048_576.0;

/// The key of a table or index, as DescribeTable has it.
pub struct Schema<'a> {
    pub partition: Vec<&'a str>,
    pub sort: Vec<&'a str>,
}

impl<'a> Schema<'a> {
    pub fn of(key_schema: &'a Value) -> Schema<'a> {
        let of = |kind: &str| {
            let elements = key_schema.as_array().into_iter().flatten().filter(|one| one["KeyType"] == kind);
            elements.filter_map(|one| one["AttributeName"].as_str()).collect()
        };
        Schema { partition: of("HASH"), sort: of("RANGE") }
    }

    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.partition.iter().chain(&self.sort).copied()
    }
}

/// An index of a table's description, by its name.
pub fn index<'a>(table: &'a Value, name: &str) -> Option<&'a Value> {
    let lists = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
    let mut indexes = lists.into_iter().filter_map(|list| table[list].as_array()).flatten();
    indexes.find(|index| index["IndexName"] == name)
}

/// The request for these parts, with its code, its predicted units and remarks.
pub fn build(table: &Value, parts: &Value, region: &str) -> Result<Value, String> {
    let index = match parts["index"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => Some(index(table, name).ok_or_else(|| format!("there is no index {name}"))?),
        None => None,
    };
    let schema = Schema::of(&index.unwrap_or(table)["KeySchema"]);
    let mut building = Building { parts, schema, placeholders: Placeholders::default(), input: Map::new() };
    building.input.insert("TableName".into(), table["TableName"].clone());
    if let Some(index) = index {
        building.input.insert("IndexName".into(), index["IndexName"].clone());
    }
    let operation = building.operation(index.is_some());
    building.fill(operation)?;
    let aliases = building.aliases();
    let input = Value::Object(building.input);
    let reading = Reading { operation, input: &input, table, source: index.unwrap_or(table), parts, region };
    Ok(json!({
        "operation": operation,
        "input": input,
        "aliases": aliases,
        "predicted": reading.predicted(),
        "remarks": reading.remarks(),
        "code": model_code::request::all(operation, &input),
    }))
}

struct Building<'a> {
    parts: &'a Value,
    schema: Schema<'a>,
    placeholders: Placeholders,
    input: Map<String, Value>,
}

fn given<'a>(parts: &'a Value, name: &str) -> &'a [Value] {
    parts[name].as_array().map_or(&[], Vec::as_slice)
}

impl Building<'_> {
    /// GetItem for a whole key of the table, Query for a partition, else Scan.
    fn operation(&self, indexed: bool) -> &'static str {
        let sort = given(self.parts, "sort");
        let whole = given(self.parts, "partition").len() == self.schema.partition.len();
        let exact = sort.len() == self.schema.sort.len() && sort.iter().all(|one| one["operator"] == "=");
        let plain = given(self.parts, "filters").is_empty() && self.parts["count"] != true;
        match (whole && !given(self.parts, "partition").is_empty(), exact && plain && !indexed) {
            (true, true) => "GetItem",
            (true, false) => "Query",
            (false, _) => "Scan",
        }
    }

    fn fill(&mut self, operation: &str) -> Result<(), String> {
        match operation {
            "GetItem" => {
                let key = self.key()?;
                self.input.insert("Key".into(), key);
            }
            "Query" => {
                let condition = self.key_condition()?;
                self.input.insert("KeyConditionExpression".into(), condition.into());
            }
            _ => {}
        }
        let filters = self.filters()?;
        if !filters.is_empty() {
            self.input.insert("FilterExpression".into(), filters.join(" AND ").into());
        }
        let names: Vec<String> = given(self.parts, "projection")
            .iter()
            .filter_map(Value::as_str)
            .map(|name| self.placeholders.name(name))
            .collect();
        if !names.is_empty() {
            self.input.insert("ProjectionExpression".into(), names.join(", ").into());
        }
        if let Some(names) = self.placeholders.names() {
            self.input.insert("ExpressionAttributeNames".into(), json!(names));
        }
        if let Some(values) = self.placeholders.values() {
            let values: Map<String, Value> =
                values.iter().map(|(name, value)| (name.clone(), item_json::of_buffer(value))).collect();
            self.input.insert("ExpressionAttributeValues".into(), values.into());
        }
        self.options(operation);
        Ok(())
    }

    fn options(&mut self, operation: &str) {
        if self.parts["descending"] == true && operation == "Query" {
            self.input.insert("ScanIndexForward".into(), false.into());
        }
        if self.parts["consistent"] == true {
            self.input.insert("ConsistentRead".into(), true.into());
        }
        if operation != "GetItem" {
            if self.parts["count"] == true {
                self.input.insert("Select".into(), "COUNT".into());
            }
            if let Some(limit) = self.parts["limit"].as_u64().filter(|limit| *limit > 0) {
                self.input.insert("Limit".into(), limit.into());
            }
        }
        self.input.insert("ReturnConsumedCapacity".into(), "INDEXES".into());
    }

    fn key(&self) -> Result<Value, String> {
        let sort = given(self.parts, "sort").iter().map(|one| &one["values"][0]);
        let values = given(self.parts, "partition").iter().chain(sort);
        let mut key = Map::new();
        for (name, value) in self.schema.names().zip(values) {
            item_json::read_value(value).map_err(|error| format!("{name}: {error}"))?;
            key.insert(name.to_owned(), value.clone());
        }
        Ok(key.into())
    }

    fn key_condition(&mut self) -> Result<String, String> {
        let mut terms = Vec::new();
        let partition = self.schema.partition.clone();
        for (name, value) in partition.into_iter().zip(given(self.parts, "partition")) {
            terms.push(self.term(&[json!(name)], "=", std::slice::from_ref(value))?);
        }
        let sort = self.schema.sort.clone();
        for (name, condition) in sort.into_iter().zip(given(self.parts, "sort")) {
            let operator = condition["operator"].as_str().unwrap_or("=");
            if !["=", "<", "<=", ">", ">=", "between", "begins_with"].contains(&operator) {
                return Err(format!("a sort key can't be asked for with {operator}"));
            }
            terms.push(self.term(&[json!(name)], operator, given(condition, "values"))?);
        }
        Ok(terms.join(" AND "))
    }

    fn filters(&mut self) -> Result<Vec<String>, String> {
        let parts = self.parts;
        let filter = |filter: &Value| {
            let operator = filter["operator"].as_str().unwrap_or("=");
            self.term(given(filter, "path"), operator, given(filter, "values"))
        };
        given(parts, "filters").iter().map(filter).collect()
    }

    /// `path` is names and positions: `["shipTo", "lines", 0]`.
    fn term(&mut self, path: &[Value], operator: &str, values: &[Value]) -> Result<String, String> {
        let name = self.path(path)?;
        let called = path.iter().rev().find_map(Value::as_str).unwrap_or("value").to_owned();
        let mut operands = Vec::new();
        for value in values {
            let value = item_json::read_value(value).map_err(|error| format!("{called}: {error}"))?;
            operands.push(self.placeholders.value(&called, &value));
        }
        let needed = match operator {
            "exists" | "not_exists" => 0,
            "between" => 2,
            "in" => operands.len().max(1),
            _ => 1,
        };
        if operands.len() != needed {
            return Err(format!(
                "{called}: {operator} takes {needed} values, and {} are given",
                operands.len()
            ));
        }
        Ok(match operator {
            "=" | "<>" | "<" | "<=" | ">" | ">=" => format!("{name} {operator} {}", operands[0]),
            "between" => format!("{name} BETWEEN {} AND {}", operands[0], operands[1]),
            "in" => format!("{name} IN ({})", operands.join(", ")),
            "begins_with" | "contains" => format!("{operator}({name}, {})", operands[0]),
            "not_contains" => format!("NOT contains({name}, {})", operands[0]),
            "exists" => format!("attribute_exists({name})"),
            "not_exists" => format!("attribute_not_exists({name})"),
            "type" => format!("attribute_type({name}, {})", operands[0]),
            "size>=" => format!("size({name}) >= {}", operands[0]),
            "size<=" => format!("size({name}) <= {}", operands[0]),
            other => return Err(format!("there is no operator {other}")),
        })
    }

    fn path(&mut self, path: &[Value]) -> Result<String, String> {
        let mut text = String::new();
        for step in path {
            match (step.as_str(), step.as_u64()) {
                (Some(name), _) if text.is_empty() => text = self.placeholders.name(name),
                (Some(name), _) => text = format!("{text}.{}", self.placeholders.name(name)),
                (_, Some(position)) if !text.is_empty() => text = format!("{text}[{position}]"),
                _ => return Err("a path begins with the name of an attribute".to_owned()),
            }
        }
        if text.is_empty() { Err("a filter names an attribute".to_owned()) } else { Ok(text) }
    }

    fn aliases(&self) -> Vec<Value> {
        let names = self.placeholders.names().unwrap_or_default();
        let why = |name: &str| match Alias::needed(name) {
            Some(Alias::ReservedWord) => "a reserved word",
            _ => "it has characters that mean something in expressions",
        };
        names.iter().map(|(alias, name)| json!({ "alias": alias, "name": name, "why": why(name) })).collect()
    }
}

/// What a request reads, before it runs.
struct Reading<'a> {
    operation: &'static str,
    input: &'a Value,
    table: &'a Value,
    /// The table's description, or the index's.
    source: &'a Value,
    parts: &'a Value,
    region: &'a str,
}

impl Reading<'_> {
    fn items(&self) -> f64 {
        self.source["ItemCount"].as_f64().unwrap_or(0.0)
    }

    fn bytes(&self) -> f64 {
        let bytes = &self.source["IndexSizeBytes"];
        bytes.as_f64().or_else(|| self.source["TableSizeBytes"].as_f64()).unwrap_or(0.0)
    }

    fn item_bytes(&self) -> f64 {
        if self.items() > 0.0 { self.bytes() / self.items() } else { 0.0 }
    }

    fn units(&self, bytes: f64) -> f64 {
        let mode = if self.input["ConsistentRead"] == true { ReadMode::Strong } else { ReadMode::Eventual };
        match self.operation {
            "Scan" => scan_units(bytes as usize, self.partitions(), mode),
            _ => read_units(bytes as usize, mode),
        }
    }

    /// A Scan pays for each partition that it visits.
    fn partitions(&self) -> u64 {
        if self.table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST" {
            return PARTITIONS_ON_DEMAND;
        }
        let units = |name: &str| self.source["ProvisionedThroughput"][name].as_u64().unwrap_or(0);
        partitions_provisioned(units("ReadCapacityUnits"), units("WriteCapacityUnits"))
    }

    /// Units of one request, and what the figure rests on.
    fn predicted(&self) -> Value {
        let limit = self.input["Limit"].as_f64();
        match (self.operation, limit) {
            ("GetItem", _) => {
                json!({ "units": self.units(self.item_bytes()), "basis": "the table's average item" })
            }
            ("Query", Some(limit)) => json!({
                "units": self.units((limit * self.item_bytes()).min(PAGE_BYTES)),
                "basis": "at most: the limit, at the average size of an item",
            }),
            ("Query", None) => Value::Null,
            (_, limit) => {
                let all = self.bytes().min(PAGE_BYTES);
                let bytes = limit.map_or(all, |limit| (limit * self.item_bytes()).min(all));
                json!({ "units": self.units(bytes), "basis": "the average size of an item" })
            }
        }
    }

    fn remarks(&self) -> Vec<Value> {
        let mut remarks = Vec::new();
        if self.operation == "Scan" {
            remarks.push(json!({ "level": "warning", "message": self.scan_remark() }));
        }
        if self.input.get("FilterExpression").is_some() {
            let message = "A filter drops items after they were read and paid for.";
            remarks.push(json!({ "level": "note", "message": message }));
        }
        if self.input["ConsistentRead"] == true && self.source.get("IndexArn").is_some() && self.is_global() {
            let message = "A global index gives no strong reads: this request will be refused.";
            remarks.push(json!({ "level": "warning", "message": message }));
        }
        remarks
    }

    fn is_global(&self) -> bool {
        self.source.get("IndexStatus").is_some()
    }

    fn scan_remark(&self) -> String {
        let units = self.units(self.bytes());
        let key = if given(self.parts, "partition").is_empty() {
            "No partition key is given"
        } else {
            "The key is not whole"
        };
        let price = price(self.region, units)
            .map(|price| format!(", {price} each time on demand"))
            .unwrap_or_default();
        let items = match self.items() {
            1.0 => "its one item is".to_owned(),
            items => format!("all {} items are", grouped(items)),
        };
        format!("{key}, so this is a Scan: {items} read, {} RCU{price}.", grouped(units))
    }
}

/// The on-demand price of these read units; none if it is negligible.
fn price(region: &str, units: f64) -> Option<String> {
    let facts = Facts::embedded();
    let price = facts.regions.get(region)?.standard.read_million * units / 1e6;
    (price >= 0.0001).then(|| if price < 0.01 { format!("${price:.4}") } else { format!("${price:.2}") })
}

fn grouped(number: f64) -> String {
    let text = if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") };
    let (whole, rest) =
        text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    rest.map_or(grouped.clone(), |rest| format!("{grouped}.{rest}"))
}
