//! Services are addressed, signed for and named in errors as their facts say.

use api::{Error, ErrorKind, Protocol, Service, Target, dynamodb, streams};
use serde_json::Value;

const FACTS: [(Service, &str); 2] = [
    (Service::DynamoDb, include_str!("../../facts/dynamodb.json")),
    (Service::DynamoDbStreams, include_str!("../../facts/streams.json")),
];

#[test]
fn the_table_of_services_agrees_with_the_facts() {
    for (service, facts) in FACTS {
        let facts: Value = serde_json::from_str(facts).expect("facts are JSON");
        let metadata = &facts["metadata"];
        assert_eq!(service.target_prefix(), metadata["targetPrefix"].as_str());
        assert_eq!(service.signing_name(), metadata["signingName"]);
        assert_eq!(metadata["jsonVersion"], "1.0");
        assert!(service.speaks(Protocol::Json10) && !service.speaks(Protocol::Json11));
    }
}

#[test]
fn a_target_prefix_names_its_service_alone() {
    for service in Service::ALL {
        if let Some(prefix) = service.target_prefix() {
            assert_eq!(Service::from_target_prefix(prefix), Some(service));
        }
    }
    assert_eq!(Service::from_target_prefix("DynamoDB"), None);
    assert_eq!(Service::from_target_prefix(""), None);
}

#[test]
fn an_operation_belongs_to_one_service() {
    let get_item = Target::find(Service::DynamoDb, "GetItem").expect("served");
    assert_eq!(get_item, dynamodb::Operation::GetItem.into());
    assert_eq!(get_item.to_string(), "DynamoDB_20120810.GetItem");
    let get_records = Target::find(Service::DynamoDbStreams, "GetRecords").expect("served");
    assert_eq!(get_records, streams::Operation::GetRecords.into());
    assert_eq!((get_records.service(), get_records.name()), (Service::DynamoDbStreams, "GetRecords"));
    assert_eq!(Target::find(Service::DynamoDb, "GetRecords"), None);
    assert_eq!(Target::find(Service::DynamoDbStreams, "GetItem"), None);
}

#[test]
fn every_error_that_the_facts_name_for_a_served_operation_is_known() {
    for (service, facts) in FACTS {
        let facts: Value = serde_json::from_str(facts).expect("facts are JSON");
        for (name, operation) in facts["operations"].as_object().expect("operations") {
            if Target::find(service, name).is_none() {
                continue;
            }
            for error in operation["errors"].as_array().expect("errors") {
                let error = error.as_str().expect("a name");
                assert!(ErrorKind::from_type_name(error).is_some(), "{name}: {error}");
            }
        }
    }
}

#[test]
fn the_name_of_an_error_depends_on_the_service() {
    let printed = |service, error: &Error| {
        let mut out = Vec::new();
        error.write_json(service, &mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    };
    let invalid = Error::validation("no");
    for service in [Service::DynamoDb, Service::DynamoDbStreams, Service::CloudWatch] {
        assert_eq!(
            printed(service, &invalid),
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}"#
        );
    }
    let limit = Error::new(ErrorKind::LimitExceeded, "no");
    for (service, json) in [
        (
            Service::DynamoDb,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"no"}"#,
        ),
        (
            Service::DynamoDbStreams,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"no"}"#,
        ),
        (Service::ApplicationAutoScaling, r#"{"__type":"LimitExceededException","Message":"no"}"#),
    ] {
        assert_eq!(printed(service, &limit), json);
    }
    assert_eq!(
        printed(Service::DynamoDbStreams, &Error::iterator_expired()),
        r#"{"__type":"com.amazonaws.dynamodb.streams.v20120810#ExpiredIteratorException","message":"The shard iterator has expired"}"#
    );
}
