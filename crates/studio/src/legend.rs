//! A model as the legend of its tables: the names of items, the templates of their keys, and the request of each
//! access pattern.

use item::Value as Attribute;
use model::Model;
use model::model::{ActionKind, AttributesRead, Entity, EntityId, KeySchema, Pattern, Projection, Table};
use model::plan::{ActionPlan, Plan, ReadPlan, plan};
use model::predicate::Operand;
use model::predict::item::Values;
use model::predict::typical::{Assumption, Footprints};
use model::template::{Form, Part, Template, plain_text};
use model::{Source, predict};
use serde_json::{Value, json};

/// What a page needs to name what it shows.
pub fn legend(source: &Source, model: &Model) -> Value {
    let footprints = Footprints::new(model);
    let patterns = model.patterns.iter().map(|one| pattern(source, model, &footprints, one));
    json!({
        "model": model.name.value,
        "description": model.description,
        "region": model.region.as_ref().map(|region| &region.value),
        "tables": model.tables.iter().map(table).collect::<Vec<_>>(),
        "entities": model.entity_ids().map(|id| entity(source, model, id)).collect::<Vec<_>>(),
        "patterns": patterns.collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Value {
    let indexes = table.indexes.iter().map(|index| {
        json!({ "name": index.name.value, "key": names(&index.key), "projection": projection(&index.projection.value) })
    });
    json!({
        "name": table.name.value,
        "key": table.key.as_ref().map(names),
        "indexes": indexes.collect::<Vec<_>>(),
    })
}

fn names(key: &KeySchema) -> Vec<&str> {
    key.attributes().map(|key| key.name.as_str()).collect()
}

fn projection(projection: &Projection) -> Value {
    match projection {
        Projection::All => json!("all"),
        Projection::Keys => json!("keys"),
        Projection::Include(names) => json!(names.iter().map(|name| &name.value).collect::<Vec<_>>()),
    }
}

fn entity(source: &Source, model: &Model, id: EntityId) -> Value {
    let entity = model.entity(id);
    let table = model.table_of(entity);
    let entries = entity.entries.iter().map(|entry| {
        json!({
            "index": table.index(entry.index).name.value,
            "when": entry.when.as_ref().map(ToString::to_string),
            "key": keyed(Some(&table.index(entry.index).key), entry.templates()),
        })
    });
    let attributes = entity.attributes.values().map(|attribute| {
        json!({ "name": attribute.name, "type": attribute.kind.name(), "stored": attribute.kind.stored().name(), "values": attribute.values })
    });
    json!({
        "name": entity.name.value,
        "line": source.position(entity.span.start).0,
        "description": entity.description,
        "table": table.name.value,
        "key": keyed(table.key.as_ref(), entity.key_templates()),
        "indexes": entries.collect::<Vec<_>>(),
        "attributes": attributes.collect::<Vec<_>>(),
        "bytes": entity.size.as_ref().map(|size| size.typical),
        "items": model.items(id),
    })
}

fn keyed<'a>(schema: Option<&KeySchema>, templates: impl Iterator<Item = &'a Template>) -> Vec<Value> {
    let names = schema.into_iter().flat_map(KeySchema::attributes);
    let one = |(key, template): (&model::model::KeyAttribute, &Template)| {
        let parts: Vec<Value> = template.parts.iter().map(part).collect();
        json!({ "attribute": key.name, "template": template.to_string(), "parts": parts })
    };
    names.zip(templates).map(one).collect()
}

fn part(part: &Part) -> Value {
    match part {
        Part::Literal(text) => json!({ "text": text }),
        Part::Field(field) => {
            let whole = matches!(field.form, Form::Attribute(_)) && field.width.is_none();
            json!({ "attribute": field.attribute(), "whole": whole })
        }
    }
}

fn pattern(source: &Source, model: &Model, footprints: &Footprints, pattern: &Pattern) -> Value {
    let planned = plan(model, pattern);
    let predicted = predict::typical::pattern(model, footprints, pattern, &planned, Assumption::Weighted);
    let gaps: Vec<String> = planned.gaps().map(|gap| gap.describe(model)).collect();
    let first = planned.reads().next();
    json!({
        "id": pattern.id.value,
        "line": source.position(pattern.id.span.start).0,
        "description": pattern.description,
        "reads": pattern.is_read(),
        "elsewhere": pattern.external.as_ref().map(|external| &external.value),
        "operation": planned.operation(),
        "source": planned.source(model),
        "tables": tables(model, &planned),
        "index": first.and_then(|read| Some(&model.table(read.table).index(read.index?).name.value)),
        "entities": entities(model, &planned),
        "requests": predicted.requests,
        "units": { "read": predicted.read_units(), "write": predicted.write_units() },
        "rate": pattern.rate.as_ref().map(|rate| rate.value.average),
        "gaps": gaps,
        "condition": first.map(|read| condition(model, read)),
        "read": pattern.reads().next().map(|(_, read)| asked(model, read)),
    })
}

fn tables<'m>(model: &'m Model, plan: &Plan) -> Vec<&'m str> {
    let mut names: Vec<&str> = plan
        .steps
        .iter()
        .map(|step| match &step.kind {
            ActionPlan::Read(read) => model.table(read.table).name.value.as_str(),
            ActionPlan::Write(write) => model.table(write.table).name.value.as_str(),
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn entities<'m>(model: &'m Model, plan: &Plan) -> Vec<&'m str> {
    let of_reads = plan.reads().flat_map(|read| read.entities.iter().copied());
    let mut ids: Vec<EntityId> = of_reads.chain(plan.writes().map(|(write, _)| write.entity)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| model.entity(id).name.value.as_str()).collect()
}

/// The key condition in the model's own words: `PK = CUST#{customerId}, SK begins_with ORDER#`.
fn condition(model: &Model, read: &ReadPlan) -> Vec<Value> {
    let conditions = read.key_condition(model).into_iter();
    conditions
        .map(|(attribute, condition)| json!({ "attribute": attribute, "condition": condition }))
        .collect()
}

/// The values that the reader must give, and the order and limit.
fn asked(model: &Model, read: &model::model::Read) -> Value {
    let entity = model.entity(read.entities[0].value);
    let mut values: Vec<Value> = Vec::new();
    for name in &read.by {
        values.push(
            json!({ "name": name.value, "attribute": name.value, "stored": stored(entity, &name.value) }),
        );
    }
    let predicates = read.conditions.iter().chain(&read.filter);
    for term in predicates.flat_map(|predicate| &predicate.terms) {
        for operand in &term.operands {
            if let Operand::Parameter(parameter) = operand {
                let attribute = &term.attribute.value;
                values.push(json!({ "name": format!(":{parameter}"), "attribute": attribute, "stored": stored(entity, attribute) }));
            }
        }
    }
    json!({
        "values": values,
        "order": read.order.iter().map(|by| json!({ "attribute": by.attribute.value, "descending": by.descending })).collect::<Vec<_>>(),
        "limit": read.limit.as_ref().map(|limit| limit.value),
        "counts": read.attributes.as_ref().is_some_and(|attributes| attributes.value == AttributesRead::Count),
    })
}

fn stored(entity: &Entity, attribute: &str) -> &'static str {
    entity.attribute(attribute).map_or("S", |attribute| attribute.kind.stored().name())
}

