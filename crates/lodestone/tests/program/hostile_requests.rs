//! Whatever a client sends, it gets the error that DynamoDB would give it: for every operation a thousand wrong
//! requests are answered with an error that is the client's own, nothing panics, and afterwards the database
//! answers as before and its data agrees with itself.
//!
//! Wrong requests are right ones with one to three things changed in places that a seed decides.

use std::collections::BTreeMap;

use api::{ErrorKind, Operation, Request, Service};
use engine::Caller;
use fastrand::Rng;
use lodestone::{Database, Options, Storage};
use serde_json::{Map, Value, json};
use transfer::Bucket;

/// Wrong requests of an operation, and how many are made to find them: not every change makes a request wrong.
const WRONG: usize = 1000;
const REQUESTS_MAX: usize = 4000;

/// Stands for lists in lists, which are written as text: too deep for a tree.
const DEEP: &str = "\u{1}deep";

/// Right bodies of an operation. Everything in them is found in the database that [`database`] makes.
fn bodies(operation: &str) -> Vec<Value> {
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Songs";
    let key = json!({"p": {"S": "a"}, "s": {"N": "1"}});
    let item = json!({
        "p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}, "n": {"N": "-1.5e3"}, "flag": {"BOOL": true},
        "letters": {"SS": ["x", "y"]}, "numbers": {"NS": ["1", "2"]}, "bytes": {"B": "AQID"}, "nothing": {"NULL": true},
        "entries": {"L": [{"S": "x"}, {"N": "2"}]}, "inside": {"M": {"deep": {"L": [{"BS": ["AQ=="]}]}}},
    });
    let names = json!({"#n": "n", "#m": "inside"});
    let values = json!({":one": {"N": "1"}, ":x": {"S": "x"}});
    let condition = "attribute_exists(p) AND (#n < :one OR NOT contains(#m.deep[0], :x))";
    let update =
        "SET #n = if_not_exists(#n, :one) + :one, another = :x REMOVE entries[0], #m.gone ADD hits :one";
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    match operation {
        "CreateTable" => vec![json!({
            "TableName": "New", "BillingMode": "PROVISIONED", "KeySchema": keys("p", "s"),
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"},
                {"AttributeName": "g", "AttributeType": "B"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-g", "KeySchema": keys("g", "s"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n", "another"]},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            }],
            "LocalSecondaryIndexes": [
                {"IndexName": "local", "KeySchema": keys("p", "g"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
            ],
            "Tags": [{"Key": "team", "Value": "blue"}], "TableClass": "STANDARD",
            "SSESpecification": {"Enabled": false}, "DeletionProtectionEnabled": false,
            "StreamSpecification": {"StreamEnabled": false},
        })],
        "UpdateTable" => vec![
            json!({
                "TableName": "Songs", "AttributeDefinitions": [{"AttributeName": "another", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "by-another", "KeySchema": [{"AttributeName": "another", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            }),
            json!({
                "TableName": "Songs", "BillingMode": "PROVISIONED", "DeletionProtectionEnabled": true,
                "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 7},
                "GlobalSecondaryIndexUpdates": [{"Update": {
                    "IndexName": "by-g", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 7},
                }}],
            }),
        ],
        "EnableKinesisStreamingDestination" | "DisableKinesisStreamingDestination" => vec![json!({
            "TableName": "Songs", "StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/changes",
            "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"},
        })],
        "UpdateKinesisStreamingDestination" => vec![json!({
            "TableName": arn, "StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/changes",
            "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"},
        })],
        "DescribeTable"
        | "DeleteTable"
        | "DescribeTimeToLive"
        | "DescribeContinuousBackups"
        | "DescribeKinesisStreamingDestination" => {
            vec![json!({"TableName": "Songs"}), json!({"TableName": arn})]
        }
        "UpdateContributorInsights" => vec![json!({
            "TableName": "Songs", "IndexName": "by-g", "ContributorInsightsAction": "ENABLE",
            "ContributorInsightsMode": "THROTTLED_KEYS",
        })],
        "DescribeContributorInsights" => vec![json!({"TableName": arn, "IndexName": "by-g"})],
        "ListContributorInsights" => {
            vec![json!({"TableName": "Songs", "MaxResults": 5, "NextToken": "Songs/by-g"})]
        }
        "ListTables" => vec![json!({"ExclusiveStartTableName": "Songs", "Limit": 5})],
        "TagResource" => vec![json!({"ResourceArn": arn, "Tags": [{"Key": "team", "Value": "blue"}]})],
        "UntagResource" => vec![json!({"ResourceArn": arn, "TagKeys": ["team", "cost"]})],
        "ListTagsOfResource" => vec![json!({"ResourceArn": arn})],
        "UpdateTimeToLive" => vec![json!({
            "TableName": "Songs", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"},
        })],
        "UpdateContinuousBackups" => vec![json!({
            "TableName": "Songs",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7},
        })],
        "RestoreTableToPointInTime" => vec![
            json!({
                "SourceTableName": "Songs", "TargetTableName": "Restored", "UseLatestRestorableTime": true,
                "BillingModeOverride": "PAY_PER_REQUEST", "LocalSecondaryIndexOverride": [],
            }),
            json!({"SourceTableArn": arn, "TargetTableName": "Restored", "RestoreDateTime": 1_700_000_000}),
        ],
        "CreateBackup" => vec![json!({"TableName": "Songs", "BackupName": "nightly"})],
        "DescribeBackup" | "DeleteBackup" => {
            vec![json!({"BackupArn": format!("{arn}/backup/01700000000000-0a1b2c3d")})]
        }
        "ListBackups" => vec![json!({
            "TableName": "Songs", "BackupType": "ALL", "Limit": 5, "TimeRangeLowerBound": 1, "TimeRangeUpperBound": 2,
            "ExclusiveStartBackupArn": format!("{arn}/backup/01700000000000-0a1b2c3d"),
        })],
        "RestoreTableFromBackup" => vec![json!({
            "BackupArn": format!("{arn}/backup/01700000000000-0a1b2c3d"), "TargetTableName": "Restored",
            "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        })],
        "ExportTableToPointInTime" => vec![
            json!({
                "TableArn": arn, "S3Bucket": "music", "S3Prefix": "daily", "ExportFormat": "ION", "ClientToken": "token",
                "ExportTime": 1_700_000_000, "S3SseAlgorithm": "AES256",
            }),
            json!({
                "TableArn": arn, "S3Bucket": "music", "ExportType": "INCREMENTAL_EXPORT",
                "IncrementalExportSpecification": {
                    "ExportFromTime": 1_700_000_000, "ExportToTime": 1_700_003_600, "ExportViewType": "NEW_IMAGE",
                },
            }),
        ],
        "DescribeExport" => vec![json!({"ExportArn": format!("{arn}/export/01700000000000-0a1b2c3d")})],
        "ListExports" | "ListImports" => vec![json!({"TableArn": arn})],
        "ImportTable" => vec![json!({
            "S3BucketSource": {"S3Bucket": "music", "S3KeyPrefix": "songs.csv"}, "InputFormat": "CSV",
            "InputFormatOptions": {"Csv": {"Delimiter": ";", "HeaderList": ["p", "s"]}},
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {
                "TableName": "Imported", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("p", "s"),
                "AttributeDefinitions": [
                    {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"},
                ],
            },
        })],
        "DescribeImport" => vec![json!({"ImportArn": format!("{arn}/import/01700000000000-0a1b2c3d")})],
        "StartBulkPutItems" => vec![json!({
            "TableName": "Songs", "ClientToken": "token", "MaxWriteRequestUnits": 1024, "PerformanceTier": "STANDARD",
            "InputS3Configuration": {
                "S3Bucket": "music", "S3KeyPrefix": "songs", "InputFormat": "ION", "InputCompressionType": "GZIP",
            },
            "OutputS3Configuration": {"S3Bucket": "music", "S3KeyPrefix": "out", "OutputType": ["ERROR"]},
        })],
        "DescribeBulkOperation" | "CancelBulkOperation" => {
            vec![json!({"BulkOperationArn": format!("{arn}/bulk-operation/01700000000000-0a1b2c3d")})]
        }
        "ListBulkOperations" => vec![json!({"MaxResults": 5, "NextToken": "0123456789abcdef"})],
        "PutResourcePolicy" => vec![json!({
            "ResourceArn": arn,
            "Policy": r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "dynamodb:GetItem"}}"#,
            "ExpectedRevisionId": "NO_POLICY", "ConfirmRemoveSelfResourceAccess": true,
        })],
        "GetResourcePolicy" => vec![json!({"ResourceArn": arn})],
        "DeleteResourcePolicy" => vec![json!({"ResourceArn": arn, "ExpectedRevisionId": "1"})],
        "CreateGlobalTable" => vec![json!({"GlobalTableName": "app-main", "ReplicationGroup": [{"RegionName": "us-east-1"}]})],
        "DescribeGlobalTable" => vec![json!({"GlobalTableName": "app-main"})],
        "DescribeGlobalTableSettings" => vec![json!({"GlobalTableName": "app-main"})],
        "ListGlobalTables" => vec![json!({"Limit": 5})],
        "UpdateGlobalTable" => vec![json!({"GlobalTableName": "app-main", "ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]})],
        "UpdateGlobalTableSettings" => vec![json!({"GlobalTableName": "app-main", "GlobalTableBillingMode": "PAY_PER_REQUEST"})],
        "DescribeTableReplicaAutoScaling" => vec![json!({"TableName": "Songs"})],
        "UpdateTableReplicaAutoScaling" => vec![json!({
            "TableName": arn,
            "ProvisionedWriteCapacityAutoScalingUpdate": {
                "MinimumUnits": 1, "MaximumUnits": 10, "AutoScalingRoleArn": "role", "ScalingPolicyUpdate": {
                    "PolicyName": "writes", "TargetTrackingScalingPolicyConfiguration": {
                        "TargetValue": 70.5, "DisableScaleIn": true, "ScaleInCooldown": 1, "ScaleOutCooldown": 2,
                    },
                },
            },
            "GlobalSecondaryIndexUpdates": [{
                "IndexName": "by-g", "ProvisionedWriteCapacityAutoScalingUpdate": {"AutoScalingDisabled": true},
            }],
            "ReplicaUpdates": [{"RegionName": "us-east-1", "ReplicaGlobalSecondaryIndexUpdates": [{
                "IndexName": "by-g", "ProvisionedReadCapacityAutoScalingUpdate": {"AutoScalingDisabled": true},
            }]}],
        })],
        "DescribeLimits" | "DescribeEndpoints" => vec![json!({})],
        "PutItem" => vec![
            json!({
                "TableName": "Songs", "Item": item, "ConditionExpression": condition,
                "ExpressionAttributeNames": names, "ExpressionAttributeValues": values, "ReturnValues": "ALL_OLD",
                "ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }),
            json!({
                "TableName": "Songs", "Item": item, "ConditionalOperator": "OR", "Expected": {
                    "n": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "1"}, {"N": "2"}]},
                    "g": {"Value": {"S": "x"}, "Exists": true},
                },
            }),
        ],
        "GetItem" => vec![
            json!({
                "TableName": "Songs", "Key": key, "ConsistentRead": true, "ProjectionExpression": "#n, #m.deep[0]",
                "ExpressionAttributeNames": names, "ReturnConsumedCapacity": "TOTAL",
            }),
            json!({"TableName": arn, "Key": key, "AttributesToGet": ["n", "inside"]}),
        ],
        "UpdateItem" => vec![
            json!({
                "TableName": "Songs", "Key": key, "UpdateExpression": update, "ConditionExpression": condition,
                "ExpressionAttributeNames": names, "ExpressionAttributeValues": values, "ReturnValues": "UPDATED_NEW",
            }),
            json!({
                "TableName": "Songs", "Key": key, "AttributeUpdates": {
                    "n": {"Action": "ADD", "Value": {"N": "1"}}, "g": {"Action": "PUT", "Value": {"S": "y"}},
                    "letters": {"Action": "DELETE", "Value": {"SS": ["x"]}},
                },
                "Expected": {"flag": {"ComparisonOperator": "NOT_NULL"}},
            }),
        ],
        "DeleteItem" => vec![json!({
            "TableName": "Songs", "Key": key, "ConditionExpression": condition,
            "ExpressionAttributeNames": names, "ExpressionAttributeValues": values, "ReturnValues": "ALL_OLD",
        })],
        "Query" => vec![
            json!({
                "TableName": "Songs", "KeyConditionExpression": "p = :x AND s BETWEEN :one AND :two",
                "FilterExpression": "attribute_type(#n, :type) OR size(#m) > :one",
                "ProjectionExpression": "p, #n", "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": {
                    ":x": {"S": "a"}, ":one": {"N": "1"}, ":two": {"N": "2"}, ":type": {"S": "N"},
                },
                "ExclusiveStartKey": key, "Limit": 2, "ScanIndexForward": false, "ConsistentRead": true,
                "Select": "SPECIFIC_ATTRIBUTES",
            }),
            json!({
                "TableName": "Songs", "IndexName": "by-g",
                "KeyConditions": {"g": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}},
                "QueryFilter": {"n": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}]}},
                "ExclusiveStartKey": {"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}}, "Select": "COUNT",
            }),
        ],
        "SearchVectors" => vec![json!({
            "TableName": "Sounds", "IndexName": "by-v", "SearchVector": [{"N": "1"}, {"N": "-0.5"}], "TopK": 3,
            "SearchConditionExpression": "g = :g AND f = :f", "ProjectionExpression": "p, #v[1]",
            "ExpressionAttributeNames": {"#v": "v"}, "ExpressionAttributeValues": {":g": {"S": "x"}, ":f": {"N": "1"}},
            "ReturnConsumedCapacity": "INDEXES",
        })],
        "Scan" => vec![
            json!({
                "TableName": "Songs", "IndexName": "by-g", "FilterExpression": "begins_with(g, :x) AND n IN (:one, :x)",
                "ExpressionAttributeValues": values, "Segment": 0, "TotalSegments": 1, "Limit": 3,
                "ExclusiveStartKey": {"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "x"}},
            }),
            json!({
                "TableName": "Songs", "AttributesToGet": ["n"], "ConditionalOperator": "AND", "ConsistentRead": true,
                "ScanFilter": {
                    "n": {"ComparisonOperator": "LT", "AttributeValueList": [{"N": "5"}]},
                    "g": {"ComparisonOperator": "NOT_NULL"},
                },
            }),
        ],
        "BatchGetItem" => vec![json!({
            "RequestItems": {"Songs": {
                "Keys": [key, {"p": {"S": "b"}, "s": {"N": "2"}}], "ConsistentRead": true,
                "ProjectionExpression": "#n, #m", "ExpressionAttributeNames": names,
            }},
            "ReturnConsumedCapacity": "TOTAL",
        })],
        "BatchWriteItem" => vec![json!({
            "RequestItems": {"Songs": [
                {"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": {"p": {"S": "b"}, "s": {"N": "2"}}}},
            ]},
            "ReturnItemCollectionMetrics": "SIZE",
        })],
        "TransactGetItems" => vec![json!({"TransactItems": [
            {"Get": {"TableName": "Songs", "Key": key, "ProjectionExpression": "#n, #m.deep", "ExpressionAttributeNames": names}},
            {"Get": {"TableName": arn, "Key": {"p": {"S": "b"}, "s": {"N": "2"}}}},
        ]})],
        "TransactWriteItems" => vec![json!({
            "ClientRequestToken": "token", "ReturnConsumedCapacity": "INDEXES", "TransactItems": [
                {"Put": {"TableName": "Songs", "Item": item}},
                {"Update": {
                    "TableName": "Songs", "Key": {"p": {"S": "b"}, "s": {"N": "2"}}, "UpdateExpression": "ADD n :one",
                    "ConditionExpression": "attribute_exists(g)", "ExpressionAttributeValues": {":one": {"N": "1"}},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }},
                {"Delete": {"TableName": "Songs", "Key": {"p": {"S": "c"}, "s": {"N": "3"}}}},
                {"ConditionCheck": {
                    "TableName": "Songs", "Key": {"p": {"S": "d"}, "s": {"N": "4"}},
                    "ConditionExpression": "#n < :one", "ExpressionAttributeNames": {"#n": "n"},
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }},
            ],
        })],
        "ExecuteStatement" => [
            "SELECT p, inside.deep[0] FROM \"Songs\".\"by-g\" WHERE g = ? AND (n < 5 OR contains(entries, 'x'))",
            "UPDATE Songs SET n = n + 1 REMOVE entries[0] WHERE p = ? AND s = 1 RETURNING ALL NEW *",
            "INSERT INTO Songs VALUE {'p': ?, 's': 9, 'entries': [1, <<'x'>>, {'deep': NULL}]}",
            "DELETE FROM Songs WHERE p = ? AND s = 1",
        ]
        .map(|statement| {
            json!({"Statement": statement, "Parameters": [{"S": "x"}], "ConsistentRead": false, "Limit": 3})
        })
        .to_vec(),
        "BatchExecuteStatement" => vec![json!({"Statements": [
            {"Statement": "SELECT * FROM Songs WHERE p = 'a' AND s = ?", "Parameters": [{"N": "1"}], "ConsistentRead": true},
            {"Statement": "SELECT n FROM Songs WHERE p = 'b' AND s = 2"},
        ]})],
        "ExecuteTransaction" => vec![json!({"ClientRequestToken": "token", "TransactStatements": [
            {"Statement": "EXISTS(SELECT * FROM Songs WHERE p = 'd' AND s = 4 AND n < ?)", "Parameters": [{"N": "1"}]},
            {"Statement": "UPDATE Songs SET n = 1 WHERE p = 'a' AND s = 1"},
        ]})],
        _ => panic!("{operation} needs a right request here, to make wrong ones of"),
    }
}

