//! What a pattern does: `get: Customer`, `update: Order`, `create LineItem × 5`.

use super::Parsed;
use super::cursor::Cursor;
use super::fields::Fields;
use super::reader::{Reader, unknown_help};
use super::resolve::Resolved;
use super::yaml::{Node, NodeValue, Scalar};
use super::{predicate, quantity};
use crate::model::{
    Action, ActionKind, Attribute, AttributeChange, AttributesRead, Entity, EntityId, OrderBy, Read,
    ReadVerb, Write, WriteVerb,
};
use crate::predicate::{Operand, Predicate};
use crate::{Span, Spanned};

#[derive(Clone, Copy)]
pub enum Verb {
    Read(ReadVerb),
    Write(WriteVerb),
}

pub const VERBS: [(&str, Verb); 8] = [
    ("get", Verb::Read(ReadVerb::Get)),
    ("query", Verb::Read(ReadVerb::Query)),
    ("scan", Verb::Read(ReadVerb::Scan)),
    ("create", Verb::Write(WriteVerb::Create)),
    ("put", Verb::Write(WriteVerb::Put)),
    ("update", Verb::Write(WriteVerb::Update)),
    ("delete", Verb::Write(WriteVerb::Delete)),
    ("check", Verb::Write(WriteVerb::Check)),
];

/// The one verb among the fields, with the entities it is about.
pub fn verb<'n>(fields: &mut Fields<'n>) -> Vec<(Verb, &'n Scalar, &'n Node)> {
    let found = VERBS.iter().filter_map(|(name, verb)| {
        let (key, node) = fields.take_entry(name)?;
        Some((*verb, key, node))
    });
    found.collect()
}

/// The elements of `transact` or `batch`.
pub fn steps(reader: &mut Reader<'_>, resolved: &mut Resolved, node: &Node) -> Vec<Action> {
    reader.list(node).iter().filter_map(|node| step(reader, resolved, node)).collect()
}

fn step(reader: &mut Reader<'_>, resolved: &mut Resolved, node: &Node) -> Option<Action> {
    if node.scalar().is_some() {
        let written = reader.parse(node, step_text)?.value;
        let mut none = Fields::new("a step", &[]);
        let names = vec![Spanned::new(written.entity.0, written.entity.1)];
        let kind = action(reader, resolved, &mut none, written.verb, names, node.span)?;
        return Some(Action { kind, times: written.times, span: node.span });
    }
    let mut fields = reader.fields(node, "a step")?;
    let verbs = verb(&mut fields);
    let times = fields.take("times").and_then(|node| reader.parse(node, times));
    let [(verb, _, names)] = verbs.as_slice() else {
        reader.error_with_help(node.span, "a step does one thing", "as in `update: Order`");
        return None;
    };
    let names = reader.names(names);
    let kind = action(reader, resolved, &mut fields, *verb, names, node.span)?;
    fields.finish(reader);
    Some(Action { kind, times: times.map_or(1, |times| times.value), span: node.span })
}

struct StepText {
    verb: Verb,
    entity: (String, Span),
    times: u64,
}

/// More than any request takes, and few enough to be simulated.
const TIMES_MAX: f64 = 1e6;

fn times(scalar: &Scalar) -> Parsed<u64> {
    at_most(scalar, quantity::integer(scalar)? as f64)
}

fn at_most(scalar: &Scalar, times: f64) -> Parsed<u64> {
    if times > TIMES_MAX {
        return Err(Cursor::new(scalar).error("repeated more than a million times"));
    }
    Ok(times.max(1.0) as u64)
}

/// `create LineItem × 5`; `x` and `*` serve as well.
fn step_text(scalar: &Scalar) -> Parsed<StepText> {
    let mut cursor = Cursor::new(scalar);
    let found = VERBS.iter().find(|(name, _)| cursor.take_word(name)).map(|(_, verb)| *verb);
    let Some(verb) = found else {
        return Err(cursor.error("expected `get`, `create`, `put`, `update`, `delete` or `check`"));
    };
    let (entity, span) = cursor.word("the name of an entity")?;
    let times =
        if cursor.take("×") || cursor.take("*") || cursor.take_word("x") { cursor.number()? } else { 1.0 };
    cursor.end()?;
    let times = at_most(scalar, times)?;
    Ok(StepText { verb, entity: (entity.to_owned(), span), times })
}

