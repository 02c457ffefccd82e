//! `lodestone model` as its users meet it: what is printed, and the exit status.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const CLEAN: &str = "
model: settings
table: { name: settings, partition: PK, sort: SK, pitr: true, deletion-protection: true }
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
    assert!(!text.contains('\u{1b}'), "no colours outside a terminal");
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
    let again = lodestone(folder.path(), &["model", "init"]);
    assert_eq!(again.status.code(), Some(2), "what is there is not overwritten");
    let message = String::from_utf8(again.stderr).expect("text");
    assert!(message.contains("model.yaml is there already") && message.contains("init FILE"), "{message}");
}

#[test]
fn the_schema_for_editors_is_printed() {
    let folder = TempDir::new().expect("a folder");
    let output = lodestone(folder.path(), &["model", "schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(schema["title"], "Lodestone model");
}

/// The status and standard output of another command on this text.
fn run(command: &str, text: &str, arguments: &[&str]) -> (i32, String) {
    let folder = TempDir::new().expect("a folder");
    write(&folder, text);
    let output = lodestone(folder.path(), &[&["model", command, "model.yaml"], arguments].concat());
    (output.status.code().expect("it ended by itself"), String::from_utf8(output.stdout).expect("text"))
}

/// 5 × 0.5 × 2,628,000 × 0.125 / 1M = 0.82.
#[test]
fn a_cost_is_shown_with_its_arithmetic() {
    let (status, text) = run("cost", CLEAN, &["--explain"]);
    assert_eq!(status, 0, "{text}");
    let line = "S1 reads of settings: 5 requests/s × 0.5 RRU × 2,628,000 s × $0.125 ÷ 1,000,000 = $0.82";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("28.9 %"), "{text}");
    let (_, json) = run("cost", CLEAN, &["--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["patterns"][0]["pattern"], "S1");
}

#[test]
fn prices_can_be_replaced() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, CLEAN);
    let printed = lodestone(folder.path(), &["model", "cost", "--print-prices"]).stdout;
    let doubled = String::from_utf8(printed).expect("text").replace("0.125", "0.25");
    std::fs::write(folder.path().join("prices.json"), doubled).expect("the folder is ours");
    let arguments = ["model", "cost", "model.yaml", "--prices", "prices.json", "--explain"];
    let text = String::from_utf8(lodestone(folder.path(), &arguments).stdout).expect("text");
    assert!(text.contains("$0.25 ÷ 1,000,000 = $1.64"), "{text}");
    let arguments = ["model", "cost", "model.yaml", "--region", "mars-1"];
    assert_eq!(lodestone(folder.path(), &arguments).status.code(), Some(2));
}

#[test]
fn heat_is_shown_by_the_hour_as_json_and_as_a_picture() {
    let hot = CLEAN.replace("{tenantId}", "ALL").replace("[tenantId, name], rate: 5/s", "name, rate: 9000/s");
    let (status, text) = run("heat", &hot, &[]);
    assert_eq!(status, 1, "a key is beyond what one partition sustains: {text}");
    let day = "▲".repeat(24);
    assert!(text.contains(&format!("  TENANT#ALL    150.0 %\n    {day}  0 WCU, 4,500 RCU\n")), "{text}");
    assert!(text.contains("needs 3 shards; from S1"), "{text}");
    let half = hot.replace("9000/s", "{ average: 1000/s, peak: 3000/s }");
    let (status, text) = run("heat", &half, &[]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("▂▂▂▂▂▂▂▂▂▂▂▂▄▂▂▂▂▂▂▂▂▂▂▂"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours outside a terminal");
    let (_, json) = run("heat", &hot, &["--json", "--headroom", "100"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["heat"][0]["keys"][0]["shards_needed"], 2);
    let folder = TempDir::new().expect("a folder");
    write(&folder, &hot);
    lodestone(folder.path(), &["model", "heat", "model.yaml", "--svg", "heat.svg"]);
    let picture = std::fs::read_to_string(folder.path().join("heat.svg")).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("TENANT#ALL"));
}

#[test]
fn a_model_goes_out_to_a_format_and_comes_in_again() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, CLEAN);
    let export = ["model", "export", "--to", "create-table", "model.yaml", "-o", "table.json"];
    let output = lodestone(folder.path(), &export);
    let notes = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{notes}");
    assert!(notes.contains("not in this format: patterns of `S1`"), "what is left out is said: {notes}");
    let output = lodestone(folder.path(), &["model", "import", "table.json"]);
    let model = String::from_utf8(output.stdout).expect("text");
    assert!(model.contains("table: { name: settings, partition: PK, sort: SK"), "{model}");
}

#[test]
fn an_unknown_format_is_answered_with_those_there_are() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, CLEAN);
    for arguments in
        [["model", "export", "--to", "paper", "model.yaml"].as_slice(), &["model", "import", "model.yaml"]]
    {
        let output = lodestone(folder.path(), arguments);
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("nosql-workbench, mcp-schema"), "{text}");
    }
}