/// Members of other requests, to be found where they don't belong.
fn members() -> Vec<(String, Value)> {
    let mut members = BTreeMap::new();
    for operation in Operation::ALL {
        for body in bodies(operation.name()) {
            members.extend(body.as_object().cloned().unwrap_or_default());
        }
    }
    members.into_iter().collect()
}

/// Makes right requests wrong.
struct Vandal {
    chance: Rng,
    members: Vec<(String, Value)>,
}

impl Vandal {
    fn body(&mut self, right: &Value) -> Vec<u8> {
        let mut body = right.clone();
        for _ in 0..self.chance.usize(1..=3) {
            let mut places = Vec::new();
            collect_places(&body, &mut Vec::new(), &mut places);
            let place = self.chance.choice(&places).expect("the body itself is a place").clone();
            let other = self.chance.choice(&places).expect("the body itself is a place").clone();
            self.damage(&mut body, &place, &other);
        }
        let deep = self.chance.usize(1..5000);
        let deep = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        let mut text = body.to_string().replace(&Value::from(DEEP).to_string(), &deep).into_bytes();
        // Now and then what arrives is no JSON at all.
        if self.chance.u8(0..20) == 0 {
            let at = self.chance.usize(0..text.len());
            match self.chance.bool() {
                true => text.truncate(at),
                false => text[at] = self.chance.u8(..),
            }
        }
        text
    }

