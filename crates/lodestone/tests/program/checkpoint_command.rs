//! `lodestone checkpoint` as its users meet it: a copy of the whole folder, also while a server writes to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tempfile::TempDir;

use crate::support::command::{path, refusal, success};
use crate::support::server::{OPERATOR, Server, call, operator_post};

fn create_table(url: &str) {
    let table = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}]}"#;
    call(url, "CreateTable", table);
}

fn put(url: &str, number: u64) {
    call(url, "PutItem", &format!(r#"{{"TableName": "Table", "Item": {{"n": {{"N": "{number}"}}}}}}"#));
}

fn has(url: &str, number: u64) -> bool {
    let get =
        format!(r#"{{"TableName": "Table", "Key": {{"n": {{"N": "{number}"}}}}, "ConsistentRead": true}}"#);
    call(url, "GetItem", &get).contains("Item")
}

#[test]
fn a_copy_taken_under_load_holds_every_write_acknowledged_before() {
    let (data, copies) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let server = Server::on_folder(data.path());
    create_table(&server.url);
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut taken = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                put(&server.url, number);
                acknowledged.store(number, Ordering::SeqCst);
            }
        });
        for name in ["first", "second"] {
            while acknowledged.load(Ordering::SeqCst) < 20 * (taken.len() as u64 + 1) {
                std::thread::yield_now();
            }
            let before = acknowledged.load(Ordering::SeqCst);
            let copy = copies.path().join(name);
            let said = success(&["checkpoint", "--endpoint-url", &server.url, "--to", path(&copy)]);
            assert!(said.contains(path(&copy)), "{said}");
            taken.push((copy, before));
        }
        stop.store(true, Ordering::Relaxed);
    });
    for (copy, before) in taken {
        let verified = success(&["verify", "--data", path(&copy)]);
        assert!(verified.contains("0 damaged files") && verified.contains("0 faults"), "{verified}");
        let server = Server::on_folder(&copy);
        assert!((1..=before).all(|number| has(&server.url, number)), "{before} were acknowledged");
        put(&server.url, 1_000_000);
    }
    assert!(!has(&server.url, 1_000_000), "the copy is a database of its own");
}

#[test]
fn a_folder_that_is_not_in_use_is_copied_without_a_server() {
    let (data, copies) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let copy = copies.path().join("copy");
    let arguments = ["checkpoint", "--data", path(data.path()), "--to", path(&copy)];
    let missing = refusal(&arguments);
    assert!(missing.contains("there is no database in the folder"), "{missing}");
    assert!(!data.path().join("store").exists(), "nothing was made");

    let server = Server::on_folder(data.path());
    create_table(&server.url);
    put(&server.url, 7);
    let taken = refusal(&arguments);
    assert!(taken.contains(&server.url) && taken.contains("--endpoint-url"), "{taken}");
    drop(server);
    success(&arguments);
    assert!(has(&Server::on_folder(&copy).url, 7));
    let again = refusal(&arguments);
    assert!(again.contains(path(&copy)) && again.contains("is not empty"), "{again}");
}

#[test]
fn what_is_in_no_folder_says_what_to_do_instead() {
    let copies = TempDir::new().expect("a folder");
    let copy = copies.path().join("copy");
    let server = Server::start(&[]);
    let refused = refusal(&["checkpoint", "--endpoint-url", &server.url, "--to", path(&copy)]);
    assert!(refused.contains("in memory") && refused.contains("--data DIR"), "{refused}");
    assert!(!copy.exists());
}

#[test]
fn only_programs_with_an_absolute_path_are_served() {
    let (data, copies) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let server = Server::run_with(&["--data", path(data.path())], &[OPERATOR]);
    let copy = copies.path().join("copy");
    let ask = |headers: &str, body: &str| operator_post(&server.url, "/lodestone/checkpoint", headers, body);
    let body = format!(r#"{{"folder": "{}"}}"#, path(&copy));
    let (status, answer) = ask("Origin: http://localhost:3000\r\n", &body);
    assert!(status == 403 && answer.contains("Only a program on the machine"), "{answer}");
    for wrong in ["", "{}", r#"{"folder": "copy"}"#, r#"{"folder": 7}"#, "[]"] {
        let (status, answer) = ask("", wrong);
        assert!(status == 400 && answer.contains("as an absolute path"), "{wrong}: {answer}");
    }
    let (status, answer) = ask("", &format!(r#"{{"folder": "{}/copy"}}"#, path(data.path())));
    assert!(status == 400 && answer.contains("is inside of the data folder"), "{answer}");
    assert!(!copy.exists());
    assert_eq!(ask("", &body).0, 200);
}
