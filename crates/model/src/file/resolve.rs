//! Links tables, indexes and entities: which attributes are the key of an index, which entities are in it, and which
//! attributes items have.

use indexmap::IndexMap;
use item::Type;

use super::entity::{RawEntity, RawEntry, RawKey};
use super::index::RawIndex;
use super::reader::{Reader, unknown_help};
use super::table::{RawTable, check_name};
use crate::diagnostic::Fix;
use crate::model::{
    Attribute, AttributeKind, Entity, EntityKey, Index, IndexEntry, IndexId, IndexKind, KeyAttribute,
    KeySchema, Projection, Table, TableId, Throughput,
};
use crate::predicate::{Predicate, Term};
use crate::template::{Field, Form, Template};
use crate::{Diagnostic, Span, Spanned};

/// Tables and entities with their links.
pub struct Resolved {
    pub tables: Vec<Table>,
    pub entities: Vec<Entity>,
}

pub fn resolve(reader: &mut Reader<'_>, raw_tables: Vec<RawTable>, raw: Vec<RawEntity>) -> Resolved {
    let mut tables = Vec::new();
    for (position, RawTable { mut table, indexes }) in raw_tables.into_iter().enumerate() {
        let entities: Vec<&RawEntity> =
            raw.iter().filter(|entity| entity.table == TableId(position)).collect();
        table.indexes = table_indexes(reader, &table, indexes, &entities);
        tables.push(table);
    }
    let entities: Vec<Entity> = raw.into_iter().map(|entity| self::entity(reader, &tables, entity)).collect();
    for entity in &entities {
        copies_exist(reader, entity, &entities);
        counts_end(reader, entity, &entities);
    }
    projections_exist(reader, &tables, &entities);
    slips(reader, &entities);
    Resolved { tables, entities }
}

/// Declared indexes first, then those that only entities name.
fn table_indexes(
    reader: &mut Reader<'_>,
    table: &Table,
    declared: Vec<RawIndex>,
    entities: &[&RawEntity],
) -> Vec<Index> {
    let mut raw = declared;
    for entry in entities.iter().flat_map(|entity| &entity.entries) {
        if !raw.iter().any(|index| index.name.value == entry.index.value) {
            raw.push(undeclared(entry));
        }
    }
    raw.into_iter().filter_map(|index| self::index(reader, table, index, entities)).collect()
}

fn undeclared(entry: &RawEntry) -> RawIndex {
    RawIndex {
        name: entry.index.clone(),
        span: entry.index.span,
        kind: IndexKind::Global,
        partition: Vec::new(),
        sort: Vec::new(),
        projection: Spanned::new(Projection::All, entry.index.span),
        throughput: Throughput::default(),
        size: None,
    }
}

fn index(reader: &mut Reader<'_>, table: &Table, raw: RawIndex, entities: &[&RawEntity]) -> Option<Index> {
    check_name(reader, &raw.name, "an index");
    let key = match raw.kind {
        IndexKind::Local => local_key(reader, table, &raw)?,
        IndexKind::Global if raw.partition.is_empty() => inferred_key(reader, &raw, entities)?,
        IndexKind::Global => KeySchema { partition: raw.partition, sort: raw.sort },
    };
    Some(Index {
        name: raw.name,
        span: raw.span,
        kind: raw.kind,
        key,
        projection: raw.projection,
        throughput: raw.throughput,
        size: raw.size,
    })
}

fn local_key(reader: &mut Reader<'_>, table: &Table, raw: &RawIndex) -> Option<KeySchema> {
    let partition = table.key.as_ref().map(|key| key.partition.clone());
    let complete = partition.filter(|_| raw.sort.len() == 1);
    if complete.is_none() {
        let help = "a local index has the table's partition key and one sort attribute: `sort: NAME`";
        reader.error_with_help(
            raw.name.span,
            format!("the key of index `{}` is not clear", raw.name.value),
            help,
        );
    }
    Some(KeySchema { partition: complete?, sort: raw.sort.clone() })
}

