//! Heat: which key ranges of a table or global index were used in which minute, from real traffic.
//!
//! Each table keeps the matrices of itself and its global indexes ([`HeatMaps`]), in memory alone: they begin empty
//! when the database is opened. A Scan has no key and heats nothing.
//!
//! A matrix takes 122 KB at most; `reports/heat.rs` bounds all of them together.

use capacity::heat::Heat;
use store::Space;

use super::usage::PartUsed;
use crate::base::table::Table;

/// The matrices of a table and its global indexes.
#[derive(Default)]
pub struct HeatMaps(pub Vec<(Space, Heat)>);

impl HeatMaps {
    /// Notes a part of a request.
    pub fn note(part: &PartUsed<'_>) {
        let Some(key_hash) = part.key_hash else { return };
        let space = Space(part.space());
        let mut maps = part.table.meter.heat.lock();
        let position = maps.0.iter().position(|(known, _)| *known == space).unwrap_or_else(|| {
            maps.0.push((space, Heat::new()));
            maps.0.len() - 1
        });
        let heat = &mut maps.0[position].1;
        if part.limit.is_some() {
            heat.add_throttled(key_hash, part.now_ms);
        }
        if !part.is_refused {
            heat.add(key_hash, part.access, part.units, part.now_ms);
        }
    }

    /// Forgets the indexes that are gone.
    pub fn follow(&mut self, table: &Table) {
        self.0.retain(|(space, _)| *space == table.space() || table.global_index(*space).is_some());
    }
}
