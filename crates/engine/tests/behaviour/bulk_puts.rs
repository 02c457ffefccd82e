use serde_json::{Value, json};

use crate::database::Database;
use crate::support::wait_for;

fn start(prefix: &str) -> Value {
    json!({
        "TableName": "Table",
        "InputS3Configuration": {"S3Bucket": "bucket", "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {
            "S3Bucket": "bucket", "S3KeyPrefix": "out/", "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
        },
    })
}

fn line(p: &str, value: u32) -> String {
    json!({"Item": {"p": {"S": p}, "s": {"S": "s"}, "v": {"N": value.to_string()}}}).to_string() + "\n"
}

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}})
}

/// Waits until the operation is over and returns its description.
async fn ended(database: &Database, arn: &Value) -> Value {
    wait_for(&format!("{arn} ends"), async || {
        let mut shown = database.ok("DescribeBulkOperation", json!({"BulkOperationArn": arn})).await;
        Some(shown["BulkOperationDescription"].take()).filter(|shown| shown.get("EndTime").is_some())
    })
    .await
}

async fn run(database: &Database, request: Value) -> Value {
    let begun = database.ok("StartBulkPutItems", request).await["BulkOperationDescription"].take();
    assert_eq!(begun["BulkOperationStatus"], "IN_PROGRESS");
    ended(database, &begun["BulkOperationArn"]).await
}

#[tokio::test]
async fn the_items_of_all_objects_are_put_into_the_table() {
    let database = Database::with_buckets(&["bucket"]).await;
    database.with_table("Table").await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "s"}, "old": {"S": "item"}})).await;
    database.write_object("bucket/in/1.json", &(line("a", 1) + &line("b", 2)));
    database.write_object("bucket/in/2.json", &line("c", 3));
    database.write_object("bucket/other.json", &line("d", 4));
    let done = run(&database, start("in/")).await;
    assert_eq!(
        (&done["BulkOperationStatus"], &done["ProcessedItemCount"], &done["FailedItemCount"]),
        (&json!("COMPLETED"), &json!(3), &json!(0)),
        "{done}"
    );
    assert_eq!(done["ProcessedInputBytes"], done["TotalInputBytes"]);
    assert_eq!(done["PerformanceTier"], "STANDARD");
    let bytes = &done["BulkOperationUsage"][0];
    assert_eq!((&bytes["BulkPutBytes"], &bytes["Table"]["BulkPutBytes"]), (&json!(21), &json!(21)));
    let found = database.get(key("a")).await;
    assert_eq!((&found["v"], found.get("old")), (&json!({"N": "1"}), None), "an item is replaced");
    assert_eq!(database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 3);
}

