//! An edit is shown as the write that makes it: request, condition, units of the table and of every index, which are
//! those that the engine charges. An edit that would be refused is shown with the reason.

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Desk, desk, order};

async fn plan(desk: &Desk, changes: Value) -> Value {
    desk.ask("change", &json!({ "table": "app", "changes": changes })).await
}

/// Writes what was planned and holds the units against what was charged.
async fn write(desk: &Desk, plan: &Value) -> Value {
    let operation = plan["operation"].as_str().expect("an operation");
    let answer = desk.ask(&format!("call/{operation}"), &plan["input"]).await;
    let consumed = match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().filter_map(|one| one["CapacityUnits"].as_f64()).sum(),
        one => one["CapacityUnits"].as_f64().unwrap_or(0.0),
    };
    assert_eq!((&plan["total"], &plan["refusal"]), (&json!(consumed), &Value::Null), "{answer}");
    answer
}

fn units<'a>(plan: &'a Value, name: &str) -> (&'a Value, &'a Value) {
    let parts = plan["parts"].as_array().expect("parts");
    let part = parts.iter().find(|part| part["name"] == name).unwrap_or(&Value::Null);
    (&part["units"], &part["what"])
}

fn changed(mut item: Value, name: &str, value: Value) -> Value {
    item[name] = value;
    item
}

#[tokio::test]
async fn a_changed_attribute_is_one_update_on_the_condition_that_it_is_as_it_was_read() {
    let desk = desk().await.with_orders().await;
    let shipped = changed(order(1, "OPEN"), "status", json!({ "S": "SHIPPED" }));
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": shipped }])).await;
    assert_eq!(plan["operation"], "UpdateItem");
    assert_eq!(plan["input"]["UpdateExpression"], "SET #status = :status");
    assert_eq!(plan["condition"][0], "attribute_exists(PK) AND #status = :was_status");
    assert_eq!(units(&plan, "app"), (&json!(1.0), &json!([])));
    assert_eq!(units(&plan, "byStatus"), (&json!(2.0), &json!(["delete and put"])));
    assert_eq!(units(&plan, "open"), (&Value::Null, &Value::Null));
    write(&desk, &plan).await;
    assert_eq!(desk.item(&json!({ "PK": { "S": "CUST#a" }, "SK": { "S": "ORDER#1" } })).await, shipped);
}

#[tokio::test]
async fn a_removed_index_key_takes_the_item_out_of_the_index() {
    let desk = desk().await.with_orders().await;
    let mut closed = order(1, "OPEN");
    closed.as_object_mut().expect("an item").remove("open");
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": closed }])).await;
    assert_eq!(plan["input"]["UpdateExpression"], "REMOVE #open");
    assert_eq!(units(&plan, "open"), (&json!(1.0), &json!(["delete"])));
    assert_eq!(units(&plan, "byStatus"), (&Value::Null, &Value::Null));
    write(&desk, &plan).await;
}

