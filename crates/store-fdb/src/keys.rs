//! Where everything is among FoundationDB's keys, which are ordered as bytes.
//!
//! Every key begins with the name of the database and a zero byte, so that several databases share a cluster. The next
//! byte says what the key is of:
//!
//! | byte | rest of the key | value |
//! |---|---|---|
//! | `f` | – | the format of all this |
//! | `r` | space, partition, sort bytes | a row ([`value`](crate::value)) |
//! | `l` | log, position | a record |
//! | `e` | log | the floor of the log: no later record is at or below it |
//! | `v` | log, position | nothing is stored: [`log`](crate::log) says which commits conflict here |
//! | `p` | `r`, space, partition, length of the sort bytes, sort bytes, generation, number | a piece of a large row |
//! | `p` | `l`, log, generation, number | a piece of a large record |
//! | `p` | `u`, snapshot, and as for `r` | a piece of a large row that a snapshot still shows |
//! | `s` | – | the snapshots that are open |
//! | `u` | snapshot, and then a key of `r` or `e` | what a snapshot shows there |
//! | `m` | member | the handle of a server that has joined |
//! | `c` | handle, slot | the mark of the last commit of a slot |
//! | `w` | space, partition, sort bytes | a claim: an update that has lost too often is next |
//!
//! Numbers are big-endian, so that they are in order.

use std::ops::Bound;

use store::{Key, Log, LogPosition, Member, Partition, Position, Range, Space, StoreError};

/// The longest sort bytes of a row. FoundationDB's keys have at most 10,000 bytes.
pub const SORT_LENGTH_MAX: usize = 8_192;
/// The longest name of a database.
pub const NAME_LENGTH_MAX: usize = 255;

const NUMBER: usize = size_of::<u64>();

/// Makes the keys of one database.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: Vec<u8>,
}

/// A name that no other write has: the pieces of one value carry it. Pieces may be written before the commit that uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// For a record, a time that is not after its position, so that trimming finds what is left of old ones.
    pub time_us: u64,
    pub handle: u64,
    pub serial: u64,
}

impl Generation {
    /// The number of bytes.
    pub const LENGTH: usize = 3 * NUMBER;

