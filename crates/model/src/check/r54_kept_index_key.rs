//! R54: a request changes an attribute, and not the index key that is made of it.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::index_keys::{Touched, kept_keys};
use crate::plan::Membership;

pub const RULE: Rule = Rule {
    id: RuleId(54),
    level: Level::Error,
    title: "A request changes an attribute and not the index key that is made of it",
    page: include_str!("../../../../docs/rules/R54.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.writes().flat_map(|one| in_request(subject, one)).collect()
}

fn in_request(subject: &Subject<'_>, one: PatternWrite<'_>) -> Vec<Diagnostic> {
    let Some(request) = &one.pattern.request else { return Vec::new() };
    let Some(touched) = Touched::by_update(&request.value) else { return Vec::new() };
    let span = one.pattern.request_members.get("UpdateExpression").copied().unwrap_or(request.span);
    let entity = subject.model.entity(one.plan.entity);
    let table = subject.model.table_of(entity);
    let is_out = |index| {
        // R20 reports an index that the item leaves.
        let mut effects = one.plan.effects.iter();
        effects.any(|effect| effect.index == index && effect.after == Membership::Out)
    };
    let kept = kept_keys(table, entity, &touched).into_iter().filter(|kept| !is_out(kept.index));
    kept.map(|kept| {
        let index = &table.index(kept.index).name.value;
        let message = format!("`{}` leaves `{}` of index `{index}` as it was", one.name(), kept.key);
        Diagnostic::error(span, message)
            .label(format!("changes `{}`", kept.attribute))
            .related(kept.span, format!("made of `{}`", kept.attribute))
            .why("DynamoDB composes no keys: the index shows the item under its old key until a request sets the new one")
            .help(format!("set `{}` in the same request, as in `SET {} = :key`", kept.key, kept.key))
    })
    .collect()
}
