//! R46: a cache is declared for strong reads, which it does not answer.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Consistency, Grouping, Pattern};

pub const RULE: Rule = Rule {
    id: RuleId(46),
    level: Level::Warning,
    title: "A cache does not answer strong reads",
    page: include_str!("../../../../docs/rules/R46.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.patterns().filter_map(|(pattern, _)| in_pattern(pattern)).collect()
}

fn in_pattern(pattern: &Pattern) -> Option<Diagnostic> {
    let cached = pattern.cached.as_ref().filter(|cached| !cached.value.is_off())?;
    let strong = pattern.consistency.as_ref().filter(|one| one.value == Consistency::Strong);
    let transaction = pattern.grouping == Grouping::Transaction;
    if (strong.is_none() && !transaction) || !pattern.is_read() {
        return None;
    }
    let message = format!("`{}` counts on a cache that does not answer it", pattern.id.value);
    let diagnostic = Diagnostic::warning(cached.span, message)
        .label("all of it reaches the table")
        .why("DAX passes strong reads and transactions through: only eventually consistent reads are answered by it")
        .help("write `consistency: eventual` if a cached answer will do, else leave out `cached`");
    Some(match strong {
        Some(strong) => diagnostic.related(strong.span, "read strongly").fix(Fix::put(
            pattern.span,
            "consistency",
            "eventual",
        )),
        None => diagnostic,
    })
}
