//! What holds data can be read by its owner alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::command::{lodestone, path, refusal, success};
use crate::support::server::{Server, call};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn open_to_others(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Every file is 0600 and every folder 0700, this one included. The answer is the number of files.
fn check(folder: &Path) -> usize {
    assert_eq!(mode(folder), 0o700, "{}", folder.display());
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            files += check(&path);
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            files += 1;
        }
    }
    files
}

fn fill(server: &Server) {
    let table = r#"{"TableName": "Songs", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}]}"#;
    call(&server.url, "CreateTable", table);
    call(&server.url, "PutItem", r#"{"TableName": "Songs", "Item": {"n": {"N": "1"}}}"#);
    let recovery =
        r#"{"TableName": "Songs", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}"#;
    call(&server.url, "UpdateContinuousBackups", recovery);
}

#[test]
fn copies_of_tables_and_the_audit_log_are_closed_to_others() {
    let folder = TempDir::new().expect("a folder");
    let of = |name: &str| folder.path().join(name);
    fs::create_dir_all(of("s3/bucket")).expect("a bucket");
    let (audit, copy) = (format!("{}/", of("audit").display()), of("copy"));
    let server = Server::run(&[
        "--data",
        path(&of("data")),
        "--audit",
        &audit,
        "--s3",
        path(&of("s3")),
        "--backups",
        path(&of("backups")),
    ]);
    fill(&server);
    // A folder that is there before, open to others, is closed.
    fs::create_dir(&copy).expect("a new folder");
    open_to_others(&copy, 0o755);
    success(&["checkpoint", "--to", path(&copy), "--endpoint-url", &server.url]);
    success(&["backup", "Songs", "--name", "nightly", "--endpoint-url", &server.url]);
    success(&["export", "Songs", "s3://bucket", "--endpoint-url", &server.url]);
    for (name, files_min) in [("copy", 5), ("backups", 3), ("s3/bucket/AWSDynamoDB", 3), ("audit", 1)] {
        let files = check(&of(name));
        assert!(files >= files_min, "{name} has {files} files");
    }
    let verified = {
        drop(server);
        success(&["verify", "--data", path(&copy)])
    };
    assert!(verified.contains("0 faults"), "{verified}");
}

#[test]
fn an_audit_log_that_is_open_to_others_is_closed() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("audit.jsonl");
    fs::write(&log, "").expect("a new file");
    open_to_others(&log, 0o644);
    let _server = Server::start(&["--audit", path(&log)]);
    assert_eq!(mode(&log), 0o600);
}

#[test]
fn a_new_key_is_written_for_its_owner_alone() {
    let folder = TempDir::new().expect("a folder");
    let (access, key) = (folder.path().join("access.yaml"), folder.path().join("alice.env"));
    let add = ["access", "--file", path(&access), "add", "alice"];
    let printed = success(&[&add[..], &["--out", path(&key)]].concat());
    let text = fs::read_to_string(&key).expect("the key is there");
    assert!(
        text.starts_with("export AWS_ACCESS_KEY_ID=AKIA") && text.contains("AWS_SECRET_ACCESS_KEY="),
        "{text}"
    );
    assert!(!printed.contains("AWS_SECRET") && printed.contains("alice.env"), "{printed}");
    assert_eq!(mode(&key), 0o600);
    let keys = || success(&["access", "--file", path(&access), "list"]).matches("AKIA").count();
    assert_eq!(keys(), 1);
    let refused = refusal(&[&add[..], &["--out", path(&key)]].concat());
    assert!(refused.contains("--out"), "{refused}");

    // A shell's `>` makes a file that others can read.
    let redirected = folder.path().join("redirected.env");
    let file = fs::File::create(&redirected).expect("a new file");
    open_to_others(&redirected, 0o644);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    let output = command.args(add).stdout(file).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--out FILE"), "{said}");
    assert_eq!(fs::read(&redirected).expect("it is there"), b"");
    assert_eq!(keys(), 1, "a refused command makes no key");
    // A program that reads the output gets it.
    assert!(String::from_utf8_lossy(&lodestone(&add).stdout).contains("AWS_SECRET_ACCESS_KEY="));
}
