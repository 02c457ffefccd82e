//! `patterns`.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::action::{self, VERBS};
use super::fields::Fields;
use super::literal;
use super::quantity;
use super::reader::Reader;
use super::resolve::Resolved;
use super::yaml::{Node, NodeValue, Scalar};
use crate::diagnostic::listed;
use crate::model::{Action, Cached, Consistency, Expectation, FanOut, Grouping, Pattern, Rate};
use crate::{Span, Spanned};

pub const CONSISTENCY: [(&str, Consistency); 2] =
    [("eventual", Consistency::Eventual), ("strong", Consistency::Strong)];

pub fn pattern(
    reader: &mut Reader<'_>,
    resolved: &mut Resolved,
    id: &Scalar,
    node: &Node,
) -> Option<Pattern> {
    let span = id.span.to(node.span);
    let mut fields = reader.fields(node, "a pattern")?;
    let description = fields.take("description").and_then(|node| reader.text(node));
    let done = actions(reader, resolved, &mut fields, id.span);
    let has_verb = done.is_some();
    let request = fields.take("request");
    let pattern = Pattern {
        id: Spanned::new(id.text.clone(), id.span),
        span,
        description: description.map(|text| text.value),
        grouping: done.as_ref().map_or(Grouping::Single, |(grouping, _)| *grouping),
        actions: done.map(|(_, actions)| actions).unwrap_or_default(),
        rate: fields.take("rate").and_then(|node| rate(reader, node)),
        skew: fields.take("skew").and_then(|node| reader.parse(node, quantity::skew)),
        consistency: fields.take("consistency").and_then(|node| reader.choice(node, &CONSISTENCY)),
        index: fields.take("index").and_then(|node| index(reader, resolved, node)),
        fan_out: fields.take("fan-out").and_then(|node| fan_out(reader, node)),
        cached: fields.take("cached").and_then(|node| cached(reader, node)),
        fails: fields.take("fails").and_then(|node| reader.parse(node, quantity::percent)),
        external: fields.take("external").and_then(|node| reader.text(node)),
        request: request.map(|node| Spanned::new(literal::json(node), node.span)),
        request_members: request.map(members).unwrap_or_default(),
        expect: fields.take("expect").map(|node| expectations(reader, resolved, node)).unwrap_or_default(),
    };
    reader.allow(&mut fields, span);
    // Without a verb it is not known which fields the pattern may have.
    if has_verb {
        fields.finish(reader);
    }
    (!pattern.actions.is_empty()).then_some(pattern)
}

/// The span of each member's value in a mapping.
fn members(node: &Node) -> BTreeMap<String, Span> {
    let NodeValue::Map(entries) = &node.value else { return BTreeMap::new() };
    let inner = |node: &Node| node.scalar().map_or(node.span, |scalar| scalar.part(0, scalar.text.len()));
    entries.iter().map(|(name, node)| (name.text.clone(), inner(node))).collect()
}

/// One verb with its fields, or the steps of a transaction or batch.
fn actions(
    reader: &mut Reader<'_>,
    resolved: &mut Resolved,
    fields: &mut Fields<'_>,
    id: Span,
) -> Option<(Grouping, Vec<Action>)> {
    let verbs = action::verb(fields);
    let transact = fields.take_entry("transact");
    let batch = fields.take_entry("batch");
    let found = verbs.len() + usize::from(transact.is_some()) + usize::from(batch.is_some());
    if found != 1 {
        let names: Vec<&str> = VERBS.iter().map(|(name, _)| *name).chain(["transact", "batch"]).collect();
        let message = if found == 0 { "the pattern does nothing" } else { "a pattern does one thing" };
        reader.error_with_help(id, message, format!("say exactly one of {}", listed(&names)));
    }
    if let Some((_, node)) = transact {
        return Some((Grouping::Transaction, action::steps(reader, resolved, node)));
    }
    if let Some((_, node)) = batch {
        return Some((Grouping::Batch, action::steps(reader, resolved, node)));
    }
    let (verb, key, node) = *verbs.first()?;
    let names = reader.names(node);
    let span = key.span.to(node.span);
    let kind = action::action(reader, resolved, fields, verb, names, span);
    let action = kind.map(|kind| Action { kind, times: 1, span });
    Some((Grouping::Single, action.into_iter().collect()))
}

