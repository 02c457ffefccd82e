//! Model -> a module in TypeScript with tables, entities and access patterns.

use item::Type;
use model::Model;
use model::model::{
    ActionKind, Attribute, AttributeKind, AttributesRead, Consistency, Entity, IndexKind, KeyAttribute,
    KeySchema, Pattern, Place, Projection, Read, ReadVerb, Table,
};
use model::plan::{ReadOperation, ReadPlan, SortCondition, plan};
use model::predicate::{Operator, Predicate};
use model::template::{Form, Part, Template};
use serde_json::Value;

use super::{ENTITY, TIMESTAMPS};
use crate::javascript::{key, pattern};
use crate::names::pascal;
use crate::{Notes, value};

pub fn module(model: &Model, notes: &mut Notes) -> String {
    let mut out = String::new();
    for table in &model.tables {
        let Some(schema) = &table.key else {
            let name = &table.name.value;
            notes.add(format!("table {name} has no keys yet: `lodestone model design` finds them"));
            continue;
        };
        out += &self::table(model, table, schema, notes);
    }
    for id in model.entity_ids() {
        let entity = model.entity(id);
        if entity.key.is_some() && model.table_of(entity).key.is_some() {
            out += &self::entity(model, entity, &model.places_of(id), notes);
        }
    }
    for pattern in &model.patterns {
        match access_pattern(model, pattern) {
            Some(text) => out += &text,
            None => notes.add(format!(
                "pattern {}: only queries of one partition are access patterns of the library",
                pattern.id.value
            )),
        }
    }
    notes.add("index keys are made when an item is put: an update has to give those that it changes");
    format!("{}{out}", imports(&out))
}

fn imports(program: &str) -> String {
    let used = |names: &[&str]| -> String {
        let used: Vec<&str> =
            names.iter().copied().filter(|name| program.contains(&format!("{name}("))).collect();
        used.join(", ")
    };
    let types =
        used(&["any", "binary", "boolean", "item", "list", "map", "number", "record", "set", "string"]);
    let mut out = String::from("import { Entity } from 'dynamodb-toolbox/entity'\n");
    out += &format!("import {{ {types} }} from 'dynamodb-toolbox/schema'\n");
    out += "import { Table } from 'dynamodb-toolbox/table'\n";
    if program.contains("(AccessPattern)") {
        out += "import { AccessPattern } from 'dynamodb-toolbox/table/actions/accessPattern'\n";
    }
    if program.contains("crc32(") {
        out += "import { crc32 } from 'node:zlib'\n";
    }
    out
}

fn table_id(table: &Table) -> String {
    format!("{}Table", pascal(&table.name.value))
}

fn entity_id(entity: &Entity) -> String {
    format!("{}Entity", pascal(&entity.name.value))
}

/// In quotes.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}

fn key_of(key: &KeyAttribute) -> String {
    let kind = match key.kind {
        Type::N => "number",
        Type::B => "binary",
        _ => "string",
    };
    format!("{{ name: {}, type: '{kind}' }}", text(&key.name))
}

fn keys_of(schema: &KeySchema, is_local: bool) -> String {
    let partition = schema.partition.first().filter(|_| !is_local);
    let sides = [("partitionKey", partition), ("sortKey", schema.sort.first())];
    let sides = sides.into_iter().filter_map(|(side, key)| Some(format!("{side}: {}", key_of(key?))));
    sides.collect::<Vec<_>>().join(", ")
}

fn table(model: &Model, table: &Table, schema: &KeySchema, notes: &mut Notes) -> String {
    let name = &table.name.value;
    let mut out = format!("\nexport const {} = new Table({{\n  name: {},\n", table_id(table), text(name));
    out += &format!("  {},\n", keys_of(schema, false));
    let mut indexes = String::new();
    for index in &table.indexes {
        let of = &index.name.value;
        if index.key.partition.len() > 1 || index.key.sort.len() > 1 {
            notes.add(format!("index {of} of {name} is left out: its key has several attributes"));
            continue;
        }
        if index.projection.value != Projection::All {
            notes.add(format!("index {of} of {name}: the library does not say what an index projects"));
        }
        let is_local = index.kind == IndexKind::Local;
        let kind = if is_local { "local" } else { "global" };
        indexes += &format!("    {}: {{ type: '{kind}', {} }},\n", text(of), keys_of(&index.key, is_local));
    }
    if !indexes.is_empty() {
        out += &format!("  indexes: {{\n{indexes}  }},\n");
    }
    let tag = entity_attribute(model, table);
    if let Some(tag) = tag.filter(|tag| *tag != ENTITY) {
        out += &format!("  entityAttributeSavedAs: {},\n", text(tag));
    }
    out + "})\n"
}

