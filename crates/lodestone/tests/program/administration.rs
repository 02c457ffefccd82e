//! Who may administer a server: with an access file, those whose policies allow it; without one, the user who runs it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::command::path;
use crate::support::server::{OPERATOR, Server, call, operator_post, post, signed_post};

/// Every path, its action, and a request that the server can read.
const TASKS: [(&str, &str, &str); 7] = [
    ("checkpoint", "Checkpoint", r#"{"folder": "/nowhere/copy"}"#),
    ("hand-over", "HandOver", r#"{"to": "elsewhere"}"#),
    (
        "capacity",
        "DescribeCapacity",
        r#"{"table": "orders", "account": "000000000000", "region": "us-east-1"}"#,
    ),
    ("faults", "InjectFault", r#"{"list": {}}"#),
    ("heat", "DescribeHeat", r#"{"table": "orders", "account": "000000000000", "region": "us-east-1"}"#),
    ("regions", "LinkRegions", r#"{"list": {}}"#),
    ("requests", "WatchRequests", "{}"),
];

fn task_path(name: &str) -> String {
    format!("/lodestone/{name}")
}

fn create_table(url: &str) {
    let table = r#"{"TableName": "orders", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}]}"#;
    call(url, "CreateTable", table);
}

/// A command of a user whose home folder this is. The variables of the one who runs the tests are not seen.
fn command(home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(arguments).env_clear().env("HOME", home).envs(variables.iter().copied());
    command.output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr })
        .into_owned()
}

#[test]
fn without_an_access_file_only_the_operators_token_opens_administration() {
    let server = Server::run_with(&["--in-memory"], &[OPERATOR]);
    create_table(&server.url);
    for (name, _, body) in TASKS {
        let (status, answer) = post(&server.url, &task_path(name), "", body);
        assert!(status == 400 && answer.contains("MissingAuthenticationToken"), "{name}: {answer}");
        let (key, other) = ("lodestone-operator", "a-token-of-another");
        let (status, answer) = signed_post(&server.url, &task_path(name), "", body, key, other);
        assert!(status == 400 && answer.contains("LODESTONE_OPERATOR_TOKEN"), "{name}: {answer}");
        let (_, answer) = signed_post(&server.url, &task_path(name), "", body, "x", OPERATOR.1);
        assert!(answer.contains("UnrecognizedClient"), "{name}: {answer}");
    }
    for (name, _, body) in TASKS {
        let (_, answer) = operator_post(&server.url, &task_path(name), "", body);
        let is_signed = !answer.contains("for the user who runs the server");
        assert!(is_signed, "{name}: {answer}");
    }
}

#[test]
fn commands_of_the_user_who_runs_the_server_need_no_configuration() {
    let (home, stranger) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let variables = [("HOME", path(home.path())), ("XDG_STATE_HOME", ""), OPERATOR_UNSET];
    let server = Server::run_with(&["--in-memory"], &variables);
    create_table(&server.url);
    let heat = ["heat", "orders", "--endpoint-url", &server.url];
    // Credentials that the server does not know, such as those for AWS, are not in the way.
    let aws = [("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x")];
    for variables in [&[][..], &aws] {
        let done = command(home.path(), &heat, variables);
        assert!(done.status.success() && said(&done).contains("no requests"), "{}", said(&done));
        let refused = command(stranger.path(), &heat, variables);
        assert!(!refused.status.success(), "{}", said(&refused));
        assert!(said(&refused).contains("Run the command as that user"), "{}", said(&refused));
    }
    let token = home.path().join(".local/state/lodestone/operator-token");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&token), mode(token.parent().expect("a folder"))), (0o600, 0o700));

    fs::set_permissions(&token, Permissions::from_mode(0o644)).expect("the file is ours");
    let refused = command(home.path(), &heat, &[]);
    assert!(said(&refused).contains("others on this machine can read"), "{}", said(&refused));
}

/// An empty variable counts as none.
const OPERATOR_UNSET: (&str, &str) = (OPERATOR.0, "");

