//! Triggers as a whole: requests by REST, a stream in memory, functions behind real HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::host::MemoryRows;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use triggers::{Backoff, Destinations, Function, Functions, Namespace, Options, Triggers};

use crate::support::database::{Clock, MemoryStreams};
use crate::support::{FUNCTION, STREAM, TIMEOUT, host, numbers_of, until};

const MAPPINGS: &str = "/2015-03-31/event-source-mappings";

/// A database in memory. It outlives the triggers that are opened on it.
struct Database {
    clock: Arc<Clock>,
    streams: Arc<MemoryStreams>,
    rows: Arc<MemoryRows>,
}

impl Database {
    fn new() -> Database {
        let clock = Arc::new(Clock::default());
        let streams = Arc::new(MemoryStreams::new(clock.clone()));
        Database { clock, streams, rows: Arc::default() }
    }

    async fn open(&self, functions: &[&str], destinations: Destinations) -> Triggers {
        let functions = functions.iter().map(|text| Function::parse(text).expect("a function"));
        let backoff = Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(4) };
        let options = Options { functions: Functions::new(functions), destinations, backoff };
        let opened =
            Triggers::open(options, self.streams.clone(), self.rows.clone(), self.clock.clone()).await;
        opened.expect("the triggers open")
    }

    fn rows_of(&self, prefix: &str) -> usize {
        self.rows.0.lock().keys().filter(|name| name.starts_with(prefix)).count()
    }
}

fn namespace() -> Namespace {
    Namespace { account: "123456789012".into(), region: "us-east-1".into() }
}

/// The status, the name of the error and the body of an answer.
async fn send(triggers: &Triggers, method: &str, path: &str, body: Value) -> (u16, Option<String>, Value) {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let body = body.to_string();
    let response = triggers.answer(&namespace(), method, path, query, body.as_bytes()).await;
    let error = response.headers().get("x-amzn-errortype");
    let error = error.map(|name| name.to_str().expect("a name").to_owned());
    let body = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
    (response.status().as_u16(), error, body)
}

/// Sends a request that must succeed.
async fn ask(triggers: &Triggers, method: &str, path: &str, body: Value) -> Value {
    let (status, error, answer) = send(triggers, method, path, body).await;
    assert!(error.is_none() && status < 300, "{method} {path}: {status} {answer}");
    answer
}

/// Creates a mapping of the stream to the function `f` and returns its UUID.
async fn create(triggers: &Triggers, settings: Value) -> String {
    let mut body = json!({"FunctionName": "f", "EventSourceArn": STREAM, "StartingPosition": "TRIM_HORIZON"});
    let settings = settings.as_object().expect("settings").clone();
    body.as_object_mut().expect("an object").extend(settings);
    let answer = ask(triggers, "POST", MAPPINGS, body).await;
    answer["UUID"].as_str().expect("a UUID").to_owned()
}

async fn wait_for_state(triggers: &Triggers, uuid: &str, state: &str) {
    let path = format!("{MAPPINGS}/{uuid}");
    let shown = async || ask(triggers, "GET", &path, Value::Null).await["State"].take();
    until(&format!("it is {state}"), async || shown().await == state).await;
}

/// The numbers of the next records that the function gets, until there are this many.
async fn received(calls: &mut UnboundedReceiver<host::Call>, count: usize) -> Vec<u64> {
    let mut numbers = Vec::new();
    let receiving = async {
        while numbers.len() < count {
            numbers.extend(numbers_of(&calls.recv().await.expect("a call").event));
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, receiving).await.is_ok();
    assert!(in_time, "only {numbers:?} of {count}");
    numbers
}

/// Waits until the position of a shard is stored.
async fn wait_for_position(database: &Database, uuid: &str, shard: &str, number: u64) {
    let row = format!("trigger/position/{uuid}/{shard}");
    let number = crate::support::sequence_number(number);
    until(&format!("{row} is at {number}"), async || {
        let stored = database.rows.0.lock().get(&row).cloned();
        stored.is_some_and(|row| String::from_utf8_lossy(&row).contains(&number))
    })
    .await;
}

#[tokio::test]
async fn a_function_gets_the_records_of_its_stream_in_order() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let triggers = database.open(&[&format!("f=http://{address}")], Destinations::default()).await;
    (0..7).for_each(|_| {
        database.streams.write("shard-1", "a");
    });
    let uuid = create(&triggers, json!({})).await;
    assert_eq!(received(&mut calls, 7).await, [1, 2, 3, 4, 5, 6, 7]);
    database.streams.write("shard-1", "b");
    assert_eq!(received(&mut calls, 1).await, [8], "a write wakes the trigger");
    wait_for_position(&database, &uuid, "shard-1", 8).await;
    let mapping = ask(&triggers, "GET", &format!("{MAPPINGS}/{uuid}"), Value::Null).await;
    assert_eq!(mapping["LastProcessingResult"], "OK");
    let metrics = triggers.metrics();
    assert_eq!((metrics[0].function_name.as_str(), metrics[0].metrics.invoked_event_count), ("f", 8));
    triggers.close().await;
}

