//! What AWS would have throttled (`serve --capacity shadow`), and which keys.

use capacity::contributors::Sketch;
use item::Item;

use super::usage::PartUsed;

/// What AWS would have throttled in one table since the database was opened.
#[derive(Default)]
pub struct Shadow {
    pub keys: Sketch,
    pub requests: u64,
    /// How many of them were reported in the server's log, and when.
    pub logged: u64,
    pub logged_ms: u64,
}

impl Shadow {
    /// Counts a part of a request that met a limit and was served all the same.
    pub fn note(part: &PartUsed<'_>) {
        let mut shadow = part.table.meter.shadow.lock();
        let shadow = shadow.get_or_insert_default();
        shadow.requests += 1;
        let (Some(hash), Some(key)) = (part.key_hash, part.key()) else { return };
        // Keys of two indexes may have the same hash.
        let hash = hash ^ part.space().rotate_left(32);
        shadow.keys.add(hash, 1.0, || {
            let mut name = part.index_name().unwrap_or_default().as_bytes().to_vec();
            name.push(0);
            name.extend(partition_key(part, &key).into_stored());
            name.into()
        });
    }
}

/// The partition key alone: what is hot is a partition.
fn partition_key(part: &PartUsed<'_>, key: &Item) -> Item {
    let mut builder = item::ItemBuilder::default();
    for attribute in &part.keys().partition {
        if let Some(value) = key.as_ref().get(&attribute.name) {
            builder.put(&attribute.name, value);
        }
    }
    builder.build()
}
