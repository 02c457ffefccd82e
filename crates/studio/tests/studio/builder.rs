//! A read from its parts: the operation that serves it, right expressions, and what it will read.

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Desk, desk};

async fn build(desk: &Desk, parts: Value) -> Value {
    desk.ask("request/build", &json!({ "table": "app", "parts": parts })).await
}

/// Sends what was built; DynamoDB takes it.
async fn found(desk: &Desk, built: &Value) -> usize {
    let operation = built["operation"].as_str().expect("an operation");
    let answer = desk.ask(&format!("call/{operation}"), &built["input"]).await;
    answer["Items"].as_array().map_or(usize::from(answer.get("Item").is_some()), Vec::len)
}

fn text(value: &str) -> Value {
    json!({ "S": value })
}

#[tokio::test]
async fn a_whole_key_is_get_item_a_partition_a_query_and_nothing_a_scan() {
    let desk = desk().await.with_orders().await;
    let whole =
        json!({ "partition": [text("CUST#a")], "sort": [{ "operator": "=", "values": [text("ORDER#2")] }] });
    for (parts, operation, items) in [
        (whole, "GetItem", 1),
        (json!({ "partition": [text("CUST#a")] }), "Query", 3),
        (json!({ "index": "byStatus", "partition": [text("OPEN")] }), "Query", 3),
        (json!({}), "Scan", 3),
        (json!({ "index": "open" }), "Scan", 3),
    ] {
        let built = build(&desk, parts).await;
        assert_eq!(built["operation"], operation);
        assert_eq!(found(&desk, &built).await, items, "{built}");
    }
}

#[tokio::test]
async fn every_condition_on_a_sort_key_is_one_that_the_database_takes() {
    let desk = desk().await.with_orders().await;
    let order = |number: u32| text(&format!("ORDER#{number}"));
    for (operator, values, items) in [
        ("=", json!([order(2)]), 1),
        ("<", json!([order(2)]), 1),
        ("<=", json!([order(2)]), 2),
        (">", json!([order(2)]), 1),
        (">=", json!([order(2)]), 2),
        ("between", json!([order(1), order(2)]), 2),
        ("begins_with", json!([text("ORDER#")]), 3),
    ] {
        let sort = json!([{ "operator": operator, "values": values }]);
        let built =
            build(&desk, json!({ "partition": [text("CUST#a")], "sort": sort, "count": operator == "=" }))
                .await;
        let answer = desk.ask("call/Query", &built["input"]).await;
        assert_eq!(answer["Count"], items, "{operator}: {built}");
    }
}

#[tokio::test]
async fn every_filter_is_one_that_the_database_takes_and_names_that_need_it_get_an_alias() {
    let desk = desk().await.with_orders().await;
    let number = |value: &str| json!({ "N": value });
    for (path, operator, values, items) in [
        (json!(["status"]), "=", json!([text("OPEN")]), 3),
        (json!(["status"]), "<>", json!([text("OPEN")]), 0),
        (json!(["total"]), ">", json!([number("100")]), 3),
        (json!(["total"]), "between", json!([number("1"), number("2")]), 0),
        (json!(["status"]), "in", json!([text("OPEN"), text("SHIPPED")]), 3),
        (json!(["status"]), "begins_with", json!([text("OP")]), 3),
        (json!(["status"]), "contains", json!([text("PE")]), 3),
        (json!(["status"]), "not_contains", json!([text("PE")]), 0),
        (json!(["total"]), "exists", json!([]), 3),
        (json!(["a name", "with", 2, "date"]), "not_exists", json!([]), 3),
        (json!(["total"]), "type", json!([text("N")]), 3),
        (json!(["status"]), "size>=", json!([number("4")]), 3),
        (json!(["status"]), "size<=", json!([number("3")]), 0),
    ] {
        let filters = json!([{ "path": path, "operator": operator, "values": values }]);
        let built = build(&desk, json!({ "partition": [text("CUST#a")], "filters": filters })).await;
        assert_eq!(found(&desk, &built).await, items, "{operator}: {built}");
    }
    let filters = json!([{ "path": ["status"], "operator": "=", "values": [text("OPEN")] }]);
    let built = build(&desk, json!({ "filters": filters })).await;
    assert_eq!(
        built["aliases"][0],
        json!({ "alias": "#status", "name": "status", "why": "a reserved word" })
    );
}

#[tokio::test]
async fn a_scan_says_what_it_reads_before_it_runs() {
    let desk = desk().await.with_orders().await;
    let built = build(&desk, json!({})).await;
    let remark = built["remarks"][0]["message"].as_str().expect("a remark");
    assert!(remark.contains("all 3 items are read, 2 RCU"), "{remark}");
    let answer = desk.ask("call/Scan", &built["input"]).await;
    assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], json!(2.0));
    assert_eq!(built["predicted"]["units"], json!(2.0));
}

#[tokio::test]
async fn what_can_not_be_asked_is_refused_with_the_reason() {
    let desk = desk().await.with_orders().await;
    let key = json!([text("CUST#a")]);
    for (parts, reason) in [
        (json!({ "index": "nowhere" }), "there is no index nowhere"),
        (json!({ "partition": [{ "N": "x" }] }), "PK"),
        (
            json!({ "partition": key, "sort": [{ "operator": "contains", "values": [text("x")] }] }),
            "contains",
        ),
        (
            json!({ "partition": key, "sort": [{ "operator": "between", "values": [text("x")] }] }),
            "takes 2 values",
        ),
        (
            json!({ "filters": [{ "path": [], "operator": "=", "values": [text("x")] }] }),
            "names an attribute",
        ),
    ] {
        let (status, answer) = desk.post("request/build", &json!({ "table": "app", "parts": parts })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert!(
            answer["message"].as_str().is_some_and(|message| message.contains(reason)),
            "{reason}: {answer}"
        );
    }
    let (status, answer) = desk.post("request/build", &json!({ "table": "nothing", "parts": {} })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        answer["__type"].as_str().is_some_and(|kind| kind.ends_with("ResourceNotFoundException")),
        "{answer}"
    );
}
