use engine::Caller;
use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const OWN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";

/// Every operation that names a table, with this name or ARN.
fn requests(table: &str) -> Vec<(&'static str, Value)> {
    let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
    vec![
        ("DescribeTable", json!({"TableName": table})),
        ("UpdateTable", json!({"TableName": table, "DeletionProtectionEnabled": true})),
        ("DeleteTable", json!({"TableName": table})),
        ("DescribeTimeToLive", json!({"TableName": table})),
        (
            "UpdateTimeToLive",
            json!({"TableName": table, "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}}),
        ),
        ("DescribeContinuousBackups", json!({"TableName": table})),
        ("DescribeKinesisStreamingDestination", json!({"TableName": table})),
        ("DescribeContributorInsights", json!({"TableName": table})),
        ("UpdateContributorInsights", json!({"TableName": table, "ContributorInsightsAction": "ENABLE"})),
        ("ListContributorInsights", json!({"TableName": table})),
        ("TagResource", json!({"ResourceArn": table, "Tags": [{"Key": "a", "Value": "b"}]})),
        ("UntagResource", json!({"ResourceArn": table, "TagKeys": ["a"]})),
        ("ListTagsOfResource", json!({"ResourceArn": table})),
        ("GetItem", json!({"TableName": table, "Key": key})),
        ("PutItem", json!({"TableName": table, "Item": key})),
        ("UpdateItem", json!({"TableName": table, "Key": key})),
        ("DeleteItem", json!({"TableName": table, "Key": key})),
        (
            "Query",
            json!({"TableName": table, "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
        ),
        ("Scan", json!({"TableName": table})),
        ("BatchGetItem", json!({"RequestItems": {table: {"Keys": [key]}}})),
        ("BatchWriteItem", json!({"RequestItems": {table: [{"PutRequest": {"Item": key}}]}})),
        ("TransactGetItems", json!({"TransactItems": [{"Get": {"TableName": table, "Key": key}}]})),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": {"TableName": table, "Item": key}}]})),
    ]
}

async fn refused_everywhere(database: &Database, arn: &str, name: &str, message: &str) {
    for (operation, input) in requests(arn) {
        database.refused(operation, input, name, message).await;
    }
}

on_every_store! {
    async fn a_table_answers_to_its_own_arn(database) {
        database.with_table("Table").await;
        for (operation, input) in requests(OWN).into_iter().filter(|(operation, _)| *operation != "DeleteTable") {
            database.ok(operation, input).await;
        }
    }

    async fn an_arn_does_not_reach_the_table_of_another_account(database) {
        database.with_table("Table").await;
        let other = Caller::new("210987654321", "us-east-1");
        let create = json!({
            "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        database.call_as(&other, "CreateTable", create).await.unwrap();
        let theirs = OWN.replace("123456789012", "210987654321");
        refused_everywhere(database, &theirs, "AccessDeniedException", "Access is denied").await;
        let missing = format!("{theirs}x");
        refused_everywhere(database, &missing, "AccessDeniedException", "Access is denied").await;
        let scanned = database.call_as(&other, "Scan", json!({"TableName": theirs})).await.unwrap();
        assert_eq!(scanned["Count"], 0, "no one else has written to it");
    }

    async fn an_arn_of_another_region_is_not_valid(database) {
        database.with_table("Table").await;
        let arn = OWN.replace("us-east-1", "eu-west-1");
        let message = format!("1 validation error detected: Invalid AWS region in '{arn}'");
        refused_everywhere(database, &arn, "ValidationException", &message).await;
    }
}
