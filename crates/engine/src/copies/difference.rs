//! What has changed in a table since a time, counted from its change log: what a restore to that time would undo.
//!
//! Of each key that changed, the item at the time is the old image of its first record, and the item now is the
//! new image of its last one. Only hashes of the two are kept, so that the memory is bounded.

use std::collections::HashMap;

use item::Item;
use store::{Consistency, Key, LogPosition, StoreError};

use super::Copies;
use crate::log::record::ChangeRecord;
use crate::tables::catalog::LiveTable;

/// Keys that are compared: some 15 MB.
const KEYS_MAX: usize = 100_000;
/// Records that are read: a few seconds of work.
const RECORDS_MAX: usize = 1_000_000;
/// Records that are read at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP_RECORDS: usize = 32;
/// Items that are given out with the counts, and the bytes that they may have.
const EXAMPLES_MAX: usize = 50;
const EXAMPLE_BYTES_MAX: usize = 1 << 20;

/// What a restore to an earlier time would undo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableDifference {
    /// Items that were created since.
    pub added: u64,
    /// Items that were deleted since.
    pub removed: u64,
    /// Items that differ.
    pub changed: u64,
    /// How many items the table had at the time.
    pub items_then: u64,
    /// False if more has changed than is compared: then the counts are the least that it can be.
    pub is_complete: bool,
    /// Some of the items that differ.
    pub examples: Vec<ItemDifference>,
}

/// An item at a time and now. At least one of the two is there.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemDifference {
    pub then: Option<Item>,
    pub now: Option<Item>,
}

type Digest = [u8; 16];

/// What is known of a key that has changed.
struct Changed {
    first: LogPosition,
    then: Option<Digest>,
    last: LogPosition,
    now: Option<Digest>,
}

impl Changed {
    fn is_different(&self) -> bool {
        self.then != self.now
    }
}

impl Copies {
    /// Compares a table with what it was at a time. Every change since then must be in the log.
    pub(crate) async fn compare(
        &self,
        table: &LiveTable,
        time_us: u64,
    ) -> Result<TableDifference, StoreError> {
        let mut keys: HashMap<Digest, Changed> = HashMap::new();
        let mut examples = Examples::default();
        let mut read = 0;
        let mut is_complete = true;
        'logs: for log in table.log.logs() {
            let mut after = LogPosition::through(time_us);
            loop {
                let records = self.store.read_log(log, after, STEP_RECORDS).await?;
                let Some((last, _)) = records.last() else { break };
                after = *last;
                read += records.len();
                if read > RECORDS_MAX {
                    is_complete = false;
                    break 'logs;
                }
                for (position, record) in records {
                    let change = ChangeRecord::decode(record)?;
                    let key =
                        Key { space: table.space(), position: table.keys.position(change.image().as_ref()) };
                    let id = digest(&[&key.position.partition.0, &key.position.sort]);
                    if keys.len() >= KEYS_MAX && !keys.contains_key(&id) {
                        is_complete = false;
                        break 'logs;
                    }
                    examples.note(id, &key, position, change.old.as_ref());
                    note(&mut keys, id, position, &change);
                }
                tokio::task::yield_now().await;
            }
        }
        let mut found = TableDifference { is_complete, ..TableDifference::default() };
        for changed in keys.values().filter(|changed| changed.is_different()) {
            match (changed.then, changed.now) {
                (None, _) => found.added += 1,
                (_, None) => found.removed += 1,
                _ => found.changed += 1,
            }
        }
        let now = table.sizes.shown(table.space()).items.max(0) as u64;
        found.items_then = (now + found.removed).saturating_sub(found.added);
        found.examples = examples.read(self, table, &keys).await?;
        Ok(found)
    }
}

fn note(keys: &mut HashMap<Digest, Changed>, id: Digest, position: LogPosition, change: &ChangeRecord) {
    let image = |item: &Option<Item>| item.clone().map(|item| digest(&[&item.into_stored()]));
    let (then, now) = (image(&change.old), image(&change.new));
    let changed = keys.entry(id).or_insert(Changed { first: position, then, last: position, now });
    // A key may have records in two logs, if the table got more of them.
    if position < changed.first {
        (changed.first, changed.then) = (position, then);
    }
    if position > changed.last {
        (changed.last, changed.now) = (position, now);
    }
}

fn digest(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&part.len().to_le_bytes()).update(part);
    }
    let hash = hasher.finalize();
    hash.as_bytes()[..16].try_into().expect("the hash is longer")
}

/// The first keys that changed, with the items that they had.
#[derive(Default)]
struct Examples {
    keys: Vec<(Digest, Key, LogPosition, Option<Item>)>,
    bytes: usize,
}

impl Examples {
    fn note(&mut self, id: Digest, key: &Key, position: LogPosition, old: Option<&Item>) {
        let size = old.map_or(0, Item::size_bytes);
        if let Some((_, _, first, then)) = self.keys.iter_mut().find(|(known, ..)| *known == id) {
            if position < *first {
                (*first, *then) = (position, old.cloned());
            }
        } else if self.keys.len() < EXAMPLES_MAX * 2 && self.bytes + size <= EXAMPLE_BYTES_MAX {
            self.bytes += size;
            self.keys.push((id, key.clone(), position, old.cloned()));
        }
    }

    /// The examples that differ, with the items that the keys have now.
    async fn read(
        self,
        copies: &Copies,
        table: &LiveTable,
        changed: &HashMap<Digest, Changed>,
    ) -> Result<Vec<ItemDifference>, StoreError> {
        let differs = |id: &Digest| changed.get(id).is_some_and(Changed::is_different);
        let mut examples = Vec::new();
        let mut bytes = 0;
        for (_, key, _, then) in self.keys.into_iter().filter(|(id, ..)| differs(id)).take(EXAMPLES_MAX) {
            let mut rows = copies.store.get(std::slice::from_ref(&key), Consistency::Latest).await?;
            let row = rows.pop().flatten();
            bytes += row.as_ref().map_or(0, bytes::Bytes::len);
            if bytes > EXAMPLE_BYTES_MAX && !examples.is_empty() {
                break;
            }
            let now = row.map(Item::from_stored).transpose();
            let now = now.map_err(|error| table.unreadable(key.space, &key.position, error))?;
            examples.push(ItemDifference { then, now });
        }
        Ok(examples)
    }
}
