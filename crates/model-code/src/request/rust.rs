//! Rust, with the `aws-sdk-dynamodb` crate: one builder a structure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::escaped;
use crate::literal::quoted;
use crate::name::joined;

pub fn call(operation: &str, members: &Map<String, Value>) -> String {
    let mut writer = Writer::default();
    let setters = writer.setters(members, 1);
    let name = joined(operation, '_');
    let imports = writer.imports();
    format!(
        "{imports}let config = aws_config::load_from_env().await;\n\
         let dynamodb = aws_sdk_dynamodb::Client::new(&config);\n\
         let answer = dynamodb\n    .{name}(){setters}\n    .send()\n    .await?;\n"
    )
}

#[derive(Default)]
struct Writer {
    types: BTreeSet<String>,
    bytes: bool,
}

impl Writer {
    fn imports(&self) -> String {
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        let mut imports = match types.as_slice() {
            [] => String::new(),
            [one] => format!("use aws_sdk_dynamodb::types::{one};\n"),
            many => format!("use aws_sdk_dynamodb::types::{{{}}};\n", many.join(", ")),
        };
        if self.bytes {
            imports.push_str("use aws_sdk_dynamodb::primitives::Blob;\n");
            imports.push_str("use base64::{Engine, engine::general_purpose::STANDARD};\n");
        }
        if imports.is_empty() { imports } else { imports + "\n" }
    }

    fn setters(&mut self, members: &Map<String, Value>, depth: usize) -> String {
        members.iter().map(|(name, value)| self.setter(name, value, depth)).collect()
    }

    /// Maps and lists are set one entry at a time.
    fn setter(&mut self, name: &str, value: &Value, depth: usize) -> String {
        let line = "\n".to_owned() + &"    ".repeat(depth);
        let method = joined(name, '_');
        match (name, value) {
            ("Item" | "Key" | "ExpressionAttributeValues" | "ExclusiveStartKey", Value::Object(entries)) => {
                entries
                    .iter()
                    .map(|(key, one)| format!("{line}.{method}({}, {})", string(key), self.attribute(one)))
                    .collect()
            }
            ("ExpressionAttributeNames", Value::Object(entries)) => entries
                .iter()
                .map(|(key, one)| {
                    format!("{line}.{method}({}, {})", string(key), string(one.as_str().unwrap_or_default()))
                })
                .collect(),
            ("Parameters", Value::Array(values)) => {
                values.iter().map(|one| format!("{line}.{method}({})", self.attribute(one))).collect()
            }
            ("Keys", Value::Array(keys)) => keys
                .iter()
                .map(|key| {
                    let entries = key.as_object().into_iter().flatten();
                    let entries: Vec<String> = entries
                        .map(|(name, one)| format!("({}.to_owned(), {})", string(name), self.attribute(one)))
                        .collect();
                    format!("{line}.{method}([{}].into())", entries.join(", "))
                })
                .collect(),
            ("RequestItems", Value::Object(tables)) => tables
                .iter()
                .map(|(table, inner)| self.request_item(&line, &method, table, inner, depth))
                .collect(),
            (_, Value::Array(elements)) => elements
                .iter()
                .map(|one| format!("{line}.{method}({})", self.element(name, one, depth)))
                .collect(),
            (_, Value::Object(members)) => {
                format!("{line}.{method}({})", self.structure(name, members, depth))
            }
            (_, other) => format!("{line}.{method}({})", self.scalar(name, other)),
        }
    }

    fn request_item(&mut self, line: &str, method: &str, table: &str, inner: &Value, depth: usize) -> String {
        let value = match inner {
            Value::Array(requests) => {
                let requests: Vec<String> =
                    requests.iter().map(|one| self.element("WriteRequests", one, depth)).collect();
                format!("vec![{}]", requests.join(", "))
            }
            Value::Object(members) => self.structure("KeysAndAttributes", members, depth),
            _ => String::new(),
        };
        format!("{line}.{method}({}, {value})", string(table))
    }

    fn element(&mut self, name: &str, value: &Value, depth: usize) -> String {
        match value {
            Value::Object(members) => self.structure(element_type(name), members, depth),
            other => self.scalar(name, other),
        }
    }

    fn structure(&mut self, name: &str, members: &Map<String, Value>, depth: usize) -> String {
        self.types.insert(name.to_owned());
        let setters = self.setters(members, depth + 2);
        let line = "\n".to_owned() + &"    ".repeat(depth + 2);
        // Only structures without required members build without a check.
        let build = if CAN_FAIL.contains(&name) { "build()?" } else { "build()" };
        format!(
            "\n{0}{name}::builder(){setters}{line}.{build},\n{1}",
            "    ".repeat(depth + 1),
            "    ".repeat(depth)
        )
    }

