//! R30: a hierarchy that is not a delimited path in a sort key.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::Span;
use crate::diagnostic::{Level, RuleId};
use crate::model::{AttributeKind, Entity, EntityId, Place};
use crate::predicate::Operator;
use crate::template::{Field, Form, Part, Template};

pub const RULE: Rule = Rule {
    id: RuleId(30),
    level: Level::Warning,
    title: "A hierarchy is not a delimited path in a sort key",
    page: include_str!("../../../../docs/rules/R30.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let trees = subject.model.entity_ids().filter_map(|id| pathless(subject, id));
    let places = subject.model.places();
    let written = places.iter().filter(|place| place.index.is_none_or(|(_, _, entry)| entry.declared));
    let undelimited = written.flat_map(|place| {
        let keys = place.partition().into_iter().chain(place.sort());
        keys.filter_map(|(_, template)| side_by_side(*place, template)).collect::<Vec<_>>()
    });
    trees.chain(undelimited).collect()
}

/// An entity that contains itself and has no sort key with its path.
fn pathless(subject: &Subject<'_>, id: EntityId) -> Option<Diagnostic> {
    let entity = subject.model.entity(id);
    entity.key.as_ref()?;
    let (span, how) = containment(subject, id)?;
    if subject.model.places_of(id).into_iter().any(|place| holds_a_path(subject, id, place)) {
        return None;
    }
    let name = &entity.name.value;
    Some(
        Diagnostic::warning(span, format!("`{name}` is a tree, and no sort key holds its path"))
            .label(how)
            .why("with the parent alone, each level of a subtree is a query of its own")
            .help(format!(
                "put the path into a sort key, coarse to fine, as in `SK: \"{}#{{path}}\"` with the path \
                 `top#middle#leaf`: `where: path begins_with :path` is then one query",
                name.to_uppercase()
            )),
    )
}

/// A relation to itself, or an attribute that names the parent and that patterns query: one level at a time.
fn containment(subject: &Subject<'_>, id: EntityId) -> Option<(Span, &'static str)> {
    let mut relations = subject.model.relations.iter();
    let own = relations.find(|relation| relation.from == id && relation.to == id && !relation.many_to_many);
    let entity = subject.model.entity(id);
    let parents = entity.attributes.values().filter(|attribute| names_parent(&attribute.name, entity));
    let parent = || parents.into_iter().find(|attribute| asked_by(subject, id, &attribute.name));
    own.map(|relation| (relation.span, "contains items of its own kind"))
        .or_else(|| parent().map(|attribute| (attribute.span, "names the item above")))
}

fn asked_by(subject: &Subject<'_>, id: EntityId, attribute: &str) -> bool {
    subject.reads().any(|one| one.plan.entities.contains(&id) && one.read.knows(attribute))
}

fn names_parent(attribute: &str, entity: &Entity) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-'], "");
    let name = plain(attribute);
    let rest = name.strip_prefix("parent").map(|rest| rest.strip_suffix("id").unwrap_or(rest));
    rest.is_some_and(|rest| rest.is_empty() || rest == plain(&entity.name.value))
}

/// Whether there is a path attribute, one that patterns query by prefix, or several levels one after the other.
fn holds_a_path(subject: &Subject<'_>, id: EntityId, place: Place<'_>) -> bool {
    let sort: Vec<&str> = place.sort().into_iter().flat_map(|(_, template)| template.attributes()).collect();
    let named = |name: &&str| {
        let name = name.to_ascii_lowercase();
        ["path", "ancestor", "lineage"].iter().any(|word| name.contains(word))
    };
    let levels = sort
        .iter()
        .filter(|name| place.entity.attribute(name).is_some_and(|one| !one.kind.is_time()))
        .count();
    sort.iter().any(named) || sort.iter().any(|name| asked_by_beginning(subject, id, name)) || levels >= 3
}

fn asked_by_beginning(subject: &Subject<'_>, id: EntityId, attribute: &str) -> bool {
    let reads = subject.patterns().flat_map(|(pattern, _)| pattern.reads());
    let reads = reads.filter(|(_, read)| read.entities.iter().any(|entity| entity.value == id));
    let mut terms = reads.flat_map(|(_, read)| read.conditions.iter().flat_map(|where_| &where_.terms));
    terms.any(|term| term.operator == Operator::BeginsWith && term.attribute.value == attribute)
}

/// Two parts of variable length without a separator.
fn side_by_side(place: Place<'_>, template: &Template) -> Option<Diagnostic> {
    let pair = template.parts.windows(2).find_map(|pair| match pair {
        [Part::Field(one), Part::Field(other)] if !has_fixed_width(place.entity, one) => Some((one, other)),
        _ => None,
    })?;
    let (one, other) = pair;
    let span = one.span.to(other.span);
    Some(
        Diagnostic::warning(span, format!("nothing separates `{one}` from `{other}`"))
            .label("different values give the same key")
            .why("`ab` and `c` give the same text as `a` and `bc`, and a prefix of one part can't be asked for")
            .help(format!("write `{one}#{other}`")),
    )
}

fn has_fixed_width(entity: &Entity, field: &Field) -> bool {
    let kind = field.attribute().and_then(|name| entity.attribute(name)).map(|attribute| attribute.kind);
    let fixed_kind = matches!(
        kind,
        Some(AttributeKind::Timestamp | AttributeKind::Date | AttributeKind::Uuid | AttributeKind::Ulid)
    );
    field.width.is_some() || fixed_kind || matches!(field.form, Form::Bucket { .. } | Form::Descending { .. })
}
