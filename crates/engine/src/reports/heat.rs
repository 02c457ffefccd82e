//! The heat of a table, for `lodestone heat` and the studio.
//!
//! All tables together keep [`COLUMNS_MAX`] columns of their matrices: beyond that, those that have been idle for the
//! longest time are forgotten.

use capacity::heat::{RANGES, Square};
use serde::Serialize;

use super::Reports;
use crate::Namespace;
use crate::base::table::Index;
use crate::throughput::counting::MINUTE_MS;

/// Columns of all matrices: 31 MB, which is 256 tables and indexes that were busy all day.
const COLUMNS_MAX: usize = 40_000;

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

impl Reports {
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

impl Reports {
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
