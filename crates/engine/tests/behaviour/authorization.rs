//! Who may do what: every operation with no policy, with one that allows it, denies it, allows it on another table, and
//! with conditions on partition keys.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use engine::Caller;
use iam::{Circumstances, Identity, IdentityKind, Policy, PolicyUse};
use serde_json::{Value, json};

use crate::database::{Database, Failure};

const ACCOUNT: &str = "123456789012";
const TABLE: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";
const KINESIS: &str = "arn:aws:kinesis:us-east-1:123456789012:stream/orders";

/// Alice with these statements.
fn alice(statements: Value) -> Caller {
    user(ACCOUNT, statements)
}

fn user(account: &str, statements: Value) -> Caller {
    let mut identity = Identity::new(account, IdentityKind::User("alice".to_owned()));
    if statements != json!([]) {
        let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
        let policy = Policy::parse(&document, PolicyUse::Identity).expect("the policy is in order");
        identity.policies.push(("policy".to_owned(), policy));
    }
    let circumstances = Circumstances {
        now: SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        source_ip: Some([10, 0, 0, 1].into()),
        secure_transport: false,
        region: "us-east-1".to_owned(),
        user_agent: None,
    };
    Caller::verified(Arc::new(identity), circumstances)
}

fn allow(action: &str, resource: &str) -> Value {
    json!({"Effect": "Allow", "Action": action, "Resource": resource})
}

fn deny(action: &str, resource: &str) -> Value {
    json!({"Effect": "Deny", "Action": action, "Resource": resource})
}

/// One request, the actions that it needs, and the resource of the first.
struct Asked {
    operation: &'static str,
    input: Value,
    actions: &'static [&'static str],
    resource: String,
    /// It names items by their partition key `a`.
    has_leading_key: bool,
}

fn asked(
    operation: &'static str,
    input: Value,
    actions: &'static [&'static str],
    resource: &str,
    has_leading_key: bool,
) -> Asked {
    Asked { operation, input, actions, resource: resource.to_owned(), has_leading_key }
}