/// Accounts with an operator, who may do all; a reader, who may see heat; and the owner of another account.
fn access_file(folder: &Path) -> String {
    let policy = |action: &str| {
        format!(
            r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "Allow", "Action": {action}, "Resource": "*"}}}}"#
        )
    };
    let text = format!(
        r#"{{"accounts": {{
            "000000000000": {{"users": {{
                "operator": {{"keys": [{{"id": "AKIAOPERATOR", "secret": "s1"}}], "policies": [{}]}},
                "reader": {{"keys": [{{"id": "AKIAREADER", "secret": "s2"}}], "policies": [{}]}}}}}},
            "111122223333": {{"root": {{"keys": [{{"id": "AKIAOTHER", "secret": "s3"}}]}}}}}}}}"#,
        policy(r#"["lodestone:*"]"#),
        policy(r#"["dynamodb:*", "lodestone:DescribeHeat"]"#),
    );
    let file = folder.join("access.json");
    fs::write(&file, text).expect("the folder is ours");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("the file is ours");
    path(&file).to_owned()
}

#[test]
fn with_an_access_file_administration_is_for_those_whose_policies_allow_it() {
    let folder = TempDir::new().expect("a folder");
    let access = access_file(folder.path());
    let server = Server::run_with(&["--in-memory", "--access", &access], &[OPERATOR]);
    for (name, action, body) in TASKS {
        let ask = |key: &str, secret: &str| signed_post(&server.url, &task_path(name), "", body, key, secret);
        for (status, answer) in [
            post(&server.url, &task_path(name), "", body),
            operator_post(&server.url, &task_path(name), "", body),
            ask("AKIAOPERATOR", "wrong"),
        ] {
            let refusals = ["MissingAuthenticationToken", "UnrecognizedClient", "InvalidSignature"];
            assert!(status == 400 && refusals.iter().any(|it| answer.contains(it)), "{name}: {answer}");
        }
        let (_, answer) = ask("AKIAREADER", "s2");
        let is_denied = answer.contains(&format!("is not authorized to perform: lodestone:{action}"));
        assert_eq!(is_denied, name != "heat", "{name}: {answer}");
        let (_, answer) = ask("AKIAOPERATOR", "s1");
        assert!(!answer.contains("AccessDenied"), "{name}: {answer}");
        // The owner of an account sees its own tables, and has no part in the server as a whole.
        let (_, answer) = ask("AKIAOTHER", "s3");
        match name {
            "heat" | "capacity" => assert!(answer.contains("111122223333"), "{name}: {answer}"),
            _ => assert!(answer.contains("only users of the operator's account"), "{name}: {answer}"),
        }
    }
}

#[test]
fn commands_sign_with_the_usual_credentials() {
    let folder = TempDir::new().expect("a folder");
    let access = access_file(folder.path());
    let server = Server::run_with(&["--in-memory", "--access", &access], &[]);
    let list = ["fault", "list", "--endpoint-url", &server.url];
    let run = |key: &str, secret: &str| {
        command(folder.path(), &list, &[("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", secret)])
    };
    let done = run("AKIAOPERATOR", "s1");
    assert!(done.status.success(), "{}", said(&done));
    let denied = run("AKIAREADER", "s2");
    assert!(
        said(&denied).contains("is not authorized to perform: lodestone:InjectFault"),
        "{}",
        said(&denied)
    );
    let unknown = run("AKIANONE", "s1");
    assert!(
        !unknown.status.success() && said(&unknown).contains("a key of the access file"),
        "{}",
        said(&unknown)
    );
}

#[test]
fn health_and_metrics_stay_open() {
    let folder = TempDir::new().expect("a folder");
    let access = access_file(folder.path());
    let server = Server::run(&["--in-memory", "--access", &access]);
    for path in ["", "/metrics"] {
        let answer = get(&server.url, path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
}

fn get(url: &str, path: &str) -> String {
    use std::io::{Read, Write};

    let mut stream =
        std::net::TcpStream::connect(url.strip_prefix("http://").expect("an address")).expect("it listens");
    let path = if path.is_empty() { "/" } else { path };
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer
}
