//! Provisioned: units are billed by the hour, used or not. The file fixes them, or auto scaling is simulated.

use serde::Serialize;

use super::line::{Line, number};
use super::on_demand::is_replicated;
use super::scaling::{Provisioned, policy, simulate};
use crate::Model;
use crate::demand::{self, Resource, UnitKind, Usage};
use crate::facts::{ClassPrices, Facts, Replicated};
use crate::model::{Capacity, Throughput};
use crate::traffic::HOURS;

/// The capacity of one table or index.
#[derive(Clone, Debug, Serialize)]
pub struct Supply {
    #[serde(skip)]
    pub resource: Resource,
    #[serde(skip)]
    pub kind: UnitKind,
    pub name: String,
    pub unit: &'static str,
    /// Units per second asked for, on average and in the busiest hour.
    pub average: f64,
    pub peak: f64,
    /// The target utilisation; `None` if the file fixes the units.
    pub target: Option<f64>,
    #[serde(flatten)]
    pub provisioned: Provisioned,
}

/// The capacity of every table and global index, for reads and for writes.
pub fn supplies(model: &Model, uses: &[Usage]) -> Vec<Supply> {
    let resources = demand::resources(model).into_iter();
    resources
        .flat_map(|resource| {
            [UnitKind::Read, UnitKind::Write].map(|kind| supply(model, uses, resource, kind))
        })
        .collect()
}

fn supply(model: &Model, uses: &[Usage], resource: Resource, kind: UnitKind) -> Supply {
    let demand = demand::demand(uses, resource, kind);
    let capacity = capacity(model, resource, kind);
    let fixed = capacity.and_then(|capacity| capacity.units.filter(|_| !scales(capacity)));
    let policy = policy(capacity);
    Supply {
        resource,
        kind,
        name: demand::name(model, resource),
        unit: match kind {
            UnitKind::Read => "RCU",
            UnitKind::Write => "WCU",
        },
        average: demand.average(),
        peak: demand.peak(),
        target: fixed.is_none().then_some(policy.target),
        provisioned: match fixed {
            Some(units) => Provisioned::fixed(units, &demand),
            None => simulate(&demand, &policy),
        },
    }
}

/// The capacity that the file sets. An index without settings of its own scales like its table.
pub fn capacity(model: &Model, (table, index): Resource, kind: UnitKind) -> Option<&Capacity> {
    let table = model.table(table);
    let own = index.and_then(|index| of_kind(&table.index(index).throughput, kind));
    own.or_else(|| of_kind(&table.throughput, kind))
}

fn of_kind(throughput: &Throughput, kind: UnitKind) -> Option<&Capacity> {
    let capacity = match kind {
        UnitKind::Read => throughput.read.as_ref(),
        UnitKind::Write => throughput.write.as_ref(),
    };
    capacity.map(|capacity| &capacity.value)
}

/// Whether auto scaling moves the units.
pub fn scales(capacity: &Capacity) -> bool {
    capacity.min.is_some() || capacity.max.is_some() || capacity.target.is_some()
}

impl Supply {
    pub fn price(&self, prices: &ClassPrices, replicated: Option<&Replicated>) -> f64 {
        match (self.kind, replicated.filter(|_| is_replicated(self.resource, self.kind))) {
            (UnitKind::Read, _) => prices.read_unit_hour,
            (UnitKind::Write, None) => prices.write_unit_hour,
            (UnitKind::Write, Some(replicated)) => replicated.write_unit_hour,
        }
    }

    pub fn line(&self, facts: &Facts, prices: &ClassPrices, replicated: Option<&Replicated>) -> Line {
        unit_hours(
            &format!("{} of {}", self.unit, self.name),
            self.provisioned.unit_hours() as f64,
            self.unit,
            facts,
        )
        .times(self.price(prices, replicated), "$")
    }

    /// The capacity of each hour from midnight on, and its sum: `24 × 100 = 2,400`.
    pub fn hours(&self) -> String {
        let hours = self.provisioned.hours;
        let runs: Vec<String> = hours
            .chunk_by(|one, other| one == other)
            .map(|run| match run.len() {
                1 => run[0].to_string(),
                length => format!("{length} × {}", run[0]),
            })
            .collect();
        format!("{} = {}", runs.join(" + "), number(self.provisioned.unit_hours() as f64))
    }
}

/// Unit-hours of a day, over a month.
pub fn unit_hours(what: &str, a_day: f64, unit: &str, facts: &Facts) -> Line {
    Line::new(what)
        .times(a_day, &format!("{unit}-hours a day"))
        .times(facts.month_hours, "h")
        .over(HOURS as f64, "h")
}