/// Every operation. Requests need not succeed: what counts is whether they are denied.
fn everything() -> Vec<Asked> {
    let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
    let on = |operation, mut input: Value, actions| {
        input["TableName"] = json!("Table");
        asked(operation, input, actions, TABLE, false)
    };
    let item = |operation, mut input: Value, actions| {
        input["TableName"] = json!("Table");
        asked(operation, input, actions, TABLE, true)
    };
    let any = |operation, input, actions| asked(operation, input, actions, "*", false);
    let arn = |operation, member: &str, resource: &str, actions| {
        asked(operation, json!({member: resource}), actions, resource, false)
    };
    let backup = &format!("{TABLE}/backup/01489602797149-73d8d5bc");
    let export = &format!("{TABLE}/export/01489602797149-73d8d5bc");
    let import = &format!("{TABLE}/import/01489602797149-73d8d5bc");
    let bulk = &format!("{TABLE}/bulk-operation/01489602797149-73d8d5bc");
    let index = &format!("{TABLE}/index/ByS");
    let query = json!({"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}});
    let schema = json!({
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    });
    let mut tagged = schema.clone();
    tagged["Tags"] = json!([{"Key": "team", "Value": "a"}]);
    let mut import_schema = schema.clone();
    import_schema["TableName"] = json!("Table");
    let statement = |operation, text: &str, actions, has_leading_key| {
        asked(operation, json!({"Statement": text}), actions, TABLE, has_leading_key)
    };
    let restored: &[&str] = &[
        "dynamodb:RestoreTableToPointInTime",
        "dynamodb:BatchWriteItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:Scan",
        "dynamodb:UpdateItem",
    ];
    vec![
        any("ListTables", json!({}), &["dynamodb:ListTables"]),
        any("DescribeLimits", json!({}), &["dynamodb:DescribeLimits"]),
        any("DescribeEndpoints", json!({}), &["dynamodb:DescribeEndpoints"]),
        any("ListBackups", json!({}), &["dynamodb:ListBackups"]),
        any("ListContributorInsights", json!({}), &["dynamodb:ListContributorInsights"]),
        any("ListExports", json!({}), &["dynamodb:ListExports"]),
        any("ListImports", json!({}), &["dynamodb:ListImports"]),
        any("ListBulkOperations", json!({}), &["dynamodb:ListBulkOperations"]),
        any(
            "CreateGlobalTable",
            json!({"GlobalTableName": "app-main", "ReplicationGroup": [{"RegionName": "us-east-1"}]}),
            &["dynamodb:CreateGlobalTable"],
        ),
        any("DescribeGlobalTable", json!({"GlobalTableName": "app-main"}), &["dynamodb:DescribeGlobalTable"]),
        any(
            "DescribeGlobalTableSettings",
            json!({"GlobalTableName": "app-main"}),
            &["dynamodb:DescribeGlobalTableSettings"],
        ),
        any("ListGlobalTables", json!({"Limit": 5}), &["dynamodb:ListGlobalTables"]),
        any(
            "UpdateGlobalTable",
            json!({"GlobalTableName": "app-main", "ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]}),
            &["dynamodb:UpdateGlobalTable"],
        ),
        any(
            "UpdateGlobalTableSettings",
            json!({"GlobalTableName": "app-main", "GlobalTableBillingMode": "PAY_PER_REQUEST"}),
            &["dynamodb:UpdateGlobalTableSettings"],
        ),
        arn("ListExports", "TableArn", TABLE, &["dynamodb:ListExports"]),
        arn("ListImports", "TableArn", TABLE, &["dynamodb:ListImports"]),
        on("CreateTable", schema, &["dynamodb:CreateTable"]),
        on("CreateTable", tagged, &["dynamodb:CreateTable", "dynamodb:TagResource"]),
        on("DescribeTable", json!({}), &["dynamodb:DescribeTable"]),
        on("UpdateTable", json!({"DeletionProtectionEnabled": false}), &["dynamodb:UpdateTable"]),
        arn("ListTagsOfResource", "ResourceArn", TABLE, &["dynamodb:ListTagsOfResource"]),
        asked(
            "TagResource",
            json!({"ResourceArn": TABLE, "Tags": [{"Key": "a", "Value": "b"}]}),
            &["dynamodb:TagResource"],
            TABLE,
            false,
        ),
        asked(
            "UntagResource",
            json!({"ResourceArn": TABLE, "TagKeys": ["a"]}),
            &["dynamodb:UntagResource"],
            TABLE,
            false,
        ),
        on(
            "UpdateTimeToLive",
            json!({"TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}}),
            &["dynamodb:UpdateTimeToLive"],
        ),
        on("DescribeTimeToLive", json!({}), &["dynamodb:DescribeTimeToLive"]),
        on(
            "DescribeKinesisStreamingDestination",
            json!({}),
            &["dynamodb:DescribeKinesisStreamingDestination"],
        ),
        on(
            "EnableKinesisStreamingDestination",
            json!({"StreamArn": KINESIS}),
            &["dynamodb:EnableKinesisStreamingDestination"],
        ),
        on(
            "DisableKinesisStreamingDestination",
            json!({"StreamArn": KINESIS}),
            &["dynamodb:DisableKinesisStreamingDestination"],
        ),
        on(
            "UpdateKinesisStreamingDestination",
            json!({"StreamArn": KINESIS}),
            &["dynamodb:UpdateKinesisStreamingDestination"],
        ),
        on("DescribeTableReplicaAutoScaling", json!({}), &["dynamodb:DescribeTableReplicaAutoScaling"]),
        on("UpdateTableReplicaAutoScaling", json!({}), &["dynamodb:UpdateTableReplicaAutoScaling"]),
        on("DescribeContributorInsights", json!({}), &["dynamodb:DescribeContributorInsights"]),
        asked(
            "UpdateContributorInsights",
            json!({"TableName": "Table", "IndexName": "ByS", "ContributorInsightsAction": "ENABLE"}),
            &["dynamodb:UpdateContributorInsights"],
            index,
            false,
        ),
        on("DescribeContinuousBackups", json!({}), &["dynamodb:DescribeContinuousBackups"]),
        on(
            "UpdateContinuousBackups",
            json!({"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}}),
            &["dynamodb:UpdateContinuousBackups"],
        ),
        asked(
            "RestoreTableToPointInTime",
            json!({"SourceTableName": "Table", "TargetTableName": "Table"}),
            restored,
            TABLE,
            false,
        ),
        asked(
            "RestoreTableFromBackup",
            json!({"BackupArn": backup, "TargetTableName": "Table"}),
            &["dynamodb:RestoreTableFromBackup"],
            backup,
            false,
        ),
        on("CreateBackup", json!({"BackupName": "backup"}), &["dynamodb:CreateBackup"]),
        arn("DescribeBackup", "BackupArn", backup, &["dynamodb:DescribeBackup"]),
        arn("DeleteBackup", "BackupArn", backup, &["dynamodb:DeleteBackup"]),
        asked(
            "ExportTableToPointInTime",
            json!({"TableArn": TABLE, "S3Bucket": "bucket"}),
            &["dynamodb:ExportTableToPointInTime"],
            TABLE,
            false,
        ),
        arn("DescribeExport", "ExportArn", export, &["dynamodb:DescribeExport"]),
        arn("DescribeImport", "ImportArn", import, &["dynamodb:DescribeImport"]),
        asked(
            "ImportTable",
            json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": import_schema}),
            &["dynamodb:ImportTable"],
            TABLE,
            false,
        ),
        on(
            "StartBulkPutItems",
            json!({
                "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"},
                "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": ["ERROR"]},
            }),
            &["dynamodb:StartBulkPutItems"],
        ),
        arn("DescribeBulkOperation", "BulkOperationArn", bulk, &["dynamodb:DescribeBulkOperation"]),
        arn("CancelBulkOperation", "BulkOperationArn", bulk, &["dynamodb:CancelBulkOperation"]),
        arn("GetResourcePolicy", "ResourceArn", TABLE, &["dynamodb:GetResourcePolicy"]),
        arn("DeleteResourcePolicy", "ResourceArn", TABLE, &["dynamodb:DeleteResourcePolicy"]),
        asked(
            "PutResourcePolicy",
            json!({"ResourceArn": TABLE, "Policy": "{}"}),
            &["dynamodb:PutResourcePolicy"],
            TABLE,
            false,
        ),
        item("GetItem", json!({"Key": key}), &["dynamodb:GetItem"]),
        item("PutItem", json!({"Item": key}), &["dynamodb:PutItem"]),
        item("UpdateItem", json!({"Key": key}), &["dynamodb:UpdateItem"]),
        item("DeleteItem", json!({"Key": key}), &["dynamodb:DeleteItem"]),
        item("Query", query.clone(), &["dynamodb:Query"]),
        on("Scan", json!({}), &["dynamodb:Scan"]),
        asked("Scan", json!({"TableName": "Table", "IndexName": "ByS"}), &["dynamodb:Scan"], index, false),
        asked(
            "SearchVectors",
            json!({"TableName": "Table", "IndexName": "ByS", "SearchVector": [{"N": "1"}], "TopK": 1}),
            &["dynamodb:SearchVectors"],
            index,
            false,
        ),
        asked(
            "Query",
            json!({"TableName": TABLE, "IndexName": "ByS", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
            &["dynamodb:Query"],
            index,
            true,
        ),
        asked(
            "BatchGetItem",
            json!({"RequestItems": {"Table": {"Keys": [key]}}}),
            &["dynamodb:BatchGetItem"],
            TABLE,
            true,
        ),
        asked(
            "BatchWriteItem",
            json!({"RequestItems": {"Table": [{"PutRequest": {"Item": key}}]}}),
            &["dynamodb:BatchWriteItem"],
            TABLE,
            true,
        ),
        asked(
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "Table", "Key": key}}]}),
            &["dynamodb:GetItem"],
            TABLE,
            true,
        ),
        asked(
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": {"TableName": "Table", "Item": key}}]}),
            &["dynamodb:PutItem"],
            TABLE,
            true,
        ),
        asked(
            "TransactWriteItems",
            json!({"TransactItems": [{"Delete": {"TableName": "Table", "Key": key}}]}),
            &["dynamodb:DeleteItem"],
            TABLE,
            true,
        ),
        asked(
            "TransactWriteItems",
            json!({"TransactItems": [{"Update": {"TableName": "Table", "Key": key, "UpdateExpression": "REMOVE x"}}]}),
            &["dynamodb:UpdateItem"],
            TABLE,
            true,
        ),
        asked(
            "TransactWriteItems",
            json!({"TransactItems": [{"ConditionCheck": {"TableName": "Table", "Key": key, "ConditionExpression": "attribute_not_exists(x)"}}]}),
            &["dynamodb:ConditionCheckItem"],
            TABLE,
            true,
        ),
        statement(
            "ExecuteStatement",
            r#"SELECT * FROM "Table" WHERE p = 'a'"#,
            &["dynamodb:PartiQLSelect"],
            true,
        ),
        statement(
            "ExecuteStatement",
            r#"INSERT INTO "Table" VALUE {'p': 'a', 's': 'b'}"#,
            &["dynamodb:PartiQLInsert"],
            true,
        ),
        statement(
            "ExecuteStatement",
            r#"UPDATE "Table" SET x = 1 WHERE p = 'a' AND s = 'b'"#,
            &["dynamodb:PartiQLUpdate"],
            true,
        ),
        statement(
            "ExecuteStatement",
            r#"DELETE FROM "Table" WHERE p = 'a' AND s = 'b'"#,
            &["dynamodb:PartiQLDelete"],
            true,
        ),
        asked(
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": r#"SELECT * FROM "Table" WHERE p = 'a' AND s = 'b'"#}]}),
            &["dynamodb:PartiQLSelect"],
            TABLE,
            true,
        ),
        on("DeleteTable", json!({}), &["dynamodb:DeleteTable"]),
    ]
}

/// The message, if the request was denied.
async fn denial(database: &Database, caller: &Caller, asked: &Asked) -> Option<String> {
    match database.call_as(caller, asked.operation, asked.input.clone()).await {
        Err(Failure { name, message, .. }) if name == "AccessDeniedException" => Some(message),
        _ => None,
    }
}

/// A database with the table and an index, also after a request has deleted it.
async fn prepared(database: &Database) {
    let _ = database
        .call(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
                "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"}],
                "LocalSecondaryIndexes": [{
                    "IndexName": "ByS", "Projection": {"ProjectionType": "ALL"},
                    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
                }],
            }),
        )
        .await;
}

