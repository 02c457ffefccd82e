//! The actions of the workload as DynamoDB requests, and what the answers say.
//!
//! Items are in one table, a family of them in a partition, with a local index and two global ones, whose rows move with
//! most writes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use simulation::{Action, Condition, Content, Family, Key};

use crate::plan::Features;

/// The table of the workload.
pub const TABLE: &str = "Table";

/// The table with its first indexes, as the features ask for it.
pub fn table(features: &Features) -> Value {
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let mut table = json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("p", "s"),
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
            {"AttributeName": "v", "AttributeType": "N"}, {"AttributeName": "n", "AttributeType": "N"},
            {"AttributeName": "f", "AttributeType": "S"},
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "by-version", "KeySchema": key("p", "v"), "Projection": {"ProjectionType": "ALL"}},
        ],
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-flag", "KeySchema": key("f", "n"),
             "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["v"]}},
            {"IndexName": "by-sort", "KeySchema": key("s", "p"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
        ],
    });
    if features.strong {
        // DynamoDB has no strongly consistent Regions of a table with local indexes.
        let table = table.as_object_mut().expect("an object");
        table.remove("LocalSecondaryIndexes");
        let definitions = table["AttributeDefinitions"].as_array_mut().expect("a list");
        definitions.retain(|attribute| attribute["AttributeName"] != "v");
    }
    if features.stream {
        table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    }
    table
}

