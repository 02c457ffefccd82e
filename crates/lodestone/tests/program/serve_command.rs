//! `lodestone serve` as its users meet it: what it says when it can't start, and which requests it answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

#[cfg(not(feature = "foundationdb"))]
use crate::support::command;
use crate::support::server::Server;
use crate::support::until;

/// What the command says on standard error when it can't start.
fn refusal(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    let output = command.arg("serve").args(arguments).output().expect("the command runs");
    assert!(!output.status.success(), "it started");
    String::from_utf8(output.stderr).expect("text")
}

/// Checks that the message names these things and hides no cause behind a number.
fn check(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    assert!(!message.contains("os error"), "{message}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn a_file_is_no_data_folder() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "keep me").expect("the folder is ours");
    for data in [file.clone(), file.join("below")] {
        check(&refusal(&["--port", "0", "--data", path(&data)]), &["is a file", "notes.txt", "--data"]);
    }
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), "keep me");
}

#[test]
fn a_port_that_is_taken_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    check(&refusal(&["--in-memory", "--port", &port]), &[&format!("port {port}"), "taken", "--port 0"]);
}

#[test]
fn an_address_of_another_machine_is_named_with_a_way_out() {
    // 192.0.2.0/24 is reserved for documentation (RFC 5737): no machine has such an address.
    let message = refusal(&["--in-memory", "--port", "0", "--host", "192.0.2.1", "--open-to-anyone"]);
    check(&message, &["192.0.2.1", "--host 0.0.0.0"]);
}

#[test]
fn other_machines_are_served_only_if_somebody_wants_that() {
    let message = refusal(&["--in-memory", "--port", "0", "--host", "0.0.0.0"]);
    check(&message, &["0.0.0.0", "read and change every table", "--open-to-anyone"]);
    for host in ["localhost", "127.0.0.2"] {
        Server::start(&["--host", host]);
    }
}

#[test]
fn a_certificate_that_cannot_be_used_says_what_is_wrong_with_it() {
    let folder = TempDir::new().expect("a folder");
    let (certificate, key) = (folder.path().join("server.pem"), folder.path().join("key.pem"));
    let serve = || {
        refusal(&["--in-memory", "--port", "0", "--tls-cert", path(&certificate), "--tls-key", path(&key)])
    };
    check(&refusal(&["--in-memory", "--tls-cert", "server.pem"]), &["--tls-key"]);
    assert!(serve().contains("can't read") && serve().contains("server.pem"), "{}", serve());
    std::fs::write(&certificate, "no certificate").expect("the folder is ours");
    std::fs::write(&key, "no key").expect("the folder is ours");
    check(&serve(), &["server.pem", "--tls-cert", "holds no certificate", "PEM"]);
}

#[test]
fn an_audit_log_that_cannot_be_written_is_named() {
    let message = refusal(&["--in-memory", "--port", "0", "--audit", "/nowhere/audit.jsonl"]);
    assert!(message.contains("/nowhere/audit.jsonl") && message.contains("--audit"), "{message}");
}

#[test]
fn what_was_done_is_in_the_audit_log() {
    let folder = TempDir::new().expect("a folder");
    let server = Server::start(&["--audit", path(folder.path())]);
    assert_eq!(list_tables(&server, "Host: localhost\r\n").0, 200);
    let log = folder.path().join("audit.jsonl");
    // The line is written by another thread.
    until("ListTables is in the log", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("\"operation\":\"ListTables\""))
    });
}

#[test]
fn a_folder_that_another_process_holds_names_it() {
    let folder = TempDir::new().expect("a folder");
    let holder = Server::on_folder(folder.path());
    let message = refusal(&["--port", "0", "--data", path(folder.path())]);
    check(&message, &[path(folder.path()), &holder.process_id().to_string(), "Stop that process", "--data"]);
}