/// The attribute that says of which entity an item is, in some entity of the table.
fn entity_attribute<'m>(model: &'m Model, table: &Table) -> Option<&'m str> {
    let own = model.entities.iter().filter(|one| model.table_of(one).name.value == table.name.value);
    let tags: Vec<&str> = own.filter_map(tag).collect();
    tags.first().copied().filter(|first| tags.iter().all(|tag| tag == first))
}

fn tag(entity: &Entity) -> Option<&str> {
    let is_tag = |one: &&Attribute| one.constant == Some(item::Value::from(entity.name.value.as_str()));
    entity.attributes.values().find(is_tag).map(|one| one.name.as_str())
}

fn entity(model: &Model, entity: &Entity, places: &[Place<'_>], notes: &mut Notes) -> String {
    let table = model.table_of(entity);
    let tag = entity_attribute(model, table).filter(|tag| self::tag(entity) == Some(tag));
    let is_timestamp = |name: &str| {
        entity.attribute(name).is_some_and(|one| one.kind == AttributeKind::Timestamp && !one.optional)
    };
    let stamps: Vec<&str> =
        TIMESTAMPS.iter().map(|(_, stored)| *stored).filter(|one| is_timestamp(one)).collect();
    let in_key: Vec<&str> = entity.key_templates().flat_map(Template::attributes).collect();
    let mut own = String::new();
    for attribute in entity.attributes.values() {
        if Some(attribute.name.as_str()) == tag || stamps.contains(&attribute.name.as_str()) {
            continue;
        }
        let is_key = in_key.contains(&attribute.name.as_str());
        own += &format!("    {}: {},\n", member(&attribute.name), described(attribute, is_key));
    }
    let mut made: Vec<(String, String)> = Vec::new();
    for place in places.iter().filter(|place| place.schema.partition.len() < 2 && place.schema.sort.len() < 2)
    {
        for (key, template) in place.partition().into_iter().chain(place.sort()) {
            let is_own = entity.attributes.contains_key(&key.name);
            if is_own || made.iter().any(|(name, _)| *name == key.name) {
                continue;
            }
            let when = place.index.and_then(|(_, _, entry)| entity.membership(entry));
            let is_table_key = place.index.is_none();
            made.push((key.name.clone(), link(entity, key, template, when.as_ref(), is_table_key, notes)));
        }
    }
    let made: String = made.iter().map(|(name, link)| format!("    {}: {link},\n", member(name))).collect();
    let and = if made.is_empty() { String::new() } else { format!(".and({{\n{made}  }})") };
    let timestamps = match stamps.len() {
        2 => String::new(),
        0 => "  timestamps: false,\n".to_owned(),
        _ => {
            let has = |stored: &str| stamps.contains(&stored);
            let each = TIMESTAMPS.map(|(name, stored)| format!("{name}: {}", has(stored)));
            format!("  timestamps: {{ {} }},\n", each.join(", "))
        }
    };
    let tagged = if tag.is_some() { "" } else { "  entityAttribute: false,\n" };
    format!(
        "\nexport const {} = new Entity({{\n  name: {},\n  table: {},\n  schema: item({{\n{own}  }}){and},\n{tagged}{timestamps}}})\n",
        entity_id(entity),
        text(&entity.name.value),
        table_id(table),
    )
}

fn member(name: &str) -> String {
    let is_plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric);
    if is_plain { name.to_owned() } else { text(name) }
}

