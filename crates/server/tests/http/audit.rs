//! The audit log, as those who read it find it.

use crate::support::{Post, Running, StandIn, until};
use server::{Audit, AuditFile, AuditLog, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn file(path: PathBuf) -> AuditFile {
    AuditFile { path, bytes_max: 1 << 20, age_max: Duration::from_secs(3600), kept: 2 }
}

async fn start(audit: Audit) -> Running {
    let options = Options { audit: Some(audit), ..Options::default() };
    Running::set_up(Arc::new(StandIn::new()), options).await
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_request_is_a_line_that_says_who_did_what_to_which_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = Arc::new(AuditLog::open(file(path.clone())).unwrap());
    let server = start(Audit::new(log.clone())).await;
    let body = r#"{"TableName": "Songs", "Key": {"Artist": {"S": "a secret"}}}"#;
    assert_eq!(server.ask(Post::new(body)).await.status, 200);
    assert_eq!(server.ask(Post::new("fail")).await.status, 400);
    assert_eq!(server.ask(Post::new(body).without("Authorization")).await.status, 400);
    log.close();

    let lines = lines(&path);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let first = &lines[0];
    for (member, value) in [
        ("from", "127.0.0.1"),
        ("account", "000000000000"),
        ("region", "us-east-1"),
        ("principal", "AKIDEXAMPLE"),
        ("service", "dynamodb"),
        ("operation", "GetItem"),
        ("outcome", "ok"),
    ] {
        assert_eq!(first[member], value, "{first}");
    }
    assert_eq!(first["tables"], serde_json::json!(["Songs"]));
    assert_eq!(lines[1]["outcome"], "ValidationException");
    assert_eq!(lines[2]["outcome"], "MissingAuthenticationTokenException");
    assert_eq!(lines[2].get("principal"), None, "the caller has not proven who it is");
    assert!(!std::fs::read_to_string(path).unwrap().contains("a secret"), "items are left out");
}

#[tokio::test]
async fn those_who_ask_who_they_are_are_recorded_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = Arc::new(AuditLog::open(file(path.clone())).unwrap());
    let server = start(Audit::new(log.clone())).await;
    let asking = Post::new("Action=GetCallerIdentity&Version=2011-06-15")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .without("X-Amz-Target");
    let scope = "AKIDEXAMPLE/20261115/us-east-1/sts/aws4_request";
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=0f");
    let answer = server.ask(asking.clone().with("Authorization", &authorization)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let id = answer.header("x-amzn-RequestId").unwrap();
    assert!(answer.text().contains(&format!("<RequestId>{id}</RequestId>")), "{}", answer.text());
    assert_eq!(server.ask(asking.without("Authorization")).await.status, 403);
    log.close();

    let lines = lines(&path);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["service"], &lines[0]["operation"]), (&"sts".into(), &"GetCallerIdentity".into()));
    assert_eq!((&lines[0]["principal"], &lines[0]["outcome"]), (&"AKIDEXAMPLE".into(), &"ok".into()));
    assert_eq!(lines[1]["outcome"], "403");
}

#[tokio::test]
async fn bodies_are_recorded_if_somebody_asks_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = Arc::new(AuditLog::open(file(path.clone())).unwrap());
    let server = start(Audit::new(log.clone()).with_bodies(true)).await;
    server.ask(Post::new(r#"{"TableName": "Songs"}"#)).await;
    log.close();
    assert_eq!(lines(&path)[0]["body"]["TableName"], "Songs");
}

#[tokio::test]
async fn a_request_that_is_cut_off_is_recorded_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = Arc::new(AuditLog::open(file(path.clone())).unwrap());
    let server = start(Audit::new(log.clone())).await;
    let mut wire = server.connect().await;
    wire.send(Post::new("wait").bytes()).await;
    server.held().await;
    drop(wire);
    until("it is recorded", async || std::fs::read_to_string(&path).unwrap().contains("cut off")).await;
}

/// The names and texts of all files. One that is renamed just now may be missing.
fn files(folder: &Path) -> Vec<(String, String)> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let texts = names.filter_map(|name| {
        let text = std::fs::read_to_string(folder.join(&name)).ok()?;
        Some((name.into_string().unwrap(), text))
    });
    texts.collect()
}

#[tokio::test]
async fn full_files_are_set_aside_and_the_oldest_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let other = folder.path().join("audit-notes.jsonl");
    std::fs::write(&other, "keep me").unwrap();
    let log = Arc::new(AuditLog::open(AuditFile { bytes_max: 1, ..file(path.clone()) }).unwrap());
    let server = start(Audit::new(log.clone())).await;
    for _ in 0..6 {
        let answer = server.ask(Post::new("{}")).await;
        let id = answer.header("x-amzn-RequestId").unwrap();
        // A file that is full is set aside when the next line is written.
        until("the line is written", async || files(folder.path()).iter().any(|(_, text)| text.contains(id)))
            .await;
    }
    log.close();
    let names: Vec<String> = files(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.contains(&"audit.jsonl".to_owned()) && names.contains(&"audit-notes.jsonl".to_owned()));
    assert!(names.iter().filter(|name| name.starts_with("audit-2")).all(|name| name.ends_with("Z.jsonl")));
}

/// A disk that is always full.
const FULL: &str = "/dev/full";

#[tokio::test]
async fn a_full_disk_loses_lines_and_says_so() {
    let log = Arc::new(AuditLog::open(file(FULL.into())).unwrap());
    let server = start(Audit::new(log.clone())).await;
    for _ in 0..3 {
        assert_eq!(server.ask(Post::new("{}")).await.status, 200);
    }
    log.close();
    assert_eq!(log.lost(), 3);
    let metrics = server.ask(Post::bare("GET /metrics HTTP/1.1")).await;
    assert!(metrics.text().contains("lodestone_audit_lost_total 3\n"), "{}", metrics.text());
}

#[tokio::test]
async fn with_a_required_log_a_full_disk_refuses_requests() {
    let log = Arc::new(AuditLog::open(file(FULL.into())).unwrap());
    let server = start(Audit::new(log.clone()).required(true)).await;
    until("a request that is not recorded is refused", async || {
        let answer = server.ask(Post::new("{}")).await;
        assert!(answer.status == 200 || answer.text().contains("audit log"), "{}", answer.text());
        answer.status == 503
    })
    .await;
}
