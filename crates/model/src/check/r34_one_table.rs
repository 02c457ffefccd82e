//! R34: entities in one table that have nothing in common but the table.

use super::{Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{ActionKind, Consistency, Entity, EntityId, Model, Pattern, TableId};
use crate::template::may_equal;
use crate::{Diagnostic, Spanned};

pub const RULE: Rule = Rule {
    id: RuleId(34),
    level: Level::Warning,
    title: "One table holds unrelated entities",
    page: include_str!("../../../../docs/rules/R34.md"),
    // How many differences are reported, and from which ratio the request rates count as different.
    parameters: &[("differences", 2.0), ("rate-factor", 100.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let ids = subject.model.table_ids();
    ids.flat_map(|id| {
        let mut found = owners(subject.model, id);
        // Different owners are the clearest sign; more reports would repeat it.
        if found.is_empty() {
            found.extend(unrelated_groups(subject, id));
        }
        found
    })
    .collect()
}

/// Items of one table that different teams own.
fn owners(model: &Model, id: TableId) -> Vec<Diagnostic> {
    let table = model.table(id);
    let entities = || model.entities_of(id).filter_map(|(_, entity)| Some((entity, entity.owner.as_ref()?)));
    let first: Option<&Spanned<String>> =
        table.owner.as_ref().or_else(|| entities().map(|(_, owner)| owner).next());
    let Some(first) = first else { return Vec::new() };
    entities()
        .filter(|(_, owner)| owner.value != first.value)
        .map(|(entity, owner)| {
            let message =
                format!("`{}` of {} is in a table of {}", entity.name.value, owner.value, first.value);
            Diagnostic::warning(owner.span, message)
                .label("another owner")
                .related(first.span, "owned here")
                .why("capacity, backups, streams and permissions are set for a table as a whole")
                .help(format!("give `{}` a table of its own under `tables`", entity.name.value))
        })
        .collect()
}

/// Reports groups of entities that have nothing to do with each other.
fn unrelated_groups(subject: &Subject<'_>, id: TableId) -> Option<Diagnostic> {
    let groups = groups(subject.model, id);
    let main = groups.iter().max_by_key(|group| group.len())?;
    let others = groups.iter().filter(|group| !std::ptr::eq(*group, main));
    let (other, differences) = others
        .map(|group| (group, differences(subject, group, main)))
        .find(|(_, differences)| differences.len() as f64 >= subject.parameter("differences"))?;
    let names = |group: &[EntityId]| {
        let each = group.iter().map(|id| subject.model.entity(*id).name.value.as_str());
        listed(&each.collect::<Vec<_>>())
    };
    let entity = subject.model.entity(other[0]);
    let message = format!("{} shares nothing with {} but the table", names(other), names(main));
    Some(
        Diagnostic::warning(entity.name.span, message)
            .label(differences.join("; "))
            .why("items that are never read or written together gain nothing from one table, which has one setting of each kind")
            .help(format!("give `{}` a table of its own under `tables`", entity.name.value)),
    )
}

/// Groups of related entities, in the order of the file.
fn groups(model: &Model, id: TableId) -> Vec<Vec<EntityId>> {
    let mut groups: Vec<Vec<EntityId>> = Vec::new();
    for (entity, _) in model.entities_of(id) {
        let (tied, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.iter().any(|other| are_related(model, *other, entity)));
        groups = apart;
        let mut group: Vec<EntityId> = tied.into_iter().flatten().collect();
        group.push(entity);
        groups.push(group);
    }
    groups
}

/// Whether a partition, a pattern, a relation, a count or a copy connects the two.
fn are_related(model: &Model, one: EntityId, other: EntityId) -> bool {
    share_partition(model, one, other)
        || model.patterns.iter().any(|pattern| touches(pattern, one) && touches(pattern, other))
        || model.relations.iter().any(|relation| {
            let ends = [Some(relation.from), Some(relation.to), relation.via];
            ends.contains(&Some(one)) && ends.contains(&Some(other))
        })
        || refers(model.entity(one), other)
        || refers(model.entity(other), one)
}

fn share_partition(model: &Model, one: EntityId, other: EntityId) -> bool {
    let others = model.places_of(other);
    model.places_of(one).iter().any(|place| {
        let same_source = others.iter().filter(|other| other.index_id() == place.index_id());
        same_source.into_iter().any(|other| {
            let (one, other) = (place.partition(), other.partition());
            one.iter().zip(&other).all(|((_, one), (_, other))| may_equal(one, other))
        })
    })
}

fn refers(entity: &Entity, to: EntityId) -> bool {
    let counted = entity.count.as_ref().is_some_and(|count| count.per == Some(to));
    let copies = || entity.attributes.values().filter_map(|attribute| attribute.copy_of.as_ref());
    counted || copies().any(|copy| copy.entity == to)
}

fn touches(pattern: &Pattern, entity: EntityId) -> bool {
    pattern.actions.iter().any(|action| match &action.kind {
        ActionKind::Read(read) => read.entities.iter().any(|one| one.value == entity),
        ActionKind::Write(write) => write.entity.value == entity,
    })
}

/// What differs between the two groups among the things that hold for a whole table.
fn differences(subject: &Subject<'_>, one: &[EntityId], other: &[EntityId]) -> Vec<String> {
    let expires = |group: &[EntityId]| {
        let expiring = group.iter().filter(|id| subject.model.entity(**id).expires.is_some()).count();
        (expiring == group.len(), expiring == 0)
    };
    let (strong_one, strong_other) = (strong_share(subject, one), strong_share(subject, other));
    let (rate_one, rate_other) = (rate(subject, one), rate(subject, other));
    let factor = subject.parameter("rate-factor");
    let apart = |one: f64, other: f64| one > 0.0 && other > 0.0 && one / other >= factor;
    let mut differences = Vec::new();
    if matches!((expires(one), expires(other)), ((true, _), (_, true)) | ((_, true), (true, _))) {
        differences.push("one expires, the other stays".to_owned());
    }
    if matches!((strong_one, strong_other), (Some(1.0), Some(0.0)) | (Some(0.0), Some(1.0))) {
        differences.push("one is read strongly, the other not".to_owned());
    }
    if apart(rate_one, rate_other) || apart(rate_other, rate_one) {
        differences.push(format!("requests differ more than {} times", figures::count(factor)));
    }
    differences
}

/// The share of reads that are strongly consistent; `None` without reads.
fn strong_share(subject: &Subject<'_>, group: &[EntityId]) -> Option<f64> {
    let reads: Vec<bool> = subject
        .patterns()
        .filter(|(pattern, _)| pattern.is_read() && group.iter().any(|id| touches(pattern, *id)))
        .map(|(pattern, _)| pattern.consistency.as_ref().is_some_and(|one| one.value == Consistency::Strong))
        .collect();
    let strong = reads.iter().filter(|strong| **strong).count();
    (!reads.is_empty()).then(|| strong as f64 / reads.len() as f64)
}

fn rate(subject: &Subject<'_>, group: &[EntityId]) -> f64 {
    let patterns = subject.patterns().filter(|(pattern, _)| group.iter().any(|id| touches(pattern, *id)));
    patterns.filter_map(|(pattern, _)| pattern.rate.as_ref()).map(|rate| rate.peak()).sum()
}
