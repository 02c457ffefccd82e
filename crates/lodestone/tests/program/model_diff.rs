//! `lodestone model diff` as its users meet it: what is printed, and the exit status.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const OLD: &str = "
model: settings
table: { name: settings, partition: PK, sort: SK }
entities:
  Setting: { key: { PK: 'TENANT#{tenantId}', SK: 'SETTING#{name}' }, count: 40, size: 200 B }
patterns:
  S1: { get: Setting, by: [tenantId, name], rate: 5/s, consistency: eventual }
";

/// The status and standard output of a diff from `OLD` to this text.
fn diff(new: &str, arguments: &[&str]) -> (i32, String) {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in [("model.yaml", OLD), ("next.yaml", new)] {
        std::fs::write(folder.path().join(name), text).expect("the folder is ours");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.current_dir(folder.path()).args(["model", "diff", "model.yaml", "next.yaml"]).args(arguments);
    let output = command.output().expect("the command runs");
    (output.status.code().expect("it ended by itself"), String::from_utf8(output.stdout).expect("text"))
}

fn with_index() -> String {
    OLD.replace(
        "size: 200 B",
        "size: 200 B, indexes: { byName: { namePK: 'NAME#{name}', nameSK: '{tenantId}' } }",
    ) + "  S2: { query: Setting, by: name, rate: 1/s, consistency: eventual }\n"
}

#[test]
fn a_diff_without_a_difference_is_empty() {
    assert_eq!(diff(OLD, &[]), (0, "The two models are the same.\n".to_owned()));
}

#[test]
fn a_diff_is_planned_and_rehearsed() {
    let (status, text) = diff(&with_index(), &["--rehearse", "--rate", "10"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("takes 4 seconds at 10 WCU/s"), "{text}");
    assert!(text.contains("Rehearsed: 4 steps"), "{text}");
    let (_, json) = diff(&with_index(), &["--rehearse", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["steps"][2]["step"], "back-fill");
    assert_eq!(json["rehearsal"]["succeeded"], true);
}

#[test]
fn a_diff_that_has_no_way_is_status_1() {
    let (status, text) = diff(&with_index().replace("{tenantId}' } }", "{owner}' } }"), &["--rehearse"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("`owner`, which existing items don't have"), "{text}");
}

#[test]
fn a_file_that_is_no_model_and_a_region_without_prices_are_status_2() {
    assert_eq!(diff(&OLD.replace("count: 40", "count: many"), &[]).0, 2);
    assert_eq!(diff(OLD, &["--region", "nowhere-1"]).0, 2);
}