/// The entity of an item, by its primary key. If several match, the one with the most literal text wins.
pub fn entity_of(model: &Model, table: &str, item: &Values) -> Option<EntityId> {
    let fits = model.entity_ids().filter_map(|id| {
        let entity = model.entity(id);
        let of_table = model.table_of(entity);
        let key = of_table.key.as_ref().filter(|_| of_table.name.value == table)?;
        entity.key.as_ref()?;
        let mut literals = 0;
        for (key, template) in key.attributes().zip(entity.key_templates()) {
            literals += fit(template, item.get(&key.name)?)?;
        }
        Some((literals, std::cmp::Reverse(id)))
    });
    fits.max().map(|(_, std::cmp::Reverse(id))| id)
}

/// The length of the template's literal text if the value matches.
fn fit(template: &Template, value: &Attribute) -> Option<usize> {
    let text = plain_text(value);
    let literals = template.parts.iter().map(|part| match part {
        Part::Literal(text) => text.len(),
        Part::Field(_) => 0,
    });
    fits(&template.parts, &text).then(|| literals.sum())
}

/// A field matches any text that is not empty. Each literal is matched where it first occurs, the last one at the
/// end, so the time is linear in the length of the key.
fn fits(parts: &[Part], text: &str) -> bool {
    let mut rest = text;
    let mut fields = 0;
    for (at, part) in parts.iter().enumerate() {
        let Part::Literal(literal) = part else {
            fields += 1;
            continue;
        };
        let is_last = at + 1 == parts.len();
        let least = rest.char_indices().nth(fields).map_or(rest.len(), |(at, _)| at);
        let found = match (fields, is_last) {
            (0, _) => rest.starts_with(literal.as_str()).then_some(0),
            (_, true) => {
                rest.ends_with(literal.as_str()).then(|| rest.len() - literal.len()).filter(|at| *at >= least)
            }
            (_, false) => rest[least..].find(literal.as_str()).map(|at| at + least),
        };
        let Some(found) = found else { return false };
        rest = &rest[found + literal.len()..];
        fields = 0;
    }
    if fields == 0 { rest.is_empty() } else { rest.chars().count() >= fields }
}

/// Whether a pattern is a single read and no group.
pub fn is_single_read(pattern: &Pattern) -> bool {
    matches!(pattern.actions.as_slice(), [one] if matches!(one.kind, ActionKind::Read(_)))
}
