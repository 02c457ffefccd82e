//! Rules for the parameters of item operations that need no table.

use crate::support::{admit, check_admitted, check_refused};

/// A correct request of the operation, with more members.
fn with(name: &str, members: &str) -> String {
    let required = match name {
        "PutItem" => r#""TableName": "abc", "Item": {}"#,
        "Query" => r#""TableName": "abc", "KeyConditionExpression": "a = b""#,
        "Scan" => r#""TableName": "abc""#,
        _ => r#""TableName": "abc", "Key": {}"#,
    };
    format!("{{{required}, {members}}}")
}

/// The messages of writes begin with a count of errors, those of reads don't.
#[track_caller]
fn check(name: &str, members: &str, message: &str) {
    let counted = matches!(name, "PutItem" | "UpdateItem" | "DeleteItem");
    let prefix = if counted { "1 validation error detected: " } else { "" };
    check_refused(name, &with(name, members), &format!("{prefix}{message}"));
}

const WRITES: [&str; 3] = ["PutItem", "UpdateItem", "DeleteItem"];

#[test]
fn old_and_new_parameters_do_not_mix() {
    let text = |older: &str, expressions: &str| {
        format!(
            "Can not use both expression and non-expression parameters in the same request: \
             Non-expression parameters: {{{older}}} Expression parameters: {{{expressions}}}"
        )
    };
    for name in WRITES {
        let members = r#""Expected": {}, "ConditionExpression": "a""#;
        check(name, members, &text("Expected", "ConditionExpression"));
    }
    check(
        "UpdateItem",
        r#""ConditionExpression": "a", "UpdateExpression": "b", "Expected": {}, "AttributeUpdates": {}"#,
        &text("AttributeUpdates, Expected", "UpdateExpression, ConditionExpression"),
    );
    let projections = r#""AttributesToGet": ["a"], "ProjectionExpression": "a""#;
    for name in ["GetItem", "Scan"] {
        check(name, projections, &text("AttributesToGet", "ProjectionExpression"));
    }
    check("Query", projections, &text("AttributesToGet", "ProjectionExpression, KeyConditionExpression"));
    check("Query", r#""KeyConditions": {}"#, &text("KeyConditions", "KeyConditionExpression"));
    check_admitted("Query", r#"{"TableName": "abc", "KeyConditions": {}, "FilterExpression": "a"}"#);
    check(
        "Scan",
        r#""ScanFilter": {"a": {"ComparisonOperator": "NULL"}}, "FilterExpression": "a""#,
        &text("ScanFilter", "FilterExpression"),
    );
}

#[test]
fn a_conditional_operator_joins_two_conditions() {
    let none = "ConditionalOperator cannot be used without Filter or Expected";
    let one = "ConditionalOperator can only be used when Filter or Expected has two or more elements";
    for name in WRITES {
        check(name, r#""ConditionalOperator": "OR""#, none);
        check(name, r#""ConditionalOperator": "OR", "Expected": {}"#, none);
        check(name, r#""ConditionalOperator": "AND", "Expected": {"a": {"Exists": false}}"#, one);
    }
    check("Scan", r#""ConditionalOperator": "OR""#, none);
    check(
        "Query",
        r#""ConditionalOperator": "OR", "QueryFilter": {"a": {"ComparisonOperator": "NULL"}}"#,
        one,
    );
}

#[test]
fn placeholders_need_an_expression() {
    let names = r##""ExpressionAttributeNames": {"#a": "b"}"##;
    for name in ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "Scan"] {
        check(name, names, "ExpressionAttributeNames can only be specified when using expressions");
    }
    let values = r#""ExpressionAttributeValues": {":a": {"S": "b"}}"#;
    for name in WRITES {
        check(name, values, "ExpressionAttributeValues can only be specified when using expressions");
    }
    // A projection has names but no values.
    check(
        "Scan",
        &format!(r#"{values}, "ProjectionExpression": "a""#),
        "ExpressionAttributeValues can only be specified when using expressions",
    );
    check_admitted("Scan", &with("Scan", &format!(r#"{names}, "ProjectionExpression": "a""#)));
}

#[test]
fn placeholder_maps_are_not_empty_and_their_keys_are_placeholders() {
    let check = |map: &str, message: &str| {
        check("PutItem", &format!(r#""ConditionExpression": "a", {map}"#), message);
    };
    check(r#""ExpressionAttributeNames": {}"#, "ExpressionAttributeNames must not be empty");
    check(r#""ExpressionAttributeValues": {}"#, "ExpressionAttributeValues must not be empty");
    check(
        r#""ExpressionAttributeNames": {"x": "a"}"#,
        "ExpressionAttributeNames contains invalid key: Syntax error; key: \"x\"",
    );
    check(
        r##""ExpressionAttributeNames": {"#a-b": "a"}"##,
        "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#a-b\"",
    );
    check(
        r#""ExpressionAttributeValues": {":": {"S": "a"}}"#,
        "ExpressionAttributeValues contains invalid key: Syntax error; key: \":\"",
    );
    check(r##""ExpressionAttributeNames": {"#a": ""}"##, "Empty attribute name");
}

#[test]
fn faults_of_values_wait_for_the_other_parameters() {
    let bad = r#""Expected": {"a": {"Value": {"NULL": false}}}"#;
    let null =
        "One or more parameter values were invalid: Null attribute value types must have the value of true";
    check("DeleteItem", bad, null);
    check(
        "DeleteItem",
        &format!(r#"{bad}, "ConditionalOperator": "OR""#),
        "ConditionalOperator can only be used when Filter or Expected has two or more elements",
    );
    check(
        "UpdateItem",
        r#""UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": {"SS": []}}"#,
        "One or more parameter values were invalid: An string set  may not be empty",
    );
    // A number that cannot be parsed is a fault in the data: no count.
    let number = r#"{"TableName": "abc", "Item": {"a": {"N": "x"}}}"#;
    check_refused("PutItem", number, "The parameter cannot be converted to a numeric value: x");
    // Constraints come before all of them.
    let error =
        admit("PutItem", r#"{"TableName": "a", "Item": {"a": {"N": "x"}}}"#).expect_err("a short name");
    assert!(error.message.contains("length greater than or equal to 3"), "{}", error.message);
}

#[test]
fn puts_and_deletes_return_only_the_old_item() {
    for name in ["PutItem", "DeleteItem"] {
        for value in ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"] {
            check(name, &format!(r#""ReturnValues": "{value}""#), "ReturnValues can only be ALL_OLD or NONE");
        }
        check_admitted(name, &with(name, r#""ReturnValues": "NONE""#));
    }
    check_admitted("UpdateItem", &with("UpdateItem", r#""ReturnValues": "UPDATED_OLD""#));
}

#[test]
fn attributes_to_get_are_named_once() {
    for name in ["GetItem", "Scan"] {
        check(
            name,
            r#""AttributesToGet": ["a", "b", "a"]"#,
            "One or more parameter values were invalid: Duplicate value in attribute name: a",
        );
        check(name, r#""AttributesToGet": [""]"#, "Empty attribute name");
    }
    check("UpdateItem", r#""AttributeUpdates": {"": {"Action": "DELETE"}}"#, "Empty attribute name");
}

#[test]
fn a_query_needs_a_key_condition() {
    check_refused(
        "Query",
        r#"{"TableName": "abc"}"#,
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
    );
}

#[test]
fn select_and_projection_agree() {
    let specific =
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES";
    check("Scan", r#""Select": "SPECIFIC_ATTRIBUTES""#, specific);
    check("Query", r#""Select": "SPECIFIC_ATTRIBUTES""#, &format!("1 validation error detected: {specific}"));
    check(
        "Scan",
        r#""Select": "ALL_PROJECTED_ATTRIBUTES""#,
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
    );
    check(
        "Scan",
        r#""Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a""#,
        "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
    );
    check(
        "Scan",
        r#""Select": "COUNT", "AttributesToGet": ["a"]"#,
        "Cannot specify the AttributesToGet when choosing to get only the Count",
    );
    check_admitted("Scan", &with("Scan", r#""Select": "ALL_PROJECTED_ATTRIBUTES", "IndexName": "abc""#));
    check_admitted(
        "Query",
        &with("Query", r#""Select": "SPECIFIC_ATTRIBUTES", "ProjectionExpression": "a""#),
    );
}

#[test]
fn a_segment_is_one_of_a_total() {
    check(
        "Scan",
        r#""Segment": 0"#,
        "The TotalSegments parameter is required but was not present in the request when Segment parameter is \
         present",
    );
    check(
        "Scan",
        r#""TotalSegments": 1"#,
        "The Segment parameter is required but was not present in the request when parameter TotalSegments is \
         present",
    );
    check(
        "Scan",
        r#""Segment": 5, "TotalSegments": 5"#,
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not \
         less than TotalSegments: 5",
    );
    check_admitted("Scan", &with("Scan", r#""Segment": 4, "TotalSegments": 5"#));
}
