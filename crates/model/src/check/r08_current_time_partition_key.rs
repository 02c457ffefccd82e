//! R8: a partition key that is the current day or hour.

use super::r06_low_cardinality_partition_key::values_of;
use super::spread::{SHARDS, shard};
use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{AttributeKind, Place};
use crate::template::{Field, Form};

pub const RULE: Rule = Rule {
    id: RuleId(8),
    level: Level::Error,
    title: "The partition key is the current time",
    page: include_str!("../../../../docs/rules/R8.md"),
    // One key can take this many new items per second; a part with this many values spreads them.
    parameters: &[("writes", 100.0), ("values", 100.0)],
    check,
};

/// Attributes that are days and months in nearly every model, used if the file declares nothing.
const TIMES: [&str; 7] = ["date", "day", "month", "hour", "week", "yearmonth", "weekday"];

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.places().into_iter().filter_map(|place| finding(subject, place)).collect()
}

fn finding(subject: &Subject<'_>, place: Place<'_>) -> Option<Diagnostic> {
    let partition = place.partition();
    let fields: Vec<&Field> = partition.iter().flat_map(|(_, template)| template.fields()).collect();
    let (times, others): (Vec<&Field>, Vec<&Field>) =
        fields.into_iter().partition(|field| is_time(place, field));
    let time = times.first()?;
    let few =
        |field: &&Field| values_of(place, field).is_some_and(|values| values <= subject.parameter("values"));
    let slow = subject.creates_per_second(place.entity_id);
    if !others.iter().all(few) || slow.is_some_and(|rate| rate <= subject.parameter("writes")) {
        return None;
    }
    let (_, template) =
        partition.iter().find(|(_, template)| template.fields().any(|field| field == *time))?;
    let entity = &place.entity.name.value;
    let field =
        shard(subject, place, SHARDS).map_or_else(|| format!("random({SHARDS})"), |spread| spread.field);
    let message = format!("all new `{entity}` items in {} have the same partition key", place.name());
    Some(
        Diagnostic::error(time.span, message)
            .label(format!("one value for the whole {}", unit(time)))
            .why(
                "whatever is written now goes to the one partition of now, which takes 1,000 writes a \
                 second; those of yesterday are idle",
            )
            .help(format!(
                "put who or what it is about before the time, or spread it: `{template}#{{{field}}}`, \
                 and read all of its keys"
            )),
    )
}

/// A part of a key that all items of one moment share. A whole timestamp differs for each item.
fn is_time(place: Place<'_>, field: &Field) -> bool {
    let kind =
        |name: &str| place.entity.attribute(name).map(|attribute| (attribute.kind, attribute.declared));
    match &field.form {
        Form::Bucket { .. } => true,
        Form::Attribute(name) => match kind(name) {
            Some((AttributeKind::Date, _)) => true,
            Some((AttributeKind::String, false)) => TIMES.contains(&name.to_lowercase().as_str()),
            _ => false,
        },
        _ => false,
    }
}

fn unit(field: &Field) -> &str {
    match &field.form {
        Form::Bucket { unit, .. } => unit.name(),
        Form::Attribute(name) if TIMES.contains(&name.as_str()) && name != "date" => name,
        _ => "day",
    }
}