#[test]
fn a_postgres_url_that_is_wrong_is_shown_a_right_one() {
    let unused = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = unused.local_addr().expect("an address").port();
    drop(unused);
    for url in ["no url at all", &format!("postgres://me:secret@127.0.0.1:{port}/app")] {
        let message = refusal(&["--port", "0", "--postgres", url]);
        assert!(message.contains("postgres://user:password@host:5432/database"), "{message}");
        assert!(!message.contains("secret"), "the password is in: {message}");
    }
}

#[test]
fn hosts_and_origins_that_are_none_are_refused() {
    check(&refusal(&["--in-memory", "--cors", "app.example"]), &["--cors", "https://app.example:8443"]);
    check(
        &refusal(&["--in-memory", "--allow-host", "http://box"]),
        &["--allow-host", "host.docker.internal"],
    );
}

#[test]
fn the_help_groups_options_and_shows_what_to_type_next() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    let output = command.args(["serve", "--help"]).output().expect("the command runs");
    let help = String::from_utf8(output.stdout).expect("text");
    for part in [
        "Where the data is kept:",
        "Who can connect:",
        "Encrypted connections:",
        "How much clients may take:",
        "Who did what:",
        "How much it behaves like AWS:",
        "aws dynamodb list-tables",
    ] {
        assert!(help.contains(part), "no {part:?} in: {help}");
    }
}

/// The status of a signed ListTables with these headers.
fn list_tables(server: &Server, headers: &str) -> (u16, String) {
    let address = server.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!(
        "POST / HTTP/1.1\r\n{headers}Connection: close\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: DynamoDB_20120810.ListTables\r\nX-Amz-Date: 20261115T190203Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=x/20261115/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=0\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    (answer[9..12].parse().expect("a status"), answer)
}

#[test]
fn only_this_machine_and_its_pages_are_answered() {
    let server = Server::start(&[]);
    assert_eq!(list_tables(&server, "Host: localhost:8000\r\n").0, 200);
    assert_eq!(list_tables(&server, "Host: localhost\r\nOrigin: http://localhost:3000\r\n").0, 200);

    let (status, answer) = list_tables(&server, "Host: dynamodb:8000\r\n");
    assert!(status == 403 && answer.contains("--allow-host dynamodb"), "{answer}");
    let (status, answer) = list_tables(&server, "Host: localhost\r\nOrigin: https://evil.example\r\n");
    assert!(status == 403 && answer.contains("--cors https://evil.example"), "{answer}");
    assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
}

#[test]
fn the_flags_that_a_refusal_names_allow_what_was_refused() {
    let server = Server::start(&["--allow-host", "dynamodb,box", "--cors", "https://app.example"]);
    for host in ["dynamodb:8000", "box"] {
        assert_eq!(list_tables(&server, &format!("Host: {host}\r\n")).0, 200, "{host}");
    }
    assert_eq!(list_tables(&server, "Host: localhost\r\nOrigin: https://app.example\r\n").0, 200);
    assert_eq!(list_tables(&server, "Host: other\r\n").0, 403);
}

#[test]
fn a_server_for_other_machines_answers_to_any_name_but_not_to_any_page() {
    let server = Server::start(&["--host", "0.0.0.0", "--open-to-anyone"]);
    assert_eq!(list_tables(&server, "Host: dynamodb:8000\r\n").0, 200);
    assert_eq!(list_tables(&server, "Host: evil.example\r\nOrigin: http://evil.example\r\n").0, 403);
}

#[cfg(not(feature = "foundationdb"))]
#[test]
fn a_build_without_foundationdb_says_how_to_get_one_with_it() {
    let file = "/etc/foundationdb/fdb.cluster";
    let place = format!("foundationdb://{file}?prefix=app");
    for arguments in [
        &["serve", "--port", "0", "--foundationdb", file, "--prefix", "app"][..],
        &["verify", "--foundationdb", file],
        &["migrate", &place, "target"],
    ] {
        let refusal = command::refusal(arguments);
        for part in ["built without FoundationDB", file, "--features foundationdb", "libclang"] {
            assert!(refusal.contains(part), "{part} is not in {refusal}");
        }
    }
}
