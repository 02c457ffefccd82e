use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const INVALID: &str = "One or more parameter values were invalid: ";

/// A table with an index, both with what `table` and `index` add.
async fn with_settings(database: &Database, table: Value, index: Value) -> Result<Value, String> {
    let mut input = json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Index", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    input.as_object_mut().unwrap().extend(table.as_object().unwrap().clone());
    input["GlobalSecondaryIndexes"][0].as_object_mut().unwrap().extend(index.as_object().unwrap().clone());
    database.call("CreateTable", input).await.map_err(|failure| failure.message)
}

async fn described(database: &Database) -> Value {
    database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take()
}

fn with_name(mut change: Value) -> Value {
    change["TableName"] = json!("Table");
    change
}

async fn update(database: &Database, change: Value) {
    database.ok("UpdateTable", with_name(change)).await;
}

async fn refused(database: &Database, change: Value, message: &str) {
    let message = format!("{INVALID}{message}");
    database.refused("UpdateTable", with_name(change), "ValidationException", &message).await;
}

fn of_index(change: Value) -> Value {
    let mut update = change;
    update["IndexName"] = json!("Index");
    json!({"GlobalSecondaryIndexUpdates": [{"Update": update}]})
}

on_every_store! {
    async fn caps_of_on_demand_throughput_are_set_one_by_one_and_taken_away(database) {
        let cap = |read: i64, write: i64| json!({"OnDemandThroughput": {"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write}});
        with_settings(database, cap(20, 15), cap(7, 8)).await.unwrap();
        update(database, json!({"OnDemandThroughput": {"MaxReadRequestUnits": 40}})).await;
        assert_eq!(described(database).await["OnDemandThroughput"], cap(40, 15)["OnDemandThroughput"]);
        update(database, json!({"OnDemandThroughput": {"MaxWriteRequestUnits": -1}})).await;
        assert_eq!(described(database).await["OnDemandThroughput"], json!({"MaxReadRequestUnits": 40}));
        refused(database, json!({"OnDemandThroughput": {"MaxWriteRequestUnits": 0}}),
            "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range").await;
        update(database, of_index(json!({"OnDemandThroughput": {"MaxReadRequestUnits": 9}}))).await;
        assert_eq!(described(database).await["GlobalSecondaryIndexes"][0]["OnDemandThroughput"], cap(9, 8)["OnDemandThroughput"]);
    }

    async fn caps_are_not_for_provisioned_tables(database) {
        let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
        let provisioned = |cap: Value| json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "OnDemandThroughput": cap});
        let index = json!({"ProvisionedThroughput": units});
        let message = with_settings(database, provisioned(json!({"MaxReadRequestUnits": 1})), index.clone()).await.unwrap_err();
        assert_eq!(message, format!("{INVALID}MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."));
        with_settings(database, provisioned(Value::Null), index).await.unwrap();
        refused(database, json!({"OnDemandThroughput": {"MaxWriteRequestUnits": 1}}),
            "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED").await;
    }

    async fn indexes_are_billed_as_their_table_is(database) {
        with_settings(database, json!({"OnDemandThroughput": {"MaxReadRequestUnits": 20}}), json!({})).await.unwrap();
        let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 6});
        let mut switch = json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units});
        refused(database, switch.clone(), "ProvisionedThroughput is not specified for index: Index").await;
        switch["GlobalSecondaryIndexUpdates"] = of_index(json!({"ProvisionedThroughput": units}))["GlobalSecondaryIndexUpdates"].take();
        update(database, switch).await;
        let table = described(database).await;
        assert_eq!(table["OnDemandThroughput"], Value::Null);
        assert_eq!(table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"], 6);
        let again = with_name(of_index(json!({"ProvisionedThroughput": units})));
        let message = database.call("UpdateTable", again).await.unwrap_err().message;
        assert!(message.starts_with("The provisioned throughput for the index Index will not change."), "{message}");
        update(database, json!({"BillingMode": "PAY_PER_REQUEST"})).await;
        assert_eq!(described(database).await["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"], 0);
        refused(database, of_index(json!({"ProvisionedThroughput": units})),
            "ProvisionedThroughput should not be specified for index: Index when BillingMode is PAY_PER_REQUEST").await;
    }

    async fn warm_throughput_can_be_raised_and_not_lowered(database) {
        let warm = |read: i64, write: i64| json!({"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": "ACTIVE"});
        with_settings(database, json!({}), json!({"WarmThroughput": {"WriteUnitsPerSecond": 5000}})).await.unwrap();
        let table = described(database).await;
        assert_eq!(table["WarmThroughput"], warm(12000, 4000));
        assert_eq!(table["GlobalSecondaryIndexes"][0]["WarmThroughput"], warm(12000, 5000));
        update(database, json!({"WarmThroughput": {"ReadUnitsPerSecond": 13000}})).await;
        update(database, of_index(json!({"WarmThroughput": {"WriteUnitsPerSecond": 6000}}))).await;
        let table = described(database).await;
        assert_eq!(table["WarmThroughput"], warm(13000, 4000));
        assert_eq!(table["GlobalSecondaryIndexes"][0]["WarmThroughput"], warm(12000, 6000));
        refused(database, json!({"WarmThroughput": {"ReadUnitsPerSecond": 12999}}),
            "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, decreasing WarmThroughput is not supported").await;
    }

    async fn a_table_shows_the_key_it_is_said_to_be_encrypted_with(database) {
        with_settings(database, json!({"SSESpecification": {"Enabled": false}}), json!({})).await.unwrap();
        assert_eq!(described(database).await["SSEDescription"], Value::Null);
        let own = "arn:aws:kms:eu-west-1:123456789012:key/1";
        for (specification, key) in [
            (json!({"Enabled": true}), "arn:aws:kms:us-east-1:123456789012:alias/aws/dynamodb"),
            (json!({"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"}), "arn:aws:kms:us-east-1:123456789012:alias/mine"),
            (json!({"Enabled": true, "KMSMasterKeyId": "77"}), "arn:aws:kms:us-east-1:123456789012:key/77"),
            (json!({"Enabled": true, "KMSMasterKeyId": own}), own),
        ] {
            update(database, json!({"SSESpecification": specification})).await;
            assert_eq!(described(database).await["SSEDescription"], json!({"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}));
        }
        update(database, json!({"SSESpecification": {"Enabled": false}})).await;
        assert_eq!(described(database).await["SSEDescription"], Value::Null);
        refused(database, json!({"SSESpecification": {"Enabled": true, "SSEType": "AES256"}}), "SSEType AES256 is not supported").await;
    }

    async fn what_is_not_served_yet_is_refused(database) {
        let message = |member: &str| format!("Lodestone does not serve {member} yet. Leave it out of the request.");
        let source = json!({"GlobalTableSourceArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/Table"});
        assert_eq!(with_settings(database, source, json!({})).await.unwrap_err(), message("GlobalTableSourceArn"));
        with_settings(database, json!({}), json!({})).await.unwrap();
        let strong = json!({
            "ReplicaUpdates": [
                {"Create": {"RegionName": "us-east-2", "TableClassOverride": "STANDARD_INFREQUENT_ACCESS"}},
                {"Create": {"RegionName": "us-west-2"}},
            ],
            "MultiRegionConsistency": "STRONG",
        });
        let message = message("TableClassOverride with STRONG");
        database.refused("UpdateTable", with_name(strong), "ValidationException", &message).await;
        assert_eq!(described(database).await["TableStatus"], "ACTIVE");
    }

    async fn a_table_changes_its_class(database) {
        with_settings(database, json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}), json!({})).await.unwrap();
        assert_eq!(described(database).await["TableClassSummary"], json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}));
        update(database, json!({"TableClass": "STANDARD"})).await;
        assert_eq!(described(database).await["TableClassSummary"], json!({"TableClass": "STANDARD", "LastUpdateDateTime": 1_800_000_000}));
    }

    async fn limits_endpoints_and_backups_are_described(database) {
        assert_eq!(database.ok("DescribeLimits", json!({})).await, json!({
            "AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
            "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000,
        }));
        assert_eq!(database.ok("DescribeEndpoints", json!({})).await, json!({
            "Endpoints": [{"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440}],
        }));
        let name = json!({"TableName": "Table"});
        database.refused("DescribeContinuousBackups", name.clone(), "TableNotFoundException", "Table not found: Table").await;
        database.with_table("Table").await;
        assert_eq!(database.ok("DescribeContinuousBackups", name).await, json!({"ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }}));
    }
}
