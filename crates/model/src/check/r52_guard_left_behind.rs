//! R52: a unique attribute changes, and the item that keeps it unique stays as it was.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{Grouping, WriteVerb};
use crate::plan::changed;
use crate::uniqueness::{Guard, guards};

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

fn left_behind(subject: &Subject<'_>, one: PatternWrite<'_>, guard: &Guard<'_>) -> Option<Diagnostic> {
    if one.plan.entity != guard.guarded {
        return None;
    }
    let moved = changed(one.write).find(|name| guard.attributes.contains(name));
    let is_deleted = one.write.verb == WriteVerb::Delete;
    let has = |verbs: &[WriteVerb]| {
        let mut beside = one.pattern.writes();
        one.pattern.grouping == Grouping::Transaction
            && beside.any(|(_, write)| write.entity.value == guard.by && verbs.contains(&write.verb))
    };
    let (creates, deletes) = (has(&[WriteVerb::Create]), has(&[WriteVerb::Delete]));
    let name = |id| subject.model.entity(id).name.value.as_str();
    let (guarded, by) = (name(guard.guarded), name(guard.by));
    let attributes = listed(&guard.attributes);
    let (level, message, why, help) = match (moved, one.write.verb == WriteVerb::Update, is_deleted) {
        (Some(moved), true, _) if !(creates && deletes) => (
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
