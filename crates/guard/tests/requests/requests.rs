//! Requests that are patterns, however they are written; and requests that come close.

use guard::Guard;
use serde_json::{Value, json};

use crate::support::{findings, guard, rules, texts};

fn shop() -> Guard {
    guard("shop.yaml", include_str!("shop.yaml"))
}

/// A Query of the table, or of an index that is named behind a slash.
fn query(condition: &str, values: &[(&str, &str)], further: Value) -> Value {
    let values: Value = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!({ "S": value })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut input = json!({ "TableName": "shop", "KeyConditionExpression": condition, "ExpressionAttributeValues": values });
    for (name, value) in further.as_object().into_iter().flatten() {
        input[name] = value.clone();
    }
    input
}

fn check(operation: &str, input: &Value, expected: Option<&str>) {
    let found = findings(&shop(), operation, input);
    let text = texts(&found);
    match expected {
        None => assert_eq!(text, "", "{input}"),
        Some(words) => assert!(text.contains(words), "{text}\n{input}"),
    }
}

#[test]
fn a_query_is_a_pattern_by_what_it_fixes_and_not_by_how_it_is_written() {
    let newest = json!({ "ScanIndexForward": false, "Limit": 20 });
    let orders = [(":c", "CUST#1"), (":o", "ORDER#")];
    check("Query", &query("PK = :c and begins_with(SK, :o)", &orders, newest.clone()), None);
    check("Query", &query("begins_with(SK, :o) AND PK = :c", &orders, newest.clone()), None);
    let arn = json!({ "TableName": "arn:aws:dynamodb:us-east-1:000000000000:table/shop", "ScanIndexForward": false, "Limit": 5 });
    check("Query", &query("PK = :c and begins_with(SK, :o)", &orders, arn), None);
    let between = [(":c", "CUST#1"), (":f", "ORDER#"), (":t", "ORDER#~")];
    check("Query", &query("PK = :c and SK between :f and :t", &between, newest), None);
    let since = [(":c", "CUST#1"), (":f", "ORDER#2026-01-01"), (":t", "ORDER#\u{FFFF}")];
    check("Query", &query("PK = :c and SK between :f and :t", &since, json!({})), None);
    check("Query", &query("PK = :c", &[(":c", "CUST#1")], json!({})), None);
    let index = json!({ "IndexName": "byEmail" });
    check("Query", &query("emailPK = :e", &[(":e", "EMAIL#a@b.example")], index), None);
    check("Query", &query("openPK = :p", &[(":p", "OPEN#eu")], json!({ "IndexName": "byStatus" })), None);
}

#[test]
fn what_differs_is_said() {
    let orders = [(":c", "CUST#1"), (":o", "ORDER#")];
    let of = |further: Value| query("PK = :c and begins_with(SK, :o)", &orders, further);
    check("Query", &of(json!({ "Limit": 20 })), Some("it reads in the other direction"));
    check("Query", &of(json!({ "ScanIndexForward": false })), Some("Limit 20, it reads more"));
    let one = query("PK = :c", &[(":c", "CUSTOMER#1")], json!({}));
    check("Query", &one, Some("its key is not one of"));
    let index = json!({ "IndexName": "byStatus" });
    check(
        "Query",
        &query("openPK = :p", &[(":p", "CLOSED#eu")], index),
        Some("its key is not one of `Order`"),
    );
}

#[test]
fn a_batch_is_its_actions_and_a_transaction_is_one_pattern() {
    let key = |sort: &str| json!({ "PK": { "S": "CUST#1" }, "SK": { "S": sort } });
    let customers = json!({ "RequestItems": { "shop": { "Keys": [key("PROFILE")] } } });
    check("BatchGetItem", &customers, None);
    let delete = json!({ "RequestItems": { "shop": [{ "DeleteRequest": { "Key": key("ORDER#2026#1") } }] } });
    check("BatchWriteItem", &delete, None);
    let check_customer = json!({ "ConditionCheck": {
        "TableName": "shop", "Key": key("PROFILE"), "ConditionExpression": "attribute_exists(PK)",
    } });
    check(
        "TransactWriteItems",
        &json!({ "TransactItems": [check_customer] }),
        Some("Closest is `place-order`: it lacks action 2 of the pattern"),
    );
}

#[test]
fn a_put_that_may_replace_an_item_is_no_create() {
    let item = json!({
        "PK": { "S": "CUST#1" }, "SK": { "S": "PROFILE" }, "customerId": { "S": "1" }, "name": { "S": "Ada" },
        "email": { "S": "a@b.example" }, "emailPK": { "S": "EMAIL#a@b.example" },
    });
    let put = |condition: Option<&str>| match condition {
        None => json!({ "TableName": "shop", "Item": item }),
        Some(text) => json!({ "TableName": "shop", "Item": item, "ConditionExpression": text }),
    };
    check("PutItem", &put(Some("attribute_not_exists(PK)")), None);
    check("PutItem", &put(None), Some("it has no condition that there is no such item yet"));
    check("PutItem", &put(Some("attribute_not_exists(email)")), Some("no such item yet"));
}

#[test]
fn an_update_is_what_it_changes() {
    let update = |set: &str, to: &str, condition: Option<&str>| {
        let mut input = json!({
            "TableName": "shop",
            "Key": { "PK": { "S": "CUST#1" }, "SK": { "S": "ORDER#2026#1" } },
            "UpdateExpression": set,
            "ExpressionAttributeNames": { "#s": "status" },
            "ExpressionAttributeValues": { ":to": { "S": to }, ":at": { "S": "2026-02-01" }, ":from": { "S": "OPEN" } },
        });
        if let Some(condition) = condition {
            input["ConditionExpression"] = condition.into();
        }
        input
    };
    let whole = "SET #s = :to, shippedAt = :at REMOVE openPK, openSK";
    check("UpdateItem", &update(whole, "SHIPPED", Some("#s = :from")), None);
    check("UpdateItem", &update(whole, "SHIPPED", None), Some("lacks the pattern's condition on `status`"));
    check(
        "UpdateItem",
        &update(whole, "DELIVERED", Some("#s = :from")),
        Some("sets status to SHIPPED alone"),
    );
    let further = "SET #s = :to, shippedAt = :at, note = :at REMOVE openPK, openSK";
    check("UpdateItem", &update(further, "SHIPPED", Some("#s = :from")), Some("it also changes `note`"));
    let repeated = "SET #s = :to, shippedAt = :at, orderId = :to REMOVE openPK, openSK";
    check("UpdateItem", &update(repeated, "SHIPPED", Some("#s = :from")), None);
    let stale = "SET area = :to";
    check("UpdateItem", &update(stale, "eu", None), Some("changes `area` and leaves `openPK` as it was"));
}

#[test]
fn what_can_not_be_compared_is_refused_and_other_operations_pass() {
    check("ExecuteStatement", &json!({ "Statement": "SELECT * FROM shop" }), Some("it is PartiQL"));
    let legacy = json!({ "TableName": "shop", "KeyConditions": {} });
    check("Query", &legacy, Some("expressions have replaced"));
    check(
        "GetItem",
        &json!({ "TableName": "other", "Key": { "id": { "S": "1" } } }),
        Some("the models have `shop` alone"),
    );
    check("DescribeTable", &json!({ "TableName": "other" }), None);
    check("ListTables", &json!({}), None);
    // The database has its own words for what is malformed.
    let broken = json!({ "TableName": "shop", "KeyConditionExpression": "PK =" });
    assert_eq!(rules(&findings(&shop(), "Query", &broken)), [""; 0]);
}
