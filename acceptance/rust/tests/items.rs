//! The calls that every program makes, and how their failures look to it.

use std::collections::HashMap;

use acceptance::{Key, Lodestone};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, Put, ReturnValue,
    ScalarAttributeType, TransactWriteItem, WriteRequest,
};

type Item = HashMap<String, AttributeValue>;

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: u32) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn key(number_of_song: u32) -> Item {
    HashMap::from([("artist".to_owned(), text("Nina")), ("song".to_owned(), number(number_of_song))])
}

/// A server with the table Songs, by artist and number.
async fn songs() -> (Lodestone, Client) {
    let server = Lodestone::start(&[]);
    let any_key = Key { id: "ACCEPTANCE".to_owned(), secret: "secret".to_owned() };
    let client = Client::from_conf(server.config(&any_key).build());
    let mut create = client.create_table().table_name("Songs").billing_mode(BillingMode::PayPerRequest);
    for (name, kind, place) in
        [("artist", ScalarAttributeType::S, KeyType::Hash), ("song", ScalarAttributeType::N, KeyType::Range)]
    {
        let defined = AttributeDefinition::builder().attribute_name(name).attribute_type(kind);
        let placed = KeySchemaElement::builder().attribute_name(name).key_type(place);
        create = create.attribute_definitions(defined.build().unwrap()).key_schema(placed.build().unwrap());
    }
    create.send().await.expect("the table is created");
    (server, client)
}

#[tokio::test]
async fn an_item_is_put_read_changed_and_deleted() {
    let (_server, client) = songs().await;
    let mut item = key(1);
    item.insert("tags".to_owned(), AttributeValue::Ss(vec!["blues".to_owned(), "live".to_owned()]));
    client.put_item().table_name("Songs").set_item(Some(item.clone())).send().await.unwrap();
    let read = client.get_item().table_name("Songs").set_key(Some(key(1))).consistent_read(true);
    assert_eq!(read.send().await.unwrap().item, Some(item));
    let update = client.update_item().table_name("Songs").set_key(Some(key(1)));
    let update = update.update_expression("ADD plays :one").expression_attribute_values(":one", number(1));
    let changed = update.return_values(ReturnValue::UpdatedNew).send().await.unwrap();
    assert_eq!(changed.attributes, Some(HashMap::from([("plays".to_owned(), number(1))])));
    client.delete_item().table_name("Songs").set_key(Some(key(1))).send().await.unwrap();
    let read = client.get_item().table_name("Songs").set_key(Some(key(1))).send().await.unwrap();
    assert_eq!(read.item, None);
}

#[tokio::test]
async fn pages_of_a_query_follow_each_other() {
    let (_server, client) = songs().await;
    let puts = (1..=25).map(|song| {
        let put = aws_sdk_dynamodb::types::PutRequest::builder().set_item(Some(key(song)));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    });
    let written = client.batch_write_item().request_items("Songs", puts.collect()).send().await.unwrap();
    assert!(written.unprocessed_items.unwrap_or_default().is_empty());
    let query = client.query().table_name("Songs").key_condition_expression("artist = :artist");
    let mut pages =
        query.expression_attribute_values(":artist", text("Nina")).into_paginator().page_size(10).send();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.unwrap().count());
    }
    assert_eq!(sizes, [10, 10, 5]);
}

#[tokio::test]
async fn a_failed_condition_is_an_error_of_its_own_type() {
    let (_server, client) = songs().await;
    let put = client.put_item().table_name("Songs").set_item(Some(key(1)));
    let put = put.condition_expression("attribute_not_exists(artist)");
    put.clone().send().await.unwrap();
    let error = put.send().await.unwrap_err().into_service_error();
    assert!(error.is_conditional_check_failed_exception(), "{error:?}");
    let write = Put::builder().table_name("Songs").set_item(Some(key(1)));
    let write = write.condition_expression("attribute_not_exists(artist)").build().unwrap();
    let transaction = client.transact_write_items();
    let transaction = transaction.transact_items(TransactWriteItem::builder().put(write).build());
    let error = transaction.send().await.unwrap_err().into_service_error();
    assert!(error.is_transaction_canceled_exception(), "{error:?}");
    let missing = client.get_item().table_name("Missing").set_key(Some(key(1))).send().await;
    assert!(missing.unwrap_err().into_service_error().is_resource_not_found_exception());
}
