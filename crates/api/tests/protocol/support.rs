//! Decodes and checks a body, and asserts the outcome.

use api::{Error, Operation, Request, Service};

pub fn operation(name: &str) -> Operation {
    Operation::from_target_name(name).expect("a served operation")
}

pub fn admit(name: &str, body: &str) -> Result<Request, Error> {
    let request = Request::decode(operation(name), body.as_bytes())?;
    request.check()?;
    Ok(request)
}

/// The body is refused with exactly this text, by a ValidationException.
#[track_caller]
pub fn check_refused(name: &str, body: &str, message: &str) {
    let error = admit(name, body).expect_err(body);
    assert_eq!(error.kind, api::ErrorKind::Validation, "{body}: {error}");
    assert_eq!(error.message, message, "{body}");
}

#[track_caller]
pub fn check_admitted(name: &str, body: &str) {
    if let Err(error) = admit(name, body) {
        panic!("{body}: {error}");
    }
}

/// The body is refused with exactly this text, by a SerializationException.
#[track_caller]
pub fn check_unreadable(name: &str, body: &str, message: &str) {
    let error = admit(name, body).expect_err(body);
    assert_eq!(error.kind, api::ErrorKind::Serialization, "{body}: {error}");
    assert_eq!(error.message, message, "{body}");
}

