//! R15: a key that two items can share.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::count;
use super::{Rule, Subject};
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{AttributeKind, Entity, EntityId, IndexId, Place, SampleRow, TableId, WriteVerb};
use crate::plan::Gap;
use crate::predict::found::{identity, whole};
use crate::template::{Field, Form, Template, may_equal};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(15),
    level: Level::Error,
    title: "Two items can have the same key: no type prefix, or no unique part",
    page: include_str!("../../../../docs/rules/R15.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let pairs = pairs(subject);
    let not_unique: Vec<(EntityId, Diagnostic)> =
        subject.model.entity_ids().filter_map(|id| Some((id, not_unique(subject, id)?))).collect();
    let reported: BTreeSet<EntityId> = not_unique.iter().map(|(id, _)| *id).collect();
    let rows = subject.model.table_ids().flat_map(|table| same_rows(subject, table, &reported));
    pairs.into_iter().chain(not_unique.into_iter().map(|(_, found)| found)).chain(rows).collect()
}

/// Whether items of two entities can have the same key in the table or index.
pub fn may_be_same_key(
    subject: &Subject<'_>,
    one: EntityId,
    other: EntityId,
    index: Option<IndexId>,
) -> bool {
    match (subject.place(one, index), subject.place(other, index)) {
        (Some(one), Some(other)) => meet(one, other),
        _ => false,
    }
}

fn meet(one: Place<'_>, other: Place<'_>) -> bool {
    let keys = |place: Place<'_>| {
        let parts = place.partition().into_iter().chain(place.sort());
        parts.map(|(_, template)| template.clone()).collect::<Vec<Template>>()
    };
    keys(one).iter().zip(&keys(other)).all(|(one, other)| may_equal(one, other))
}

/// Every two entities of a table that can have the same primary key; in an index, every two that a reader of one
/// gets mixed up.
fn pairs(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places();
    let mut found = Vec::new();
    for (position, other) in places.iter().enumerate() {
        let earlier = places[..position].iter().filter(|one| {
            one.table_id == other.table_id
                && one.index_id() == other.index_id()
                && one.entity_id != other.entity_id
        });
        let confused = earlier.filter(|one| meet(**one, *other)).filter(|one| {
            other.index.is_none() || is_mixed(subject, one.entity_id, other.entity_id, other.index_id())
        });
        found.extend(confused.map(|one| same_key(*one, *other)));
    }
    found
}

fn is_mixed(subject: &Subject<'_>, one: EntityId, other: EntityId, index: Option<IndexId>) -> bool {
    subject.reads().filter(|read| read.plan.index == index).any(|read| {
        let strays = read.plan.gaps.iter().any(|gap| match gap {
            Gap::Mixed { entities } => entities.contains(&one) || entities.contains(&other),
            _ => false,
        });
        strays && (read.plan.entities.contains(&one) || read.plan.entities.contains(&other))
    })
}

fn same_key(one: Place<'_>, other: Place<'_>) -> Diagnostic {
    let (one_name, other_name) = (&one.entity.name.value, &other.entity.name.value);
    let key = |place: Place<'_>| {
        let parts = place.sort().into_iter().chain(place.partition());
        parts.map(|(_, template)| template.span).next().unwrap_or(place.span())
    };
    let message = format!("`{one_name}` and `{other_name}` can have the same key in {}", other.name());
    let found = Diagnostic::error(key(other), message).related(key(one), format!("`{one_name}` has this"));
    let prefixed = format!("`{}#…`", other_name.to_uppercase());
    if other.index.is_none() {
        return found
            .label("both can have this key")
            .why("there is one item for each primary key: the second that is written overwrites the first")
            .help(format!(
                "begin the key with the type, as in {prefixed}; or, if they are one item, make them one entity"
            ));
    }
    found
        .label("both can have this key")
        .why("a Query for one of them finds both: an overloaded index needs keys that begin with the type")
        .help(format!("begin the key with the type, as in {prefixed}"))
}