/// The fields of one read or write.
pub fn action(
    reader: &mut Reader<'_>,
    resolved: &mut Resolved,
    fields: &mut Fields<'_>,
    verb: Verb,
    names: Vec<Spanned<String>>,
    span: Span,
) -> Option<ActionKind> {
    let entities: Vec<Spanned<EntityId>> = names
        .iter()
        .filter_map(|name| Some(Spanned::new(reader.entity_id(name, name.span)?, name.span)))
        .collect();
    // A wrong part has been reported; the rest is still read.
    let known = (!entities.is_empty()).then_some(entities);
    let mut scope = Scope { reader, resolved, entities: known.clone().unwrap_or_default() };
    let kind = match verb {
        Verb::Read(verb) => ActionKind::Read(read(&mut scope, fields, verb, span)),
        Verb::Write(verb) => {
            if let Some(second) = names.get(1) {
                scope.reader.error(second.span, "a write is about one entity");
            }
            let entity = known.as_ref()?.first()?.clone();
            ActionKind::Write(write(&mut scope, fields, verb, entity, span))
        }
    };
    known.map(|_| kind)
}

/// The entities an action is about, to look attributes up in.
struct Scope<'a, 's> {
    reader: &'a mut Reader<'s>,
    resolved: &'a mut Resolved,
    entities: Vec<Spanned<EntityId>>,
}

fn read(scope: &mut Scope<'_, '_>, fields: &mut Fields<'_>, verb: ReadVerb, span: Span) -> Read {
    let mut by = scope.attributes(fields, "by");
    if by.is_empty() && verb == ReadVerb::Get {
        by = scope.key_attributes(span);
    }
    Read {
        verb,
        entities: scope.entities.clone(),
        by,
        conditions: scope.predicate(fields, "where"),
        filter: scope.predicate(fields, "filter"),
        order: scope.order(fields),
        limit: fields.take("limit").and_then(|node| scope.reader.parse(node, quantity::integer)),
        returns: fields.take("returns").and_then(|node| scope.reader.returns(node)),
        paged: fields.take("paged").and_then(|node| scope.reader.boolean(node)),
        attributes: scope.attributes_read(fields),
    }
}

fn write(
    scope: &mut Scope<'_, '_>,
    fields: &mut Fields<'_>,
    verb: WriteVerb,
    entity: Spanned<EntityId>,
    span: Span,
) -> Write {
    let mut by = scope.attributes(fields, "by");
    let says_by = !by.is_empty();
    if by.is_empty() && !matches!(verb, WriteVerb::Create | WriteVerb::Put) {
        by = scope.key_attributes(span);
    }
    Write {
        verb,
        entity,
        by,
        says_by,
        knows: scope.attributes(fields, "knows"),
        set: scope.changes(fields, "set"),
        add: scope.changes(fields, "add"),
        remove: scope.attributes(fields, "remove"),
        condition: scope.predicate(fields, "if"),
        version: scope.attributes(fields, "version").into_iter().next(),
    }
}

impl Scope<'_, '_> {
    fn entity(&self, id: EntityId) -> &Entity {
        &self.resolved.entities[id.0]
    }

