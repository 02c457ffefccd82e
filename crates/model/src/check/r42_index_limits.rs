//! R42: more local indexes or projected attributes than a table can have.

use api::limits::{LOCAL_SECONDARY_INDEXES_MAX, NON_KEY_ATTRIBUTES_MAX};

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Index, IndexKind, Projection, Table};

pub const RULE: Rule = Rule {
    id: RuleId(42),
    level: Level::Error,
    title: "A table has too many local indexes or projected attributes",
    page: include_str!("../../../../docs/rules/R42.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let tables = subject.model.tables.iter();
    tables.flat_map(|table| local(table).into_iter().chain(projected(table)).collect::<Vec<_>>()).collect()
}

fn local(table: &Table) -> Option<Diagnostic> {
    let local: Vec<&Index> = table.indexes.iter().filter(|index| index.kind == IndexKind::Local).collect();
    let sixth = local.get(LOCAL_SECONDARY_INDEXES_MAX)?;
    Some(
        Diagnostic::error(
            sixth.name.span,
            format!("table `{}` has {} local indexes", table.name.value, local.len()),
        )
        .label("the sixth")
        .why("a table has at most 5 local indexes, and they are made with it or never")
        .help("make it a global index, unless it must be read strongly"),
    )
}

fn projected(table: &Table) -> Option<Diagnostic> {
    let listed = |index: &Index| match &index.projection.value {
        Projection::Include(names) => names.len(),
        Projection::All | Projection::Keys => 0,
    };
    let total: usize = table.indexes.iter().map(listed).sum();
    let mut sum = 0;
    let crossing = table.indexes.iter().find(|index| {
        sum += listed(index);
        sum > NON_KEY_ATTRIBUTES_MAX
    })?;
    Some(
        Diagnostic::error(crossing.projection.span, format!("the indexes list {total} attributes"))
            .label("here it passes 100")
            .why("all indexes of a table together list at most 100 attributes; one that is in two counts twice")
            .help("project less, write `project: all` where most of the item is read, or let patterns share an index"),
    )
}
