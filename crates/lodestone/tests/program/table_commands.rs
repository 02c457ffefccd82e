//! `lodestone backup`, `restore`, `export`, `import` and `stream tail` as their users meet them: on a running server,
//! and on a data folder that no server has open.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use client::{Client, Credentials};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::Server;

/// A folder with a bucket `music` that has a list of songs.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: TempDir::new().expect("a folder") };
        std::fs::create_dir_all(place.path("buckets/music")).expect("the folder is ours");
        std::fs::create_dir(place.path("data")).expect("the folder is ours");
        std::fs::write(place.path("buckets/music/songs.csv"), "Artist,Plays\nNina,7\nMiles,3\n")
            .expect("the folder is ours");
        place
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path of text").to_owned()
    }

    fn server(&self) -> Server {
        Server::start(&["--s3", &self.path("buckets")])
    }

    /// The flags that open the folder itself.
    fn own_flags(&self) -> Vec<String> {
        ["--data".to_owned(), self.path("data"), "--s3".to_owned(), self.path("buckets")].into()
    }

    /// The folder of the only export in the bucket, as a prefix of its objects.
    fn export_prefix(&self) -> String {
        let exports = std::fs::read_dir(self.path("buckets/music/out/AWSDynamoDB")).expect("an export");
        let export = exports.map(|entry| entry.expect("an entry").file_name()).next().expect("an export");
        format!("s3://music/out/AWSDynamoDB/{}/data/", export.to_str().expect("text"))
    }
}

/// A `lodestone` command. Nothing in the environment names a database.
fn lodestone(arguments: &[&str], flags: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(arguments).args(flags);
    for name in
        ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"]
    {
        command.env_remove(name);
    }
    command
}

/// What the command prints when it succeeds.
fn output(arguments: &[&str], flags: &[String]) -> String {
    let output = lodestone(arguments, flags).output().expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn answer(arguments: &[&str], flags: &[String]) -> Value {
    let output = output(&[arguments, &["--json"]].concat(), flags);
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error} in {output}"))
}

/// What it says on standard error when it fails.
fn refusal(arguments: &[&str], flags: &[String]) -> String {
    let output = lodestone(arguments, flags).output().expect("the command runs");
    assert!(!output.status.success(), "{arguments:?} succeeds");
    String::from_utf8(output.stderr).expect("text")
}

