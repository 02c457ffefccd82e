//! Kinesis streaming destinations of a running server: a file, an HTTP endpoint, and one that speaks PutRecords.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use client::Credentials;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::{Server, call};
use crate::support::until;

const ARN: &str = "arn:aws:kinesis:us-east-1:000000000000:stream/orders";
const KEYS: usize = 5;

/// A request as it came in.
struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// The answer's status and body.
type Answer = (u16, String);

/// A small HTTP server. It answers in the order of requests, whichever connection they come on.
fn receiver(answer: impl FnMut(Request) -> Answer + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let answer = Arc::new(Mutex::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || while serve(&stream, &answer).is_some() {});
        }
    });
    address.to_string()
}

/// One request of a connection; none when it has ended.
fn serve(stream: &TcpStream, answer: &Mutex<impl FnMut(Request) -> Answer>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let request = Request { line: line.trim_end().to_owned(), headers, body };
    let (status, text) = (answer.lock().expect("no panic"))(request);
    let length = text.len();
    let head = format!("HTTP/1.1 {status} x\r\nContent-Type: application/x-amz-json-1.1\r\n");
    let mut stream = stream;
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{text}").ok()
}

fn with_table(server: &Server) {
    call(
        &server.url,
        "CreateTable",
        r#"{"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}"#,
    );
    let input = json!({"TableName": "Orders", "StreamArn": stream_arn(server)});
    call(&server.url, "EnableKinesisStreamingDestination", &input.to_string());
}

