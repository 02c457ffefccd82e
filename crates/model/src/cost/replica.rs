//! The other Regions of a global table: writes are repeated in each, storage too, and the transfer there is billed.
//! Reads are assumed to stay in the first Region, because the file does not say where they come from.

use super::bill::{Basis, Mode, prices};
use super::line::Line;
use super::on_demand;
use crate::demand::{self, UnitKind};
use crate::facts::{ClassPrices, Region, Replicated};
use crate::model::{TableClass, TableId};

pub fn lines(
    basis: &Basis<'_>,
    table: TableId,
    mode: Mode,
    class: TableClass,
    lines: &mut Vec<Line>,
    missing: &mut Vec<String>,
) {
    for name in basis.model.table(table).replicas.iter().map(|replica| replica.value.as_str()) {
        let region = basis.facts.regions.get(name);
        let known =
            region.and_then(|region| Some((region, prices(region, class)?, region.replicated.as_ref()?)));
        match known {
            Some(known) => lines.extend(Replica { basis, table, name, known }.lines(mode)),
            None if missing.iter().any(|one| one.ends_with(name)) => {}
            None => missing.push(format!("a replica in {name}")),
        }
    }
}

struct Replica<'b> {
    basis: &'b Basis<'b>,
    table: TableId,
    name: &'b str,
    known: (&'b Region, &'b ClassPrices, &'b Replicated),
}

impl Replica<'_> {
    fn lines(&self, mode: Mode) -> Vec<Line> {
        let mut lines = match mode {
            Mode::OnDemand => self.requests(),
            _ => self.capacity(),
        };
        lines.extend(self.storage());
        lines.push(self.transfer());
        lines.into_iter().map(|line| Line { what: format!("{}: {}", self.name, line.what), ..line }).collect()
    }

    fn requests(&self) -> Vec<Line> {
        let (_, prices, replicated) = self.known;
        let uses =
            self.basis.uses.iter().filter(|one| one.resource.0 == self.table && one.kind == UnitKind::Write);
        uses.map(|one| on_demand::line(self.basis.model, self.basis.facts, one, prices, Some(replicated)))
            .collect()
    }

    fn capacity(&self) -> Vec<Line> {
        let (_, prices, replicated) = self.known;
        let supplies = self.basis.supplies.iter();
        let writes =
            supplies.filter(|supply| supply.resource.0 == self.table && supply.kind == UnitKind::Write);
        writes.map(|supply| supply.line(self.basis.facts, prices, Some(replicated))).collect()
    }

    fn storage(&self) -> Vec<Line> {
        let stored = self.basis.stored.iter().filter(|stored| stored.resource.0 == self.table);
        stored.map(|stored| stored.line(self.basis.facts, self.known.1.storage_gb_month)).collect()
    }

    /// Each written item goes to the other Region once, whatever the write was charged.
    fn transfer(&self) -> Line {
        let Basis { model, facts, footprints, .. } = *self.basis;
        let bytes = demand::written_bytes_per_second(model, footprints, self.table);
        Line::new(format!("transfer of {}", model.table(self.table).name.value))
            .times(bytes, "B/s")
            .times(facts.month_seconds(), "s")
            .over(facts.gigabyte_bytes, "B")
            .times(
                self.basis.region.replicated.map_or(self.known.2.transfer_gb, |home| home.transfer_gb),
                "$ per GB",
            )
    }
}