    /// Without `by`, an action on one item is assumed to know the whole key.
    fn key_attributes(&self, span: Span) -> Vec<Spanned<String>> {
        let mut names: Vec<String> = Vec::new();
        for id in &self.entities {
            for name in self.entity(id.value).key_templates().flat_map(|template| template.attributes()) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names.into_iter().map(|name| Spanned::new(name, span)).collect()
    }

    fn attributes(&mut self, fields: &mut Fields<'_>, name: &'static str) -> Vec<Spanned<String>> {
        let names = fields.take(name).map(|node| self.reader.names(node)).unwrap_or_default();
        names.iter().for_each(|name| self.know(name));
        names
    }

    fn predicate(&mut self, fields: &mut Fields<'_>, name: &'static str) -> Option<Predicate> {
        let node = fields.take(name)?;
        let predicate = self.reader.parse(node, predicate::predicate)?.value;
        for term in predicate.terms.iter().filter(|term| !term.attribute.is_empty()) {
            self.know(&term.attribute);
        }
        Some(predicate)
    }

    /// `createdAt desc`, or a list of such.
    fn order(&mut self, fields: &mut Fields<'_>) -> Vec<OrderBy> {
        let Some(node) = fields.take("order") else { return Vec::new() };
        let mut order = Vec::new();
        for node in self.reader.list(node) {
            if let Some(one) = self.reader.parse(node, order_text) {
                self.know(&one.attribute);
                order.push(one.value);
            }
        }
        order
    }

    /// `all`, `keys`, `count`, or the attributes.
    fn attributes_read(&mut self, fields: &mut Fields<'_>) -> Option<Spanned<AttributesRead>> {
        let node = fields.take("read")?;
        let read = match node.scalar().map(|scalar| scalar.text.as_str()) {
            Some("all") => AttributesRead::All,
            Some("keys") => AttributesRead::Keys,
            Some("count") => AttributesRead::Count,
            _ => {
                let names = self.reader.names(node);
                names.iter().for_each(|name| self.know(name));
                AttributesRead::These(names)
            }
        };
        Some(Spanned::new(read, node.span))
    }

    /// `status`, `[status, total]`, `{ status: SHIPPED }`, `{ status: OPEN -> SHIPPED }`.
    fn changes(&mut self, fields: &mut Fields<'_>, name: &'static str) -> Vec<AttributeChange> {
        let Some(node) = fields.take(name) else { return Vec::new() };
        let NodeValue::Map(entries) = &node.value else {
            let names = self.reader.names(node);
            names.iter().for_each(|name| self.know(name));
            return names
                .into_iter()
                .map(|attribute| AttributeChange { attribute, from: None, to: None })
                .collect();
        };
        let mut changes = Vec::new();
        for (name, node) in entries {
            let attribute = Spanned::new(name.text.clone(), name.span);
            self.know(&attribute);
            if let Some(change) = self.reader.parse(node, change_text) {
                let (from, to) = change.value;
                changes.push(AttributeChange { attribute, from, to });
            }
        }
        changes
    }

    /// Adds the attribute to every entity of the action that lacks it, or reports the name as wrong.
    fn know(&mut self, name: &Spanned<String>) {
        let ids: Vec<EntityId> = self.entities.iter().map(|id| id.value).collect();
        if ids.iter().any(|id| self.has(*id, name)) {
            return;
        }
        let known: Vec<&str> =
            ids.iter().flat_map(|id| self.entity(*id).attributes.keys()).map(String::as_str).collect();
        let closed = ids.iter().any(|id| self.entity(*id).attributes.values().any(|one| one.declared));
        let slip = known.iter().any(|known| strsim::damerau_levenshtein(known, name) <= 1);
        if self.keyed(&ids) && (closed || slip) {
            let help = unknown_help(name, &known, "declare it under the entity's `attributes`");
            let message = format!("there is no attribute `{}` here", name.value);
            self.reader.error_with_help(name.span, message, help);
            return;
        }
        for id in ids {
            let attributes = &mut self.resolved.entities[id.0].attributes;
            attributes.insert(name.value.clone(), Attribute::implied(name, name.span));
        }
    }

    fn keyed(&self, ids: &[EntityId]) -> bool {
        ids.iter().any(|id| self.entity(*id).key.is_some())
    }

    /// An attribute of the entity, or a key attribute of its table.
    fn has(&self, id: EntityId, name: &str) -> bool {
        let entity = self.entity(id);
        let table = self.resolved.tables.get(entity.table.0);
        let keys = table
            .into_iter()
            .flat_map(|table| table.key.iter().chain(table.indexes.iter().map(|index| &index.key)));
        entity.attribute(name).is_some() || keys.into_iter().any(|key| key.names(name))
    }
}

fn order_text(scalar: &Scalar) -> Parsed<OrderBy> {
    let mut cursor = Cursor::new(scalar);
    let (name, span) = cursor.word("an attribute")?;
    let descending = cursor.take_word("desc") || cursor.take_word("descending");
    if !descending {
        let _ = cursor.take_word("asc") || cursor.take_word("ascending");
    }
    cursor.end()?;
    Ok(OrderBy { attribute: Spanned::new(name.to_owned(), span), descending })
}

/// `SHIPPED`, `:status`, or `OPEN -> SHIPPED`.
fn change_text(scalar: &Scalar) -> Parsed<(Option<Operand>, Option<Operand>)> {
    let Some(arrow) = scalar.text.find("->") else {
        return Ok((None, Some(operand_of(&scalar.text))));
    };
    let (from, to) = (scalar.text[..arrow].trim(), scalar.text[arrow + 2..].trim());
    Ok((Some(operand_of(from)), Some(operand_of(to))))
}

fn operand_of(text: &str) -> Operand {
    match item::Placeholder::Value.word(text) {
        Some(name) => Operand::Parameter(name.to_owned()),
        None => Operand::Literal(text.to_owned()),
    }
}
