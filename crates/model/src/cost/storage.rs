//! What tables and indexes store: items times their bytes, plus 100 bytes for each.

use super::line::Line;
use crate::Model;
use crate::demand::{self, Resource};
use crate::facts::{Facts, Limits};
use crate::model::{Entity, EntityId, IndexEntry, IndexKind};
use crate::predict::typical::{Footprints, member_share};

/// The items of one entity in the table or one index.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Local indexes count as part of their table.
    pub resource: Resource,
    pub what: String,
    pub items: f64,
    /// Of each item, the overhead of storage included.
    pub bytes: f64,
    pub new_items_per_second: f64,
}

impl Stored {
    pub fn total_bytes(&self) -> f64 {
        self.items * self.bytes
    }

    pub fn line(&self, facts: &Facts, gb_month: f64) -> Line {
        Line::new(format!("storage of {}", self.what))
            .times(self.items, "items")
            .times(self.bytes, "B")
            .over(facts.gigabyte_bytes, "B")
            .times(gb_month, "$ per GB")
    }
}

/// What every entity stores, in its table and in each index.
pub fn stored(model: &Model, footprints: &Footprints, limits: &Limits) -> Vec<Stored> {
    let of = |id: EntityId| {
        let entity = model.entity(id);
        let footprint = footprints.of(id);
        let items = model.items(id).unwrap_or(0.0);
        // In an entity that expires, new items replace the expired ones.
        let growth = if entity.expires.is_none() { demand::new_items_per_second(model, id) } else { 0.0 };
        let table = Stored {
            resource: (entity.table, None),
            what: format!("{} in {}", entity.name.value, demand::name(model, (entity.table, None))),
            items,
            bytes: footprint.item_bytes as f64 + limits.row_overhead_bytes,
            new_items_per_second: growth,
        };
        let rows = entity.entries.iter().map(|entry| {
            let bytes = footprint.bytes(Some(entry.index)) as f64 + limits.row_overhead_bytes;
            in_index(model, entity, id, entry, &table, bytes)
        });
        std::iter::once(table.clone()).chain(rows).collect::<Vec<_>>()
    };
    model.entity_ids().filter(|id| model.entity(*id).key.is_some()).flat_map(of).collect()
}

fn in_index(
    model: &Model,
    entity: &Entity,
    id: EntityId,
    entry: &IndexEntry,
    table: &Stored,
    bytes: f64,
) -> Stored {
    let local = model.table(entity.table).index(entry.index).kind == IndexKind::Local;
    let members = member_share(model, id, entry);
    Stored {
        resource: (entity.table, Some(entry.index).filter(|_| !local)),
        what: format!("{} in {}", entity.name.value, demand::name(model, (entity.table, Some(entry.index)))),
        items: table.items * members,
        bytes,
        new_items_per_second: table.new_items_per_second * members,
    }
}
