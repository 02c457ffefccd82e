//! R1: a read that only a Scan can serve.

use super::r10_key_not_known::means_a_key;
use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::ReadVerb;
use crate::plan::{Gap, ReadOperation};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(1),
    level: Level::Error,
    title: "Only a Scan serves the pattern",
    page: include_str!("../../../../docs/rules/R1.md"),
    // This many items may well be read whole. A declared scan that runs this seldom is an export.
    parameters: &[("items", 100.0), ("per-day", 1.0)],
    check,
};

const SECONDS_PER_DAY: f64 = 86_400.0;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let scans = subject.reads().filter(|one| one.plan.operation == ReadOperation::Scan);
    let scans = scans.filter(|one| !is_small(subject, *one));
    scans.filter_map(|one| finding(subject, one)).collect()
}

fn finding(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let unknown = one.plan.gaps.iter().any(|gap| matches!(gap, Gap::PartitionUnknown { .. }));
    let apart = one.plan.gaps.contains(&Gap::NotTogether);
    match one.read.verb {
        ReadVerb::Scan => Some(declared(subject, one)),
        // R3 reports items that are not in one partition, R10 keys that are known in part.
        _ if unknown && !apart && !means_a_key(subject, one) => Some(unserved(subject, one)),
        _ => None,
    }
}

/// Whether the whole table is known to be small.
fn is_small(subject: &Subject<'_>, one: PatternRead<'_>) -> bool {
    let entities = subject.model.entities_of(one.plan.table);
    let items: Option<f64> = entities.map(|(id, _)| subject.model.items(id)).sum();
    items.is_some_and(|items| items <= subject.parameter("items"))
}

fn declared(subject: &Subject<'_>, one: PatternRead<'_>) -> Diagnostic {
    let table = &subject.model.table(one.plan.table).name.value;
    let most = subject.parameter("per-day") / SECONDS_PER_DAY;
    let rare = one.pattern.rate.as_ref().is_some_and(|rate| rate.peak() <= most * 1.000_001);
    let level = if rare { Level::Warning } else { Level::Error };
    let found =
        Diagnostic::new(level, one.action.span, format!("`{}` scans the table `{table}`", one.name()))
            .label("reads every item of the table")
            .why(WHY);
    if rare {
        found.help("an export to S3 reads the same without using the table's capacity")
    } else {
        found.help("say what the reader knows (`query: …, by: …`), and give it a key or an index")
    }
}

const WHY: &str = "a Scan pays for every item of the table, also for those that are dropped, \
                   and grows slower as the table grows";

fn unserved(subject: &Subject<'_>, one: PatternRead<'_>) -> Diagnostic {
    let entity = &subject.model.entity(one.plan.entities[0]).name.value;
    let known = one.known();
    if known.is_empty() {
        return Diagnostic::error(one.action.span, format!("only a Scan returns `{}`", one.name()))
            .label("asks without knowing any attribute")
            .why(WHY)
            .help(format!(
                "give `{entity}` an index over all of them, spread over a few keys: \
                 `GSI1: {{ GSI1PK: \"ALL#{{random(4)}}\", GSI1SK: … }}`, and let the pattern fan out"
            ));
    }
    let message = format!("only a Scan serves `{}`: no key begins with {}", one.name(), listed(&known));
    Diagnostic::error(asked(one), message)
        .label(format!("no partition key is made of {}", if known.len() == 1 { "it" } else { "these" }))
        .why(WHY)
        .help(format!("give `{entity}` an index: `{}`", proposal(&known)))
}

/// `byEmail: { partition: email }`.
fn proposal(known: &[&str]) -> String {
    let mut first = known[0].chars();
    let capital = first.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let partition = if known.len() == 1 { known[0].to_owned() } else { format!("[{}]", known.join(", ")) };
    format!("indexes: {{ by{capital}{}: {{ partition: {partition} }} }}", first.as_str())
}

/// The span in which the pattern says what it knows.
pub fn asked(one: PatternRead<'_>) -> Span {
    let by = one.read.by.iter().map(|name| name.span);
    let conditions = one.read.conditions.iter().map(|where_| where_.span);
    by.chain(conditions).reduce(Span::to).unwrap_or(one.action.span)
}
