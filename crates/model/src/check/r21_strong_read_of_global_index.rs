//! R21: a strong read of a global index.

use super::{Rule, Subject};
use crate::diagnostic::{Fix, Level, RuleId, listed};
use crate::model::{Index, IndexId, IndexKind, Model, Pattern, Table};
use crate::plan::{Gap, Plan, ReadPlan};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(21),
    level: Level::Error,
    title: "A strong read of a global index",
    page: include_str!("../../../../docs/rules/R21.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let patterns = subject.patterns();
    patterns
        .filter_map(|(pattern, plan)| {
            in_request(subject, pattern).or_else(|| in_plan(subject, pattern, plan))
        })
        .collect()
}

fn in_plan(subject: &Subject<'_>, pattern: &Pattern, plan: &Plan) -> Option<Diagnostic> {
    let read = plan.reads().find(|read| read.gaps.contains(&Gap::StrongOnGlobalIndex))?;
    let index = subject.model.table(read.table).index(read.index?);
    let span = pattern.consistency.as_ref().map_or(pattern.id.span, |consistency| consistency.span);
    let found = finding(pattern, index, span).help(way_out(subject.model, read));
    Some(found.fix(Fix::put(pattern.span, "consistency", "eventual")))
}

/// The request itself names the index and asks for consistency.
fn in_request(subject: &Subject<'_>, pattern: &Pattern) -> Option<Diagnostic> {
    let request = &pattern.request.as_ref()?.value;
    let strong = request.get("ConsistentRead")?.as_bool()?;
    let index = index_named(subject.model, request.get("IndexName")?.as_str()?)?;
    let span = *pattern.request_members.get("ConsistentRead")?;
    (strong && index.kind == IndexKind::Global)
        .then(|| finding(pattern, index, span).help("leave out `ConsistentRead`, or read the table"))
}

fn index_named<'m>(model: &'m Model, name: &str) -> Option<&'m Index> {
    let named = |table: &'m Table| table.index_named(name).map(|id: IndexId| table.index(id));
    model.tables.iter().find_map(named)
}

fn finding(pattern: &Pattern, index: &Index, span: Span) -> Diagnostic {
    let message = format!("`{}` reads the global index `{}` strongly", pattern.id.value, index.name.value);
    Diagnostic::error(span, message)
        .label("DynamoDB refuses this request")
        .related(index.name.span, "a global index")
        .why("a global index follows its table a moment later; only tables and local indexes are read strongly")
}

/// What can be read strongly instead: the item by its key, or a local index if the partition is the same.
fn way_out(model: &Model, read: &ReadPlan) -> String {
    let entity = model.entity(read.entities[0]);
    let base = entity.key.as_ref().map(|key| &key.partition);
    let same_partition = read.partition.len() == 1
        && base.is_some_and(|base| base.to_string() == read.partition[0].to_string());
    let otherwise = if same_partition {
        "or make the index `type: local`: it has the table's partition key".to_owned()
    } else {
        let names: Vec<&str> = entity.key_templates().flat_map(|template| template.attributes()).collect();
        format!("or read `{}` by the table's key: {}", entity.name.value, listed(&names))
    };
    format!("write `consistency: eventual` if a moment does not matter, {otherwise}")
}
