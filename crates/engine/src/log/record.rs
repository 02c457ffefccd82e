//! The bytes of a change record:
//!
//! ```text
//! version 1 | origin 1 | images 1 | region length 1 | region … | [item's version 8] | old length 4 | old … | new …
//! ```
//!
//! Records of global tables have the version 2 and the time of the item's version; others have the version 1.
//!
//! The key is part of both images, and the time is the position of the record. The numbers are
//! little-endian. Bit 0 of `images` says that there is an old image, bit 1 that there is a new one.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use item::Item;
use store::StoreError;

use crate::base::origin::Origin;

const VERSION: u8 = 1;
const VERSION_OF_GLOBAL: u8 = 2;
const OLD: u8 = 1;
const NEW: u8 = 2;

/// A change of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRecord {
    pub origin: Origin,
    /// The Region in which the change was made.
    pub region: String,
    /// The time of the item's version, in a global table.
    pub version_us: Option<u64>,
    /// The item before; none if it was created.
    pub old: Option<Item>,
    /// The item afterwards; none if it was deleted.
    pub new: Option<Item>,
}

impl ChangeRecord {
    /// The item, as it is or was: both have the same key.
    pub fn image(&self) -> &Item {
        self.new.as_ref().or(self.old.as_ref()).expect("a change has an image")
    }

    /// What the write of the item's larger image costs; delivering the change to Kinesis costs as many units of its own.
    pub fn write_units(&self) -> f64 {
        let size = |image: &Option<Item>| image.as_ref().map(Item::size_bytes);
        capacity::write_units(size(&self.old), size(&self.new))
    }

    /// The bytes of a record.
    pub fn encode(
        origin: Origin,
        region: &str,
        version_us: Option<u64>,
        old: Option<&Item>,
        new: Option<&Item>,
    ) -> Bytes {
        debug_assert!(old != new, "a write that changes nothing has no record");
        let [old, new] = [old, new].map(|image| image.map(|item| item.clone().into_stored()));
        let length = |image: &Option<Bytes>| image.as_ref().map_or(0, Bytes::len);
        let mut bytes = BytesMut::with_capacity(16 + region.len() + length(&old) + length(&new));
        let version = if version_us.is_some() { VERSION_OF_GLOBAL } else { VERSION };
        bytes.put_slice(&[version, origin.code()]);
        bytes.put_u8(if old.is_some() { OLD } else { 0 } | if new.is_some() { NEW } else { 0 });
        bytes.put_u8(u8::try_from(region.len()).expect("the name of a Region is short"));
        bytes.put_slice(region.as_bytes());
        version_us.into_iter().for_each(|version_us| bytes.put_u64_le(version_us));
        bytes.put_u32_le(u32::try_from(length(&old)).expect("an item has at most 400 KB"));
        bytes.put_slice(&old.unwrap_or_default());
        bytes.put_slice(&new.unwrap_or_default());
        bytes.freeze()
    }

    /// Reads a record. The images share its bytes.
    pub fn decode(record: Bytes) -> Result<ChangeRecord, StoreError> {
        let length = record.len();
        let corrupt = || StoreError::Corrupt(format!("a change record of {length} bytes can't be read"));
        let mut rest = record;
        if rest.len() < 4 || !matches!(rest[0], VERSION | VERSION_OF_GLOBAL) {
            return Err(corrupt());
        }
        let [version, origin, images, region] = [0, 1, 2, 3].map(|at| rest[at]);
        rest.advance(4);
        let version_bytes = if version == VERSION_OF_GLOBAL { size_of::<u64>() } else { 0 };
        if rest.len() < usize::from(region) + version_bytes + 4 {
            return Err(corrupt());
        }
        let region = rest.split_to(usize::from(region));
        let region = std::str::from_utf8(&region).map_err(|_| corrupt())?.to_owned();
        let version_us = (version == VERSION_OF_GLOBAL).then(|| rest.get_u64_le());
        let old = rest.get_u32_le() as usize;
        if rest.len() < old {
            return Err(corrupt());
        }
        let old = rest.split_to(old);
        let image = |bit: u8, bytes: Bytes| (images & bit != 0).then(|| Item::from_stored(bytes)).transpose();
        let (old, new) = (image(OLD, old).map_err(|_| corrupt())?, image(NEW, rest).map_err(|_| corrupt())?);
        let is_empty = |image: &Option<Item>| image.as_ref().is_some_and(Item::is_empty);
        if old.is_none() && new.is_none() || is_empty(&old) || is_empty(&new) {
            return Err(corrupt());
        }
        let origin = Origin::from_code(origin).ok_or_else(corrupt)?;
        Ok(ChangeRecord { origin, region, version_us, old, new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        [("pk", text)].into_iter().collect()
    }

    #[test]
    fn a_record_says_what_was_written() {
        let (old, new) = (item("old"), item("a new image"));
        for (old, new) in [(None, Some(&new)), (Some(&old), Some(&new)), (Some(&old), None)] {
            for version_us in [None, Some(7)] {
                let record = ChangeRecord::encode(Origin::Expiry, "eu-west-1", version_us, old, new);
                let expected = ChangeRecord {
                    origin: Origin::Expiry,
                    region: "eu-west-1".into(),
                    version_us,
                    old: old.cloned(),
                    new: new.cloned(),
                };
                assert_eq!(ChangeRecord::decode(record).expect("a record can be read"), expected);
            }
        }
    }

    #[test]
    fn a_record_that_was_cut_is_an_error() {
        for version_us in [None, Some(7)] {
            let record = ChangeRecord::encode(Origin::Client, "local", version_us, None, Some(&item("x")));
            for length in 0..record.len() {
                ChangeRecord::decode(record.slice(..length)).expect_err("a piece of a record is no record");
            }
        }
    }
}
