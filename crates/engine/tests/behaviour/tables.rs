use serde_json::{Value, json};

use crate::database::on_every_store;

on_every_store! {
    async fn a_new_table_is_described(database) {
        database.with_table("Table").await;
        let mut table = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(table["TableStatus"], "ACTIVE");
        assert_eq!(table["TableArn"], "arn:aws:dynamodb:us-east-1:123456789012:table/Table");
        assert_eq!(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
        assert_eq!(table["KeySchema"][1].take(), json!({"AttributeName": "s", "KeyType": "RANGE"}));
        assert_eq!(table["DeletionProtectionEnabled"], false);
        assert_eq!(table["CreationDateTime"], 1_800_000_000.0);
    }

    async fn a_name_is_taken_once(database) {
        database.with_table("Table").await;
        let again = json!({
            "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST",
        });
        database.refused("CreateTable", again, "ResourceInUseException", "Table already exists: Table").await;
    }

    async fn a_deleted_table_is_gone_and_its_name_free_and_empty(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await;
        let answer = database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        assert_eq!(answer["TableDescription"]["TableStatus"], "DELETING");
        database.refused("DescribeTable", json!({"TableName": "Table"}), "ResourceNotFoundException",
            "Requested resource not found: Table: Table not found").await;
        database.with_table("Table").await;
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await, Value::Null);
    }

    async fn a_protected_table_can_not_be_deleted(database) {
        database.with_table("Table").await.ok("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": true})).await;
        database.refused("DeleteTable", json!({"TableName": "Table"}), "ValidationException",
            "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.").await;
        database.ok("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": false})).await;
        database.ok("DeleteTable", json!({"TableName": "Table"})).await;
    }

    async fn names_are_listed_in_order_by_pages(database) {
        for name in ["ccc", "aaa", "bbb"] {
            database.with_table(name).await;
        }
        let first = database.ok("ListTables", json!({"Limit": 2})).await;
        assert_eq!(first, json!({"TableNames": ["aaa", "bbb"], "LastEvaluatedTableName": "bbb"}));
        let rest = database.ok("ListTables", json!({"ExclusiveStartTableName": "bbb"})).await;
        assert_eq!(rest, json!({"TableNames": ["ccc"]}));
    }

    async fn billing_can_be_switched_and_throughput_changed(database) {
        database.with_table("Table").await;
        database.ok("UpdateTable", json!({
            "TableName": "Table", "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        })).await;
        let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(table["BillingModeSummary"]["BillingMode"], "PROVISIONED");
        assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 6);
        database.ok("UpdateTable", json!({"TableName": "Table", "BillingMode": "PAY_PER_REQUEST"})).await;
        let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 0);
    }
}
