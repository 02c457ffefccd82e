use serde_json::{Value, json};

use crate::database::Database;
use crate::support::wait_for;

fn item(p: u32, value: u32) -> Value {
    json!({"p": {"S": format!("p{p}")}, "s": {"S": "s"}, "v": {"N": value.to_string()}, "t": {"SS": ["x", "y"]}})
}

async fn with_recovery(database: &Database) -> String {
    database.with_table("Table").await;
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    database
        .ok(
            "UpdateContinuousBackups",
            json!({"TableName": "Table", "PointInTimeRecoverySpecification": specification}),
        )
        .await;
    let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await;
    table["Table"]["TableArn"].as_str().unwrap().to_owned()
}

/// Waits until an export or import is over and returns its description.
async fn ended(database: &Database, operation: &str, arn: &Value) -> Value {
    let (member, key) = match operation {
        "DescribeExport" => ("ExportDescription", "ExportArn"),
        _ => ("ImportTableDescription", "ImportArn"),
    };
    wait_for(&format!("{arn} ends"), async || {
        let description = database.ok(operation, json!({key: arn})).await[member].take();
        let status = description.get("ExportStatus").or(description.get("ImportStatus"));
        status.is_some_and(|status| status != "IN_PROGRESS").then_some(description)
    })
    .await
}

async fn export(database: &Database, mut request: Value, arn: &str) -> Value {
    request["TableArn"] = json!(arn);
    request["S3Bucket"] = json!("bucket");
    let begun = database.ok("ExportTableToPointInTime", request).await["ExportDescription"].take();
    assert_eq!(begun["ExportStatus"], "IN_PROGRESS");
    ended(database, "DescribeExport", &begun["ExportArn"]).await
}

async fn items(database: &Database, table: &str) -> Vec<Value> {
    let page = database.ok("Scan", json!({"TableName": table})).await;
    let mut items = page["Items"].as_array().unwrap().clone();
    items.sort_by_key(|item| item["p"]["S"].as_str().unwrap().to_owned());
    items
}

fn import_of(name: &str, prefix: &str, format: &str) -> Value {
    json!({
        "S3BucketSource": {"S3Bucket": "bucket", "S3KeyPrefix": prefix},
        "InputFormat": format,
        "InputCompressionType": "GZIP",
        "TableCreationParameters": {
            "TableName": name,
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"},
                {"AttributeName": "s", "AttributeType": "S"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    })
}

#[tokio::test]
async fn an_export_becomes_the_same_table_again_in_both_formats() {
    let database = &Database::with_buckets(&["bucket"]).await;
    let arn = &with_recovery(database).await;
    for p in 0..40 {
        database.put(item(p, p)).await;
    }
    let expected = items(database, "Table").await;
    database.pass_ms(2000);
    database.put(item(1, 99)).await;
    database.pass_ms(2000);
    for format in ["DYNAMODB_JSON", "ION"] {
        let done = export(database, json!({"ExportFormat": format, "ExportTime": 1_800_000_001}), arn).await;
        assert_eq!((&done["ExportStatus"], &done["ItemCount"]), (&json!("COMPLETED"), &json!(40)), "{done}");
        let manifest = done["ExportManifest"].as_str().unwrap();
        let prefix = manifest.replace("manifest-summary.json", "data/");
        let begun = database.ok("ImportTable", import_of(format, &prefix, format)).await;
        let done = ended(database, "DescribeImport", &begun["ImportTableDescription"]["ImportArn"]).await;
        assert_eq!(
            (&done["ImportStatus"], &done["ImportedItemCount"]),
            (&json!("COMPLETED"), &json!(40)),
            "{done}"
        );
        assert_eq!(items(database, format).await, expected);
    }
    let listed = database.ok("ListExports", json!({"TableArn": arn})).await;
    assert_eq!(listed["ExportSummaries"].as_array().unwrap().len(), 2);
    assert_eq!(database.ok("ListImports", json!({})).await["ImportSummaryList"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_incremental_export_has_one_line_for_each_item_that_changed() {
    let database = &Database::with_buckets(&["bucket"]).await;
    let arn = &with_recovery(database).await;
    database.put(item(1, 1)).await;
    database.put(item(2, 1)).await;
    database.pass_ms(60_000);
    database.put(item(1, 2)).await;
    database.put(item(1, 3)).await;
    database
        .ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "p2"}, "s": {"S": "s"}}}))
        .await;
    database.put(item(3, 1)).await;
    database.put(item(4, 1)).await;
    database
        .ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "p4"}, "s": {"S": "s"}}}))
        .await;
    database.pass_ms(30 * 60_000);
    let period = json!({"ExportFromTime": 1_800_000_030, "ExportToTime": 1_800_001_200});
    let request = json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": period});
    let done = export(database, request, arn).await;
    assert_eq!((&done["ExportStatus"], &done["ItemCount"]), (&json!("COMPLETED"), &json!(3)), "{done}");
}

