//! The version of an item: when and where it was last written. Of two versions, the greater one wins everywhere.
//!
//! In a table of a global table, every item has a row with its version beside it, a companion of the item. The row
//! of a deleted item stays as a tombstone, so that an older write that arrives later does not bring the item back.
//! Items that were there when the table became global have no row until they are written; their version is the
//! group's base.
//!
//! The row: `deleted 1 | time 8 | recorded 8 | region …`, numbers little-endian.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use store::{Key, Position, Space, StoreError};

use crate::base::table::Table;

/// When and where an item was written. Ordered by time, then by the name of the Region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// Microseconds since 1970 by the clock of the Region; later than the version that was overwritten there.
    pub time_us: u64,
    pub region: String,
}

/// A version as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub version: Version,
    /// Whether it is the version of a deletion.
    pub is_deleted: bool,
    /// When it was stored here, by the clock of the change log.
    pub recorded_us: u64,
}

const HEAD: usize = 1 + 8 + 8;

impl Stamp {
    /// The row.
    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEAD + self.version.region.len());
        bytes.put_u8(u8::from(self.is_deleted));
        bytes.put_u64_le(self.version.time_us);
        bytes.put_u64_le(self.recorded_us);
        bytes.put_slice(self.version.region.as_bytes());
        bytes.freeze()
    }

    /// Reads a row.
    pub fn decode(mut row: &[u8]) -> Result<Stamp, StoreError> {
        let corrupt = || StoreError::Corrupt("the version of an item can't be read".to_owned());
        if row.len() <= HEAD || row[0] > 1 {
            return Err(corrupt());
        }
        let is_deleted = row.get_u8() == 1;
        let (time_us, recorded_us) = (row.get_u64_le(), row.get_u64_le());
        let region = std::str::from_utf8(row).map_err(|_| corrupt())?.to_owned();
        Ok(Stamp { version: Version { time_us, region }, is_deleted, recorded_us })
    }
}

/// The row with the version of the item at this position.
pub fn key(versions: Space, position: &Position) -> Key {
    Key { space: versions, position: position.clone() }
}

/// The version of an item without a row.
pub fn base(table: &Table) -> Option<Version> {
    table.membership.as_ref().map(|membership| membership.base.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(time_us: u64, region: &str) -> Version {
        Version { time_us, region: region.into() }
    }

    #[test]
    fn the_later_version_is_greater_and_regions_decide_between_equal_times() {
        assert!(version(2, "a") > version(1, "b"));
        assert!(version(1, "b") > version(1, "a"));
    }

    #[test]
    fn a_row_says_what_was_stored_and_a_piece_of_it_is_an_error() {
        let stamp = Stamp { version: version(7, "eu-west-1"), is_deleted: true, recorded_us: 9 };
        let row = stamp.encode();
        assert_eq!(Stamp::decode(&row).expect("a row can be read"), stamp);
        for length in 0..=HEAD {
            Stamp::decode(&row[..length]).expect_err("a piece of a row is none");
        }
    }
}