    /// In order of time.
    pub fn encode(self) -> [u8; Generation::LENGTH] {
        let mut bytes = [0; Generation::LENGTH];
        for (part, number) in bytes.chunks_exact_mut(NUMBER).zip([self.time_us, self.handle, self.serial]) {
            part.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// What [`encode`](Generation::encode) made.
    pub fn decode(bytes: &[u8; Generation::LENGTH]) -> Generation {
        let [time_us, handle, serial] = std::array::from_fn(|index| {
            u64::from_be_bytes(std::array::from_fn(|byte| bytes[index * NUMBER + byte]))
        });
        Generation { time_us, handle, serial }
    }
}

/// A range of keys: the first one, and the one after the last.
pub type KeyRange = (Vec<u8>, Vec<u8>);

impl Keys {
    /// The keys of the database with this name.
    pub fn new(name: &str) -> Result<Keys, StoreError> {
        let is_fine = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && !name.contains('\0');
        if !is_fine {
            let rule = format!("1 to {NAME_LENGTH_MAX} bytes, none of them zero");
            return Err(StoreError::Format(format!("the name of a database on FoundationDB has {rule}")));
        }
        Ok(Keys { prefix: [name.as_bytes(), &[0]].concat() })
    }

    fn key(&self, parts: &[&[u8]]) -> Vec<u8> {
        let length = self.prefix.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut key = Vec::with_capacity(length + 1);
        key.extend_from_slice(&self.prefix);
        parts.iter().for_each(|part| key.extend_from_slice(part));
        key
    }

    /// The format.
    pub fn format(&self) -> Vec<u8> {
        self.key(&[b"f"])
    }

    /// A row.
    pub fn row(&self, key: &Key) -> Vec<u8> {
        self.row_at(key.space, &key.position)
    }

    fn row_at(&self, space: Space, position: &Position) -> Vec<u8> {
        self.key(&[b"r", &space.0.to_be_bytes(), &position.partition.0, &position.sort])
    }

    /// The rows of a range.
    pub fn rows(&self, range: &Range) -> KeyRange {
        let (first, last) = self.under(b"r", range.space.0);
        let start = match &range.start {
            Bound::Unbounded => first,
            Bound::Included(position) => self.row_at(range.space, position),
            Bound::Excluded(position) => after(self.row_at(range.space, position)),
        };
        let end = match &range.end {
            Bound::Unbounded => last,
            Bound::Included(position) => after(self.row_at(range.space, position)),
            Bound::Excluded(position) => self.row_at(range.space, position),
        };
        (start, end)
    }

    /// The partition and the sort bytes of a row's key.
    pub fn position_of<'a>(&self, key: &'a [u8]) -> Option<(Partition, &'a [u8])> {
        let rest = key.strip_prefix(&self.prefix[..])?.strip_prefix(b"r")?.get(NUMBER..)?;
        let (partition, sort) = rest.split_first_chunk::<{ Partition::LENGTH }>()?;
        Some((Partition(*partition), sort))
    }

    /// All rows of a space, and the pieces of large ones.
    pub fn space(&self, space: Space) -> [KeyRange; 2] {
        [self.under(b"r", space.0), self.under(b"pr", space.0)]
    }

    /// The pieces of a row, of whatever generation. `row` is its key.
    pub fn pieces_of_row(&self, row: &[u8]) -> Vec<u8> {
        self.pieces(&[], &row[self.prefix.len()..])
    }

    /// The pieces of what a snapshot shows in the place of a row.
    pub fn pieces_of_kept(&self, snapshot: u64, row: &[u8]) -> Vec<u8> {
        let snapshot = [b"u", &snapshot.to_be_bytes()[..]].concat();
        self.pieces(&snapshot, &row[self.prefix.len()..])
    }

    /// The length comes before the sort bytes, so that no row's pieces are between those of another.
    fn pieces(&self, before: &[u8], row: &[u8]) -> Vec<u8> {
        let (fixed, sort) = row.split_at((1 + NUMBER + Partition::LENGTH).min(row.len()));
        let length = u16::try_from(sort.len()).unwrap_or(u16::MAX);
        self.key(&[b"p", before, fixed, &length.to_be_bytes(), sort])
    }

    /// The pieces of records of a log.
    pub fn pieces_of_log(&self, log: Log) -> Vec<u8> {
        self.key(&[b"pl", &log.0.to_be_bytes()])
    }

    /// A record.
    pub fn record(&self, log: Log, position: LogPosition) -> Vec<u8> {
        self.key(&[b"l", &log.0.to_be_bytes(), &position.0.to_be_bytes()])
    }

    /// The records of a log after a position, up to and including another.
    pub fn records(&self, log: Log, after_position: LogPosition, through: LogPosition) -> KeyRange {
        (after(self.record(log, after_position)), after(self.record(log, through)))
    }

    /// All records of a log.
    pub fn log(&self, log: Log) -> KeyRange {
        self.under(b"l", log.0)
    }

    /// The records of a log at one time.
    pub fn moment(&self, log: Log, time_us: u64) -> KeyRange {
        (
            self.record(log, LogPosition::new(time_us, 0)),
            after(self.record(log, LogPosition::through(time_us))),
        )
    }

    /// The position of a record's key.
    pub fn position_of_record(&self, key: &[u8]) -> Option<LogPosition> {
        let rest = key.strip_prefix(&self.prefix[..])?.strip_prefix(b"l")?.get(NUMBER..)?;
        Some(LogPosition(u64::from_be_bytes(rest.try_into().ok()?)))
    }

    /// The floor of a log.
    pub fn floor(&self, log: Log) -> Vec<u8> {
        self.key(&[b"e", &log.0.to_be_bytes()])
    }

    /// Where a commit that closes a log through a position conflicts.
    pub fn closing(&self, log: Log, through: LogPosition) -> KeyRange {
        let key = self.key(&[b"v", &log.0.to_be_bytes(), &through.0.to_be_bytes()]);
        (key.clone(), after(key))
    }

    /// Where a commit that appends from a position on conflicts.
    pub fn closings_from(&self, log: Log, position: LogPosition) -> KeyRange {
        let from = self.key(&[b"v", &log.0.to_be_bytes(), &position.0.to_be_bytes()]);
        (from, self.under(b"v", log.0).1)
    }

    /// The snapshots that are open.
    pub fn snapshots(&self) -> Vec<u8> {
        self.key(&[b"s"])
    }

    /// What a snapshot shows in the place of a key.
    pub fn kept(&self, snapshot: u64, key: &[u8]) -> Vec<u8> {
        self.key(&[b"u", &snapshot.to_be_bytes(), &key[self.prefix.len()..]])
    }

    /// The key in whose place a snapshot shows something else.
    pub fn of_kept(&self, kept: &[u8]) -> Option<Vec<u8>> {
        let rest = kept.strip_prefix(&self.prefix[..])?.strip_prefix(b"u")?.get(NUMBER..)?;
        Some(self.key(&[rest]))
    }

    /// All that is kept for a snapshot.
    pub fn snapshot(&self, snapshot: u64) -> [KeyRange; 2] {
        [self.under(b"u", snapshot), self.under(b"pu", snapshot)]
    }

    /// A member.
    pub fn member(&self, member: Member) -> Vec<u8> {
        self.key(&[b"m", &member.0.to_be_bytes()])
    }

    /// The mark of a slot.
    pub fn mark(&self, handle: u64, slot: u32) -> Vec<u8> {
        self.key(&[b"c", &handle.to_be_bytes(), &slot.to_be_bytes()])
    }

    /// The marks of a handle.
    pub fn marks(&self, handle: u64) -> KeyRange {
        self.under(b"c", handle)
    }

    /// The claim on a row.
    pub fn claim(&self, row: &[u8]) -> Vec<u8> {
        self.key(&[b"w", &row[self.prefix.len() + 1..]])
    }

    /// All keys of a kind and a number.
    fn under(&self, kind: &[u8], number: u64) -> KeyRange {
        let first = self.key(&[kind, &number.to_be_bytes()]);
        let end = next(first.clone());
        (first, end)
    }
}

/// The next key in order.
pub fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// The first key that is after all keys that begin so. The name of a database does not end the space of keys, so there
/// always is one.
pub fn next(mut begin: Vec<u8>) -> Vec<u8> {
    while begin.last() == Some(&0xff) {
        begin.pop();
    }
    if let Some(last) = begin.last_mut() {
        *last += 1;
    }
    begin
}

/// A piece of a generation.
pub fn piece(pieces: &[u8], generation: Generation, number: u16) -> Vec<u8> {
    [pieces, &generation.encode(), &number.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::*;

    fn keys() -> Keys {
        Keys::new("lodestone").unwrap()
    }

    fn position() -> impl Strategy<Value = Position> {
        let bytes = || prop_oneof![Just(0_u8), Just(1), Just(0xfe), Just(0xff), any::<u8>()];
        let partition = proptest::collection::vec(bytes(), Partition::LENGTH)
            .prop_map(|bytes| Partition(bytes.try_into().expect("as many bytes as a partition has")));
        let sort = proptest::collection::vec(bytes(), 0..6);
        (partition, sort).prop_map(|(partition, sort)| Position { partition, sort })
    }

    fn row() -> impl Strategy<Value = Key> {
        let space = prop_oneof![0..3_u64, Just(u64::MAX), Just(255), Just(256)];
        (space, position()).prop_map(|(space, position)| Key { space: Space(space), position })
    }

    fn contains(range: &KeyRange, key: &[u8]) -> bool {
        &range.0[..] <= key && key < &range.1[..]
    }

    proptest! {
        #[test]
        fn keys_of_rows_are_in_the_order_of_the_rows(one in row(), other in row()) {
            let keys = keys();
            prop_assert_eq!(keys.row(&one).cmp(&keys.row(&other)), one.cmp(&other));
            let row = keys.row(&one);
            let (partition, sort) = keys.position_of(&row).unwrap();
            prop_assert_eq!(Position { partition, sort: sort.to_vec() }, one.position);
        }

        #[test]
        fn a_range_holds_the_keys_of_exactly_its_rows(
            space in prop_oneof![0..3_u64, Just(u64::MAX)],
            bounds in (position(), position()),
            kinds in (0..3_u8, 0..3_u8),
            row in row(),
        ) {
            let bound = |kind, position| match kind {
                0 => Bound::Unbounded,
                1 => Bound::Included(position),
                _ => Bound::Excluded(position),
            };
            let range = Range {
                space: Space(space),
                start: bound(kinds.0, bounds.0),
                end: bound(kinds.1, bounds.1),
            };
            let bounds = (range.start.as_ref(), range.end.as_ref());
            let is_inside =
                !range.is_empty() && row.space == range.space && bounds.contains(&row.position);
            let found = contains(&keys().rows(&range), &keys().row(&row));
            prop_assert_eq!(found && !range.is_empty(), is_inside);
        }

        #[test]
        fn pieces_of_different_rows_are_apart(one in row(), other in row(), serial: u64) {
            let keys = keys();
            let generation = Generation { time_us: 0, handle: 1, serial };
            let own = piece(&keys.pieces_of_row(&keys.row(&one)), generation, 3);
            let others = keys.pieces_of_row(&keys.row(&other));
            prop_assert_eq!(contains(&(others.clone(), next(others)), &own), one == other);
            prop_assert_eq!(contains(&keys.space(other.space)[1], &own), one.space == other.space);
        }

        #[test]
        fn positions_of_a_log_are_in_order_and_apart_from_other_logs(one: u64, other: u64, log: u64) {
            let keys = keys();
            let record = |at| keys.record(Log(log), LogPosition(at));
            prop_assert_eq!(record(one).cmp(&record(other)), one.cmp(&other));
            prop_assert_eq!(keys.position_of_record(&record(one)), Some(LogPosition(one)));
            let range = keys.records(Log(log), LogPosition(one), LogPosition(other));
            prop_assert!(!contains(&range, &record(one)));
            prop_assert_eq!(contains(&range, &record(other)), one < other);
            prop_assert!(contains(&keys.log(Log(log)), &record(one)));
            prop_assert!(!contains(&keys.log(Log(log.wrapping_add(1))), &record(one)));
        }

        #[test]
        fn a_closing_conflicts_with_exactly_the_appends_that_it_is_not_before(closed: u64, appended: u64) {
            let keys = keys();
            let closing = keys.closing(Log(3), LogPosition(closed));
            let found = contains(&keys.closings_from(Log(3), LogPosition(appended)), &closing.0);
            prop_assert_eq!(found, appended <= closed);
            prop_assert!(!contains(&keys.closings_from(Log(2), LogPosition(appended)), &closing.0));
        }

        #[test]
        fn what_a_snapshot_keeps_names_its_key_and_is_in_the_same_order(one in row(), other in row(), id: u64) {
            let keys = keys();
            let kept = |row| keys.kept(id, &keys.row(row));
            prop_assert_eq!(keys.of_kept(&kept(&one)), Some(keys.row(&one)));
            prop_assert_eq!(kept(&one).cmp(&kept(&other)), one.cmp(&other));
            let [all, pieces] = keys.snapshot(id);
            prop_assert!(contains(&all, &kept(&one)));
            prop_assert!(contains(&pieces, &keys.pieces_of_kept(id, &keys.row(&one))));
        }
    }

    #[test]
    fn the_order_of_generations_is_that_of_their_times() {
        let generation = |time_us| Generation { time_us, handle: 9, serial: 7 };
        assert!(generation(1).encode() < generation(256).encode());
        assert_eq!(Generation::decode(&generation(256).encode()), generation(256));
    }

    #[test]
    fn databases_whose_names_begin_alike_are_apart() {
        let [short, long] = ["app", "app2"].map(|name| Keys::new(name).unwrap());
        let all = short.prefix.clone();
        assert!(!contains(&(all.clone(), next(all)), &long.format()));
    }

    #[test]
    fn a_name_that_could_not_be_told_apart_is_refused() {
        for name in ["", "a\0b", &"x".repeat(256)] {
            assert!(matches!(Keys::new(name), Err(StoreError::Format(_))), "{name:?}");
        }
    }
}
