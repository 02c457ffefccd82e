//! Broken constraints are collected and reported together, in the service's words and order.

use crate::support::check_refused;

const NULL_NAME: &str = "1 validation error detected: Value null at 'tableName' failed to satisfy constraint: \
     Member must not be null";

#[test]
fn a_missing_table_name() {
    for name in ["CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"] {
        check_refused(
            name,
            r#"{"BillingMode": "X"}"#,
            "The parameter 'TableName' is required but was not present in the request",
        );
    }
    check_refused("PutItem", r#"{"Item": {}}"#, NULL_NAME);
    check_refused("UpdateItem", "{}", NULL_NAME);
    check_refused("Scan", r#"{"TableName": null}"#, NULL_NAME);
    check_refused(
        "GetItem",
        "{}",
        "2 validation errors detected: Value null at 'key' failed to satisfy constraint: Member must not be \
         null; Value null at 'tableName' failed to satisfy constraint: Member must not be null",
    );
}

#[test]
fn an_empty_table_name_is_reported_alone() {
    let message = "1 validation error detected: Value at 'TableName' failed to satisfy constraint: Member must \
         have length greater than or equal to 1";
    check_refused("PutItem", r#"{"ReturnValues": "X", "TableName": "", "Item": {}}"#, message);
    check_refused("UpdateItem", r#"{"ReturnValues": "X", "TableName": "", "Key": {}}"#, message);
    check_refused("Query", r#"{"TableName": "", "Select": "X"}"#, message);
    check_refused(
        "CreateTable",
        r#"{"TableName": ""}"#,
        "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: Member must have \
         length greater than or equal to 1",
    );
}

#[test]
fn table_names() {
    for name in ["DescribeTable", "Scan"] {
        check_refused(
            name,
            r#"{"TableName": "ab"}"#,
            "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must \
             have length greater than or equal to 3",
        );
        check_refused(
            name,
            r#"{"TableName": "a!b"}"#,
            "1 validation error detected: Value 'a!b' at 'tableName' failed to satisfy constraint: Member must \
             satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        );
        let long = "n".repeat(256);
        check_refused(
            name,
            &format!(r#"{{"TableName": "{long}"}}"#),
            &format!(
                "1 validation error detected: Value '{long}' at 'tableName' failed to satisfy constraint: \
                 Member must have length less than or equal to 255"
            ),
        );
    }
}

#[test]
fn puts_and_deletes_report_the_name_together_with_enums_in_a_fixed_order() {
    for (name, required) in [("PutItem", "Item"), ("DeleteItem", "Key")] {
        let body = format!(
            r#"{{"ReturnValuesOnConditionCheckFailure": "d", "ReturnItemCollectionMetrics": "c",
                "ReturnValues": "b", "ReturnConsumedCapacity": "a", "TableName": "n!n", "{required}": {{}}}}"#
        );
        check_refused(
            name,
            &body,
            "5 validation errors detected: \
             Value 'n!n' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; \
             Value 'a' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; \
             Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]; \
             Value 'c' at 'returnItemCollectionMetrics' failed to satisfy constraint: Member must satisfy enum value set: [SIZE, NONE]; \
             Value 'd' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]",
        );
    }
}

#[test]
fn updates_report_one_enum_at_a_time() {
    let body = r#"{"TableName": "abc", "Key": {}, "ReturnConsumedCapacity": "a", "ReturnValues": "b"}"#;
    check_refused(
        "UpdateItem",
        body,
        "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: \
         [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
    );
}

#[test]
fn limits_of_reads_come_first_and_without_their_value() {
    for name in ["Query", "Scan"] {
        check_refused(
            name,
            r#"{"TableName": "a", "Limit": 0, "Select": "X"}"#,
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have \
             value greater than or equal to 1",
        );
    }
    check_refused(
        "Scan",
        r#"{"TableName": "abc", "Segment": -1, "TotalSegments": 1000001}"#,
        "2 validation errors detected: Value at 'Segment' failed to satisfy constraint: Member must have value \
         greater than or equal to 0; Value at 'TotalSegments' failed to satisfy constraint: Member must have \
         value less than or equal to 1000000",
    );
}

#[test]
fn an_unknown_select_waits_for_the_mixing_check() {
    check_refused(
        "Query",
        r#"{"TableName": "abc", "Select": "X"}"#,
        "1 validation error detected: Value 'X' at 'select' failed to satisfy constraint: Member must satisfy \
         enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
    );
    check_refused(
        "Query",
        r#"{"TableName": "abc", "Select": "X", "QueryFilter": {}, "FilterExpression": "a"}"#,
        "Can not use both expression and non-expression parameters in the same request: Non-expression \
         parameters: {QueryFilter} Expression parameters: {FilterExpression}",
    );
}

#[test]
fn list_tables_takes_one_to_a_hundred() {
    for (limit, constraint) in [("0", "greater than or equal to 1"), ("101", "less than or equal to 100")] {
        check_refused(
            "ListTables",
            &format!(r#"{{"Limit": {limit}}}"#),
            &format!(
                "1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: Member \
                 must have value {constraint}"
            ),
        );
    }
}

#[test]
fn members_inside_lists_and_maps_are_named_by_their_path() {
    check_refused(
        "CreateTable",
        r#"{"TableName": "abc", "AttributeDefinitions": [{"AttributeName": "", "AttributeType": "S"}, null],
            "KeySchema": [{"KeyType": "HASHED"}], "ProvisionedThroughput": {"ReadCapacityUnits": 0}}"#,
        "6 validation errors detected: \
         Value null at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not be null; \
         Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1; \
         Value null at 'keySchema.1.member.attributeName' failed to satisfy constraint: Member must not be null; \
         Value 'HASHED' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]; \
         Value '' at 'attributeDefinitions.1.member.attributeName' failed to satisfy constraint: Member must have length greater than or equal to 1; \
         Value null at 'attributeDefinitions.2.member' failed to satisfy constraint: Member must not be null",
    );
    check_refused(
        "Query",
        r#"{"TableName": "abc", "KeyConditions": {"pk": {}}}"#,
        "1 validation error detected: Value null at 'keyConditions.pk.member.comparisonOperator' failed to \
         satisfy constraint: Member must not be null",
    );
    check_refused(
        "GetItem",
        r#"{"TableName": "abc", "Key": {}, "AttributesToGet": []}"#,
        "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must \
         have length greater than or equal to 1",
    );
}

#[test]
fn at_most_ten_are_reported_whatever_their_number() {
    let elements = vec!["{}"; 500].join(",");
    let body = format!(r#"{{"TableName": "abc", "KeySchema": [{elements}]}}"#);
    let error = crate::support::admit("CreateTable", &body).expect_err("each element lacks two members");
    assert!(error.message.starts_with("10 validation errors detected: "), "{}", error.message);
    assert_eq!(error.message.matches("must not be null").count(), 10);
}
