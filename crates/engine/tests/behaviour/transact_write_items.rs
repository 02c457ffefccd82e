use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::fault::{Fault, FaultStore};

use crate::database::{Database, Failure, on_every_store};
use crate::support::until;

const TEN_MINUTES_MS: u64 = 600_000;
/// Where the engine keeps them.
const TOKEN_SPACES: RangeInclusive<u64> = 2..=4;
const CANCELED: &str = "TransactionCanceledException";

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

fn account(p: &str, balance: i64) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}, "balance": {"N": balance.to_string()}})
}

fn put(item: Value) -> Value {
    json!({"Put": {"TableName": "Table", "Item": item}})
}

fn put_if(item: Value, condition: &str) -> Value {
    json!({"Put": {"TableName": "Table", "Item": item, "ConditionExpression": condition}})
}

fn delete(p: &str) -> Value {
    json!({"Delete": {"TableName": "Table", "Key": key(p)}})
}

fn check(p: &str, condition: &str) -> Value {
    json!({"ConditionCheck": {"TableName": "Table", "Key": key(p), "ConditionExpression": condition}})
}

fn update(p: &str, expression: &str, value: Value) -> Value {
    json!({"Update": {
        "TableName": "Table", "Key": key(p), "UpdateExpression": expression, "ExpressionAttributeValues": {":v": value},
    }})
}

async fn write(database: &Database, actions: Value) -> Value {
    database.ok("TransactWriteItems", json!({"TransactItems": actions})).await
}

async fn failure(database: &Database, actions: Value) -> Failure {
    database.call("TransactWriteItems", json!({"TransactItems": actions})).await.unwrap_err()
}

async fn refused(database: &Database, actions: Value, message: &str) {
    let failure = failure(database, actions).await;
    assert_eq!((failure.name.as_str(), failure.message.as_str()), ("ValidationException", message));
}

/// The transaction must be cancelled for these reasons.
async fn canceled(database: &Database, actions: Value, reasons: Value) {
    let failure = failure(database, actions.clone()).await;
    let codes: Vec<&str> =
        reasons.as_array().unwrap().iter().map(|reason| reason["Code"].as_str().unwrap()).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    assert_eq!((failure.name.as_str(), &failure.message), (CANCELED, &message), "{actions}");
    assert_eq!(failure.reasons, reasons, "{actions}");
}

fn none() -> Value {
    json!({"Code": "None"})
}

fn condition_failed() -> Value {
    json!({"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"})
}

fn conflict() -> Value {
    json!({"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"})
}

fn invalid(message: &str) -> Value {
    json!({"Code": "ValidationError", "Message": message})
}

async fn count(database: &Database) -> Value {
    database.ok("Scan", json!({"TableName": "Table"})).await["Count"].take()
}

/// Time leaps here, and another server clears a moment later.
mod one_server {
    use super::*;

    on_every_store! { one server {
        async fn old_tokens_are_forgotten_and_cleared(database) {
            database.with_table("Table").await.put(account("a", 0)).await;
            let add = |token: i64| json!({
                "ClientRequestToken": token.to_string(),
                "TransactItems": [update("a", "SET balance = balance + :v", json!({"N": "1"}))],
            });
            // Two hours, in steps that end everywhere between two edges of ten minutes.
            for token in 0..18 {
                database.ok("TransactWriteItems", add(token)).await;
                database.pass_ms(TEN_MINUTES_MS * 2 / 3);
                database.ok("TransactWriteItems", add(token)).await;
                assert_eq!(database.get(key("a")).await, account("a", token + 1));
            }
            // The last twenty minutes have three tokens; what is older is cleared in the background.
            until("old tokens are cleared", async || database.count_rows(TOKEN_SPACES).await <= 3).await;
        }
    }}
}

