//! R51: a read of several entities whose limit leaves no place for one of them.

use super::{PatternRead, Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::lost::lost;
use crate::model::Entity;
use crate::predicate::Operator;
use crate::{Diagnostic, Model};

pub const RULE: Rule = Rule {
    id: RuleId(51),
    level: Level::Error,
    title: "A limit drops an entity that is read",
    page: include_str!("../../../../docs/rules/R51.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads();
    reads.filter_map(|one| in_read(subject.model, one).or_else(|| by_a_term(subject.model, one))).collect()
}

/// A comparison of an attribute that one of the entities does not have: none of its items passes.
fn by_a_term(model: &Model, one: PatternRead<'_>) -> Option<Diagnostic> {
    let entities: Vec<&Entity> = one.plan.entities.iter().map(|id| model.entity(*id)).collect();
    if entities.len() < 2 {
        return None;
    }
    let predicates = one.read.conditions.iter().chain(&one.read.filter);
    let mut terms = predicates.flat_map(|predicate| &predicate.terms);
    let has = |entity: &Entity, name: &str| {
        let in_key = entity.key_templates().any(|template| template.uses(name));
        in_key || entity.attribute(name).is_some_and(|attribute| attribute.declared)
    };
    let is_listed = |entity: &&&Entity| entity.attributes.values().any(|attribute| attribute.declared);
    let (term, dropped) = terms.find_map(|term| {
        let compares = term.operator != Operator::NotExists && !term.attribute.value.is_empty();
        let some = entities.iter().any(|entity| has(entity, &term.attribute));
        let lacking = entities.iter().filter(is_listed).find(|entity| !has(entity, &term.attribute));
        lacking.filter(|_| compares && some).map(|entity| (term, *entity))
    })?;
    let (name, attribute) = (&dropped.name.value, &term.attribute.value);
    Some(
        Diagnostic::error(term.span, format!("`{}` can return no `{name}`", one.name()))
            .label(format!("a `{name}` has no `{attribute}`"))
            .related(dropped.name.span, "is read, too")
            .why("a comparison with an attribute that is not there does not hold, whatever the value")
            .help(format!("compare `{attribute}` after reading, or read `{name}` with a request of its own")),
    )
}

fn in_read(model: &Model, one: PatternRead<'_>) -> Option<Diagnostic> {
    let limit = one.read.limit.as_ref()?;
    let lost = lost(model, one.read, one.plan)?;
    let name = |id| model.entity(id).name.value.as_str();
    let (dropped, before) = (name(lost.entity), name(lost.behind));
    let items = figures::count(lost.items.ceil());
    let message = format!("`{}` can return no `{dropped}`", one.name());
    Some(
        Diagnostic::error(limit.span, message)
            .label(format!("{items} items of `{before}` come first"))
            .related(lost.span, format!("`{dropped}` sorts behind them"))
            .why("a limit ends the page at this many items, whatever they are of, in the order of the sort key")
            .help(format!(
                "read `{dropped}` with a request of its own, give it a sort key that comes first, or say `paged: true` if the reader goes on"
            )),
    )
}
