//! Reading the log back: opening, `verify` and `repair` all use this file.
//!
//! The rule, in the words of `docs/store-format.md`:
//! - The log is its segments in the order of the manifest. Records are numbered without a gap.
//! - It ends at the first offset that has no whole record with the next number. The bytes from there on
//!   are a *torn tail* if neither a later whole record nor the mark says that the log was durable beyond
//!   that offset. Otherwise they are *damage*.
//! - A segment whose first record was never completed counts as unused. Only the last segment that
//!   holds a record may have a torn tail.

use std::fmt;
use std::io;
use std::path::Path;

use super::mark;
use super::record::{self, ALIGNMENT, LogPoint, Row};
use super::segment::{self, Entry, HEADER_BYTES};
use crate::vfs::FileSystem;

/// Why a log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogDamage {
    /// The name of the file, below the folder of the log.
    pub(crate) file: String,
    pub(crate) what: String,
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

#[derive(Debug)]
pub(crate) enum ReadError {
    Damage(LogDamage),
    Io(io::Error),
}

/// A record that was never completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TornTail {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    /// From there up to the last byte that is not zero.
    pub(crate) bytes: Vec<u8>,
}

/// Where a log ends, and what its segments hold.
#[derive(Debug, Default)]
pub(crate) struct LogEnd {
    /// The segment and the offset where the next record goes, unless no segment holds a record yet.
    pub(crate) segment: Option<(Entry, u64)>,
    /// The last record, if there is one.
    pub(crate) last: LogPoint,
    /// When it was written.
    pub(crate) time: u64,
    pub(crate) records: u64,
    /// In the last segment that holds a record, or in one whose first record was never completed.
    pub(crate) torn: Vec<TornTail>,
    /// The segments with the last sequence number in or before each.
    pub(crate) sequences: Vec<(u64, u64)>,
    /// Whether the log has exactly the record that the manifest names.
    pub(crate) has_named_record: bool,
}

/// Called with the sequence number and the rows of each commit.
pub(crate) type VisitCommit<'a> = dyn FnMut(u64, Vec<Row>) + 'a;

/// Reads the whole log and calls `visit` for each commit, in order. Changes nothing. `named` is the
/// record that the manifest names.
pub(crate) fn read_log(
    fs: &dyn FileSystem,
    folder: &Path,
    store: u64,
    segments: &[Entry],
    named: LogPoint,
    visit: &mut VisitCommit<'_>,
) -> Result<LogEnd, ReadError> {
    let durable = read_mark(fs, folder, store)?;
    let mut end = LogEnd::default();
    let mut sequence = 0;
    // The segment with the end of the log, while none after it holds a record.
    let mut open: Option<(Entry, Scan)> = None;
    let mut unused = None;
    for &entry in segments {
        let bytes = read_file(fs, folder, &segment::file_name(entry.number))?;
        let expected = open.as_ref().map(|(_, scan)| scan.next);
        let mut commits = |number, rows: Vec<Row>| {
            sequence = number;
            visit(number, rows);
        };
        let Some(scan) = Scan::of(&bytes, entry, store, expected, named.record, &mut commits)? else {
            unused.get_or_insert(entry);
            end.torn.extend(torn_start(&bytes, entry));
            continue;
        };
        let last = end.last.checksum;
        if scan.previous != 0 && last != 0 && scan.previous != last {
            let what = "does not follow the segment before: they are of different moments or stores";
            return Err(damage(entry.number, what));
        }
        if let Some(unused) = unused {
            return Err(damage(unused.number, "is empty, but later segments are not"));
        }
        end.records += scan.next - scan.first;
        end.has_named_record |= scan.named_checksum == Some(named.checksum);
        if scan.next > scan.first {
            end.last.checksum = scan.checksum;
        }
        end.sequences.push((entry.number, sequence));
        open = Some((entry, scan));
    }
    let Some((entry, scan)) = open else {
        if durable > 0 {
            let what = format!("has no record, but the log was durable up to record {durable}");
            return Err(damage(segments.first().map_or(0, |first| first.number), &what));
        }
        return Ok(end);
    };
    let last = scan.next - 1;
    if last < durable {
        let what = format!(
            "record {} at byte {} cannot be read, and the log was durable up to record {durable}",
            scan.next, scan.end
        );
        return Err(damage(entry.number, &what));
    }
    end.torn.extend(scan.torn_tail(entry)?);
    end.segment = Some((entry, scan.end as u64));
    (end.last.record, end.time) = (last, scan.time);
    debug_assert!(last >= durable, "the log is whole up to the mark");
    debug_assert!(
        end.torn.iter().all(|torn| torn.segment >= entry.number),
        "only the last segments are torn"
    );
    Ok(end)
}

/// The bytes of a first record that was never completed.
fn torn_start(bytes: &[u8], entry: Entry) -> Option<TornTail> {
    let length = bytes.iter().rposition(|byte| *byte != 0)? + 1;
    Some(TornTail { segment: entry.number, offset: 0, bytes: bytes[..length].to_vec() })
}

fn damage(segment: u64, what: &str) -> ReadError {
    ReadError::Damage(LogDamage { file: segment::file_name(segment), what: what.to_owned() })
}

