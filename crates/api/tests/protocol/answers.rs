//! Answers and errors print exactly as clients expect them.

use std::collections::BTreeMap;

use api::{
    CancellationReason, Capacity, ConsumedCapacity, DescribeTableOutput, Error, ErrorKind, GetItemOutput,
    ItemCollectionMetrics, KeySchemaElement, KeyType, ListTablesOutput, PutItemOutput, QueryOutput, Response,
    TableDescription, TableStatus,
};
use item::{Item, ItemBuilder, Value, ValueBuf};

use crate::support::error_body;

#[track_caller]
fn check(response: impl Into<Response>, json: &str) {
    let mut out = Vec::new();
    response.into().write_json(&mut out);
    assert_eq!(String::from_utf8(out).expect("JSON is UTF-8"), json);
}

fn item(name: &str, text: &str) -> Item {
    let mut builder = ItemBuilder::default();
    builder.put(name, ValueBuf::from(&Value::S(text.to_owned())).as_ref());
    builder.build()
}

#[test]
fn what_is_absent_is_left_out() {
    check(GetItemOutput::default(), "{}");
    check(GetItemOutput { item: Some(Item::default()), ..GetItemOutput::default() }, r#"{"Item":{}}"#);
}

#[test]
fn items_lists_and_counts() {
    check(
        QueryOutput {
            count: Some(1),
            items: Some(vec![item("pk", "a\"\n")]),
            last_evaluated_key: Some(item("pk", "é")),
            scanned_count: Some(2),
            consumed_capacity: None,
        },
        r#"{"Count":1,"Items":[{"pk":{"S":"a\"\n"}}],"LastEvaluatedKey":{"pk":{"S":"é"}},"ScannedCount":2}"#,
    );
    check(
        ListTablesOutput { table_names: Some(vec!["a".into(), "b".into()]), last_evaluated_table_name: None },
        r#"{"TableNames":["a","b"]}"#,
    );
}

#[test]
fn capacity_units_always_have_a_fraction() {
    let units = |units| Capacity { capacity_units: Some(units), ..Capacity::default() };
    check(
        PutItemOutput {
            consumed_capacity: Some(ConsumedCapacity {
                table_name: Some("abc".into()),
                capacity_units: Some(3.0),
                table: Some(units(0.5)),
                global_secondary_indexes: Some(BTreeMap::from([("gsi".to_owned(), units(2.5))])),
                ..ConsumedCapacity::default()
            }),
            item_collection_metrics: Some(ItemCollectionMetrics {
                size_estimate_range_gb: Some(vec![0.0, 1.0]),
                item_collection_key: None,
            }),
            attributes: None,
        },
        r#"{"ConsumedCapacity":{"CapacityUnits":3.0,"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":2.5}},"Table":{"CapacityUnits":0.5},"TableName":"abc"},"ItemCollectionMetrics":{"SizeEstimateRangeGB":[0.0,1.0]}}"#,
    );
}

#[test]
fn times_are_seconds_with_at_most_milliseconds() {
    for (time, printed) in [
        (1_731_612_345.0, "1731612345"),
        (1_731_612_345.6, "1731612345.6"),
        (1_731_612_345.678_9, "1731612345.679"),
    ] {
        let table = TableDescription { creation_date_time: Some(time), ..TableDescription::default() };
        check(
            DescribeTableOutput { table: Some(table) },
            &format!(r#"{{"Table":{{"CreationDateTime":{printed}}}}}"#),
        );
    }
}

#[test]
fn enums_and_structures() {
    let element = KeySchemaElement { attribute_name: "pk".into(), key_type: KeyType::Hash };
    check(
        DescribeTableOutput {
            table: Some(TableDescription {
                key_schema: Some(vec![element]),
                table_status: Some(TableStatus::Active),
                item_count: Some(i64::MAX),
                deletion_protection_enabled: Some(false),
                ..TableDescription::default()
            }),
        },
        r#"{"Table":{"DeletionProtectionEnabled":false,"ItemCount":9223372036854775807,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"TableStatus":"ACTIVE"}}"#,
    );
}

#[track_caller]
fn check_error(error: Error, json: &str) {
    assert_eq!(error_body(&error), json);
}

#[test]
fn errors_carry_their_full_name_and_message() {
    check_error(
        Error::validation("say \"why\""),
        r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"say \"why\""}"#,
    );
    check_error(
        Error::resource_not_found_item(),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}"#,
    );
    check_error(
        Error::resource_not_found_table("abc"),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found: Table: abc not found"}"#,
    );
    check_error(
        Error::table_exists("abc"),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceInUseException","message":"Table already exists: abc"}"#,
    );
    check_error(
        Error::internal(),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}"#,
    );
}

#[test]
fn a_failed_condition_may_carry_the_item() {
    let start = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed""#;
    check_error(Error::conditional_check_failed(None), &format!("{start}}}"));
    check_error(
        Error::conditional_check_failed(Some(item("pk", "a"))),
        &format!(r#"{start},"Item":{{"pk":{{"S":"a"}}}}}}"#),
    );
}

#[test]
fn a_failed_condition_of_a_statement_spells_its_message_differently() {
    check_error(
        Error { kind: ErrorKind::ConditionalCheckFailedOfStatement, ..Error::conditional_check_failed(None) },
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Message":"The conditional request failed"}"#,
    );
}

#[test]
fn a_canceled_transaction_gives_a_reason_for_each_action() {
    let failed = Error::conditional_check_failed(Some(item("pk", "a")));
    let reasons = vec![CancellationReason::default(), failed.try_into().expect("a failed condition cancels")];
    check_error(
        Error::transaction_canceled(reasons),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"pk":{"S":"a"}}}]}"#,
    );
    assert_eq!(CancellationReason::try_from(Error::internal()), Err(Error::internal()));
}

#[test]
fn serialization_spells_its_message_differently_or_has_none() {
    check_error(
        Error::new(ErrorKind::Serialization, "Unexpected field type"),
        r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"Unexpected field type"}"#,
    );
    check_error(
        Error::new(ErrorKind::Serialization, ""),
        r#"{"__type":"com.amazon.coral.service#SerializationException"}"#,
    );
    check_error(
        Error::unknown_operation(),
        r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
    );
}
