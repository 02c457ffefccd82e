//! `lodestone model learn` on a running server, and on the log of one.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::support::server::{OPERATOR, Server, call};
use crate::support::until;

fn learn(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.current_dir(folder).args(["model", "learn"]).args(arguments).env("HOME", folder);
    command.env(OPERATOR.0, OPERATOR.1);
    for variable in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"] {
        command.env_remove(variable);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs")
}

/// The model that was learned.
fn model(output: &Output) -> String {
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problems}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A table of users and their orders.
fn fill(server: &Server) {
    let key = |name: &str, role: &str| json!({ "AttributeName": name, "KeyType": role });
    let kind = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let table = json!({
        "TableName": "shop", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [key("PK", "HASH"), key("SK", "RANGE")],
        "AttributeDefinitions": [kind("PK"), kind("SK")],
    });
    call(&server.url, "CreateTable", &table.to_string());
    for user in ["ann", "ben", "cy"] {
        let profile = json!({ "PK": { "S": format!("USER#{user}") }, "SK": { "S": "PROFILE" },
            "userId": { "S": user }, "name": { "S": user } });
        call(&server.url, "PutItem", &json!({ "TableName": "shop", "Item": profile }).to_string());
        for day in ["2026-06-01", "2026-06-02"] {
            let order = json!({ "PK": { "S": format!("USER#{user}") }, "SK": { "S": format!("ORDER#{day}") },
                "userId": { "S": user }, "placedOn": { "S": day }, "total": { "N": "7" } });
            call(&server.url, "PutItem", &json!({ "TableName": "shop", "Item": order }).to_string());
        }
    }
}

/// What the application does again and again.
fn ask(server: &Server, user: &str) {
    let key = json!({ "PK": { "S": format!("USER#{user}") }, "SK": { "S": "PROFILE" } });
    call(&server.url, "GetItem", &json!({ "TableName": "shop", "Key": key }).to_string());
    let query = json!({
        "TableName": "shop", "KeyConditionExpression": "PK = :p and begins_with(SK, :s)",
        "ExpressionAttributeValues": { ":p": { "S": format!("USER#{user}") }, ":s": { "S": "ORDER#" } },
        "ScanIndexForward": false, "Limit": 10,
    });
    call(&server.url, "Query", &query.to_string());
}

fn check(model: &str) {
    for part in [
        "get: User",
        "query: Order",
        "by: userId",
        "order: placedOn desc",
        "limit: 10",
        "USER#{userId}",
        "ORDER#{placedOn}",
        "rate:",
    ] {
        assert!(model.contains(part), "no `{part}` in\n{model}");
    }
}

#[test]
fn a_server_is_watched_while_its_application_runs() {
    let folder = TempDir::new().expect("a folder");
    let server = Server::run_with(&["--in-memory"], &[OPERATOR]);
    fill(&server);
    let mut learning = learn(folder.path(), &["--from", &server.url, "--minutes", "0.1"]);
    while learning.try_wait().expect("it can be asked").is_none() {
        ["ann", "ben", "cy"].iter().for_each(|user| ask(&server, user));
    }
    let model = model(&learning.wait_with_output().expect("it ended"));
    check(&model);
    assert!(model.contains("returns: 2"), "the answers were counted:\n{model}");
}

#[test]
fn a_log_of_requests_is_read() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("audit.jsonl");
    let log_path = log.to_str().expect("a path of text");
    let server = Server::start(&["--audit", log_path, "--audit-bodies"]);
    fill(&server);
    ["ann", "ben", "cy"].iter().for_each(|user| ask(&server, user));
    let queries = || std::fs::read_to_string(&log).unwrap_or_default().matches("\"Query\"").count();
    until("the log is written", || queries() >= 3);
    let learning = learn(folder.path(), &["--from", log_path, "--endpoint-url", &server.url]);
    let model = model(&learning.wait_with_output().expect("it ended"));
    check(&model);
    assert!(model.contains("put: Order"), "{model}");
    assert!(model.contains("returns: 2"), "the log has the number of items:\n{model}");
}

#[test]
fn what_can_not_be_learned_from_is_reported() {
    let folder = TempDir::new().expect("a folder");
    let server = Server::run_with(&["--in-memory"], &[OPERATOR]);
    std::fs::write(folder.path().join("other.jsonl"), "{}\n").expect("the folder is ours");
    let refused = |arguments: &[&str]| {
        let output = learn(folder.path(), arguments).wait_with_output().expect("it ended");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    let url = server.url.as_str();
    let message = refused(&["--from", "other.jsonl", "--endpoint-url", url]);
    assert!(message.contains("--audit-bodies"), "{message}");
    let message = refused(&["--from", url, "--minutes", "0.001"]);
    assert!(message.contains("no request on items was seen"), "{message}");
    let message = refused(&["--from", url, "--minutes", "0"]);
    assert!(message.contains("--minutes is more than 0"), "{message}");
}
