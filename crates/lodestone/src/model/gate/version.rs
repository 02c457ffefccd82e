//! A version of a file: on disk, or in a git repository.

use std::path::Path;
use std::process::{Command, Output};

use model::Source;

/// The text of a file, or of `REV:PATH`; `None` if there is no such file. The source has the path without the revision, so
/// that findings are about the file.
pub fn read(name: &str) -> Result<Option<Source>, String> {
    match std::fs::read(name) {
        Ok(bytes) => text(name, name, bytes).map(Some),
        Err(_) if name.contains(':') && !Path::new(name).exists() => committed(name),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

fn text(name: &str, path: &str, bytes: Vec<u8>) -> Result<Source, String> {
    let text = String::from_utf8(bytes).map_err(|_| format!("{name}: this is not text in UTF-8"))?;
    Ok(Source::new(path, text))
}

fn committed(name: &str) -> Result<Option<Source>, String> {
    let (revision, path) = name.split_once(':').unwrap_or((name, ""));
    let shown = git(&["show", "--no-textconv", "--end-of-options", name])?;
    if shown.status.success() {
        return text(name, path, shown.stdout).map(Some);
    }
    // Where the revision is known, it only lacks the file. An empty revision is the index.
    let tree = format!("{revision}^{{tree}}");
    let known = match revision {
        "" => git(&["rev-parse", "--git-dir"])?,
        _ => git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &tree])?,
    };
    match known.status.success() {
        true => Ok(None),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&shown.stderr).trim())),
    }
}

fn git(arguments: &[&str]) -> Result<Output, String> {
    let output = Command::new("git").args(arguments).output();
    output.map_err(|error| format!("git, which reads REV:PATH, can't be started: {error}"))
}
