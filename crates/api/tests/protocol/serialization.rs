//! JSON of a wrong type is refused at once, in the service's words.

use crate::support::check_unreadable;

/// A PutItem in which one member has the wrong type.
#[track_caller]
fn check_member(member: &str, message: &str) {
    let body = format!(r#"{{"TableName": "a!", "ReturnValues": "X", {member}}}"#);
    check_unreadable("PutItem", &body, message);
}

#[test]
fn text_that_is_not_json_gets_no_explanation() {
    for body in
        ["", " ", "{", "nonsense", r#"{"TableName": "abc""#, r#"{"TableName": 1} x"#, "{} {}", "{'a': 1}"]
    {
        check_unreadable("DescribeTable", body, "");
    }
    // A wrong type in front of the broken place makes no difference.
    check_unreadable("DescribeTable", r#"{"TableName": 1, "#, "");
}

#[test]
fn the_body_must_be_an_object() {
    check_unreadable(
        "PutItem",
        "[]",
        "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.PutItemInput",
    );
    for body in ["1", "\"a\"", "true", "null"] {
        check_unreadable("PutItem", body, "Unexpected value type in payload");
    }
}

#[test]
fn strings() {
    check_member(r#""ConditionExpression": 1"#, "NUMBER_VALUE cannot be converted to String");
    check_member(r#""ConditionExpression": 1.5"#, "DECIMAL_VALUE cannot be converted to String");
    check_member(r#""ConditionExpression": true"#, "TRUE_VALUE cannot be converted to String");
    check_member(r#""ConditionExpression": false"#, "FALSE_VALUE cannot be converted to String");
    check_member(r#""ConditionExpression": []"#, "Unrecognized collection type class java.lang.String");
    check_member(r#""ConditionExpression": {}"#, "Start of structure or map found where not expected");
    check_member(r#""ReturnConsumedCapacity": 1"#, "NUMBER_VALUE cannot be converted to String");
    check_member(r##""ExpressionAttributeNames": {"#a": 1}"##, "NUMBER_VALUE cannot be converted to String");
}

#[test]
fn numbers_and_booleans() {
    let check = |member: &str, message: &str| {
        check_unreadable("Query", &format!(r#"{{"TableName": "abc", {member}}}"#), message);
    };
    check(r#""Limit": "1""#, "STRING_VALUE cannot be converted to Integer");
    check(r#""Limit": true"#, "TRUE_VALUE cannot be converted to Integer");
    check(r#""Limit": []"#, "Unrecognized collection type class java.lang.Integer");
    check(r#""Limit": {}"#, "Start of structure or map found where not expected");
    check(r#""ConsistentRead": 1"#, "NUMBER_VALUE cannot be converted to Boolean");
    check(r#""ConsistentRead": "maybe""#, "STRING_VALUE cannot be converted to Boolean");
    let throughput = r#"{"TableName": "abc", "ProvisionedThroughput": {"ReadCapacityUnits": "1"}}"#;
    check_unreadable("CreateTable", throughput, "STRING_VALUE cannot be converted to Long");
}

#[test]
fn collections_and_structures() {
    check_member(r#""Item": "a""#, "Unexpected field type");
    check_member(
        r#""Item": []"#,
        "Unrecognized collection type \
         java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
    );
    check_member(r#""Item": {"a": "b"}"#, "Unexpected value type in payload");
    check_member(r#""Expected": {"a": 1}"#, "Unexpected value type in payload");
    check_member(
        r#""Expected": []"#,
        "Unrecognized collection type \
         java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.ExpectedAttributeValue>",
    );
    check_unreadable(
        "CreateTable",
        r#"{"KeySchema": {}}"#,
        "Start of structure or map found where not expected",
    );
    check_unreadable("CreateTable", r#"{"KeySchema": 1}"#, "Unexpected field type");
    check_unreadable(
        "CreateTable",
        r#"{"KeySchema": [[]]}"#,
        "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement",
    );
}

#[test]
fn a_number_must_travel_as_a_string() {
    check_member(r#""Item": {"a": {"N": 123}}"#, "NUMBER_VALUE cannot be converted to String");
}
