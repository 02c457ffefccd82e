//! What a run that failed leaves: the logs of all servers, the ledger, the seed, the data if it is small, in one folder
//! that is named at the end.
//!
//! `cargo xtask test` gives each step a folder, and names it in `LODESTONE_EVIDENCE`. A chore that runs alone makes one in
//! the user's cache when it first needs it. The folders of the last few runs that failed are kept.
//!
//! Campaigns work in a [`Scratch`] folder. Unless they say that they passed, its files become evidence, whichever
//! way they ended.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::tools;
use crate::victim::now_us;

/// Names the folder for the evidence of this process and of those that it starts.
pub const VARIABLE: &str = "LODESTONE_EVIDENCE";
/// How many runs that failed are kept.
const RUNS_MAX: usize = 5;
/// How much of a folder is kept.
const KEPT_BYTES_MAX: u64 = 50 << 20;
const TAIL_LINES: usize = 30;
const TAIL_BYTES: u64 = 16 << 10;

struct Folder {
    path: PathBuf,
    /// Whether this process has made it, and so decides whether it is kept.
    is_own: bool,
}

static FOLDER: OnceLock<Folder> = OnceLock::new();

/// The folder for evidence. It exists.
pub fn folder() -> Result<&'static Path> {
    if let Some(folder) = FOLDER.get() {
        return Ok(&folder.path);
    }
    let made = match std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Folder { path: path.into(), is_own: false },
        None => Folder { path: own_folder(&tools::cache()?.join("evidence"))?, is_own: true },
    };
    fs::create_dir_all(&made.path).with_context(|| format!("making {}", made.path.display()))?;
    Ok(&FOLDER.get_or_init(|| made).path)
}

/// The folder of a new run. Folders of the oldest runs make room for it.
fn own_folder(runs: &Path) -> Result<PathBuf> {
    fs::create_dir_all(runs)?;
    // They begin with the time of the run, in seconds.
    let names = entries(runs)?;
    for old in &names[..(names.len() + 1).saturating_sub(RUNS_MAX)] {
        fs::remove_dir_all(old)?;
    }
    Ok(runs.join(format!("{}-{}", now_us(0) / 1_000_000, std::process::id())))
}

/// Removes what a run has left that passed.
pub fn discard() {
    if let Some(Folder { path, is_own: true }) = FOLDER.get() {
        // If that fails, the folder stays: it does no harm.
        let _ = fs::remove_dir_all(path);
    }
}

/// Says where the evidence of a run is that failed, if there is any.
pub fn print_place() {
    if let Some(Folder { path, is_own: true }) = FOLDER.get() {
        println!("The evidence is in {}", path.display());
    }
}

/// The temporary folder of a campaign: the data and the logs of its servers.
pub struct Scratch {
    name: String,
    folder: Option<tempfile::TempDir>,
}

impl Scratch {
    pub fn new(name: &str) -> Result<Scratch> {
        // Not in the folder for evidence: PostgreSQL's user could not enter it.
        Ok(Scratch { name: name.to_owned(), folder: Some(tempfile::tempdir()?) })
    }

    pub fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new("."), tempfile::TempDir::path)
    }

    /// Takes note of something that the files don't tell, such as the seed.
    pub fn note(&self, name: &str, text: impl std::fmt::Display) {
        if let Err(error) = fs::write(self.path().join(name), format!("{text}\n")) {
            println!("{}: the {name} can't be kept: {error}", self.name);
        }
    }

    /// Nothing is kept.
    pub fn passed(mut self) {
        drop(self.folder.take());
    }

    fn keep(&self) -> Result<()> {
        let kept = unused(folder()?, &self.name);
        keep(self.path(), &kept)?;
        for log in logs(&kept)? {
            print_tail(&log)?;
        }
        println!("{}: what is left of it is in {}", self.name, kept.display());
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.folder.is_some()
            && let Err(error) = self.keep()
        {
            let left = self.folder.take().map(tempfile::TempDir::keep).unwrap_or_default();
            println!("{}: what is left of it stays in {}: {error:#}", self.name, left.display());
        }
    }
}

/// The first of `name`, `name-2`, `name-3`, … that is free.
fn unused(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    for number in 2.. {
        if !path.exists() {
            break;
        }
        path = folder.join(format!("{name}-{number}"));
    }
    path
}

/// Copies the entries of a folder, files and then folders, as long as they are small enough, and notes the others.
fn keep(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut entries = entries(from)?;
    entries.sort_by_key(|path| path.is_dir());
    let mut left = KEPT_BYTES_MAX;
    for entry in entries {
        let name = entry.file_name().unwrap_or_default();
        let bytes = size(&entry)?;
        if bytes <= left {
            left -= bytes;
            copy(&entry, &to.join(name))?;
        } else {
            let note = to.join(format!("{}.left-out", name.to_string_lossy()));
            fs::write(note, format!("{} MB, which is too much to keep\n", bytes >> 20))?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut entries: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_dir() {
        fs::create_dir_all(to)?;
        for entry in entries(from)? {
            copy(&entry, &to.join(entry.file_name().unwrap_or_default()))?;
        }
    } else if kind.is_file() {
        fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    }
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    match metadata.is_dir() {
        false => Ok(metadata.len()),
        true => entries(path)?.iter().map(|entry| size(entry)).sum(),
    }
}

/// The logs in a folder, without those of its data.
fn logs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut logs = entries(folder)?;
    logs.retain(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "log"));
    Ok(logs)
}

/// Shows the last lines of a log.
pub fn print_tail(log: &Path) -> Result<()> {
    println!("── the end of {}", log.display());
    tail(log)?.iter().for_each(|line| println!("   {line}"));
    Ok(())
}

fn tail(log: &Path) -> Result<Vec<String>> {
    let mut file = fs::File::open(log).with_context(|| format!("reading {}", log.display()))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let lines: Vec<String> = String::from_utf8_lossy(&end).lines().map(str::to_owned).collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_kept_and_large_ones_noted() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("data/deep")).unwrap();
        fs::write(from.join("data/deep/file"), "content").unwrap();
        fs::create_dir(from.join("large")).unwrap();
        fs::File::create(from.join("large/file")).unwrap().set_len(KEPT_BYTES_MAX + 1).unwrap();
        keep(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("data/deep/file")).unwrap(), "content");
        assert!(to.join("large.left-out").exists() && !to.join("large").exists());
    }

    #[test]
    fn only_the_last_runs_are_kept() {
        let runs = tempfile::tempdir().unwrap();
        for number in 1_000_000_010..1_000_000_020 {
            fs::create_dir(runs.path().join(number.to_string())).unwrap();
        }
        fs::create_dir_all(own_folder(runs.path()).unwrap()).unwrap();
        let mut left: Vec<String> = fs::read_dir(runs.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left.len(), RUNS_MAX);
        assert_eq!((left[0].as_str(), left[3].as_str()), ("1000000016", "1000000019"));
    }

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
        fs::write(file.path(), text).unwrap();
        let lines = tail(file.path()).unwrap();
        assert_eq!((lines.len(), lines[29].as_str()), (TAIL_LINES, "line 9999"));
    }
}
