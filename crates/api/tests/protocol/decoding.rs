//! Bodies as clients send them become the structures of their operation.

use api::{
    BillingMode, ComparisonOperator, KeyType, ProjectionType, Request, ReturnConsumedCapacity, ReturnValue,
    ScalarAttributeType, Select, StreamViewType,
};

use crate::support::{BODIES, admit, check_admitted};

fn body(name: &str) -> Request {
    let (name, body) = BODIES.iter().find(|(operation, _)| *operation == name).expect("a body");
    admit(name, body).expect("the body is correct")
}

macro_rules! input {
    ($operation:ident) => {
        match body(stringify!($operation)) {
            Request::$operation(input) => input,
            other => panic!("decoded as {:?}", other.operation()),
        }
    };
}

#[test]
fn every_served_operation_is_decoded_under_its_own_name() {
    assert_eq!(BODIES.len(), api::Operation::ALL.len());
    for (name, body) in BODIES {
        let request = admit(name, body).expect("the body is correct");
        assert_eq!(request.operation().name(), *name);
    }
}

#[test]
fn a_request_printed_as_json_reads_as_itself() {
    for (name, body) in BODIES {
        let request = admit(name, body).expect("the body is correct");
        let mut printed = Vec::new();
        request.write_json(&mut printed);
        let again = Request::decode(request.operation(), &printed);
        assert_eq!(again, Ok(request), "{name}");
    }
}

#[test]
fn create_table() {
    let input = input!(CreateTable);
    assert_eq!(input.table_name, "app-main");
    assert_eq!(input.billing_mode, Some(BillingMode::PayPerRequest));
    let key = input.key_schema.expect("a key");
    assert_eq!((key[1].attribute_name.as_str(), key[1].key_type), ("SK", KeyType::Range));
    assert_eq!(input.attribute_definitions.expect("definitions")[3].attribute_type, ScalarAttributeType::N);
    let index = &input.global_secondary_indexes.expect("an index")[0];
    assert_eq!(index.projection.projection_type, Some(ProjectionType::Include));
    assert_eq!(index.projection.non_key_attributes, Some(vec!["total".to_owned()]));
    assert_eq!(index.provisioned_throughput, None);
    assert_eq!(input.tags.expect("tags")[0].value, "");
}

#[test]
fn table_operations() {
    assert!(input!(DescribeTable).table_name.ends_with("table/app-main"));
    assert_eq!(input!(DeleteTable).table_name, "app-main");
    let list = input!(ListTables);
    assert_eq!((list.exclusive_start_table_name.as_deref(), list.limit), (Some("app-main"), Some(7)));
    let stream = input!(UpdateTable).stream_specification.expect("a stream");
    assert!(stream.stream_enabled);
    assert_eq!(stream.stream_view_type, Some(StreamViewType::NewAndOldImages));
}

#[test]
fn put_item() {
    let input = input!(PutItem);
    let names: Vec<&str> = input.item.as_ref().iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["PK", "tags", "total"]);
    assert_eq!(input.return_values, Some(ReturnValue::AllOld));
    assert_eq!(input.return_consumed_capacity, Some(ReturnConsumedCapacity::Total));
    assert_eq!(input.expression_attribute_names.expect("names")["#pk"], "PK");
    assert!(input.expression_attribute_values.expect("values").contains_key(":v"));
    assert_eq!(input.value_fault, None);
}

#[test]
fn the_other_item_operations() {
    assert_eq!(input!(GetItem).consistent_read, Some(true));
    assert_eq!(input!(UpdateItem).return_values, Some(ReturnValue::UpdatedNew));
    let expected = input!(DeleteItem).expected.expect("conditions");
    assert_eq!(expected["v"].comparison_operator, Some(ComparisonOperator::Eq));
    assert_eq!(expected["v"].attribute_value_list.as_ref().map(Vec::len), Some(1));
    assert_eq!(expected["w"].exists, Some(false));
    let query = input!(Query);
    assert_eq!((query.limit, query.select), (Some(25), Some(Select::Count)));
    assert_eq!(query.scan_index_forward, Some(false));
    assert_eq!(query.exclusive_start_key.expect("a key").as_ref().len(), 2);
    let scan = input!(Scan);
    assert_eq!((scan.segment, scan.total_segments), (Some(1), Some(4)));
}

#[test]
fn null_counts_as_absent_and_unknown_members_are_ignored() {
    check_admitted(
        "GetItem",
        r#"{"TableName": "abc", "Key": {"a": {"S": "1", "N": null}}, "ProjectionExpression": null,
            "ExpressionAttributeNames": null, "Future": {"deep": [[[{}]]]}, "Limit": "not a number"}"#,
    );
}

#[test]
fn unknown_members_may_be_nested_deeper_than_any_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check_admitted("ListTables", &format!(r#"{{"Unknown": {deep}}}"#));
}

#[test]
fn whole_numbers_saturate_and_drop_their_fraction() {
    let limit = |text: &str| match admit("Query", &query(text)) {
        Ok(Request::Query(input)) => input.limit,
        other => panic!("{other:?}"),
    };
    fn query(limit: &str) -> String {
        format!(r#"{{"TableName": "abc", "KeyConditionExpression": "a = :b", "Limit": {limit}}}"#)
    }
    assert_eq!(limit("1.9"), Some(1));
    assert_eq!(limit("2e1"), Some(20));
    assert_eq!(limit("4294967296"), Some(i32::MAX));
    assert_eq!(limit("99999999999999999999999"), Some(i32::MAX));
}

#[test]
fn booleans_may_be_words() {
    for (word, meaning) in
        [("\"true\"", true), ("\"YES\"", true), ("\"1\"", true), ("\"f\"", false), ("\"No\"", false)]
    {
        let body = format!(r#"{{"TableName": "abc", "Key": {{}}, "ConsistentRead": {word}}}"#);
        match admit("GetItem", &body) {
            Ok(Request::GetItem(input)) => assert_eq!(input.consistent_read, Some(meaning), "{word}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn of_two_members_with_one_name_the_later_wins() {
    match admit("DescribeTable", r#"{"TableName": "first", "TableName": "second"}"#) {
        Ok(Request::DescribeTable(input)) => assert_eq!(input.table_name, "second"),
        other => panic!("{other:?}"),
    }
}
