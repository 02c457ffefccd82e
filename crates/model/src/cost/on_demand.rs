//! On demand: every unit that a request uses is billed.

use super::line::Line;
use crate::Model;
use crate::demand::{self, Resource, UnitKind, Usage};
use crate::facts::{ClassPrices, Facts, Replicated};

/// The price of a million units.
pub fn price(prices: &ClassPrices, kind: UnitKind) -> f64 {
    match kind {
        UnitKind::Read => prices.read_million,
        UnitKind::Write => prices.write_million,
    }
}

/// One line for each pattern and each resource it uses. Writes to a global table are `replicated`.
pub fn line(
    model: &Model,
    facts: &Facts,
    one: &Usage,
    prices: &ClassPrices,
    replicated: Option<&Replicated>,
) -> Line {
    let pattern = &model.patterns[one.pattern];
    let replicated = replicated.filter(|_| is_replicated(one.resource, one.kind));
    let (verb, unit) = match (one.kind, replicated) {
        (UnitKind::Read, _) => ("reads of", "RRU"),
        (UnitKind::Write, None) => ("writes to", "WRU"),
        (UnitKind::Write, Some(_)) => ("writes to", "rWRU"),
    };
    let million = replicated.map_or(price(prices, one.kind), |replicated| replicated.write_million);
    let cause = match one.copies {
        None => pattern.id.value.clone(),
        Some(entity) => format!("copies in {} after {},", model.entity(entity).name.value, pattern.id.value),
    };
    Line::new(format!("{cause} {verb} {}", demand::name(model, one.resource)))
        .times(one.day.average(), "requests/s")
        .times(one.units, unit)
        .times(facts.month_seconds(), "s")
        .times(million, "$")
        .over(1e6, "")
}

/// Writes to a global table are billed as replicated; its indexes are written again in each Region.
pub fn is_replicated(resource: Resource, kind: UnitKind) -> bool {
    resource.1.is_none() && kind == UnitKind::Write
}