#[tokio::test]
async fn latest_is_the_time_of_the_create_call() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let triggers = database.open(&[&format!("f=http://{address}")], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    create(&triggers, json!({"StartingPosition": "LATEST", "Enabled": false})).await;
    let second = database.streams.write("shard-1", "a");
    let uuid = triggers.metrics()[0].uuid.clone();
    // It was disabled in between, and even so starts where it was created.
    ask(&triggers, "PUT", &format!("{MAPPINGS}/{uuid}"), json!({"Enabled": true})).await;
    assert_eq!(received(&mut calls, 1).await, [second]);
    // Children that appear later are read from their beginning.
    database.streams.split("shard-1", &["shard-2"]);
    let third = database.streams.write("shard-2", "a");
    assert_eq!(received(&mut calls, 1).await, [third]);
    triggers.close().await;
}

#[tokio::test]
async fn positions_survive_a_restart_and_disabling() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let function = format!("f=http://{address}");
    let triggers = database.open(&[&function], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    let uuid = create(&triggers, json!({})).await;
    assert_eq!(received(&mut calls, 1).await, [1]);
    wait_for_position(&database, &uuid, "shard-1", 1).await;
    triggers.close().await;

    database.streams.write("shard-1", "a");
    let triggers = database.open(&[&function], Destinations::default()).await;
    assert_eq!(received(&mut calls, 1).await, [2], "not the first again");
    wait_for_position(&database, &uuid, "shard-1", 2).await;

    let path = format!("{MAPPINGS}/{uuid}");
    let answer = ask(&triggers, "PUT", &path, json!({"Enabled": false})).await;
    assert_eq!(answer["State"], "Disabling");
    wait_for_state(&triggers, &uuid, "Disabled").await;
    database.streams.write("shard-1", "a");
    let answer = ask(&triggers, "PUT", &path, json!({"Enabled": true})).await;
    assert_eq!(answer["State"], "Enabling");
    assert_eq!(received(&mut calls, 1).await, [3]);
    triggers.close().await;
}

#[tokio::test]
async fn a_position_that_was_trimmed_goes_on_from_the_oldest_record() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let function = format!("f=http://{address}");
    let triggers = database.open(&[&function], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    let uuid = create(&triggers, json!({})).await;
    assert_eq!(received(&mut calls, 1).await, [1]);
    wait_for_position(&database, &uuid, "shard-1", 1).await;
    triggers.close().await;
    for _ in 0..3 {
        database.streams.write("shard-1", "a");
    }
    database.streams.trim("shard-1", 2);
    let triggers = database.open(&[&function], Destinations::default()).await;
    assert_eq!(received(&mut calls, 2).await, [3, 4]);
    triggers.close().await;
}

#[tokio::test]
async fn an_iterator_that_expired_is_made_again_after_the_last_record() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let triggers = database.open(&[&format!("f=http://{address}")], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    create(&triggers, json!({})).await;
    assert_eq!(received(&mut calls, 1).await, [1]);
    database.streams.expire_iterators();
    database.streams.write("shard-1", "a");
    assert_eq!(received(&mut calls, 1).await, [2]);
    triggers.close().await;
}

