//! A segment of the log: a file of fixed length, allocated before it is needed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::record::number;
use crate::vfs::{File, FileSystem, write_zeros};

const MAGIC: [u8; 8] = *b"LODEWAL1";
pub(crate) const HEADER_BYTES: usize = 64;
const SUFFIX: &str = ".wal";

/// What the manifest says about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// The length of its file: more than the header takes.
    pub(crate) bytes: u64,
}

impl Entry {
    /// None if the segment would have no room for records.
    pub(crate) fn new(number: u64, bytes: u64) -> Option<Entry> {
        (bytes > HEADER_BYTES as u64).then_some(Entry { number, bytes })
    }

    /// The room for records.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.bytes - HEADER_BYTES as u64
    }
}

/// The start of a segment's file, written together with its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) entry: Entry,
    /// The number of its first record.
    pub(crate) first: u64,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// The checksum of the record before its first one. 0 if there is none, and in segments of format 2.
    pub(crate) previous: u64,
}

pub(crate) fn file_name(number: u64) -> String {
    format!("{number:08}{SUFFIX}")
}

pub(crate) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(file_name(number))
}

/// The number of a segment, from the name of its file.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

impl SegmentHeader {
    pub(crate) fn encode(&self, store: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&store.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.entry.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.entry.bytes.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.time.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.previous.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[..56], store);
        bytes[56..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], store: u64) -> Option<SegmentHeader> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        if bytes[..8] != MAGIC || number(&bytes[56..]) != xxh3_64_with_seed(&bytes[..56], store) {
            return None;
        }
        let entry = Entry { number: number(&bytes[16..24]), bytes: number(&bytes[32..40]) };
        let (first, time, previous) =
            (number(&bytes[24..32]), number(&bytes[40..48]), number(&bytes[48..56]));
        Some(SegmentHeader { entry, first, time, previous })
    }
}

/// Creates the file of a segment, with room for all its records. Writing zeros takes time now, but then
/// later syncs write no metadata of the file system: the blocks are already allocated and written.
pub(crate) fn prepare(
    fs: &dyn FileSystem,
    folder: &Path,
    entry: Entry,
    zeros: bool,
) -> io::Result<Arc<dyn File>> {
    debug_assert!(entry.number > 0 && entry.bytes > HEADER_BYTES as u64, "a segment has room for records");
    let path = path(folder, entry.number);
    let prepared = fs.create(&path).and_then(|file| {
        file.allocate(entry.bytes)?;
        if zeros {
            write_zeros(&*file, 0, entry.bytes)?;
        }
        file.sync()?;
        fs.sync_folder(folder)?;
        Ok(file)
    });
    if prepared.is_err() {
        // Frees what was allocated, in case the disk is full.
        let _ = fs.remove(&path);
    }
    prepared
}
