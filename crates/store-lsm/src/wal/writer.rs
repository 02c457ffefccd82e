//! Appends records to segments, and syncs them. The log's thread owns the writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mark::Mark;
use super::reader::LogEnd;
use super::record::{self, LogPoint};
use super::segment::{self, Entry, HEADER_BYTES};
use crate::vfs::{File, FileSystem};

/// How the names of torn tails that are kept aside begin.
pub(crate) const TORN: &str = "torn-";

/// A segment that is ready for its first record.
pub(crate) struct Prepared {
    pub(crate) entry: Entry,
    pub(crate) file: Arc<dyn File>,
}

pub(crate) struct Writer {
    store: u64,
    clock: fn() -> u64,
    current: Option<Current>,
    /// The last record that was written.
    last: LogPoint,
    /// The last one that is durable.
    durable: u64,
    mark: Mark,
    mark_is_synced: bool,
    unsynced_bytes: u64,
}

struct Current {
    entry: Entry,
    file: Arc<dyn File>,
    position: u64,
}

/// Up to where the log is durable, for a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DurableEnd {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    pub(crate) last: LogPoint,
}

impl Writer {
    /// Continues at the end of the log. First syncs what was read back: a killed process may have left
    /// it in the cache of the operating system.
    pub(crate) fn open(
        fs: &dyn FileSystem,
        folder: &Path,
        store: u64,
        end: &LogEnd,
        clock: fn() -> u64,
    ) -> io::Result<Writer> {
        let mut current = None;
        if let Some((entry, position)) = end.segment {
            assert!(position <= entry.bytes, "the log ends inside its segment");
            let file = fs.open(&segment::path(folder, entry.number))?;
            file.sync()?;
            current = Some(Current { entry, file, position });
        }
        let mut mark = Mark::open(fs, folder, store)?;
        for _ in 0..2 {
            mark.write(end.last.record, end.time)?;
            mark.sync()?;
        }
        let (last, durable) = (end.last, end.last.record);
        Ok(Writer { store, clock, current, last, durable, mark, mark_is_synced: true, unsynced_bytes: 0 })
    }

    /// How many bytes the current segment has left.
    pub(crate) fn room(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.entry.bytes - current.position)
    }

    /// Turns `buffer`, which has room for the header, into a record and writes it. If the current segment
    /// has no room for it, closes that segment, begins the next one, and returns the closed one's number.
    pub(crate) fn append(
        &mut self,
        buffer: &mut Vec<u8>,
        next: impl FnOnce() -> Option<Prepared>,
    ) -> io::Result<Option<u64>> {
        debug_assert!(buffer.len() > record::HEADER_BYTES, "a record has a body");
        let bytes = record::record_bytes(buffer.len() - record::HEADER_BYTES) as u64;
        if bytes <= self.room() {
            self.write(buffer, 0)?;
            return Ok(None);
        }
        // A closed segment is synced: only the last segment may have a torn tail.
        self.sync()?;
        let closed = self.current.take().map(|current| current.entry.number);
        let Prepared { entry, file } = next().ok_or_else(|| io::Error::other("no log segment is ready"))?;
        self.current = Some(Current { entry, file, position: 0 });
        self.write(buffer, HEADER_BYTES)?;
        Ok(closed)
    }

    /// Writes a record, behind the segment's header if it is the first.
    fn write(&mut self, buffer: &mut Vec<u8>, segment_header_bytes: usize) -> io::Result<()> {
        let current = self.current.as_mut().ok_or_else(|| io::Error::other("there is no log segment"))?;
        let (number, time) = (self.last.record + 1, (self.clock)());
        let header = record::RecordHeader {
            body_bytes: 0,
            segment: current.entry.number,
            number,
            durable: self.durable,
            time,
        };
        let written = record::finish(buffer, self.store, header);
        // The log takes a commit only if there is room for it. A longer file would be refused as damaged.
        let end = current.position + (segment_header_bytes + buffer.len()) as u64;
        assert!(end <= current.entry.bytes, "record {number} does not fit into its segment");
        debug_assert_eq!(current.position % record::ALIGNMENT as u64, 0, "records are aligned");
        debug_assert_eq!(current.position == 0, segment_header_bytes > 0, "a segment begins with its header");
        if segment_header_bytes > 0 {
            let (entry, previous) = (current.entry, self.last.checksum);
            let header = segment::SegmentHeader { entry, first: number, time, previous };
            let bytes = [&header.encode(self.store)[..], buffer].concat();
            current.file.write_all_at(&bytes, 0)?;
        } else {
            current.file.write_all_at(buffer, current.position)?;
        }
        current.position = end;
        self.unsynced_bytes += buffer.len() as u64;
        self.last = written;
        Ok(())
    }

    /// Syncs all records that were written, and writes the last one's number into the mark.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        assert!(self.durable <= self.last.record, "a record is durable only after it was written");
        if let Some(current) = &self.current
            && self.durable < self.last.record
        {
            current.file.sync()?;
            (self.durable, self.unsynced_bytes) = (self.last.record, 0);
            self.mark.write(self.durable, (self.clock)())?;
            self.mark_is_synced = false;
        }
        Ok(())
    }

    /// Syncs the records and the mark, when no commit has arrived for a while.
    pub(crate) fn rest(&mut self) -> io::Result<()> {
        self.sync()?;
        debug_assert!(self.is_synced() && self.unsynced_bytes == 0, "everything was synced");
        if !self.mark_is_synced {
            self.mark.sync()?;
            self.mark_is_synced = true;
        }
        Ok(())
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.durable == self.last.record
    }

    pub(crate) fn unsynced_bytes(&self) -> u64 {
        self.unsynced_bytes
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.mark_is_synced && self.is_synced()
    }

    /// Up to where the log is durable.
    pub(crate) fn durable_end(&self) -> DurableEnd {
        match &self.current {
            Some(current) if self.is_synced() => {
                DurableEnd { segment: current.entry.number, offset: current.position, last: self.last }
            }
            _ => DurableEnd::default(),
        }
    }
}

/// Copies the bytes of a torn tail to a file in `aside`, then overwrites them with zeros, so that the
/// log ends with its last whole record.
pub(crate) fn cut_torn_tail(
    fs: &dyn FileSystem,
    folder: &Path,
    aside: &Path,
    torn: &super::reader::TornTail,
) -> io::Result<PathBuf> {
    let name = format!("{TORN}{:08}-{:010}", torn.segment, torn.offset);
    let kept = aside.join(name);
    fs.replace(&kept, &torn.bytes)?;
    let file = fs.open(&segment::path(folder, torn.segment))?;
    crate::vfs::write_zeros(&*file, torn.offset, torn.offset + torn.bytes.len() as u64)?;
    file.sync()?;
    Ok(kept)
}