fn described(attribute: &Attribute, is_key: bool) -> String {
    let mut out = match attribute.kind {
        AttributeKind::Number | AttributeKind::Epoch | AttributeKind::EpochMillis => "number()",
        AttributeKind::Boolean => "boolean()",
        AttributeKind::Binary => "binary()",
        AttributeKind::StringSet => "set(string())",
        AttributeKind::NumberSet => "set(number())",
        AttributeKind::BinarySet => "set(binary())",
        AttributeKind::List => "list(any())",
        AttributeKind::Map => "record(string(), any())",
        AttributeKind::String
        | AttributeKind::Timestamp
        | AttributeKind::Date
        | AttributeKind::Uuid
        | AttributeKind::Ulid => "string()",
    }
    .to_owned();
    let choices: Vec<String> = value::choices(attribute).iter().map(Value::to_string).collect();
    match (&attribute.constant, choices.as_slice()) {
        (Some(_), [only]) => out += &format!(".const({only})"),
        (None, [_, ..]) => out += &format!(".enum({})", choices.join(", ")),
        _ => {}
    }
    if let Some(pattern) = pattern::of_kind(attribute.kind) {
        out += &format!(".validate((value) => {pattern}.test(value))");
    }
    if is_key {
        out += ".key()";
    } else if attribute.optional {
        out += ".optional()";
    }
    out
}

/// A key attribute that is made of others.
fn link(
    entity: &Entity,
    key: &KeyAttribute,
    template: &Template,
    when: Option<&Predicate>,
    is_table_key: bool,
    notes: &mut Notes,
) -> String {
    let kind = match key.kind {
        Type::N => "number",
        Type::B => "binary",
        _ => "string",
    };
    let made = match template.bare() {
        Some(name) if key.kind != Type::S => key::attribute(name),
        _ => key::template(template),
    };
    if template.fields().any(|field| matches!(field.form, Form::Random { .. })) && is_table_key {
        notes.add(format!(
            "{}, {}: its key has a part that is drawn, so the library can't find an item again",
            entity.name.value, key.name
        ));
    }
    if template.fields().next().is_none() && when.is_none() {
        let constant = text(&template.parts.iter().map(literal).collect::<String>());
        let role = if is_table_key { ".key()" } else { "" };
        return format!("{kind}(){role}.const({constant})");
    }
    let made = match when {
        Some(when) => format!("({} ? {made} : undefined)", key::predicate(when, entity)),
        None => made,
    };
    let role = match (is_table_key, when) {
        (true, _) => ".key()",
        (false, Some(_)) => ".optional()",
        (false, None) => "",
    };
    format!("{kind}(){role}.link((item) => {made})")
}

fn literal(part: &Part) -> &str {
    match part {
        Part::Literal(text) => text,
        Part::Field(_) => "",
    }
}

/// A query of one partition whose parameters are attributes.
fn access_pattern(model: &Model, pattern: &Pattern) -> Option<String> {
    let [action] = pattern.actions.as_slice() else { return None };
    let ActionKind::Read(asked) = &action.kind else { return None };
    let plan = plan(model, pattern);
    let reads: Vec<&ReadPlan> = plan.reads().collect();
    let [read] = reads.as_slice() else { return None };
    let simple = asked.verb == ReadVerb::Query
        && read.operation == ReadOperation::Query
        && read.fan_out == 1
        && read.filter.is_empty()
        && read.gaps.is_empty()
        && pattern.external.is_none();
    simple.then_some(())?;
    let ([partition], sort) = (read.partition.as_slice(), read.sort.as_slice()) else { return None };
    let mut parameters: Vec<String> = Vec::new();
    let partition = given(&partition.parts, asked, &mut parameters)?;
    let range = match sort {
        [] => None,
        [only] => range(only, asked, &mut parameters)?,
        _ => return None,
    };
    let table = model.table(read.table);
    let index = read.index.map(|index| format!("index: {}, ", text(&table.index(index).name.value)));
    let range = range.map(|range| format!(", range: {range}")).unwrap_or_default();
    let entity = read.entities.first().map(|id| model.entity(*id))?;
    let schema = parameters.iter().map(|name| {
        let base = name.strip_suffix("From").or_else(|| name.strip_suffix("To")).unwrap_or(name);
        let kind = entity.attribute(name).or_else(|| entity.attribute(base)).map(|one| one.kind.stored());
        format!("{name}: {}", if kind == Some(Type::N) { "number()" } else { "string()" })
    });
    let schema: Vec<String> = schema.collect();
    let entities: Vec<String> = read.entities.iter().map(|id| entity_id(model.entity(*id))).collect();
    let mut out = format!(
        "\nexport const {} = {}.build(AccessPattern)\n  .entities({})\n  .schema(map({{ {} }}))\n  .pattern(({{ {} }}) => ({{ {}partition: {partition}{range} }}))\n",
        member_name(&pattern.id.value)?,
        table_id(table),
        entities.join(", "),
        schema.join(", "),
        parameters.join(", "),
        index.unwrap_or_default(),
    );
    let mut options: Vec<String> = Vec::new();
    if !read.forward {
        options.push("reverse: true".to_owned());
    }
    options.extend(asked.limit.as_ref().map(|limit| format!("limit: {}", limit.value)));
    if pattern.consistency.as_ref().is_some_and(|one| one.value == Consistency::Strong) {
        options.push("consistent: true".to_owned());
    }
    if let Some(AttributesRead::These(names)) = asked.attributes.as_ref().map(|one| &one.value) {
        let names: Vec<String> = names.iter().map(|name| text(&name.value)).collect();
        options.push(format!("attributes: [{}]", names.join(", ")));
    }
    if !options.is_empty() {
        out += &format!("  .options({{ {} }})\n", options.join(", "));
    }
    if let Some(description) = &pattern.description {
        out += &format!("  .meta({{ description: {} }})\n", text(description));
    }
    Some(out)
}

