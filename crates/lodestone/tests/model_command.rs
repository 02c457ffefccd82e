//! `lodestone model` as its users meet it: what is printed, and the exit status.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const CLEAN: &str = "
model: settings
table: { name: settings, partition: PK, sort: SK, pitr: true }
entities:
  Setting: { key: { PK: 'TENANT#{tenantId}', SK: 'SETTING#{name}' }, count: 40, size: 200 B }
patterns:
  S1: { get: Setting, by: [tenantId, name], rate: 5/s, consistency: eventual }
";

fn lodestone(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.current_dir(folder).args(arguments).output().expect("the command runs")
}

fn write(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("model.yaml");
    std::fs::write(&path, text).expect("the folder is ours");
    path
}

/// The status and standard output of a check of this text.
fn check(text: &str, arguments: &[&str]) -> (i32, String) {
    let folder = TempDir::new().expect("a folder");
    write(&folder, text);
    let output = lodestone(folder.path(), &[&["model", "check", "model.yaml"], arguments].concat());
    (output.status.code().expect("it ended by itself"), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn a_model_without_problems_passes() {
    let (status, text) = check(CLEAN, &[]);
    assert_eq!((status, text.as_str()), (0, "model.yaml: no problems\n"));
}

#[test]
fn an_error_found_by_a_rule_is_status_1() {
    let text = CLEAN.replace("TENANT#{tenantId}", "SETTINGS").replace("count: 40", "count: 4000");
    let (status, text) = check(&text.replace("by: [tenantId, name]", "by: name"), &[]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("error[R7]") && text.contains("model.yaml:5:"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours where nobody sees them");
}

#[test]
fn a_file_that_is_no_model_is_status_2() {
    let (status, text) = check(&CLEAN.replace("count: 40", "count: many"), &[]);
    assert_eq!(status, 2);
    assert!(text.contains("expected a number"), "{text}");
    let folder = TempDir::new().expect("a folder");
    let output = lodestone(folder.path(), &["model", "check", "absent.yaml"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn findings_are_there_as_json_and_sarif() {
    let text = CLEAN.replace("count: 40", "cuont: 40");
    let json: Value = serde_json::from_str(&check(&text, &["--format", "json"]).1).expect("JSON");
    assert_eq!(json["findings"][0]["at"]["line"], 5);
    assert_eq!(json["findings"][0]["text"], "cuont");
    let sarif: Value = serde_json::from_str(&check(&text, &["--format", "sarif"]).1).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["level"], "error");
}

#[test]
fn rules_are_listed_and_explained() {
    let folder = TempDir::new().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = lodestone(folder.path(), arguments);
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (status, list) = run(&["model", "explain"]);
    assert_eq!(status, Some(0));
    assert!(list.contains("R14"), "{list}");
    assert!(run(&["model", "explain", "R14"]).1.starts_with("# R14"));
    assert_eq!(run(&["model", "explain", "R200"]).0, Some(2));
}

#[test]
fn a_new_model_is_written_once_and_passes() {
    let folder = TempDir::new().expect("a folder");
    let run = |arguments: &[&str]| lodestone(folder.path(), arguments).status.code();
    assert_eq!(run(&["model", "init"]), Some(0));
    assert_eq!(run(&["model", "check", "model.yaml"]), Some(0));
    assert_eq!(run(&["model", "init"]), Some(2), "what is there is not overwritten");
}

#[test]
fn the_schema_for_editors_is_printed() {
    let folder = TempDir::new().expect("a folder");
    let output = lodestone(folder.path(), &["model", "schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(schema["title"], "Lodestone model");
}
