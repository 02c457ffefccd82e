//! `lodestone model prove` as its users meet it: the certificate, and the exit status.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const RANKING: &str = "
model: ranking
table: { name: game, partition: PK, sort: SK }
entities:
  Player:
    key: { PK: 'PLAYER#{playerId}', SK: PROFILE }
    attributes: { season: [S1, S2], rating: { type: number, min: 0, max: 9999 } }
    count: 1K
    size: 300 B
    indexes: { ranking: { seasonKey: 'SEASON#{season}', ratingKey: '{rating:04}#{playerId}' } }
indexes: { ranking: { project: [rating] } }
patterns:
  profile: { get: Player, by: playerId }
  top: { query: Player, by: season, order: rating desc, limit: 10 }
  rated: { update: Player, set: [rating] }
";

/// The status and standard output of a proof of this text.
fn prove(text: &str, arguments: &[&str]) -> (i32, String) {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("model.yaml"), text).expect("the folder is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    let output = command
        .current_dir(folder.path())
        .args(["model", "prove", "model.yaml"])
        .args(arguments)
        .output()
        .expect("the command runs");
    (output.status.code().expect("it ended by itself"), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn a_proven_model_gets_a_certificate() {
    let (status, text) = prove(RANKING, &[]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("ranking: proven; 3 of 3 patterns"), "{text}");
    assert!(text.contains("3 = 3 (game 1, ranking 2)"), "a rating that changes moves its row: {text}");
    assert!(!text.contains('\u{1b}'), "no colours outside a terminal");
}

#[test]
fn a_failure_is_shown_with_its_data_and_is_status_1() {
    let (status, text) = prove(&RANKING.replace("{rating:04}", "{rating}"), &[]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("top: comes back in another order than asked for"), "{text}");
    assert!(text.contains("ratingKey: 1000#"), "{text}");
}

#[test]
fn the_certificate_is_there_as_json() {
    let (status, text) = prove(RANKING, &["--json"]);
    let certificate: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((status, &certificate["proven"]), (0, &Value::Bool(true)));
    let top = &certificate["patterns"][1];
    assert_eq!((top["operation"].as_str(), top["source"].as_str()), (Some("Query"), Some("ranking")));
    assert_eq!(top["capacity"]["predicted"], top["capacity"]["consumed"]);
    assert_eq!(top["line"], 14);
}

#[test]
fn a_file_that_is_no_model_is_status_2() {
    assert_eq!(prove(&RANKING.replace("count: 1K", "count: many"), &[]).0, 2);
}
