//! The services of two servers on one store: both answer requests, one of them works, and the other takes over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Engine, Options};
use host::SharedRows;
use http::Request;
use serde_json::{Value, json};
use server::NeighbourService;
use store::memory::MemoryCluster;

use super::*;
use crate::autoscaling_service::{self, AutoScalingService};
use crate::cloudwatch_service::{self, CloudWatchService};
use crate::trigger_service::{self, TriggerService};

/// Far above what any step takes.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a server that was killed is waited for: long, so that a busy machine expels none that lives.
const SILENCE: Duration = Duration::from_secs(6);

async fn server(cluster: &MemoryCluster) -> Arc<Engine> {
    let options =
        Options { member_silence: SILENCE, member_poll: Duration::from_millis(5), ..Options::default() };
    let store = Arc::new(cluster.handle());
    Arc::new(Engine::open_with(store, Arc::new(lodestone::System), options).await.unwrap())
}

fn someone() -> Caller {
    Caller::new("123456789012", "us-east-1")
}

async fn dynamodb(engine: &Engine, operation: api::Operation, body: Value) -> Value {
    let request = api::Request::decode(operation, body.to_string().as_bytes()).unwrap();
    let mut json = Vec::new();
    engine.call(&someone(), request).await.unwrap().write_json(&mut json);
    serde_json::from_slice(&json).unwrap()
}