/// An entity of which two items can have the same primary key.
fn not_unique(subject: &Subject<'_>, id: EntityId) -> Option<Diagnostic> {
    let entity = subject.model.entity(id);
    let key = entity.key.as_ref()?;
    // An identity that the file declares is trusted, if the key holds all of it.
    let (span, label) = match missing_identity(entity) {
        Some(missing) => (key.span, format!("does not hold {}", listed(&missing))),
        None if !entity.identity.is_empty() => return None,
        None => same_bucket(subject, id, entity)
            .or_else(|| same_as_parent(subject, entity))
            .or_else(|| expected_together(subject, id, entity))
            .or_else(|| fewer_keys_than_items(subject, id, entity))?,
    };
    let sort = key.sort.as_ref().unwrap_or(&key.partition);
    let message = format!("two `{}` items can have the same key", entity.name.value);
    Some(
        Diagnostic::error(span, message)
            .label(label)
            .why("there is one item for each primary key: the second that is written overwrites the first")
            .help(format!("end the key with what is unique, as in `{sort}#{{{}}}`", unique(entity))),
    )
}

/// Attributes that the file declares as identity and that the key does not hold.
fn missing_identity(entity: &Entity) -> Option<Vec<&str>> {
    let fields = entity.key_templates().flat_map(|template| template.fields());
    let used: BTreeSet<&str> = fields.filter_map(whole).collect();
    let missing: Vec<&str> =
        entity.identity.iter().map(|name| name.value.as_str()).filter(|name| !used.contains(name)).collect();
    (!missing.is_empty()).then_some(missing)
}

/// An attribute that looks like the entity's own id.
fn unique(entity: &Entity) -> String {
    if let Some(missing) = missing_identity(entity).and_then(|missing| missing.first().copied()) {
        return missing.to_owned();
    }
    let own = format!("{}id", entity.name.value.to_lowercase());
    let used = identity(entity);
    let free = entity.attributes.values().filter(|attribute| !used.contains(attribute.name.as_str()));
    let is_id = |kind| matches!(kind, AttributeKind::Uuid | AttributeKind::Ulid);
    let found = free.into_iter().find(|one| is_id(one.kind) || one.name.to_lowercase() == own);
    found.map_or("id".to_owned(), |attribute| attribute.name.clone())
}

/// Only a time rounded to its hour or day differs. An item that is updated in place is a sum of that hour.
fn same_bucket(subject: &Subject<'_>, id: EntityId, entity: &Entity) -> Option<(Span, String)> {
    let sort = entity.key.as_ref()?.sort.as_ref()?;
    let is_cut = |field: &Field| match &field.form {
        Form::Bucket { attribute, .. } => {
            entity.attribute(attribute).is_some_and(|one| one.kind == AttributeKind::Timestamp)
        }
        _ => false,
    };
    let fields: Vec<&Field> = sort.fields().collect();
    let updated =
        subject.writes().any(|one| one.plan.entity == id && matches!(one.write.verb, WriteVerb::Update));
    if fields.is_empty() || !fields.iter().all(|field| is_cut(field)) || updated {
        return None;
    }
    let Form::Bucket { attribute, unit } = &fields[0].form else { return None };
    Some((sort.span, format!("the same for all of one {} of `{attribute}`", unit.name())))
}

/// Several children of a parent whose key consists of the parent's attributes only.
fn same_as_parent(subject: &Subject<'_>, entity: &Entity) -> Option<(Span, String)> {
    let count = entity.count.as_ref()?;
    let parent = subject.model.entity(count.per?);
    let spread = entity.key_templates().any(|template| template.shards() > 1);
    let same = parent.key.is_some() && identity(entity).is_subset(&identity(parent));
    let key = entity.key.as_ref()?;
    (same && !spread && count.most() > 1.0).then(|| {
        let label = format!("the same for all {} of a `{}`", count.most(), parent.name.value);
        (key.sort.as_ref().unwrap_or(&key.partition).span, label)
    })
}

