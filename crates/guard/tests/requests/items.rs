//! What is stored, against the entity that it is.

use serde_json::{Value, json};

use crate::support::{findings, guard, texts};

fn order(change: impl FnOnce(&mut Value)) -> String {
    let shop = guard("shop.yaml", include_str!("shop.yaml"));
    let mut item = json!({
        "PK": { "S": "CUST#1" }, "SK": { "S": "ORDER#2026-01-01#o1" },
        "customerId": { "S": "1" }, "createdAt": { "S": "2026-01-01" }, "orderId": { "S": "o1" },
        "area": { "S": "eu" }, "status": { "S": "OPEN" }, "total": { "N": "10" },
        "openPK": { "S": "OPEN#eu" }, "openSK": { "S": "2026-01-01#o1" },
    });
    change(&mut item);
    let customer = json!({ "PK": { "S": "CUST#1" }, "SK": { "S": "PROFILE" } });
    let input = json!({ "TransactItems": [
        { "ConditionCheck": { "TableName": "shop", "Key": customer, "ConditionExpression": "attribute_exists(PK)" } },
        { "Put": { "TableName": "shop", "Item": item, "ConditionExpression": "attribute_not_exists(PK)" } },
    ] });
    texts(&findings(&shop, "TransactWriteItems", &input))
}

fn remove(name: &str) -> impl FnOnce(&mut Value) {
    move |item| drop(item.as_object_mut().unwrap().remove(name))
}

fn set(name: &str, value: Value) -> impl FnOnce(&mut Value) {
    move |item| item[name] = value
}

fn check(change: impl FnOnce(&mut Value), expected: &str) {
    let text = order(change);
    assert!(text.contains(expected), "{text}");
}

#[test]
fn an_item_as_the_model_says_passes() {
    assert_eq!(order(|_| ()), "");
    assert_eq!(order(set("note", json!({ "S": "a gift" }))), "");
    assert_eq!(order(set("note", json!({ "NULL": true }))), "", "an optional attribute may be NULL");
    assert_eq!(order(set("further", json!({ "N": "1" }))), "", "what the model does not name may be there");
    assert_eq!(order(remove("customerId")), "", "the key has it");
}

#[test]
fn each_fault_of_an_item_is_named() {
    check(remove("total"), "Order is stored without `total`");
    check(set("total", json!({ "S": "10" })), "`total` of Order is S, and N in the model");
    check(set("orderId", json!({ "S": "o2" })), "its attributes give ORDER#2026-01-01#o2");
    check(
        set("openPK", json!({ "S": "OPEN#us" })),
        "`openPK` of Order is OPEN#us, but its attributes give OPEN#eu",
    );
    check(remove("openSK"), "lacks `openSK`, so index `byStatus` does not have it");
    check(set("status", json!({ "S": "LOST" })), "`status` of Order is LOST");
}

#[test]
fn an_item_that_does_not_belong_into_an_index_has_no_key_of_it() {
    let text = order(set("status", json!({ "S": "SHIPPED" })));
    assert!(text.contains("only items with status = OPEN belong into index `byStatus`"), "{text}");
}

#[test]
fn a_key_of_no_entity_is_shown_with_the_templates() {
    let text = order(set("SK", json!({ "S": "ODER#2026-01-01#o1" })));
    assert!(text.contains("no entity has a key like CUST#1, ODER#2026-01-01#o1"), "{text}");
    assert!(text.contains("Order (CUST#{customerId}, ORDER#{createdAt}#{orderId})"), "{text}");
}
