//! `serve --config` and `--print-config`, and the small commands around a server.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::command::{path, refusal, success};
use crate::support::server::Server;
use crate::support::until;

/// What `serve --print-config` prints for a file with this text and these flags.
fn printed(text: &str, flags: &[&str]) -> String {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("lodestone.yaml");
    std::fs::write(&file, text).expect("the folder is ours");
    success(&[&["serve", "--config", path(&file), "--print-config"], flags].concat())
}

fn refused(text: &str) -> String {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("lodestone.yaml");
    std::fs::write(&file, text).expect("the folder is ours");
    refusal(&["serve", "--config", path(&file), "--print-config"])
}

#[test]
fn a_file_sets_flags_by_their_names_and_the_command_line_counts_before_it() {
    let text = "port: 8123\nallow-host: [one, two]\nin-memory: true\nstudio:\nopen-to-anyone: false\n";
    let shown = printed(text, &[]);
    for line in ["\nport: 8123\n", "\nallow-host: [\"one\", \"two\"]\n", "\nin-memory: true\n"] {
        assert!(shown.contains(line), "no {line:?} in {shown}");
    }
    assert!(shown.contains("\n# open-to-anyone: false\n") && shown.contains("\n# studio:\n"), "{shown}");
    assert!(printed(text, &["--port", "9000"]).contains("\nport: 9000\n"));
    assert!(printed("data: there\n", &["--in-memory"]).contains("\nin-memory: true\n"), "the flag counts");
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let text =
        "host: \"localhost\"\ncors: [\"https://app.example\"]\ntime-scale: 60\ntls-self-signed: true\n";
    let once = printed(text, &[]);
    assert_eq!(printed(&once, &[]), once);
    assert!(once.contains("\ntls-self-signed: \"lodestone-ca.pem\"\n"), "{once}");
}

#[test]
fn a_mistake_in_a_file_is_named_with_the_file() {
    for (text, part) in [
        ("prot: 8000\n", "no flag --prot"),
        ("in-memory: maybe\n", "true or false"),
        ("port: {a: 1}\n", "a text, a number or a list"),
        ("port: [8000\n", "lodestone.yaml"),
        ("config: other.yaml\n", "no flag --config"),
    ] {
        let message = refused(text);
        assert!(message.contains(part) && message.contains("lodestone.yaml"), "{text}: {message}");
    }
    assert!(refused("port: 99999\n").contains("99999"));
    assert!(refusal(&["serve", "--config", "/nowhere/lodestone.yaml"]).contains("can't read"));
}

#[test]
fn a_server_starts_from_a_file_that_the_environment_names() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("lodestone.yaml");
    std::fs::write(&file, "in-memory: true\nhost: localhost\n").expect("the folder is ours");
    let server = Server::run_with(&[], &[("LODESTONE_CONFIG", path(&file))]);
    assert!(success(&["health", "--endpoint-url", &server.url]).contains("is healthy"));
}

#[test]
fn health_of_a_server_that_is_not_there_is_a_failure() {
    let url = {
        let server = Server::start(&[]);
        server.url.clone()
    };
    assert!(refusal(&["health", "--endpoint-url", &url]).contains(&url));
}

#[test]
fn a_server_can_end_with_the_process_that_started_it() {
    // The shell waits for the end of its input, and the server is its child.
    let script = format!(
        "'{}' serve --in-memory --port 0 --end-with-parent & echo $!; read line",
        env!("CARGO_BIN_EXE_lodestone")
    );
    let mut shell = Command::new("sh");
    let mut shell =
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut lines = BufReader::new(shell.stdout.take().expect("its output is ours")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    let server: u32 = line().parse().expect("the number of the server");
    assert!(line().contains("is ready"));
    drop(shell.stdin.take());
    shell.wait().expect("the shell ends");
    let state = || std::fs::read_to_string(format!("/proc/{server}/stat")).unwrap_or_default();
    until("the server has ended", || state().is_empty() || state().contains(") Z "));
}

#[test]
fn the_version_says_which_data_it_can_read() {
    let described: serde_json::Value = serde_json::from_str(&success(&["version", "--json"])).expect("JSON");
    assert_eq!(described["version"], env!("CARGO_PKG_VERSION"));
    let formats = &described["formats"]["data_folder"];
    assert!(formats["reads"].as_array().is_some_and(|reads| reads.contains(&formats["writes"])), "{formats}");
    assert!(success(&["version"]).contains("reads      data folders of format"));
}

#[test]
fn shells_and_manuals_know_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(success(&["completions", shell]).contains("print-config"), "{shell}");
    }
    let folder = TempDir::new().expect("a folder");
    success(&["man", path(folder.path())]);
    for page in ["lodestone.1", "lodestone-serve.1", "lodestone-model-check.1"] {
        let text = std::fs::read_to_string(folder.path().join(page)).expect("the page is there");
        assert!(text.contains(".TH"), "{page}");
    }
}