pub fn error_body(error: &Error) -> String {
    let mut out = Vec::new();
    error.write_json(Service::DynamoDb, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// A correct body for each operation, as SDKs send them.
pub const BODIES: &[(&str, &str)] = &[
    (
        "CreateTable",
        r#"{"TableName": "app-main", "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}], "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"}, {"AttributeName": "GSI1PK", "AttributeType": "S"}, {"AttributeName": "created", "AttributeType": "N"}], "GlobalSecondaryIndexes": [{"IndexName": "GSI1", "KeySchema": [{"AttributeName": "GSI1PK", "KeyType": "HASH"}], "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}}], "LocalSecondaryIndexes": [{"IndexName": "LSI1", "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "created", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}], "BillingMode": "PAY_PER_REQUEST", "Tags": [{"Key": "team", "Value": ""}]}"#,
    ),
    ("DescribeTable", r#"{"TableName": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main"}"#),
    ("ListTables", r#"{"ExclusiveStartTableName": "app-main", "Limit": 7}"#),
    (
        "UpdateTable",
        r#"{"TableName": "app-main", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "B"}], "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "GSI2", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}], "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}"#,
    ),
    ("DeleteTable", r#"{"TableName": "app-main"}"#),
    (
        "TagResource",
        r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "Tags": [{"Key": "team", "Value": "blue"}, {"Key": "cost", "Value": ""}]}"#,
    ),
    (
        "UntagResource",
        r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "TagKeys": ["team"]}"#,
    ),
    ("ListTagsOfResource", r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main"}"#),
    (
        "UpdateTimeToLive",
        r#"{"TableName": "app-main", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"}}"#,
    ),
    ("DescribeTimeToLive", r#"{"TableName": "app-main"}"#),
    ("DescribeContinuousBackups", r#"{"TableName": "app-main"}"#),
    (
        "EnableKinesisStreamingDestination",
        r#"{"TableName": "app-main", "StreamArn": "arn:aws:kinesis:us-east-1:123456789012:stream/s", "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}}"#,
    ),
    (
        "DisableKinesisStreamingDestination",
        r#"{"TableName": "app-main", "StreamArn": "arn:aws:kinesis:us-east-1:123456789012:stream/s"}"#,
    ),
    ("DescribeKinesisStreamingDestination", r#"{"TableName": "app-main"}"#),
    (
        "UpdateKinesisStreamingDestination",
        r#"{"TableName": "app-main", "StreamArn": "arn:aws:kinesis:us-east-1:123456789012:stream/s", "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MILLISECOND"}}"#,
    ),
    (
        "UpdateContributorInsights",
        r#"{"TableName": "app-main", "IndexName": "GSI1", "ContributorInsightsAction": "ENABLE", "ContributorInsightsMode": "THROTTLED_KEYS"}"#,
    ),
    ("DescribeContributorInsights", r#"{"TableName": "app-main", "IndexName": "GSI1"}"#),
    (
        "ListContributorInsights",
        r#"{"TableName": "app-main", "MaxResults": 7, "NextToken": "app-main/GSI1"}"#,
    ),
    (
        "UpdateContinuousBackups",
        r#"{"TableName": "app-main", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7}}"#,
    ),
    (
        "RestoreTableToPointInTime",
        r#"{"SourceTableName": "app-main", "TargetTableName": "app-restored", "RestoreDateTime": 1800000000.5, "BillingModeOverride": "PAY_PER_REQUEST", "GlobalSecondaryIndexOverride": []}"#,
    ),
    ("CreateBackup", r#"{"TableName": "app-main", "BackupName": "before-release"}"#),
    (
        "DescribeBackup",
        r#"{"BackupArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/backup/01489602797149-73d8d5bc"}"#,
    ),
    (
        "ListBackups",
        r#"{"TableName": "app-main", "BackupType": "ALL", "Limit": 5, "TimeRangeLowerBound": 1800000000}"#,
    ),
    (
        "DeleteBackup",
        r#"{"BackupArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/backup/01489602797149-73d8d5bc"}"#,
    ),
    (
        "RestoreTableFromBackup",
        r#"{"BackupArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/backup/01489602797149-73d8d5bc", "TargetTableName": "app-restored", "BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}"#,
    ),
    (
        "ExportTableToPointInTime",
        r#"{"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "S3Bucket": "exports", "S3Prefix": "daily", "ExportFormat": "ION", "ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": {"ExportFromTime": 1800000000, "ExportToTime": 1800003600, "ExportViewType": "NEW_IMAGE"}, "FilterSpecification": {"FilterExpression": "total > :t", "ExpressionAttributeValues": {":t": {"N": "5"}}}}"#,
    ),
    (
        "DescribeExport",
        r#"{"ExportArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/export/01489602797149-73d8d5bc"}"#,
    ),
    (
        "ListExports",
        r#"{"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "MaxResults": 5}"#,
    ),
    (
        "ImportTable",
        r#"{"S3BucketSource": {"S3Bucket": "imports", "S3KeyPrefix": "in/"}, "InputFormat": "CSV", "InputFormatOptions": {"Csv": {"Delimiter": ";", "HeaderList": ["PK", "total"]}}, "InputCompressionType": "GZIP", "TableCreationParameters": {"TableName": "app-imported", "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}}"#,
    ),
    (
        "DescribeImport",
        r#"{"ImportArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/import/01489602797149-73d8d5bc"}"#,
    ),
    ("ListImports", r#"{"PageSize": 5}"#),
    (
        "StartBulkPutItems",
        r#"{"TableName": "app-main", "InputS3Configuration": {"S3Bucket": "imports", "S3KeyPrefix": "in/", "InputFormat": "ION", "InputCompressionType": "ZSTD"}, "OutputS3Configuration": {"S3Bucket": "reports", "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]}, "MaxWriteRequestUnits": 2048, "PerformanceTier": "ACCELERATED", "ClientToken": "token"}"#,
    ),
    (
        "DescribeBulkOperation",
        r#"{"BulkOperationArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/bulk-operation/01489602797149-73d8d5bc"}"#,
    ),
    ("ListBulkOperations", r#"{"MaxResults": 5}"#),
    (
        "CancelBulkOperation",
        r#"{"BulkOperationArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main/bulk-operation/01489602797149-73d8d5bc"}"#,
    ),
    (
        "PutResourcePolicy",
        r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "Policy": "{\"Statement\": []}", "ExpectedRevisionId": "NO_POLICY", "ConfirmRemoveSelfResourceAccess": false}"#,
    ),
    ("GetResourcePolicy", r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main"}"#),
    (
        "DeleteResourcePolicy",
        r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/app-main", "ExpectedRevisionId": "1"}"#,
    ),
    (
        "CreateGlobalTable",
        r#"{"GlobalTableName": "app-main", "ReplicationGroup": [{"RegionName": "us-east-1"}]}"#,
    ),
    ("DescribeGlobalTable", r#"{"GlobalTableName": "app-main"}"#),
    ("DescribeGlobalTableSettings", r#"{"GlobalTableName": "app-main"}"#),
    ("ListGlobalTables", r#"{"Limit": 5}"#),
    (
        "UpdateGlobalTable",
        r#"{"GlobalTableName": "app-main", "ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]}"#,
    ),
    (
        "UpdateGlobalTableSettings",
        r#"{"GlobalTableName": "app-main", "GlobalTableBillingMode": "PAY_PER_REQUEST"}"#,
    ),
    ("DescribeTableReplicaAutoScaling", r#"{"TableName": "app-main"}"#),
    (
        "UpdateTableReplicaAutoScaling",
        r#"{"TableName": "app-main", "ProvisionedWriteCapacityAutoScalingUpdate": {"MinimumUnits": 1, "MaximumUnits": 10, "ScalingPolicyUpdate": {"PolicyName": "writes", "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.5}}}, "ReplicaUpdates": [{"RegionName": "us-east-1", "ReplicaProvisionedReadCapacityAutoScalingUpdate": {"AutoScalingDisabled": true}}]}"#,
    ),
    ("DescribeLimits", "{}"),
    ("DescribeEndpoints", "{}"),
    (
        "PutItem",
        r##"{"TableName": "app-main", "Item": {"PK": {"S": "CUST#a1b2"}, "total": {"N": "12.50"}, "tags": {"SS": ["a", "b"]}}, "ConditionExpression": "attribute_not_exists(#pk) OR #v = :v", "ExpressionAttributeNames": {"#pk": "PK", "#v": "v"}, "ExpressionAttributeValues": {":v": {"N": "3"}}, "ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "TOTAL"}"##,
    ),
    (
        "GetItem",
        r##"{"TableName": "app-main", "Key": {"PK": {"S": "CUST#a1b2"}}, "ConsistentRead": true, "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "name"}}"##,
    ),
    (
        "UpdateItem",
        r#"{"TableName": "app-main", "Key": {"PK": {"S": "CUST#a1b2"}}, "UpdateExpression": "SET seen = :now ADD visits :one", "ExpressionAttributeValues": {":now": {"S": "2026"}, ":one": {"N": "1"}}, "ReturnValues": "UPDATED_NEW"}"#,
    ),
    (
        "DeleteItem",
        r#"{"TableName": "app-main", "Key": {"PK": {"S": "CUST#a1b2"}}, "Expected": {"v": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "3"}]}, "w": {"Exists": false}}, "ConditionalOperator": "OR"}"#,
    ),
    (
        "Query",
        r#"{"TableName": "app-main", "IndexName": "GSI1", "ScanIndexForward": false, "Limit": 25, "KeyConditionExpression": "PK = :pk AND begins_with(SK, :prefix)", "ExpressionAttributeValues": {":pk": {"S": "CUST#a1b2"}, ":prefix": {"S": "ORDER#"}}, "ExclusiveStartKey": {"PK": {"S": "CUST#a1b2"}, "SK": {"S": "ORDER#7"}}, "Select": "COUNT"}"#,
    ),
    (
        "Scan",
        r#"{"TableName": "app-main", "Segment": 1, "TotalSegments": 4, "FilterExpression": "total > :t", "ExpressionAttributeValues": {":t": {"N": "10"}}, "ReturnConsumedCapacity": "INDEXES"}"#,
    ),
    (
        "SearchVectors",
        r#"{"TableName": "app-main", "IndexName": "by-embedding", "SearchVector": [{"N": "0.25"}, {"N": "-1"}], "TopK": 10, "SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": "a"}}, "ProjectionExpression": "title", "ReturnConsumedCapacity": "TOTAL"}"#,
    ),
    (
        "BatchGetItem",
        r##"{"RequestItems": {"app-main": {"Keys": [{"PK": {"S": "CUST#a1b2"}}], "ConsistentRead": true, "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "name"}}}, "ReturnConsumedCapacity": "TOTAL"}"##,
    ),
    (
        "BatchWriteItem",
        r#"{"RequestItems": {"app-main": [{"PutRequest": {"Item": {"PK": {"S": "CUST#a1b2"}}}}, {"DeleteRequest": {"Key": {"PK": {"S": "CUST#c3d4"}}}}]}, "ReturnItemCollectionMetrics": "SIZE"}"#,
    ),
    (
        "ExecuteStatement",
        r#"{"Statement": "SELECT * FROM \"app-main\" WHERE PK = ?", "Parameters": [{"S": "CUST#a1b2"}], "ConsistentRead": true, "Limit": 3, "NextToken": "token", "ReturnConsumedCapacity": "TOTAL"}"#,
    ),
    (
        "BatchExecuteStatement",
        r#"{"Statements": [{"Statement": "DELETE FROM \"app-main\" WHERE PK = 'CUST#a1b2'", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}, {"Statement": "INSERT INTO \"app-main\" VALUE {'PK': ?}", "Parameters": [{"S": "CUST#c3d4"}]}]}"#,
    ),
    (
        "TransactGetItems",
        r#"{"TransactItems": [{"Get": {"TableName": "app-main", "Key": {"PK": {"S": "CUST#a1b2"}}, "ProjectionExpression": "total"}}]}"#,
    ),
    (
        "TransactWriteItems",
        r#"{"ClientRequestToken": "5a1f", "TransactItems": [{"Put": {"TableName": "app-main", "Item": {"PK": {"S": "ORDER#1"}}, "ConditionExpression": "attribute_not_exists(PK)"}}, {"Update": {"TableName": "app-main", "Key": {"PK": {"S": "STOCK#1"}}, "UpdateExpression": "ADD stock :n", "ExpressionAttributeValues": {":n": {"N": "-1"}}}}, {"Delete": {"TableName": "app-main", "Key": {"PK": {"S": "CART#1"}}}}, {"ConditionCheck": {"TableName": "app-main", "Key": {"PK": {"S": "CUST#a1b2"}}, "ConditionExpression": "attribute_exists(PK)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}]}"#,
    ),
    (
        "ExecuteTransaction",
        r#"{"ClientRequestToken": "5a1f", "TransactStatements": [{"Statement": "EXISTS(SELECT * FROM \"app-main\" WHERE PK = ?)", "Parameters": [{"S": "CUST#a1b2"}]}]}"#,
    ),
];