/// The first template of an entity is the partition key, the second the sort key.
fn inferred_key(reader: &mut Reader<'_>, raw: &RawIndex, entities: &[&RawEntity]) -> Option<KeySchema> {
    let entries = entities.iter().flat_map(|entity| &entity.entries);
    let mut naming = entries.filter(|entry| entry.index.value == raw.name.value);
    let Some(first) = naming.find(|entry| !entry.templates.is_empty()) else {
        let help = "say `partition: NAME` and `sort: NAME`, or give an entity templates for it";
        reader.error_with_help(raw.name.span, format!("index `{}` has no key", raw.name.value), help);
        return None;
    };
    if first.templates.len() > 2 {
        let help = "say which are `partition` and which `sort` where the index is declared";
        reader.error_with_help(first.span, "with more than two key attributes the order is not clear", help);
        return None;
    }
    let mut attributes = first.templates.iter().map(|(name, _)| KeyAttribute {
        name: name.value.clone(),
        kind: Type::S,
        span: name.span,
    });
    Some(KeySchema { partition: attributes.next().into_iter().collect(), sort: attributes.collect() })
}

fn entity(reader: &mut Reader<'_>, tables: &[Table], raw: RawEntity) -> Entity {
    // Without any table nothing can be linked; the reader has already reported it.
    let Some(table) = tables.get(raw.table.0) else { return unkeyed(raw) };
    let table_key = table.key.as_ref();
    let own_keys: Vec<&str> =
        table_key.into_iter().flat_map(KeySchema::attributes).map(|key| key.name.as_str()).collect();
    let mut attributes = raw.attributes;
    let key_templates = raw.key.iter().flat_map(|key| key.templates.iter());
    let entry_templates = raw.entries.iter().flat_map(|entry| entry.templates.iter());
    for template in key_templates.chain(entry_templates).filter_map(|(_, template)| template.as_ref()) {
        imply(&mut attributes, template, &own_keys);
    }
    for name in &raw.identity {
        imply_named(&mut attributes, &name.value, name.span, &own_keys);
    }
    for term in raw.entries.iter().filter_map(|entry| entry.when.as_ref()).flat_map(|when| &when.terms) {
        imply_named(&mut attributes, &term.attribute.value, term.attribute.span, &own_keys);
    }
    let key = table_key.and_then(|key| entity_key(reader, key, raw.key.as_ref(), &raw.name, &mut attributes));
    let entries = entries(reader, table, key.as_ref(), &raw.entries, &attributes);
    let entity = Entity {
        name: raw.name,
        span: raw.span,
        description: raw.description,
        table: raw.table,
        identity: raw.identity,
        key,
        attributes,
        entries,
        count: raw.count,
        size: raw.size,
        growth: raw.growth,
        expires: raw.expires,
        owner: raw.owner,
        together: Vec::new(),
        samples: raw.samples,
    };
    forms_fit(reader, table, &entity);
    entity
}

fn unkeyed(raw: RawEntity) -> Entity {
    Entity {
        name: raw.name,
        span: raw.span,
        description: raw.description,
        table: raw.table,
        identity: raw.identity,
        key: None,
        attributes: raw.attributes,
        entries: Vec::new(),
        count: raw.count,
        size: raw.size,
        growth: raw.growth,
        expires: raw.expires,
        owner: raw.owner,
        together: Vec::new(),
        samples: raw.samples,
    }
}

fn imply(attributes: &mut IndexMap<String, Attribute>, template: &Template, own_keys: &[&str]) {
    for field in template.fields() {
        if let Some(name) = field.attribute() {
            imply_named(attributes, name, field.span, own_keys);
        }
    }
}

fn imply_named(attributes: &mut IndexMap<String, Attribute>, name: &str, span: Span, own_keys: &[&str]) {
    if !name.is_empty() && !own_keys.contains(&name) && !attributes.contains_key(name) {
        attributes.insert(name.to_owned(), Attribute::implied(name, span));
    }
}

