//! The data folder: whose it is, who holds it, and which format it has.
//!
//! ```text
//! lock              names the process that holds the folder; the operating system keeps the lock,
//!                   so a killed process leaves none behind
//! store/format      "lodestone data format 3"
//! store/manifest    which other files there must be (`manifest`)
//! store/log/        the write-ahead log (`wal`)
//! store/tree/       tables and their versions (`tree`)
//! store/aside/      torn tails that an opening has cut off, and files that nothing refers to
//! store.new/        a store in the making
//! ```
//!
//! A new store is made in `store.new` and then renamed, so `store` has all its files from the moment
//! it exists: an empty or foreign folder is never mistaken for a database that lost its data.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::OpenError;
use crate::privacy;
use crate::vfs::FileSystem;

/// The version of everything below the data folder. Another number means another layout.
pub const FORMAT_VERSION: u32 = 3;
/// Folders of this version are opened as well, and are of [`FORMAT_VERSION`] from then on.
pub const OLDEST_VERSION: u32 = 2;

const FORMAT_TEXT: &str = "lodestone data format ";
pub(crate) const LOCK: &str = "lock";
pub(crate) const STORE: &str = "store";
pub(crate) const STORE_NEW: &str = "store.new";
pub(crate) const FORMAT: &str = "format";
pub(crate) const LOG: &str = "log";
pub(crate) const TREE: &str = "tree";
pub(crate) const ASIDE: &str = "aside";
/// The engine of format 1 had its files here.
const TREE_OF_FORMAT_1: &str = "fjall";
/// `repair` leaves the damaged store beside the repaired one.
pub(crate) const DAMAGED: &str = "store.damaged-";

/// The folders and files of a store.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) data: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) tree: PathBuf,
    pub(crate) aside: PathBuf,
}

impl Paths {
    pub(crate) fn of(data: &Path, store_name: &str) -> Paths {
        let store = data.join(store_name);
        let (log, tree, aside) = (store.join(LOG), store.join(TREE), store.join(ASIDE));
        Paths { data: data.to_owned(), store, log, tree, aside }
    }
}

/// A data folder that this process holds, until it is dropped.
pub(crate) struct Folder {
    lock: File,
}

impl Folder {
    /// Makes the folder if it is missing, and takes it.
    pub(crate) fn take(path: &Path) -> Result<Self, OpenError> {
        let failed = |error| OpenError::io(path, error);
        fs::create_dir_all(path).map_err(failed)?;
        refuse_foreign(path)?;
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.join(LOCK));
        let folder = Folder { lock: lock(path, file.map_err(failed)?)? };
        privacy::correct(path);
        folder.name_holder(None).map_err(failed)?;
        Ok(folder)
    }

    /// Takes a folder that is there and changes nothing in it.
    pub(crate) fn take_to_read(path: &Path) -> Result<Option<Self>, OpenError> {
        refuse_foreign(path)?;
        match File::open(path.join(LOCK)) {
            Ok(file) => Ok(Some(Folder { lock: lock(path, file)? })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(OpenError::io(path, error)),
        }
    }

    /// Writes into the lock file which process holds it. A second process shows it in its message.
    pub(crate) fn name_holder(&self, address: Option<&str>) -> io::Result<()> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let mut text = format!("process {}", std::process::id());
        if !host.trim().is_empty() {
            text += &format!(" on {}", host.trim());
        }
        if let Some(address) = address {
            text += &format!(", serving {address}");
        }
        let mut file = &self.lock;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    }
}

fn lock(path: &Path, file: File) -> Result<File, OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(OpenError::Taken { folder: path.to_owned(), holder: holder(&file) })
        }
        Err(TryLockError::Error(error)) => Err(OpenError::io(path, error)),
    }
}

/// A folder with anything in it that we did not put there is left alone.
fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::io(path, error);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let ours = [LOCK, STORE_NEW].contains(&&*entry) || entry.starts_with(DAMAGED);
        if !path.join(STORE).exists() && !ours {
            return Err(OpenError::Foreign { folder: path.to_owned(), entry });
        }
    }
    Ok(())
}

/// The store that a repair has put aside last, if that repair was cut short: `store` itself is missing.
pub(crate) fn left_by_repair(path: &Path) -> io::Result<Option<String>> {
    if path.join(STORE).try_exists()? {
        return Ok(None);
    }
    Ok(last_damaged(path)?.map(|(_, name)| name))
}

/// The number and the name of the store that the last repair has put aside.
pub(crate) fn last_damaged(path: &Path) -> io::Result<Option<(u32, String)>> {
    let mut last = None;
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(DAMAGED).and_then(|number| number.parse::<u32>().ok());
        last = last.max(number.map(|number| (number, name)));
    }
    Ok(last)
}

pub(crate) fn repair_was_cut_short(original: &str) -> String {
    format!("is missing: a repair was cut short, and {original} is the original")
}

pub(crate) fn write_format(fs: &dyn FileSystem, store: &Path) -> io::Result<()> {
    fs.replace(&store.join(FORMAT), format!("{FORMAT_TEXT}{FORMAT_VERSION}\n").as_bytes())
}

/// The format of the store. Fails unless this program reads it.
pub(crate) fn check_format(fs: &dyn FileSystem, paths: &Paths) -> Result<u32, OpenError> {
    let folder = paths.data.clone();
    let read = fs.open_to_read(&paths.store.join(FORMAT)).and_then(|file| file.read_all());
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(OpenError::damaged(&folder, FORMAT, "is missing"));
        }
        Err(error) => return Err(OpenError::io(&folder, error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let version = text.strip_suffix('\n').and_then(|line| line.strip_prefix(FORMAT_TEXT)).map(str::parse);
    match version {
        Some(Ok(found @ OLDEST_VERSION..=FORMAT_VERSION)) => Ok(found),
        // A flipped bit may name any version. Only a store of format 1 has the folder of its engine.
        Some(Ok(found)) if found != 1 || paths.store.join(TREE_OF_FORMAT_1).exists() => {
            Err(OpenError::OtherVersion { folder, found })
        }
        _ => Err(OpenError::damaged(&folder, FORMAT, "names no format version")),
    }
}

/// What the lock says about its holder, and since when.
fn holder(mut lock: &File) -> String {
    let mut text = String::new();
    if lock.read_to_string(&mut text).is_err() || text.is_empty() {
        text = "another process".to_owned();
    }
    match lock.metadata().and_then(|metadata| metadata.modified()) {
        Ok(time) => format!("{text} (since {})", date_and_time(time)),
        Err(_) => text,
    }
}

/// UTC, to the second.
pub(crate) fn date_and_time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in eras of 400 years.
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC", year + era * 400)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(date_and_time(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
