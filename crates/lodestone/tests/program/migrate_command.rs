//! `lodestone migrate` as its users meet it: between folders and PostgreSQL, under load, killed again and again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use store::{Consistency, Direction, KeyRef, Log, LogPosition, Position, Range, Space, Store};
use store_lsm::LsmStore;
use store_postgres::PostgresStore;
use store_postgres::test_server::TestServer;
use tempfile::TempDir;

use crate::support::command::{path, refusal, success};
use crate::support::server::{Server, call, try_call};
use crate::support::{WAIT_MAX, is_within, until};

fn fresh_database() -> String {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(TestServer::fresh_database())
}

/// A table with an index, a stream and a tag.
fn create_table(url: &str) {
    let table = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}, {"AttributeName": "g", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{"IndexName": "Index", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Tags": [{"Key": "team", "Value": "billing"}]}"#;
    call(url, "CreateTable", table);
}

fn put(number: u64) -> String {
    let group = number % 7;
    format!(r#"{{"TableName": "Table", "Item": {{"n": {{"N": "{number}"}}, "g": {{"S": "{group}"}}}}}}"#)
}

/// Puts many items, 25 with each request.
fn fill(url: &str, numbers: std::ops::Range<u64>) {
    let numbers: Vec<u64> = numbers.collect();
    for numbers in numbers.chunks(25) {
        let item = |number: &u64| {
            let group = number % 7;
            format!(r#"{{"PutRequest": {{"Item": {{"n": {{"N": "{number}"}}, "g": {{"S": "{group}"}}}}}}}}"#)
        };
        let items: Vec<String> = numbers.iter().map(item).collect();
        call(url, "BatchWriteItem", &format!(r#"{{"RequestItems": {{"Table": [{}]}}}}"#, items.join(",")));
    }
}

fn has(url: &str, number: u64) -> bool {
    let get =
        format!(r#"{{"TableName": "Table", "Key": {{"n": {{"N": "{number}"}}}}, "ConsistentRead": true}}"#);
    call(url, "GetItem", &get).contains("Item")
}

type Contents =
    (BTreeMap<(Space, Position), Vec<u8>>, BTreeMap<Log, (LogPosition, Vec<(LogPosition, Vec<u8>)>)>);

/// Everything that is to come along: all rows but those of servers, sizes and the migration itself, and all logs.
fn contents(place: &str) -> Contents {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store: Box<dyn Store> = match place.starts_with("postgres") {
            true => Box::new(PostgresStore::open(place, Default::default()).await.expect("a store")),
            false => Box::new(LsmStore::open(place, Default::default()).expect("a store")),
        };
        let (mut rows, mut logs) = (BTreeMap::new(), BTreeMap::new());
        for number in (0..64).filter(|number| *number != 12) {
            let mut visit = |key: KeyRef<'_>, value: bytes::Bytes| {
                let is_apart = key.sort.starts_with(b"size:") || key.sort == b"migration";
                if number > 15 || !is_apart {
                    rows.insert((Space(number), key.to_position()), value.to_vec());
                }
                ControlFlow::Continue(())
            };
            let range = Range::all(Space(number));
            store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await.expect("rows");
            let records = store.read_log(Log(number), LogPosition(0), usize::MAX).await.expect("records");
            let records = records.into_iter().map(|(position, record)| (position, record.to_vec())).collect();
            logs.insert(Log(number), (store.log_end(Log(number)).await.expect("an end"), records));
        }
        store.close().await.expect("it is closed");
        (rows, logs)
    })
}

/// Runs the command and kills it, each time a little later, until it succeeds. A server that was asked to end by a
/// command that was killed then may be ending still: the next command can't reach it and says so, and the one after
/// that goes on.
fn run_and_kill(arguments: &[&str]) {
    let (mut time, began) = (Duration::from_millis(20), Instant::now());
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        let command = command.args(arguments).stdout(Stdio::null());
        let mut process = command.spawn().expect("the command starts");
        is_within(time, || process.try_wait().expect("its state").is_some());
        // It may have ended just now.
        let _ = process.kill();
        if process.wait().expect("it has ended").success() {
            return;
        }
        assert!(began.elapsed() < WAIT_MAX, "it does not end within {time:?}");
        time = time.mul_f64(1.5);
    }
}

/// Moves a source that a server uses and a client writes to, and kills the command on the way.
fn moves_while_it_is_served(server: Server, from: &str, to: &str) {
    create_table(&server.url);
    fill(&server.url, 1_000_000..1_001_500);
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            // Until the source is closed.
            for number in 1.. {
                match try_call(&server.url, "PutItem", &put(number)) {
                    Ok((200, _)) => acknowledged.store(number, Ordering::SeqCst),
                    _ => break,
                }
            }
        });
        until("the client writes", || acknowledged.load(Ordering::SeqCst) >= 20 || client.is_finished());
        assert!(!client.is_finished(), "the client writes");
        let mut arguments = vec!["migrate", from, to];
        if !from.starts_with("postgres") {
            arguments.extend(["--endpoint-url", &server.url]);
        }
        run_and_kill(&arguments);
    });
    server.wait();
    let said = success(&["migrate", from, to]);
    assert!(said.contains("there is nothing to do"), "{said}");
    let (moved, expected) = (contents(to), contents(from));
    assert!(moved == expected, "{} rows and {} rows", moved.0.len(), expected.0.len());
    assert!(
        expected.1.values().map(|(_, records)| records.len()).sum::<usize>() > 1_500,
        "there is a stream"
    );

    let flag = if from.starts_with("postgres") { "--postgres" } else { "--data" };
    let refused = refusal(&["serve", "--port", "0", flag, from]);
    assert!(refused.contains("the data was moved to"), "{refused}");
    let server = match to.starts_with("postgres") {
        true => Server::on_postgres(to),
        false => Server::on_folder(Path::new(to)),
    };
    let last = acknowledged.into_inner();
    assert!((1..=last).all(|number| has(&server.url, number)), "{last} were acknowledged");
    let tags = r#"{"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Table"}"#;
    assert!(call(&server.url, "ListTagsOfResource", tags).contains("billing"));
    // Sizes are not copied: the target counts them itself.
    let count = format!(r#""ItemCount":{}"#, expected_items(&expected));
    until("the items are counted", || {
        call(&server.url, "DescribeTable", r#"{"TableName": "Table"}"#).contains(&count)
    });
    call(&server.url, "PutItem", &put(2_000_000));
}

/// The table has the first space, and one row for each item.
fn expected_items(contents: &Contents) -> usize {
    contents.0.keys().filter(|(space, _)| *space == Space(16)).count()
}

#[test]
fn a_folder_in_use_moves_to_postgresql_however_often_the_command_is_killed() {
    let folders = TempDir::new().expect("a folder");
    let data = folders.path().join("data");
    moves_while_it_is_served(Server::on_folder(&data), path(&data), &fresh_database());
    assert!(!folders.path().join("data.migrating").exists(), "the checkpoint was removed");
}

#[test]
fn a_postgresql_in_use_moves_to_a_folder_however_often_the_command_is_killed() {
    let folders = TempDir::new().expect("a folder");
    let (url, data) = (fresh_database(), folders.path().join("data"));
    moves_while_it_is_served(Server::on_postgres(&url), &url, path(&data));
    let verified = success(&["verify", "--data", path(&data)]);
    assert!(verified.contains("0 damaged files") && verified.contains("0 faults"), "{verified}");
}

#[test]
fn a_folder_that_is_not_in_use_is_moved_copied_and_taken_back() {
    let folders = TempDir::new().expect("a folder");
    let [data, copy, target, other] =
        ["data", "copy", "target", "other"].map(|name| folders.path().join(name));
    let [data, copy, target, other] = [&data, &copy, &target, &other].map(|folder| path(folder));
    let missing = refusal(&["migrate", data, target]);
    assert!(missing.contains("there is no database in the folder"), "{missing}");
    let same = refusal(&["migrate", data, data]);
    assert!(same.contains("the same place"), "{same}");

    let server = Server::on_folder(Path::new(data));
    create_table(&server.url);
    fill(&server.url, 0..50);
    let taken = refusal(&["migrate", data, target]);
    assert!(taken.contains(&server.url) && taken.contains("--endpoint-url"), "{taken}");
    drop(server);

    let said = success(&["migrate", "--keep-source", data, copy]);
    assert!(said.contains("all compared and equal") && said.contains("checksum"), "{said}");
    assert!(contents(copy) == contents(data));
    drop(Server::on_folder(Path::new(data)));
    let full = refusal(&["migrate", data, copy]);
    assert!(full.contains("the target is not empty"), "{full}");

    success(&["migrate", data, target]);
    let moved = refusal(&["migrate", data, other]);
    assert!(moved.contains("was moved, or is being moved") && moved.contains(target), "{moved}");
    success(&["migrate", "--cancel", data]);
    assert!(has(&Server::on_folder(Path::new(data)).url, 7));
    assert!(has(&Server::on_folder(Path::new(target)).url, 7));
}
