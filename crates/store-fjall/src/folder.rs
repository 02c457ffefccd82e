//! The data folder: whose it is, who holds it, and which format it has.
//!
//! ```text
//! lock            names the process that holds the folder; the operating system keeps the lock,
//!                 so a killed process leaves none behind
//! store/format    "lodestone data format 1"
//! store/fjall/    the engine's own files
//! store/making    there until everything else in `store` is durable for the first time
//! store.new/      a store in the making
//! ```
//!
//! A new store is made in `store.new` and then renamed, so `store` has all its files from the moment
//! it exists: an empty or foreign folder is never mistaken for a database that lost its data.
//!
//! Making an engine's files syncs the disk some forty times, which takes long on a slow one. So they
//! are made in memory, copied, and synced in the background ([`Making::finish`]). No write is
//! acknowledged before that is done and `making` is gone: a store that still has it holds nothing
//! that anybody was promised, and is made anew.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::journal::written_bytes;

/// The version of everything below the data folder. Another number means another layout.
pub const FORMAT_VERSION: u32 = 1;

const FORMAT_TEXT: &str = "lodestone data format ";
const LOCK: &str = "lock";
const STORE: &str = "store";
const STORE_NEW: &str = "store.new";
const FORMAT: &str = "format";
const MAKING: &str = "making";
const ENGINE: &str = "fjall";

/// Why a data folder could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data folder {} is in use by {holder}", .folder.display())]
    Taken { folder: PathBuf, holder: String },
    #[error(
        "the data folder {} has format version {found}, this program reads version {FORMAT_VERSION}",
        .folder.display()
    )]
    OtherVersion { folder: PathBuf, found: u32 },
    #[error("the folder {} is no data folder of Lodestone: it contains {entry:?}", .folder.display())]
    Foreign { folder: PathBuf, entry: String },
    #[error("the disk of the data folder {} is full", .folder.display())]
    DiskFull { folder: PathBuf },
    #[error("the data folder {} cannot be read: {reason}", .folder.display())]
    Corrupt { folder: PathBuf, reason: String },
    #[error("the data folder {} cannot be opened: {error}", .folder.display())]
    Io { folder: PathBuf, error: io::Error },
}

impl OpenError {
    pub(crate) fn io(folder: &Path, error: io::Error) -> Self {
        let folder = folder.to_owned();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => OpenError::DiskFull { folder },
            _ => OpenError::Io { folder, error },
        }
    }

    pub(crate) fn engine(folder: &Path, error: fjall::Error) -> Self {
        let reason = match error {
            fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
                return OpenError::io(folder, error);
            }
            fjall::Error::Locked => {
                let holder = "a process that does not name itself".to_owned();
                return OpenError::Taken { folder: folder.to_owned(), holder };
            }
            other => other.to_string(),
        };
        OpenError::Corrupt { folder: folder.to_owned(), reason }
    }
}

