//! The monthly cost of a design on demand, which the search minimises.

use serde::Serialize;

use crate::Model;
use crate::copies;
use crate::cost::{self, OnDemand, dollars};
use crate::demand::{self, Portion, UnitKind};
use crate::facts::{ClassPrices, Facts};
use crate::model::{Action, EntityId, IndexEntry, Pattern};
use crate::plan::{ActionPlan, Plan};
use crate::predicate::Operator;
use crate::predict::typical::Footprints;

/// The assumed rate of a pattern without one: low, but not zero, so that it counts.
const RATE_UNKNOWN: f64 = 0.1;
/// The assumed share of items that have a value, if nothing is declared.
const SHARE_UNKNOWN: f64 = 0.5;
const REGION: &str = "us-east-1";

/// In the currency of the facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Price {
    pub reads: f64,
    pub writes: f64,
    pub storage: f64,
    /// Recovery, functions, caches and other Regions, which are the same for all designs.
    pub other: f64,
}

impl Price {
    pub fn total(&self) -> f64 {
        self.reads + self.writes + self.storage + self.other
    }

    /// `$46.09 a month: reads $30.00, writes $12.70, storage $1.89, other $1.50`.
    pub fn describe(&self) -> String {
        let Price { reads, writes, storage, other } = *self;
        let parts = [("reads", reads), ("writes", writes), ("storage", storage), ("other", other)];
        let parts = parts.iter().filter(|(what, amount)| *what != "other" || *amount > 0.0);
        let parts: Vec<String> = parts.map(|(what, amount)| format!("{what} {}", dollars(*amount))).collect();
        format!("{} a month: {}", dollars(self.total()), parts.join(", "))
    }

    /// What `cost` says of a finished model on demand, and the prices that it lacks. `None` without any prices for the
    /// model's Region.
    pub fn on_demand(model: &Model, plans: &[Plan], facts: &Facts) -> Option<(Price, Vec<String>)> {
        let OnDemand { reads, writes, storage, other, missing } =
            cost::on_demand(model, plans, facts).ok()?;
        Some((Price { reads, writes, storage, other }, missing))
    }
}

/// The prices of a Region.
pub struct DesignPrices<'f> {
    facts: &'f Facts,
    class: ClassPrices,
}

impl<'f> DesignPrices<'f> {
    /// Uses the model's Region; if its prices are not known, fixed proportions.
    pub fn new(facts: &'f Facts, model: &Model) -> DesignPrices<'f> {
        let wanted = model.region.as_ref().and_then(|region| facts.regions.get(&region.value));
        let region = wanted.or_else(|| facts.regions.get(REGION)).or(facts.regions.values().next());
        let class = region.map_or_else(proportions, |region| region.standard);
        DesignPrices { facts, class }
    }

    /// The whole model, with plans in the order of its patterns.
    pub fn of(&self, model: &Model, plans: &[Plan]) -> Price {
        let footprints = Footprints::new(model);
        let mut price = Price::default();
        for (pattern, plan) in model.patterns.iter().zip(plans) {
            for (action, step) in pattern.actions.iter().zip(&plan.steps) {
                let cost = self.action(model, &footprints, pattern, action, &step.kind);
                price.reads += cost.reads;
                price.writes += cost.writes;
                for follows in copies::updates(model, pattern, action) {
                    let cost =
                        self.action(model, &footprints, &follows.pattern, follows.action(), &follows.plan);
                    price.writes += cost.writes * follows.items;
                }
            }
        }
        for id in model.entity_ids() {
            price.storage += self.rows(model, id, 1.0, footprints.of(id).item_bytes);
            for entry in &model.entity(id).entries {
                price.storage += self.entry(model, &footprints, id, entry);
            }
        }
        price
    }

    /// The monthly price of one action of a pattern.
    pub fn action(
        &self,
        model: &Model,
        footprints: &Footprints,
        pattern: &Pattern,
        action: &Action,
        step: &ActionPlan,
    ) -> Price {
        let portions = demand::of_action(model, footprints, pattern, (action, step));
        let units = |kind: UnitKind| -> f64 {
            portions.iter().filter(|one| one.kind == kind).map(Portion::average).sum()
        };
        let times = rate(pattern) * self.facts.month_seconds();
        Price {
            reads: units(UnitKind::Read) * times * self.class.read_million / 1e6,
            writes: self.writes(pattern, units(UnitKind::Write)),
            ..Price::default()
        }
    }

    /// The cost of this many write units for each execution of a pattern.
    pub fn writes(&self, pattern: &Pattern, units: f64) -> f64 {
        units * rate(pattern) * self.facts.month_seconds() * self.class.write_million / 1e6
    }

    /// The rows of an entity in one index.
    pub fn entry(&self, model: &Model, footprints: &Footprints, id: EntityId, entry: &IndexEntry) -> f64 {
        self.rows(model, id, share(model, id, entry), footprints.of(id).bytes(Some(entry.index)))
    }

    fn rows(&self, model: &Model, id: EntityId, share: f64, bytes: usize) -> f64 {
        let each = bytes as f64 + self.facts.limits.row_overhead_bytes;
        let bytes = model.items(id).unwrap_or(0.0) * share * each;
        bytes / self.facts.gigabyte_bytes * self.class.storage_gb_month
    }
}

/// Executions per second; a low default if none is declared.
pub fn rate(pattern: &Pattern) -> f64 {
    pattern.rate.as_ref().map_or(RATE_UNKNOWN, |rate| rate.value.average)
}

/// The share of items that a sparse index holds.
pub fn share(model: &Model, id: EntityId, entry: &IndexEntry) -> f64 {
    let when = model.entity(id).membership(entry);
    let terms = when.iter().flat_map(|when| &when.terms);
    let shares = terms.map(|term| {
        let attribute = model.entity(id).attribute(&term.attribute.value)?;
        match term.operator {
            Operator::Exists => attribute.present,
            _ => attribute.share_of(term.operands.first()?.literal()?),
        }
    });
    shares.map(|share| share.unwrap_or(SHARE_UNKNOWN)).product()
}

/// Relative prices without any Region: a write costs as much as five reads.
fn proportions() -> ClassPrices {
    ClassPrices {
        write_million: 5.0,
        read_million: 1.0,
        write_unit_hour: 0.0,
        read_unit_hour: 0.0,
        storage_gb_month: 1.0,
    }
}
