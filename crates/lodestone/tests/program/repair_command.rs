//! `lodestone repair`: indexes that do not agree with their tables, and folders whose files are of different moments.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use api::{Operation, Request};
use engine::{Caller, Engine};
use store::{Consistency, Direction, Key, Range, Read, Space, Store, WriteSet};
use store_lsm::{Durability, LsmStore};

use crate::support::command::{lodestone, path, success};

const TABLE: &str = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [{"IndexName": "Global", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}],
    "LocalSecondaryIndexes": [{"IndexName": "Local", "Projection": {"ProjectionType": "KEYS_ONLY"},
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}]}]}"#;

/// A database in a folder. The sizes of its files are so small that a few commits make tables.
struct Folder(Engine);

impl Folder {
    async fn open(folder: &Path) -> Folder {
        let mut options = store_lsm::Options { durability: Durability::Os, ..Default::default() };
        options.tuning.memtable_bytes = 6 << 10;
        options.tuning.segment_bytes = 8 << 10;
        options.tuning.table_bytes = 8 << 10;
        let store = LsmStore::open(folder, options).expect("a store");
        Folder(Engine::open(Arc::new(store), Arc::new(lodestone::System)).await.expect("a database"))
    }

    async fn call(&self, operation: &str, input: &str) -> String {
        let operation = Operation::from_target_name(operation).expect("an operation");
        let request = Request::decode(operation, input.as_bytes()).expect("a request");
        let answer =
            self.0.call(&Caller::new("000000000000", "us-east-1"), request).await.expect("an answer");
        let mut json = Vec::new();
        answer.write_json(&mut json);
        String::from_utf8(json).expect("text")
    }

    /// Puts forty items. Each moves through the indexes with every round.
    async fn put_all(&self, round: u64) {
        for number in 0..40 {
            let (partition, group) = (number % 3, (number + round) % 5);
            let item = format!(
                r#"{{"p": {{"S": "p{partition}"}}, "n": {{"N": "{number}"}}, "g": {{"S": "g{group}"}}}}"#
            );
            self.call("PutItem", &format!(r#"{{"TableName": "Table", "Item": {item}}}"#)).await;
        }
    }
}

async fn write(folder: &Path, rounds: std::ops::Range<u64>) {
    let database = Folder::open(folder).await;
    if rounds.start == 0 {
        database.call("CreateTable", TABLE).await;
    }
    for round in rounds {
        database.put_all(round).await;
    }
    database.0.close().await.expect("a database closes");
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder is listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy_all(&entry.path(), &to) } else { drop(fs::copy(entry.path(), to)) }
    }
}

/// Stores the first row of a space under another key.
async fn misplace_row(folder: &Path, space: Space) {
    let store = LsmStore::open(folder, store_lsm::Options::default()).expect("a store");
    let mut first = None;
    let mut visit = |key: store::KeyRef<'_>, row| {
        first = Some((Key { space, position: key.to_position() }, row));
        ControlFlow::Break(())
    };
    let range = Range::all(space);
    store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await.expect("rows");
    let (key, row) = first.expect("a row");
    let mut other = key.clone();
    other.position.sort.push(7);
    let mut misplace = |_: &[_]| WriteSet {
        puts: vec![(other.clone(), row.clone())],
        deletes: vec![key.clone()],
        ..WriteSet::default()
    };
    store.update(&[key.clone(), other.clone()], &mut misplace).await.expect("the row is moved");
    store.close().await.expect("a store closes");
}

fn assert_right(folder: &Path) {
    let said = success(&["verify", "--data", path(folder)]);
    assert!(said.contains(": 0 faults"), "{said}");
    let said = success(&["repair", "--data", path(folder), "--yes"]);
    assert!(said.contains("there is nothing to repair"), "{said}");
}

#[tokio::test]
async fn indexes_that_do_not_agree_with_their_table_are_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), 0..2).await;
    // The first table has its items in space 16, and the rows of its indexes in 17 and 18.
    misplace_row(folder.path(), Space(17)).await;
    misplace_row(folder.path(), Space(18)).await;
    assert!(!lodestone(&["verify", "--data", path(folder.path())]).status.success());

    let said = success(&["repair", "--data", path(folder.path()), "--yes"]);
    assert!(said.contains("has no row for"), "{said}");
    assert!(said.contains("made again: 2 indexes of 1 tables"), "{said}");
    assert_right(folder.path());

    let database = Folder::open(folder.path()).await;
    database.put_all(3).await;
    for index in ["Global", "Local"] {
        let scan = format!(r#"{{"TableName": "Table", "IndexName": "{index}", "Select": "COUNT"}}"#);
        let found = database.call("Scan", &scan).await;
        assert!(found.contains(r#""Count":40"#), "{found}");
    }
    let deletion = r#"{"TableName": "Table", "Key": {"p": {"S": "p0"}, "n": {"N": "0"}}, "ReturnItemCollectionMetrics": "SIZE"}"#;
    let deleted = database.call("DeleteItem", deletion).await;
    assert!(deleted.contains("SizeEstimateRangeGB"), "{deleted}");
    database.0.close().await.expect("a database closes");
    assert_right(folder.path());
}

#[tokio::test]
async fn a_tree_that_is_ahead_of_its_log_becomes_a_database_that_is_right() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let late = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), 0..3).await;
    copy_all(folder.path(), late.path());
    write(late.path(), 3..6).await;
    fs::remove_dir_all(folder.path().join("store/tree")).expect("a folder is removed");
    copy_all(&late.path().join("store/tree"), &folder.path().join("store/tree"));

    let said = success(&["repair", "--data", path(folder.path()), "--yes"]);
    let lost = said.split_once("is lost:\n").expect("it says what is lost").1;
    assert!(lost.contains("log: ends before the tables do: writes after "), "{said}");
    assert!(said.contains("made again: 2 indexes of 1 tables"), "{said}");
    assert_right(folder.path());
}
