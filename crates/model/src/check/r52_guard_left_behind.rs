//! R52: a unique attribute changes, and the item that keeps it unique stays as it was.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{Grouping, Write, WriteVerb};
use crate::plan::changed;
use crate::uniqueness::{Guard, creates, guards};

pub const RULE: Rule = Rule {
    id: RuleId(52),
    level: Level::Error,
    title: "A unique attribute changes without the item that keeps it unique",
    page: include_str!("../../../../docs/rules/R52.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let guards = guards(subject.model);
    let writes = subject.writes();
    writes.filter_map(|one| guards.iter().find_map(|guard| left_behind(subject, one, guard))).collect()
}

/// An attribute that a put may change: it replaces an item, and its condition does not say that the attribute is the same.
fn replaced<'g>(subject: &Subject<'_>, one: PatternWrite<'_>, guard: &Guard<'g>) -> Option<&'g str> {
    let is_put = one.write.verb == WriteVerb::Put && !creates(subject.model, one.write);
    let same = |name: &str| one.write.condition.as_ref().is_some_and(|when| when.equality(name).is_some());
    guard.attributes.iter().copied().find(|name| is_put && !same(name))
}

fn left_behind(subject: &Subject<'_>, one: PatternWrite<'_>, guard: &Guard<'_>) -> Option<Diagnostic> {
    if one.plan.entity != guard.guarded {
        return None;
    }
    let moved = changed(one.write).find(|name| guard.attributes.contains(name));
    let is_deleted = one.write.verb == WriteVerb::Delete;
    let has = |is_meant: &dyn Fn(&Write) -> bool| {
        let mut beside = one.pattern.writes();
        one.pattern.grouping == Grouping::Transaction
            && beside.any(|(_, write)| write.entity.value == guard.by && is_meant(write))
    };
    let taken = has(&|write| creates(subject.model, write));
    let deletes = has(&|write| write.verb == WriteVerb::Delete);
    let replaced = replaced(subject, one, guard).filter(|_| !taken);
    let name = |id| subject.model.entity(id).name.value.as_str();
    let (guarded, by) = (name(guard.guarded), name(guard.by));
    let attributes = listed(&guard.attributes);
    let (level, message, why, help) = match (moved, one.write.verb == WriteVerb::Update, is_deleted) {
        _ if replaced.is_some() => (
            Level::Error,
            format!(
                "`{}` may replace `{}` of a `{guarded}`, and `{by}` stays as it was",
                one.name(),
                replaced.unwrap_or_default()
            ),
            "a put replaces the item that is there: the old value stays taken, and nothing keeps the new one unique",
            format!(
                "write a new `{guarded}` with `create`, and change one with `update`; what changes {attributes} goes \
                 with `create {by}` and `delete {by}`"
            ),
        ),
        (Some(moved), true, _) if !(taken && deletes) => (
            Level::Error,
            format!("`{}` changes `{moved}`, and `{by}` stays as it was", one.name()),
            "the old value stays taken for ever, and nothing keeps the new one unique",
            format!(
                "`transact: [update {guarded}, create {by}, delete {by}]`: the new value is taken and the old one let go"
            ),
        ),
        (_, _, true) if !deletes => (
            Level::Warning,
            format!("`{}` deletes a `{guarded}`, and `{by}` keeps {attributes} taken", one.name()),
            "the item that keeps the value unique outlives what it was for: the value can't be used again",
            format!("`transact: [delete {guarded}, delete {by}]`"),
        ),
        _ => return None,
    };
    Some(
        Diagnostic::new(level, one.action.span, message)
            .label(format!("without `{by}`"))
            .related(guard.span, format!("`{by}` keeps {attributes} unique"))
            .why(why)
            .help(help),
    )
}
