//! R28: copies that no pattern keeps up to date, or that change too often to be worth it.

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::copies::{Copied, copied};
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Grouping, Pattern, StreamView, SyncOwner};

pub const RULE: Rule = Rule {
    id: RuleId(28),
    level: Level::Warning,
    title: "A copied attribute changes often, or nothing keeps it up to date",
    page: include_str!("../../../../docs/rules/R28.md"),
    // How many copies one transaction may update together with the original; and how many times more often than they
    // are read copies may be written.
    parameters: &[("copies", 99.0), ("times", 2.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    copied(subject.model).flat_map(|copy| in_copy(subject, &copy)).collect()
}

fn in_copy(subject: &Subject<'_>, copy: &Copied<'_>) -> Vec<Diagnostic> {
    let by_owner = match copy.sync() {
        // The file declares that the copy keeps its first value.
        Some(SyncOwner::Never) => return Vec::new(),
        Some(SyncOwner::Application) => None,
        Some(SyncOwner::Stream) => without_stream(subject, copy),
        Some(SyncOwner::Transaction) => outside_transaction(subject, copy),
        None => Some(ownerless(copy)),
    };
    by_owner.into_iter().chain(volatile(subject, copy)).collect()
}

fn ownerless(copy: &Copied<'_>) -> Diagnostic {
    let name = &copy.attribute.name;
    Diagnostic::warning(copy.of.span, format!("nothing keeps `{name}` equal to `{}`", copy.original()))
        .label("a copy without an owner")
        .why("when the original changes, copies stay as they were until something writes them")
        .help(format!(
            "say who does it: `{name}: {{ copy-of: {}, sync: stream }}`, or `transaction`, or `never` if it should \
             stay as it was",
            copy.original()
        ))
}

/// The original's table must have a stream with new images.
fn without_stream(subject: &Subject<'_>, copy: &Copied<'_>) -> Option<Diagnostic> {
    let table = subject.model.table_of(copy.origin);
    let sync = copy.attribute.sync.as_ref()?;
    let message = match &table.stream {
        None => format!("table `{}` has no stream to keep `{}` right", table.name.value, copy.attribute.name),
        Some(view) => match view.value {
            StreamView::New | StreamView::NewAndOld => return None,
            StreamView::Keys | StreamView::Old => {
                format!(
                    "the stream of `{}` does not show what `{}` became",
                    table.name.value,
                    copy.original()
                )
            }
        },
    };
    Some(
        Diagnostic::warning(sync.span, message)
            .label("follows a stream")
            .why("a function on the stream sees only what the stream's view holds")
            .help(format!("add `stream: new-and-old` to table `{}`", table.name.value))
            .fix(Fix::put(table.span, "stream", "new-and-old")),
    )
}

/// A pattern that changes the original alone, or more copies than fit into a transaction.
fn outside_transaction(subject: &Subject<'_>, copy: &Copied<'_>) -> Option<Diagnostic> {
    let changing = |pattern: &Pattern| pattern.writes().any(|(_, write)| copy.is_changed_by(write));
    let together = |pattern: &Pattern| {
        pattern.grouping == Grouping::Transaction
            && pattern.writes().any(|(_, write)| write.entity.value == copy.id)
    };
    let sync = copy.attribute.sync.as_ref()?;
    let alone = subject.patterns().map(|(pattern, _)| pattern).find(|one| changing(one) && !together(one));
    if let Some(pattern) = alone {
        let message = format!("`{}` changes `{}` and not its copy", pattern.id.value, copy.original());
        return Some(
            Diagnostic::warning(pattern.id.span, message)
                .label(format!("leaves `{}` as it was", copy.attribute.name))
                .related(sync.span, "a transaction should keep it equal")
                .why("a copy that a transaction owns must be in every transaction that changes the original")
                .help(format!(
                    "`transact: [update {}, update {}]`, or `sync: stream`",
                    copy.origin.name.value, copy.entity.name.value
                )),
        );
    }
    let (_, copies) = copy.items_per_original(subject.model)?;
    let changes = subject.patterns().any(|(pattern, _)| changing(pattern));
    (changes && copies > subject.parameter("copies")).then(|| {
        let count = figures::count(copies);
        Diagnostic::warning(sync.span, format!("one `{}` has {count} copies", copy.original()))
            .label("more than one transaction takes")
            .why("a transaction has at most 100 items, the original among them")
            .help("write `sync: stream`: a function follows the stream and writes the copies in batches")
    })
}

/// Whether the copies are written more often than they are read.
fn volatile(subject: &Subject<'_>, copy: &Copied<'_>) -> Option<Diagnostic> {
    let rate = |pattern: &Pattern| pattern.rate.as_ref().map(|rate| rate.average);
    let patterns = || subject.patterns().map(|(pattern, _)| pattern);
    let changing: Vec<&Pattern> =
        patterns().filter(|pattern| pattern.writes().any(|(_, write)| copy.is_changed_by(write))).collect();
    let changes: f64 = changing.iter().filter_map(|pattern| rate(pattern)).sum();
    let reading = patterns().filter(|pattern| {
        pattern.reads().any(|(_, read)| read.entities.iter().any(|entity| entity.value == copy.id))
    });
    let reads: f64 = reading.filter_map(rate).sum();
    let (copies, _) = copy.items_per_original(subject.model).unwrap_or((1.0, 1.0));
    let writes = changes * copies.max(1.0);
    let busiest = changing.iter().find_map(|pattern| pattern.rate.as_ref())?;
    (changes > 0.0 && reads > 0.0 && writes > reads * subject.parameter("times")).then(|| {
        let (writes, reads) = (figures::count(writes), figures::count(reads));
        let name = &copy.attribute.name;
        Diagnostic::warning(copy.of.span, format!("`{name}` is written more often than it is read"))
            .label(format!("{writes} writes of copies a second, {reads} reads"))
            .related(busiest.span, format!("`{}` changes this often", copy.original()))
            .why("a copy saves a read each time it is read, and costs a write each time the original changes")
            .help(format!("read `{}` where it is needed, or copy only what seldom changes", copy.original()))
    })
}
