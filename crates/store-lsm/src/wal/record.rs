//! One record of the log: what one group of commits changes. `docs/store-format.md` draws the bytes.
//!
//! The header has a checksum of its own, so that a length can be trusted before the body is read. Its
//! seed is the number of the store: a record of another folder is no record here.

use lsm_tree::Slice;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) const MAGIC: [u8; 4] = *b"LWR1";
pub(crate) const HEADER_BYTES: usize = 56;
/// Records begin at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

const PUT: u8 = 1;
const DELETE: u8 = 2;
/// Sequence number and count of rows.
const COMMIT_BYTES: usize = 12;
/// Kind, and the lengths of key and value.
const ROW_BYTES: usize = 7;

/// What a commit does to one row: a new value, or none.
pub(crate) type Row = (Slice, Option<Slice>);

/// Commits with their sequence numbers, in their order.
pub(crate) type Commits = Vec<(u64, Vec<Row>)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    /// Without the zeros behind it.
    pub(crate) body_bytes: u32,
    pub(crate) segment: u64,
    /// Records are numbered from 1, without a gap, over all segments.
    pub(crate) number: u64,
    /// The last record that was durable when this one was written.
    pub(crate) durable: u64,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
}

/// A record, told apart from every other one of its number: stores that were copied and then written to
/// have the same id and the same numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPoint {
    /// 0 if there is no record yet.
    pub(crate) record: u64,
    /// The checksum of its body, which depends on its header and the store's id. 0 if the record was
    /// removed with its segment before the next one was complete, as format 2 could leave a log.
    pub(crate) checksum: u64,
}

impl LogPoint {
    /// The later one of two, of those that name a record.
    pub(crate) fn later(self, other: LogPoint) -> LogPoint {
        if other.checksum != 0 && other.record > self.record { other } else { self }
    }
}

/// How many bytes a record with such a body takes.
pub(crate) fn record_bytes(body_bytes: usize) -> usize {
    HEADER_BYTES + body_bytes.next_multiple_of(ALIGNMENT)
}

/// How many bytes of a body a commit takes.
pub(crate) fn commit_bytes(rows: &[Row]) -> usize {
    let row = |(key, value): &Row| ROW_BYTES + key.len() + value.as_ref().map_or(0, |value| value.len());
    COMMIT_BYTES + rows.iter().map(row).sum::<usize>()
}

/// Appends a commit to the body of a record.
pub(crate) fn encode_commit(body: &mut Vec<u8>, sequence: u64, rows: &[Row]) {
    assert!(u32::try_from(rows.len()).is_ok(), "a commit of {} rows", rows.len());
    body.extend_from_slice(&sequence.to_le_bytes());
    body.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    for (key, value) in rows {
        body.push(if value.is_some() { PUT } else { DELETE });
        body.extend_from_slice(&(key.len() as u16).to_le_bytes());
        let value = value.as_deref().unwrap_or_default();
        // Rows that are too long were refused. Lengths that are cut off would garble the whole record.
        assert!(u16::try_from(key.len()).is_ok() && u32::try_from(value.len()).is_ok(), "a row is too long");
        body.extend_from_slice(&(value.len() as u32).to_le_bytes());
        body.extend_from_slice(key);
        body.extend_from_slice(value);
    }
}

/// Turns `buffer`, which has [`HEADER_BYTES`] of room and then the body, into a record.
pub(crate) fn finish(buffer: &mut Vec<u8>, store: u64, mut header: RecordHeader) -> LogPoint {
    assert!(header.durable < header.number, "a record is not durable before it is written");
    assert!(u32::try_from(buffer.len()).is_ok(), "a record of {} bytes", buffer.len());
    header.body_bytes = (buffer.len() - HEADER_BYTES) as u32;
    buffer.resize(record_bytes(header.body_bytes as usize), 0);
    let (head, body) = buffer.split_at_mut(HEADER_BYTES);
    head[..4].copy_from_slice(&MAGIC);
    head[4..8].copy_from_slice(&header.body_bytes.to_le_bytes());
    head[8..16].copy_from_slice(&header.segment.to_le_bytes());
    head[16..24].copy_from_slice(&header.number.to_le_bytes());
    head[24..32].copy_from_slice(&header.durable.to_le_bytes());
    head[32..40].copy_from_slice(&header.time.to_le_bytes());
    let header_checksum = xxh3_64_with_seed(&head[..40], store);
    head[40..48].copy_from_slice(&header_checksum.to_le_bytes());
    let checksum = xxh3_64_with_seed(body, header_checksum);
    head[48..].copy_from_slice(&checksum.to_le_bytes());
    LogPoint { record: header.number, checksum }
}

