//! `AWS::Serverless::SimpleTable`: a partition key and a few settings, the rest by default.

use model::model::Table;
use serde_json::{Map, Value, json};

/// Its types of keys, and the API's.
const TYPES: [(&str, &str); 3] = [("String", "S"), ("Number", "N"), ("Binary", "B")];

/// The properties of the `AWS::DynamoDB::Table` that it stands for.
pub fn full(simple: &Value) -> Value {
    let key = &simple["PrimaryKey"];
    let name = key["Name"].as_str().unwrap_or("id");
    let kind = TYPES.iter().find(|(word, _)| key["Type"] == *word).map_or("S", |(_, tag)| tag);
    let mut table = json!({
        "AttributeDefinitions": [{ "AttributeName": name, "AttributeType": kind }],
        "KeySchema": [{ "AttributeName": name, "KeyType": "HASH" }],
    });
    for member in
        ["TableName", "ProvisionedThroughput", "SSESpecification", "PointInTimeRecoverySpecification"]
    {
        if let Some(value) = simple.get(member) {
            table[member] = value.clone();
        }
    }
    if simple.get("ProvisionedThroughput").is_none() {
        table["BillingMode"] = "PAY_PER_REQUEST".into();
    }
    let tags = simple["Tags"].as_object().into_iter().flatten();
    let tags: Vec<Value> = tags.map(|(key, value)| json!({ "Key": key, "Value": value })).collect();
    if !tags.is_empty() {
        table["Tags"] = tags.into();
    }
    table
}

/// The reverse; `None` if the table has more than that.
pub fn simple(table: &Table, full: &Value) -> Option<Value> {
    let key = table.key.as_ref().filter(|key| key.sort.is_empty() && table.indexes.is_empty())?;
    let key = key.partition.first()?;
    let mut simple = Map::new();
    for (member, value) in full.as_object()? {
        match member.as_str() {
            "AttributeDefinitions" | "KeySchema" | "BillingMode" => {}
            "Tags" => {
                let tags = value.as_array().into_iter().flatten();
                let tags: Map<String, Value> = tags
                    .filter_map(|tag| Some((tag["Key"].as_str()?.to_owned(), tag["Value"].clone())))
                    .collect();
                simple.insert(member.clone(), Value::Object(tags));
            }
            "TableName"
            | "ProvisionedThroughput"
            | "SSESpecification"
            | "PointInTimeRecoverySpecification" => {
                simple.insert(member.clone(), value.clone());
            }
            _ => return None,
        }
    }
    let kind = TYPES.iter().find(|(_, tag)| *tag == key.kind.name()).map_or("String", |(word, _)| word);
    simple.insert("PrimaryKey".to_owned(), json!({ "Name": key.name, "Type": kind }));
    Some(Value::Object(simple))
}
