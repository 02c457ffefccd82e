//! How long a step takes and what it costs: items as the file declares them, units as the database charges
//! them, prices from the facts. Every amount is a [`Line`] that a person can check.

use capacity::write_units;

use super::layout::{Fate, Layout, table_named};
use super::step::{BackFill, Copy, Estimate, Step, StepKind};
use crate::cost::{Line, Prices};
use crate::model::{ActionKind, Billing, EntityId, Grouping, IndexEntry, Model, Pattern, Table};
use crate::plan::plan;
use crate::predict::TRANSACTION_FACTOR;
use crate::predict::typical::{self, Assumption, Footprints, member_share};

/// The share of a partition that a job may use; the rest is for the application.
const SHARE_OF_PARTITION: f64 = 0.5;
/// How many bytes an eventually consistent Scan reads per unit.
const SCANNED_BYTES_PER_UNIT: f64 = 2.0 * capacity::READ_UNIT_BYTES as f64;

pub fn estimate(layout: &Layout, prices: &Prices<'_>, rate: f64, steps: &mut [Step]) {
    let estimator = Estimator { layout, prices, rate, footprints: Footprints::new(&layout.both) };
    for step in steps.iter_mut() {
        step.estimate = estimator.step(&step.kind);
    }
    let fills = |step: &&Step| matches!(step.kind, StepKind::BackFill(_) | StepKind::Copy(_));
    let window = steps.iter().filter(fills).filter_map(|step| step.estimate.seconds).sum();
    for step in steps.iter_mut().filter(|step| matches!(step.kind, StepKind::StartDualWrites(_))) {
        step.estimate.lines = estimator.dual_writes(window);
    }
}

struct Estimator<'a> {
    layout: &'a Layout,
    prices: &'a Prices<'a>,
    rate: f64,
    footprints: Footprints,
}

/// A job on items of one kind.
struct Job<'a> {
    what: String,
    table: &'a Table,
    items: Option<f64>,
    /// Units of one item in the table that limits the rate, and in everything that is written.
    paced_units: f64,
    units: f64,
    rate: f64,
    slowed: Option<String>,
}