#[tokio::test]
async fn every_operation_needs_its_actions_on_its_resources() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let all = everything();
    for operation in api::Operation::ALL {
        let name = operation.name();
        // Its statements are denied one by one.
        let is_covered = name == "BatchExecuteStatement" || all.iter().any(|it| it.operation == name);
        assert!(is_covered, "{name} is missing from the matrix");
    }
    for asked in &all {
        let Asked { operation, actions, resource, .. } = asked;
        let action = actions[0];
        let message = |why: String| {
            format!(
                "User: arn:aws:iam::{ACCOUNT}:user/alice is not authorized to perform: {action} on resource: {resource} {why}"
            )
        };
        let none = message(format!("because no identity-based policy allows the {action} action"));
        assert_eq!(denial(database, &alice(json!([])), asked).await.as_ref(), Some(&none), "{operation}");

        let other_table = actions.iter().map(|it| allow(it, &format!("{TABLE}2"))).collect::<Vec<_>>();
        assert_eq!(
            denial(database, &alice(json!(other_table)), asked).await.as_ref(),
            Some(&none),
            "{operation}"
        );

        let explicit = message("with an explicit deny in an identity-based policy".to_owned());
        let denied = alice(json!([allow("*", "*"), deny(action, "*")]));
        assert_eq!(denial(database, &denied, asked).await, Some(explicit), "{operation}");

        let mut enough: Vec<Value> = actions.iter().map(|it| allow(it, resource)).collect();
        if *operation == "RestoreTableFromBackup" {
            enough.push(allow("dynamodb:*", TABLE));
        }
        for missing in 0..actions.len() {
            let mut without = enough.clone();
            without.remove(missing);
            let without = alice(json!(without));
            assert!(
                denial(database, &without, asked).await.is_some(),
                "{operation} without {}",
                actions[missing]
            );
        }
        assert_eq!(denial(database, &alice(json!(enough)), asked).await, None, "{operation}");
        prepared(database).await;

        let with_keys = |keys: &[&str]| {
            alice(json!([{
                "Effect": "Allow", "Action": actions, "Resource": "*",
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": keys}},
            }]))
        };
        let right = denial(database, &with_keys(&["x", "a"]), asked).await;
        assert_eq!(right.is_none(), asked.has_leading_key, "{operation} with its leading key");
        prepared(database).await;
        assert!(
            denial(database, &with_keys(&["b"]), asked).await.is_some(),
            "{operation} with another leading key"
        );
    }
}

