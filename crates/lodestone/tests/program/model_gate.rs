//! `lodestone model gate` in a git repository, as a person, as the action for GitHub and as a hook runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const GOOD: &str = "
model: settings
table: { name: settings, partition: PK, sort: SK, pitr: true, deletion-protection: true }
entities:
  Setting: { key: { PK: 'TENANT#{tenantId}', SK: 'SETTING#{name}' }, count: 40K, size: 200 B }
patterns:
  S1: { get: Setting, by: [tenantId, name], rate: 5/s, consistency: eventual }
";

/// A pattern more.
fn better() -> String {
    format!("{GOOD}  S2: {{ create: Setting, rate: 1/s }}\n")
}

/// A question that no key answers, by which a rule and the proof fail.
fn worse() -> String {
    format!("{GOOD}  S2: {{ query: Setting, by: name, rate: 1/s, consistency: eventual }}\n")
}

/// A repository with one commit, in which the model is good.
struct Repository {
    folder: TempDir,
    /// Of another run on this machine there is nothing here.
    home: TempDir,
}

impl Repository {
    fn new() -> Repository {
        let folder = || TempDir::new().expect("a folder");
        let repository = Repository { folder: folder(), home: folder() };
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit(GOOD);
        repository
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path().join("model.yaml"), text).expect("the folder is ours");
    }

    fn commit(&self, text: &str) {
        self.write(text);
        self.git(&["add", "model.yaml"]);
        self.git(&[
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@x.example",
            "commit",
            "--quiet",
            "-m",
            "model",
        ]);
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().expect("git is there");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// A command in the folder, with no settings of the machine.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env("HOME", self.home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn gate(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_lodestone"));
        command.args(["model", "gate"]).args(arguments).output().expect("the command runs")
    }

    /// The status, and what is printed.
    fn judged(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.gate(arguments);
        (status(&output), String::from_utf8(output.stdout).expect("text"))
    }
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