#[tokio::test]
async fn a_filter_chooses_items_and_attributes() {
    let database = &Database::with_buckets(&["bucket"]).await;
    let arn = &with_recovery(database).await;
    for p in 0..20 {
        database.put(item(p, p)).await;
    }
    let filter = json!({"FilterExpression": "v >= :v", "ProjectionExpression": "p, s, v",
        "ExpressionAttributeValues": {":v": {"N": "15"}}});
    let done = export(database, json!({"FilterSpecification": filter}), arn).await;
    assert_eq!(done["ItemCount"], 5, "{done}");
}

#[tokio::test]
async fn what_cannot_be_exported_or_imported_says_why() {
    let database = &Database::with_buckets(&["bucket"]).await;
    let arn = &with_recovery(database).await;
    database.put(item(1, 1)).await;
    let request = json!({"TableArn": arn, "S3Bucket": "missing"});
    let begun = database.ok("ExportTableToPointInTime", request).await["ExportDescription"].take();
    let failed = ended(database, "DescribeExport", &begun["ExportArn"]).await;
    assert_eq!(
        (&failed["ExportStatus"], &failed["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket"))
    );
    assert!(failed["FailureMessage"].as_str().unwrap().contains("bucket does not exist"), "{failed}");

    let mut import = import_of("Imported", "", "DYNAMODB_JSON");
    import["S3BucketSource"]["S3Bucket"] = json!("missing");
    let begun = database.ok("ImportTable", import).await;
    let failed = ended(database, "DescribeImport", &begun["ImportTableDescription"]["ImportArn"]).await;
    assert_eq!(
        (&failed["ImportStatus"], &failed["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket"))
    );
    let missing = database.call("DescribeTable", json!({"TableName": "Imported"})).await;
    assert_eq!(missing.unwrap_err().name, "ResourceNotFoundException");

    let same = json!({"TableArn": arn, "S3Bucket": "bucket", "ClientToken": "token"});
    let first = database.ok("ExportTableToPointInTime", same.clone()).await;
    let second = database.ok("ExportTableToPointInTime", same).await;
    assert_eq!(first["ExportDescription"]["ExportArn"], second["ExportDescription"]["ExportArn"]);
    let other = json!({"TableArn": arn, "S3Bucket": "bucket", "ClientToken": "token", "S3Prefix": "other"});
    database
        .refused(
            "ExportTableToPointInTime",
            other,
            "ExportConflictException",
            "Export conflict: Duplicate request detected with conflicting parameters",
        )
        .await;
}

#[tokio::test]
async fn lines_that_are_no_items_are_counted_and_the_rest_is_imported() {
    let database = &Database::with_buckets(&["bucket"]).await;
    database.write_object("bucket/in/a.csv", "p,s,n\nx,1,7\ny,2,8\n,3,9\n");
    let mut request = import_of("Imported", "in/", "CSV");
    request["InputCompressionType"] = json!("NONE");
    let begun = database.ok("ImportTable", request).await;
    let done = ended(database, "DescribeImport", &begun["ImportTableDescription"]["ImportArn"]).await;
    assert_eq!(
        (&done["ImportStatus"], &done["FailureCode"]),
        (&json!("FAILED"), &json!("ItemValidationError")),
        "{done}"
    );
    assert_eq!(
        (&done["ProcessedItemCount"], &done["ImportedItemCount"], &done["ErrorCount"]),
        (&json!(3), &json!(2), &json!(1))
    );
    let found = items(database, "Imported").await;
    assert_eq!(found[0], json!({"p": {"S": "x"}, "s": {"S": "1"}, "n": {"S": "7"}}));
}
