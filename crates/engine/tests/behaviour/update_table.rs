use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

/// A table whose index has the sort key `x`, a string.
async fn with_index(database: &Database) {
    database.ok("CreateTable", json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "x", "AttributeType": "S"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "First", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "x", "KeyType": "RANGE"}],
        }],
    })).await;
}

/// Adds an index on `key`, with these definitions.
fn create(index: &str, key: &str, definitions: &[(&str, &str)]) -> Value {
    let definition = |(name, kind): &(&str, &str)| json!({"AttributeName": name, "AttributeType": kind});
    json!({
        "TableName": "Table", "AttributeDefinitions": definitions.iter().map(definition).collect::<Value>(),
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": index, "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    })
}

async fn definitions(database: &Database) -> Value {
    database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"]["AttributeDefinitions"].take()
}

on_every_store! {
    async fn the_type_of_another_indexs_key_can_not_be_redefined(database) {
        with_index(database).await;
        database.refused("UpdateTable", create("Second", "x", &[("x", "N")]), "ValidationException",
            "One or more parameter values were invalid: Attributes cannot be redefined. Please check that your attribute \
             has the same type as previously defined. Existing schema: Schema:[SchemaElement: key{x:S:RANGE}] \
             New schema: Schema:[SchemaElement: key{x:N:HASH}]").await;
        database.ok("UpdateTable", create("Second", "x", &[("x", "S")])).await;
        database.until("Second", Some("ACTIVE")).await;
    }

    async fn definitions_are_added_when_used_and_forgotten_when_not(database) {
        with_index(database).await;
        let before = definitions(database).await;
        database.ok("UpdateTable", create("Second", "y", &[("y", "N"), ("spurious", "S")])).await;
        database.until("Second", Some("ACTIVE")).await;
        let mut with_y = before.clone();
        with_y.as_array_mut().unwrap().push(json!({"AttributeName": "y", "AttributeType": "N"}));
        assert_eq!(definitions(database).await, with_y);
        database.ok("UpdateTable", json!({
            "TableName": "Table", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "Second"}}],
        })).await;
        database.until("Second", None).await;
        assert_eq!(definitions(database).await, before);
    }

    async fn a_new_indexs_key_must_be_defined_again(database) {
        with_index(database).await;
        database.refused("UpdateTable", create("Second", "x", &[]), "ValidationException",
            "One or more parameter values were invalid: Some index key attributes are not defined in \
             AttributeDefinitions. Keys: [x], AttributeDefinitions: []").await;
    }

    async fn names_of_indexes_are_taken_once(database) {
        with_index(database).await;
        let message = "Attempting to create an index which already exists: First";
        database.refused("UpdateTable", create("First", "y", &[("y", "S")]), "ValidationException", message).await;
    }
}