/// A pattern expects several items that have all parts of the key in common.
fn expected_together(subject: &Subject<'_>, id: EntityId, entity: &Entity) -> Option<(Span, String)> {
    let drawn = entity.key_templates().flat_map(Template::fields).any(|field| field.attribute().is_none());
    let key = identity(entity);
    if drawn || key.is_empty() {
        return None;
    }
    subject.reads().filter(|one| one.plan.entities == [id]).find_map(|one| {
        let returns = one.read.returns.as_ref()?.value;
        let items = returns.max.unwrap_or(returns.typical).max(returns.typical);
        let same = key.iter().all(|name| one.read.knows(name));
        (same && items > 1.0).then(|| {
            let label = format!("the same for all {} that `{}` returns", count(items), one.name());
            (entity.key.as_ref().map_or(entity.span, |key| key.span), label)
        })
    })
}

/// All parts of the key have few values, and there are more items than that.
fn fewer_keys_than_items(subject: &Subject<'_>, id: EntityId, entity: &Entity) -> Option<(Span, String)> {
    let fields: Vec<&Field> = entity.key_templates().flat_map(|template| template.fields()).collect();
    let values = |field: &&Field| match (&field.form, field.shards()) {
        (Form::Attribute(name) | Form::Lower(name), _) => entity.attribute(name)?.cardinality(),
        (_, Some(shards)) => Some(shards as f64),
        _ => None,
    };
    let keys: f64 = fields.iter().map(values).product::<Option<f64>>()?;
    let items = subject.model.items(id)?;
    (items > keys).then(|| {
        let label = format!("{} different keys at most, for {} items", count(keys), count(items));
        (entity.key.as_ref().map_or(entity.span, |key| key.span), label)
    })
}

/// Sample rows with the same primary key. Entities that were already reported are skipped.
fn same_rows(subject: &Subject<'_>, table: TableId, reported: &BTreeSet<EntityId>) -> Vec<Diagnostic> {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    let mut found = Vec::new();
    for (key, row) in keyed_rows(subject, table, reported) {
        let span = row.name.as_ref().map_or(row.span, |name| name.span);
        match seen.get(&key) {
            Some(earlier) => found.push(
                Diagnostic::error(span, "a sample row with the same primary key came before")
                    .label(format!("also {key}"))
                    .why("there is one item for each primary key: the second overwrites the first")
                    .related(*earlier, "the first row")
                    .help("give each row its own key, or make them one row"),
            ),
            None => {
                seen.insert(key, span);
            }
        }
    }
    found
}

fn keyed_rows<'m>(
    subject: &Subject<'m>,
    table: TableId,
    reported: &BTreeSet<EntityId>,
) -> Vec<(String, &'m SampleRow)> {
    let model = subject.model;
    let Some(schema) = &model.table(table).key else { return Vec::new() };
    let shown = |values: Vec<item::Value>| {
        let texts: Vec<String> = values.iter().map(crate::template::plain_text).collect();
        texts.join(" / ")
    };
    let of_entities =
        model.entities_of(table).filter(|(id, _)| !reported.contains(id)).flat_map(|(_, entity)| {
            entity.samples.iter().filter_map(move |row| {
                let value = |name: &str| {
                    let constant = || entity.attribute(name).and_then(|attribute| attribute.constant.clone());
                    row.values.get(name).map(|value| value.value.clone()).or_else(constant)
                };
                let parts = schema.attributes().zip(entity.key_templates());
                let keys: Option<Vec<_>> = parts
                    .map(|(key, template)| {
                        let drawn = template.fields().any(|field| matches!(field.form, Form::Random { .. }));
                        template.render(key.kind, value, 0).ok().filter(|_| !drawn)
                    })
                    .collect();
                Some((keys?, row))
            })
        });
    let of_table = model.table(table).samples.iter().filter_map(|row| {
        let keys: Option<Vec<_>> = schema
            .attributes()
            .map(|key| row.values.get(&key.name).map(|value| value.value.clone()))
            .collect();
        Some((keys?, row))
    });
    of_entities.chain(of_table).map(|(keys, row)| (shown(keys), row)).collect()
}