    /// Most damage leaves the types right, so that it is found late, if at all.
    fn damage(&mut self, body: &mut Value, place: &[String], other: &[String]) {
        let copy = at(body, other).clone();
        let target = at(body, place);
        match (self.chance.u8(0..12), target) {
            (0, target) => *target = self.any_value(3),
            (1, target) => *target = copy,
            (_, Value::String(text)) => self.scribble(text),
            (_, Value::Bool(flag)) => *flag = !*flag,
            (_, Value::Number(number)) => {
                let off = [-1, 1, -1000, 1000, i64::MIN / 2, i64::MAX / 2][self.chance.usize(0..6)];
                *number = number.as_i64().unwrap_or(0).wrapping_add(off).into();
            }
            (2..5, Value::Array(elements)) => drop(elements.pop()),
            (_, Value::Array(elements)) => self.multiply(elements),
            (2..8, target) if is_attribute_value(target) => *target = self.any_attribute_value(),
            (2..4, Value::Object(members)) => {
                let name = self.chance.choice(members.keys()).cloned();
                name.map(|name| members.remove(&name));
            }
            (4..8, Value::Object(members)) => {
                let (name, value) = self.chance.choice(&self.members).expect("there are members").clone();
                members.insert(name, value);
            }
            (8..10, Value::Object(members)) => {
                let name = self.any_text();
                members.insert(name, copy);
            }
            (_, Value::Object(members)) => self.rename(members),
            (_, target @ Value::Null) => *target = self.any_value(1),
        }
    }