/// `800/s` or `{ average: 800/s, peak: 3000/s, curve: office }`.
fn rate(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<Rate>> {
    if node.scalar().is_some() {
        let average = reader.parse(node, quantity::rate)?;
        return Some(average.map(|average| Rate { average, peak: None, curve: None }));
    }
    let mut fields = reader.fields(node, "a rate")?;
    let average = fields.take("average").and_then(|node| reader.parse(node, quantity::rate));
    let peak = fields.take("peak").and_then(|node| reader.parse(node, quantity::rate));
    let curve = fields.take("curve").and_then(|node| reader.curve(node));
    fields.finish(reader);
    let average = average.as_ref().or(peak.as_ref())?.value;
    Some(Spanned::new(Rate { average, peak: peak.map(|peak| peak.value), curve }, node.span))
}

fn index(reader: &mut Reader<'_>, resolved: &Resolved, node: &Node) -> Option<Spanned<String>> {
    let name = reader.text(node)?;
    let names: Vec<&str> = resolved
        .tables
        .iter()
        .flat_map(|table| &table.indexes)
        .map(|index| index.name.value.as_str())
        .collect();
    if !names.contains(&name.value.as_str()) {
        let help = super::reader::unknown_help(&name, &names, "declare it under `indexes`");
        reader.error_with_help(name.span, format!("there is no index `{}`", name.value), help);
        return None;
    }
    Some(name)
}

/// `allowed`, or the most requests it may take.
fn fan_out(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<FanOut>> {
    if node.scalar().is_some_and(|scalar| scalar.text == "allowed") {
        return Some(Spanned::new(FanOut::Allowed, node.span));
    }
    reader.parse(node, quantity::integer).map(|most| most.map(FanOut::Most))
}

/// `5 min`, `90%` or `{ ttl: 5 min, hit: 90% }`.
fn cached(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<Cached>> {
    if node.scalar().is_some() {
        return reader.parse(node, quantity::cached);
    }
    let mut fields = reader.fields(node, "a cache")?;
    let ttl = fields.take("ttl").and_then(|node| reader.parse(node, quantity::duration));
    let hit = fields.take("hit").and_then(|node| reader.parse(node, quantity::percent));
    fields.finish(reader);
    let cached = Cached { ttl_seconds: ttl.map(|ttl| ttl.value), hit: hit.map(|hit| hit.value) };
    Some(Spanned::new(cached, node.span))
}

/// `{ given: { customerId: a1b2 }, rows: [profile, order-1] }`, or a list of such.
fn expectations(reader: &mut Reader<'_>, resolved: &Resolved, node: &Node) -> Vec<Expectation> {
    let nodes = match &node.value {
        NodeValue::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    nodes.iter().filter_map(|node| expectation(reader, resolved, node)).collect()
}

fn expectation(reader: &mut Reader<'_>, resolved: &Resolved, node: &Node) -> Option<Expectation> {
    let mut fields = reader.fields(node, "an expectation")?;
    let mut given = IndexMap::new();
    if let Some(node) = fields.take("given") {
        for (name, node) in reader.named(node, "given") {
            if let Some(value) = literal::value(reader, node, None) {
                given.insert(name.text.clone(), Spanned::new(value, name.span.to(node.span)));
            }
        }
    }
    let rows = fields.take("rows").map(|node| reader.names(node)).unwrap_or_default();
    fields.finish(reader);
    rows_exist(reader, resolved, &rows);
    Some(Expectation { given, rows, span: node.span })
}

fn rows_exist(reader: &mut Reader<'_>, resolved: &Resolved, rows: &[Spanned<String>]) {
    let of_tables = resolved.tables.iter().flat_map(|table| &table.samples);
    let of_entities = resolved.entities.iter().flat_map(|entity| &entity.samples);
    let names: Vec<&str> = of_tables
        .chain(of_entities)
        .filter_map(|row| row.name.as_ref())
        .map(|name| name.value.as_str())
        .collect();
    for row in rows.iter().filter(|row| !names.contains(&row.value.as_str())) {
        let help = super::reader::unknown_help(row, &names, "name it under `samples`");
        reader.error_with_help(row.span, format!("there is no sample row `{}`", row.value), help);
    }
}
