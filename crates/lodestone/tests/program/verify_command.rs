//! `lodestone verify` on a PostgreSQL database: while servers use it, when a row was lost, and when nothing is there.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{Consistency, Direction, Key, Range, Read, Space, Store, WriteSet};
use store_postgres::PostgresStore;
use store_postgres::test_server::TestServer;

use crate::support::command::{lodestone, refusal, success};
use crate::support::server::{Server, call};

const TABLE: &str = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}, {"AttributeName": "g", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{"IndexName": "Index", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}]}"#;

fn fresh_database() -> String {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(TestServer::fresh_database())
}

/// Removes the first row of a space.
fn lose_row(url: &str, space: Space) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = PostgresStore::open(url, Default::default()).await.expect("a store");
        let mut first = None;
        let mut visit = |key: store::KeyRef<'_>, _| {
            first = Some(Key { space, position: key.to_position() });
            ControlFlow::Break(())
        };
        let range = Range::all(space);
        store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await.expect("rows");
        let key = first.expect("a row");
        let mut lose = |_: &[_]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
        store.update(std::slice::from_ref(&key), &mut lose).await.expect("the row is removed");
    });
}

/// The item of a number moves through the index with every round.
fn put(url: &str, number: u64, round: u64) {
    let group = (number + round) % 5;
    let item = format!(r#"{{"n": {{"N": "{number}"}}, "g": {{"S": "group {group}"}}}}"#);
    call(url, "PutItem", &format!(r#"{{"TableName": "Table", "Item": {item}}}"#));
}

#[test]
fn a_database_is_verified_while_two_servers_write_and_change_tables() {
    let url = fresh_database();
    let servers = [Server::on_postgres(&url), Server::on_postgres(&url)];
    call(&servers[0].url, "CreateTable", TABLE);
    (0..40).for_each(|number| put(&servers[0].url, number, 0));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            let is_done = &is_done;
            scope.spawn(move || {
                let other = format!(r#"{{"TableName": "Other-{number}""#);
                for round in 1.. {
                    (0..40).for_each(|item| put(&server.url, item, round));
                    let table = TABLE.replace(r#"{"TableName": "Table""#, &other);
                    call(&server.url, "CreateTable", &table);
                    call(&server.url, "DeleteTable", &format!("{other}}}"));
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..5 {
            let output = lodestone(&["verify", "--postgres", &url]);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_right = said.contains(" 40 items, 40 index rows: 0 faults") && output.status.success();
            if !is_right {
                is_done.store(true, Ordering::Relaxed);
            }
            assert!(is_right, "{said}{}", String::from_utf8_lossy(&output.stderr));
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_lost_row_is_found_and_named() {
    let url = fresh_database();
    let server = Server::on_postgres(&url);
    call(&server.url, "CreateTable", TABLE);
    (0..10).for_each(|number| put(&server.url, number, 0));
    // The first table has its items in space 16, and the rows of its index in 17.
    lose_row(&url, Space(17));
    let output = lodestone(&["verify", "--postgres", &url]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("index Index has no row for"), "{said}");
    assert!(said.contains("1 tables, 10 items, 9 index rows: 2 faults"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_empty_database_is_refused_and_stays_empty() {
    let url = fresh_database();
    let refused = refusal(&["verify", "--postgres", &url]);
    assert!(refused.contains("there is no data of Lodestone in that database"), "{refused}");
    assert_eq!(refusal(&["verify", "--postgres", &url]), refused, "no tables were made");
    drop(Server::on_postgres(&url));
    let said = success(&["verify", "--postgres", &url]);
    assert!(said.contains("0 tables, 0 items, 0 index rows: 0 faults"), "{said}");
}