/// A template for each key attribute of the table. An attribute that items have under the same name needs
/// none.
fn entity_key(
    reader: &mut Reader<'_>,
    schema: &KeySchema,
    raw: Option<&RawKey>,
    entity: &Spanned<String>,
    attributes: &mut IndexMap<String, Attribute>,
) -> Option<EntityKey> {
    let templates = raw.map(|raw| raw.templates.as_slice()).unwrap_or_default();
    for (name, _) in templates {
        if !schema.names(name) {
            let names: Vec<&str> = schema.attributes().map(|key| key.name.as_str()).collect();
            let help = unknown_help(name, &names, "it is no key attribute");
            reader.error_with_help(
                name.span,
                format!("the table has no key attribute `{}`", name.value),
                help,
            );
        }
    }
    let mut found = Vec::new();
    for key in schema.attributes() {
        match templates.iter().find(|(name, _)| name.value == key.name) {
            Some((_, template)) => found.push(template.clone()?),
            None if attributes.contains_key(&key.name) => {
                let span = attributes[&key.name].span;
                found.push(Template::of_attribute(&key.name, span));
            }
            None => {
                let help = format!("`key: {{ {}: \"…\" }}`", key.name);
                let message =
                    format!("`{}` has no template for the key attribute `{}`", entity.value, key.name);
                reader.error_with_help(raw.map_or(entity.span, |raw| raw.span), message, help);
                return None;
            }
        }
    }
    for (key, template) in schema.attributes().zip(&found) {
        natural_keys_are_attributes(attributes, key, template);
    }
    let mut found = found.into_iter();
    Some(EntityKey {
        partition: found.next()?,
        sort: found.next(),
        span: raw.map_or(entity.span, |raw| raw.span),
    })
}

/// `key: { deviceId: "{deviceId}" }` names an attribute of the item.
fn natural_keys_are_attributes(
    attributes: &mut IndexMap<String, Attribute>,
    key: &KeyAttribute,
    template: &Template,
) {
    if template.bare() == Some(&key.name) && !attributes.contains_key(&key.name) {
        let kind = match key.kind {
            Type::N => AttributeKind::Number,
            Type::B => AttributeKind::Binary,
            _ => AttributeKind::String,
        };
        let attribute = Attribute { kind, ..Attribute::implied(&key.name, template.span) };
        attributes.insert(key.name.clone(), attribute);
    }
}

fn entries(
    reader: &mut Reader<'_>,
    table: &Table,
    key: Option<&EntityKey>,
    raw: &[RawEntry],
    attributes: &IndexMap<String, Attribute>,
) -> Vec<IndexEntry> {
    table
        .index_ids()
        .filter_map(|id| {
            let raw = raw.iter().find(|entry| entry.index.value == table.index(id).name.value);
            entry(reader, table, id, key, raw, attributes)
        })
        .collect()
}

fn entry(
    reader: &mut Reader<'_>,
    table: &Table,
    id: IndexId,
    key: Option<&EntityKey>,
    raw: Option<&RawEntry>,
    attributes: &IndexMap<String, Attribute>,
) -> Option<IndexEntry> {
    let index = table.index(id);
    if let Some(raw) = raw {
        only_key_attributes(reader, index, raw);
    }
    if raw.is_some_and(|raw| raw.templates.iter().any(|(_, template)| template.is_none())) {
        return None;
    }
    let find = |key_attribute: &KeyAttribute| {
        let name = key_attribute.name.as_str();
        let written = raw.and_then(|raw| raw.templates.iter().find(|(written, _)| written.value == name));
        written.and_then(|(_, template)| template.clone()).or_else(|| natural(table, key, attributes, name))
    };
    let missing = index.key.attributes().find(|attribute| find(attribute).is_none());
    if let Some(missing) = missing {
        if let Some(raw) = raw {
            let message =
                format!("there is no template for `{}` of index `{}`", missing.name, index.name.value);
            reader.error(raw.span, message).why =
                Some("an item is in an index only if it has all of its key attributes".to_owned());
        }
        return None;
    }
    let when = raw.and_then(|raw| raw.when.clone()).or_else(|| sparse(index, attributes));
    Some(IndexEntry {
        index: id,
        when,
        partition: index.key.partition.iter().filter_map(find).collect(),
        sort: index.key.sort.iter().filter_map(find).collect(),
        declared: raw.is_some(),
        span: raw.map_or(index.span, |raw| raw.span),
    })
}