fn package(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[test]
fn what_is_committed_is_compared_with_what_is_in_the_folder() {
    let repository = Repository::new();
    let same = repository.judged(&["HEAD:model.yaml", "model.yaml"]);
    assert_eq!((same.0, same.1.lines().next()), (0, Some("settings: passes; nothing differs")));
    repository.write(&better());
    let (status, text) = repository.judged(&["main:model.yaml", "model.yaml"]);
    assert_eq!(status, 0, "{text}");
    for part in ["+ pattern S2: create: Setting", "2 of 2 patterns, 1 of 1 before", "python: +", "S2"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.contains("Cost: $") && text.contains(" more than $"), "{text}");
    repository.write(&worse());
    let (status, text) = repository.judged(&["HEAD:model.yaml", "model.yaml"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("model.yaml:8: S2 is not proven"), "{text}");
    assert!(text.contains("model.yaml:8: R"), "{text}");
}

#[test]
fn what_is_staged_and_what_two_commits_have_is_compared() {
    let repository = Repository::new();
    repository.write(&worse());
    assert_eq!(repository.judged(&["HEAD:model.yaml", ":model.yaml"]).0, 0, "nothing is staged");
    repository.git(&["add", "model.yaml"]);
    assert_eq!(repository.judged(&["HEAD:model.yaml", ":model.yaml"]).0, 1);
    repository.commit(&worse());
    assert_eq!(repository.judged(&["HEAD~1:model.yaml", "HEAD:model.yaml"]).0, 1);
    assert_eq!(repository.judged(&["HEAD:model.yaml", "HEAD:model.yaml"]).0, 0, "it was as bad before");
}

#[test]
fn a_threshold_fails_with_the_figures() {
    let repository = Repository::new();
    repository.write(&GOOD.replace("5/s", "6/s"));
    let passes = repository.judged(&["HEAD:model.yaml", "model.yaml", "--max-cost", "+25%"]);
    assert_eq!(passes.0, 0, "{}", passes.1);
    let (status, text) = repository.judged(&["HEAD:model.yaml", "model.yaml", "--max-cost", "+15%"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("allowed is 15 % more; S1 adds the most"), "{text}");
    repository.write(&GOOD.replace("5/s", "5000/s, skew: top 100%"));
    let (status, text) = repository.judged(&["HEAD:model.yaml", "model.yaml", "--max-heat", "80%"]);
    assert!(
        status == 1
            && text.contains("TENANT#{tenantId} of settings gets 83.3 % of what a partition sustains"),
        "{text}"
    );
    assert_eq!(repository.judged(&["HEAD:model.yaml", "model.yaml", "--max-cost", "much"]).0, 2);
}

#[test]
fn a_comment_sarif_and_json_are_written_at_once() {
    let repository = Repository::new();
    repository.write(&worse());
    let files = ["--markdown=gate.md", "--sarif=gate.sarif", "--json"];
    let (status, json) = repository.judged(&[&["HEAD:model.yaml", "model.yaml"][..], &files].concat());
    assert_eq!(status, 1);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((json["version"].as_u64(), json["passed"].as_bool()), (Some(1), Some(false)));
    let read = |name: &str| std::fs::read_to_string(repository.path().join(name)).expect("it is written");
    assert!(read("gate.md").starts_with("### ❌ `model.yaml`"));
    let sarif: Value = serde_json::from_str(&read("gate.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let proof = results.iter().find(|one| one["ruleId"] == "not-proven").expect("the proof failed");
    let place = &proof["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"model.yaml".into(), &8.into())
    );
    let printed = repository.judged(&["HEAD:model.yaml", "model.yaml", "--markdown"]).1;
    assert_eq!(printed, read("gate.md"));
    assert_eq!(repository.judged(&["HEAD:model.yaml", "model.yaml", "--markdown", "--json"]).0, 2);
}

#[test]
fn a_version_that_is_not_there_or_no_model_is_no_base_and_no_head() {
    let repository = Repository::new();
    let (status, text) = repository.judged(&["HEAD:other.yaml", "model.yaml", "--max-cost", "+0%"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("there is no HEAD:other.yaml: everything counts as new"), "{text}");
    repository.commit("model: [");
    repository.write(GOOD);
    let (status, text) = repository.judged(&["HEAD:model.yaml", "model.yaml"]);
    assert!(status == 0 && text.contains("HEAD:model.yaml is not a model"), "{text}");
    let broken = repository.gate(&["model.yaml", "HEAD:model.yaml", "--sarif=broken.sarif"]);
    assert_eq!(self::status(&broken), 2);
    let sarif = std::fs::read(repository.path().join("broken.sarif")).expect("it is written");
    let sarif: Value = serde_json::from_slice(&sarif).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["level"], "error");
    for [base, head] in
        [["nowhere:model.yaml", "model.yaml"], ["model.yaml", "HEAD:other.yaml"], ["x.yaml", "model.yaml"]]
    {
        let output = repository.gate(&[base, head]);
        assert_eq!(self::status(&output), 2, "{base} {head}");
        assert!(!output.stderr.is_empty());
    }
}

/// A run of the action's script: its status, its outputs, and the comment.
struct Run {
    outputs: String,
    comment: String,
    runner: TempDir,
}

impl Run {
    fn of(repository: &Repository, base: &str, arguments: &str) -> Run {
        let runner = TempDir::new().expect("a folder");
        let mut script = repository.command("bash");
        script.arg(package("packages/gate-action/gate.sh")).env("RUNNER_TEMP", runner.path());
        script.env("LODESTONE", env!("CARGO_BIN_EXE_lodestone"));
        script.envs([("BASE", base), ("MODELS", "*.yaml"), ("ARGUMENTS", arguments)]);
        for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            script.env(file, runner.path().join(file));
        }
        let output = script.output().expect("there is a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| std::fs::read_to_string(runner.path().join(name)).expect("it is written");
        let (outputs, comment) = (read("GITHUB_OUTPUT"), read("lodestone-gate/comment.md"));
        assert_eq!(read("GITHUB_STEP_SUMMARY"), comment);
        Run { outputs, comment, runner }
    }
}

#[test]
fn the_action_comments_and_says_whether_the_gate_passes() {
    let repository = Repository::new();
    let base = repository.git(&["rev-parse", "HEAD"]);
    repository.commit(&better());
    let run = Run::of(&repository, &base, "--max-cost +900%");
    assert!(run.outputs.starts_with("passed=true\n"), "{}", run.outputs);
    assert!(run.comment.starts_with("<!-- lodestone model gate -->\n### ✅ `model.yaml`"), "{}", run.comment);
    let run = Run::of(&repository, &base, "--max-cost +1%");
    assert!(run.outputs.starts_with("passed=false\n"), "{}", run.outputs);
    repository.commit(&worse());
    let run = Run::of(&repository, &base, "");
    assert!(run.outputs.starts_with("passed=false\n"), "{}", run.outputs);
    assert!(run.comment.contains("- model.yaml:8: S2 is not proven"), "{}", run.comment);
    let sarif = std::fs::read(run.runner.path().join("lodestone-gate/sarif/model.yaml.sarif"));
    let sarif: Value = serde_json::from_slice(&sarif.expect("it is written")).expect("JSON");
    assert!(sarif["runs"][0]["results"].as_array().is_some_and(|results| results.len() > 1));
    // The first push of a branch has no commit before it.
    let run = Run::of(&repository, "0000000000000000000000000000000000000000", "");
    assert!(run.comment.contains("everything counts as new"), "{}", run.comment);
}

/// `gh` as the script calls it, in a program that writes down what it gets and answers with what is in a file.
const GH: &str = r#"#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--jq*) cat "$COMMENTS" ;; esac
"#;

#[test]
fn the_action_writes_one_comment_and_replaces_it() {
    let repository = Repository::new();
    let folder = repository.path();
    // Another process writes it: a program that is open for writing, here or in a fork, can't be started.
    let mut write = repository.command("sh");
    write.args(["-c", "printf '%s' \"$GH\" > gh && chmod +x gh"]).env("GH", GH);
    assert!(write.status().expect("there is a shell").success());
    let calls = |comments: &str| {
        std::fs::write(folder.join("comments"), comments).expect("the folder is ours");
        let _ = std::fs::remove_file(folder.join("calls"));
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut script = repository.command("bash");
        script.arg(package("packages/gate-action/comment.sh")).env("PATH", path);
        script.env("CALLS", folder.join("calls")).env("COMMENTS", folder.join("comments"));
        script.envs([("GITHUB_REPOSITORY", "shop/api"), ("PULL_REQUEST", "7"), ("MARKDOWN", "gate.md")]);
        assert!(script.status().expect("there is a shell").success());
        let text = std::fs::read_to_string(folder.join("calls")).expect("it was called");
        text.lines().last().expect("a call").to_owned()
    };
    let first = calls("");
    assert_eq!(first, "api --silent --method POST repos/shop/api/issues/7/comments --field body=@gate.md");
    let second = calls("41\n42\n");
    assert_eq!(second, "api --silent --method PATCH repos/shop/api/issues/comments/41 --field body=@gate.md");
}

/// Runs the entry of the hook as pre-commit does: its arguments, then the files.
fn hook(repository: &Repository, arguments: &[&str]) -> (i32, String) {
    let hooks = std::fs::read_to_string(package(".pre-commit-hooks.yaml")).expect("the hooks are there");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("it has an entry");
    let mut hook = repository.command(package(entry).to_str().expect("a path of text"));
    hook.args(arguments).arg("model.yaml").env("LODESTONE", env!("CARGO_BIN_EXE_lodestone"));
    let output = hook.output().expect("the script can be run");
    (status(&output), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn the_hook_stops_a_commit_that_makes_a_model_worse() {
    let repository = Repository::new();
    repository.write(&worse());
    assert_eq!(hook(&repository, &[]).0, 0, "what is not staged is not committed");
    repository.git(&["add", "model.yaml"]);
    let (status, text) = hook(&repository, &[]);
    assert!(status == 1 && text.contains("S2 is not proven"), "{text}");
    repository.write(&better());
    repository.git(&["add", "model.yaml"]);
    assert_eq!(hook(&repository, &["--deny-warnings"]).0, 0);
    assert_eq!(hook(&repository, &["--max-cost=+1%"]).0, 1);
    // The first commit of a repository has nothing before it.
    repository.git(&["checkout", "--quiet", "--orphan", "other"]);
    let (status, text) = hook(&repository, &[]);
    assert!(status == 0 && text.contains("everything counts as new"), "{text}");
}
