//! Records as a function sees them.

use api::StreamViewType;
use api::streams::{Identity, OperationType, Record, StreamRecord};
use item::{Item, Value};
use serde_json::json;
use triggers::{Entry, event_record};

use crate::support::STREAM;

fn record() -> Record {
    let keys = Item::from_iter([("pk", Value::from("a")), ("sk", Value::from(1))]);
    let image = Item::from_iter([
        ("pk", Value::from("a")),
        ("sk", Value::from(1)),
        ("data", Value::from(b"\x00\xff".as_slice())),
        ("name", Value::from("\"quoted\" ü\u{1}")),
    ]);
    Record {
        event_id: Some("0123456789abcdef0123456789abcdef".into()),
        event_name: Some(OperationType::Modify),
        event_version: Some("1.1".into()),
        event_source: Some("aws:dynamodb".into()),
        aws_region: Some("us-east-1".into()),
        dynamodb: Some(StreamRecord {
            approximate_creation_date_time: Some(1_678_831_218.25),
            keys: Some(keys),
            new_image: Some(image),
            old_image: None,
            sequence_number: Some("800000000003126276362".into()),
            size_bytes: Some(26),
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        }),
        user_identity: None,
    }
}

#[test]
fn a_record_has_the_members_that_lambda_gives_it() {
    let printed = event_record(&record(), STREAM);
    assert!(
        String::from_utf8_lossy(&printed).contains(r#""ApproximateCreationDateTime":1678831218.0,"#),
        "whole seconds, as a number with a fraction"
    );
    let printed: serde_json::Value = serde_json::from_slice(&printed).expect("JSON");
    let expected = json!({
        "eventID": "0123456789abcdef0123456789abcdef",
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_678_831_218.0,
            "Keys": {"pk": {"S": "a"}, "sk": {"N": "1"}},
            "NewImage": {"pk": {"S": "a"}, "sk": {"N": "1"}, "data": {"B": "AP8="},
                         "name": {"S": "\"quoted\" ü\u{1}"}},
            "SequenceNumber": "800000000003126276362",
            "SizeBytes": 26,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": STREAM,
    });
    assert_eq!(printed, expected);
}

#[test]
fn a_deletion_by_expiry_names_the_service_in_lower_case() {
    let identity =
        Identity { r#type: Some("Service".into()), principal_id: Some("dynamodb.amazonaws.com".into()) };
    let record = Record { user_identity: Some(identity), ..record() };
    let printed: serde_json::Value = serde_json::from_slice(&event_record(&record, STREAM)).expect("JSON");
    assert_eq!(printed["userIdentity"], json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"}));
}

#[test]
fn records_of_one_partition_key_have_one_hash() {
    let entry = |pk: &str, sk: i64| {
        let mut record = record();
        let keys = Item::from_iter([("pk", Value::from(pk)), ("sk", Value::from(sk))]);
        record.dynamodb.as_mut().expect("a change").keys = Some(keys);
        Entry::new(&record, STREAM, "pk").expect("a whole record")
    };
    assert_eq!(entry("a", 1).key_hash, entry("a", 2).key_hash);
    assert_ne!(entry("a", 1).key_hash, entry("b", 1).key_hash);
    assert_eq!(entry("a", 1).created_ms, 1_678_831_218_250);
}

#[test]
fn a_record_without_its_number_is_an_error() {
    let mut record = record();
    record.dynamodb.as_mut().expect("a change").sequence_number = None;
    let error = Entry::new(&record, STREAM, "pk").expect_err("no number");
    assert_eq!(error.to_string(), "a stream record has no SequenceNumber");
}
