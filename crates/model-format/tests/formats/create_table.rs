//! CreateTable's input, there and back.

use serde_json::{Value, json};

use super::support::{export, import, round_trip};

fn shop() -> Value {
    json!({
        "TableName": "shop",
        "AttributeDefinitions": [
            { "AttributeName": "PK", "AttributeType": "S" },
            { "AttributeName": "at", "AttributeType": "N" },
            { "AttributeName": "kind", "AttributeType": "S" },
        ],
        "KeySchema": [
            { "AttributeName": "PK", "KeyType": "HASH" },
            { "AttributeName": "at", "KeyType": "RANGE" },
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "byKind",
            "KeySchema": [
                { "AttributeName": "kind", "KeyType": "HASH" },
                { "AttributeName": "PK", "KeyType": "HASH" },
                { "AttributeName": "at", "KeyType": "RANGE" },
            ],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"] },
            "WarmThroughput": { "ReadUnitsPerSecond": 12000 },
        }],
        "LocalSecondaryIndexes": [{
            "IndexName": "local",
            "KeySchema": [
                { "AttributeName": "PK", "KeyType": "HASH" },
                { "AttributeName": "kind", "KeyType": "RANGE" },
            ],
            "Projection": { "ProjectionType": "KEYS_ONLY" },
        }],
        "BillingMode": "PAY_PER_REQUEST",
        "OnDemandThroughput": { "MaxReadRequestUnits": 500 },
        "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_IMAGE" },
        "SSESpecification": { "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "alias/shop" },
        "Tags": [{ "Key": "team", "Value": "shop" }],
        "ResourcePolicy": "{}",
    })
}

#[test]
fn keys_indexes_and_settings_are_taken_over() {
    let model = import("create-table", &shop()).model;
    let table = &model.tables[0];
    assert_eq!(table.index_ids().count(), 2);
    let index = &table.indexes[0];
    let sides = (index.key.partition.len(), index.key.sort.len());
    assert_eq!(sides, (2, 1));
    assert_eq!(table.encryption, model::model::Encryption::CustomerManaged);
    assert_eq!(table.throughput.read.as_ref().and_then(|read| read.max), Some(500));
    assert!(table.key.as_ref().is_some_and(|key| key.sort[0].kind == item::Type::N));
}

#[test]
fn members_that_a_model_does_not_know_come_back() {
    round_trip("create-table", &shop());
}

#[test]
fn several_tables_are_a_list() {
    let mut other = shop();
    other["TableName"] = "second".into();
    round_trip("create-table", &json!([shop(), other]));
}

#[test]
fn what_create_table_has_no_room_for_is_reported() {
    let text = "model: m\ntable: { name: abc, partition: PK, pitr: true, ttl: end }\n\
        entities: { A: { key: { PK: \"A#{id}\" }, count: 5 } }\npatterns: { P: { get: A, rate: 1/s } }\n";
    let (document, notes) = export("create-table", text);
    assert_eq!(document["BillingMode"], "PAY_PER_REQUEST");
    for said in
        ["TTL attribute of `abc`", "point-in-time recovery", "number of items of `A`", "patterns of `P`"]
    {
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
    }
}
