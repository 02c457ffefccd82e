//! The engine's journal files, as far as durability is concerned.
//!
//! fjall's own `persist` holds the journal's lock while the disk works, and with it every writer.
//! A sync of the same file through a handle of our own does the same to the disk and lets writers
//! go on. It covers every commit that returned before it began:
//! - A commit hands its bytes to the operating system before it returns.
//! - Each journal's number is one above its predecessor's; fjall syncs one before it begins the next,
//!   and removes the oldest first. So whatever is not in the newest journal is durable already, and one
//!   that has no successor and was not removed is the newest.
//!
//! The handle stays open as long as its journal is the newest: a failed write-back is reported once
//! to each handle that was open when it happened.
//!
//! fjall makes a journal as one long hole. A file system that has to find room for what is written into
//! a hole must sync that decision too, and so takes twice as long. So the room is made beforehand, with
//! zeros, which is what a hole reads as, a little ahead of the writers ([`JournalSync::make_room`]).

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

const CHUNK: u64 = 1 << 16;
/// How much room is made at once, and how much there shall be at least.
const ROOM_BYTES: u64 = 1 << 20;
/// ext4 and XFS write in place. On others, zeros might not keep room for anything.
#[cfg(target_os = "linux")]
const IN_PLACE: [u32; 2] = [0xEF53, 0x5846_5342];

/// Syncs the newest journal of an engine's folder.
pub(crate) struct JournalSync {
    folder: PathBuf,
    newest: (u64, File),
    writers: Arc<JournalWriters>,
    /// How much room is left in the newest journal, or nothing when none can be made in it any more.
    room: Option<u64>,
}

/// What those who write to the journal and the one who makes room for them have in common.
#[derive(Default)]
pub(crate) struct JournalWriters {
    writing: RwLock<()>,
    /// How much was written, about, since somebody looked.
    written: AtomicU64,
}

impl JournalWriters {
    /// Lets `commit` write about so many bytes, while no room is being made.
    pub(crate) fn write<T>(&self, bytes: usize, commit: impl FnOnce() -> T) -> T {
        let _writing = self.writing.read();
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        commit()
    }
}

impl JournalSync {
    pub(crate) fn new(folder: &Path, writers: Arc<JournalWriters>) -> io::Result<Self> {
        let (number, path) = newest(folder)?;
        Ok(JournalSync { folder: folder.to_owned(), newest: (number, open(&path)?), writers, room: Some(0) })
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.follow()?;
        // On a full disk there is none to be made, and the next write will tell.
        self.room = self.make_room().unwrap_or(None);
        self.newest.1.sync_data()
    }

    /// Makes room if little is left, and tells how much there is then.
    fn make_room(&self) -> io::Result<Option<u64>> {
        let written = self.writers.written.swap(0, Ordering::Relaxed);
        let Some(room) = self.room.map(|room| room.saturating_sub(written)) else { return Ok(None) };
        if room >= ROOM_BYTES {
            return Ok(Some(room));
        }
        // While nobody writes, the first hole lies behind everything that was written.
        let _nobody_writes = self.writers.writing.write();
        let journal = &self.newest.1;
        let Some(hole) = first_hole(journal)? else { return Ok(None) };
        let length = ROOM_BYTES.min(journal.metadata()?.len().saturating_sub(hole));
        journal.write_all_at(&vec![0; length as usize], hole)?;
        Ok((length > 0).then_some(room + length))
    }

    /// Goes on to the journal that is the newest now. Reading the folder would tell as well, and take as
    /// long as a tenth of the sync.
    fn follow(&mut self) -> io::Result<()> {
        loop {
            let successor = self.newest.0 + 1;
            match open(&self.folder.join(format!("{successor}.jnl"))) {
                Ok(file) => (self.newest, self.room) = ((successor, file), Some(0)),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) if is_removed(&self.newest.1)? => {
                    *self = JournalSync::new(&self.folder, Arc::clone(&self.writers))?
                }
                Err(_) => return Ok(()),
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

fn is_removed(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fstat(file)?.st_nlink == 0)
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

/// Where the first part of a file without room for it begins, if the file system keeps room once made.
#[cfg(target_os = "linux")]
fn first_hole(file: &File) -> io::Result<Option<u64>> {
    use rustix::fs::{SeekFrom, fstatfs, seek};

    let in_place = IN_PLACE.contains(&(fstatfs(file)?.f_type as u32));
    Ok(if in_place { Some(seek(file, SeekFrom::Hole(0))?) } else { None })
}

#[cfg(not(target_os = "linux"))]
fn first_hole(_: &File) -> io::Result<Option<u64>> {
    Ok(None)
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
    fn the_newest_journal_is_found_however_many_came_and_went() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |number: u64| folder.path().join(format!("{number}.jnl"));
        let make = |number| drop(File::create(path(number)).expect("a journal is made"));
        let remove = |number| fs::remove_file(path(number)).expect("a journal is removed");

        make(7);
        let mut journal = JournalSync::new(folder.path(), Arc::default()).expect("there is a journal");
        let mut check = |number| {
            journal.sync().expect("a sync");
            assert_eq!(journal.newest.0, number);
        };
        check(7);
        make(8);
        check(8);
        make(9);
        make(10);
        check(10);
        // The next two are there, and all but the second gone, before anybody looks.
        make(11);
        make(12);
        (7..=11).for_each(remove);
        check(12);
    }

    #[test]
    fn room_is_made_ahead_of_the_writers_and_never_changes_what_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.jnl");
        let file = File::create(&path).expect("a journal is made");
        file.set_len(5 * ROOM_BYTES / 2).expect("a journal is one long hole");
        let writers = Arc::<JournalWriters>::default();
        let mut journal = JournalSync::new(folder.path(), Arc::clone(&writers)).expect("there is a journal");

        let mut expected = vec![0; 5 * ROOM_BYTES as usize / 2];
        for (round, chunk) in (1..).zip(expected.chunks_mut(200_000)) {
            chunk.fill(round);
            let start = u64::from(round - 1) * 200_000;
            writers.write(chunk.len(), || file.write_all_at(chunk, start)).expect("a write");
            journal.sync().expect("a sync");
            if let Some(hole) = first_hole(&file).expect("a hole or none") {
                let wanted = (start + chunk.len() as u64 + ROOM_BYTES / 2).min(5 * ROOM_BYTES / 2);
                assert!(hole >= wanted, "the room ends at {hole} after {round} writes");
            }
        }
        assert_eq!(fs::read(&path).expect("the journal is read"), expected);
    }

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
