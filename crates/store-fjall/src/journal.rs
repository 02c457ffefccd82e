//! The engine's journal files, as far as durability is concerned.
//!
//! fjall's own `persist` holds the journal's lock while the disk works, and with it every writer.
//! A sync of the same file through a handle of our own does the same to the disk and lets writers
//! go on. It covers every commit that returned before it began:
//! - A commit hands its bytes to the operating system before it returns.
//! - Journals are numbered upwards; fjall syncs one before it begins the next. So whatever is not in
//!   the newest journal is durable already.
//!
//! The handle stays open as long as its journal is the newest: a failed write-back is reported once
//! to each handle that was open when it happened.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const CHUNK: u64 = 1 << 16;

/// Syncs the newest journal of an engine's folder.
pub(crate) struct JournalSync {
    folder: PathBuf,
    newest: (u64, File),
}

impl JournalSync {
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let (number, path) = newest(folder)?;
        Ok(JournalSync { folder: folder.to_owned(), newest: (number, File::open(path)?) })
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let (number, path) = newest(&self.folder)?;
        if number != self.newest.0 {
            self.newest = (number, File::open(path)?);
        }
        self.newest.1.sync_data()
    }
}

/// The number and path of the newest journal. An engine's folder always has one.
fn newest(folder: &Path) -> io::Result<(u64, PathBuf)> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(number) = name.strip_suffix(".jnl").and_then(|number| number.parse::<u64>().ok()) {
            newest = newest.max(Some((number, path)));
        }
    }
    newest.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no journal"))
}

/// How far the newest journal is written. When it is opened, fjall cuts off what it cannot read at
/// its end: the rest of a write that was cut short, or worse. It does so silently; comparing the
/// length before and after tells.
pub(crate) struct JournalTail {
    path: PathBuf,
    written: u64,
}

impl JournalTail {
    pub(crate) fn find(folder: &Path) -> io::Result<Self> {
        let (_, path) = newest(folder)?;
        let written = written_bytes(&mut File::open(&path)?)?;
        Ok(JournalTail { path, written })
    }

    /// How many bytes were cut off since.
    pub(crate) fn lost_bytes(&self) -> io::Result<u64> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(self.written.saturating_sub(metadata.len())),
            // Its rows are in tables by now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// The length of a file without the zeros at its end: journals are made longer in advance.
pub(crate) fn written_bytes(file: &mut File) -> io::Result<u64> {
    let mut end = data_end(file)?;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        file.take(end - start).read_to_end(&mut chunk)?;
        if let Some(last) = chunk.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Where the last allocated part of a file ends. Reading the rest, up to 64 MiB of nothing, would
/// take longer than everything else about opening.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
fn data_end(file: &File) -> io::Result<u64> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    let mut end = 0;
    loop {
        match seek(file, SeekFrom::Data(end)).and_then(|data| seek(file, SeekFrom::Hole(data))) {
            Ok(hole) => end = hole,
            Err(Errno::NXIO) => return Ok(end),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
fn data_end(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn zeros_at_the_end_do_not_count_as_written() {
        let cases: [(&[u8], u64, u64); 5] =
            [(b"", 0, 0), (b"", 1 << 26, 0), (b"journal", 7, 7), (b"a\0b", 1 << 26, 3), (b"a\0\0", 3, 1)];
        for (contents, length, written) in cases {
            let mut file = tempfile::tempfile().expect("a temporary file");
            file.write_all(contents).and_then(|()| file.set_len(length)).expect("a file is written");
            assert_eq!(written_bytes(&mut file).expect("a file is read"), written, "{contents:?} {length}");
        }
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.set_len(10 << 20).expect("a file is made longer");
        file.seek(SeekFrom::Start(3 << 20)).and_then(|_| file.write_all(b"x")).expect("a file is written");
        assert_eq!(written_bytes(&mut file).expect("a file is read"), (3 << 20) + 1);
    }
}