/// The header at the start of `bytes`, if it is whole and of this store.
pub(crate) fn read_header(bytes: &[u8], store: u64) -> Option<RecordHeader> {
    let head: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
    if head[..4] != MAGIC || number(&head[40..48]) != xxh3_64_with_seed(&head[..40], store) {
        return None;
    }
    Some(RecordHeader {
        body_bytes: u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
        segment: number(&head[8..16]),
        number: number(&head[16..24]),
        durable: number(&head[24..32]),
        time: number(&head[32..40]),
    })
}

/// The record at the start of `bytes`, if header and body are whole: its header, body and length.
pub(crate) fn read(bytes: &[u8], store: u64) -> Option<(RecordHeader, &[u8], usize)> {
    let header = read_header(bytes, store)?;
    let length = record_bytes(header.body_bytes as usize);
    let body = bytes.get(HEADER_BYTES..length)?;
    if body_checksum(bytes) != xxh3_64_with_seed(body, number(&bytes[40..48])) {
        return None;
    }
    Some((header, &body[..header.body_bytes as usize], length))
}

/// The checksum of the body, as the header at the start of `bytes` says it.
pub(crate) fn body_checksum(bytes: &[u8]) -> u64 {
    bytes.get(48..56).map_or(0, number)
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The commits of a body, in their order. `None` if the body is no list of commits.
pub(crate) fn decode_commits(mut body: &[u8]) -> Option<Commits> {
    let mut commits = Vec::new();
    while !body.is_empty() {
        let sequence = u64::from_le_bytes(take(&mut body)?);
        let count = u32::from_le_bytes(take(&mut body)?);
        let mut rows = Vec::new();
        for _ in 0..count {
            let [kind] = take(&mut body)?;
            let key_bytes = u16::from_le_bytes(take(&mut body)?);
            let value_bytes = u32::from_le_bytes(take(&mut body)?);
            let key = split(&mut body, key_bytes.into())?;
            let value = split(&mut body, value_bytes as usize)?;
            rows.push(match kind {
                PUT => (key.into(), Some(value.into())),
                DELETE if value.is_empty() => (key.into(), None),
                _ => return None,
            });
        }
        commits.push((sequence, rows));
    }
    Some(commits)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: u64 = 77;

    fn sample() -> (Vec<u8>, RecordHeader, Commits) {
        let commits: Commits = vec![
            (5, vec![("key".into(), Some("value".into())), ("gone".into(), None)]),
            (7, vec![]),
            (9, vec![("empty".into(), Some(Slice::from(&b""[..])))]),
        ];
        let mut buffer = vec![0; HEADER_BYTES];
        let mut bytes = 0;
        for (sequence, rows) in &commits {
            encode_commit(&mut buffer, *sequence, rows);
            bytes += commit_bytes(rows);
        }
        assert_eq!(buffer.len() - HEADER_BYTES, bytes);
        let header = RecordHeader { body_bytes: bytes as u32, segment: 3, number: 12, durable: 11, time: 99 };
        finish(&mut buffer, STORE, header);
        assert_eq!(buffer.len(), record_bytes(bytes));
        (buffer, header, commits)
    }

    #[test]
    fn what_is_written_comes_back() {
        let (buffer, header, commits) = sample();
        let (read_header, body, length) = read(&buffer, STORE).expect("a record");
        assert_eq!((read_header, length), (header, buffer.len()));
        let read = decode_commits(body).expect("commits");
        assert_eq!(read, commits);
    }

    #[test]
    fn every_single_flipped_bit_and_every_cut_is_noticed() {
        let (buffer, _, _) = sample();
        for bit in 0..buffer.len() * 8 {
            let mut flipped = buffer.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped, STORE).is_none(), "bit {bit}");
        }
        for length in 0..buffer.len() {
            assert!(read(&buffer[..length], STORE).is_none(), "cut at {length}");
        }
    }

    #[test]
    fn a_record_of_another_store_is_none_of_ours() {
        let (buffer, _, _) = sample();
        assert!(read(&buffer, STORE + 1).is_none());
    }
}