impl Estimator<'_> {
    fn both(&self) -> &Model {
        &self.layout.both
    }

    fn step(&self, kind: &StepKind) -> Estimate {
        match kind {
            StepKind::CreateIndex { table, index } => self.create_index(table, index),
            StepKind::BackFill(job) => self.back_fill(job),
            StepKind::Copy(copy) => self.copy(copy),
            StepKind::RemoveAttributes { entity, .. } => {
                let id = self.layout.target.entity_named(entity);
                id.map(|id| self.rewrite(id, format!("writes without the old keys of {entity}")))
                    .unwrap_or_default()
            }
            StepKind::DeleteItems { entity, .. } => {
                self.old_form(entity).map(|id| self.delete(id, entity)).unwrap_or_default()
            }
            StepKind::DeleteTable { table } => self.backup(table),
            StepKind::ChangeSetting(_)
            | StepKind::CreateTable { .. }
            | StepKind::StartDualWrites(_)
            | StepKind::CutOver { .. }
            | StepKind::DeleteIndex { .. }
            | StepKind::EndDualWrites(_) => Estimate::default(),
        }
    }

    /// DynamoDB writes a row for every item that already has the keys.
    fn create_index(&self, table: &str, index: &str) -> Estimate {
        let Some(table) = table_named(&self.layout.target, table) else { return Estimate::default() };
        let Some(index) = table.index_named(index) else { return Estimate::default() };
        let mut estimate = Estimate::default();
        for fate in &self.layout.fates {
            let Fate::Stays { new, .. } = *fate else { continue };
            let entity = self.layout.target.entity(new);
            let gained = self.layout.gained(*fate);
            let lacks = |name: &str| gained.iter().any(|one| one.attribute == name);
            let here = self.layout.target.table_of(entity).name.value == table.name.value;
            let Some(entry) = entity.entry(index).filter(|_| here) else { continue };
            if table.index(index).key.attributes().any(|key| lacks(&key.name)) {
                continue;
            }
            let Some(items) = self.members(new, entry) else { continue };
            let units = write_units(None, Some(self.footprints.of(new).bytes(Some(index))));
            let what = format!("rows of {}", entity.name.value);
            estimate.items = Some(estimate.items.unwrap_or(0.0) + items);
            estimate.lines.push(self.written(what, table, items, units));
        }
        estimate
    }

    /// How many items of an entity are in an index.
    fn members(&self, id: EntityId, entry: &IndexEntry) -> Option<f64> {
        let part = member_share(self.both(), id, entry);
        Some(self.both().items(id)? * part)
    }

    fn back_fill(&self, job: &BackFill) -> Estimate {
        let target = &self.layout.target;
        let Some(id) = target.entity_named(&job.entity) else { return Estimate::default() };
        let entity = target.entity(id);
        let table = target.table_of(entity);
        let gains = |entry: &&IndexEntry| {
            let keys = &table.index(entry.index).key;
            job.attributes.iter().any(|one| keys.names(&one.attribute))
        };
        let entries: Vec<&IndexEntry> = entity.entries.iter().filter(gains).collect();
        let touched = entries.iter().map(|entry| member_share(target, id, entry)).fold(0.0, f64::max);
        let items = self.both().items(id).map(|items| items * touched);
        let bytes = self.footprints.of(id).item_bytes;
        let paced_units = write_units(Some(bytes), Some(bytes));
        let (mut units, mut rate, mut slowed) = (paced_units, self.rate, None);
        for entry in entries {
            let row = write_units(None, Some(self.footprints.of(id).bytes(Some(entry.index))));
            units += row * member_share(target, id, entry) / touched.max(f64::MIN_POSITIVE);
            let most = self.prices.facts.limits.partition_write_units * SHARE_OF_PARTITION;
            let bearable = most * entry.partition_keys(entity) / row * paced_units;
            if bearable < rate {
                rate = bearable;
                let name = &table.index(entry.index).name.value;
                slowed = Some(format!("`{name}` has so few keys that more would throttle it"));
            }
        }
        let what = format!("back-fill of {}", job.entity);
        self.job(Job { what, table, items, paced_units, units, rate, slowed })
    }

    /// A transaction puts the copy and checks the original: both cost twice the units.
    fn copy(&self, copy: &Copy) -> Estimate {
        let target = &self.layout.target;
        let (Some(id), Some(old)) = (target.entity_named(&copy.entity), self.old_form(&copy.entity)) else {
            return Estimate::default();
        };
        let table = target.table_of(target.entity(id));
        let put = TRANSACTION_FACTOR * write_units(None, Some(self.footprints.of(id).item_bytes));
        let was = self.footprints.of(old).item_bytes;
        let look = TRANSACTION_FACTOR * write_units(Some(was), Some(was));
        let rows: f64 = self.rows(id);
        let what = format!("copies of {}", copy.entity);
        let items = self.both().items(old);
        self.job(Job {
            what,
            table,
            items,
            paced_units: put,
            units: put + look + rows,
            rate: self.rate,
            slowed: None,
        })
    }

    /// Units of the rows that one item has in all indexes.
    fn rows(&self, id: EntityId) -> f64 {
        let footprint = self.footprints.of(id);
        let of = |entry: &IndexEntry| {
            let part = member_share(self.both(), id, entry);
            write_units(None, Some(footprint.bytes(Some(entry.index)))) * part
        };
        self.both().entity(id).entries.iter().map(of).sum()
    }

    /// The old form of an entity, in the model of both.
    fn old_form(&self, name: &str) -> Option<EntityId> {
        self.layout.fates.iter().find_map(|fate| match *fate {
            Fate::Moves { old, both, .. } | Fate::Removed { old, both } => {
                (self.layout.old.entity(old).name.value == name).then_some(both)
            }
            _ => None,
        })
    }

    fn rewrite(&self, id: EntityId, what: String) -> Estimate {
        let table = self.both().table_of(self.both().entity(id));
        let bytes = self.footprints.of(id).item_bytes;
        let units = write_units(Some(bytes), Some(bytes));
        let items = self.both().items(id);
        self.job(Job { what, table, items, paced_units: units, units, rate: self.rate, slowed: None })
    }

    fn delete(&self, id: EntityId, name: &str) -> Estimate {
        let table = self.both().table_of(self.both().entity(id));
        let paced_units = write_units(Some(self.footprints.of(id).item_bytes), None);
        let (what, items) = (format!("deletes of {name}"), self.both().items(id));
        let units = paced_units + self.rows(id);
        self.job(Job { what, table, items, paced_units, units, rate: self.rate, slowed: None })
    }

    fn job(&self, job: Job<'_>) -> Estimate {
        let Job { what, table, items, paced_units, units, rate, slowed } = job;
        let Some(items) = items else { return Estimate { rate: Some(rate), slowed, ..Estimate::default() } };
        let seconds = items * paced_units / rate;
        let mut lines = match table.billing.value {
            Billing::OnDemand => vec![self.written(what, table, items, units)],
            Billing::Provisioned => {
                let hour = self.prices.class_or_standard(table.class).write_unit_hour;
                let reserved = rate * units / paced_units;
                vec![
                    Line::new(what)
                        .times(reserved, "WCU")
                        .times(seconds / 3_600.0, "hours")
                        .times(hour, "$ per WCU-hour"),
                ]
            }
        };
        lines.extend(self.scan(table));
        Estimate { items: Some(items), seconds: Some(seconds), rate: Some(rate), slowed, lines }
    }

    fn written(&self, what: String, table: &Table, items: f64, units: f64) -> Line {
        let price = self.prices.class_or_standard(table.class).write_million;
        Line::new(what).times(items, "items").times(units, "WRU").times(price, "$").over(1e6, "")
    }

    /// A job scans the whole table to find its items.
    fn scan(&self, table: &Table) -> Option<Line> {
        let id = self.both().table_ids().find(|id| self.both().table(*id).name.value == table.name.value)?;
        let old = |one: EntityId| !matches!(self.fate_of(one), Some(Fate::Added { .. }));
        let entities = self.both().entities_of(id).filter(|(id, _)| old(*id));
        let bytes = entities
            .filter_map(|(id, _)| Some(self.both().items(id)? * self.footprints.of(id).item_bytes as f64))
            .sum::<f64>();
        let price = self.prices.class_or_standard(table.class).read_million;
        (bytes > 0.0 && table.billing.value == Billing::OnDemand).then(|| {
            Line::new(format!("scan of {}", table.name.value))
                .times(bytes, "B")
                .over(SCANNED_BYTES_PER_UNIT, "B for an RRU")
                .times(price, "$")
                .over(1e6, "")
        })
    }

    fn fate_of(&self, id: EntityId) -> Option<Fate> {
        self.layout.fates.iter().copied().find(|fate| match *fate {
            Fate::Stays { new, .. } | Fate::Added { new } => new == id,
            Fate::Moves { new, both, .. } => new == id || both == id,
            Fate::Removed { both, .. } => both == id,
        })
    }

    fn backup(&self, table: &str) -> Estimate {
        let id = self.layout.both.table_ids().find(|id| self.both().table(*id).name.value == table);
        let (Some(id), Some(price)) = (id, self.prices.region.backup_gb_month) else {
            return Estimate::default();
        };
        let entities = self.both().entities_of(id);
        let bytes = entities
            .filter_map(|(id, _)| Some(self.both().items(id)? * self.footprints.of(id).item_bytes as f64))
            .sum::<f64>();
        let line = Line::new(format!("a backup of {table} for a month"))
            .times(bytes, "B")
            .over(self.prices.facts.gigabyte_bytes, "B")
            .times(price, "$ per GB");
        Estimate { lines: vec![line], ..Estimate::default() }
    }

    /// What the application's writes cost in addition, as long as they are done twice.
    fn dual_writes(&self, seconds: f64) -> Vec<Line> {
        let own = Footprints::new(&self.layout.target);
        let mut lines = Vec::new();
        for pattern in self.layout.target.patterns.iter().filter(|one| one.external.is_none()) {
            let (Some(rate), Some((_, write))) = (&pattern.rate, pattern.writes().next()) else { continue };
            let after = units(&self.layout.target, &own, pattern);
            let doubled = units(self.both(), &self.footprints, &self.doubled(pattern));
            let more = (doubled - after) * rate.value.average;
            let table = self.layout.target.table_of(self.layout.target.entity(write.entity.value));
            let prices = self.prices.class_or_standard(table.class);
            let line = Line::new(format!("{} written twice", pattern.id.value));
            let line = match table.billing.value {
                Billing::OnDemand => line
                    .times(more, "WRU/s")
                    .times(seconds, "s")
                    .times(prices.write_million, "$")
                    .over(1e6, ""),
                Billing::Provisioned => line
                    .times(more, "WCU")
                    .times(seconds / 3_600.0, "hours")
                    .times(prices.write_unit_hour, "$ per WCU-hour"),
            };
            lines.extend((line.amount() > 0.0).then_some(line));
        }
        lines
    }

    /// The pattern with a second write for each item that is copied, in one transaction.
    fn doubled(&self, pattern: &Pattern) -> Pattern {
        let mut doubled = pattern.clone();
        for action in &pattern.actions {
            let ActionKind::Write(write) = &action.kind else { continue };
            if let Some(Fate::Moves { both, .. }) = self.fate_of(write.entity.value) {
                let mut second = action.clone();
                if let ActionKind::Write(write) = &mut second.kind {
                    write.entity.value = both;
                }
                doubled.actions.push(second);
                doubled.grouping = Grouping::Transaction;
            }
        }
        doubled
    }
}

fn units(model: &Model, footprints: &Footprints, pattern: &Pattern) -> f64 {
    let planned = plan(model, pattern);
    typical::pattern(model, footprints, pattern, &planned, Assumption::Weighted).write_units()
}
