//! The bytes of a change record:
//!
//! ```text
//! version 1 | origin 1 | images 1 | region length 1 | region … | old length 4 | old … | new …
//! ```
//!
//! The key is part of both images, and the time is the position of the record. The numbers are
//! little-endian. Bit 0 of `images` says that there is an old image, bit 1 that there is a new one.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use item::Item;
use store::StoreError;

use crate::write::Origin;

const VERSION: u8 = 1;
const OLD: u8 = 1;
const NEW: u8 = 2;

/// A change of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub origin: Origin,
    /// The Region in which the change was made.
    pub region: String,
    /// The item before; none if it was created.
    pub old: Option<Item>,
    /// The item afterwards; none if it was deleted.
    pub new: Option<Item>,
}

impl Change {
    /// The item, as it is or was: both have the same key.
    pub fn image(&self) -> &Item {
        self.new.as_ref().or(self.old.as_ref()).expect("a change has an image")
    }

    /// The bytes of a record.
    pub fn encode(origin: Origin, region: &str, old: Option<&Item>, new: Option<&Item>) -> Bytes {
        debug_assert!(old != new, "a write that changes nothing has no record");
        let [old, new] = [old, new].map(|image| image.map(|item| item.clone().into_stored()));
        let length = |image: &Option<Bytes>| image.as_ref().map_or(0, Bytes::len);
        let mut bytes = BytesMut::with_capacity(8 + region.len() + length(&old) + length(&new));
        bytes.put_slice(&[VERSION, origin.code()]);
        bytes.put_u8(if old.is_some() { OLD } else { 0 } | if new.is_some() { NEW } else { 0 });
        bytes.put_u8(u8::try_from(region.len()).expect("the name of a Region is short"));
        bytes.put_slice(region.as_bytes());
        bytes.put_u32_le(u32::try_from(length(&old)).expect("an item has at most 400 KB"));
        bytes.put_slice(&old.unwrap_or_default());
        bytes.put_slice(&new.unwrap_or_default());
        bytes.freeze()
    }

    /// Reads a record. The images share its bytes.
    pub fn decode(record: Bytes) -> Result<Change, StoreError> {
        let length = record.len();
        let corrupt = || StoreError::Corrupt(format!("a change record of {length} bytes can't be read"));
        let mut rest = record;
        if rest.len() < 4 || rest[0] != VERSION {
            return Err(corrupt());
        }
        let [_, origin, images, region] = [0, 1, 2, 3].map(|at| rest[at]);
        rest.advance(4);
        if rest.len() < usize::from(region) + 4 {
            return Err(corrupt());
        }
        let region = rest.split_to(usize::from(region));
        let region = std::str::from_utf8(&region).map_err(|_| corrupt())?.to_owned();
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
        Ok(Change { origin: Origin::from_code(origin).ok_or_else(corrupt)?, region, old, new })
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
            let change = Change::decode(Change::encode(Origin::Expiry, "eu-west-1", old, new));
            let expected = Change {
                origin: Origin::Expiry,
                region: "eu-west-1".into(),
                old: old.cloned(),
                new: new.cloned(),
            };
            assert_eq!(change.expect("a record can be read"), expected);
        }
    }

    #[test]
    fn a_record_that_was_cut_is_an_error() {
        let record = Change::encode(Origin::Client, "local", None, Some(&item("x")));
        for length in 0..record.len() {
            Change::decode(record.slice(..length)).expect_err("a piece of a record is no record");
        }
    }
}