    fn rename(&mut self, members: &mut Map<String, Value>) {
        let name = self.chance.choice(members.keys()).cloned();
        if let Some(value) = name.and_then(|name| members.remove(&name)) {
            let name = self.any_text();
            members.insert(name, value);
        }
    }

    /// As many elements as some list may have at most, or one more.
    fn multiply(&mut self, elements: &mut Vec<Value>) {
        let count = [0, 2, 5, 6, 10, 11, 20, 21, 25, 26, 50, 51, 100, 101][self.chance.usize(0..14)];
        if let Some(element) = elements.first().cloned() {
            elements.resize(count, element);
        }
    }

    /// Another text, or the same with something put in or left out.
    fn scribble(&mut self, text: &mut String) {
        const BITS: &[&str] = &[
            " ",
            "(",
            ")",
            "[",
            "]",
            ".",
            ",",
            "#",
            ":",
            "=",
            "<>",
            " AND ",
            " OR ",
            " NOT ",
            "SET ",
            "REMOVE ",
            "size(p)",
            "[99999999999]",
            "attribute_exists",
            ":one",
            "#n",
            "'",
            "\"",
            "?",
            "<<",
            ">>",
            "{",
            "\\",
            "-",
            "e400",
            "\u{0}",
            "\u{feff}",
            "é",
            "𝕊",
            "WHERE ",
            "SELECT ",
            "ORDER BY p",
            ";",
            "--",
        ];
        if self.chance.u8(0..4) == 0 {
            *text = self.any_text();
            return;
        }
        let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let at = *self.chance.choice(&places).expect("a text has a beginning");
        match self.chance.u8(0..3) {
            0 => drop(text.drain(at..)),
            1 => drop(text.drain(..at)),
            _ => text.insert_str(at, self.chance.choice(BITS).expect("there are bits")),
        }
    }

