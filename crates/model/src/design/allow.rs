//! Findings of the rules that the design answers by figures: few partition keys, or a single one, are no problem if
//! they get little. The file then allows them, with the load as the reason.

use crate::check::check;
use crate::diagnostic::RuleId;
use crate::facts::Limits;
use crate::heat::heat;
use crate::model::{Allowance, Place};
use crate::{Diagnostic, Model, Span};

use super::assemble::plans;

/// Few values in a partition key, and one value.
const ANSWERED: [RuleId; 2] = [RuleId(6), RuleId(7)];

/// What to allow in `drawn`, given what the rules find in the same model as it is `written`.
pub fn answered(drawn: &Model, written: &Model, limits: &Limits, headroom: f64) -> Vec<Allowance> {
    let plans = plans(written);
    let heats = heat(written, &plans, limits, headroom);
    let load = |place: Place<'_>| -> Option<f64> {
        let here =
            heats.iter().find(|heat| heat.table_id == place.table_id && heat.index_id == place.index_id())?;
        let prefix = place.partition().first().map_or("", |(_, template)| template.literal_prefix());
        let keys = here.keys.iter().filter(|key| key.key.starts_with(prefix));
        keys.map(|key| key.load).max_by(f64::total_cmp)
    };
    let allowance = |found: Diagnostic| {
        let rule = found.rule.filter(|rule| ANSWERED.contains(rule) && found.allowed.is_none())?;
        let place = written.places().into_iter().find(|place| is_in(found.span, *place))?;
        let load = load(place).filter(|load| *load <= headroom && has_rates(written, place))?;
        let load = load * 100.0;
        let reason = match rule {
            RuleId(7) => format!("one key takes all of it: at most {load:.1}% of what a partition sustains"),
            _ => format!(
                "few keys take all of it: the busiest at most {load:.1}% of what a partition sustains"
            ),
        };
        Some(Allowance { rule, reason, scope: scope(drawn, place, found.span)?, span: Span::default() })
    };
    check(written).into_iter().filter_map(allowance).collect()
}

fn is_in(span: Span, place: Place<'_>) -> bool {
    place.partition().iter().any(|(_, template)| template.span == span)
}

/// Without rates, a low load is only an unknown one.
fn has_rates(model: &Model, place: Place<'_>) -> bool {
    let uses = |pattern: &&crate::model::Pattern| {
        let read = pattern.reads().flat_map(|(_, read)| read.entities.iter().map(|entity| entity.value));
        let written = pattern.writes().map(|(_, write)| write.entity.value);
        read.chain(written).any(|id| id == place.entity_id)
    };
    model.patterns.iter().filter(uses).all(|pattern| pattern.rate.is_some() || pattern.external.is_some())
}

/// The element of the drawn model in which the finding is allowed: the smallest of those that have it.
fn scope(drawn: &Model, place: Place<'_>, found: Span) -> Option<Span> {
    let entity = drawn.entity(place.entity_id);
    match place.index {
        Some((id, _, entry)) if entry.declared && entry.span.contains(found) => Some(entity.entry(id)?.span),
        Some((id, index, _)) if index.span.contains(found) => Some(drawn.table_of(entity).index(id).span),
        _ => Some(entity.span),
    }
}
