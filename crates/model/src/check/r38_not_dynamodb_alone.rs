//! R38: questions that a key can't answer.

use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Attribute, AttributesRead, Grouping, Pattern, Read, WriteVerb};
use crate::plan::Gap;
use crate::predicate::Operator;
use crate::{Diagnostic, Model};

pub const RULE: Rule = Rule {
    id: RuleId(38),
    level: Level::Info,
    title: "Not a question for DynamoDB alone",
    page: include_str!("../../../../docs/rules/R38.md"),
    // How many checks of other items make a transaction relational.
    parameters: &[("checks", 3.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads().filter_map(|one| search(subject.model, one.read).or_else(|| analytics(one)));
    let transactions = subject.patterns().filter_map(|(pattern, _)| relations(subject, pattern));
    let elsewhere = subject.model.patterns.iter().filter_map(|pattern| unfed(subject.model, pattern));
    reads.chain(transactions).chain(elsewhere).collect()
}

/// `contains` in a text.
fn search(model: &Model, read: &Read) -> Option<Diagnostic> {
    let terms = read.conditions.iter().chain(&read.filter).flat_map(|predicate| &predicate.terms);
    let term = terms.into_iter().find(|term| {
        let entities = read.entities.iter().map(|id| model.entity(id.value));
        let mut attributes = entities.filter_map(|entity| entity.attribute(&term.attribute));
        term.operator == Operator::Contains && attributes.any(Attribute::is_text)
    })?;
    Some(
        Diagnostic::info(term.span, format!("searching in `{}` is not a question for keys", term.attribute.value))
            .label("each item must be read to know")
            .why("keys find by equality and by a beginning; `contains` drops items after they were read and paid for")
            .help("let a stream feed a search engine, and say so: `external: OpenSearch`"),
    )
}

/// Reads everything, to count it or to sort it.
fn analytics(one: PatternRead<'_>) -> Option<Diagnostic> {
    let PatternRead { pattern, action, read, plan: planned } = one;
    let whole = planned.gaps.contains(&Gap::Scans);
    let counts = matches!(read.attributes.as_ref().map(|read| &read.value), Some(AttributesRead::Count));
    (whole && (counts || !read.order.is_empty() || read.filter.is_some())).then(|| {
        Diagnostic::info(action.span, format!("`{}` is a question for analytics", pattern.id.value))
            .label("reads the whole table")
            .why("an answer over all items takes all items, each time it is asked")
            .help(
                "keep the figure in an item that writes maintain, or export to S3 and ask Athena: `external: Athena`",
            )
    })
}

/// Checks across many items.
fn relations(subject: &Subject<'_>, pattern: &Pattern) -> Option<Diagnostic> {
    let checks = pattern.writes().filter(|(_, write)| write.verb == WriteVerb::Check);
    let count = checks.map(|(action, _)| action.times).fold(0, u64::saturating_add);
    let heavy = pattern.grouping == Grouping::Transaction && count as f64 >= subject.parameter("checks");
    heavy.then(|| {
        Diagnostic::info(pattern.id.span, format!("`{}` checks {count} other items", pattern.id.value))
            .label("constraints between items")
            .why("each check is a write of twice its size, and any of them cancels the transaction")
            .help("if most writes need such constraints, a relational database fits better; else check fewer")
    })
}

/// Another system answers, and no stream brings it the data.
fn unfed(model: &Model, pattern: &Pattern) -> Option<Diagnostic> {
    let external = pattern.external.as_ref()?;
    let (_, read) = pattern.reads().next()?;
    let table = model.table_of(model.entity(read.entities.first()?.value));
    let exports = ["athena", "s3", "glue", "redshift"];
    let by_export = exports.iter().any(|word| external.to_lowercase().contains(word));
    (table.stream.is_none() && !by_export).then(|| {
        Diagnostic::info(external.span, format!("nothing sends {} the data", external.value))
            .label(format!("table `{}` has no stream", table.name.value))
            .why("another system knows only what a stream or an export brings it")
            .help("add `stream: new-and-old` to the table")
            .fix(Fix::put(table.span, "stream", "new-and-old"))
    })
}
