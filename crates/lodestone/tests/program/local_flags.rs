//! Lodestone in place of DynamoDB Local: its flags, its answers, and tables that all accounts and Regions share.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::command::{path, success};
use crate::support::server::{Server, post, try_call};

/// What was started with DynamoDB Local's flags.
struct Local {
    process: Child,
    /// The lines up to the one with the address.
    lines: Vec<String>,
    url: String,
}

impl Local {
    fn start(folder: &Path, flags: &[&str]) -> Local {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(["-Djava.library.path=lib", "-jar", "DynamoDBLocal.jar", "-port", "0"]).args(flags);
        Local::run(command.current_dir(folder))
    }

    /// As the image starts it, with its configuration, but on loopback and with its folders below this one.
    fn start_as_image(folder: &Path, command_line: &str) -> Local {
        let image = include_str!("../../../../packages/image/lodestone.yaml");
        let data = format!(": {}/", path(folder));
        let configuration = image.replace("0.0.0.0", "127.0.0.1").replace(": /", &data);
        let file = folder.join("image.yaml");
        fs::write(&file, configuration).expect("a configuration");
        let home = folder.join("home/dynamodblocal");
        fs::create_dir_all(&home).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(command_line.split(' ')).args(["-port", "0"]).env("LODESTONE_CONFIG", &file);
        Local::run(command.current_dir(home))
    }

    fn run(command: &mut Command) -> Local {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(process.stdout.take().expect("its output is ours")).lines();
        let mut lines = Vec::new();
        let url = loop {
            let line = output.next().expect("it says that it is ready").expect("text");
            if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://")) {
                break url.to_owned();
            }
            lines.push(line);
        };
        Local { process, lines, url }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The head and body of the answer to a request without a body.
fn ask(url: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    let request = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// The tables that a caller with this key sees in this Region.
fn tables(url: &str, key: &str, region: &str) -> String {
    let headers = format!(
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\
         X-Amz-Date: 20261115T190203Z\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential={key}/20261115/{region}/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n"
    );
    let (status, answer) = post(url, "/", &headers, "{}");
    assert_eq!(status, 200, "{answer}");
    answer
}

const SONGS: &str = r#"{"TableName":"Songs","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}]}"#;

#[test]
fn what_waits_for_dynamodb_local_finds_its_line_and_its_answers() {
    let folder = TempDir::new().expect("a folder");
    let local = Local::start(folder.path(), &["-inMemory"]);
    assert_eq!(local.lines[0], "Initializing DynamoDB Local with the following configuration:");
    assert!(local.lines.contains(&"InMemory:\ttrue".to_owned()), "{:?}", local.lines);
    for line in ["GET /", "HEAD /"] {
        assert!(ask(&local.url, line).starts_with("HTTP/1.1 400"), "{line}");
    }
    let shell = ask(&local.url, "GET /shell/");
    assert!(shell.to_lowercase().contains("location: ../studio/"), "{shell}");
    success(&["health", "--endpoint-url", &local.url]);
}

#[test]
fn a_shared_database_has_one_set_of_tables_and_keeps_it() {
    let folder = TempDir::new().expect("a folder");
    let flags = ["-sharedDb", "-dbPath", "data"];
    {
        let local = Local::start(folder.path(), &flags);
        assert_eq!(try_call(&local.url, "CreateTable", SONGS).expect("an answer").0, 200);
        for (key, region) in [("111122223333", "eu-west-1"), ("AKIDEXAMPLE", "ap-south-1")] {
            assert!(tables(&local.url, key, region).contains("Songs"), "{key} {region}");
        }
    }
    assert!(folder.path().join("data/lodestone").is_dir());
    let again = Local::start(folder.path(), &flags);
    assert!(tables(&again.url, "444455556666", "us-west-2").contains("Songs"));
}

/// The commands of three public projects' compose files, which `docs/install.md` names.
#[test]
fn the_command_lines_of_public_projects_start_the_image_as_they_are() {
    for (command_line, is_shared, is_kept) in [
        ("-jar DynamoDBLocal.jar -inMemory", false, false),
        ("-jar DynamoDBLocal.jar -sharedDb -inMemory", true, false),
        ("-jar DynamoDBLocal.jar -sharedDb -dbPath ./data", true, true),
    ] {
        let folder = TempDir::new().expect("a folder");
        {
            let local = Local::start_as_image(folder.path(), command_line);
            assert!(ask(&local.url, "GET /").starts_with("HTTP/1.1 400"), "{command_line}");
            let (status, answer) = try_call(&local.url, "CreateTable", SONGS).expect("an answer");
            assert_eq!(status, 200, "{command_line}: {answer}");
            let others = tables(&local.url, "111122223333", "eu-west-1");
            assert_eq!(others.contains("Songs"), is_shared, "{command_line}");
        }
        let again = Local::start_as_image(folder.path(), command_line);
        let found = tables(&again.url, "AKIDEXAMPLE", "us-east-1");
        assert_eq!(found.contains("Songs"), is_kept, "{command_line}");
        let files = folder.path().join("home/dynamodblocal/data/lodestone");
        assert_eq!(files.is_dir(), is_kept, "{command_line}");
        assert!(!folder.path().join("data/lodestone").exists(), "{command_line}: it is elsewhere");
    }
}

#[test]
fn accounts_have_their_own_tables_unless_they_are_shared() {
    let folder = TempDir::new().expect("a folder");
    let local = Local::start(folder.path(), &["-dbPath", path(folder.path())]);
    assert_eq!(try_call(&local.url, "CreateTable", SONGS).expect("an answer").0, 200);
    assert!(!tables(&local.url, "111122223333", "us-east-1").contains("Songs"));
}

#[test]
fn the_documents_of_the_version_are_served_with_the_studio_and_without() {
    for studio in ["on", "off"] {
        let server = Server::start(&["--studio", studio]);
        let index = ask(&server.url, "GET /docs/");
        assert!(index.starts_with("HTTP/1.1 200") && index.contains("install.md"), "{studio}: {index}");
        assert!(ask(&server.url, "GET /docs/nowhere.md").starts_with("HTTP/1.1 404"), "{studio}");
        assert!(ask(&server.url, "GET /").contains("healthy"), "{studio}");
    }
}
