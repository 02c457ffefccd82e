//! `lodestone access check` finds policies that look safe and are not, and what it proposes closes them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{lodestone, path, success};

fn write_policy(folder: &Path, statements: &[Value]) {
    let policy = json!({"Version": "2012-10-17", "Statement": statements});
    fs::write(folder.join("own.json"), policy.to_string()).expect("the folder is ours");
}

#[test]
fn a_policy_that_looks_safe_is_reported_with_the_statement_that_closes_it() {
    let folder = TempDir::new().expect("a folder");
    let access = folder.path().join("access.yaml");
    let run = |arguments: &[&str]| lodestone(&[&["access", "--file", path(&access)], arguments].concat());
    let own = json!({
        "Effect": "Allow", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}},
    });
    write_policy(folder.path(), std::slice::from_ref(&own));
    let added = run(&["add", "alice", "--policy", "own.json"]);
    assert!(added.status.success());

    let table = "arn:aws:dynamodb:us-east-1:000000000000:table/Songs";
    assert!(run(&["check", "alice", "dynamodb:Scan", table]).status.success(), "the Scan is allowed");
    for arguments in [&["check"][..], &["check", "alice"]] {
        let found = run(arguments);
        let text = String::from_utf8_lossy(&found.stdout);
        assert_eq!(found.status.code(), Some(1), "{text}");
        assert!(text.contains("user/alice, statement 1 of the policy own.json"), "{text}");
        assert!(text.contains("a Scan names no key") && text.contains("a SELECT without"), "{text}");
    }
    let found = String::from_utf8(run(&["check"]).stdout).expect("text");
    let remedies = found.lines().filter_map(|line| serde_json::from_str(line.trim()).ok());
    let statements: Vec<Value> = std::iter::once(own).chain(remedies).collect();
    assert_eq!(statements.len(), 3, "{found}");
    write_policy(folder.path(), &statements);
    success(&["access", "--file", path(&access), "check"]);
    assert!(!run(&["check", "alice", "dynamodb:Scan", table]).status.success(), "the Scan is denied");
    let with = ["check", "alice", "dynamodb:GetItem", table, "--with", "dynamodb:LeadingKeys=alice"];
    assert!(run(&with).status.success(), "what the policy is for is still allowed");
}
