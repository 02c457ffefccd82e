use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";
const READ: &str = r#"{"Version": "2012-10-17", "Statement": []}"#;
const WRITE: &str = r#"{"Version": "2012-10-17", "Statement": [{}]}"#;
const NOT_FOUND: &str = "Resource-based policy not found for the provided ResourceArn: \
                         arn:aws:dynamodb:us-east-1:123456789012:table/Table";

async fn put(database: &Database, policy: &str) -> Value {
    database.ok("PutResourcePolicy", json!({"ResourceArn": ARN, "Policy": policy})).await["RevisionId"].take()
}

on_every_store! {
    async fn a_policy_is_kept_by_revisions(database) {
        database.with_table("Table").await;
        let get = json!({"ResourceArn": ARN});
        database.refused("GetResourcePolicy", get.clone(), "PolicyNotFoundException", NOT_FOUND).await;
        let first = put(database, READ).await;
        assert_eq!(put(database, READ).await, first);
        let second = put(database, WRITE).await;
        assert_ne!(first, second);
        assert_eq!(database.restarted().await.ok("GetResourcePolicy", get).await, json!({"Policy": WRITE, "RevisionId": second}));
    }

    async fn a_change_that_expects_another_revision_is_refused(database) {
        database.with_table("Table").await;
        let expecting = |revision: &Value| json!({"ResourceArn": ARN, "Policy": READ, "ExpectedRevisionId": revision});
        let delete = |revision: &Value| json!({"ResourceArn": ARN, "ExpectedRevisionId": revision});
        database.refused("PutResourcePolicy", expecting(&json!("1")), "PolicyNotFoundException", NOT_FOUND).await;
        database.refused("DeleteResourcePolicy", delete(&json!("1")), "PolicyNotFoundException", NOT_FOUND).await;
        let revision = database.ok("PutResourcePolicy", expecting(&json!("NO_POLICY"))).await["RevisionId"].take();
        database.refused("PutResourcePolicy", expecting(&json!("NO_POLICY")), "PolicyNotFoundException", NOT_FOUND).await;
        assert_eq!(database.ok("DeleteResourcePolicy", delete(&revision)).await, json!({"RevisionId": revision}));
        assert_eq!(database.ok("DeleteResourcePolicy", json!({"ResourceArn": ARN})).await, json!({}));
    }

    async fn a_policy_is_a_json_object_of_twenty_kilobytes_at_most(database) {
        database.with_table("Table").await;
        for policy in ["", "[]", "{", "7"] {
            database.refused("PutResourcePolicy", json!({"ResourceArn": ARN, "Policy": policy}), "ValidationException",
                "One or more parameter values were invalid: The policy document is not a JSON object").await;
        }
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(20 * 1024));
        database.refused("PutResourcePolicy", json!({"ResourceArn": ARN, "Policy": long}), "ValidationException",
            "One or more parameter values were invalid: Resource policy size exceeds the limit of 20480 bytes").await;
    }

    async fn a_table_is_made_with_its_policy(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "ResourcePolicy": READ,
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST",
        })).await;
        assert_eq!(database.ok("GetResourcePolicy", json!({"ResourceArn": ARN})).await["Policy"], READ);
    }
}
