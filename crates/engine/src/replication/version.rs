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

use crate::Options;
use crate::table::Table;
use crate::write::companion::{Companion, Stop};
use crate::write::decide::{Draft, Refusal};
use crate::write::{Change, Plan};

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

/// The versions of the items that a commit changes, in tables that other Regions have, too.
pub struct Versions {
    /// One for each plan on such a table.
    keys: Vec<Key>,
    now_us: u64,
    /// The time in the Region of each of these plans.
    region_us: Vec<u64>,
}

impl Versions {
    /// None if no table of the plans is global.
    pub fn of(plans: &[Plan], options: &Options, now_us: impl FnOnce() -> u64) -> Option<Versions> {
        let of_plan = |plan: &Plan| {
            let versions = plan.table.membership.as_ref()?.versions();
            Some((key(versions, &plan.key.position), options.clock_offset_us(&plan.table.namespace.region)))
        };
        let (keys, offsets): (Vec<Key>, Vec<i64>) = plans.iter().filter_map(of_plan).unzip();
        if keys.is_empty() {
            return None;
        }
        let now_us = now_us();
        let region_us = offsets.into_iter().map(|offset| now_us.saturating_add_signed(offset)).collect();
        Some(Versions { keys, now_us, region_us })
    }
}

impl Companion for Versions {
    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn decide(&self, rows: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        let plans = draft.plans.iter().zip(&mut draft.results);
        let global = plans.filter(|(plan, _)| plan.table.membership.is_some());
        let own = self.keys.iter().zip(&self.region_us).zip(rows);
        for ((plan, result), ((key, region_us), row)) in global.zip(own) {
            let Ok(outcome) = result else { continue };
            let stored = row.as_deref().map(Stamp::decode).transpose().map_err(Stop::Unreadable)?;
            let current = match stored {
                Some(stamp) => Some(stamp.version),
                None => outcome.old.as_ref().and_then(|_| base(&plan.table)),
            };
            let version = match (&plan.version, current) {
                (Some(version), Some(current)) if *version <= current => {
                    *result = Err(Refusal::Outdated);
                    continue;
                }
                (Some(version), _) => version.clone(),
                (None, _) if matches!(plan.change, Change::Check { .. }) => continue,
                // A write that changes nothing is no version, as at DynamoDB.
                (None, _) if outcome.old == outcome.new => continue,
                (None, current) => Version {
                    time_us: current.map_or(0, |current| current.time_us + 1).max(*region_us),
                    region: plan.table.namespace.region.to_string(),
                },
            };
            let is_deleted = outcome.new.is_none();
            let stamp = Stamp { version, is_deleted, recorded_us: self.now_us };
            draft.writes.puts.push((key.clone(), stamp.encode()));
            outcome.version = Some(stamp.version);
        }
        Ok(())
    }
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