#[tokio::test]
async fn a_new_item_overwrites_nothing_and_a_deleted_one_is_the_one_that_was_read() {
    let desk = desk().await.with_orders().await;
    let added = plan(&desk, json!([{ "new": order(9, "OPEN") }])).await;
    assert_eq!(
        (&added["operation"], &added["condition"][0]),
        (&json!("PutItem"), &json!("attribute_not_exists(PK)"))
    );
    write(&desk, &added).await;
    let (status, answer) = desk.post("call/PutItem", &added["input"]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");

    let deleted = plan(&desk, json!([{ "old": order(9, "OPEN") }])).await;
    assert_eq!(deleted["operation"], "DeleteItem");
    write(&desk, &deleted).await;
}

#[tokio::test]
async fn a_changed_key_is_a_transaction_that_deletes_and_puts() {
    let desk = desk().await.with_orders().await;
    let moved = changed(order(1, "OPEN"), "SK", json!({ "S": "ORDER#77" }));
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": moved }])).await;
    assert_eq!(plan["operation"], "TransactWriteItems");
    assert_eq!(plan["input"]["TransactItems"].as_array().map(Vec::len), Some(2));
    write(&desk, &plan).await;
}

#[tokio::test]
async fn several_changes_are_one_transaction_and_all_or_nothing() {
    let desk = desk().await.with_orders().await;
    let raise = |number: u32| json!({ "old": order(number, "OPEN"), "new": changed(order(number, "OPEN"), "total", json!({ "N": "1" })) });
    let both = plan(&desk, json!([raise(1), raise(2)])).await;
    assert_eq!(both["operation"], "TransactWriteItems");
    write(&desk, &both).await;
    // The same once more: the items are no longer what was read.
    let (status, answer) = desk.post("call/TransactWriteItems", &both["input"]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["CancellationReasons"][0]["Code"], "ConditionalCheckFailed", "{answer}");
    assert_eq!(answer["CancellationReasons"][0]["Item"]["total"], json!({ "N": "1" }), "{answer}");
}

#[tokio::test]
async fn a_conflict_gives_back_what_somebody_else_has_written() {
    let desk = desk().await.with_orders().await;
    let mine = changed(order(1, "OPEN"), "total", json!({ "N": "1" }));
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": mine }])).await;
    let theirs = changed(order(1, "OPEN"), "total", json!({ "N": "2" }));
    desk.ask("call/PutItem", &json!({ "TableName": "app", "Item": theirs })).await;
    let (status, answer) = desk.post("call/UpdateItem", &plan["input"]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["Item"]["total"], json!({ "N": "2" }), "{answer}");
}

#[tokio::test]
async fn an_edit_of_an_item_that_is_not_what_was_read_shows_the_stored_one_before_it_is_written() {
    let desk = desk().await.with_orders().await;
    let mine = changed(order(1, "OPEN"), "total", json!({ "N": "1" }));
    let theirs = changed(order(1, "OPEN"), "total", json!({ "N": "2" }));
    desk.ask("call/PutItem", &json!({ "TableName": "app", "Item": theirs })).await;
    let one = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": mine }])).await;
    assert_eq!(
        (&one["operation"], &one["parts"], &one["total"]),
        (&json!("UpdateItem"), &json!([]), &json!(null))
    );
    let refusal = &one["refusal"];
    assert!(
        refusal["__type"].as_str().is_some_and(|name| name.ends_with("#ConditionalCheckFailedException"))
    );
    assert_eq!(refusal["Item"], theirs);

    let gone = json!({ "old": order(2, "OPEN") });
    let several = plan(&desk, json!([gone, { "old": order(1, "OPEN"), "new": mine }])).await;
    let reasons = &several["refusal"]["CancellationReasons"];
    assert_eq!((&reasons[0]["Code"], &reasons[1]["Item"]), (&json!("None"), &theirs));
    assert_eq!(desk.item(&json!({ "PK": { "S": "CUST#a" }, "SK": { "S": "ORDER#1" } })).await, theirs);
}

#[tokio::test]
async fn the_price_is_that_of_the_item_that_is_stored() {
    let desk = desk().await.with_orders().await;
    let grown = changed(order(1, "OPEN"), "remark", json!({ "S": "x".repeat(5000) }));
    desk.ask("call/PutItem", &json!({ "TableName": "app", "Item": grown })).await;
    let edited = changed(order(1, "OPEN"), "total", json!({ "N": "1" }));
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": edited }])).await;
    assert_eq!(units(&plan, "app").0, &json!(5.0), "{plan}");
    write(&desk, &plan).await;
}

#[tokio::test]
async fn an_edit_that_no_table_takes_has_the_reason_instead_of_a_price() {
    let desk = desk().await.with_orders().await;
    let mut without_sort_key = order(9, "OPEN");
    without_sort_key.as_object_mut().expect("an item").remove("SK");
    for new in [
        without_sort_key,
        changed(order(9, "OPEN"), "status", json!({ "N": "1" })),
        changed(order(9, "OPEN"), "remark", json!({ "S": "x".repeat(410_000) })),
    ] {
        let plan = plan(&desk, json!([{ "new": new }])).await;
        assert_eq!((&plan["total"], &plan["parts"]), (&Value::Null, &json!([])));
        assert!(plan["refusal"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{plan}");
    }
}

#[tokio::test]
async fn undo_is_the_same_change_the_other_way_round() {
    let desk = desk().await.with_orders().await;
    let shipped = changed(order(1, "OPEN"), "status", json!({ "S": "SHIPPED" }));
    let forward = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": shipped }])).await;
    write(&desk, &forward).await;
    let back = plan(&desk, json!([{ "old": shipped, "new": order(1, "OPEN") }])).await;
    write(&desk, &back).await;
    assert_eq!(
        desk.item(&json!({ "PK": { "S": "CUST#a" }, "SK": { "S": "ORDER#1" } })).await,
        order(1, "OPEN")
    );
}

#[tokio::test]
async fn numbers_keep_all_of_their_digits() {
    let desk = desk().await.with_orders().await;
    let digits = "1.2345678901234567890123456789012345678";
    let exact = changed(order(1, "OPEN"), "total", json!({ "N": digits }));
    let plan = plan(&desk, json!([{ "old": order(1, "OPEN"), "new": exact }])).await;
    assert_eq!(plan["items"][0]["new"]["total"], json!({ "N": digits }));
    write(&desk, &plan).await;
}

#[tokio::test]
async fn with_a_model_keys_and_version_follow_from_what_was_changed() {
    let desk = desk().await;
    let text = desk.example("order-management").await;
    desk.ask("model/apply", &json!({ "text": text, "samples": true })).await;
    let scan = desk
        .ask(
            "call/Scan",
            &json!({
                "TableName": "app-main", "FilterExpression": "begins_with(SK, :order) AND #s = :open",
                "ExpressionAttributeNames": { "#s": "status" },
                "ExpressionAttributeValues": { ":order": { "S": "ORDER#" }, ":open": { "S": "OPEN" } },
            }),
        )
        .await;
    let old = scan["Items"][0].clone();
    let new = changed(old.clone(), "status", json!({ "S": "SHIPPED" }));
    let changes = json!([{ "old": old, "new": new }]);
    let plan = desk.ask("change", &json!({ "table": "app-main", "model": text, "changes": changes })).await;
    let after = &plan["items"][0]["new"];
    assert!(after["GSI1PK"]["S"].as_str().is_some_and(|key| key.ends_with("#SHIPPED")), "{plan}");
    assert!(after.get("GSI2PK").is_none(), "{plan}");
    let version = |item: &Value| {
        item["version"]["N"].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a version")
    };
    assert_eq!(version(after), version(&old) + 1);
    assert_eq!(units(&plan, "GSI1").1, &json!(["delete and put"]));
    assert_eq!(units(&plan, "GSI2").1, &json!(["delete"]));
    write(&desk, &plan).await;
}

#[tokio::test]
async fn the_keys_of_a_new_item_follow_from_its_entity_and_a_typed_one_stays() {
    let desk = desk().await;
    let text = desk.example("order-management").await;
    desk.ask("model/apply", &json!({ "text": text })).await;
    let customer = json!({ "customerId": { "S": "c9" }, "name": { "S": "Ada" } });
    let changes = json!([{ "new": customer, "entity": "Customer" }]);
    let plan = desk.ask("change", &json!({ "table": "app-main", "model": text, "changes": changes })).await;
    assert_eq!(plan["items"][0]["new"]["PK"]["S"], "CUST#c9");
    assert_eq!(plan["items"][0]["new"]["SK"]["S"], "PROFILE");
    write(&desk, &plan).await;

    let other = changed(customer, "PK", json!({ "S": "CUST#other" }));
    let changes = json!([{ "new": other, "entity": "Customer" }]);
    let plan = desk.ask("change", &json!({ "table": "app-main", "model": text, "changes": changes })).await;
    assert_eq!(plan["items"][0]["new"]["PK"]["S"], "CUST#other");
    // Without an entity an item is what was typed: one that comes back after its deletion is what it was.
    let bare = json!({ "PK": { "S": "CUST#c8" }, "SK": { "S": "PROFILE" } });
    let plan = desk
        .ask("change", &json!({ "table": "app-main", "model": text, "changes": [{ "new": bare }] }))
        .await;
    assert_eq!(plan["items"][0]["new"], bare);
}

#[tokio::test]
async fn what_is_no_item_is_refused_with_the_reason() {
    let desk = desk().await.with_orders().await;
    for changes in
        [json!([]), json!([{}]), json!([{ "new": { "PK": { "N": "one" } } }]), json!([{ "new": 5 }])]
    {
        let (status, answer) = desk.post("change", &json!({ "table": "app", "changes": changes })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{changes}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    }
}
