//! Tools for tables and items: their arguments are members of an operation's input, and its output is their result.

use api::Operation;
use serde_json::{Map, Value, json};

use crate::connection::ConnectionArguments;
use crate::endpoint::explained;

/// Items that a query looks at unless it is asked for more: an answer of a megabyte fills what an assistant can read.
const LIMIT_DEFAULT: u64 = 50;

/// What arguments are called in an input of DynamoDB.
const MEMBERS: [(&str, &str); 14] = [
    ("table", "TableName"),
    ("key", "Key"),
    ("item", "Item"),
    ("index", "IndexName"),
    ("key_condition", "KeyConditionExpression"),
    ("filter", "FilterExpression"),
    ("condition", "ConditionExpression"),
    ("projection", "ProjectionExpression"),
    ("names", "ExpressionAttributeNames"),
    ("values", "ExpressionAttributeValues"),
    ("limit", "Limit"),
    ("forward", "ScanIndexForward"),
    ("consistent", "ConsistentRead"),
    ("start", "ExclusiveStartKey"),
];

/// DynamoDB's answer, or its error.
pub fn carry_out(
    operation: Operation,
    arguments: &Value,
    database: &ConnectionArguments,
) -> Result<Value, String> {
    let body = input(operation, arguments).to_string().into_bytes();
    let answer = database
        .run(async |connection| connection.send(operation, body).await.map_err(|error| explained(&error)))?;
    serde_json::from_slice(&answer).map_err(|error| format!("the answer can't be read: {error}"))
}

fn input(operation: Operation, arguments: &Value) -> Value {
    let given = arguments.as_object().into_iter().flatten();
    let mut input: Map<String, Value> =
        given.map(|(name, value)| (member(operation, name), value.clone())).collect();
    if operation == Operation::Query {
        input.entry("Limit").or_insert(json!(LIMIT_DEFAULT));
    }
    Value::Object(input)
}

fn member(operation: Operation, argument: &str) -> String {
    if (operation, argument) == (Operation::ListTables, "start") {
        return "ExclusiveStartTableName".to_owned();
    }
    let known = MEMBERS.iter().find(|(name, _)| *name == argument);
    known.map_or(argument, |(_, member)| member).to_owned()
}