    fn scalar(&mut self, name: &str, value: &Value) -> String {
        match value {
            Value::String(text) if ENUMERATIONS.contains(&name) => {
                let (kind, variant) = (enumeration_type(name), variant(text));
                self.types.insert(kind.to_owned());
                format!("{kind}::{variant}")
            }
            Value::String(text) => string(text),
            other => other.to_string(),
        }
    }

    fn attribute(&mut self, value: &Value) -> String {
        self.types.insert("AttributeValue".to_owned());
        let Some((kind, inner)) = value.as_object().and_then(|members| members.iter().next()) else {
            return "AttributeValue::Null(true)".to_owned();
        };
        let list = |inner: &Value| inner.as_array().cloned().unwrap_or_default();
        let texts = |inner: &Value| {
            let texts: Vec<String> = list(inner)
                .iter()
                .map(|one| format!("{}.into()", string(one.as_str().unwrap_or_default())))
                .collect();
            texts.join(", ")
        };
        match kind.as_str() {
            "S" | "N" => {
                format!("AttributeValue::{kind}({}.into())", string(inner.as_str().unwrap_or_default()))
            }
            "B" => format!("AttributeValue::B({})", self.blob(inner)),
            "SS" => format!("AttributeValue::Ss(vec![{}])", texts(inner)),
            "NS" => format!("AttributeValue::Ns(vec![{}])", texts(inner)),
            "BS" => {
                let blobs: Vec<String> = list(inner).iter().map(|one| self.blob(one)).collect();
                format!("AttributeValue::Bs(vec![{}])", blobs.join(", "))
            }
            "BOOL" => format!("AttributeValue::Bool({inner})"),
            "L" => {
                let elements: Vec<String> = list(inner).iter().map(|one| self.attribute(one)).collect();
                format!("AttributeValue::L(vec![{}])", elements.join(", "))
            }
            "M" => {
                let entries = inner.as_object().into_iter().flatten();
                let entries: Vec<String> = entries
                    .map(|(name, one)| format!("({}.to_owned(), {})", string(name), self.attribute(one)))
                    .collect();
                format!("AttributeValue::M([{}].into())", entries.join(", "))
            }
            _ => "AttributeValue::Null(true)".to_owned(),
        }
    }

    fn blob(&mut self, base64: &Value) -> String {
        self.bytes = true;
        format!("Blob::new(STANDARD.decode({})?)", string(base64.as_str().unwrap_or_default()))
    }
}

const ENUMERATIONS: [&str; 14] = [
    "AttributeType",
    "BillingMode",
    "ComparisonOperator",
    "IndexStatus",
    "KeyType",
    "ProjectionType",
    "ReturnConsumedCapacity",
    "ReturnItemCollectionMetrics",
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
    "Select",
    "StreamViewType",
    "TableClass",
    "SSEType",
];

const CAN_FAIL: [&str; 14] = [
    "AttributeDefinition",
    "CreateGlobalSecondaryIndexAction",
    "DeleteGlobalSecondaryIndexAction",
    "BatchStatementRequest",
    "ConditionCheck",
    "Delete",
    "DeleteRequest",
    "Get",
    "GlobalSecondaryIndex",
    "KeysAndAttributes",
    "KeySchemaElement",
    "LocalSecondaryIndex",
    "Put",
    "Update",
];

fn enumeration_type(name: &str) -> &str {
    match name {
        "AttributeType" => "ScalarAttributeType",
        "ReturnValues" => "ReturnValue",
        other => other,
    }
}

/// What the elements of a list member are.
fn element_type(name: &str) -> &str {
    match name {
        "AttributeDefinitions" => "AttributeDefinition",
        "GlobalSecondaryIndexes" => "GlobalSecondaryIndex",
        "GlobalSecondaryIndexUpdates" => "GlobalSecondaryIndexUpdate",
        "KeySchema" => "KeySchemaElement",
        "LocalSecondaryIndexes" => "LocalSecondaryIndex",
        "Statements" => "BatchStatementRequest",
        "Tags" => "Tag",
        "TransactItems" => "TransactWriteItem",
        "TransactStatements" => "ParameterizedStatement",
        "WriteRequests" => "WriteRequest",
        other => other,
    }
}

/// `ALL_OLD` -> `AllOld`.
fn variant(text: &str) -> String {
    let words = text.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
    });
    words.collect()
}

fn string(text: &str) -> String {
    quoted(text, |one| escaped(one, |one| format!("\\u{{{:x}}}", u32::from(one))))
}
