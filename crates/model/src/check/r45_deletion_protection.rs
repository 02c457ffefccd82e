//! R45: a production table that a single call can delete.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::Table;

pub const RULE: Rule = Rule {
    id: RuleId(45),
    level: Level::Info,
    title: "One call deletes a production table",
    page: include_str!("../../../../docs/rules/R45.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let tables = subject.model.tables.iter().filter(|table| table.key.is_some());
    tables.filter(|table| subject.model.production && !is_protected(table)).map(finding).collect()
}

fn is_protected(table: &Table) -> bool {
    table.deletion_protection.as_ref().is_some_and(|protection| protection.value)
}

fn finding(table: &Table) -> Diagnostic {
    let span = table.deletion_protection.as_ref().map_or(table.name.span, |protection| protection.span);
    Diagnostic::info(span, format!("one call deletes table `{}`", table.name.value))
        .label("no `deletion-protection`")
        .why("a stack that is removed, or a script with the wrong name, takes the table with it")
        .help("add `deletion-protection: true`: it costs nothing, and must be taken off before a table can be deleted")
        .fix(Fix::put(table.span, "deletion-protection", "true"))
}
