//! The two files of the awslabs MCP server.

use serde_json::{Value, json};

use super::support::{export, import, round_trip, with_unknown_members};

fn data_model() -> Value {
    let key = |name: &str, role: &str| json!({ "AttributeName": name, "KeyType": role });
    let kind = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    json!({
        "tables": [{
            "TableName": "Orders",
            "AttributeDefinitions": [kind("customer_id"), kind("order_id"), kind("status"), kind("created_at")],
            "KeySchema": [key("customer_id", "HASH"), key("order_id", "RANGE")],
            "GlobalSecondaryIndexes": [{
                "IndexName": "ByStatus",
                "KeySchema": [key("customer_id", "HASH"), key("status", "RANGE"), key("created_at", "RANGE")],
                "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"] },
            }],
            "BillingMode": "PAY_PER_REQUEST",
        }],
        "items": { "Orders": [{ "PutRequest": { "Item": {
            "customer_id": { "S": "c1" }, "order_id": { "S": "o-9001" }, "status": { "S": "SHIPPED" },
            "created_at": { "S": "2026-06-03" }, "total": { "N": "72.50" },
        } } }] },
        "access_patterns": [
            {
                "pattern": "4", "description": "Orders in a status", "table": "Orders", "index": "ByStatus",
                "dynamodb_operation": "Query",
                "implementation": "aws dynamodb query --table-name Orders --index-name ByStatus \
                    --key-condition-expression '#c = :c AND #s = :s' \
                    --expression-attribute-names '{\"#c\":\"customer_id\",\"#s\":\"status\"}'",
            },
            { "pattern": "9", "description": "Full-text search", "reason": "Delegated to OpenSearch" },
        ],
    })
}

#[test]
fn tables_items_and_patterns_of_the_data_model_are_taken_over() {
    let import = import("mcp-data-model", &data_model());
    let model = &import.model;
    assert_eq!(model.tables[0].samples.len(), 1);
    let (_, read) = model.pattern_named("4").unwrap().reads().next().unwrap();
    let by: Vec<&str> = read.by.iter().map(|name| name.value.as_str()).collect();
    assert_eq!(by, ["customer_id", "status"]);
    assert!(import.notes.0.iter().any(|note| note.contains("pattern 9")), "{:?}", import.notes);
}

#[test]
fn the_data_model_comes_back() {
    round_trip("mcp-data-model", &data_model());
    round_trip("mcp-data-model", &with_unknown_members(&data_model()));
}

fn schema() -> Value {
    let field =
        |name: &str, kind: &str, required: bool| json!({ "name": name, "type": kind, "required": required });
    json!({ "tables": [{
        "table_config": { "table_name": "Orders", "partition_key": "PK", "sort_key": "SK" },
        "gsi_list": [{
            "name": "ByStatus", "partition_key": "customer_id", "sort_key": ["status", "created_at"],
            "projection": "INCLUDE", "included_attributes": ["total"],
        }],
        "entities": { "Order": {
            "entity_type": "ORD",
            "pk_template": "CUST#{customer_id}",
            "sk_template": "ORDER#{order_id}",
            "gsi_mappings": [{
                "name": "ByStatus", "pk_template": "{customer_id}", "sk_template": ["{status}", "{created_at}"],
            }],
            "fields": [
                field("customer_id", "string", true), field("order_id", "uuid", true),
                field("status", "string", true), field("created_at", "string", true),
                field("total", "decimal", false), { "name": "tags", "type": "array", "item_type": "string", "required": true },
            ],
            "access_patterns": [{
                "pattern_id": 4, "name": "list_by_status", "description": "orders by status", "operation": "Query",
                "index_name": "ByStatus", "consistent_read": false,
                "parameters": [{ "name": "customer_id", "type": "string" }, { "name": "status", "type": "string" }],
                "return_type": "entity_list",
            }],
        } },
    }] })
}

#[test]
fn templates_fields_and_patterns_of_the_schema_are_taken_over() {
    let model = import("mcp-schema", &schema()).model;
    let order = &model.entities[0];
    let templates: Vec<String> = order.key_templates().map(ToString::to_string).collect();
    assert_eq!(templates, ["CUST#{customer_id}", "ORDER#{order_id}"]);
    assert_eq!(order.entries[0].sort.len(), 2);
    assert!(order.attribute("total").unwrap().optional);
    assert_eq!(model.patterns[0].index.as_ref().unwrap().value, "ByStatus");
}

#[test]
fn the_schema_comes_back() {
    round_trip("mcp-schema", &schema());
    round_trip("mcp-schema", &with_unknown_members(&schema()));
}

#[test]
fn ranges_filters_and_new_values_of_a_model_are_written_and_read_again() {
    let text = r#"
model: orders
table: { name: Orders, partition: PK, sort: SK }
entities:
  Order:
    key: { PK: "CUST#{customer}", SK: "ORDER#{at}#{id}" }
    attributes: { at: timestamp, status: [OPEN, SHIPPED], total: number, note: { optional: true } }
patterns:
  "1": { query: Order, by: customer, where: "at between :from and :to", filter: total >= :least }
  "2": { query: Order, by: customer, where: "at >= :at", filter: exists note and total < :most, order: at desc, limit: 5 }
  "3": { query: Order, by: customer, where: "at begins_with :at", filter: note contains :word }
  "4": { update: Order, by: [customer, at, id], set: [status, note] }
"#;
    let (document, notes) = export("mcp-schema", text);
    let patterns = &document["tables"][0]["entities"]["Order"]["access_patterns"];
    assert_eq!(patterns[0]["range_condition"], "between");
    assert_eq!(patterns[0]["filter_expression"]["conditions"][0]["param"], "least");
    assert_eq!(patterns[1]["filter_expression"]["conditions"][0]["function"], "attribute_exists");
    assert!(
        notes.iter().any(|note| note == "pattern 2: this format has no place for order, limit"),
        "{notes:?}"
    );
    let again = import("mcp-schema", &document);
    for part in [
        "at between :from and :to",
        "total >= :least",
        "at >= :at",
        "exists note and total < :most",
        "at begins_with :at",
        "note contains :word",
        "set: [status, note]",
    ] {
        assert!(again.text.contains(part), "no `{part}` in\n{}", again.text);
    }
}