/// What goes to standard output and to standard error, and the status.
fn piped(input: &[u8], arguments: &[&str]) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lodestone"))
        .args(["model"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("it ended by itself"), text(output.stdout), text(output.stderr))
}

#[test]
fn a_model_can_come_through_a_pipe() {
    assert_eq!(
        piped(CLEAN.as_bytes(), &["check", "-"]),
        (0, "standard input: no problems\n".into(), "".into())
    );
    let (status, _, complaint) = piped(b"\xff\xfe", &["check", "-"]);
    assert_eq!((status, complaint.as_str()), (2, "lodestone: standard input: this is not text in UTF-8\n"));
}

#[test]
fn problems_of_the_file_stay_out_of_what_other_programs_read() {
    for command in ["prove", "cost", "heat", "design"] {
        let (status, output, problems) = piped(b"model: x\ncuont: 3\n", &[command, "-", "--json"]);
        assert_eq!((status, output.as_str()), (2, ""), "{command}");
        assert!(problems.contains("a model has no field `cuont`"), "{problems}");
    }
}

#[test]
fn a_model_that_asks_nothing_is_neither_proven_nor_designed() {
    let (status, text, _) = piped(b"model: notes", &["prove", "-"]);
    assert!(status == 1 && text.contains("nothing to prove"), "{text}");
    let (status, _, problems) = piped(b"model: notes", &["design", "-"]);
    assert!(status == 1 && problems.contains("there are no entities to design keys for"), "{problems}");
}