    fn any_value(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 7 } else { 10 };
        match self.chance.u8(0..kinds) {
            0 => Value::Null,
            1 => self.chance.bool().into(),
            2 => self.any_number(),
            3 | 4 => self.any_text().into(),
            5 => self.any_attribute_value(),
            6 if self.chance.u8(0..4) == 0 => DEEP.into(),
            6 => json!({}),
            7 => (0..self.chance.usize(0..4)).map(|_| self.any_value(depth - 1)).collect(),
            8 => json!({"M": {self.any_text(): self.any_value(depth - 1)}}),
            _ => {
                let count = self.chance.usize(0..4);
                (0..count).map(|_| (self.any_text(), self.any_value(depth - 1))).collect::<Map<_, _>>().into()
            }
        }
    }

    fn any_number(&mut self) -> Value {
        const NUMBERS: &[f64] = &[0.0, -0.0, 0.5, -1.0, 1.0, 1e15, 1e300, -1e300, 5e-324, 2147483648.0, 1e19];
        match self.chance.bool() {
            true => json!(self.chance.choice(NUMBERS)),
            false => json!([0, 1, 1001, -1, i64::MAX, i64::MIN, 1_000_001][self.chance.usize(0..7)]),
        }
    }

    /// A value of an attribute, right or not.
    fn any_attribute_value(&mut self) -> Value {
        const NUMBERS: &[&str] =
            &["1", "-0", "1e126", "9e125", "1e-131", "", " 1", "0x1", "NaN", "Infinity", "1e99999999999"];
        match self.chance.u8(0..14) {
            0 | 1 => json!({"S": self.any_text()}),
            2 | 3 => json!({"N": self.chance.choice(NUMBERS)}),
            4 => json!({"N": "9".repeat(self.chance.usize(37..42))}),
            5 => json!({"B": self.chance.choice(["", "AQ", "AQ==", "AQ=", "*", "\u{0}"])}),
            6 => json!({"SS": [self.any_text(), "", "x", "x"]}),
            7 => json!({"NS": ["1", "1.0", "2"]}),
            8 => json!({"BS": []}),
            9 => json!({"NULL": self.chance.bool()}),
            10 => json!({"S": "x", "N": "1"}),
            11 => (0..self.chance.usize(28..36)).fold(json!({"S": "x"}), |within, _| json!({"L": [within]})),
            12 => json!({"M": {self.any_text(): {"NS": [self.chance.choice(NUMBERS)]}}}),
            _ => json!({"BOOL": self.chance.bool()}),
        }
    }

    fn any_text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "",
            "p",
            "s",
            "g",
            "n",
            "Songs",
            "by-g",
            "local",
            "No",
            "ALL_OLD",
            "UPDATED_NEW",
            "S",
            "N",
            "HASH",
            "RANGE",
            "#n",
            ":one",
            "size",
            "*",
            "arn:aws:dynamodb:::table/",
            "arn:aws:dynamodb:us-east-1:000000000000:table/Songs/index/by-g",
            "__type",
            "\u{0}\u{1f}\u{7f}",
            "\u{202e}\u{1f4a9}",
            "COUNT",
            "KEYS_ONLY",
            "PAY_PER_REQUEST",
        ];
        match self.chance.u8(0..12) {
            0 => (0..self.chance.usize(1..9)).map(|_| self.chance.char(..)).collect(),
            // The lengths of keys, names, expressions and items, or one more.
            1 => {
                let lengths =
                    [2, 3, 36, 37, 128, 129, 255, 256, 257, 1024, 1025, 2048, 2049, 4096, 4097, 65_536];
                "x".repeat(lengths[self.chance.usize(0..16)])
            }
            2 if self.chance.u8(0..10) == 0 => "x".repeat(400 * 1024),
            _ => (*self.chance.choice(TEXTS).expect("there are texts")).to_owned(),
        }
    }
}

