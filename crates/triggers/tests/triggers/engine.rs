//! Triggers on a real engine: items are written, functions get the records of its streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::host::MemoryRows;
use api::streams::{
    DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput, GetShardIteratorInput,
    GetShardIteratorOutput,
};
use api::{Error, Input, Operation, Request, Response};
use async_trait::async_trait;
use engine::{Caller, Engine};
use serde_json::{Value, json};
use store::memory::MemoryStore;
use tokio::sync::watch;
use triggers::{
    Destinations, Environment, Function, Functions, Namespace, Options, Sleep, Streams, Triggers,
};

use crate::support::{TIMEOUT, host};

const ACCOUNT: &str = "123456789012";
const REGION: &str = "us-east-1";

/// The streams of an engine, with a sign that is given by the test.
struct EngineStreams {
    engine: Engine,
    changes: watch::Sender<u64>,
}

impl EngineStreams {
    async fn call<I>(&self, namespace: &Namespace, input: I) -> Result<I::Output, Error>
    where
        I: Input<Request = api::streams::Request, Response = api::streams::Response>,
    {
        let caller = Caller::new(namespace.account.clone(), namespace.region.clone());
        let response = self.engine.call_streams(&caller, input.into_request()).await?;
        Ok(I::output(response).expect("an operation answers with its own output"))
    }

    /// A request to DynamoDB.
    async fn send(&self, operation: Operation, body: Value) -> Value {
        let request = Request::decode(operation, body.to_string().as_bytes()).expect("a request");
        let response: Response =
            self.engine.call(&Caller::new(ACCOUNT, REGION), request).await.expect("an answer");
        self.changes.send_modify(|count| *count += 1);
        let mut out = Vec::new();
        response.write_json(&mut out);
        serde_json::from_slice(&out).unwrap_or(Value::Null)
    }
}

#[async_trait]
impl Streams for EngineStreams {
    async fn describe_stream(
        &self,
        namespace: &Namespace,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, Error> {
        self.call(namespace, input).await
    }

    async fn get_shard_iterator(
        &self,
        namespace: &Namespace,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, Error> {
        self.call(namespace, input).await
    }

    async fn get_records(
        &self,
        namespace: &Namespace,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, Error> {
        self.call(namespace, input).await
    }

    fn changed(&self, _stream_arn: &str) -> Sleep {
        let mut changes = self.changes.subscribe();
        Box::pin(async move {
            // The sender lives as long as the stream.
            let _ = changes.changed().await;
        })
    }
}

/// One clock for the engine and the triggers. It goes on by a millisecond whenever it is read.
struct Clock(AtomicU64);

impl Clock {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.next()
    }

    fn random(&self) -> u128 {
        u128::from(self.next())
    }
}

#[tokio::test]
async fn a_function_gets_what_is_written_to_a_table_from_then_on() {
    let clock = Arc::new(Clock(AtomicU64::new(1_794_878_400_000)));
    let engine = Engine::open(Arc::new(MemoryStore::default()), clock.clone()).await.expect("an engine");
    let streams = Arc::new(EngineStreams { engine, changes: watch::channel(0).0 });
    let table = json!({
        "TableName": "Orders",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    let table = streams.send(Operation::CreateTable, table).await;
    let stream_arn = table["TableDescription"]["LatestStreamArn"].as_str().expect("a stream").to_owned();
    let put = |key: &str, status: &str| {
        let item = json!({"pk": {"S": key}, "status": {"S": status}});
        json!({"TableName": "Orders", "Item": item})
    };
    streams.send(Operation::PutItem, put("before", "NEW")).await;

    let (address, mut calls) = host::serve(|_| host::ok("null")).await;
    let function = Function::parse(&format!("f=http://{address}")).expect("a function");
    let options = Options {
        functions: Functions::new([function]),
        destinations: Destinations::default(),
        ..Options::default()
    };
    let rows = Arc::new(MemoryRows::default());
    let triggers =
        Triggers::open(options, streams.clone(), rows.clone(), clock.clone()).await.expect("triggers");
    let namespace = Namespace { account: ACCOUNT.into(), region: REGION.into() };
    let filter =
        json!({"dynamodb": {"NewImage": {"status": {"S": [{"anything-but": "DRAFT"}]}}}}).to_string();
    let mapping = json!({"FunctionName": "f", "EventSourceArn": stream_arn, "StartingPosition": "LATEST",
                         "BatchSize": 1, "FilterCriteria": {"Filters": [{"Pattern": filter}, {"Pattern": "{\"eventName\":[\"REMOVE\"]}"}]}});
    let path = "/2015-03-31/event-source-mappings";
    let answer = triggers.answer(&namespace, "POST", path, None, mapping.to_string().as_bytes()).await;
    assert_eq!(answer.status(), 202, "{:?}", answer.body());

    streams.send(Operation::PutItem, put("a", "NEW")).await;
    streams.send(Operation::PutItem, put("a", "DRAFT")).await;
    streams.send(Operation::PutItem, put("a", "SHIPPED")).await;
    streams.send(Operation::DeleteItem, json!({"TableName": "Orders", "Key": {"pk": {"S": "a"}}})).await;

    let mut seen = Vec::new();
    while seen.len() < 3 {
        let call =
            tokio::time::timeout(TIMEOUT, calls.recv()).await.expect("a call in time").expect("a call");
        let event: Value = serde_json::from_slice(&call.event).expect("JSON");
        let record = event["Records"][0].clone();
        assert_eq!(record["eventSourceARN"], stream_arn);
        assert_eq!(record["dynamodb"]["Keys"], json!({"pk": {"S": "a"}}));
        let status = record["dynamodb"]["NewImage"]["status"]["S"].clone();
        seen.push((record["eventName"].clone(), status));
    }
    assert_eq!(
        seen,
        [
            (json!("INSERT"), json!("NEW")),
            (json!("MODIFY"), json!("SHIPPED")),
            (json!("REMOVE"), Value::Null)
        ]
    );
    triggers.close().await;
    streams.engine.close().await.expect("the engine closes");
}