/// The attribute that an item has under a key's name without a template: a key of the table, or its own.
fn natural(
    table: &Table,
    key: Option<&EntityKey>,
    attributes: &IndexMap<String, Attribute>,
    name: &str,
) -> Option<Template> {
    let schema = table.key.as_ref()?;
    let key = key?;
    if schema.partition.iter().any(|attribute| attribute.name == name) {
        return Some(key.partition.clone());
    }
    if schema.sort.iter().any(|attribute| attribute.name == name) {
        return key.sort.clone();
    }
    attributes.get(name).map(|attribute| Template::of_attribute(name, attribute.span))
}

/// An index keyed by attributes that items may lack holds only the items that have them.
fn sparse(index: &Index, attributes: &IndexMap<String, Attribute>) -> Option<Predicate> {
    let optional = |key: &KeyAttribute| attributes.get(&key.name).filter(|attribute| attribute.optional);
    let terms: Vec<Term> = index
        .key
        .attributes()
        .filter_map(optional)
        .map(|attribute| Term::exists(&attribute.name, attribute.span))
        .collect();
    (!terms.is_empty()).then_some(Predicate { terms, span: index.span })
}

fn only_key_attributes(reader: &mut Reader<'_>, index: &Index, raw: &RawEntry) {
    for (name, _) in &raw.templates {
        if !index.key.names(name) {
            let names: Vec<&str> = index.key.attributes().map(|key| key.name.as_str()).collect();
            let help = unknown_help(name, &names, "it is no key attribute");
            let message = format!("index `{}` has no key attribute `{}`", index.name.value, name.value);
            reader.error_with_help(name.span, message, help);
        }
    }
}

/// Padding is for numbers, buckets are for times, and a key that is not a string is one bare attribute.
fn forms_fit(reader: &mut Reader<'_>, table: &Table, entity: &Entity) {
    let table_keys = table.key.iter().flat_map(KeySchema::attributes).zip(entity.key_templates());
    let index_keys = entity
        .entries
        .iter()
        .filter(|entry| entry.declared)
        .flat_map(|entry| table.index(entry.index).key.attributes().zip(entry.templates()));
    for (key, template) in table_keys.chain(index_keys) {
        let unfit = type_fits(entity, key, template);
        reader.diagnostics.extend(unfit);
        reader.diagnostics.extend(template.fields().filter_map(|field| form_fits(entity, field)));
    }
}

fn type_fits(entity: &Entity, key: &KeyAttribute, template: &Template) -> Option<Diagnostic> {
    let own_type = template.bare().and_then(|name| entity.attribute(name)).map(|found| found.kind.stored());
    let named_like_it = template.bare() == Some(&key.name);
    let fits = match key.kind {
        Type::S => !named_like_it || own_type.is_none_or(|own| own == Type::S),
        kind => own_type == Some(kind),
    };
    (!fits).then(|| {
        let message = format!("`{}` is of type {}, which `{template}` is not", key.name, key.kind.name());
        let span = if template.span == Span::default() { key.span } else { template.span };
        Diagnostic::error(span, message)
            .related(key.span, "declared here")
            .help("a string key takes any template; a number or binary key takes one attribute of its type")
    })
}

fn form_fits(entity: &Entity, field: &Field) -> Option<Diagnostic> {
    let kind = entity.attribute(field.attribute()?)?.kind;
    let message = match field.form {
        Form::Bucket { .. } if !matches!(kind, AttributeKind::Timestamp | AttributeKind::Date) => {
            format!("a time bucket needs a `timestamp` or `date`; this is a `{}`", kind.name())
        }
        Form::Descending { .. } if kind.stored() != Type::N => {
            format!("`desc` needs a number; this is a `{}`", kind.name())
        }
        Form::Attribute(_) if field.width.is_some() && kind.stored() != Type::N => {
            format!("zeros are put in front of a number; this is a `{}`", kind.name())
        }
        _ => return None,
    };
    let name = field.attribute().unwrap_or_default();
    Some(Diagnostic::error(field.span, message).help(format!("declare it: `attributes: {{ {name}: … }}`")))
}