#[tokio::test]
async fn conditions_and_errors_are_counted_and_reported_each_in_its_file() {
    let database = Database::with_buckets(&["bucket"]).await;
    database.with_table("Table").await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "s"}, "v": {"N": "7"}})).await;
    let conditional = |p: &str, condition: &str| {
        let mut record: Value = serde_json::from_str(&line(p, 9)).unwrap();
        record["ConditionExpression"] = json!(condition);
        record.to_string() + "\n"
    };
    let content = conditional("a", "attribute_not_exists(p)")
        + &conditional("b", "attribute_not_exists(p)")
        + &conditional("c", "not a condition")
        + "{\"Item\":{\"p\":{\"S\":\"d\"}}}\n"
        + "no json\n"
        + &line("never", 1);
    database.write_object("bucket/in/1.json", &content);
    let done = run(&database, start("in/")).await;
    assert_eq!(
        (&done["BulkOperationStatus"], &done["ProcessedItemCount"], &done["FailedItemCount"]),
        (&json!("COMPLETED_WITH_ERRORS"), &json!(5), &json!(3)),
        "{done}"
    );
    assert_eq!(database.get(key("a")).await["v"], json!({"N": "7"}));
    assert_eq!(database.get(key("b")).await["v"], json!({"N": "9"}));

    let id = done["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let manifest: Value =
        serde_json::from_str(&database.read_object(&format!("bucket/out/{id}/manifest.json"))).unwrap();
    assert_eq!(
        (&manifest["failedItemCount"], &manifest["conditionCheckFailureCount"]),
        (&json!(3), &json!(1))
    );
    let report = |name: &str| -> Vec<Value> {
        let file = format!("out/{id}/{name}/{:012}.json", 5);
        assert!(manifest["files"].as_array().unwrap().contains(&json!(file)), "{manifest}");
        let text = database.read_object(&format!("bucket/{file}"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let errors = report("errors");
    let places: Vec<&Value> = errors.iter().map(|line| &line["itemS3Pointer"]["itemIndex"]).collect();
    assert_eq!(places, [2, 3, 4]);
    let failures = report("condition-check-failures");
    assert_eq!(
        (&failures[0]["Item"]["v"]["N"], &failures[0]["ExistingItem"]["v"]["N"]),
        (&json!("9"), &json!("7"))
    );
}

#[tokio::test]
async fn a_bulk_put_goes_on_after_a_restart_and_takes_its_own_items_for_none() {
    let database = Database::with_buckets(&["bucket"]).await;
    database.with_table("Table").await;
    let mut content = String::new();
    for p in 0..2000 {
        let mut record: Value = serde_json::from_str(&line(&format!("p{p}"), p)).unwrap();
        record["ConditionExpression"] = json!("attribute_not_exists(p)");
        content += &(record.to_string() + "\n");
    }
    database.write_object("bucket/in.json", &content);
    let begun = database.ok("StartBulkPutItems", start("in.json")).await["BulkOperationDescription"].take();
    let arn = begun["BulkOperationArn"].clone();
    for _ in 0..10_000 {
        if database.ok("Scan", json!({"TableName": "Table", "Select": "COUNT"})).await["Count"] != json!(0) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let database = database.restarted_with_buckets().await;
    let done = ended(&database, &arn).await;
    assert_eq!(
        (&done["BulkOperationStatus"], &done["ProcessedItemCount"]),
        (&json!("COMPLETED"), &json!(2000)),
        "{done}"
    );
    let id = arn.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let manifest: Value =
        serde_json::from_str(&database.read_object(&format!("bucket/out/{id}/manifest.json"))).unwrap();
    assert_eq!(manifest["conditionCheckFailureCount"], 0, "{manifest}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_bulk_put_ends_and_keeps_what_it_wrote() {
    let database = Database::with_buckets(&["bucket"]).await;
    database.with_table("Table").await;
    let content: String = (0..3000).map(|p| line(&format!("p{p}"), p)).collect();
    database.write_object("bucket/in.json", &content);
    // The clock does not move, so the operation waits for its second units.
    let mut request = start("in.json");
    request["MaxWriteRequestUnits"] = json!(1024);
    let begun = database.ok("StartBulkPutItems", request).await["BulkOperationDescription"].take();
    let arn = &begun["BulkOperationArn"];
    let cancelled = database.ok("CancelBulkOperation", json!({"BulkOperationArn": arn})).await;
    assert_eq!(cancelled["BulkOperationStatus"], "CANCELLING");
    let done = ended(&database, arn).await;
    assert_eq!(done["BulkOperationStatus"], "CANCELLED", "{done}");
    assert!(done["FailureMessage"].is_string() && done["FailureCode"].is_string(), "{done}");
    let written =
        database.ok("Scan", json!({"TableName": "Table", "Select": "COUNT"})).await["Count"].clone();
    assert_eq!(written, done["ProcessedItemCount"]);
    assert!(written.as_u64().unwrap() < 3000);
    let listed = database.ok("ListBulkOperations", json!({})).await;
    let listed = listed["BulkOperationsSummaryList"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["BulkOperationStatus"]), (1, &json!("CANCELLED")));
}

#[tokio::test]
async fn a_token_starts_one_operation_and_bad_requests_say_why() {
    let database = Database::with_buckets(&["bucket"]).await;
    database.with_table("Table").await;
    database.write_object("bucket/in/1.json", &line("a", 1));
    let mut request = start("in/");
    request["ClientToken"] = json!("token");
    let first = database.ok("StartBulkPutItems", request.clone()).await["BulkOperationDescription"].take();
    ended(&database, &first["BulkOperationArn"]).await;
    let again = database.ok("StartBulkPutItems", request.clone()).await["BulkOperationDescription"].take();
    assert_eq!(first["BulkOperationArn"], again["BulkOperationArn"]);
    request["TableName"] = json!("Other");
    let refused = database.call("StartBulkPutItems", request).await.unwrap_err();
    assert_eq!(refused.name, "IdempotentParameterMismatchException");

    let mut missing = start("in/");
    missing["TableName"] = json!("Missing");
    let message = "Requested resource not found: Table: Missing not found";
    database.refused("StartBulkPutItems", missing, "ResourceNotFoundException", message).await;
    let mut elsewhere = start("in/");
    elsewhere["InputS3Configuration"]["S3Bucket"] = json!("nowhere");
    let failed = run(&database, elsewhere).await;
    assert_eq!(
        (&failed["BulkOperationStatus"], &failed["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket")),
        "{failed}"
    );
    let arn = format!("{}x", first["BulkOperationArn"].as_str().unwrap());
    for operation in ["DescribeBulkOperation", "CancelBulkOperation"] {
        let refused = database.call(operation, json!({"BulkOperationArn": arn})).await.unwrap_err();
        assert_eq!(refused.name, "ResourceNotFoundException");
    }
    let page = database.ok("ListBulkOperations", json!({"MaxResults": 1})).await;
    assert_eq!(page["BulkOperationsSummaryList"].as_array().unwrap().len(), 1);
    let rest = json!({"MaxResults": 1, "NextToken": page["NextToken"]});
    let rest = database.ok("ListBulkOperations", rest).await;
    assert_eq!(
        (rest["BulkOperationsSummaryList"].as_array().unwrap().len(), rest.get("NextToken")),
        (1, None)
    );
}
