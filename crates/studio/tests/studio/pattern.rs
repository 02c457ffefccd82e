//! Patterns on real tables: what is expected beside what came.

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Desk, desk};

/// A database with the example, and its text.
async fn loaded() -> (Desk, String) {
    let desk = desk().await;
    let text = desk.example("order-management").await;
    desk.ask("model/apply", &json!({ "text": text, "samples": true })).await;
    (desk, text)
}

/// The key of some customer, without its prefix.
async fn customer(desk: &Desk) -> String {
    let scan = desk.ask("call/Scan", &json!({
        "TableName": "app-main", "FilterExpression": "SK = :p", "ExpressionAttributeValues": { ":p": { "S": "PROFILE" } },
    })).await;
    scan["Items"][0]["PK"]["S"].as_str().expect("a customer").trim_start_matches("CUST#").to_owned()
}

async fn run((desk, text): (&Desk, &str), pattern: &str, values: Value) -> Value {
    desk.ask("run", &json!({ "text": text, "pattern": pattern, "values": values })).await
}

#[tokio::test]
async fn reads_return_what_the_model_expects_in_order_for_what_was_predicted() {
    let (desk, text) = loaded().await;
    let customer = json!({ "S": customer(&desk).await });
    for (pattern, values) in [
        ("A1", json!({ "customerId": customer })),
        ("A2", json!({ "customerId": customer })),
        ("A4", json!({ "customerId": customer, "status": { "S": "OPEN" } })),
        ("A5", json!({})),
    ] {
        let result = run((&desk, &text), pattern, values).await;
        assert_eq!((&result["right"], &result["exact"]), (&json!(true), &json!(true)), "{pattern}: {result}");
        assert_eq!(result["units"]["predicted"], result["units"]["consumed"], "{pattern}: {result}");
    }
}

#[tokio::test]
async fn an_item_that_the_keys_hide_is_missed() {
    let (desk, text) = loaded().await;
    let id = customer(&desk).await;
    // Its attributes say that it is one of the customer's orders; its index key says otherwise.
    let stray = json!({
        "PK": { "S": format!("CUST#{id}") }, "SK": { "S": "ORDER#2030-01-01T00:00:00Z#stray" },
        "customerId": { "S": id }, "orderId": { "S": "stray" }, "createdAt": { "S": "2030-01-01T00:00:00Z" },
        "status": { "S": "OPEN" }, "total": { "N": "1" }, "version": { "N": "1" },
        "GSI1PK": { "S": "CUST#somebody-else#OPEN" }, "GSI1SK": { "S": "2030-01-01T00:00:00Z#stray" },
    });
    desk.ask("call/PutItem", &json!({ "TableName": "app-main", "Item": stray })).await;
    let result =
        run((&desk, &text), "A4", json!({ "customerId": { "S": id }, "status": { "S": "OPEN" } })).await;
    assert_eq!(result["right"], false, "{result}");
    assert_eq!(result["missing"][0]["SK"], stray["SK"], "{result}");
    assert_eq!(result["hidden"][0]["item"], stray, "{result}");
    assert_eq!(result["hidden"][0]["keyed"]["GSI1PK"]["S"], format!("CUST#{id}#OPEN"), "{result}");
}

#[tokio::test]
async fn writes_are_never_run_and_values_must_be_given() {
    let (desk, text) = loaded().await;
    for (pattern, reason) in [("A6", "never on your tables"), ("A2", "customerId"), ("Z9", "no pattern Z9")] {
        let (status, answer) =
            desk.post("run", &json!({ "text": text, "pattern": pattern, "values": {} })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert!(answer["message"].as_str().is_some_and(|message| message.contains(reason)), "{answer}");
    }
}