/// The member of a transaction that carries the action out. Its name with `Item` behind it is the operation that does
/// the same by itself.
pub fn act(key: Key, action: Action) -> (&'static str, Value) {
    let mut values = Map::new();
    let (name, mut input) = match action {
        Action::Get => ("Get", json!({"Key": key_attributes(key)})),
        Action::Put(content, _) => ("Put", json!({"Item": item(key, content)})),
        Action::Delete(_) => ("Delete", json!({"Key": key_attributes(key)})),
        Action::Check(_) => ("ConditionCheck", json!({"Key": key_attributes(key)})),
        Action::SetVersion(version, _) => {
            values.insert(":v".to_owned(), json!({"N": version.to_string()}));
            let update = if is_flagged(version) {
                values.insert(":f".to_owned(), json!({"S": "flag"}));
                "SET v = :v, f = :f"
            } else {
                "SET v = :v REMOVE f"
            };
            ("Update", json!({"Key": key_attributes(key), "UpdateExpression": update}))
        }
        Action::Add(amount, _) => {
            values.insert(":amount".to_owned(), json!({"N": amount.to_string()}));
            ("Update", json!({"Key": key_attributes(key), "UpdateExpression": "ADD n :amount"}))
        }
    };
    let condition = match action.condition() {
        Condition::Always => None,
        Condition::Version(None) => Some("attribute_not_exists(v)"),
        Condition::Version(Some(version)) => {
            values.insert(":expected".to_owned(), json!({"N": version.to_string()}));
            Some("v = :expected")
        }
        Condition::CountAtLeast(least) => {
            values.insert(":expected".to_owned(), json!({"N": least.to_string()}));
            Some("n >= :expected")
        }
    };
    if let Some(condition) = condition {
        input["ConditionExpression"] = json!(condition);
        input["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
    }
    if !values.is_empty() {
        input["ExpressionAttributeValues"] = Value::Object(values);
    }
    input["TableName"] = json!(TABLE);
    (name, input)
}

/// The statement that carries the action out and returns what was there, if there is one that means the same.
pub fn statement(key: Key, action: Action) -> Option<Value> {
    let condition = match action.condition() {
        Condition::Always => None,
        Condition::Version(Some(version)) => Some(version),
        Condition::Version(None) if matches!(action, Action::Put(..)) => None,
        Condition::Version(None) | Condition::CountAtLeast(_) => return None,
    };
    let (begin, mut parameters) = match (action, condition) {
        // An insert replaces nothing.
        (Action::Put(content, Condition::Version(None)), _) => {
            let (names, values) = names_and_values(&item(key, content));
            return Some(json!({
                "Statement": format!("INSERT INTO \"{TABLE}\" VALUE {{{names}}}"), "Parameters": values,
            }));
        }
        // An update makes no item: what it is to do if there is none has to be the same.
        (Action::SetVersion(version, _), Some(_)) if is_flagged(version) => {
            let set = format!("UPDATE \"{TABLE}\" SET v = ? SET f = 'flag'");
            (set, vec![json!({"N": version.to_string()})])
        }
        (Action::SetVersion(version, _), Some(_)) => {
            let set = format!("UPDATE \"{TABLE}\" SET v = ? REMOVE f");
            (set, vec![json!({"N": version.to_string()})])
        }
        (Action::Delete(_), _) => (format!("DELETE FROM \"{TABLE}\""), Vec::new()),
        _ => return None,
    };
    let attributes = key_attributes(key);
    parameters.extend([attributes["p"].clone(), attributes["s"].clone()]);
    let mut text = format!("{begin} WHERE p = ? AND s = ?");
    if let Some(version) = condition {
        text += " AND v = ?";
        parameters.push(json!({"N": version.to_string()}));
    }
    text += " RETURNING ALL OLD *";
    Some(json!({
        "Statement": text, "Parameters": parameters, "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }))
}

/// The members of an item as a statement has them, and their values as parameters.
fn names_and_values(item: &Value) -> (String, Vec<Value>) {
    let members = item.as_object().into_iter().flatten();
    let (names, values): (Vec<String>, Vec<Value>) =
        members.map(|(name, value)| (format!("'{name}': ?"), value.clone())).unzip();
    (names.join(", "), values)
}

/// The key attributes of an item.
pub fn key_attributes(key: Key) -> Value {
    json!({"p": {"S": format!("{:?}", key.family)}, "s": {"S": key.number.to_string()}})
}

/// Some versions carry a flag, so that items come and go in the index of flags, and so that an item which mixes two
/// writes shows itself.
fn is_flagged(version: u64) -> bool {
    version.is_multiple_of(3)
}

/// An item as JSON.
pub fn item(key: Key, content: Content) -> Value {
    let mut item = key_attributes(key);
    if let Some(version) = content.version {
        item["v"] = json!({"N": version.to_string()});
        if is_flagged(version) {
            item["f"] = json!({"S": "flag"});
        }
    }
    if let Some(count) = content.count {
        item["n"] = json!({"N": count.to_string()});
    }
    item
}

/// What an item has beside its key. Panics if it mixes two writes.
pub fn content(item: Option<&Value>) -> Option<Content> {
    let item = item?;
    let read = |name| item.get(name).map(number);
    let content = Content { version: read("v").map(i64::cast_unsigned), count: read("n") };
    let flagged = content.version.is_some_and(is_flagged);
    assert_eq!(item.get("f").is_some(), flagged, "an item mixes two writes: {item}");
    Some(content)
}

/// The key of an item, if it is one of the workload's.
pub fn key_of(item: &Value) -> Option<Key> {
    let families = [Family::Register, Family::Versioned, Family::Account];
    let family = families.into_iter().find(|family| item["p"]["S"] == format!("{family:?}"))?;
    let number = item["s"]["S"].as_str()?.parse().ok()?;
    Some(Key { family, number })
}

/// Items by their keys. Panics if one is there twice.
pub fn by_key(items: &Value) -> BTreeMap<Key, Content> {
    let mut found = BTreeMap::new();
    for item in items.as_array().into_iter().flatten() {
        let key = key_of(item).unwrap_or_else(|| panic!("an item of no client: {item}"));
        let twice = found.insert(key, content(Some(item)).expect("an item"));
        assert!(twice.is_none(), "{key:?} is there twice: {items}");
    }
    found
}

/// A number as DynamoDB writes it.
pub fn number(value: &Value) -> i64 {
    value["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number: {value}"))
}
