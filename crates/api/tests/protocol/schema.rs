//! Rules for the keys and indexes of CreateTable and UpdateTable.

use crate::support::{admit, check_admitted, check_refused};

const INVALID: &str = "One or more parameter values were invalid: ";

/// `pk:H sk:R` -> the JSON of a key schema.
fn key(text: &str) -> String {
    let elements = text.split_whitespace().map(|element| {
        let (name, kind) = element.split_once(':').expect("name:kind");
        let kind = if kind == "H" { "HASH" } else { "RANGE" };
        format!(r#"{{"AttributeName": "{name}", "KeyType": "{kind}"}}"#)
    });
    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
}

/// `pk sk` -> the JSON of attribute definitions.
fn strings(names: &str) -> String {
    let definitions = names
        .split_whitespace()
        .map(|name| format!(r#"{{"AttributeName": "{name}", "AttributeType": "S"}}"#));
    format!("[{}]", definitions.collect::<Vec<_>>().join(", "))
}

fn table(table_key: &str, definitions: &str, more: &str) -> String {
    format!(
        r#"{{"TableName": "abc", "BillingMode": "PAY_PER_REQUEST", "KeySchema": {}, "AttributeDefinitions": {}{more}}}"#,
        key(table_key),
        strings(definitions)
    )
}

fn index(name: &str, index_key: &str, projection: &str) -> String {
    format!(r#"{{"IndexName": "{name}", "KeySchema": {}, "Projection": {projection}}}"#, key(index_key))
}

const ALL: &str = r#"{"ProjectionType": "ALL"}"#;

fn global(indexes: &[String]) -> String {
    format!(r#", "GlobalSecondaryIndexes": [{}]"#, indexes.join(", "))
}

fn local(indexes: &[String]) -> String {
    format!(r#", "LocalSecondaryIndexes": [{}]"#, indexes.join(", "))
}

#[track_caller]
fn check_create(body: &str, message: &str) {
    check_refused("CreateTable", body, message);
}

#[track_caller]
fn check_parameter(body: &str, message: &str) {
    check_refused("CreateTable", body, &format!("{INVALID}{message}"));
}

#[test]
fn a_table_needs_a_key_and_its_definitions() {
    check_create(
        r#"{"TableName": "abc"}"#,
        "2 validation errors detected: Value null at 'keySchema' failed to satisfy constraint: Member must not \
         be null; Value null at 'attributeDefinitions' failed to satisfy constraint: Member must not be null",
    );
    check_create(
        &format!(r#"{{"TableName": "abc", "KeySchema": {}}}"#, key("pk:H")),
        "1 validation error detected: Value null at 'attributeDefinitions' failed to satisfy constraint: \
         Member must not be null",
    );
}

#[test]
fn billing_and_throughput_agree() {
    let missing =
        "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED";
    let schema = format!(r#""KeySchema": {}, "AttributeDefinitions": {}"#, key("pk:H"), strings("pk"));
    check_parameter(&format!(r#"{{"TableName": "abc", {schema}}}"#), missing);
    check_parameter(&format!(r#"{{"TableName": "abc", {schema}, "BillingMode": "PROVISIONED"}}"#), missing);
    let throughput = r#""ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}"#;
    check_parameter(
        &table("pk:H", "pk", &format!(", {throughput}")),
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    );
    check_admitted("CreateTable", &format!(r#"{{"TableName": "abc", {schema}, {throughput}}}"#));
    check_parameter(
        &format!(r#"{{"TableName": "abc", {schema}, {throughput}{}}}"#, global(&[index("gsi", "pk:H", ALL)])),
        "ProvisionedThroughput is not specified for index: gsi",
    );
    let paid =
        format!(r#"{{"IndexName": "gsi", "KeySchema": {}, "Projection": {ALL}, {throughput}}}"#, key("pk:H"));
    check_parameter(
        &table("pk:H", "pk", &global(&[paid])),
        "ProvisionedThroughput should not be specified for index: gsi when BillingMode is PAY_PER_REQUEST",
    );
}

#[test]
fn the_key_is_a_hash_attribute_and_perhaps_a_range_attribute() {
    check_create(
        &table("pk:R", "pk", ""),
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    );
    check_create(
        &table("pk:H sk:H", "pk sk", ""),
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    );
    check_create(
        &table("pk:H pk:R", "pk", ""),
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    );
    let three = admit("CreateTable", &table("pk:H sk:R tk:R", "pk sk tk", "")).expect_err("three attributes");
    assert!(
        three.message.contains(
            "at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2"
        ),
        "{three}"
    );
}

#[test]
fn definitions_and_keys_match() {
    check_create(
        &table("pk:H", "other", ""),
        "Invalid KeySchema: Some index key attribute have no definition",
    );
    check_parameter(
        &table("pk:H", "pk spurious", ""),
        "Number of attributes in KeySchema does not exactly match number of attributes defined in \
         AttributeDefinitions",
    );
    check_parameter(
        &table("pk:H", "pk spurious", &global(&[index("gsi", "pk:H", ALL)])),
        "Some AttributeDefinitions are not used. AttributeDefinitions: [pk, spurious], keys used: [pk]",
    );
    check_parameter(
        &table("pk:H", "pk", &global(&[index("gsi", "g:H", ALL)])),
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [g], AttributeDefinitions: [pk]",
    );
    check_parameter(&table("pk:H", "pk pk", ""), "Attribute Name is duplicated: pk");
}

#[test]
fn local_indexes() {
    check_parameter(
        &table("pk:H", "pk", r#", "LocalSecondaryIndexes": []"#),
        "List of LocalSecondaryIndexes is empty",
    );
    check_parameter(
        &table("pk:H", "pk l", &local(&[index("lsi", "pk:H l:R", ALL)])),
        "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    );
    check_parameter(
        &table("pk:H sk:R", "pk sk l", &local(&[index("lsi", "l:H pk:R", ALL)])),
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: lsi. index hash \
         key: l, table hash key: pk",
    );
    check_parameter(
        &table("pk:H sk:R", "pk sk", &local(&[index("lsi", "pk:H", ALL)])),
        "Index KeySchema does not have a range key for index: lsi",
    );
    let six: Vec<String> = (0..6).map(|n| index(&format!("lsi{n}"), "pk:H l:R", ALL)).collect();
    check_parameter(
        &table("pk:H sk:R", "pk sk l", &local(&six)),
        "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    );
    check_admitted("CreateTable", &table("pk:H sk:R", "pk sk l", &local(&six[..5])));
    let many = index("lsi", "pk:H sk:R l:R", ALL);
    let error =
        admit("CreateTable", &table("pk:H sk:R", "pk sk l", &local(&[many]))).expect_err("three attributes");
    assert!(error.message.contains("'localSecondaryIndexes.1.member.keySchema'"), "{error}");
}

#[test]
fn global_indexes() {
    let check = |index_key: &str, names: &str, message: &str| {
        check_parameter(
            &table("pk:H", &format!("pk {names}"), &global(&[index("gsi", index_key, ALL)])),
            message,
        );
    };
    check(
        "a:H b:H c:H d:H e:H",
        "a b c d e",
        "The KeySchema exceeds the maximum allowed number of HASH key attributes",
    );
    check(
        "pk:H a:R b:R c:R d:R e:R",
        "a b c d e",
        "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
    );
    check(
        "a:H b:R c:H",
        "a b c",
        "All HASH key attributes must precede RANGE key attributes in the KeySchema",
    );
    check("a:H a:R", "a", "The KeySchema contains multiple key attributes with the same name");
    check_create(
        &table("pk:H", "pk", &global(&[index("gsi", "pk:R", ALL)])),
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    );
    check_parameter(&table("pk:H", "pk", &global(&[])), "List of GlobalSecondaryIndexes is empty");
    let many: Vec<String> = (0..21).map(|n| index(&format!("gsi{n}"), "pk:H", ALL)).collect();
    check_parameter(
        &table("pk:H", "pk", &global(&many)),
        "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    );
    check_admitted("CreateTable", &table("pk:H", "pk", &global(&many[..20])));
    let wide = index("gsi", "a:H b:H c:H d:H e:R f:R g:R h:R", ALL);
    check_admitted("CreateTable", &table("pk:H", "pk a b c d e f g h", &global(&[wide])));
}

#[test]
fn projections() {
    let check = |projection: &str, message: &str| {
        check_parameter(&table("pk:H", "pk", &global(&[index("gsi", "pk:H", projection)])), message);
    };
    check("{}", "Unknown ProjectionType: null");
    for kind in ["ALL", "KEYS_ONLY"] {
        check(
            &format!(r#"{{"ProjectionType": "{kind}", "NonKeyAttributes": ["a"]}}"#),
            &format!("ProjectionType is {kind}, but NonKeyAttributes is specified"),
        );
    }
    check(
        r#"{"ProjectionType": "INCLUDE"}"#,
        "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    );
    check(
        r#"{"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "a"]}"#,
        "Duplicate attribute name in NonKeyAttributes: a",
    );
}

#[test]
fn a_table_projects_at_most_a_hundred_listed_attributes() {
    let names: Vec<String> = (0..20).map(|n| format!(r#""a{n}""#)).collect();
    let projection =
        format!(r#"{{"ProjectionType": "INCLUDE", "NonKeyAttributes": [{}]}}"#, names.join(", "));
    let indexes: Vec<String> = (0..6).map(|n| index(&format!("gsi{n}"), "pk:H", &projection)).collect();
    check_admitted("CreateTable", &table("pk:H", "pk", &global(&indexes[..5])));
    let error = admit("CreateTable", &table("pk:H", "pk", &global(&indexes))).expect_err("120 attributes");
    assert!(error.message.contains("NonKeyAttributes"), "{error}");
}

#[test]
fn index_names_are_unique_in_their_table() {
    check_parameter(
        &table(
            "pk:H sk:R",
            "pk sk",
            &(local(&[index("same", "pk:H sk:R", ALL)]) + &global(&[index("same", "pk:H", ALL)])),
        ),
        "Duplicate index name: same",
    );
}

#[track_caller]
fn check_update(members: &str, message: &str) {
    check_refused("UpdateTable", &format!(r#"{{"TableName": "abc"{members}}}"#), message);
}

#[test]
fn an_update_changes_something() {
    let nothing = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
         GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required";
    check_update("", nothing);
    check_update(r#", "GlobalSecondaryIndexUpdates": []"#, nothing);
    check_update(&format!(r#", "AttributeDefinitions": {}"#, strings("pk")), nothing);
    check_admitted("UpdateTable", r#"{"TableName": "abc", "DeletionProtectionEnabled": false}"#);
}

#[test]
fn an_update_of_indexes() {
    let updates =
        |updates: &[String]| format!(r#", "GlobalSecondaryIndexUpdates": [{}]"#, updates.join(", "));
    let create = |name: &str| format!(r#"{{"Create": {}}}"#, index(name, "g:H", ALL));
    let delete = |name: &str| format!(r#"{{"Delete": {{"IndexName": "{name}"}}}}"#);
    check_update(
        &updates(&["{}".to_owned()]),
        &format!(
            "{INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
             GlobalSecondaryIndexUpdate.Delete must not be null"
        ),
    );
    check_update(
        &updates(&[create("gsi")]),
        &format!(
            "{INVALID}Some index key attributes are not defined in AttributeDefinitions. Keys: [g], \
             AttributeDefinitions: []"
        ),
    );
    check_update(
        &updates(&[delete("gsi"), delete("gsi")]),
        &format!(
            "{INVALID}Only one global secondary index update per index is allowed simultaneously. Index: gsi"
        ),
    );
    let two = format!(r#"{{"TableName": "abc"{}}}"#, updates(&[delete("gsi1"), delete("gsi2")]));
    let error = admit("UpdateTable", &two).expect_err("two at once");
    assert_eq!(error.kind, api::ErrorKind::LimitExceeded);
    assert_eq!(
        error.message,
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    );
}

#[test]
fn an_update_to_on_demand_takes_no_throughput() {
    check_update(
        r#", "BillingMode": "PAY_PER_REQUEST",
           "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}"#,
        &format!(
            "{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is \
             PAY_PER_REQUEST"
        ),
    );
}
