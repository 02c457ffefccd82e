//! R29: a many-to-many relation that can be followed in one direction only.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{Entity, EntityId, EntityKey, Model, Place, Relation};
use crate::template::{Template, may_equal};

pub const RULE: Rule = Rule {
    id: RuleId(29),
    level: Level::Error,
    title: "A many-to-many relation can be followed in one direction only",
    page: include_str!("../../../../docs/rules/R29.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let relations = subject.model.relations.iter().filter(|relation| relation.many_to_many);
    relations.filter_map(|relation| in_relation(subject, relation)).collect()
}

fn in_relation(subject: &Subject<'_>, relation: &Relation) -> Option<Diagnostic> {
    let model = subject.model;
    if [relation.from, relation.to].iter().any(|id| model.entity(*id).key.is_none()) {
        return None;
    }
    let Some(edge) = relation.via.or_else(|| edge(model, relation)) else {
        return Some(without_edge(model, relation));
    };
    model.entity(edge).key.as_ref()?;
    // A relation of an entity to itself is followed by two keys of the pair, one for each direction.
    if relation.from == relation.to {
        let back = leading(model, edge, relation.from) < 2;
        return back.then(|| one_way(subject, relation, edge, relation.from, relation.to));
    }
    let ways = [(relation.from, relation.to), (relation.to, relation.from)];
    let (from, to) = ways.into_iter().find(|(from, _)| leading(model, edge, *from) == 0)?;
    Some(one_way(subject, relation, edge, from, to))
}

/// The entity whose key names both sides.
fn edge(model: &Model, relation: &Relation) -> Option<EntityId> {
    let [from, to] = [relation.from, relation.to].map(|id| model.entity(id));
    let others = model.entity_ids().filter(|id| ![relation.from, relation.to].contains(id));
    let names_both = |id: &EntityId| {
        let Some(EntityKey { partition, sort: Some(sort), .. }) = &model.entity(*id).key else {
            return false;
        };
        (names(partition, from) && names(sort, to)) || (names(partition, to) && names(sort, from))
    };
    others.into_iter().find(names_both)
}

/// Whether the template has an attribute of the entity's key, or the same literal prefix.
fn names(template: &Template, entity: &Entity) -> bool {
    attributes(entity).iter().any(|name| template.uses(name)) || begins_alike(template, entity)
}

fn begins_alike(template: &Template, entity: &Entity) -> bool {
    let same = |key: &EntityKey| may_equal(&key.partition, template);
    !template.literal_prefix().is_empty() && entity.key.as_ref().is_some_and(same)
}

fn attributes(entity: &Entity) -> Vec<&str> {
    entity.key_templates().flat_map(|template| template.attributes()).collect()
}

/// In how many places one Query finds the pairs of one `from`: the partition key there consists of its key.
fn leading(model: &Model, edge: EntityId, from: EntityId) -> usize {
    let from = model.entity(from);
    let known = attributes(from);
    let places = model.places_of(edge).into_iter().filter(|place| {
        let partition = place.partition();
        !partition.is_empty()
            && partition.iter().all(|(_, template)| is_made_of(template, &known, from, *place))
    });
    places.count()
}

/// Compares attribute names; or literal prefixes, if the names differ (`userId`, `memberId`).
fn is_made_of(template: &Template, known: &[&str], from: &Entity, place: Place<'_>) -> bool {
    let mut fields = template.fields().filter(|field| field.shards().is_none()).peekable();
    let by_name = fields.peek().is_some()
        && fields.all(|field| {
            let constant =
                |name: &str| place.entity.attribute(name).is_some_and(|one| one.cardinality() == Some(1.0));
            field.attribute().is_some_and(|name| known.contains(&name) || constant(name))
        });
    by_name || begins_alike(template, from)
}

fn without_edge(model: &Model, relation: &Relation) -> Diagnostic {
    let (from, to) = (&model.entity(relation.from).name.value, &model.entity(relation.to).name.value);
    Diagnostic::error(relation.span, format!("no entity records which `{from}` belongs to which `{to}`"))
        .label("an entity for each pair is missing")
        .why("there are no joins: a pair is an item, found from either side")
        .help(format!(
            "add an entity with both keys, as in `{from}{to}`, and write `{from} M:N {to} via {from}{to}`"
        ))
}

fn one_way(
    subject: &Subject<'_>,
    relation: &Relation,
    edge: EntityId,
    from: EntityId,
    to: EntityId,
) -> Diagnostic {
    let name = |id: EntityId| subject.model.entity(id).name.value.as_str();
    let asked = asks(subject, edge, from);
    let level = if asked.is_some() { Level::Error } else { Level::Warning };
    let (message, label) = match from == to {
        true => (
            format!("`{}` leads from one `{}` to another and not back", name(edge), name(from)),
            "one way".to_owned(),
        ),
        false => (
            format!("no key leads from `{}` to its `{}` items", name(from), name(to)),
            format!("only `{}` finds its `{}` items", name(to), name(from)),
        ),
    };
    let entity = subject.model.entity(edge);
    let mut diagnostic = Diagnostic::new(level, relation.span, message)
        .label(label)
        .related(entity.name.span, format!("`{}` holds the pairs", entity.name.value))
        .why("a Query needs the whole partition key, so each direction needs a key that begins there")
        .help(inverted(subject.model, edge, from));
    if let Some(span) = asked {
        diagnostic = diagnostic.related(span, "asked for here");
    }
    diagnostic
}

/// A pattern that asks for the pairs of one `from`.
fn asks(subject: &Subject<'_>, edge: EntityId, from: EntityId) -> Option<crate::Span> {
    let known = attributes(subject.model.entity(from));
    let patterns =
        subject.patterns().flat_map(|(pattern, _)| pattern.reads().map(move |(_, read)| (pattern, read)));
    patterns
        .filter(|(_, read)| read.entities.iter().any(|entity| entity.value == edge))
        .find(|(_, read)| {
            known.iter().any(|name| read.knows(name))
                && !read.by.is_empty()
                && read.by.iter().all(|by| known.contains(&by.value.as_str()))
        })
        .map(|(pattern, _)| pattern.id.span)
}

fn inverted(model: &Model, edge: EntityId, from: EntityId) -> String {
    let entity = model.entity(edge);
    let schema = model.table_of(entity).key.as_ref();
    match schema.map(|schema| (schema.partition.as_slice(), schema.sort.as_slice())) {
        Some(([partition], [sort])) if entity.key.is_some() => format!(
            "add an index that turns the key round: `indexes: {{ inverted: {{ partition: {}, sort: {}, project: keys }} }}`",
            sort.name, partition.name
        ),
        _ => {
            let names = listed(&attributes(model.entity(from)));
            format!("add an index to `{}` whose partition key is {names}", entity.name.value)
        }
    }
}