#[tokio::test]
async fn a_dry_run_needs_what_its_write_needs() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let writes = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];
    for asked in everything().iter().filter(|asked| writes.contains(&asked.operation)) {
        let action = asked.actions[0];
        let with_key = |key: &str| {
            json!([{
                "Effect": "Allow", "Action": action, "Resource": TABLE,
                "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": [key]}},
            }])
        };
        for (statements, is_allowed) in [
            (json!([]), false),
            (json!([allow(action, &format!("{TABLE}2"))]), false),
            (json!([allow("*", "*"), deny(action, TABLE)]), false),
            (json!([allow(action, TABLE)]), true),
            (with_key("a"), true),
            (with_key("b"), false),
        ] {
            let caller = alice(statements.clone());
            let dry_run = database.dry_run_as(&caller, asked.operation, asked.input.clone()).await;
            assert_eq!(dry_run.is_ok(), is_allowed, "{} with {statements}: {dry_run:?}", asked.operation);
            let denied = denial(database, &caller, asked).await;
            assert_eq!(dry_run.err().map(|failure| failure.message), denied, "{}", asked.operation);
        }
    }
}

#[tokio::test]
async fn every_operation_of_streams_needs_its_action_on_its_stream() {
    let database = &Database::in_memory().await;
    let schema = json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
    });
    database.ok("CreateTable", schema).await;
    let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await;
    let stream = described["Table"]["LatestStreamArn"].as_str().expect("the table has a stream");
    let described = database.streams("DescribeStream", json!({"StreamArn": stream})).await;
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let place = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = database.streams("GetShardIterator", place.clone()).await["ShardIterator"].clone();

    let asked = [
        ("ListStreams", json!({}), "*"),
        ("DescribeStream", json!({"StreamArn": stream}), stream),
        ("GetShardIterator", place, stream),
        ("GetRecords", json!({"ShardIterator": iterator}), stream),
    ];
    for operation in api::streams::Operation::ALL {
        let name = operation.name();
        assert!(asked.iter().any(|(asked, ..)| *asked == name), "{name} is missing from the matrix");
    }
    for (operation, input, resource) in asked {
        let action = format!("dynamodb:{operation}");
        let denial = async |statements: Value| {
            let called = database.call_streams_as(&alice(statements), operation, input.clone()).await;
            called.err().map(|failure| (failure.name, failure.message))
        };
        let denied = |why: &str| {
            let message = format!(
                "User: arn:aws:iam::{ACCOUNT}:user/alice is not authorized to perform: {action} on resource: {resource} {why}"
            );
            Some(("AccessDeniedException".to_owned(), message))
        };
        let none = denied(&format!("because no identity-based policy allows the {action} action"));
        assert_eq!(denial(json!([])).await, none, "{operation}");
        assert_eq!(denial(json!([allow(&action, &format!("{TABLE}2/stream/*"))])).await, none, "{operation}");
        // The stream is not its table.
        assert_eq!(denial(json!([allow(&action, TABLE)])).await, none, "{operation}");
        let explicit = denied("with an explicit deny in an identity-based policy");
        assert_eq!(denial(json!([allow("*", "*"), deny(&action, "*")])).await, explicit, "{operation}");
        assert_eq!(denial(json!([allow(&action, resource)])).await, None, "{operation}");
        let with_key = json!([{
            "Effect": "Allow", "Action": "*", "Resource": "*",
            "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": ["a"]}},
        }]);
        assert_eq!(denial(with_key).await, none, "{operation} names no key");
    }
}

