//! NoSQL Workbench, with its traps.

use model::model::Billing;
use serde_json::{Value, json};

use super::support::{export, import, round_trip, with_unknown_members};

fn attribute(name: &str) -> Value {
    json!({ "AttributeName": name, "AttributeType": "S" })
}

fn order(customer: &str, date: &str, id: &str, status: &str) -> Value {
    json!({
        "PK": { "S": format!("CUST#{customer}") },
        "SK": { "S": format!("ORDER#{date}#{id}") },
        "status": { "S": status },
        "GSI1PK": { "S": format!("CUST#{customer}#{status}") },
        "GSI1SK": { "S": format!("{date}#{id}") },
    })
}

fn shop(facets: Value, rows: Value) -> Value {
    json!({
        "ModelName": "Shop",
        "ModelMetadata": {
            "Author": "Ann", "DateCreated": "Jun 01, 2026, 09:00 AM", "DateLastModified": "Jun 02, 2026, 09:00 AM",
            "Description": "", "AWSService": "Amazon DynamoDB", "Version": "2.0",
        },
        "DataModel": [{
            "TableName": "app-main",
            "KeyAttributes": { "PartitionKey": attribute("PK"), "SortKey": attribute("SK") },
            "NonKeyAttributes": [attribute("GSI1PK"), attribute("GSI1SK"), attribute("status")],
            "TableFacets": facets,
            "GlobalSecondaryIndexes": [{
                "IndexName": "GSI1",
                "KeyAttributes": { "PartitionKey": attribute("GSI1PK"), "SortKey": attribute("GSI1SK") },
                "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["status", "PK"] },
            }],
            "TableData": rows,
            "DataAccess": { "MySql": {} },
            "SampleDataFormats": { "status": ["dataTypes", "String"] },
            "BillingMode": "PAY_PER_REQUEST",
        }],
    })
}

fn with_facet() -> Value {
    let facet = json!({
        "FacetName": "Order",
        "KeyAttributeAlias": { "PartitionKeyAlias": "CUST#<id>", "SortKeyAlias": "ORDER#<date>#<id>" },
        "TableData": [order("a1b2", "2026-06-03", "o-9044", "SHIPPED"), order("c3", "2026-06-04", "o-1", "OPEN")],
        "NonKeyAttributes": ["status", "GSI1PK", "GSI1SK"],
        "DataAccess": { "MySql": {} },
    });
    shop(json!([facet]), json!([]))
}

#[test]
fn the_keys_of_a_facet_are_read_from_its_rows() {
    let model = import("nosql-workbench", &with_facet()).model;
    let order = &model.entities[model.entity_named("Order").unwrap().0];
    let templates: Vec<String> = order.key_templates().map(ToString::to_string).collect();
    assert_eq!(templates, ["CUST#{custId}", "ORDER#{orderAt}#{orderId}"]);
    let entry: Vec<String> = order.entries[0].templates().map(ToString::to_string).collect();
    assert_eq!(entry, ["CUST#{custId}#{status}", "{orderAt}#{orderId}"]);
}

#[test]
fn without_rows_the_aliases_tell_the_keys() {
    let mut document = with_facet();
    document["DataModel"][0]["TableFacets"][0]["TableData"] = json!([]);
    let model = round_trip("nosql-workbench", &document).model;
    let templates: Vec<String> = model.entities[0].key_templates().map(ToString::to_string).collect();
    assert_eq!(templates, ["CUST#{custId}", "ORDER#{date}#{orderId}"]);
}

#[test]
fn without_facets_entities_are_found_by_the_words_in_keys() {
    let profile = json!({ "PK": { "S": "CUST#a1b2" }, "SK": { "S": "PROFILE" }, "name": { "S": "Ann" } });
    let rows = json!([profile, order("a1b2", "2026-06-03", "o-9044", "SHIPPED")]);
    let model = round_trip("nosql-workbench", &shop(json!([]), rows)).model;
    let names: Vec<&str> = model.entities.iter().map(|entity| entity.name.value.as_str()).collect();
    assert_eq!(names, ["Cust", "Order"]);
}

#[test]
fn the_document_comes_back_with_its_version_and_formats() {
    round_trip("nosql-workbench", &with_facet());
    round_trip("nosql-workbench", &with_unknown_members(&with_facet()));
    round_trip("nosql-workbench", &shop(json!([]), json!([])));
}

#[test]
fn untyped_maps_and_nulls_in_rows_come_back() {
    let mut row = order("a", "2026-06-03", "o", "OPEN");
    row["settings"] = json!({ "M": { "is_enabled": true, "S": { "S": "named like a type" } } });
    row["nothing"] = json!({ "NULL": true });
    round_trip("nosql-workbench", &shop(json!([]), json!([row])));
}

#[test]
fn provisioned_capacity_and_its_scaling_are_taken_over() {
    let mut document = with_facet();
    document["DataModel"][0]["BillingMode"] = "PROVISIONED".into();
    document["DataModel"][0]["ProvisionedCapacitySettings"] = json!({
        "ProvisionedThroughput": { "ReadCapacityUnits": 7, "WriteCapacityUnits": 8 },
        "AutoScalingRead": {
            "ScalableTargetRequest": { "MinCapacity": 1, "MaxCapacity": 10, "ServiceRole": "role" },
            "ScalingPolicyConfiguration": { "TargetValue": 70 },
        },
    });
    let table = round_trip("nosql-workbench", &document).model.tables.remove(0);
    assert_eq!(table.billing.value, Billing::Provisioned);
    let read = table.throughput.read.unwrap().value;
    assert_eq!((read.units, read.max, read.target), (Some(7), Some(10), Some(0.7)));
}

#[test]
fn version_and_service_are_written_or_the_tool_refuses_the_file() {
    let (document, _) = export("nosql-workbench", model::STARTER);
    assert_eq!(document["ModelMetadata"]["Version"], "3.0");
    assert_eq!(document["ModelMetadata"]["AWSService"], "Amazon DynamoDB");
}
