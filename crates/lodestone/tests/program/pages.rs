//! The commands of `docs/workbench.md`, `docs/code.md`, `docs/migrations.md`, `docs/gate.md`, `docs/apply.md` and
//! `docs/recovery.md`. A test runs them one after the other in an empty folder, and compares what they print with what the
//! page shows. A line `…` in a page matches any number of lines.
//!
//! `UPDATE_PAGE=1 cargo test -p lodestone --test program pages` writes what they print now into the pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::server::Server;

/// The server's address in the pages.
const SHOWN_URL: &str = "http://127.0.0.1:8000";

const FENCE: &str = "```";
const CONSOLE: &str = "```console";
const PROMPT: &str = "$ ";
const LEFT_OUT: &str = "…";

/// A command, and the lines that the page shows below it.
struct Step {
    command: String,
    shown: Vec<String>,
    /// Where `shown` stands in the page: lines from, and up to.
    lines: (usize, usize),
}

const TOUR: &str = "workbench.md";
const CODE: &str = "code.md";
const MIGRATIONS: &str = "migrations.md";
const GATE: &str = "gate.md";
const APPLY: &str = "apply.md";
const RECOVERY: &str = "recovery.md";

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// The commands of all `console` blocks. A command goes on behind `\` and up to the end of `<<'END'`.
fn steps(page: &str) -> Vec<Step> {
    let lines: Vec<&str> = page.lines().collect();
    let mut steps = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at] == CONSOLE {
            at += 1;
            while at < lines.len() && lines[at] != FENCE {
                let step = step(&lines, at);
                at = step.lines.1;
                steps.push(step);
            }
        }
        at += 1;
    }
    steps
}

fn step(lines: &[&str], at: usize) -> Step {
    let first = lines[at].strip_prefix(PROMPT);
    let mut command = first.unwrap_or_else(|| panic!("line {}: expected `$ command`", at + 1)).to_owned();
    let mut from = at + 1;
    let document = command.ends_with("<<'END'");
    while from < lines.len() && (command.ends_with('\\') || document && !command.ends_with("\nEND")) {
        command = format!("{command}\n{}", lines[from]);
        from += 1;
    }
    let rest = lines[from..].iter();
    let shown: Vec<String> = rest
        .take_while(|line| !line.starts_with(PROMPT) && **line != FENCE)
        .map(|line| (*line).to_owned())
        .collect();
    let to = from + shown.len();
    Step { command, shown, lines: (from, to) }
}

/// What the command prints, on either stream, in the folder of the tour. Databases are found at the address.
fn run(folder: &Path, command: &str, url: &str) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_lodestone"));
    let own = binary.parent().expect("it is in a folder").display();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command}\n")]).current_dir(folder).env("PATH", path);
    shell.env("HOME", folder).env("AWS_ENDPOINT_URL", url).env_remove("AWS_PROFILE");
    let output = shell.output().expect("there is a shell");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    let text = if url.is_empty() { text } else { text.replace(url, SHOWN_URL) };
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Whether the lines are those shown, `…` being as many as it takes.
fn agrees(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == LEFT_OUT => {
            (0..=printed.len()).any(|skipped| agrees(rest, &printed[skipped..]))
        }
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, printed)| line == first && agrees(rest, printed))
        }
    }
}

/// The page with what was printed in place of what it shows.
fn updated(page: &str, steps: &[(Step, Vec<String>)]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for (step, printed) in steps.iter().rev().filter(|(step, printed)| !agrees(&step.shown, printed)) {
        lines.splice(step.lines.0..step.lines.1, printed.iter().cloned());
    }
    lines.join("\n") + "\n"
}

/// Runs the page's commands and compares.
fn check(name: &str, url: &str) {
    let text = std::fs::read_to_string(page(name)).expect("the page is there");
    let folder = TempDir::new().expect("a folder");
    let steps: Vec<(Step, Vec<String>)> = steps(&text)
        .into_iter()
        .map(|step| {
            let printed = run(folder.path(), &step.command, url);
            (step, printed)
        })
        .collect();
    if std::env::var_os("UPDATE_PAGE").is_some() {
        std::fs::write(page(name), updated(&text, &steps)).expect("the page is ours");
        return;
    }
    for (step, printed) in &steps {
        let printed_text = printed.join("\n");
        assert!(agrees(&step.shown, printed), "$ {}\nprints:\n{printed_text}", step.command);
    }
}

#[test]
fn the_tour_prints_what_it_shows() {
    check(TOUR, "");
}

#[test]
fn the_page_on_migrations_prints_what_it_shows() {
    check(MIGRATIONS, "");
}

#[test]
fn the_page_on_the_gate_prints_what_it_shows() {
    check(GATE, "");
}

#[test]
fn the_page_on_code_prints_what_it_shows() {
    check(CODE, "");
}

#[test]
fn the_page_on_recovery_prints_what_it_shows() {
    check(RECOVERY, "");
}

#[test]
fn the_tour_takes_fewer_than_ten_commands() {
    let text = std::fs::read_to_string(page(TOUR)).expect("the page is there");
    let count = steps(&text).len();
    assert!((1..10).contains(&count), "{count} commands");
}

#[test]
fn the_page_on_applying_a_model_prints_what_it_shows() {
    check(APPLY, &Server::start(&[]).url);
}
