//! Provisioned: units for an hour, whether they are used or not. As the file fixes them, or as auto scaling
//! would.

use serde::Serialize;

use super::line::{Line, number};
use super::on_demand::is_replicated;
use super::scaling::{Provisioned, policy, simulate};
use crate::Model;
use crate::demand::{self, Kind, Place, Use};
use crate::facts::{ClassPrices, Facts, Replicated};
use crate::model::{Capacity, Throughput};
use crate::traffic::HOURS;

/// The capacity of one place.
#[derive(Clone, Debug, Serialize)]
pub struct Supply {
    #[serde(skip)]
    pub place: Place,
    #[serde(skip)]
    pub kind: Kind,
    pub name: String,
    pub unit: &'static str,
    /// Units each second that are asked for, over the day and in its busiest hour.
    pub average: f64,
    pub peak: f64,
    /// The utilisation aimed at; none if the file fixes the units.
    pub target: Option<f64>,
    #[serde(flatten)]
    pub provisioned: Provisioned,
}

pub fn supplies(model: &Model, uses: &[Use]) -> Vec<Supply> {
    let places = demand::places(model).into_iter();
    places.flat_map(|place| [Kind::Read, Kind::Write].map(|kind| supply(model, uses, place, kind))).collect()
}

fn supply(model: &Model, uses: &[Use], place: Place, kind: Kind) -> Supply {
    let demand = demand::demand(uses, place, kind);
    let capacity = capacity(model, place, kind);
    let fixed = capacity.and_then(|capacity| capacity.units.filter(|_| !scales(capacity)));
    let policy = policy(capacity);
    Supply {
        place,
        kind,
        name: demand::name(model, place),
        unit: match kind {
            Kind::Read => "RCU",
            Kind::Write => "WCU",
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

/// Of the index; one without its own scales as its table does.
pub fn capacity(model: &Model, (table, index): Place, kind: Kind) -> Option<&Capacity> {
    let table = model.table(table);
    let own = index.and_then(|index| of_kind(&table.index(index).throughput, kind));
    own.or_else(|| of_kind(&table.throughput, kind))
}

fn of_kind(throughput: &Throughput, kind: Kind) -> Option<&Capacity> {
    let capacity = match kind {
        Kind::Read => throughput.read.as_ref(),
        Kind::Write => throughput.write.as_ref(),
    };
    capacity.map(|capacity| &capacity.value)
}

/// Whether auto scaling moves the units.
pub fn scales(capacity: &Capacity) -> bool {
    capacity.min.is_some() || capacity.max.is_some() || capacity.target.is_some()
}

impl Supply {
    pub fn price(&self, prices: &ClassPrices, replicated: Option<&Replicated>) -> f64 {
        match (self.kind, replicated.filter(|_| is_replicated(self.place, self.kind))) {
            (Kind::Read, _) => prices.read_unit_hour,
            (Kind::Write, None) => prices.write_unit_hour,
            (Kind::Write, Some(replicated)) => replicated.write_unit_hour,
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

    /// The capacity of each hour, from midnight on, and its sum: `24 × 100 = 2,400`.
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
