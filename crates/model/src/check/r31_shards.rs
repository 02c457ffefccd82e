//! R31: shards that spread nothing, that readers forget, or that can't be found again.

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Action, Entity, Place, ReadVerb, Write, WriteVerb};
use crate::plan::{Gap, ReadPlan};
use crate::template::{Field, Form, Template};

pub const RULE: Rule = Rule {
    id: RuleId(31),
    level: Level::Error,
    title: "A shard spreads nothing, or its readers can't find the items",
    page: include_str!("../../../../docs/rules/R31.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places();
    let keys = places.iter().flat_map(|place| in_place(*place));
    let reads = subject.reads().filter_map(|one| match one.read.verb {
        ReadVerb::Get => blind_get(subject, one.action, one.plan),
        ReadVerb::Query | ReadVerb::Scan => forgotten(subject, one.action, one.plan),
    });
    let writes = subject.writes().filter_map(|one| blind_write(subject, one.action, one.write));
    keys.chain(reads).chain(writes).collect()
}

/// Shards in the keys themselves.
fn in_place(place: Place<'_>) -> Vec<Diagnostic> {
    if place.index.is_some_and(|(_, _, entry)| !entry.declared) {
        return Vec::new();
    }
    let partition: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let sort: Vec<&Template> = place.sort().into_iter().map(|(_, template)| template).collect();
    let spread = partition.iter().any(|template| template.shards() > 1);
    let in_sort = sort.iter().flat_map(|template| template.fields());
    let in_sort = in_sort.filter(|field| !spread && field.shards().is_some_and(|shards| shards > 1));
    let in_partition = partition.iter().flat_map(|template| template.fields());
    in_sort
        .map(|field| in_the_sort_key(place, field))
        .chain(in_partition.filter_map(|field| idle(place, &partition, field)))
        .collect()
}

/// The partition key stays one value, whatever the sort key contains.
fn in_the_sort_key(place: Place<'_>, field: &Field) -> Diagnostic {
    let (_, partition) = place.partition()[0];
    Diagnostic::error(field.span, format!("the shard is in the sort key of {}", place.name()))
        .label("spreads nothing")
        .related(partition.span, "all shards are in this one partition")
        .why("the partition key alone decides where an item is stored; a key sustains 1,000 writes and 3,000 reads a second")
        .help(format!("write it into the partition key: `{partition}#{field}`"))
}

/// A shard that has one value for each partition key, or fewer values than shards.
fn idle(place: Place<'_>, partition: &[&Template], field: &Field) -> Option<Diagnostic> {
    let Form::Shard { attribute, count } = &field.form else { return None };
    let beside = partition
        .iter()
        .flat_map(|template| template.fields())
        .any(|other| matches!(&other.form, Form::Attribute(name) | Form::Lower(name) if name == attribute));
    if beside {
        let message = format!("the shard is computed from `{attribute}`, which the key holds already");
        return Some(
            Diagnostic::error(field.span, message)
                .label("the same for every item of the key")
                .why("one value always gives one shard: nothing is spread")
                .help(format!(
                    "compute it from what differs within the key, as in `{{shard({}, {count})}}`",
                    other_id(place.entity, attribute)
                )),
        );
    }
    let values = place.entity.attribute(attribute)?.cardinality()?;
    (values < *count as f64).then(|| {
        let message = format!("`{attribute}` has {} values, for {count} shards", figures::count(values));
        Diagnostic::warning(field.span, message)
            .label("some shards stay empty")
            .why("a value always goes to the same shard, so there are never more shards than values")
            .help(format!(
                "compute it from an id, as in `{{shard({}, {count})}}`",
                other_id(place.entity, attribute)
            ))
    })
}

/// Another attribute of the table's key to compute a shard from: attributes of the sort key differ within a
/// partition.
fn other_id<'e>(entity: &'e Entity, than: &str) -> &'e str {
    let sort = entity.key.iter().filter_map(|key| key.sort.as_ref());
    let templates = sort.chain(entity.key.iter().map(|key| &key.partition));
    let mut names = templates.flat_map(|template| template.attributes());
    let many = |name: &str| entity.attribute(name).is_none_or(|one| one.cardinality().is_none());
    names.find(|name| *name != than && many(name)).unwrap_or("id")
}

fn random_in<'t>(templates: impl IntoIterator<Item = &'t Template>) -> Option<(&'t Field, u64)> {
    let mut fields = templates.into_iter().flat_map(|template| template.fields());
    fields.find_map(|field| match field.form {
        Form::Random { count } if count > 1 => Some((field, count)),
        _ => None,
    })
}

/// A get of one item whose shard is not known.
fn blind_get(subject: &Subject<'_>, action: &Action, planned: &ReadPlan) -> Option<Diagnostic> {
    let (field, count) = random_in(&planned.partition)?;
    Some(lost(action, field, subject.model.entity(planned.entities[0]), "a reader", count))
}

/// An update or delete whose shard is not known. Adding to a counter is fine in any shard.
fn blind_write(subject: &Subject<'_>, action: &Action, write: &Write) -> Option<Diagnostic> {
    let finds = matches!(write.verb, WriteVerb::Update | WriteVerb::Delete | WriteVerb::Check);
    let counts = write.verb == WriteVerb::Update && !write.add.is_empty() && write.set.is_empty();
    if !finds || counts {
        return None;
    }
    let entity = subject.model.entity(write.entity.value);
    let (field, count) = random_in(entity.key_templates())?;
    Some(lost(action, field, entity, "a writer", count))
}

fn lost(action: &Action, field: &Field, entity: &Entity, who: &str, count: u64) -> Diagnostic {
    Diagnostic::error(action.span, format!("{who} doesn't know which of {count} shards the item is in"))
        .label("needs the whole key")
        .related(field.span, "drawn at random when it was written")
        .why("a random shard can't be computed again: one item is found only by asking all of them")
        .help(format!(
            "compute the shard from what is known, as in `{{shard({}, {count})}}`",
            other_id(entity, "")
        ))
}

/// A query of one shard where all are meant.
fn forgotten(subject: &Subject<'_>, action: &Action, planned: &ReadPlan) -> Option<Diagnostic> {
    let undeclared = planned.gaps.iter().find_map(|gap| match gap {
        Gap::FanOutUndeclared { requests } => Some(*requests),
        _ => None,
    })?;
    let mut fields = planned.partition.iter().flat_map(|template| template.fields());
    let field = fields.find(|field| field.shards().is_some_and(|shards| shards > 1))?;
    let known = field.attribute().map(|name| format!(", or add `{name}` to `by` if it is known"));
    let entity = &subject.model.entity(planned.entities[0]).name.value;
    Some(
        Diagnostic::error(action.span, format!("`{entity}` is sharded: this takes {undeclared} requests"))
            .label("one Query reads one shard")
            .related(field.span, "spread here")
            .why("each shard is a partition key of its own; the reader asks all of them and merges")
            .help(format!("write `fan-out: allowed` if it does so{}", known.unwrap_or_default()))
            .fix(Fix::put(action.span, "fan-out", "allowed")),
    )
}
