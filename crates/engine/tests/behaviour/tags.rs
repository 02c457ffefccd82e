use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";

fn tags(tags: &[(&str, &str)]) -> Value {
    tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect()
}

async fn tag(database: &Database, given: &[(&str, &str)]) {
    let answer = database.ok("TagResource", json!({"ResourceArn": ARN, "Tags": tags(given)})).await;
    assert_eq!(answer, Value::Null);
}

async fn check_tags(database: &Database, expected: &[(&str, &str)]) {
    let answer = database.ok("ListTagsOfResource", json!({"ResourceArn": ARN})).await;
    assert_eq!(answer, json!({"Tags": tags(expected)}));
}

async fn refused(database: &Database, tags: Value, message: &str) {
    database
        .refused("TagResource", json!({"ResourceArn": ARN, "Tags": tags}), "ValidationException", message)
        .await;
}

on_every_store! {
    async fn tags_are_added_replaced_and_taken_away(database) {
        database.with_table("Table").await;
        check_tags(database, &[]).await;
        tag(database, &[("team", "blue"), ("empty", "")]).await;
        tag(database, &[("team", "red"), ("кто", "מי")]).await;
        check_tags(database, &[("empty", ""), ("team", "red"), ("кто", "מי")]).await;
        database.ok("UntagResource", json!({"ResourceArn": ARN, "TagKeys": ["empty", "missing"]})).await;
        check_tags(&database.restarted().await, &[("team", "red"), ("кто", "מי")]).await;
    }

    async fn a_table_is_made_with_tags_or_not_at_all(database) {
        let create = |tags: Value| json!({
            "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "Tags": tags,
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST",
        });
        let many: Vec<Value> = (0..51).map(|i| json!({"Key": i.to_string(), "Value": ""})).collect();
        database.refused("CreateTable", create(many.into()), "ValidationException",
            "One or more parameter values were invalid: Number of tags exceeds the limit of 50").await;
        database.ok("CreateTable", create(tags(&[("a", "b")]))).await;
        check_tags(database, &[("a", "b")]).await;
    }

    async fn a_table_has_fifty_tags_at_most(database) {
        database.with_table("Table").await;
        let numbered = |numbers: std::ops::Range<u32>| -> Value {
            numbers.map(|i| json!({"Key": i.to_string(), "Value": "v"})).collect()
        };
        database.ok("TagResource", json!({"ResourceArn": ARN, "Tags": numbered(0..30)})).await;
        database.ok("TagResource", json!({"ResourceArn": ARN, "Tags": numbered(10..50)})).await;
        refused(database, numbered(50..51),
            "One or more parameter values were invalid: Number of tags exceeds the limit of 50").await;
        let answer = database.ok("ListTagsOfResource", json!({"ResourceArn": ARN})).await;
        assert_eq!(answer["Tags"].as_array().unwrap().len(), 50);
    }

    async fn tags_that_can_not_be_are_refused(database) {
        database.with_table("Table").await;
        refused(database, json!([]), "Atleast one Tag needs to be provided as Input.").await;
        refused(database, tags(&[("a!", "b")]), "One or more parameter values were invalid: Tag contains invalid characters: a!").await;
        refused(database, tags(&[("a", "\"b\"")]), "One or more parameter values were invalid: Tag contains invalid characters: \"b\"").await;
        refused(database, tags(&[("aws:a", "b")]), "One or more parameter values were invalid: Tag keys starting with 'aws:' are reserved for system use").await;
        refused(database, tags(&[("", "b")]), "1 validation error detected: Value '' at 'tags.1.member.key' failed to satisfy constraint: Member must have length greater than or equal to 1").await;
        let long = "א".repeat(128);
        tag(database, &[(&long, &"א".repeat(256))]).await;
        check_tags(database, &[(&long, &"א".repeat(256))]).await;
    }

    async fn only_a_tables_own_arn_will_do(database) {
        database.with_table("Table").await;
        let with = |arn: &str| json!({"ResourceArn": arn, "Tags": tags(&[("a", "b")])});
        database.refused("TagResource", with("Table"), "ValidationException", "ARNs must start with 'arn:'").await;
        let index = format!("{ARN}/index/i");
        let message = format!("Invalid TableArn: Invalid ResourceArn provided as input {index}");
        database.refused("TagResource", with(&index), "ValidationException", &message).await;
        let missing = format!("{ARN}x");
        let message = format!("Requested resource not found: ResourcArn: {missing} not found");
        database.refused("TagResource", with(&missing), "ResourceNotFoundException", &message).await;
        let message = format!(
            "User: arn:aws:iam::123456789012:root is not authorized to perform: dynamodb:ListTagsOfResource on resource: {missing}");
        database.refused("ListTagsOfResource", json!({"ResourceArn": missing}), "AccessDeniedException", &message).await;
    }
}