#[track_caller]
fn check(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

fn at(server: &Server) -> Vec<String> {
    vec!["--endpoint-url".to_owned(), server.url.clone()]
}

/// Sends one request to the server.
fn send(server: &Server, operation: &str, input: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let address = server.url.parse().expect("an address");
    let client = Client::new(address, "us-east-1".to_owned(), Credentials::local()).expect("a client");
    let answer = runtime.block_on(client.send(operation, input.to_string().into_bytes()));
    let answer = answer.unwrap_or_else(|error| panic!("{operation}: {error}"));
    serde_json::from_slice(&answer).unwrap_or_default()
}

fn import_songs(flags: &[String]) {
    let printed =
        output(&["import", "s3://music/songs.csv", "Songs", "--key", "Artist:S", "--format", "csv"], flags);
    check(&printed, &["imported 2 of 2 items into Songs", "0 errors"]);
}

/// The items of a table by the plays of each artist.
fn plays(server: &Server, table: &str) -> Vec<String> {
    let found = send(server, "Scan", &json!({ "TableName": table }));
    let items = found["Items"].as_array().expect("items");
    let mut plays: Vec<String> = items
        .iter()
        .map(|item| format!("{} {}", item["Artist"]["S"].as_str().unwrap_or("?"), item["Plays"]["S"]))
        .collect();
    plays.sort();
    plays
}

fn enable_recovery(server: &Server) {
    let recovery = json!({ "PointInTimeRecoveryEnabled": true });
    let input = json!({ "TableName": "Songs", "PointInTimeRecoverySpecification": recovery });
    send(server, "UpdateContinuousBackups", &input);
}

#[test]
fn a_backup_is_made_listed_restored_and_deleted() {
    let place = Place::new();
    let server = place.server();
    let flags = at(&server);
    import_songs(&flags);
    check(
        &output(&["backup", "Songs", "--name", "nightly"], &flags),
        &["nightly of Songs: 2 items", "arn:aws:"],
    );
    let listed = answer(&["backup", "list", "Songs"], &flags);
    let backup = &listed["BackupSummaries"][0];
    assert_eq!((&backup["BackupName"], &backup["BackupStatus"]), (&json!("nightly"), &json!("AVAILABLE")));
    let arn = backup["BackupArn"].as_str().expect("an ARN");
    check(&output(&["restore", "--backup", arn, "Copy"], &flags), &["Copy is ACTIVE: 2 items"]);
    assert_eq!(plays(&server, "Copy"), plays(&server, "Songs"));
    check(&refusal(&["restore", "--backup", arn, "Copy"], &flags), &["Copy", "exists"]);
    output(&["backup", "delete", arn], &flags);
    assert_eq!(output(&["backup", "list"], &flags), "no backups\n");
}

#[test]
fn a_table_is_restored_to_its_latest_second() {
    let place = Place::new();
    let server = place.server();
    let flags = at(&server);
    import_songs(&flags);
    check(
        &refusal(&["restore", "--table", "Songs", "--latest", "Copy"], &flags),
        &["recovery", "aws dynamodb update-continuous-backups"],
    );
    enable_recovery(&server);
    let restored = answer(&["restore", "--table", "Songs", "--latest", "Copy"], &flags);
    assert_eq!(restored["Table"]["TableStatus"], "ACTIVE");
    assert_eq!(plays(&server, "Copy"), plays(&server, "Songs"));
    check(&refusal(&["restore", "--table", "Songs", "--at", "1h", "Early"], &flags), &["RestoreDateTime"]);
    check(&refusal(&["restore", "--table", "Songs", "Neither"], &flags), &["--at", "--latest"]);
}

#[test]
fn an_export_is_imported_again() {
    let place = Place::new();
    let server = place.server();
    let flags = at(&server);
    import_songs(&flags);
    enable_recovery(&server);
    let printed = output(&["export", "Songs", "s3://music/out"], &flags);
    check(
        &printed,
        &["exported 2 items of Songs", "manifest: s3://music/out/AWSDynamoDB/", "manifest-summary.json"],
    );
    let prefix = place.export_prefix();
    let imported = answer(&["import", &prefix, "Copy", "--key", "Artist:S", "--compression", "gzip"], &flags);
    assert_eq!(imported["ImportTableDescription"]["ImportedItemCount"], 2);
    assert_eq!(plays(&server, "Copy"), plays(&server, "Songs"));
    check(&refusal(&["export", "Songs", "s3://nowhere"], &flags), &["nowhere", "S3NoSuchBucket", "--s3 DIR"]);
}

#[test]
fn an_import_with_errors_counts_them_and_fails() {
    let place = Place::new();
    std::fs::write(place.path("buckets/music/bad.csv"), "Artist,Plays\nNina,7\n,3\n")
        .expect("the folder is ours");
    let server = place.server();
    let import = ["import", "s3://music/bad.csv", "Bad", "--key", "Artist:S", "--format", "csv"];
    let output = lodestone(&import, &at(&server)).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    check(&String::from_utf8_lossy(&output.stdout), &["imported 1 of 2 items into Bad, 1 errors"]);
    check(&String::from_utf8_lossy(&output.stderr), &["ItemValidationError", "/error"]);
}

#[test]
fn a_folder_is_worked_on_while_no_server_runs() {
    let place = Place::new();
    let flags = place.own_flags();
    import_songs(&flags);
    check(&output(&["backup", "Songs", "--name", "offline"], &flags), &["offline of Songs: 2 items"]);
    let listed = answer(&["backup", "list"], &flags);
    let arn = listed["BackupSummaries"][0]["BackupArn"].as_str().expect("an ARN").to_owned();
    check(&output(&["restore", "--backup", &arn, "Copy"], &flags), &["Copy is ACTIVE: 2 items"]);
    assert_eq!(output(&["stream", "tail", "Songs", "--enable"], &flags), "");

    let holder = Server::on_folder(Path::new(&place.path("data")));
    assert_eq!(plays(&holder, "Copy"), plays(&holder, "Songs"));
    let message = refusal(&["backup", "Songs"], &flags);
    check(&message, &["in use", &holder.process_id().to_string(), "--endpoint-url"]);
}

#[test]
fn what_is_not_there_is_named_with_a_way_on() {
    let place = Place::new();
    let server = place.server();
    check(&refusal(&["backup", "Songs"], &at(&server)), &["Songs", "aws dynamodb list-tables"]);
    check(
        &refusal(&["backup", "Songs", "--data", "/nowhere/at/all"], &[]),
        &["there is no folder", "--data"],
    );
    let gone = at(&server);
    drop(server);
    check(&refusal(&["backup", "Songs"], &gone), &["lodestone serve"]);
    check(&refusal(&["import", "songs.csv", "Songs", "--key", "Artist:S"], &gone), &["s3://bucket/prefix"]);
    check(&refusal(&["import", "s3://music", "Songs", "--key", "Artist"], &gone), &["Artist:S"]);
}

#[test]
fn changes_are_shown_as_they_come() {
    let place = Place::new();
    let server = place.server();
    let flags = at(&server);
    import_songs(&flags);
    check(&refusal(&["stream", "tail", "Songs"], &flags), &["Songs has no stream", "--enable"]);

    let mut tail = lodestone(&["stream", "tail", "Songs", "--enable", "--count", "3"], &flags);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut note = String::new();
    BufReader::new(tail.stderr.take().expect("it is ours"))
        .read_line(&mut note)
        .expect("it says that it reads");
    check(&note, &["following Songs"]);
    put(&server, "Ella", "1");
    put(&server, "Ella", "2");
    send(&server, "DeleteItem", &json!({ "TableName": "Songs", "Key": { "Artist": { "S": "Ella" } } }));
    let mut shown = String::new();
    tail.stdout.take().expect("it is ours").read_to_string(&mut shown).expect("text");
    assert!(tail.wait().expect("it ends").success());
    // Without the times.
    let lines: Vec<&str> =
        shown.lines().map(|line| line.split_once("Z  ").map_or(line, |(_, rest)| rest)).collect();
    assert_eq!(
        lines,
        [
            "INSERT  Artist: \"Ella\"",
            "    + Plays: \"1\"",
            "MODIFY  Artist: \"Ella\"",
            "    ~ Plays: \"1\" → \"2\"",
            "REMOVE  Artist: \"Ella\"",
            "    - Plays: \"2\"",
        ]
    );

    let again = output(&["stream", "tail", "Songs", "--from", "start", "--no-follow", "--json"], &flags);
    let events: Vec<Value> = again.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<&Value> = events.iter().map(|event| &event["eventName"]).collect();
    assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"]);
}

fn put(server: &Server, artist: &str, plays: &str) {
    let item = json!({ "Artist": { "S": artist }, "Plays": { "S": plays } });
    send(server, "PutItem", &json!({ "TableName": "Songs", "Item": item }));
}
