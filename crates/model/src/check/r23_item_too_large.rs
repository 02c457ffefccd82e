//! R23: items that can exceed 400 KB, or grow without a bound.

use api::limits::ITEM_BYTES_MAX;

use super::{Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Attribute, AttributeKind, Entity, EntityId, Write, WriteVerb};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(23),
    level: Level::Error,
    title: "An item can pass 400 KB, or grows without a bound",
    page: include_str!("../../../../docs/rules/R23.md"),
    // Near the limit; better kept in S3; how many years of growth to look ahead.
    parameters: &[("near-kb", 300.0), ("blob-kb", 100.0), ("years", 5.0)],
    check,
};

const LIMIT: f64 = ITEM_BYTES_MAX as f64;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.entity_ids().flat_map(|id| in_entity(subject, id)).collect()
}

fn in_entity(subject: &Subject<'_>, id: EntityId) -> Vec<Diagnostic> {
    let entity = subject.model.entity(id);
    let attributes = entity.attributes.values().flat_map(|attribute| {
        growing(subject, entity, attribute)
            .or_else(|| appended(subject, id, attribute))
            .or_else(|| blob(subject, attribute))
    });
    declared_size(subject, entity).or_else(|| summed_sizes(entity)).into_iter().chain(attributes).collect()
}

/// The item size that the file declares.
fn declared_size(subject: &Subject<'_>, entity: &Entity) -> Option<Diagnostic> {
    let size = entity.size.as_ref()?;
    let most = size.most() as f64;
    let near = subject.parameter("near-kb") * 1024.0;
    let message = format!("`{}` can be {} large", entity.name.value, figures::bytes(most));
    if most > LIMIT {
        return Some(limit(Diagnostic::error(size.span, message).label("an item has at most 400 KB")));
    }
    (most > near)
        .then(|| limit(Diagnostic::warning(size.span, message).label("close to the limit of 400 KB")))
}

fn limit(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic
        .why("a write that would make an item larger than 400 KB fails; names of attributes count too")
        .help("split it into items of one partition, or keep the large part in S3 and its address here")
}

/// Attributes that together are too large, whatever the item's own size is said to be.
fn summed_sizes(entity: &Entity) -> Option<Diagnostic> {
    let sizes = entity.attributes.values().filter_map(|attribute| attribute.size);
    let sum: f64 = sizes.map(|size| size.most() as f64).sum();
    let message =
        format!("the attributes of `{}` can be {} large together", entity.name.value, figures::bytes(sum));
    (sum > LIMIT).then(|| limit(Diagnostic::error(entity.name.span, message).label("more than 400 KB")))
}

/// An attribute with a rate of growth: when is the item full?
fn growing(subject: &Subject<'_>, entity: &Entity, attribute: &Attribute) -> Option<Diagnostic> {
    let growth = attribute.growth.as_ref()?;
    let start = entity.size.as_ref().map_or(0, |size| size.typical) as f64;
    let full_after = (LIMIT - start).max(0.0) / growth.per_second().max(f64::MIN_POSITIVE);
    let horizon = subject.parameter("years") * 365.0 * 86_400.0;
    let lifetime = entity.expires.as_ref().map_or(horizon, |expires| expires.value as f64);
    if full_after > lifetime {
        return None;
    }
    let message = format!(
        "`{}` fills its `{}` after {}",
        attribute.name,
        entity.name.value,
        figures::duration(full_after)
    );
    Some(unbounded(
        Diagnostic::error(growth.span, message).label("then every write of the item fails"),
        attribute,
    ))
}

fn unbounded(diagnostic: Diagnostic, attribute: &Attribute) -> Diagnostic {
    diagnostic
        .why("an item has at most 400 KB, and each write is charged for the whole item, however little it adds")
        .help(format!(
            "make each element of `{}` an item of its own in the same partition; keep only the latest here",
            attribute.name
        ))
}

/// A list or set that updates change, whose length is not declared.
fn appended(subject: &Subject<'_>, entity: EntityId, attribute: &Attribute) -> Option<Diagnostic> {
    let grows = matches!(
        attribute.kind,
        AttributeKind::List | AttributeKind::StringSet | AttributeKind::NumberSet | AttributeKind::BinarySet
    );
    if !grows || attribute.size.is_some() || attribute.growth.is_some() || !attribute.values.is_empty() {
        return None;
    }
    let change = change_of(subject, entity, &attribute.name)?;
    let message = format!("nothing says how long the {} `{}` can get", attribute.kind.name(), attribute.name);
    let diagnostic = Diagnostic::warning(attribute.span, message)
        .label("updates add to it")
        .related(change, "changed here")
        .why("a list that is appended to for ever ends at 400 KB, and each write pays for all of it")
        .help(format!(
            "say what bounds it, as in `{}: {{ type: {}, size: {{ typical: 1 KB, max: 20 KB }} }}`, or make each \
             element an item",
            attribute.name,
            attribute.kind.name()
        ));
    Some(diagnostic)
}

/// The span in which an update names the attribute.
fn change_of(subject: &Subject<'_>, entity: EntityId, attribute: &str) -> Option<Span> {
    let updates = subject.writes().filter(|one| one.write.verb == WriteVerb::Update);
    let changes = updates.filter(|one| one.plan.entity == entity).flat_map(|one| changes(one.write));
    changes.filter(|change| change.attribute.value == attribute).map(|change| change.attribute.span).next()
}

fn changes(write: &Write) -> impl Iterator<Item = &crate::model::AttributeChange> {
    write.set.iter().chain(&write.add)
}

/// Text or bytes so large that every other write of the item pays for them.
fn blob(subject: &Subject<'_>, attribute: &Attribute) -> Option<Diagnostic> {
    let most = attribute.size?.most() as f64;
    let large = most > subject.parameter("blob-kb") * 1024.0;
    let opaque = matches!(attribute.kind, AttributeKind::Binary | AttributeKind::String);
    let units = (most / 1024.0).ceil();
    (large && opaque).then(|| {
        Diagnostic::warning(
            attribute.span,
            format!("`{}` is a blob of {}", attribute.name, figures::bytes(most)),
        )
        .label(format!("{} write units each time the item changes", figures::count(units)))
        .why("an update of any attribute is charged for the whole item, and a read for all it reads")
        .help(format!("keep it in S3 and its address here: `{}Key: string`", attribute.name))
    })
}
