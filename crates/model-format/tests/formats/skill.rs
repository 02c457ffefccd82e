//! The data model of the AWS skill.

use serde_json::{Value, json};

use super::support::{import, round_trip, with_unknown_members};

fn orders() -> Value {
    json!({
        "tables": [{
            "table_name": "Orders",
            "key_schema": { "partition_key": "customer_id", "sort_key": "order_id" },
            "entities": [{
                "entity_name": "Order", "estimated_item_size_bytes": 900, "estimated_item_count": 500000,
                "attributes": [
                    { "name": "customer_id", "type": "S" }, { "name": "order_id", "type": "S" },
                    { "name": "status", "type": "S" }, { "name": "created_at", "type": "N" },
                ],
            }],
            "gsis": [{
                "index_name": "OpenOrders", "partition_key": "status", "sort_key": "created_at",
                "projection": { "type": "KEYS_ONLY" },
            }],
            "vector_indexes": [{ "index_name": "similar" }],
        }],
        "access_patterns": [
            { "pattern_id": "A1", "operation": "GetItem", "table": "Orders", "peak_rps": 100, "avg_rps": 10,
              "estimated_item_size_bytes": 900 },
            { "pattern_id": "A7", "operation": "UpdateItem", "table": "Orders", "peak_rps": 50, "avg_rps": 5,
              "attributes_written": ["status"], "entities_written": ["Order"], "conditional_fail_rate": 0.1 },
            { "pattern_id": "A8", "operation": "SearchVectors", "table": "Orders", "top_k": 5 },
        ],
    })
}

#[test]
fn counts_sizes_and_rates_are_taken_over() {
    let import = import("skill", &orders());
    let model = &import.model;
    assert_eq!(model.items(model.entity_named("Order").unwrap()), Some(500_000.0));
    assert_eq!(model.entities[0].size.as_ref().unwrap().typical, 900);
    let rate = &model.pattern_named("A1").unwrap().rate.as_ref().unwrap().value;
    assert_eq!((rate.average, rate.peak), (10.0, Some(100.0)));
    assert!(model.tables[0].indexes[0].key.sort[0].kind == item::Type::N);
    assert!(import.notes.0.iter().any(|note| note.contains("A8")), "{:?}", import.notes);
}

#[test]
fn the_document_comes_back() {
    round_trip("skill", &orders());
    round_trip("skill", &with_unknown_members(&orders()));
}
