//! Requests to DynamoDB Streams: what is admitted, what is refused, and how answers print.

use api::streams::{
    GetRecordsInput, GetRecordsOutput, Identity, KeySchemaElement, Operation, OperationType, Record, Request,
    Response, StreamArn, StreamRecord, StreamViewType,
};
use api::{Error, ErrorKind, Input, KeyType, TableHome};
use item::{Item, ItemBuilder, Value, ValueBuf};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Music/stream/2026-11-16T20:00:00.000";
const SHARD: &str = "shardId-00000001731612345678-0a1b2c3d";

fn admit(name: &str, body: &str) -> Result<Request, Error> {
    let operation = Operation::from_target_name(name).expect("a served operation");
    let quoted = |text: &str| format!("\"{text}\"");
    let body = body.replace(&quoted("ARN"), &quoted(ARN)).replace(&quoted("SHARD"), &quoted(SHARD));
    let request = Request::decode(operation, body.as_bytes())?;
    request.check().map(|()| request)
}

#[track_caller]
fn check_admitted(name: &str, body: &str) {
    let request = admit(name, body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut printed = Vec::new();
    request.write_json(&mut printed);
    assert_eq!(Request::decode(request.operation(), &printed), Ok(request));
}

#[track_caller]
fn check_refused(name: &str, body: &str, message: &str) {
    let error = admit(name, body).expect_err(body);
    assert_eq!(error.kind, ErrorKind::Validation, "{body}: {error}");
    assert_eq!(error.message, message, "{body}");
}

#[test]
fn correct_requests_are_admitted_and_print_as_they_were_read() {
    for (name, body) in [
        ("ListStreams", "{}"),
        ("ListStreams", r#"{"TableName": "Music", "Limit": 100, "ExclusiveStartStreamArn": "ARN"}"#),
        ("DescribeStream", r#"{"StreamArn": "ARN", "Limit": 1, "ExclusiveStartShardId": "SHARD"}"#),
        (
            "DescribeStream",
            r#"{"StreamArn": "ARN", "ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": "SHARD"}}"#,
        ),
        ("GetShardIterator", r#"{"StreamArn": "ARN", "ShardId": "SHARD", "ShardIteratorType": "LATEST"}"#),
        (
            "GetShardIterator",
            r#"{"StreamArn": "ARN", "ShardId": "SHARD", "ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "000000000000000000001"}"#,
        ),
        (
            "GetShardIterator",
            r#"{"StreamArn": "ARN", "ShardId": "SHARD", "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1731612345.5}"#,
        ),
        ("GetRecords", r#"{"ShardIterator": "i", "Limit": 1000}"#),
    ] {
        check_admitted(name, body);
    }
}

#[test]
fn constraints_of_the_facts_are_applied() {
    check_refused(
        "DescribeStream",
        r#"{"StreamArn": "arn", "Limit": 0}"#,
        "2 validation errors detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value \
         greater than or equal to 1; Value 'arn' at 'streamArn' failed to satisfy constraint: Member must have \
         length greater than or equal to 37",
    );
    check_refused(
        "GetShardIterator",
        r#"{"StreamArn": "ARN", "ShardId": "SHARD", "ShardIteratorType": "FIRST"}"#,
        "1 validation error detected: Value 'FIRST' at 'shardIteratorType' failed to satisfy constraint: Member \
         must satisfy enum value set: [TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER, \
         AT_TIMESTAMP]",
    );
    check_refused(
        "GetRecords",
        "{}",
        "1 validation error detected: Value null at 'shardIterator' failed to satisfy constraint: Member must \
         not be null",
    );
}

#[test]
fn pages_have_a_largest_size() {
    for (name, body, max) in [
        ("ListStreams", r#"{"Limit": LIMIT}"#, 100),
        ("DescribeStream", r#"{"StreamArn": "ARN", "Limit": LIMIT}"#, 100),
        ("GetRecords", r#"{"ShardIterator": "i", "Limit": LIMIT}"#, 1000),
    ] {
        check_admitted(name, &body.replace("LIMIT", &max.to_string()));
        let over = max + 1;
        check_refused(
            name,
            &body.replace("LIMIT", &over.to_string()),
            &format!(
                "1 validation error detected: Value '{over}' at 'limit' failed to satisfy constraint: Member \
                 must have value less than or equal to {max}"
            ),
        );
    }
}

#[test]
fn a_stream_arn_must_name_a_stream() {
    for arn in [
        "arn:aws:dynamodb:us-east-1:123456789012:table/Music",
        "arn:aws:dynamodb:us-east-1:123456789012:table/Music/stream/",
        "sdfadfsdfnlfkajakfgjalksfgklasjklasdjfklasdfasdfgasf",
    ] {
        let message = format!("Invalid StreamArn: Invalid ResourceArn provided as input {arn}");
        for body in [
            r#"{"StreamArn": "X"}"#,
            r#"{"StreamArn": "X", "ShardId": "SHARD", "ShardIteratorType": "LATEST"}"#,
        ] {
            let name = if body.contains("ShardId") { "GetShardIterator" } else { "DescribeStream" };
            check_refused(name, &body.replace('X', arn), &message);
        }
        check_refused("ListStreams", &format!(r#"{{"ExclusiveStartStreamArn": "{arn}"}}"#), &message);
    }
    let parsed = StreamArn::parse(ARN).expect("a stream's ARN");
    assert_eq!((parsed.table.name, parsed.label), ("Music", "2026-11-16T20:00:00.000"));
    assert_eq!(parsed.table.home, Some(TableHome { region: "us-east-1", account: "123456789012" }));
}

#[test]
fn an_iterator_starts_in_the_way_that_its_type_says() {
    let number = r#", "SequenceNumber": "000000000000000000001""#;
    let time = r#", "Timestamp": 1"#;
    let check = |kind: &str, start: &str, message: &str| {
        check_refused(
            "GetShardIterator",
            &format!(r#"{{"StreamArn": "ARN", "ShardId": "SHARD", "ShardIteratorType": "{kind}"{start}}}"#),
            &format!("One or more parameter values were invalid: {message}"),
        );
    };
    for kind in ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"] {
        check(kind, "", &format!("SequenceNumber must be specified when ShardIteratorType is {kind}"));
    }
    for kind in ["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"] {
        check(
            kind,
            number,
            &format!("SequenceNumber must not be specified when ShardIteratorType is {kind}"),
        );
    }
    check("AT_TIMESTAMP", "", "Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP");
    check("LATEST", time, "Timestamp must not be specified when ShardIteratorType is LATEST");
    check(
        "AT_SEQUENCE_NUMBER",
        r#", "SequenceNumber": "00000000000000000000x""#,
        "SequenceNumber is not a number: 00000000000000000000x",
    );
}

#[test]
fn a_body_of_the_wrong_type_is_named_by_its_class() {
    let error = admit("GetRecords", "[]").expect_err("a list");
    assert_eq!(error.kind, ErrorKind::Serialization);
    assert_eq!(
        error.message,
        "Unrecognized collection type class com.amazonaws.dynamodb.streams.v20120810.GetRecordsInput"
    );
}

fn item(name: &str, text: &str) -> Item {
    let mut builder = ItemBuilder::default();
    builder.put(name, ValueBuf::from(&Value::S(text.to_owned())).as_ref());
    builder.build()
}

#[test]
fn records_print_with_their_items_and_are_read_back() {
    let record = Record {
        aws_region: Some("us-east-1".into()),
        dynamodb: Some(StreamRecord {
            approximate_creation_date_time: Some(1_731_612_345.0),
            keys: Some(item("pk", "a")),
            new_image: None,
            old_image: Some(item("pk", "a")),
            sequence_number: Some("000000000000000000001".into()),
            size_bytes: Some(3),
            stream_view_type: Some(StreamViewType::OldImage),
        }),
        event_id: Some("e".into()),
        event_name: Some(OperationType::Remove),
        event_source: Some("aws:dynamodb".into()),
        event_version: Some("1.1".into()),
        user_identity: Some(Identity {
            principal_id: Some("dynamodb.amazonaws.com".into()),
            r#type: Some("Service".into()),
        }),
    };
    let output = GetRecordsOutput { next_shard_iterator: None, records: Some(vec![record]) };
    let mut printed = Vec::new();
    Response::from(output.clone()).write_json(&mut printed);
    assert_eq!(
        String::from_utf8_lossy(&printed),
        r#"{"Records":[{"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1731612345,"Keys":{"pk":{"S":"a"}},"OldImage":{"pk":{"S":"a"}},"SequenceNumber":"000000000000000000001","SizeBytes":3,"StreamViewType":"OLD_IMAGE"},"eventID":"e","eventName":"REMOVE","eventSource":"aws:dynamodb","eventVersion":"1.1","userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}}]}"#
    );
    assert_eq!(GetRecordsInput::read_output(&printed), Ok(output));
}

#[test]
fn shapes_that_both_services_have_are_the_same_types() {
    let element = api::KeySchemaElement { attribute_name: "pk".into(), key_type: KeyType::Hash };
    let same: KeySchemaElement = element;
    assert_eq!(same.key_type, KeyType::Hash);
}
