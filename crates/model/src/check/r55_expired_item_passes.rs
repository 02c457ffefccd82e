//! R55: a condition that an item which has expired still meets.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{Grouping, WriteVerb};
use crate::predicate::Operator;

pub const RULE: Rule = Rule {
    id: RuleId(55),
    level: Level::Warning,
    title: "A condition accepts an item that has expired",
    page: include_str!("../../../../docs/rules/R55.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.writes().filter_map(|one| accepts_expired(subject, one)).collect()
}

/// A condition on an item that expires must look at the time, too: the item is there until it is removed.
fn accepts_expired(subject: &Subject<'_>, one: PatternWrite<'_>) -> Option<Diagnostic> {
    let entity = subject.model.entity(one.plan.entity);
    let expires = entity.expires.as_ref()?;
    let ttl = subject.model.table_of(entity).ttl.as_ref()?;
    let condition = one.write.condition.as_ref()?;
    let looks = condition.terms.iter().any(|term| term.attribute.value == ttl.value);
    // `not exists` refuses too much, not too little.
    let accepts = condition.terms.iter().any(|term| term.operator != Operator::NotExists);
    if looks || !accepts || matches!(one.write.verb, WriteVerb::Create | WriteVerb::Put) {
        return None;
    }
    let (name, ttl_name) = (&entity.name.value, &ttl.value);
    let message = format!("`{}` accepts a `{name}` that has expired", one.name());
    let with_time = match condition.terms.as_slice() {
        // The time is compared only if the item is there.
        [only] if only.attribute.value.is_empty() => format!("{ttl_name} > :now"),
        _ => format!("{condition} and {ttl_name} > :now"),
    };
    let found = Diagnostic::warning(condition.span, message)
        .label("holds until the item is removed")
        .related(expires.span, "expires")
        .why("TTL removes an item up to 48 hours after its time, and until then it is there for every condition")
        .help(format!("write `if: {with_time}`"));
    Some(match one.pattern.grouping {
        Grouping::Single => found.fix(Fix::put(one.action.span, "if", with_time)),
        Grouping::Transaction | Grouping::Batch => found,
    })
}