fn is_attribute_value(value: &Value) -> bool {
    const TYPES: &[&str] = &["S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL"];
    let name =
        value.as_object().filter(|members| members.len() == 1).and_then(|members| members.keys().next());
    name.is_some_and(|name| TYPES.contains(&name.as_str()))
}

/// Every place in the document, by the steps that lead to it.
fn collect_places(value: &Value, steps: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    places.push(steps.clone());
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, child) in children {
        steps.push(step);
        collect_places(child, steps, places);
        steps.pop();
    }
}

fn at<'a>(document: &'a mut Value, place: &[String]) -> &'a mut Value {
    place.iter().fold(document, |value, step| match value {
        Value::Array(elements) => &mut elements[step.parse::<usize>().expect("a position")],
        other => &mut other[step.as_str()],
    })
}

async fn call(database: &Database, operation: Operation, body: &[u8]) -> Result<Vec<u8>, api::Error> {
    let request = Request::decode(operation, body)?;
    let mut answer = Vec::new();
    database.engine().call(&Caller::new("000000000000", "us-east-1"), request).await?.write_json(&mut answer);
    Ok(answer)
}

async fn call_by_name(database: &Database, operation: &str, body: Value) -> Result<Value, api::Error> {
    let operation = Operation::from_target_name(operation).expect("a served operation");
    let answer = call(database, operation, body.to_string().as_bytes()).await?;
    Ok(serde_json::from_slice(&answer).expect("an answer is JSON"))
}

