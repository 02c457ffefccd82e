//! Running other programs, and counting what test runners report.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A program that runs in the workspace's folder. It does not get what cargo says of this package: build scripts that look
/// at it, and all that depends on them, would be built again for every clone.
pub fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let is_own =
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.to_string_lossy().starts_with(start));
        if is_own {
            command.env_remove(name);
        }
    }
    command
}

pub fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a program to its end. If it fails, the error shows the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    ensure!(status.success(), "{status}: {}", shown(command));
    Ok(())
}

/// Whether a program can be started and succeeds. Its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Like [`run`], and adds what a test runner reports to the tally.
pub fn run_counting(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", shown(command)))?;
    let counted = Mutex::new(Tally::default());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| forward(stdout, |line| println!("{line}"), &counted));
        scope.spawn(|| forward(stderr, |line| eprintln!("{line}"), &counted));
    });
    let status = child.wait()?;
    let counted = counted.into_inner().unwrap_or_default();
    ensure!(status.success() && counted.failed == 0, "{status}: {}", shown(command));
    ensure!(counted.passed > 0, "no test ran: {}", shown(command));
    tally.passed += counted.passed;
    Ok(())
}

fn forward(from: Option<impl Read>, to: impl Fn(&str), counted: &Mutex<Tally>) {
    let Some(from) = from else { return };
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        to(&line);
        if let Ok(mut counted) = counted.lock() {
            counted.read(&line);
        }
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Builds the binary and the load generator in release mode and returns their folder. It always builds both: each
/// alone would select other features of their dependencies and build those again.
pub fn build_release() -> Result<PathBuf> {
    build("release")
}

/// Builds the binaries as they are handed out and measured, which takes minutes; returns their folder.
pub fn build_dist() -> Result<PathBuf> {
    build("dist")
}

fn build(profile: &str) -> Result<PathBuf> {
    run(&mut cargo(["build", "--profile", profile, "--package", "lodestone", "--package", "bench"]))?;
    Ok(target_folder()?.join(profile))
}

/// The given binary, or the one that is built from this tree.
pub fn lodestone(given: Option<&PathBuf>) -> Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("finding {}", path.display())),
        None => Ok(build_release()?.join("lodestone")),
    }
}

fn target_folder() -> Result<PathBuf> {
    let output = cargo(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
    Ok(metadata["target_directory"].as_str().context("cargo names its target folder")?.into())
}

/// How many tests passed and failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    /// Recognises the summary lines of cargo test, pytest and node:test.
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
        let summary = line.starts_with("test result:") || (line.starts_with("==") && line.contains(" in "));
        for pair in words.windows(2) {
            match *pair {
                [count, "passed"] if summary => self.passed += count.parse().unwrap_or(0),
                [count, "failed" | "error" | "errors"] if summary => {
                    self.failed += count.parse().unwrap_or(0)
                }
                ["pass", count] if words.len() == 3 => self.passed += count.parse().unwrap_or(0),
                ["fail", count] if words.len() == 3 => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_s_summary_is_counted() {
        let check = |line: &str, passed: u64, failed: u64| {
            let mut tally = Tally::default();
            tally.read(line);
            assert_eq!(tally, Tally { passed, failed }, "{line}");
        };
        check("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; finished in 0.00s", 12, 0);
        check("===== 1 failed, 84 passed, 2 skipped in 3.20s =====", 84, 1);
        check("===== 84 passed in 3.20s =====", 84, 0);
        check("ℹ pass 30", 30, 0);
        check("# fail 2", 0, 2);
        check("the server passed 3 checks", 0, 0);
    }
}