on_every_store! { two servers {
    async fn all_actions_happen_together(database) {
        database.with_table("Table").await.with_table("Other").await.put(account("old", 5)).await;
        database.put(account("rich", 100)).await;
        let answer = write(database, json!([
            put(account("new", 1)),
            delete("old"),
            delete("missing"),
            update("rich", "SET balance = balance - :v", json!({"N": "30"})),
            update("made", "SET balance = :v", json!({"N": "7"})),
            check("absent", "attribute_not_exists(p)"),
            {"Put": {"TableName": "Other", "Item": account("new", 1)}},
        ])).await;
        assert_eq!(answer, json!({}));
        assert_eq!(database.get(key("new")).await, account("new", 1));
        assert_eq!(database.get(key("old")).await, Value::Null);
        assert_eq!(database.get(key("rich")).await, account("rich", 70));
        assert_eq!(database.get(key("made")).await, account("made", 7));
        assert_eq!(database.get(key("absent")).await, Value::Null);
        assert_eq!(database.ok("Scan", json!({"TableName": "Other"})).await["Count"], 1);
    }

    async fn every_failed_condition_is_reported_in_order_and_nothing_happens(database) {
        database.with_table("Table").await.put(account("a", 5)).await;
        let shown = json!({"Delete": {
            "TableName": "Table", "Key": key("a"), "ConditionExpression": "balance > :v",
            "ExpressionAttributeValues": {":v": {"N": "9"}}, "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }});
        let mut with_item = condition_failed();
        with_item["Item"] = account("a", 5);
        canceled(
            database,
            json!([put(account("b", 1)), shown, check("c", "attribute_exists(p)"), put_if(account("d", 1), "attribute_not_exists(p)")]),
            json!([none(), with_item, condition_failed(), none()]),
        ).await;
        assert_eq!(count(database).await, 1);
    }

    async fn actions_that_do_not_fit_cancel_with_the_first_fault(database) {
        database.with_table("Table").await.put(account("a", 5)).await;
        let type_mismatch = invalid("One or more parameter values were invalid: Type mismatch for key p expected: S actual: N");
        let wrong = put(json!({"p": {"N": "7"}, "s": {"S": "1"}}));
        canceled(database, json!([wrong]), json!([type_mismatch])).await;
        canceled(
            database,
            json!([put(account("b", 1)), wrong, wrong, put_if(account("c", 1), "attribute_exists(p)")]),
            json!([none(), type_mismatch, none(), none()]),
        ).await;
        let schema = "The provided key element does not match the schema";
        for (action, message) in [
            (put(json!({"p": {"S": "a"}})), "One or more parameter values were invalid: Missing the key s in the item"),
            (json!({"Delete": {"TableName": "Table", "Key": {"p": {"S": "a"}}}}), schema),
            (json!({"Delete": {"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"L": []}}}}), schema),
            (update("a", "SET s = :v", json!({"S": "x"})),
             "One or more parameter values were invalid: Cannot update attribute s. This attribute is part of the key"),
            (update("a", "SET balance = p + :v", json!({"N": "1"})),
             "An operand in the update expression has an incorrect data type"),
            (update("a", "SET x.y = :v", json!({"S": "x"})),
             "The document path provided in the update expression is invalid for update"),
        ] {
            let actions = json!([check("c", "attribute_exists(p)"), action]);
            canceled(database, actions, json!([none(), invalid(message)])).await;
        }
        assert_eq!(count(database).await, 1);
    }

    async fn requests_without_sense_are_refused_as_a_whole(database) {
        database.with_table("Table").await;
        let one = put(account("a", 1));
        refused(database, json!([]), "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1").await;
        let many: Vec<Value> = (0..101).map(|n| put(account(&n.to_string(), 1))).collect();
        refused(database, json!(many), "1 validation error detected: Value '[...]' at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100").await;
        refused(database, json!([one, {}]), "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request").await;
        refused(database, json!([{"Put": one["Put"], "Delete": delete("b")["Delete"]}]), "TransactItems can only contain one of Check, Put, Update or Delete").await;
        let same = "Transaction request cannot include multiple operations on one item";
        refused(database, json!([one, one]), same).await;
        refused(database, json!([one, check("a", "attribute_exists(p)")]), same).await;
        refused(database, json!([{"Update": {"TableName": "a", "Key": key("a"), "UpdateExpression": "REMOVE x"}}]),
            "1 validation error detected: Value 'a' at 'transactItems.1.member.update.tableName' failed to satisfy constraint: Member must have length greater than or equal to 3").await;
        refused(database, json!([{"ConditionCheck": {"TableName": "Table", "Key": key("a")}}]),
            "1 validation error detected: Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must not be null").await;
        refused(database, json!([one, put_if(account("b", 1), "hello!")]),
            "Invalid ConditionExpression: Syntax error; token: \"!\", near: \"hello!\"").await;
        refused(database, json!([put_if(account("b", 1), "p = :x")]),
            "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :x").await;
        refused(database, json!([{"Put": {"TableName": "Table", "Item": account("b", 1), "ConditionExpression": "attribute_exists(p)", "ExpressionAttributeNames": {"#x": "x"}}}]),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}").await;
        refused(database, json!([{"Put": {"TableName": "Table", "Item": account("b", 1), "ExpressionAttributeNames": {"#x": "x"}}}]),
            "ExpressionAttributeNames can only be specified when using expressions").await;
        refused(database, json!([one, put(json!({"p": {"S": ""}, "s": {"S": "1"}}))]),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p").await;
        refused(database, json!([put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"NS": []}}))]),
            "One or more parameter values were invalid: An number set  may not be empty").await;
        refused(database, json!([put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"S": "x".repeat(409_600)}}))]),
            "Item size has exceeded the maximum allowed size").await;
        let large: Vec<Value> = (0..42).map(|n| put(json!({"p": {"S": n.to_string()}, "s": {"S": "1"}, "x": {"S": "x".repeat(100_000)}}))).collect();
        refused(database, json!(large), "Transaction request size cannot exceed 4194304 bytes").await;
        let failure = failure(database, json!([one, {"Delete": {"TableName": "Nowhere", "Key": key("a")}}])).await;
        assert_eq!((failure.name.as_str(), failure.message.as_str()), ("ResourceNotFoundException", "Requested resource not found"));
        assert_eq!(count(database).await, 0);
    }

    async fn a_hundred_items_fit(database) {
        database.with_table("Table").await;
        let actions: Vec<Value> = (0..100).map(|n| put(account(&n.to_string(), n))).collect();
        write(database, json!(actions)).await;
        assert_eq!(count(database).await, 100);
    }

    async fn only_what_the_request_brings_counts_as_its_size(database) {
        database.with_table("Table").await;
        let name = |n: i32| format!("{n:02}");
        for n in 0..45 {
            database.put(json!({"p": {"S": name(n)}, "s": {"S": "1"}, "x": {"S": "x".repeat(100_000)}})).await;
        }
        write(database, json!((0..45).map(|n| delete(&name(n))).collect::<Vec<_>>())).await;
        assert_eq!(count(database).await, 0);
    }

    async fn the_table_is_charged_twice_its_indexes_once(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
                {"AttributeName": "g", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "byG", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            }],
        })).await;
        database.with_table("Other").await;
        let long = json!({"p": {"S": "a"}, "s": {"S": "1"}, "g": {"S": "g"}, "x": {"S": "x".repeat(1500)}});
        let answer = database.ok("TransactWriteItems", json!({
            "ReturnConsumedCapacity": "INDEXES",
            "TransactItems": [
                put(long), check("b", "attribute_not_exists(p)"),
                {"Delete": {"TableName": "Other", "Key": key("c")}},
            ],
        })).await;
        let mut consumed = answer["ConsumedCapacity"].as_array().unwrap().clone();
        consumed.sort_by_key(|table| table["TableName"].to_string());
        let units = |units: f64| json!({"CapacityUnits": units, "WriteCapacityUnits": units});
        assert_eq!(consumed, [
            json!({"TableName": "Other", "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0, "Table": units(2.0)}),
            json!({
                "TableName": "Table", "CapacityUnits": 8.0, "WriteCapacityUnits": 8.0, "Table": units(6.0),
                "GlobalSecondaryIndexes": {"byG": units(2.0)},
            }),
        ]);
        // A wrong key of an index is the action's fault.
        canceled(
            database, json!([put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "g": {"N": "1"}}))]),
            json!([invalid("One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: byG")]),
        ).await;
    }

    async fn a_repeated_request_has_no_further_effect(database) {
        database.with_table("Table").await.put(account("a", 1)).await;
        let add = |value: &str, capacity: &str| json!({
            "ClientRequestToken": "token", "ReturnConsumedCapacity": capacity,
            "TransactItems": [update("a", "SET balance = balance + :v", json!({"N": value}))],
        });
        let first = database.ok("TransactWriteItems", add("1", "TOTAL")).await;
        assert_eq!(first["ConsumedCapacity"], json!([{"TableName": "Table", "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}]));
        let second = database.ok("TransactWriteItems", add("1", "TOTAL")).await;
        assert_eq!(second["ConsumedCapacity"], json!([{"TableName": "Table", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]));
        assert_eq!(database.get(key("a")).await, account("a", 2));
        // What is only to be reported is no parameter.
        database.ok("TransactWriteItems", add("1", "NONE")).await;
        let mismatch = database.call("TransactWriteItems", add("2", "TOTAL")).await.unwrap_err();
        assert_eq!(mismatch.name, "IdempotentParameterMismatchException");

        // The token outlives a restart, but not its ten minutes.
        let reopened = database.reopened().await;
        reopened.pass_ms(TEN_MINUTES_MS - 1);
        reopened.ok("TransactWriteItems", add("1", "NONE")).await;
        assert_eq!(reopened.get(key("a")).await, account("a", 2));
        reopened.pass_ms(1);
        reopened.ok("TransactWriteItems", add("1", "NONE")).await;
        assert_eq!(reopened.get(key("a")).await, account("a", 3));
    }


    async fn a_canceled_request_may_be_sent_again(database) {
        database.with_table("Table").await;
        let request = json!({
            "ClientRequestToken": "token", "TransactItems": [check("b", "attribute_exists(p)"), put(account("a", 1))],
        });
        assert_eq!(database.call("TransactWriteItems", request.clone()).await.unwrap_err().name, CANCELED);
        database.put(account("b", 1)).await;
        database.ok("TransactWriteItems", request).await;
        assert_eq!(database.get(key("a")).await, account("a", 1));
    }
}}

/// A database whose next write takes a while. What runs beside it meets it under way.
async fn slow(database: &Database) -> Database {
    let delay = Some(Fault::Delay(Duration::from_millis(20)));
    database.reopened_on(|store| Arc::new(FaultStore::scripted(store, [delay]))).await
}

#[tokio::test(start_paused = true)]
async fn a_write_that_meets_a_transaction_gets_a_conflict() {
    let database = &Database::in_memory().await;
    database.with_table("Table").await.put(account("a", 1)).await;
    let slow = &slow(database).await;
    let request = |token: &str| json!({"ClientRequestToken": token, "TransactItems": [put(account("a", 2)), delete("b")]});
    // The first is polled first: when the second runs, it holds its items.
    tokio::join!(async { slow.ok("TransactWriteItems", request("first")).await }, async {
        for (operation, input) in [
            ("PutItem", json!({"TableName": "Table", "Item": account("a", 3)})),
            ("DeleteItem", json!({"TableName": "Table", "Key": key("b")})),
            (
                "BatchWriteItem",
                json!({"RequestItems": {"Table": [{"PutRequest": {"Item": account("a", 3)}}]}}),
            ),
        ] {
            let met = slow.call(operation, input).await.unwrap_err();
            assert_eq!(
                (met.name.as_str(), met.message.as_str()),
                ("TransactionConflictException", "Transaction is ongoing for the item")
            );
        }
        canceled(
            slow,
            json!([put(account("c", 1)), check("b", "attribute_exists(p)")]),
            json!([none(), conflict()]),
        )
        .await;
        let read = json!({"TransactItems": [{"Get": {"TableName": "Table", "Key": key("a")}}]});
        let met = slow.call("TransactGetItems", read).await.unwrap_err();
        assert_eq!((met.name.as_str(), met.reasons), (CANCELED, json!([conflict()])));
        let met = slow.call("TransactWriteItems", request("first")).await.unwrap_err();
        assert_eq!(met.name, "TransactionInProgressException");
        // Others are left alone, and so are simple reads.
        assert_eq!(slow.get(key("a")).await, account("a", 1));
        let batch = json!({"Table": [{"PutRequest": {"Item": account("a", 3)}}, {"PutRequest": {"Item": account("d", 3)}}]});
        let part = slow.ok("BatchWriteItem", json!({"RequestItems": batch})).await;
        assert_eq!(part["UnprocessedItems"], json!({"Table": [{"PutRequest": {"Item": account("a", 3)}}]}));
    });
    assert_eq!(database.get(key("a")).await, account("a", 2));
    // Afterwards nothing is held any more.
    slow.put(account("a", 9)).await;
    slow.ok("TransactWriteItems", request("first")).await;
    assert_eq!(database.get(key("a")).await, account("a", 9));
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_is_not_carried_out_twice() {
    let database = &Database::in_memory().await;
    database.with_table("Table").await.put(account("a", 1)).await;
    let lost = [Some(Fault::BeforeCommit), Some(Fault::AfterCommit)];
    let failing = &database.reopened_on(|store| Arc::new(FaultStore::scripted(store, lost))).await;
    let request = json!({
        "ClientRequestToken": "token",
        "TransactItems": [update("a", "SET balance = balance + :v", json!({"N": "1"}))],
    });
    for _ in 0..2 {
        let failure = failing.call("TransactWriteItems", request.clone()).await.unwrap_err();
        assert_eq!(failure.name, "InternalServerError");
    }
    failing.ok("TransactWriteItems", request).await;
    assert_eq!(database.get(key("a")).await, account("a", 2));
}
