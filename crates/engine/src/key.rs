//! From key attributes to a place in the store, with every check that DynamoDB makes on the way.

use std::ops::Bound;

use api::{Error, limits};
use expression::key_condition::{KeyRange, Range as SortRange};
use item::{ItemRef, ValueBuf, ValueRef, View, key};
use store::{Key, Partition, Position, Range, Space};

use crate::table::{KeyAttribute, KeySchema, Table};

impl Table {
    /// The place of a whole item, as PutItem gives it.
    pub fn key_of_item(&self, item: ItemRef<'_>) -> Result<Key, Error> {
        for attribute in self.keys.attributes() {
            let value = item.get(&attribute.name).ok_or_else(|| Error::key_missing(&attribute.name))?;
            if value.kind() != attribute.kind {
                let (expected, actual) = (attribute.kind.name(), value.kind().name());
                return Err(Error::key_type_mismatch(&attribute.name, expected, actual));
            }
        }
        self.keys.check_values(item)?;
        Ok(self.key(item))
    }

    /// The place that a `Key` parameter names: exactly the key attributes, each of its type.
    pub fn key_of(&self, key: ItemRef<'_>) -> Result<Key, Error> {
        if !self.keys.matches(key) {
            return Err(Error::key_schema_mismatch());
        }
        self.keys.check_values(key)?;
        Ok(self.key(key))
    }

    /// The place of an item whose key attributes are known to be right.
    fn key(&self, item: ItemRef<'_>) -> Key {
        Key { space: self.space(), position: self.keys.position(item) }
    }
}

impl KeySchema {
    /// Whether `key` holds the key attributes, each of its type, and nothing else.
    pub fn matches(&self, key: ItemRef<'_>) -> bool {
        key.len() == self.attributes().count()
            && self
                .attributes()
                .all(|attribute| key.get(&attribute.name).is_some_and(|value| value.kind() == attribute.kind))
    }

    /// Refuses empty and oversized key values; their types are right already.
    pub fn check_values(&self, key: ItemRef<'_>) -> Result<(), Error> {
        let value = |attribute: &KeyAttribute| key.get(&attribute.name);
        for attribute in self.attributes() {
            match value(attribute).map(ValueRef::view) {
                Some(View::S("")) => return Err(Error::key_empty(&attribute.name, "string")),
                Some(View::B([])) => return Err(Error::key_empty(&attribute.name, "binary")),
                _ => {}
            }
        }
        let size = |attribute: &KeyAttribute| value(attribute).map_or(0, ValueRef::size_bytes);
        if self.partition.iter().any(|attribute| size(attribute) > limits::PARTITION_KEY_BYTES_MAX) {
            return Err(Error::partition_key_too_long());
        }
        if self.sort.iter().any(|attribute| size(attribute) > limits::SORT_KEY_BYTES_MAX) {
            return Err(Error::sort_key_too_long());
        }
        Ok(())
    }

    /// Where an item lives inside its space; its key attributes were checked.
    pub fn position(&self, item: ItemRef<'_>) -> Position {
        let value =
            |attribute: &KeyAttribute| item.get(&attribute.name).expect("key attributes were checked");
        Position {
            partition: partition(self.partition.iter().map(value)),
            sort: encoded(self.sort.iter().map(value)),
        }
    }
}

/// The hash that places a partition key. It is taken over the key bytes, so equal numbers meet
/// however they were written.
pub fn partition<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> Partition {
    let hash = blake3::hash(&encoded(values));
    Partition(hash.as_bytes()[..Partition::LENGTH].try_into().expect("the hash is longer than that"))
}

/// The key bytes of several values in a row.
pub fn encoded<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        key::encode(value, &mut bytes);
    }
    bytes
}

/// The rows that a key condition names: a stretch of one partition.
///
/// Rows that share the leading sort values share the leading sort bytes, and key bytes are free of
/// prefixes, so every condition is a range between two byte strings.
pub fn query_range(space: Space, condition: &KeyRange) -> Range {
    let partition = partition(condition.partition.iter().map(ValueBuf::as_ref));
    let prefix = encoded(condition.sort_prefix.iter().map(ValueBuf::as_ref));
    let value = |value: &ValueBuf| [prefix.as_slice(), &encoded([value.as_ref()])].concat();

    let from = |sort| Bound::Included(Position { partition, sort });
    let before = |sort| Bound::Excluded(Position { partition, sort });
    let through = |sort: &[u8]| key::after_prefix(sort).map_or_else(|| after_partition(partition), before);
    let first = || from(prefix.clone());
    let last = || through(&prefix);

    let (start, end) = match &condition.sort {
        None => (first(), last()),
        Some(SortRange::Equal(equal)) => (from(value(equal)), through(&value(equal))),
        Some(SortRange::Less(bound)) => (first(), before(value(bound))),
        Some(SortRange::LessOrEqual(bound)) => (first(), through(&value(bound))),
        Some(SortRange::Greater(bound)) => {
            let next = key::after_prefix(&value(bound)).expect("key bytes are never all ones");
            (from(next), last())
        }
        Some(SortRange::GreaterOrEqual(bound)) => (from(value(bound)), last()),
        Some(SortRange::Between(low, high)) => (from(value(low)), through(&value(high))),
        Some(SortRange::BeginsWith(text)) => {
            let mut beginning = prefix.clone();
            key::encode_prefix(text.as_ref(), &mut beginning);
            (from(beginning.clone()), through(&beginning))
        }
    };
    Range { space, start, end }
}

/// The rows of one segment of a parallel Scan: an equal share of the hashes.
pub fn segment_range(space: Space, segment: u32, total_segments: u32) -> Range {
    let edge = |n: u32| (u128::from(n) << 64) / u128::from(total_segments);
    let first_of = |hash: u64| {
        let mut partition = Partition::FIRST;
        partition.0[..8].copy_from_slice(&hash.to_be_bytes());
        Position { partition, sort: Vec::new() }
    };
    let start = Bound::Included(first_of(edge(segment) as u64));
    let end = match u64::try_from(edge(segment + 1)) {
        Ok(edge) => Bound::Excluded(first_of(edge)),
        Err(_) => Bound::Unbounded,
    };
    Range { space, start, end }
}

/// Which of `partitions` equal shares of the hashes a partition falls into.
pub fn share_of(partition: &Partition, partitions: u64) -> u64 {
    let high = u64::from_be_bytes(partition.0[..8].try_into().expect("eight bytes"));
    ((u128::from(high) * u128::from(partitions)) >> 64) as u64
}

/// Everything of a partition lies before the first place of the next.
fn after_partition(partition: Partition) -> Bound<Position> {
    let mut next = partition;
    for byte in next.0.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return Bound::Excluded(Position { partition: next, sort: Vec::new() });
        }
    }
    Bound::Unbounded
}
