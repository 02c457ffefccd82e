//! The format row: it guards the data from programs that are too old for it.

use bytes::Bytes;
use store::{Consistency, Key, Partition, Position, Space, StoreError, WriteSet};

use crate::database::{Database, on_every_store};

fn key() -> Key {
    Key { space: Space(5), position: Position { partition: Partition::FIRST, sort: b"format".to_vec() } }
}

async fn row(database: &Database) -> Option<Bytes> {
    database.store.get(&[key()], Consistency::Latest).await.unwrap().remove(0)
}

async fn set(database: &Database, format: Option<&'static str>) {
    let mut decide = |_: &[Option<Bytes>]| match format {
        Some(format) => WriteSet { puts: vec![(key(), Bytes::from(format))], ..WriteSet::default() },
        None => WriteSet { deletes: vec![key()], ..WriteSet::default() },
    };
    database.store.update(&[key()], &mut decide).await.unwrap();
}

on_every_store! {
    async fn a_new_database_has_a_format(database) {
        assert_eq!(row(database).await.as_deref(), Some(&b"1"[..]));
    }

    async fn data_from_before_there_was_a_format_row_gets_one(database) {
        database.with_table("Table").await;
        set(database, None).await;
        let reopened = database.reopened().await;
        assert_eq!(row(&reopened).await.as_deref(), Some(&b"1"[..]));
        reopened.ok("DescribeTable", serde_json::json!({"TableName": "Table"})).await;
    }

    async fn a_newer_format_is_refused_with_advice(database) {
        set(database, Some("2")).await;
        let Err(StoreError::Format(reason)) = database.open_again().await else { panic!("it was opened") };
        assert_eq!(reason, "the data has format 2, and this program knows formats up to 1: a newer Lodestone has \
                            written it. Open it with that version, or with a later one");
        set(database, Some("garbage")).await;
        assert!(matches!(database.open_again().await, Err(StoreError::Corrupt(_))));
    }
}