#[tokio::test]
async fn children_are_read_when_their_parents_are_delivered() {
    let database = Database::new();
    let is_failing = Arc::new(AtomicBool::new(true));
    let fails = is_failing.clone();
    let (address, mut calls) = host::serve(move |_| match fails.load(Ordering::SeqCst) {
        true => host::ok(r#"{"errorMessage":"no","errorType":"E"}"#),
        false => host::ok("null"),
    })
    .await;
    database.streams.write("shard-1", "a");
    database.streams.split("shard-1", &["shard-2", "shard-3"]);
    database.streams.write("shard-2", "a");
    database.streams.write("shard-3", "b");
    database.streams.split("shard-2", &["shard-4"]);
    database.streams.write("shard-4", "a");
    let triggers = database.open(&[&format!("f=http://{address}")], Destinations::default()).await;
    let uuid = create(&triggers, json!({})).await;
    assert_eq!(received(&mut calls, 4).await, [1, 1, 1, 1], "the parent alone is tried");
    is_failing.store(false, Ordering::SeqCst);
    wait_for_position(&database, &uuid, "shard-4", 4).await;
    wait_for_position(&database, &uuid, "shard-3", 3).await;
    triggers.close().await;
    let mut numbers = Vec::new();
    while let Ok(call) = calls.try_recv() {
        numbers.extend(numbers_of(&call.event));
    }
    numbers.retain(|number| *number != 1);
    numbers.dedup();
    let place = |number| numbers.iter().position(|found| *found == number);
    assert!(place(2) < place(4) && place(3).is_some() && numbers.len() == 3, "{numbers:?}");
}

#[tokio::test]
async fn batches_that_are_given_up_are_reported_as_files() {
    let database = Database::new();
    let folder = tempfile::tempdir().expect("a folder");
    let (address, mut calls) = host::serve(|call| match numbers_of(&call.event).contains(&1) {
        true => host::ok(r#"{"errorMessage":"no","errorType":"E"}"#),
        false => host::ok("null"),
    })
    .await;
    let function = format!("f=http://{address}");
    let triggers = database.open(&[&function], Destinations::in_folder(folder.path())).await;
    database.streams.write("shard-1", "a");
    let destination = json!({"OnFailure": {"Destination": "arn:aws:s3:::failures"}});
    let uuid = create(&triggers, json!({"MaximumRetryAttempts": 1, "DestinationConfig": destination})).await;
    assert_eq!(received(&mut calls, 2).await, [1, 1]);
    // The position passes the batch only after its report is written.
    wait_for_position(&database, &uuid, "shard-1", 1).await;
    let day = folder.path().join(format!("failures/aws/lambda/{uuid}/shard-1/2026/11/17"));
    let mut files = std::fs::read_dir(&day).expect("the folder of the day");
    let report = std::fs::read(files.next().expect("a report").expect("a file").path()).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(report["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(report["requestContext"]["approximateInvokeCount"], 2);
    assert_eq!(report["DDBStreamBatchInfo"]["batchSize"], 1);
    let payload = report["payload"].as_str().expect("the batch as text");
    assert_eq!(numbers_of(payload.as_bytes()), [1]);
    database.streams.write("shard-1", "a");
    assert_eq!(received(&mut calls, 1).await, [2]);
    wait_for_position(&database, &uuid, "shard-1", 2).await;
    let metrics = triggers.metrics()[0].metrics;
    assert_eq!((metrics.errors, metrics.dropped_event_count), (2, 1));
    assert_eq!(metrics.on_failure_destination_delivered_event_count, 1);
    triggers.close().await;
}

#[tokio::test]
async fn a_queue_is_a_file_of_lines() {
    let database = Database::new();
    let folder = tempfile::tempdir().expect("a folder");
    let triggers = database.open(&["f=exit 1"], Destinations::in_folder(folder.path())).await;
    database.streams.write("shard-1", "a");
    database.streams.write("shard-1", "a");
    let queue = "arn:aws:sqs:us-east-1:123456789012:dead-letters";
    let settings = json!({"MaximumRetryAttempts": 0, "BatchSize": 1,
                          "DestinationConfig": {"OnFailure": {"Destination": queue}}});
    let uuid = create(&triggers, settings).await;
    wait_for_position(&database, &uuid, "shard-1", 2).await;
    let text = std::fs::read_to_string(folder.path().join("dead-letters.sqs.jsonl")).expect("a file");
    let reports: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(reports.len(), 2);
    assert!(reports.iter().all(|report| report.get("payload").is_none()));
    triggers.close().await;
}

#[tokio::test]
async fn a_command_is_a_function_too() {
    let database = Database::new();
    let folder = tempfile::tempdir().expect("a folder");
    let events = folder.path().join("events");
    let command = format!("f=cat >> {}", events.display());
    let triggers = database.open(&[&command], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    let uuid = create(&triggers, json!({})).await;
    wait_for_position(&database, &uuid, "shard-1", 1).await;
    assert_eq!(numbers_of(&std::fs::read(events).expect("events")), [1]);
    triggers.close().await;
}

#[tokio::test]
async fn an_answer_has_every_setting_with_its_default() {
    let database = Database::new();
    let triggers = database.open(&["f=cat"], Destinations::default()).await;
    let body = json!({"FunctionName": "f:live", "EventSourceArn": STREAM, "StartingPosition": "LATEST",
                      "Tags": {"team": "orders"}});
    let (status, _, answer) = send(&triggers, "POST", MAPPINGS, body).await;
    assert_eq!(status, 202);
    let uuid = answer["UUID"].as_str().expect("a UUID").to_owned();
    let arn = format!("arn:aws:lambda:us-east-1:123456789012:event-source-mapping:{uuid}");
    let expected = json!({
        "UUID": uuid,
        "EventSourceMappingArn": arn,
        "EventSourceArn": STREAM,
        "FunctionArn": format!("{FUNCTION}:live"),
        "StartingPosition": "LATEST",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 0,
        "ParallelizationFactor": 1,
        "MaximumRecordAgeInSeconds": -1,
        "MaximumRetryAttempts": -1,
        "BisectBatchOnFunctionError": false,
        "TumblingWindowInSeconds": 0,
        "FunctionResponseTypes": [],
        "DestinationConfig": {"OnFailure": {}},
        "LastModified": answer["LastModified"],
        "LastProcessingResult": "No records processed",
        "State": "Creating",
        "StateTransitionReason": "User action",
    });
    assert_eq!(answer, expected);
    assert!(answer["LastModified"].is_f64(), "seconds since 1970 as a number");
    let mut settled = answer.clone();
    settled["State"] = json!("Enabled");
    assert_eq!(ask(&triggers, "GET", &format!("{MAPPINGS}/{uuid}"), Value::Null).await, settled);
    let tags = format!("/2017-03-31/tags/{}", arn.replace(':', "%3A"));
    assert_eq!(ask(&triggers, "GET", &tags, Value::Null).await, json!({"Tags": {"team": "orders"}}));
    assert_eq!(send(&triggers, "POST", &tags, json!({"Tags": {"a": "1", "b": "2"}})).await.0, 204);
    assert_eq!(
        send(&triggers, "DELETE", &format!("{tags}?tagKeys=a&tagKeys=team"), Value::Null).await.0,
        204
    );
    assert_eq!(ask(&triggers, "GET", &tags, Value::Null).await, json!({"Tags": {"b": "2"}}));
    triggers.close().await;
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_empties_what_it_empties() {
    let database = Database::new();
    let folder = tempfile::tempdir().expect("a folder");
    let triggers = database.open(&["f=cat", "g=cat"], Destinations::in_folder(folder.path())).await;
    let filters = json!({"Filters": [{"Pattern": r#"{"eventName":["INSERT"]}"#}]});
    let destination = json!({"OnFailure": {"Destination": "arn:aws:s3:::failures"}});
    let uuid = create(
        &triggers,
        json!({"Enabled": false, "BatchSize": 7, "FilterCriteria": filters, "DestinationConfig": destination}),
    )
    .await;
    let path = format!("{MAPPINGS}/{uuid}");
    let answer = ask(&triggers, "PUT", &path, json!({"MaximumRetryAttempts": 3, "FunctionName": "g"})).await;
    assert_eq!((&answer["BatchSize"], &answer["MaximumRetryAttempts"]), (&json!(7), &json!(3)));
    assert_eq!(answer["FilterCriteria"], filters);
    assert_eq!(answer["FunctionArn"], "arn:aws:lambda:us-east-1:123456789012:function:g");
    assert_eq!(answer["State"], "Updating");
    wait_for_state(&triggers, &uuid, "Disabled").await;
    let emptied = json!({"FilterCriteria": {}, "DestinationConfig": {"OnFailure": {"Destination": ""}}});
    let answer = ask(&triggers, "PUT", &path, emptied).await;
    assert_eq!(answer.get("FilterCriteria"), None);
    assert_eq!(answer["DestinationConfig"], json!({"OnFailure": {}}));
    triggers.close().await;
}

#[tokio::test]
async fn a_deleted_mapping_is_gone_with_its_positions() {
    let database = Database::new();
    let triggers = database.open(&["f=cat"], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    let uuid = create(&triggers, json!({})).await;
    wait_for_position(&database, &uuid, "shard-1", 1).await;
    let path = format!("{MAPPINGS}/{uuid}");
    let (status, _, answer) = send(&triggers, "DELETE", &path, Value::Null).await;
    assert_eq!((status, &answer["State"]), (202, &json!("Deleting")));
    let again = send(&triggers, "DELETE", &path, Value::Null).await;
    assert!(matches!(again.0, 400 | 404), "in use, or gone already: {again:?}");
    let is_gone = async || send(&triggers, "GET", &path, Value::Null).await.0 == 404;
    until("the mapping is gone", is_gone).await;
    assert_eq!(database.rows_of("trigger/"), 0);
    triggers.close().await;
}

#[tokio::test]
async fn requests_that_break_a_rule_are_refused_in_lambdas_words() {
    let database = Database::new();
    let triggers = database.open(&["f=cat"], Destinations::default()).await;
    let uuid = create(&triggers, json!({"Enabled": false})).await;
    let other_stream = STREAM.replace("2026", "2025");
    let body = |changes: Value| {
        let mut body =
            json!({"FunctionName": "f:other", "EventSourceArn": STREAM, "StartingPosition": "LATEST"});
        let changes = changes.as_object().expect("changes").clone();
        body.as_object_mut().expect("an object").extend(changes);
        body
    };
    let pattern = |text: &str| json!({"FilterCriteria": {"Filters": [{"Pattern": text}]}});
    let invalid = "InvalidParameterValueException";
    for (changes, status, name, message) in [
        (
            json!({"FunctionName": "f"}),
            409,
            "ResourceConflictException",
            format!(
                "The event source arn (\" {STREAM} \") and function (\" f \") provided mapping already exists. \
                 Please update or delete the existing mapping with UUID {uuid}"
            ),
        ),
        (
            json!({"FunctionName": "g"}),
            404,
            "ResourceNotFoundException",
            "Function not found: arn:aws:lambda:us-east-1:123456789012:function:g".to_owned(),
        ),
        (json!({"EventSourceArn": other_stream}), 400, invalid, format!("Stream not found: {other_stream}")),
        (
            json!({"StartingPosition": null}),
            400,
            invalid,
            "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint: \
             Member must not be null."
                .to_owned(),
        ),
        (pattern("{"), 400, invalid, "Invalid filter pattern definition.".to_owned()),
        (
            json!({"BatchSize": 10_001}),
            400,
            "ValidationException",
            "1 validation error detected: Value '10001' at 'batchSize' failed to satisfy constraint: Member \
             must have value less than or equal to 10000"
                .to_owned(),
        ),
        (
            json!({"MaximumRecordAgeInSeconds": 59}),
            400,
            invalid,
            "MaximumRecordAgeInSeconds must be -1 or between 60 and 604800.".to_owned(),
        ),
        (
            json!({"TumblingWindowInSeconds": 60, "ParallelizationFactor": 2}),
            400,
            invalid,
            "TumblingWindowInSeconds cannot be used with a ParallelizationFactor greater than 1.".to_owned(),
        ),
        (
            json!({"StartingPosition": "AT_TIMESTAMP"}),
            400,
            invalid,
            "Unsupported starting position for stream type: AT_TIMESTAMP".to_owned(),
        ),
        (
            json!({"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:s3:::b"}}}),
            400,
            invalid,
            "No folder for destinations is configured: start Lodestone with --s3 DIR to use arn:aws:s3:::b"
                .to_owned(),
        ),
    ] {
        let (found_status, found_name, answer) = send(&triggers, "POST", MAPPINGS, body(changes)).await;
        assert_eq!(answer["Message"], message);
        assert_eq!(answer["message"], message);
        assert_eq!((found_status, found_name.as_deref()), (status, Some(name)), "{message}");
    }
    let (status, name, answer) = send(&triggers, "GET", &format!("{MAPPINGS}/none"), Value::Null).await;
    assert_eq!((status, name.as_deref()), (404, Some("ResourceNotFoundException")));
    assert_eq!(answer["Message"], "The resource you requested does not exist.");
    assert_eq!(database.rows_of("trigger/mapping/"), 1, "nothing of a refused request is stored");
    triggers.close().await;
}

#[tokio::test]
async fn mappings_are_listed_page_by_page_and_by_stream_and_function() {
    let database = Database::new();
    let triggers = database.open(&["f=cat", "g=cat"], Destinations::default()).await;
    for name in ["f", "f:one", "g"] {
        create(&triggers, json!({"FunctionName": name, "Enabled": false})).await;
    }
    let list = |query: &str| {
        let path = format!("{MAPPINGS}?{query}");
        let triggers = &triggers;
        async move { ask(triggers, "GET", &path, Value::Null).await }
    };
    let first = list("MaxItems=2").await;
    assert_eq!(first["EventSourceMappings"].as_array().map(Vec::len), Some(2));
    let marker = first["NextMarker"].as_str().expect("a marker");
    let second = list(&format!("MaxItems=2&Marker={marker}")).await;
    assert_eq!(second["EventSourceMappings"].as_array().map(Vec::len), Some(1));
    assert_eq!(second.get("NextMarker"), None);
    for (query, count) in [
        ("FunctionName=f", 1),
        ("FunctionName=f:one", 1),
        ("FunctionName=arn:aws:lambda:us-east-1:123456789012:function:g", 1),
        ("FunctionName=h", 0),
        (&format!("EventSourceArn={STREAM}"), 3),
        ("EventSourceArn=arn:aws:dynamodb:us-east-1:123456789012:table/T/stream/x", 0),
    ] {
        let found = list(query).await["EventSourceMappings"].as_array().map(Vec::len);
        assert_eq!(found, Some(count), "{query}");
    }
    let elsewhere = Namespace { region: "eu-west-1".into(), ..namespace() };
    let response = triggers.answer(&elsewhere, "GET", MAPPINGS, None, b"").await;
    assert_eq!(response.body().as_ref(), br#"{"EventSourceMappings":[]}"#, "another Region has its own");
    triggers.close().await;
}

#[tokio::test]
async fn a_mapping_that_cannot_be_read_is_an_error_and_not_forgotten() {
    let database = Database::new();
    database.rows.0.lock().insert("trigger/mapping/broken".into(), b"{".to_vec());
    let opened = Triggers::open(
        Options::default(),
        database.streams.clone(),
        database.rows.clone(),
        database.clock.clone(),
    );
    let error = opened.await.err().expect("an error").to_string();
    assert!(error.starts_with("the row trigger/mapping/broken is not an event source mapping"), "{error}");
}

#[tokio::test]
async fn what_a_crash_left_of_a_deleted_mapping_is_removed() {
    let database = Database::new();
    database.rows.0.lock().insert("trigger/position/gone/shard-1".into(), b"{}".to_vec());
    let triggers = database.open(&[], Destinations::default()).await;
    assert_eq!(database.rows_of("trigger/"), 0);
    triggers.close().await;
}

#[tokio::test]
async fn a_function_that_is_no_longer_configured_holds_its_records() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let function = format!("f=http://{address}");
    let triggers = database.open(&[&function], Destinations::default()).await;
    let uuid = create(&triggers, json!({"MaximumRetryAttempts": 0})).await;
    triggers.close().await;
    let without = database.open(&[], Destinations::default()).await;
    database.streams.write("shard-1", "a");
    let path = format!("{MAPPINGS}/{uuid}");
    let problem = async || ask(&without, "GET", &path, Value::Null).await["LastProcessingResult"].take();
    until("the problem is shown", async || problem().await == "PROBLEM: Function call failed").await;
    without.close().await;
    let again = database.open(&[&function], Destinations::default()).await;
    assert_eq!(received(&mut calls, 1).await, [1]);
    again.close().await;
}

#[tokio::test]
async fn records_of_one_key_stay_in_order_in_parallel_delivery() {
    let database = Database::new();
    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let triggers = database.open(&[&format!("f=http://{address}")], Destinations::default()).await;
    for round in 0..20 {
        database.streams.write("shard-1", ["a", "b", "c", "d"][round % 4]);
    }
    let uuid = create(&triggers, json!({"ParallelizationFactor": 3, "BatchSize": 2})).await;
    let numbers = received(&mut calls, 20).await;
    for key in 0..4 {
        let of_key: Vec<u64> = numbers.iter().copied().filter(|number| (number - 1) % 4 == key).collect();
        assert!(of_key.is_sorted() && of_key.len() == 5, "{of_key:?}");
    }
    wait_for_position(&database, &uuid, "shard-1", 20).await;
    assert!(triggers.metrics()[0].metrics.invocations >= 10, "batches of two at most");
    triggers.close().await;
}