async fn create_table(engine: &Engine) -> Value {
    let table = json!({
        "TableName": "Orders",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    dynamodb(engine, api::Operation::CreateTable, table).await["TableDescription"].take()
}

async fn set_write_units(engine: &Engine, units: u64) {
    let throughput = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": units});
    let update = json!({"TableName": "Orders", "ProvisionedThroughput": throughput});
    dynamodb(engine, api::Operation::UpdateTable, update).await;
}

async fn ask(service: &dyn NeighbourService, request: http::request::Builder, body: &Value) -> Value {
    let request: Request<Bytes> = request.body(Bytes::from(body.to_string())).unwrap();
    let response = service.answer(someone(), request).await;
    let body = String::from_utf8_lossy(response.body()).into_owned();
    assert!(response.status().is_success(), "{} {body}", response.status());
    serde_json::from_str(&body).unwrap_or_default()
}

async fn cloudwatch(service: &CloudWatchService, operation: &str, body: Value) -> Value {
    let request = Request::post("/").header("content-type", "application/x-amz-json-1.0");
    let request = request.header("x-amz-target", format!("GraniteServiceVersion20100801.{operation}"));
    ask(service, request, &body).await
}

async fn scaling(service: &AutoScalingService, operation: &str, body: Value) -> Value {
    let request = Request::post("/").header("content-type", "application/x-amz-json-1.1");
    let request = request.header("x-amz-target", format!("AnyScaleFrontendService.{operation}"));
    ask(service, request, &body).await
}

/// Triggers whose function leaves each event as a file.
async fn triggers(engine: &Arc<Engine>, events: &Path) -> Arc<TriggerService> {
    let part = events.join("XXXXXX");
    let command = format!("f=part=$(mktemp {}) && cat > $part && mv $part $part.event", part.display());
    let functions = triggers::Functions::new([triggers::Function::parse(&command).unwrap()]);
    let options = triggers::Options { functions, ..triggers::Options::default() };
    trigger_service::open(engine.clone(), options).await.unwrap()
}

/// How often each item was delivered.
fn delivered(events: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in std::fs::read_dir(events).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none() {
            continue;
        }
        let event: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for record in event["Records"].as_array().unwrap() {
            let key = record["dynamodb"]["Keys"]["p"]["S"].as_str().unwrap();
            *counts.entry(key.to_owned()).or_default() += 1;
        }
    }
    counts
}

async fn until_delivered(events: &Path, count: usize) {
    let begun = Instant::now();
    while delivered(events).len() < count {
        assert!(begun.elapsed() < WAIT_MAX, "{count} items are delivered: {:?}", delivered(events));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn put(engines: &[&Arc<Engine>], numbers: std::ops::Range<usize>) {
    for number in numbers {
        let item = json!({"TableName": "Orders", "Item": {"p": {"S": number.to_string()}}});
        dynamodb(engines[number % engines.len()], api::Operation::PutItem, item).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_record_is_delivered_once_and_another_server_goes_on_when_one_leaves_or_dies() {
    let cluster = MemoryCluster::new();
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path();
    let [one, two] = [server(&cluster).await, server(&cluster).await];
    let of_one = triggers(&one, events).await;
    let of_two = triggers(&two, events).await;
    let stream = create_table(&one).await["LatestStreamArn"].take();
    // The trigger is made on the server that does not run it.
    let mapping = json!({"EventSourceArn": stream, "FunctionName": "f", "StartingPosition": "TRIM_HORIZON"});
    let path = "/2015-03-31/event-source-mappings/";
    let made = ask(&*of_two, Request::post(path), &mapping).await;
    let uuid = made["UUID"].as_str().unwrap();
    for service in [&of_one, &of_two] {
        let request = Request::get(format!("/2015-03-31/event-source-mappings/{uuid}"));
        assert_eq!(ask(&**service, request, &json!({})).await["State"], "Enabled");
    }
    put(&[&one, &two], 0..20).await;
    until_delivered(events, 20).await;
    of_one.0.close().await;
    one.close().await.unwrap();

    put(&[&two], 20..40).await;
    until_delivered(events, 40).await;
    let three = server(&cluster).await;
    let of_three = triggers(&three, events).await;
    put(&[&two, &three], 40..60).await;
    until_delivered(events, 60).await;
    assert!(delivered(events).values().all(|count| *count == 1), "{:?}", delivered(events));

    // Killed: it is not closed, and it sends nothing any more.
    drop((of_two, two));
    put(&[&three], 60..80).await;
    until_delivered(events, 80).await;
    of_three.0.close().await;
    three.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_evaluates_alarms_until_another_takes_over() {
    let cluster = MemoryCluster::new();
    let [one, two] = [server(&cluster).await, server(&cluster).await];
    let of_one = cloudwatch_service::read(one.clone()).await.unwrap();
    let of_two = cloudwatch_service::read(two.clone()).await.unwrap();
    let alarm = json!({
        "AlarmName": "throttled", "Namespace": "AWS/DynamoDB", "MetricName": "ThrottledRequests",
        "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1, "Threshold": 10,
        "ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "notBreaching",
    });
    cloudwatch(&of_two, "PutMetricAlarm", alarm).await;
    let state = async |service: &CloudWatchService| {
        let mut answer = cloudwatch(service, "DescribeAlarms", json!({})).await;
        answer["MetricAlarms"][0]["StateValue"].take()
    };
    let raise = json!({"AlarmName": "throttled", "StateValue": "ALARM", "StateReason": "by hand"});
    of_one.0.evaluate().await;
    assert_eq!(state(&of_two).await, "OK");

    cloudwatch(&of_two, "SetAlarmState", raise.clone()).await;
    of_two.0.evaluate().await;
    assert_eq!(state(&of_one).await, "ALARM", "the other server evaluates");
    of_one.0.evaluate().await;
    assert_eq!(state(&of_two).await, "OK");

    one.close().await.unwrap();
    cloudwatch(&of_two, "SetAlarmState", raise).await;
    of_two.0.evaluate().await;
    assert_eq!(state(&of_two).await, "OK");
    two.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_scales_until_another_takes_over() {
    let cluster = MemoryCluster::new();
    let [one, two] = [server(&cluster).await, server(&cluster).await];
    create_table(&one).await;
    let alarms = cloudwatch_service::read(two.clone()).await.unwrap();
    let alarms_of_one = cloudwatch_service::read(one.clone()).await.unwrap();
    let of_one = autoscaling_service::read(one.clone(), alarms_of_one.0.clone()).await.unwrap();
    let of_two = autoscaling_service::read(two.clone(), alarms.0.clone()).await.unwrap();
    of_one.0.scale().await;
    let target = |more: Value| {
        let mut body = json!({
            "ServiceNamespace": "dynamodb", "ResourceId": "table/Orders",
            "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let bounds = target(json!({"MinCapacity": 5, "MaxCapacity": 100}));
    scaling(&of_two, "RegisterScalableTarget", bounds).await;
    let metric = json!({"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"});
    let policy = json!({"TargetValue": 70.0, "PredefinedMetricSpecification": metric});
    let policy = target(json!({
        "PolicyName": "p", "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": policy,
    }));
    scaling(&of_two, "PutScalingPolicy", policy).await;
    // Each minute, the alarms of a policy are made to fit the units of its table.
    let threshold = async || {
        let answer = cloudwatch(&alarms, "DescribeAlarms", json!({})).await;
        let alarms = answer["MetricAlarms"].as_array().unwrap().clone();
        let is_meant = |alarm: &&Value| alarm["AlarmName"].as_str().unwrap().contains("-AlarmHigh-");
        alarms.iter().find(is_meant).unwrap()["Threshold"].as_f64().unwrap()
    };
    assert_eq!(threshold().await, 210.0);
    set_write_units(&two, 10).await;
    of_two.0.scale().await;
    assert_eq!(threshold().await, 210.0, "the other server scales");
    of_one.0.scale().await;
    assert_eq!(threshold().await, 420.0);

    one.close().await.unwrap();
    set_write_units(&two, 20).await;
    of_two.0.scale().await;
    assert_eq!(threshold().await, 840.0);
    two.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_does_not_undo_what_another_has_stored() {
    let cluster = MemoryCluster::new();
    let [one, two] = [server(&cluster).await, server(&cluster).await];
    let rows = |engine: &Arc<Engine>| SharedRows::new(Arc::new(OfEngine(engine.clone())), "test/");
    let (of_one, of_two) = (rows(&one), rows(&two));
    of_one.put("test/a", b"first".to_vec()).await.unwrap();
    assert!(of_two.put("test/a", b"made twice".to_vec()).await.is_err());
    of_two.load().await.unwrap();
    of_two.put("test/a", b"second".to_vec()).await.unwrap();
    assert!(of_one.put("test/a", b"from the first".to_vec()).await.is_err());
    assert!(of_one.delete("test/a").await.is_err());
    assert_eq!(of_one.load().await.unwrap(), [("test/a".to_owned(), b"second".to_vec())]);
    of_one.delete("test/a").await.unwrap();
    assert!(of_two.load().await.unwrap().is_empty());
    one.close().await.unwrap();
    two.close().await.unwrap();
}
