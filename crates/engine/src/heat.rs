//! Heat: which key ranges of a table or global index were used in which minute, from real traffic. `lodestone heat`
//! and the studio draw it.
//!
//! Each table keeps the matrices of itself and its global indexes ([`HeatMaps`]), in memory alone: they begin empty
//! when the database is opened. A Scan has no key and heats nothing.
//!
//! A matrix takes 122 KB at most. All tables together keep [`COLUMNS_MAX`] columns of them: beyond that, those that
//! have been idle for the longest time are forgotten.

use capacity::heat::{Heat, RANGES, Square};
use serde::Serialize;
use store::Space;

use crate::metrics::MINUTE_MS;
use crate::shared::Core;
use crate::table::{Index, Table};
use crate::usage::PartUsed;
use crate::{Engine, Namespace};

/// Columns of all matrices: 31 MB, which is 256 tables and indexes that were busy all day.
const COLUMNS_MAX: usize = 40_000;

/// The matrices of a table and its global indexes.
#[derive(Default)]
pub struct HeatMaps(Vec<(Space, Heat)>);

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

/// The heat of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatReport {
    pub table: String,
    /// The minute that is not over yet, counted from the epoch.
    pub minute: u64,
    /// How many ranges of key hashes there are, all of the same width.
    pub ranges: usize,
    /// The table first, then its global indexes.
    pub resources: Vec<ResourceHeat>,
}

/// The heat of a table itself, or of a global index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceHeat {
    pub index: Option<String>,
    /// The oldest first. A minute without requests has no column.
    pub columns: Vec<HeatColumn>,
}

/// What happened in a minute of the last hour, or in a quarter of an hour before that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatColumn {
    /// The first minute, counted from the epoch.
    pub minute: u64,
    /// How many minutes it covers.
    pub minutes: u64,
    /// For each range the read units, the write units and the requests that met a limit.
    pub squares: Vec<[f32; 3]>,
}

impl Core {
    /// Forgets what is over a day old and, if there is too much, the matrices that have been idle the longest.
    pub(crate) fn trim_heat(&self, now_ms: u64) {
        let mut kept = Vec::new();
        for table in self.catalog.all() {
            for (space, heat) in &mut table.meter.heat.lock().0 {
                heat.age(now_ms);
                let columns = heat.columns().count();
                kept.push((heat.columns().last().map(|last| last.minute), columns, *space, table.clone()));
            }
        }
        let mut columns: usize = kept.iter().map(|(_, columns, ..)| columns).sum();
        kept.sort_by_key(|(last_minute, ..)| *last_minute);
        for (_, of_one, space, table) in kept {
            if columns <= COLUMNS_MAX {
                return;
            }
            table.meter.heat.lock().0.retain(|(known, _)| *known != space);
            columns -= of_one;
        }
    }
}

impl Engine {
    /// The heat of a table since the database was opened, for a day at most; none if there is no such table.
    pub fn heat(&self, namespace: &Namespace, table: &str) -> Option<HeatReport> {
        let table = self.catalog.find(namespace, table)?;
        let maps = table.meter.heat.lock();
        let of = |index: Option<&Index>| {
            let space = index.map_or_else(|| table.space(), Index::space);
            let heat = maps.0.iter().find(|(known, _)| *known == space);
            let columns = heat.into_iter().flat_map(|(_, heat)| heat.columns());
            let square = |Square { read, write, throttled }: &Square| [*read, *write, *throttled];
            let columns = columns.map(|column| HeatColumn {
                minute: column.minute,
                minutes: column.minutes,
                squares: column.squares.iter().map(square).collect(),
            });
            ResourceHeat { index: index.map(|index| index.name.clone()), columns: columns.collect() }
        };
        Some(HeatReport {
            table: table.name.clone(),
            minute: self.usage.now().ms / MINUTE_MS,
            ranges: RANGES,
            resources: table.resources().map(of).collect(),
        })
    }
}