fn read_mark(fs: &dyn FileSystem, folder: &Path, store: u64) -> Result<u64, ReadError> {
    let bytes = read_file(fs, folder, mark::FILE_NAME)?;
    mark::read(&bytes, store).ok_or_else(|| {
        let what = "does not say up to where the log was durable".to_owned();
        ReadError::Damage(LogDamage { file: mark::FILE_NAME.to_owned(), what })
    })
}

fn read_file(fs: &dyn FileSystem, folder: &Path, name: &str) -> Result<Vec<u8>, ReadError> {
    let read = fs.open_to_read(&folder.join(name)).and_then(|file| file.read_all());
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            ReadError::Damage(LogDamage { file: name.to_owned(), what: "is missing".to_owned() })
        }
        _ => ReadError::Io(error),
    })
}

/// What one segment holds.
struct Scan {
    first: u64,
    /// The number of the record that would come next.
    next: u64,
    /// The offset at which it would begin.
    end: usize,
    time: u64,
    /// The checksum of the record before the first one, as the segment's header says it.
    previous: u64,
    /// The checksum of the last record.
    checksum: u64,
    /// The checksum of the record that the manifest names, if it is here.
    named_checksum: Option<u64>,
    /// Whole records behind the end.
    behind: Vec<record::RecordHeader>,
    /// From the end to the last byte that is not zero.
    tail: Vec<u8>,
}

impl Scan {
    /// `None` if the segment was prepared and never used.
    fn of(
        bytes: &[u8],
        entry: Entry,
        store: u64,
        expected: Option<u64>,
        named: u64,
        visit: &mut VisitCommit<'_>,
    ) -> Result<Option<Scan>, ReadError> {
        if bytes.len() as u64 != entry.bytes {
            let what = format!("has {} bytes instead of {}", bytes.len(), entry.bytes);
            return Err(damage(entry.number, &what));
        }
        let Some(header) = segment::SegmentHeader::decode(bytes, store) else {
            // One write has both the header and the first record, so a crash may have torn it.
            let records = whole_records(bytes, store);
            let first = records.iter().map(|record| record.number).min().unwrap_or(0);
            let first = expected.map_or(first, |expected| expected.min(first));
            return match records.iter().any(|record| record.durable >= first) {
                false => Ok(None),
                true => Err(damage(entry.number, "its header is damaged")),
            };
        };
        if header.entry != entry {
            let found = header.entry.number;
            return Err(damage(entry.number, &format!("is segment {found} under another name")));
        }
        if let Some(expected) = expected
            && expected != header.first
        {
            let what = format!(
                "begins with record {}, but the one before ends before record {expected}",
                header.first
            );
            return Err(damage(entry.number, &what));
        }
        let (mut next, mut position, mut time) = (header.first, HEADER_BYTES, header.time);
        let (mut checksum, mut named_checksum) = (0, None);
        while let Some((head, body, length)) = record::read(&bytes[position..], store)
            && (head.segment, head.number) == (entry.number, next)
        {
            let commits = record::decode_commits(body)
                .ok_or_else(|| damage(entry.number, &format!("record {next} holds no list of commits")))?;
            commits.into_iter().for_each(|(sequence, rows)| visit(sequence, rows));
            checksum = record::body_checksum(&bytes[position..]);
            if next == named {
                named_checksum = Some(checksum);
            }
            (next, position, time) = (next + 1, position + length, head.time);
        }
        let rest = &bytes[position..];
        let tail_bytes = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let (tail, behind) = (rest[..tail_bytes].to_vec(), whole_records(rest, store));
        let (first, previous, end) = (header.first, header.previous, position);
        Ok(Some(Scan { first, next, end, time, previous, checksum, named_checksum, behind, tail }))
    }

    /// What follows the end: nothing, a torn tail, or damage.
    fn torn_tail(&self, entry: Entry) -> Result<Option<TornTail>, ReadError> {
        if self.tail.is_empty() {
            return Ok(None);
        }
        let proof =
            self.behind.iter().find(|header| header.durable >= self.next || header.number < self.next);
        if let Some(proof) = proof {
            let what = format!(
                "record {} at byte {} cannot be read, but record {} follows it",
                self.next, self.end, proof.number
            );
            return Err(damage(entry.number, &what));
        }
        let tail = TornTail { segment: entry.number, offset: self.end as u64, bytes: self.tail.clone() };
        Ok(Some(tail))
    }
}

/// The headers of all whole records in `bytes`, at any offset.
fn whole_records(bytes: &[u8], store: u64) -> Vec<record::RecordHeader> {
    each_whole_record(bytes, store).map(|record| record.header).collect()
}

/// A record whose checksums are right.
pub(crate) struct WholeRecord<'a> {
    pub(crate) place: usize,
    pub(crate) header: record::RecordHeader,
    pub(crate) body: &'a [u8],
}

/// Every whole record in `bytes`, at any offset: `repair` saves what it can.
pub(crate) fn each_whole_record(bytes: &[u8], store: u64) -> impl Iterator<Item = WholeRecord<'_>> {
    let places = memchr::memmem::find_iter(bytes, &record::MAGIC);
    // Both whole segments and their tails begin at a multiple of the alignment.
    places.filter(|place| place.is_multiple_of(ALIGNMENT)).filter_map(move |place| {
        let (header, body, _) = record::read(&bytes[place..], store)?;
        Some(WholeRecord { place, header, body })
    })
}