/// Whether alice may send a request under this one condition.
async fn may(database: &Database, operation: &str, input: Value, condition: Value) -> bool {
    let caller = alice(json!([{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}]));
    match database.call_as(&caller, operation, input).await {
        Ok(_) => true,
        Err(failure) => {
            assert_eq!(failure.name, "AccessDeniedException", "{}", failure.message);
            false
        }
    }
}

#[tokio::test]
async fn the_attributes_that_a_request_names_are_its_top_level_names() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
    let named = |names: &[&str]| json!({"ForAllValues:StringEquals": {"dynamodb:Attributes": names}});
    for (operation, input, names) in [
        (
            "GetItem",
            json!({"TableName": "Table", "Key": key, "ProjectionExpression": "#x.y[1], z", "ExpressionAttributeNames": {"#x": "Address"}}),
            vec!["p", "s", "Address", "z"],
        ),
        ("GetItem", json!({"TableName": "Table", "Key": key, "AttributesToGet": ["z"]}), vec!["p", "s", "z"]),
        (
            "PutItem",
            json!({"TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "b"}, "z": {"N": "1"}}, "ConditionExpression": "attribute_not_exists(c)"}),
            vec!["p", "s", "z", "c"],
        ),
        (
            "UpdateItem",
            json!({"TableName": "Table", "Key": key, "UpdateExpression": "SET u = if_not_exists(v, :n)", "ExpressionAttributeValues": {":n": {"N": "1"}}}),
            vec!["p", "s", "u", "v"],
        ),
        (
            "Query",
            json!({"TableName": "Table", "KeyConditionExpression": "p = :p", "FilterExpression": "f = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
            vec!["p", "f"],
        ),
        (
            "Scan",
            json!({"TableName": "Table", "FilterExpression": "f = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}),
            vec!["f"],
        ),
        (
            "ExecuteStatement",
            json!({"Statement": r#"SELECT x.y FROM "Table" WHERE p = 'a' AND z = 1"#}),
            vec!["p", "x", "z"],
        ),
    ] {
        assert!(may(database, operation, input.clone(), named(&names)).await, "{operation} {names:?}");
        for missing in 0..names.len() {
            let mut fewer = names.clone();
            // A condition without values is no condition, so another name stands in for the missing one.
            fewer[missing] = "other";
            let allowed = may(database, operation, input.clone(), named(&fewer)).await;
            assert!(!allowed, "{operation} names {}", names[missing]);
        }
    }
}

#[tokio::test]
async fn condition_keys_have_the_values_of_the_request() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
    let equals = |key: &str, value: &str| json!({"StringEquals": {key: value}});
    let get = json!({"TableName": "Table", "Key": key});
    let projected = json!({"TableName": "Table", "Key": key, "ProjectionExpression": "z"});
    let count = json!({"TableName": "Table", "Select": "COUNT"});
    let put = json!({"TableName": "Table", "Item": key, "ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "TOTAL"});
    let transact = json!({"TransactItems": [{"Get": {"TableName": "Table", "Key": key}}]});
    let select = |text: &str| json!({"Statement": text});
    for (operation, input, key, value) in [
        ("GetItem", &get, "dynamodb:Select", "ALL_ATTRIBUTES"),
        ("GetItem", &projected, "dynamodb:Select", "SPECIFIC_ATTRIBUTES"),
        ("Scan", &count, "dynamodb:Select", "COUNT"),
        ("PutItem", &put, "dynamodb:ReturnValues", "ALL_OLD"),
        ("DeleteItem", &get, "dynamodb:ReturnValues", "NONE"),
        ("PutItem", &put, "dynamodb:ReturnConsumedCapacity", "TOTAL"),
        ("GetItem", &get, "dynamodb:ReturnConsumedCapacity", "NONE"),
        ("TransactGetItems", &transact, "dynamodb:EnclosingOperation", "TransactGetItems"),
        ("GetItem", &get, "aws:username", "alice"),
        ("GetItem", &get, "aws:RequestedRegion", "us-east-1"),
        ("GetItem", &get, "aws:PrincipalAccount", ACCOUNT),
        ("GetItem", &get, "dynamodb:FirstPartitionKeyValues", "a"),
    ] {
        assert!(may(database, operation, input.clone(), equals(key, value)).await, "{operation} {key}");
        assert!(!may(database, operation, input.clone(), equals(key, "other")).await, "{operation} {key}");
    }
    assert!(
        !may(database, "GetItem", get.clone(), equals("dynamodb:EnclosingOperation", "TransactGetItems"))
            .await
    );
    let no_scan = json!({"Bool": {"dynamodb:FullTableScan": "false"}});
    assert!(
        may(database, "ExecuteStatement", select(r#"SELECT * FROM "Table" WHERE p = 'a'"#), no_scan.clone())
            .await
    );
    assert!(!may(database, "ExecuteStatement", select(r#"SELECT * FROM "Table""#), no_scan).await);
    assert!(
        may(database, "GetItem", get.clone(), json!({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})).await
    );
    assert!(!may(database, "GetItem", get.clone(), json!({"Bool": {"aws:SecureTransport": "true"}})).await);
    assert!(
        may(
            database,
            "GetItem",
            get.clone(),
            json!({"DateLessThan": {"aws:CurrentTime": "2030-01-01T00:00:00Z"}})
        )
        .await
    );
    assert!(!may(database, "GetItem", get.clone(), equals("aws:ResourceTag/team", "a")).await);
    database.ok("TagResource", json!({"ResourceArn": TABLE, "Tags": [{"Key": "team", "Value": "a"}]})).await;
    assert!(may(database, "GetItem", get, equals("aws:ResourceTag/team", "a")).await);
}

#[tokio::test]
async fn one_forbidden_item_or_table_denies_the_whole_request() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let key = |p: &str| json!({"p": {"S": p}, "s": {"S": "b"}});
    let own = json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["alice"]}});
    let batch = |keys: Vec<Value>| json!({"RequestItems": {"Table": {"Keys": keys}}});
    assert!(may(database, "BatchGetItem", batch(vec![key("alice")]), own.clone()).await);
    assert!(!may(database, "BatchGetItem", batch(vec![key("alice"), key("bob")]), own.clone()).await);
    let both = json!({"TransactItems": [
        {"Put": {"TableName": "Table", "Item": key("alice")}}, {"Delete": {"TableName": "Table", "Key": key("bob")}},
    ]});
    assert!(!may(database, "TransactWriteItems", both, own).await);
}

#[tokio::test]
async fn statements_of_a_batch_are_denied_one_by_one() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let caller = alice(json!([{
        "Effect": "Allow", "Action": "dynamodb:PartiQL*", "Resource": "*",
        "Condition": {"StringEquals": {"dynamodb:LeadingKeys": "a"}},
    }]));
    let statement =
        |p: &str| json!({"Statement": format!(r#"SELECT * FROM "Table" WHERE p = '{p}' AND s = 'b'"#)});
    let input = json!({"Statements": [statement("a"), statement("b")]});
    let answer =
        database.call_as(&caller, "BatchExecuteStatement", input).await.expect("the batch is answered");
    assert_eq!(answer["Responses"][0]["Error"], Value::Null);
    assert_eq!(answer["Responses"][1]["Error"]["Code"], "AccessDenied");
}

#[tokio::test]
async fn another_account_needs_both_policies() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let other = "210987654321";
    let get = |table: &str| json!({"TableName": table, "Key": {"p": {"S": "a"}, "s": {"S": "b"}}});
    let name = async |caller: &Caller, table: &str| {
        database
            .call_as(caller, "GetItem", get(table))
            .await
            .err()
            .map(|failure| (failure.name, failure.message))
    };
    let caller = user(other, json!([allow("dynamodb:GetItem", TABLE)]));
    let denied = |why: &str| {
        let message = format!(
            "User: arn:aws:iam::{other}:user/alice is not authorized to perform: dynamodb:GetItem on resource: {TABLE} {why}"
        );
        Some(("AccessDeniedException".to_owned(), message))
    };
    assert_eq!(
        name(&caller, TABLE).await,
        denied("because no resource-based policy allows the dynamodb:GetItem action")
    );
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"AWS": other}, "Action": "dynamodb:GetItem"}});
    let put = json!({"ResourceArn": TABLE, "Policy": policy.to_string()});
    database.ok("PutResourcePolicy", put).await;
    assert_eq!(name(&caller, TABLE).await, None);
    let without = user(other, json!([]));
    assert_eq!(
        name(&without, TABLE).await,
        denied("because no identity-based policy allows the dynamodb:GetItem action")
    );
    let (missing, _) =
        name(&user(other, json!([allow("*", "*")])), "Table").await.expect("it has no such table");
    assert_eq!(missing, "ResourceNotFoundException", "a bare name is of the caller's own account");
}

#[tokio::test]
async fn a_resource_policy_is_enough_in_its_own_account_and_can_deny() {
    let database = &Database::in_memory().await;
    prepared(database).await;
    let statement = |effect: &str, action: &str| json!({"Effect": effect, "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/alice")}, "Action": action});
    let policy = json!({"Version": "2012-10-17", "Statement": [
        statement("Allow", "dynamodb:Scan"), statement("Deny", "dynamodb:DeleteTable"),
    ]});
    database.ok("PutResourcePolicy", json!({"ResourceArn": TABLE, "Policy": policy.to_string()})).await;
    let (unallowed, admin) = (alice(json!([])), alice(json!([allow("*", "*")])));
    let scan = json!({"TableName": "Table"});
    database.call_as(&unallowed, "Scan", scan.clone()).await.expect("the table's policy allows it");
    let of_index = json!({"TableName": "Table", "IndexName": "ByS"});
    database.call_as(&unallowed, "Scan", of_index).await.expect("the table's policy covers its indexes");
    let failure =
        database.call_as(&admin, "DeleteTable", scan).await.expect_err("the table's policy denies it");
    assert!(
        failure.message.ends_with("with an explicit deny in a resource-based policy"),
        "{}",
        failure.message
    );
}