/// A pattern's id as the name of a constant.
fn member_name(id: &str) -> Option<String> {
    let is_plain =
        id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !id.starts_with(char::is_numeric);
    is_plain.then(|| id.to_owned())
}

/// Parts of a key as an expression over parameters that are called like the attributes.
fn given(parts: &[Part], asked: &Read, parameters: &mut Vec<String>) -> Option<String> {
    let known = |name: &str| {
        asked.conditions.as_ref().and_then(|all| all.equality(name)?.literal().map(str::to_owned))
    };
    let mut out = String::new();
    let is_bare = matches!(parts, [Part::Field(field)] if matches!(field.form, Form::Attribute(_)) && field.width.is_none());
    for part in parts {
        match part {
            Part::Literal(text) => {
                out += &text.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${")
            }
            Part::Field(field) => {
                let name = field
                    .attribute()
                    .filter(|_| matches!(field.form, Form::Attribute(_)) && field.width.is_none())?;
                match known(name) {
                    Some(value) => out += &value,
                    None => {
                        member_name(name)?;
                        if !parameters.iter().any(|one| one == name) {
                            parameters.push(name.to_owned());
                        }
                        if is_bare {
                            return Some(name.to_owned());
                        }
                        out += &format!("${{{name}}}");
                    }
                }
            }
        }
    }
    Some(format!("`{out}`"))
}

fn range(sort: &SortCondition, asked: &Read, parameters: &mut Vec<String>) -> Option<Option<String>> {
    Some(match sort {
        SortCondition::Equal(template) => {
            Some(format!("{{ eq: {} }}", given(&template.parts, asked, parameters)?))
        }
        SortCondition::BeginsWith(parts) if parts.is_empty() => None,
        SortCondition::BeginsWith(parts) => {
            Some(format!("{{ beginsWith: {} }}", given(parts, asked, parameters)?))
        }
        SortCondition::Range { prefix, term, last } => {
            let name = member_name(&term.attribute.value)?;
            let sign = match (term.operator, last) {
                (Operator::BeginsWith, _) => "beginsWith",
                (Operator::GreaterOrEqual, _) => "gte",
                (Operator::Less, _) => "lt",
                (Operator::Greater, true) => "gt",
                (Operator::LessOrEqual, true) => "lte",
                (Operator::Between, true) => "between",
                _ => return None,
            };
            let bound = |name: &str, parameters: &mut Vec<String>| {
                parameters.push(name.to_owned());
                let before = given(prefix, asked, parameters)?;
                let before = before.trim_matches('`');
                Some(match before.is_empty() {
                    true => name.to_owned(),
                    false => format!("`{before}${{{name}}}`"),
                })
            };
            // A half-open range would also meet the keys of other entities behind the prefix.
            if !prefix.is_empty() && !matches!(sign, "beginsWith" | "between") {
                return None;
            }
            match sign {
                "between" => {
                    let low = bound(&format!("{name}From"), parameters)?;
                    let high = bound(&format!("{name}To"), parameters)?;
                    Some(format!("{{ between: [{low}, {high}] }}"))
                }
                sign => Some(format!("{{ {sign}: {} }}", bound(&name, parameters)?)),
            }
        }
    })
}
