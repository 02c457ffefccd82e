//! R39: one write that causes many.

use super::{PatternWrite, Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::plan::WritePlan;
use crate::{Diagnostic, Model};

pub const RULE: Rule = Rule {
    id: RuleId(39),
    level: Level::Info,
    title: "One write causes several",
    page: include_str!("../../../../docs/rules/R39.md"),
    // Index rows that one write of one item writes.
    parameters: &[("index-rows", 3.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.writes().filter_map(|write| in_write(subject, write)).collect()
}

fn in_write(subject: &Subject<'_>, one: PatternWrite<'_>) -> Option<Diagnostic> {
    let PatternWrite { pattern, action, plan: planned, .. } = one;
    let rows: u64 = planned.effects.iter().map(|effect| effect.writes_at_most()).sum();
    if (rows as f64) < subject.parameter("index-rows") {
        return None;
    }
    let entity = &subject.model.entity(planned.entity).name.value;
    let message = format!("one write of `{entity}` is up to {} writes", rows + 1);
    let rate = pattern.rate.as_ref().map(|rate| rate.peak() * (rows + 1) as f64 * action.times as f64);
    let at = rate.map(|rate| format!("; {} a second at its rate", figures::count(rate))).unwrap_or_default();
    Some(
        Diagnostic::info(action.span, message)
            .label(format!("the item and {rows} index rows{at}"))
            .why(format!("each index row is charged as a write: {}", by_index(subject.model, planned)))
            .help(advice(planned)),
    )
}

/// `GSI1 2 (its key changes), GSI2 1`.
fn by_index(model: &Model, planned: &WritePlan) -> String {
    let table = model.table(planned.table);
    let written = planned.effects.iter().filter(|effect| effect.writes_at_most() > 0);
    let each = written.map(|effect| {
        let name = &table.index(effect.index).name.value;
        match effect.writes_at_most() {
            2 => format!("`{name}` 2, for its key changes"),
            rows => format!("`{name}` {rows}"),
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

fn advice(planned: &WritePlan) -> &'static str {
    if planned.effects.iter().any(|effect| effect.writes_at_most() == 2) {
        "an attribute that changes often is expensive in an index key: sort by one that stays, or make the index sparse"
    } else {
        "project less (a change of what an index does not hold is free), make indexes sparse, or let entities share one"
    }
}
