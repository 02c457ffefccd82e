//! Where a row lives: (space, partition, sort), never one flat string.

use std::ops::Bound;

/// A table or an index. Numbers are handed out by the catalog and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u64);

/// The hash of a partition key. 24 bytes of a cryptographic hash: finding two keys that collide
/// takes about 2^96 tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub [u8; Partition::LENGTH]);

impl Partition {
    pub const LENGTH: usize = 24;
    pub const FIRST: Partition = Partition([0; Partition::LENGTH]);
    pub const LAST: Partition = Partition([0xff; Partition::LENGTH]);
}

/// A place inside a space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub partition: Partition,
    pub sort: Vec<u8>,
}

/// The full address of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub space: Space,
    pub position: Position,
}

/// A row's place as a scan shows it, borrowed from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    pub partition: &'a Partition,
    pub sort: &'a [u8],
}

/// A run of rows of one space, ordered by (partition, sort).
#[derive(Clone, Debug)]
pub struct Range {
    pub space: Space,
    pub start: Bound<Position>,
    pub end: Bound<Position>,
}

impl Range {
    /// All rows of a space.
    pub fn all(space: Space) -> Self {
        Range { space, start: Bound::Unbounded, end: Bound::Unbounded }
    }

    /// Whether the bounds leave room for no row at all, as when the start is behind the end.
    /// Ordered maps and engines treat such bounds differently, some by panicking: a store asks first.
    pub fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (
                Bound::Included(start) | Bound::Excluded(start),
                Bound::Included(end) | Bound::Excluded(end),
            ) => start >= end,
        }
    }
}
