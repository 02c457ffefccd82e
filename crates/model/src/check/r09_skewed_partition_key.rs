//! R9: one partition key has most of the traffic.

use super::r06_low_cardinality_partition_key::values_of;
use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::facts::Facts;
use crate::heat::{DEFAULT_HEADROOM, Heat, heat};
use crate::model::{Attribute, Pattern, Place, Skew};
use crate::plan::{ActionPlan, Plan};
use crate::template::{Field, Form, Template};

pub const RULE: Rule = Rule {
    id: RuleId(9),
    level: Level::Warning,
    title: "One partition key has most of the traffic",
    page: include_str!("../../../../docs/rules/R9.md"),
    // The share from which it is reported, unless the key uses less than this part of what a partition sustains.
    parameters: &[("share", 0.5), ("load", 0.1)],
    check,
};

const WHY: &str = "a partition key takes at most 1,000 write units and 3,000 read units a second: the busiest \
                   key throttles first, whatever the average";

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let heats = heat(subject.model, subject.plans, &Facts::embedded().limits, DEFAULT_HEADROOM);
    let patterns =
        subject.patterns().filter_map(|(pattern, plan)| in_pattern(subject, &heats, pattern, plan));
    let places = subject.model.places().into_iter();
    patterns.chain(places.filter_map(|place| in_place(subject, &heats, place))).collect()
}

/// The pattern itself declares that most of its requests go to one key.
fn in_pattern(subject: &Subject<'_>, heats: &[Heat], pattern: &Pattern, plan: &Plan) -> Option<Diagnostic> {
    let skew = pattern.skew.as_ref()?;
    let Skew::Top(share) = skew.value else { return None };
    let load = heats
        .iter()
        .flat_map(|heat| &heat.keys)
        .filter(|key| key.from.iter().any(|one| one.pattern == pattern.id.value));
    let load = load.map(|key| key.load).reduce(f64::max);
    if share < subject.parameter("share") || is_harmless(subject, load) || is_sharded(subject, plan) {
        return None;
    }
    let message = format!("{:.0}% of `{}` goes to one partition key", share * 100.0, pattern.id.value);
    let help = if pattern.is_read() {
        "let a cache answer the busiest (`cached: 90%`), or keep copies of it under several keys"
    } else {
        "spread that key over several with `{shard(…, 10)}` in the partition key"
    };
    Some(Diagnostic::warning(skew.span, message).label(used(load)).why(WHY).help(help))
}

fn used(load: Option<f64>) -> String {
    match load {
        Some(load) => format!("uses {:.0}% of what one partition sustains", load * 100.0),
        None => "the busiest key".to_owned(),
    }
}

/// Little traffic does no harm however uneven it is, and R11 reports too much. Without rates nothing is known.
fn is_harmless(subject: &Subject<'_>, load: Option<f64>) -> bool {
    load.is_some_and(|load| load < subject.parameter("load") || load > 1.0)
}

/// Whether the keys are already sharded.
fn is_sharded(subject: &Subject<'_>, plan: &Plan) -> bool {
    plan.steps.iter().any(|step| {
        let place = match &step.kind {
            ActionPlan::Read(read) => subject.place(read.entities[0], read.index),
            ActionPlan::Write(write) => subject.place(write.entity, None),
        };
        place.is_some_and(|place| place.partition().iter().any(|(_, template)| template.shards() > 1))
    })
}

/// The values of an attribute are uneven, and the partition key consists of it alone.
fn in_place(subject: &Subject<'_>, heats: &[Heat], place: Place<'_>) -> Option<Diagnostic> {
    if place.index.is_some_and(|(_, _, entry)| !entry.declared) {
        return None;
    }
    let partition = place.partition();
    let fields: Vec<&Field> = partition.iter().flat_map(|(_, template)| template.fields()).collect();
    let all_few = fields.iter().all(|field| values_of(place, field).is_some_and(|values| values <= 100.0));
    let share: f64 = fields.iter().map(|field| top_share(place, field)).product();
    let here = heats.iter().find(|heat| heat.table_id == place.table_id && heat.index_id == place.index_id());
    let load = here.and_then(Heat::busiest).map(|key| key.load);
    // R6 reports a key with few values, whatever their shares.
    if all_few || share < subject.parameter("share") || is_harmless(subject, load) {
        return None;
    }
    let field = fields.first()?;
    let attribute = place.entity.attribute(field.attribute()?)?;
    let message = format!(
        "one value of `{}` has {:.0}% of `{}` in {}",
        attribute.name,
        share * 100.0,
        place.entity.name.value,
        place.name()
    );
    let template: &Template = partition.iter().map(|(_, template)| *template).next()?;
    let span = attribute.skew.as_ref().map_or(attribute.span, |skew| skew.span);
    Some(
        Diagnostic::warning(field.span, message)
            .label("makes one key busier than all others")
            .why(WHY)
            .related(span, "as declared here")
            .help(format!(
                "add a part that differs between its items, or spread it: `{template}#{{shard(…, 10)}}`"
            )),
    )
}

/// The share of its most frequent value; 0 unless the file declares one.
fn top_share(place: Place<'_>, field: &Field) -> f64 {
    let (Form::Attribute(name) | Form::Lower(name)) = &field.form else { return 0.0 };
    place.entity.attribute(name).and_then(declared_share).unwrap_or(0.0)
}

fn declared_share(attribute: &Attribute) -> Option<f64> {
    let skew = attribute.skew.as_ref().map(|skew| skew.value);
    match skew {
        Some(Skew::Top(share)) => Some(share),
        Some(Skew::Zipf(exponent)) => {
            Some(Skew::Zipf(exponent).top_share(attribute.cardinality().unwrap_or(f64::from(u32::MAX))))
        }
        _ => attribute.shares.iter().copied().reduce(f64::max),
    }
}