async fn database() -> Database {
    let options = Options { backups: Some(Bucket::in_memory()), ..Options::default() };
    let database = Database::open_with(Storage::Memory, options).await.expect("a database");
    restore(&database).await;
    database
}

/// Makes the tables that the right requests are about, unless they are there.
async fn restore(database: &Database) {
    let with_vectors = json!({
        "TableName": "Sounds", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"},
            {"AttributeName": "f", "AttributeType": "N"},
        ],
        "VectorIndexes": [{
            "IndexName": "by-v", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
            "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}, "SearchSchema": [
                {"AttributeName": "g", "SearchSchemaElementType": "HASH"},
                {"AttributeName": "f", "SearchSchemaElementType": "INLINE_FILTER"},
            ],
        }],
    });
    if call_by_name(database, "CreateTable", with_vectors).await.is_ok() {
        let item = json!({
            "p": {"S": "a"}, "g": {"S": "x"}, "f": {"N": "1"}, "v": {"L": [{"N": "1"}, {"N": "0"}]},
        });
        call_by_name(database, "PutItem", json!({"TableName": "Sounds", "Item": item}))
            .await
            .expect("an item is put");
    }
    let table = json!({
        "TableName": "Songs", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "LocalSecondaryIndexes": [{
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    if call_by_name(database, "CreateTable", table).await.is_err() {
        return;
    }
    for (p, s) in [("a", "1"), ("a", "2"), ("b", "2"), ("d", "4")] {
        let mut item = bodies("PutItem")[0]["Item"].take();
        (item["p"], item["s"]) = (json!({"S": p}), json!({"N": s}));
        call_by_name(database, "PutItem", json!({"TableName": "Songs", "Item": item}))
            .await
            .expect("an item is put");
    }
}

/// What wrong requests are made of is right: it succeeds, or fails for what it finds in the table.
async fn check_right(operation: Operation) {
    for body in bodies(operation.name()) {
        let answer = call(&database().await, operation, body.to_string().as_bytes()).await;
        let found = [
            ErrorKind::ConditionalCheckFailed,
            ErrorKind::PolicyNotFound,
            ErrorKind::BackupNotFound,
            ErrorKind::ExportNotFound,
            ErrorKind::ImportNotFound,
            ErrorKind::PointInTimeRecoveryUnavailable,
            ErrorKind::GlobalTableNotFound,
        ];
        let is_found = |kind: ErrorKind| match operation.name() {
            // A bulk operation that is not there has no error of its own.
            name if name.ends_with("BulkOperation") => kind == ErrorKind::ResourceNotFound,
            // The table has no replica.
            name if name.ends_with("TableReplicaAutoScaling") => kind == ErrorKind::ResourceNotFound,
            // The table has no such destination.
            "DisableKinesisStreamingDestination" | "UpdateKinesisStreamingDestination" => {
                kind == ErrorKind::Validation
            }
            // Global tables of the first version are made no more.
            "CreateGlobalTable" => kind == ErrorKind::Validation,
            _ => found.contains(&kind),
        };
        let refused = answer.err().filter(|error| !is_found(error.kind));
        assert_eq!(refused, None, "{} {body}", operation.name());
    }
}

/// Sends requests until enough of them were wrong. Returns how many were.
async fn check(database: &Database, operation: Operation, seed: u64) -> usize {
    let mut vandal = Vandal { chance: Rng::with_seed(seed), members: members() };
    let right = bodies(operation.name());
    let mut wrong = 0;
    for _ in 0..REQUESTS_MAX {
        let number = vandal.chance.usize(0..right.len());
        let body = vandal.body(&right[number]);
        let shown = String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned();
        let described = format!("{} seed {seed}: {shown}", operation.name());
        let answer = tokio::spawn({
            let database = database.clone();
            async move { call(&database, operation, &body).await }
        });
        match answer.await.unwrap_or_else(|panic| panic!("{described}: {panic}")) {
            Ok(answer) => {
                let json = answer.is_empty() || serde_json::from_slice::<Value>(&answer).is_ok();
                assert!(json, "{described}: the answer is no JSON: {}", String::from_utf8_lossy(&answer));
                restore(database).await;
            }
            Err(error) => {
                let faults = [ErrorKind::InternalServerError, ErrorKind::ServiceUnavailable];
                assert!(!faults.contains(&error.kind), "{described}: {error}");
                let mut printed = Vec::new();
                error.write_json(Service::DynamoDb, &mut printed);
                let printed: Value = serde_json::from_slice(&printed).expect("an error is JSON");
                assert!(
                    printed["__type"].as_str().is_some_and(|name| name.contains('#')),
                    "{described}: {printed}"
                );
                wrong += 1;
            }
        }
        if wrong == WRONG {
            break;
        }
    }
    wrong
}

/// The database still does what it should.
async fn check_database(database: &Database) {
    let item = json!({"p": {"S": "after"}, "s": {"N": "1"}, "g": {"S": "after"}});
    let ask = |operation, body| async move {
        call_by_name(database, operation, body).await.unwrap_or_else(|error| panic!("{operation}: {error}"))
    };
    ask("PutItem", json!({"TableName": "Songs", "Item": item})).await;
    let found = ask(
        "GetItem",
        json!({
            "TableName": "Songs", "Key": {"p": {"S": "after"}, "s": {"N": "1"}}, "ConsistentRead": true,
        }),
    );
    assert_eq!(found.await["Item"], item);
    let found = database.verify().await.expect("the data is read");
    assert_eq!((found.faults, found.reports), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_wrong_requests_of_every_operation_are_the_clients_fault() {
    for (seed, operation) in (1..).zip(Operation::ALL) {
        check_right(*operation).await;
        let database = database().await;
        let wrong = check(&database, *operation, seed).await;
        // Requests without members have little that can be wrong.
        let few = bodies(operation.name()) == [json!({})];
        assert!(wrong == WRONG || few, "{}: only {wrong} requests were wrong", operation.name());
        check_database(&database).await;
    }
}