#[test]
fn code_is_written_for_one_pattern_or_all_and_an_unknown_one_is_answered_with_those_there_are() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, CLEAN);
    let run = |arguments: &[&str]| {
        lodestone(folder.path(), &[&["model", "code", "model.yaml"], arguments].concat())
    };
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).expect("text");
    let script = text(&run(&["--pattern", "S1"]));
    assert!(script.contains("aws dynamodb get-item \\\n    --table-name settings"), "{script}");
    let module = text(&run(&["--language", "boto3"]));
    assert!(module.contains("def s1():\n    answer = table.get_item("), "{module}");
    let library = text(&run(&["--language", "python"]));
    assert!(library.contains("def s1("), "{library}");
    let calls = text(&run(&["--language", "typescript", "--calls"]));
    assert!(calls.contains("\"S1\": (library) => library.s1("), "{calls}");
    let refused = run(&["--language", "cli", "--calls"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(String::from_utf8(refused.stderr).expect("text"), "lodestone: cli has no functions to call\n");
    let requests: Value = serde_json::from_str(&text(&run(&["--json"]))).expect("JSON");
    assert_eq!(requests["patterns"][0]["requests"][0]["TableName"], "settings");
    let unknown = run(&["--pattern", "S9"]);
    assert_eq!(unknown.status.code(), Some(2));
    let complaint = String::from_utf8(unknown.stderr).expect("text");
    assert_eq!(complaint, "lodestone: there is no pattern `S9`; there are S1\n");
}

#[test]
fn a_simulation_is_shown_as_charts_as_json_and_as_a_picture() {
    let folder = TempDir::new().expect("a folder");
    let model = CLEAN
        .replace("name: settings, partition", "name: settings, billing: provisioned, read: 2, partition");
    write(&folder, &model.replace("rate: 5/s", "rate: 40/s"));
    std::fs::write(folder.path().join("curve.csv"), "time,rate\n00:00,2\n00:10,40\n")
        .expect("the folder is ours");
    let simulate = |arguments: &[&str]| {
        let all = [&["simulate", "model.yaml", "--traffic", "curve.csv"], arguments].concat();
        let output = lodestone(folder.path(), &all);
        (
            output.status.code(),
            String::from_utf8(output.stdout).expect("text"),
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    let (status, text, _) = simulate(&["--svg", "out.svg"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("settings, read units/s") && text.contains("% throttled"), "{text}");
    assert!(text.contains("TableReadProvisionedThroughputExceeded"), "{text}");
    assert!(std::fs::read_to_string(folder.path().join("out.svg")).expect("a picture").starts_with("<svg"));

    let (_, text, _) = simulate(&["--json", "--compare", "on-demand,declared"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["minutes"], 20);
    let read = |way: usize| json["ways"][way]["places"][0]["read"].clone();
    assert_eq!((&json["ways"][0]["way"], &read(0)["refused"]), (&"on-demand".into(), &0.0.into()));
    let (requests, refused) = (read(1)["requests"].as_f64(), read(1)["refused"].as_f64());
    assert_eq!(requests, Some(600.0 * 42.0));
    assert!(refused.is_some_and(|refused| refused > 10_000.0), "{refused:?}");

    let output = lodestone(folder.path(), &["simulate", "model.yaml", "--traffic", "storm"]);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("there is no curve or file storm") && message.contains("spike"), "{message}");
}

#[test]
fn the_files_of_a_folder_are_one_document() {
    let folder = TempDir::new().expect("a folder");
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("the folder is ours");
        std::fs::write(path, text).expect("the folder is ours");
    };
    put("infra/variables.tf", "variable \"stage\" {\n  default = \"dev\"\n}\n");
    let table = "resource \"aws_dynamodb_table\" \"orders\" {\n  name = \"${var.stage}-orders\"\n  billing_mode = \"PAY_PER_REQUEST\"\n  hash_key = \"PK\"\n  attribute {\n    name = \"PK\"\n    type = \"S\"\n  }\n}\n";
    put("infra/tables.tf", table);
    let entity = |name: &str| {
        format!(
            "import {{ Entity }} from \"electrodb\";\nexport const {name} = new Entity({{ model: {{ entity: \"{name}\", version: \"1\", service: \"work\" }}, attributes: {{ id: {{ type: \"string\", required: true }} }}, indexes: {{ primary: {{ pk: {{ field: \"pk\", composite: [\"id\"] }}, sk: {{ field: \"sk\", composite: [] }} }} }} }});\n"
        )
    };
    put("entities/task.ts", &entity("task"));
    put("entities/team.ts", &entity("team"));
    let library = "import { Entity, Table, item, string } from 'dynamodb-toolbox'\n";
    let table =
        "export const Work = new Table({ name: 'work', partitionKey: { name: 'pk', type: 'string' } })\n";
    put("toolbox/table.ts", &format!("{library}{table}"));
    let entity = "import { Work } from './table'\nexport const Badge = new Entity({ name: 'Badge', table: Work, schema: item({ badgeId: string().key() }).and({ pk: string().key().link(({ badgeId }) => `BADGE#${badgeId}`) }) })\n";
    put("toolbox/badge.ts", &format!("{library}{entity}"));
    let folders = [
        ("infra", ["dev-orders", "PK"]),
        ("entities", ["task:", "team:"]),
        ("toolbox", ["name: work", "BADGE#{badgeId}"]),
    ];
    for (path, parts) in folders {
        let output = lodestone(folder.path(), &["model", "import", path]);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    put("empty/readme.md", "nothing");
    assert_eq!(lodestone(folder.path(), &["model", "import", "empty"]).status.code(), Some(2));
}

/// Every command of the workbench.
const COMMANDS: [&str; 15] = [
    "apply", "check", "code", "cost", "design", "diff", "explain", "heat", "export", "import", "init",
    "migrate", "prove", "schema", "help",
];

#[test]
fn every_command_shows_examples_with_its_help() {
    let folder = TempDir::new().expect("a folder");
    let all = lodestone(folder.path(), &["model", "--help"]);
    let all = String::from_utf8(all.stdout).expect("text");
    let listed =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(COMMANDS.iter().all(|command| listed.contains(command)), "{listed:?}");
    for command in listed.into_iter().filter(|command| *command != "help") {
        let help = lodestone(folder.path(), &["model", command, "--help"]);
        let help = String::from_utf8(help.stdout).expect("text");
        let example = format!("lodestone model {command}");
        assert!(help.contains("Example") && help.contains(&example), "no example of {command}:\n{help}");
    }
}

/// The widest line of what a command prints on a terminal of this many columns.
fn widest(folder: &Path, columns: usize, arguments: &[&str]) -> (usize, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.current_dir(folder).args(arguments).env("COLUMNS", columns.to_string());
    let text = String::from_utf8(command.output().expect("the command runs").stdout).expect("text");
    assert!(!text.is_empty(), "{arguments:?}");
    let line = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    (line.chars().count(), line.to_owned())
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let folder = TempDir::new().expect("a folder");
    let broken = "model: a\ntable: { partition: PK }\nentities: { Note: { key: { PK: 'NOTE#{noteId}' } } }\n\
                  patterns: { P: { query: Note, by: somethingThatNoKeyOfTheTableIsMadeOf, rate: 1/s } }\n";
    std::fs::write(folder.path().join("broken.yaml"), broken).expect("the folder is ours");
    for columns in [40, 72] {
        let (width, line) = widest(folder.path(), columns, &["model", "check", "broken.yaml"]);
        assert!(width <= columns, "{width} of {columns} columns\n{line}");
    }
    for name in ["m01-shop", "m03-order-management", "m06-device-readings"] {
        let model = examples.join(format!("{name}.yaml")).display().to_string();
        let designed = folder.path().join("designed.yaml").display().to_string();
        for columns in [72, 100] {
            let commands: [&[&str]; 7] = [
                &["model", "cost", &model],
                &["model", "cost", &model, "--explain"],
                &["model", "heat", &model, "--all"],
                &["model", "prove", &model],
                &["model", "design", &model, "-o", &designed],
                &["model", "diff", &model, &designed, "--explain"],
                &["model", "explain"],
            ];
            for arguments in commands {
                let (width, line) = widest(folder.path(), columns, arguments);
                assert!(width <= columns, "{arguments:?}: {width} of {columns} columns\n{line}");
            }
        }
    }
}
