//! R43: a partition key of a table with local indexes that outgrows 10 GB.

use api::limits::ITEM_COLLECTION_BYTES_MAX;

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Index, IndexKind, Place, Projection};
use crate::predict::found::items_per_key;

pub const RULE: Rule = Rule {
    id: RuleId(43),
    level: Level::Error,
    title: "An item collection can pass 10 GB",
    page: include_str!("../../../../docs/rules/R43.md"),
    // The share of 10 GB, in per cent, from which it is reported.
    parameters: &[("near", 50.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places();
    let in_tables = places.into_iter().filter(|place| place.index.is_none());
    in_tables.filter_map(|place| in_place(subject, place)).collect()
}

fn in_place(subject: &Subject<'_>, place: Place<'_>) -> Option<Diagnostic> {
    let local = place.table.indexes.iter().find(|index| index.kind == IndexKind::Local)?;
    let items = items_per_key(subject.model, place)?;
    let bytes = items * bytes_each(place)?;
    let most = ITEM_COLLECTION_BYTES_MAX as f64;
    let level = if bytes > most { Level::Error } else { Level::Warning };
    (bytes > most * subject.parameter("near") / 100.0).then(|| finding(place, local, items, bytes, level))
}

/// An item and its rows in local indexes that hold all of it.
fn bytes_each(place: Place<'_>) -> Option<f64> {
    let whole = |index: &&Index| index.kind == IndexKind::Local && index.projection.value == Projection::All;
    let rows = place.table.indexes.iter().filter(whole).count();
    Some(place.entity.size.as_ref()?.typical as f64 * (1 + rows) as f64)
}

fn finding(place: Place<'_>, local: &Index, items: f64, bytes: f64, level: Level) -> Diagnostic {
    let (_, partition) = place.partition()[0];
    let message =
        format!("`{}` can be {} under one partition key", place.entity.name.value, figures::bytes(bytes));
    Diagnostic::new(level, partition.span, message)
        .label(format!("up to {} items", figures::count(items)))
        .related(local.name.span, "a local index bounds it")
        .why("in a table with local indexes, all items of a partition key and their index rows have at most 10 GB; then writes fail")
        .help("make the index global, or put a time or a shard into the partition key")
}
