//! A read-only studio reads everything and writes nothing, whatever it is asked.

use api::Operation;
use http::StatusCode;
use serde_json::{Value, json};
use studio::Options;

use crate::support::{desk_with, order};

fn read_only() -> Options {
    Options { read_only: true, ..Options::default() }
}

#[tokio::test]
async fn operations_that_write_are_refused() {
    let desk = desk_with(read_only()).await;
    for (operation, input) in [
        ("PutItem", json!({ "TableName": "app", "Item": order(1, "OPEN") })),
        ("UpdateItem", json!({ "TableName": "app", "Key": {} })),
        ("DeleteItem", json!({ "TableName": "app", "Key": {} })),
        ("BatchWriteItem", json!({ "RequestItems": {} })),
        ("TransactWriteItems", json!({ "TransactItems": [] })),
        ("CreateTable", json!({ "TableName": "app" })),
        ("UpdateTable", json!({ "TableName": "app" })),
        ("DeleteTable", json!({ "TableName": "app" })),
        ("UpdateTimeToLive", json!({ "TableName": "app" })),
        ("TagResource", json!({})),
        ("SomethingNew", json!({})),
    ] {
        let (status, answer) = desk.post(&format!("call/{operation}"), &input).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{operation}: {answer}");
    }
}

/// Every operation that the engine serves is either a known read or refused.
#[tokio::test]
async fn every_operation_is_a_read_or_refused() {
    let desk = desk_with(read_only()).await;
    for operation in Operation::ALL {
        let name = operation.name();
        let reads = ["Get", "Describe", "List", "Query", "Scan", "Search", "TransactGet"];
        let sounds_like_a_read = reads.iter().any(|start| name.starts_with(start)) || name == "BatchGetItem";
        let (status, _) = desk.post(&format!("call/{name}"), &json!({})).await;
        assert_eq!(status == StatusCode::FORBIDDEN, !sounds_like_a_read, "{name}");
    }
}

#[tokio::test]
async fn statements_that_write_are_refused_and_those_that_read_are_not() {
    let desk = desk_with(read_only()).await;
    let refused = |status| status == StatusCode::FORBIDDEN;
    let check = async |operation: &str, input: Value| desk.post(&format!("call/{operation}"), &input).await.0;
    for statement in
        ["INSERT INTO app VALUE {}", "  update app set a = 1", "DELETE FROM app", "", "(SELECT 1)"]
    {
        assert!(refused(check("ExecuteStatement", json!({ "Statement": statement })).await), "{statement}");
    }
    assert!(!refused(check("ExecuteStatement", json!({ "Statement": "\n select * from app" })).await));
    let both = json!([{ "Statement": "SELECT * FROM app" }, { "Statement": "DELETE FROM app" }]);
    assert!(refused(check("BatchExecuteStatement", json!({ "Statements": both })).await));
    assert!(refused(check("ExecuteTransaction", json!({ "TransactStatements": both })).await));
    // A name given twice is read as the engine reads it: the last one counts.
    let twice = br#"{"Statement": "SELECT * FROM app", "Statement": "DELETE FROM app"}"#;
    let request =
        crate::support::own("call/ExecuteStatement").body(twice.to_vec().into()).expect("a request");
    assert_ne!(desk.answer(request).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn models_are_read_and_priced_but_neither_applied_nor_saved() {
    let desk = desk_with(read_only()).await;
    let text = model::STARTER;
    let (status, _) = desk.post("model/apply", &json!({ "text": text })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, _) = desk.post("file/starter", &json!({ "text": text })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let plan = desk.ask("model/apply", &json!({ "text": text, "plan": true })).await;
    assert!(!plan["tables"][0]["changes"].as_array().expect("changes").is_empty(), "{plan}");
    assert!(desk.ask("session", &json!({})).await["readOnly"] == true);
}
