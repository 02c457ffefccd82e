//! R17: items that are read together are in different partitions, or share a partition without need.

use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{EntityId, Grouping, Model, Pattern, Place};
use crate::plan::{Gap, Plan};
use crate::predict::found::items_per_key;
use crate::template::Template;

pub const RULE: Rule = Rule {
    id: RuleId(17),
    level: Level::Error,
    title: "Items that are read together are in different partitions, or share one without need",
    page: include_str!("../../../../docs/rules/R17.md"),
    // A collection of this many items has a reason to be one.
    parameters: &[("items", 1000.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let apart = subject.reads().filter_map(|one| apart(subject, one));
    let fetched = subject.patterns().filter_map(|(pattern, _)| fetched_apart(subject, pattern));
    apart.chain(fetched).chain(together_for_nothing(subject)).collect()
}

/// One Query should return several entities, and no key holds them all.
fn apart(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    if one.read.entities.len() < 2 || !one.plan.gaps.contains(&Gap::NotTogether) {
        return None;
    }
    let names: Vec<&str> = names(subject.model, &one.plan.entities);
    let span = one.read.entities.iter().map(|entity| entity.span).reduce(crate::Span::to)?;
    let message =
        format!("`{}` reads {} together, but they are in different partitions", one.name(), listed(&names));
    let mut found = Diagnostic::error(span, message)
        .label("takes a request for each of them")
        .why("one Query reads one partition of the table or of one index");
    for entity in &one.plan.entities {
        let entity = subject.model.entity(*entity);
        if let Some(key) = &entity.key {
            let note = format!("`{}` is under `{}`", entity.name.value, key.partition);
            found = found.related(key.partition.span, note);
        }
    }
    let known = one.known();
    let key = known.first().map_or("their parent's id".to_owned(), |known| format!("`{known}`"));
    Some(found.help(format!(
        "give all of them the same partition key, made of {key}: in the table, or in one index that each of \
         them has a key in"
    )))
}

/// A batch or transaction that gets a parent and its children one by one.
fn fetched_apart(subject: &Subject<'_>, pattern: &Pattern) -> Option<Diagnostic> {
    if pattern.grouping == Grouping::Single || !pattern.is_read() {
        return None;
    }
    let reads: Vec<_> = pattern.reads().collect();
    let (action, parent, child) = reads.iter().find_map(|(action, read)| {
        let child = read.entities.first()?.value;
        let parent = subject.model.entity(child).count.as_ref()?.per?;
        let both = reads.iter().any(|(_, other)| other.entities.iter().any(|one| one.value == parent));
        (both && action.times > 1).then_some((action, parent, child))
    })?;
    let key = |id: EntityId| subject.model.entity(id).key.as_ref();
    let (parent_key, child_key) = (key(parent)?, key(child)?);
    if parent_key.partition.to_string() == child_key.partition.to_string() {
        return None;
    }
    let (parent, child) = (&subject.model.entity(parent).name.value, &subject.model.entity(child).name.value);
    let message = format!("`{}` gets a `{parent}` and each `{child}` of it one by one", pattern.id.value);
    Some(
        Diagnostic::warning(action.span, message)
            .label(format!("{} items, each of which is looked up", action.times))
            .why("items of one partition come with one Query, which counts their bytes together")
            .related(parent_key.partition.span, format!("`{parent}` is here"))
            .related(child_key.partition.span, format!("`{child}` is here"))
            .help(format!("put `{child}` under the partition key of its `{parent}`, and query them")),
    )
}

/// Two large kinds of item under one partition key that no pattern reads or writes together.
fn together_for_nothing(subject: &Subject<'_>) -> Vec<Diagnostic> {
    strangers(subject).into_iter().filter_map(|(one, other)| strangers_together(one, other)).collect()
}

/// Those pairs, in the order of the file.
fn strangers<'m>(subject: &Subject<'m>) -> Vec<(Place<'m>, Place<'m>)> {
    let places: Vec<Place<'m>> =
        subject.model.places().into_iter().filter(|place| place.index.is_none()).collect();
    let mut found = Vec::new();
    for (position, other) in places.iter().enumerate() {
        let strangers = places[..position].iter().filter(|one| {
            one.table_id == other.table_id
                && partition(**one).map(ToString::to_string) == partition(*other).map(ToString::to_string)
                && is_large(subject, **one)
                && is_large(subject, *other)
                && is_queried(subject, one.entity_id)
                && is_queried(subject, other.entity_id)
                && !are_used_together(subject, one.entity_id, other.entity_id)
        });
        found.extend(strangers.map(|one| (*one, *other)));
    }
    found
}

/// The second of each pair: an entity that should have partitions of its own.
pub fn better_apart(model: &Model, plans: &[Plan]) -> Vec<EntityId> {
    let subject = Subject::new(model, plans, &RULE);
    strangers(&subject).into_iter().map(|(_, other)| other.entity_id).collect()
}

fn is_large(subject: &Subject<'_>, place: Place<'_>) -> bool {
    items_per_key(subject.model, place).is_some_and(|items| items > subject.parameter("items"))
}

fn is_queried(subject: &Subject<'_>, entity: EntityId) -> bool {
    subject.reads().any(|one| one.plan.index.is_none() && one.plan.entities.contains(&entity))
}

fn are_used_together(subject: &Subject<'_>, one: EntityId, other: EntityId) -> bool {
    subject.model.patterns.iter().any(|pattern| {
        let read = pattern.reads().flat_map(|(_, read)| read.entities.iter().map(|entity| entity.value));
        let written = pattern.writes().map(|(_, write)| write.entity.value);
        let used: Vec<EntityId> = read.chain(written).collect();
        used.contains(&one) && used.contains(&other)
    })
}

fn strangers_together(one: Place<'_>, other: Place<'_>) -> Option<Diagnostic> {
    let (one_name, other_name) = (&one.entity.name.value, &other.entity.name.value);
    let key = partition(other)?;
    let message = format!("`{one_name}` and `{other_name}` share a partition, and no pattern uses both");
    Some(
        Diagnostic::warning(key.span, message)
            .label("shares the throughput of one key")
            .why("all items of one partition key share its 1,000 writes and 3,000 reads a second")
            .related(partition(one)?.span, format!("`{one_name}` is here too"))
            .help(format!(
                "give `{other_name}` a partition of its own: `{}#{key}`",
                other_name.to_uppercase()
            )),
    )
}

fn partition(place: Place<'_>) -> Option<&Template> {
    place.partition().into_iter().next().map(|(_, template)| template)
}

fn names<'m>(model: &'m Model, entities: &[EntityId]) -> Vec<&'m str> {
    entities.iter().map(|id| model.entity(*id).name.value.as_str()).collect()
}
