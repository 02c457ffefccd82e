//! R33: production without point-in-time recovery, replicas without the stream they need.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Model, StreamView, Table, TableId};

pub const RULE: Rule = Rule {
    id: RuleId(33),
    level: Level::Warning,
    title: "A production table can't be restored, or its replicas have no stream",
    page: include_str!("../../../../docs/rules/R33.md"),
    // Data that expires within this time need not be restored.
    parameters: &[("expires-hours", 24.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let ids = subject.model.table_ids();
    ids.flat_map(|id| {
        let table = subject.model.table(id);
        unrecoverable(subject, id, table).into_iter().chain(without_stream(table)).collect::<Vec<_>>()
    })
    .collect()
}

fn unrecoverable(subject: &Subject<'_>, id: TableId, table: &Table) -> Option<Diagnostic> {
    let enabled = table.pitr.as_ref().is_some_and(|pitr| pitr.value);
    if enabled
        || !subject.model.production
        || table.key.is_none()
        || is_short_lived(subject, subject.model, id)
    {
        return None;
    }
    let span = table.pitr.as_ref().map_or(table.name.span, |pitr| pitr.span);
    Some(
        Diagnostic::warning(
            span,
            format!("table `{}` can't be restored to a point in time", table.name.value),
        )
        .label("no `pitr`")
        .why("a wrong write or delete is otherwise final; recovery goes back up to 35 days, to the second")
        .help("add `pitr: true`, or `stage: development` to the model if the data does not matter")
        .fix(Fix::put(table.span, "pitr", "true")),
    )
}

/// Whether all items expire soon, as sessions do.
fn is_short_lived(subject: &Subject<'_>, model: &Model, id: TableId) -> bool {
    let limit = subject.parameter("expires-hours") * 3_600.0;
    let mut entities = model.entities_of(id).peekable();
    let some = entities.peek().is_some();
    some && entities.all(|(_, entity)| entity.expires.as_ref().is_some_and(|one| one.value as f64 <= limit))
}

fn without_stream(table: &Table) -> Option<Diagnostic> {
    let replica = table.replicas.first()?;
    let view = table.stream.as_ref();
    if view.is_some_and(|view| view.value == StreamView::NewAndOld) {
        return None;
    }
    let span = view.map_or(replica.span, |view| view.span);
    let label = view
        .map_or("no stream to follow".to_owned(), |view| format!("{} is not enough", view.value.api_name()));
    Some(
        Diagnostic::warning(span, format!("the replica in {} needs a stream of both images", replica.value))
            .label(label)
            .why("global tables replicate through a stream with new and old images")
            .help("add `stream: new-and-old` to the table")
            .fix(Fix::put(table.span, "stream", "new-and-old")),
    )
}
