//! The address of a row: (space, partition, sort), never one flat string.

use std::ops::Bound;

/// A table or an index. Numbers are handed out by the catalog and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u64);

/// The hash of a partition key. 24 bytes of a cryptographic hash: finding two keys that collide
/// takes about 2^96 tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub [u8; Partition::LENGTH]);

impl Partition {
    /// The number of bytes.
    pub const LENGTH: usize = 24;
    /// The first partition in order.
    pub const FIRST: Partition = Partition([0; Partition::LENGTH]);
    /// The last partition in order.
    pub const LAST: Partition = Partition([0xff; Partition::LENGTH]);
}

/// The address of a row inside its space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub partition: Partition,
    /// Ordered as bytes.
    pub sort: Vec<u8>,
}

/// The full address of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub space: Space,
    pub position: Position,
}

/// The position of a row that a scan visits, borrowed from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    pub partition: &'a Partition,
    pub sort: &'a [u8],
}

impl KeyRef<'_> {
    /// An owned copy.
    pub fn to_position(self) -> Position {
        Position { partition: *self.partition, sort: self.sort.to_vec() }
    }
}

/// The rows of one space between two positions, ordered by (partition, sort).
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

    /// Whether no row can be between the bounds, as when the start is after the end. Ordered maps
    /// treat such bounds differently, some by panicking: a store asks first.
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
