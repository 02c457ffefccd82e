//! R18: more indexes than a table should have, or than it can have.

use api::limits::{GLOBAL_SECONDARY_INDEXES_MAX, LOCAL_SECONDARY_INDEXES_MAX};

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Index, IndexKind, Table, TableId};

pub const RULE: Rule = Rule {
    id: RuleId(18),
    level: Level::Error,
    title: "The table has too many indexes",
    page: include_str!("../../../../docs/rules/R18.md"),
    // `per-query`: report from this many indexes on that serve one pattern each; 0 means never.
    parameters: &[("advised", 5.0), ("max", GLOBAL_SECONDARY_INDEXES_MAX as f64), ("per-query", 0.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.table_ids().flat_map(|table| in_table(subject, table)).collect()
}

fn in_table(subject: &Subject<'_>, id: TableId) -> Vec<Diagnostic> {
    let table = subject.model.table(id);
    let global: Vec<&Index> = table.global_indexes().collect();
    let local: Vec<&Index> = table.indexes.iter().filter(|index| index.kind == IndexKind::Local).collect();
    let too_many = over(&local, LOCAL_SECONDARY_INDEXES_MAX as f64)
        .map(|first| refused(table, first, "local", local.len(), LOCAL_SECONDARY_INDEXES_MAX as f64));
    let most = subject.parameter("max");
    let of_global = over(&global, most)
        .map(|first| refused(table, first, "global", global.len(), most))
        .or_else(|| {
            over(&global, subject.parameter("advised")).map(|first| many(subject, table, first, global.len()))
        })
        .or_else(|| one_for_each_query(subject, id, &global));
    too_many.into_iter().chain(of_global).collect()
}

/// The first index that is too many.
fn over<'m>(indexes: &[&'m Index], most: f64) -> Option<&'m Index> {
    indexes.get(most.max(0.0) as usize).copied()
}

fn refused(table: &Table, first: &Index, kind: &str, count: usize, most: f64) -> Diagnostic {
    let message = format!("`{}` has {count} {kind} indexes; a table can have {most}", table.name.value);
    Diagnostic::error(first.name.span, message)
        .label("one too many")
        .why("DynamoDB refuses to create more")
        .help("let entities share an index: each gives it a key of its own, beginning with its type")
}

fn many(subject: &Subject<'_>, table: &Table, first: &Index, count: usize) -> Diagnostic {
    let advised = subject.parameter("advised");
    let message = format!("`{}` has {count} global indexes, more than {advised}", table.name.value);
    Diagnostic::warning(first.name.span, message)
        .label(format!("number {}", advised as usize + 1))
        .why(format!("an item in all of them is written {} times", count + 1))
        .help(
            "let entities that share no index share one; if each is worth its writes, say so: \
             `rules: { R18: { advised: 8 } }`",
        )
}

/// Off by default: one named index per question is a legitimate style.
fn one_for_each_query(subject: &Subject<'_>, id: TableId, global: &[&Index]) -> Option<Diagnostic> {
    let least = subject.parameter("per-query");
    let table = subject.model.table(id);
    let served = |index: &Index| {
        let index = table.index_named(&index.name);
        subject.reads().filter(|one| one.plan.table == id && one.plan.index == index).count()
    };
    let single: Vec<&&Index> = global.iter().filter(|index| served(index) == 1).collect();
    (least > 0.0 && single.len() as f64 >= least).then(|| {
        let message = format!("{} indexes of `{}` serve one pattern each", single.len(), table.name.value);
        Diagnostic::warning(single[0].name.span, message)
            .label("serves a single pattern")
            .why(
                "every index is written with every item in it: an index for each query multiplies the writes",
            )
            .help("choose sort keys that serve several patterns, and let entities share an index")
    })
}
