//! Model files: in a folder, or in memory for as long as the server runs.
//!
//! A file is written only if it still is what its writer has read: the hash of the text says so.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

/// Files of a folder that are looked at.
const FILES_MAX: usize = 500;
const TEXT_BYTES_MAX: u64 = 1 << 20;
const ENDINGS: [&str; 2] = ["yaml", "yml"];

pub enum Shelf {
    Folder(PathBuf),
    Memory(Mutex<BTreeMap<String, String>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What a file can't be called.
    Name,
    Missing,
    /// It is not what was read; this is what it is.
    Changed(String),
    TooLarge,
    Full,
    Unreadable(String),
}

impl Fault {
    fn of(error: &io::Error) -> Fault {
        if error.kind() == io::ErrorKind::NotFound {
            Fault::Missing
        } else {
            Fault::Unreadable(error.to_string())
        }
    }
}

impl Shelf {
    pub fn new(folder: Option<PathBuf>) -> Shelf {
        folder.map_or_else(|| Shelf::Memory(Mutex::default()), Shelf::Folder)
    }

    /// Names without their ending, sorted.
    pub fn names(&self) -> Result<Vec<String>, Fault> {
        let Shelf::Folder(folder) = self else { return Ok(self.kept().keys().cloned().collect()) };
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Fault::of(&error))?,
        };
        let paths = entries.flatten().map(|entry| entry.path()).filter(|path| {
            path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
        });
        let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned()).filter(|name| is_name(name));
        let mut names: Vec<String> = paths.filter_map(stem).take(FILES_MAX).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    pub fn read(&self, name: &str) -> Result<String, Fault> {
        if !is_name(name) {
            return Err(Fault::Name);
        }
        let Some(path) = self.path(name) else {
            return self.kept().get(name).cloned().ok_or(Fault::Missing);
        };
        let length = std::fs::metadata(&path).map_err(|error| Fault::of(&error))?.len();
        if length > TEXT_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        std::fs::read_to_string(&path).map_err(|error| Fault::of(&error))
    }

    /// `read` is the hash of what the writer saw; none if it saw no such file.
    pub fn write(&self, name: &str, text: &str, read: Option<&str>) -> Result<(), Fault> {
        let now = match self.read(name) {
            Err(Fault::Missing) => None,
            now => Some(now?),
        };
        if text.len() as u64 > TEXT_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        if now.as_deref().map(hash).as_deref() != read {
            return Err(Fault::Changed(now.unwrap_or_default()));
        }
        if now.is_none() && self.names()?.len() >= FILES_MAX {
            return Err(Fault::Full);
        }
        let Some(path) = self.path(name) else {
            self.kept().insert(name.to_owned(), text.to_owned());
            return Ok(());
        };
        // Whole or not at all: beside it first, then in its place.
        let beside = path.with_extension("yaml.new");
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&beside, text))
            .and_then(|()| std::fs::rename(&beside, &path))
            .map_err(|error| Fault::of(&error))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        let Shelf::Folder(folder) = self else { return None };
        let paths = ENDINGS.map(|ending| folder.join(format!("{name}.{ending}")));
        let [yaml, yml] = paths;
        Some(if !yaml.exists() && yml.exists() { yml } else { yaml })
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        match self {
            Shelf::Memory(kept) => kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            Shelf::Folder(_) => unreachable!("a folder keeps nothing in memory"),
        }
    }
}

/// A name that is a file's in any folder, and none outside of it.
fn is_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !name.starts_with('.')
}

/// FNV-1a with 64 bits: it tells one text from its next version, nothing more.
pub fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
