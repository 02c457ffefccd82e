//! From key attributes to a key in the store, with every check that DynamoDB makes on the way.

use std::ops::Bound;

use api::limits;
use expression::key_condition::{KeyRange, Range as SortRange};
use item::{ItemRef, Type, ValueBuf, ValueRef, View, key};
use store::{Key, Partition, Position, Range, Space};

use crate::base::table::{KeyAttribute, KeySchema, Table};

/// Why attributes are not the key of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The item lacks this key attribute.
    Missing(String),
    /// A key attribute of the item has another type than the schema says.
    Type { attribute: String, expected: Type, actual: Type },
    /// A `Key` has other attributes than the schema, or of other types.
    Schema,
    /// The value of this key attribute is empty.
    Empty { attribute: String, kind: EmptyKind },
    /// A partition key value is longer than [`limits::PARTITION_KEY_BYTES_MAX`].
    PartitionTooLong,
    /// A sort key value is longer than [`limits::SORT_KEY_BYTES_MAX`].
    SortTooLong,
}

/// The two types whose values can be empty and then are no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyKind {
    String,
    Binary,
}

impl EmptyKind {
    /// The kind of an empty value; none for any other value.
    pub fn of(value: ValueRef<'_>) -> Option<EmptyKind> {
        match value.view() {
            View::S("") => Some(EmptyKind::String),
            View::B([]) => Some(EmptyKind::Binary),
            _ => None,
        }
    }
}

impl Table {
    /// The key of a whole item, as PutItem gives it.
    pub fn key_of_item(&self, item: ItemRef<'_>) -> Result<Key, KeyError> {
        for attribute in self.keys.attributes() {
            let name = || attribute.name.clone();
            let value = item.get(&attribute.name).ok_or_else(|| KeyError::Missing(name()))?;
            let (expected, actual) = (attribute.kind, value.kind());
            if actual != expected {
                return Err(KeyError::Type { attribute: name(), expected, actual });
            }
        }
        self.keys.check_values(item)?;
        Ok(self.key(item))
    }

    /// The key that a `Key` parameter names: exactly the key attributes, each of its type.
    pub fn key_of(&self, key: ItemRef<'_>) -> Result<Key, KeyError> {
        if !self.keys.matches(key) {
            return Err(KeyError::Schema);
        }
        self.keys.check_values(key)?;
        Ok(self.key(key))
    }

    /// The key of an item whose key attributes were checked.
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

    /// Refuses empty and oversized key values.
    pub fn check_values(&self, key: ItemRef<'_>) -> Result<(), KeyError> {
        let value = |attribute: &KeyAttribute| key.get(&attribute.name);
        for attribute in self.attributes() {
            if let Some(kind) = value(attribute).and_then(EmptyKind::of) {
                return Err(KeyError::Empty { attribute: attribute.name.clone(), kind });
            }
        }
        let size = |attribute: &KeyAttribute| value(attribute).map_or(0, ValueRef::size_bytes);
        if self.partition.iter().any(|attribute| size(attribute) > limits::PARTITION_KEY_BYTES_MAX) {
            return Err(KeyError::PartitionTooLong);
        }
        if self.sort.iter().any(|attribute| size(attribute) > limits::SORT_KEY_BYTES_MAX) {
            return Err(KeyError::SortTooLong);
        }
        Ok(())
    }

    /// The position of an item inside its space; its key attributes were checked.
    pub fn position(&self, item: ItemRef<'_>) -> Position {
        let value =
            |attribute: &KeyAttribute| item.get(&attribute.name).expect("key attributes were checked");
        Position {
            partition: partition(self.partition.iter().map(value)),
            sort: encoded(self.sort.iter().map(value)),
        }
    }
}

/// The hash of a partition key. It is taken over the key bytes, so that equal numbers have equal hashes
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

/// The rows that a key condition names: a range inside one partition.
///
/// Rows that share the leading sort values share the leading sort bytes, and no key's bytes are a prefix of
/// another's, so every condition is a range between two byte strings.
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
    assert!(segment < total_segments, "segment {segment} of {total_segments}");
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

/// The end of a partition: the first position of the next one.
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
