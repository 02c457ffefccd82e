//! Model files: in a folder, or in memory for as long as the server runs.
//!
//! A file is written only if it has not changed since its writer read it. The hash of its text tells.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many files of a folder are listed.
const FILES_MAX: usize = 500;
const TEXT_BYTES_MAX: u64 = 1 << 20;
const ENDINGS: [&str; 2] = ["yaml", "yml"];

pub enum ModelFiles {
    Folder(PathBuf),
    Memory(Mutex<BTreeMap<String, String>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelFileError {
    /// The name is not allowed.
    Name,
    Missing,
    /// The file has changed; this is its text now.
    Changed(String),
    TooLarge,
    Full,
    Unreadable(String),
}

impl ModelFileError {
    fn of(error: &io::Error) -> ModelFileError {
        if error.kind() == io::ErrorKind::NotFound {
            ModelFileError::Missing
        } else {
            ModelFileError::Unreadable(error.to_string())
        }
    }
}

impl ModelFiles {
    pub fn new(folder: Option<PathBuf>) -> ModelFiles {
        folder.map_or_else(|| ModelFiles::Memory(Mutex::default()), ModelFiles::Folder)
    }

    /// Names without their ending, sorted.
    pub fn names(&self) -> Result<Vec<String>, ModelFileError> {
        let folder = match self {
            ModelFiles::Folder(folder) => folder,
            ModelFiles::Memory(kept) => return Ok(locked(kept).keys().cloned().collect()),
        };
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| ModelFileError::of(&error))?,
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

    pub fn read(&self, name: &str) -> Result<String, ModelFileError> {
        if !is_name(name) {
            return Err(ModelFileError::Name);
        }
        let folder = match self {
            ModelFiles::Folder(folder) => folder,
            ModelFiles::Memory(kept) => {
                return locked(kept).get(name).cloned().ok_or(ModelFileError::Missing);
            }
        };
        let path = path(folder, name);
        let length = std::fs::metadata(&path).map_err(|error| ModelFileError::of(&error))?.len();
        if length > TEXT_BYTES_MAX {
            return Err(ModelFileError::TooLarge);
        }
        std::fs::read_to_string(&path).map_err(|error| ModelFileError::of(&error))
    }

    /// `read` is the hash of the text that the writer read; none if there was no file.
    pub fn write(&self, name: &str, text: &str, read: Option<&str>) -> Result<(), ModelFileError> {
        let now = match self.read(name) {
            Err(ModelFileError::Missing) => None,
            now => Some(now?),
        };
        if text.len() as u64 > TEXT_BYTES_MAX {
            return Err(ModelFileError::TooLarge);
        }
        if now.as_deref().map(hash).as_deref() != read {
            return Err(ModelFileError::Changed(now.unwrap_or_default()));
        }
        if now.is_none() && self.names()?.len() >= FILES_MAX {
            return Err(ModelFileError::Full);
        }
        let folder = match self {
            ModelFiles::Folder(folder) => folder,
            ModelFiles::Memory(kept) => {
                locked(kept).insert(name.to_owned(), text.to_owned());
                return Ok(());
            }
        };
        let path = path(folder, name);
        // A rename is atomic: readers see the old file or the new one.
        let beside = path.with_extension("yaml.new");
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&beside, text))
            .and_then(|()| std::fs::rename(&beside, &path))
            .map_err(|error| ModelFileError::of(&error))
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    let [yaml, yml] = ENDINGS.map(|ending| folder.join(format!("{name}.{ending}")));
    if !yaml.exists() && yml.exists() { yml } else { yaml }
}

fn locked(kept: &Mutex<BTreeMap<String, String>>) -> MutexGuard<'_, BTreeMap<String, String>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Only names that can't leave the folder.
fn is_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !name.starts_with('.')
}

/// FNV-1a with 64 bits. It only has to tell one version of a text from the next.
pub fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