fn copies_exist(reader: &mut Reader<'_>, entity: &Entity, entities: &[Entity]) {
    for copy in entity.attributes.values().filter_map(|attribute| attribute.copy_of.as_ref()) {
        let Some(origin) = entities.get(copy.entity.0) else { continue };
        if origin.attribute(&copy.attribute).is_none() {
            let names: Vec<&str> = origin.attributes.keys().map(String::as_str).collect();
            let help = unknown_help(&copy.attribute, &names, "declare it there");
            let message = format!("`{}` has no attribute `{}`", origin.name.value, copy.attribute);
            reader.error_with_help(copy.span, message, help);
        }
    }
}

fn projections_exist(reader: &mut Reader<'_>, tables: &[Table], entities: &[Entity]) {
    for (position, table) in tables.iter().enumerate() {
        for index in &table.indexes {
            let Projection::Include(projected) = &index.projection.value else { continue };
            for name in projected {
                let mut here = entities.iter().filter(|entity| entity.table == TableId(position));
                if here.any(|entity| entity.attribute(name).is_some()) {
                    continue;
                }
                let names: Vec<&str> =
                    entities.iter().flat_map(|entity| entity.attributes.keys()).map(String::as_str).collect();
                let help = unknown_help(name, &names, "declare it under an entity's `attributes`");
                let message = format!("no entity has an attribute `{}` to project", name.value);
                reader.error_with_help(name.span, message, help);
            }
        }
    }
}

/// Warns of a name that only one template uses and that differs by one letter from another: probably a typo.
fn slips(reader: &mut Reader<'_>, entities: &[Entity]) {
    let all: Vec<&Attribute> = entities.iter().flat_map(|entity| entity.attributes.values()).collect();
    for attribute in all.iter().filter(|attribute| !attribute.declared) {
        let alone = mentions(entities, &attribute.name) == 1;
        let meant = all.iter().find(|other| is_slip(&attribute.name, &other.name));
        if let Some(meant) = meant.filter(|_| alone) {
            let message = format!("`{}` is named nowhere else", attribute.name);
            let help = format!("did you mean `{}`? If not, declare it under `attributes`", meant.name);
            let fix = Fix::rename(&attribute.name, &meant.name);
            reader.diagnostics.push(Diagnostic::warning(attribute.span, message).help(help).fix(fix));
        }
    }
}

/// How many templates name an attribute.
fn mentions(entities: &[Entity], name: &str) -> usize {
    let of_indexes = |entity: &Entity| -> usize {
        let templates = entity.entries.iter().flat_map(IndexEntry::templates);
        templates.filter(|template| template.uses(name)).count()
    };
    let of_keys = |entity: &Entity| entity.key_templates().filter(|template| template.uses(name)).count();
    entities.iter().map(|entity| of_keys(entity) + of_indexes(entity)).sum()
}

/// Whether one letter is wrong, missing or swapped. Numbering (`line1`, `line2`) and plurals are intended.
fn is_slip(written: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 's').to_owned();
    written.len() > 4 && strsim::damerau_levenshtein(written, other) == 1 && bare(written) != bare(other)
}

/// `20 per Customer` must not lead back to itself.
fn counts_end(reader: &mut Reader<'_>, entity: &Entity, entities: &[Entity]) {
    let mut current = entity;
    for _ in 0..entities.len() {
        let parent = current.count.as_ref().and_then(|count| count.per);
        match parent.and_then(|id| entities.get(id.0)) {
            Some(next) => current = next,
            None => return,
        }
    }
    let span = entity.count.as_ref().map_or(entity.span, |count| count.span);
    reader.error(
        span,
        "the counts depend on each other in a cycle: one of them must be a plain number, as in `1M`",
    );
}