/// A data folder that this process holds, until it is dropped.
pub(crate) struct Folder {
    path: PathBuf,
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
        let lock = file.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Taken { folder: path.to_owned(), holder: holder(&lock) });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let folder = Folder { path: path.to_owned(), lock };
        folder.name_holder(None).map_err(failed)?;
        Ok(folder)
    }

    /// Writes into the lock who holds it, for whoever comes second.
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

    /// The engine's folder, after the format was found to be ours. A missing store is made first, with
    /// the engine's files by `make`; then something is left to finish before the first write.
    pub(crate) fn engine(
        &self,
        make: impl Fn(&Path) -> Result<(), fjall::Error>,
    ) -> Result<(PathBuf, Option<Making>), OpenError> {
        let failed = |error| OpenError::io(&self.path, error);
        let store = self.path.join(STORE);
        remove_unfinished(&self.path).map_err(failed)?;
        let missing = !store.try_exists().map_err(failed)?;
        if missing {
            let new = self.path.join(STORE_NEW);
            fs::create_dir(&new).and_then(|()| File::create_new(new.join(MAKING))).map_err(failed)?;
            fs::write(new.join(FORMAT), format!("{FORMAT_TEXT}{FORMAT_VERSION}\n")).map_err(failed)?;
            let engine = new.join(ENGINE);
            if make_in_memory(&engine, &make).is_none() {
                remove_folder(&engine).map_err(failed)?;
                make(&engine).map_err(|error| OpenError::engine(&self.path, error))?;
            }
            fs::rename(&new, &store).map_err(failed)?;
        }
        self.check_format(&store.join(FORMAT))?;
        Ok((store.join(ENGINE), missing.then(|| Making { folder: self.path.clone() })))
    }

    fn check_format(&self, path: &Path) -> Result<(), OpenError> {
        let folder = self.path.clone();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
                let reason = format!("{} is missing or no text", path.display());
                return Err(OpenError::Corrupt { folder, reason });
            }
            Err(error) => return Err(OpenError::io(&folder, error)),
        };
        match text.trim_end().strip_prefix(FORMAT_TEXT).map(str::parse::<u32>) {
            Some(Ok(FORMAT_VERSION)) => Ok(()),
            Some(Ok(found)) => Err(OpenError::OtherVersion { folder, found }),
            _ => {
                let reason = format!("{} names no format version", path.display());
                Err(OpenError::Corrupt { folder, reason })
            }
        }
    }
}

/// A folder with anything in it that we did not put there is left alone.
fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::io(path, error);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if !path.join(STORE).exists() && ![LOCK, STORE_NEW].contains(&&*entry) {
            return Err(OpenError::Foreign { folder: path.to_owned(), entry });
        }
    }
    Ok(())
}

/// What is left of a store that was being made when its process ended.
fn remove_unfinished(path: &Path) -> io::Result<()> {
    remove_folder(&path.join(STORE_NEW))?;
    if path.join(STORE).join(MAKING).try_exists()? {
        // Renamed first: removing it takes several steps, of which `making` may be the first.
        fs::rename(path.join(STORE), path.join(STORE_NEW))?;
        sync_folder(path)?;
        remove_folder(&path.join(STORE_NEW))?;
    }
    Ok(())
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the engine's files where syncing costs nothing and copies them to `engine`. Nothing when the
/// system has no such place or anything else fails: then they are made in place.
fn make_in_memory(engine: &Path, make: impl Fn(&Path) -> Result<(), fjall::Error>) -> Option<()> {
    let memory = tempfile::tempdir_in("/dev/shm").ok()?;
    let made = memory.path().join(ENGINE);
    make(&made).ok()?;
    copy_folder(&made, engine).ok()
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Without the zeros at its end, of which a new journal has 64 MiB.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let length = source.metadata()?.len();
    let written = written_bytes(&mut source)?;
    source.rewind()?;
    let mut target = File::create_new(to)?;
    io::copy(&mut source.take(written), &mut target)?;
    target.set_len(length)
}

/// A new store that is not durable yet.
pub(crate) struct Making {
    folder: PathBuf,
}

impl Making {
    /// Makes everything in the store durable, and the store itself. Syncing is all that may fail.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let store = self.folder.join(STORE);
        sync_all(&store)?;
        sync_folder(&self.folder)?;
        if let Some(parent) = self.folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_folder(parent)?;
        }
        fs::remove_file(store.join(MAKING))?;
        sync_folder(&store)
    }
}

/// Syncs a folder with everything in it. Files that the engine removes meanwhile are no matter, and
/// those that it adds it syncs itself.
fn sync_all(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let synced = match entry.file_type()?.is_dir() {
            true => sync_all(&entry.path()),
            false => File::open(entry.path()).and_then(|file| file.sync_all()),
        };
        match synced {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    sync_folder(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    // Only Unix lets a folder be opened; elsewhere a rename is as durable as the system makes it.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
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
fn date_and_time(time: SystemTime) -> String {
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
