//! The program, run to its end.

use std::path::Path;
use std::process::{Command, Output};

pub fn lodestone(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lodestone")).args(arguments).output().expect("the command runs")
}

/// What the command says on standard error when it fails.
pub fn refusal(arguments: &[&str]) -> String {
    let output = lodestone(arguments);
    assert!(!output.status.success(), "it succeeded");
    String::from_utf8(output.stderr).expect("text")
}

/// What the command says on standard output when it succeeds.
pub fn success(arguments: &[&str]) -> String {
    let output = lodestone(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