/// The stream's ARN in the account that the server has for unsigned tests.
fn stream_arn(server: &Server) -> String {
    let table = call(&server.url, "DescribeTable", r#"{"TableName": "Orders"}"#);
    let account = table.split("arn:aws:dynamodb:us-east-1:").nth(1).and_then(|rest| rest.split(':').next());
    ARN.replace("000000000000", account.expect("the ARN of the table"))
}

/// Writes these versions of all keys.
fn write(server: &Server, versions: std::ops::Range<usize>) {
    for version in versions {
        for key in 0..KEYS {
            let item = json!({"pk": {"S": key.to_string()}, "version": {"N": version.to_string()}});
            let input = json!({"TableName": "Orders", "Item": item});
            call(&server.url, "PutItem", &input.to_string());
        }
    }
}

/// The versions of each key in the order in which they first came.
fn versions(records: &[Value]) -> BTreeMap<String, Vec<usize>> {
    let (mut seen, mut found) = (BTreeSet::new(), BTreeMap::<String, Vec<usize>>::new());
    for record in records.iter().filter(|record| seen.insert(record["eventID"].to_string())) {
        let image = &record["dynamodb"]["NewImage"];
        let version = image["version"]["N"].as_str().expect("a number").parse().expect("a number");
        found.entry(image["pk"]["S"].as_str().expect("a key").to_owned()).or_default().push(version);
    }
    found
}

/// Waits until all versions of all keys are there, and checks their order.
fn check_all(records: impl Fn() -> Vec<Value>, count: usize) {
    let expected: Vec<usize> = (0..count).collect();
    let mut found = BTreeMap::new();
    until("all versions have come", || {
        found = versions(&records());
        found.len() == KEYS && found.values().all(|versions| versions.len() >= count)
    });
    assert!(found.values().all(|versions| *versions == expected), "{found:?}");
}

/// The whole lines of a file.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_file_gets_every_change_in_order_also_if_the_server_is_killed() {
    let folder = TempDir::new().expect("a folder");
    let (data, file) = (folder.path().join("data"), folder.path().join("orders.jsonl"));
    let destination = format!("orders=file:{}", file.display());
    let arguments = ["--data", data.to_str().expect("text"), "--kinesis", &destination];
    let server = Server::run(&arguments);
    with_table(&server);
    write(&server, 0..20);
    // Killed while it may be delivering.
    drop(server);
    let mut torn =
        std::fs::OpenOptions::new().append(true).create(true).open(&file).expect("the folder is ours");
    torn.write_all(br#"{"awsRegion":"us-ea"#).expect("there is room");
    let server = Server::run(&arguments);
    write(&server, 20..40);
    check_all(|| lines(&file), 40);
    let record = lines(&file).remove(0);
    assert_eq!((&record["eventSource"], &record["tableName"]), (&json!("aws:dynamodb"), &json!("Orders")));
}

#[test]
fn an_http_endpoint_gets_arrays_of_records_until_it_takes_them() {
    let taken: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (records, mut requests) = (taken.clone(), 0);
    let address = receiver(move |request| {
        requests += 1;
        assert_eq!(request.line, "POST /hooks/orders HTTP/1.1");
        if requests <= 2 {
            return (503, String::new());
        }
        let body: Vec<Value> = serde_json::from_slice(&request.body).expect("an array");
        records.lock().expect("no panic").extend(body);
        (204, String::new())
    });
    let server = Server::start(&["--kinesis", &format!("orders=http://{address}/hooks/orders")]);
    with_table(&server);
    write(&server, 0..10);
    check_all(|| taken.lock().expect("no panic").clone(), 10);
}

#[test]
fn an_endpoint_of_kinesis_gets_signed_records_and_again_those_that_it_refused() {
    let credentials = Credentials {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: "a-secret".to_owned(),
        session_token: None,
    };
    let taken: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (records, mut count) = (taken.clone(), 0);
    let address = receiver(move |request| {
        check_signature(&request, &credentials);
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body["StreamName"], "orders");
        let entries = body["Records"].as_array().expect("records");
        let mut results = Vec::new();
        for entry in entries {
            // Every third record has to come again.
            count += 1;
            if count % 3 == 0 {
                let code = "ProvisionedThroughputExceededException";
                results.push(json!({"ErrorCode": code, "ErrorMessage": "Rate exceeded for shard"}));
                continue;
            }
            let data = BASE64_STANDARD.decode(entry["Data"].as_str().expect("text")).expect("base64");
            assert_eq!(entry["PartitionKey"].as_str().map(str::len), Some(32));
            records.lock().expect("no panic").push(serde_json::from_slice(&data).expect("JSON"));
            results.push(json!({"SequenceNumber": count.to_string(), "ShardId": "shardId-000000000000"}));
        }
        let failed = results.iter().filter(|result| result["ErrorCode"].is_string()).count();
        (200, json!({"FailedRecordCount": failed, "Records": results}).to_string())
    });
    let destination = format!("orders=kinesis+http://{address}");
    let variables = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "a-secret")];
    let server = Server::run_with(&["--in-memory", "--kinesis", &destination], &variables);
    with_table(&server);
    write(&server, 0..20);
    check_all(|| taken.lock().expect("no panic").clone(), 20);
}

/// Signs the request again and compares.
fn check_signature(request: &Request, credentials: &Credentials) {
    assert_eq!(request.line, "POST / HTTP/1.1");
    let header = |name: &str| request.headers[name].clone();
    assert_eq!(header("x-amz-target"), "Kinesis_20131202.PutRecords");
    assert_eq!(header("content-type"), "application/x-amz-json-1.1");
    let names = ["content-type", "host", "x-amz-date", "x-amz-target"];
    let signed: Vec<(&str, String)> = names.iter().map(|name| (*name, header(name))).collect();
    let expected = client::authorization(credentials, ("us-east-1", "kinesis"), "/", &signed, &request.body);
    assert_eq!(header("authorization"), expected);
}

#[test]
fn a_destination_that_is_none_is_refused_when_the_server_starts() {
    for (argument, part) in [
        ("orders", "NAME=DESTINATION"),
        ("or/ders=file:x", "not a stream's name"),
        ("orders=ftp://host", "neither file:PATH"),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lodestone"));
        let output = command.args(["serve", "--in-memory", "--port", "0", "--kinesis", argument]).output();
        let output = output.expect("the command runs");
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && message.contains(part), "{message}");
    }
}
