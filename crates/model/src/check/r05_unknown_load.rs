//! R5: patterns that do not declare their rate, count or size; and entities without patterns.

use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Entity, EntityId, Pattern, ReadVerb};
use crate::plan::Gap;
use crate::predict::found::items_per_key;

pub const RULE: Rule = Rule {
    id: RuleId(5),
    level: Level::Error,
    title: "A pattern lacks its rate, result or size, or an entity has no pattern",
    page: include_str!("../../../../docs/rules/R5.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    if subject.model.patterns.is_empty() {
        return vec![no_patterns(subject)];
    }
    let rates: Vec<Diagnostic> =
        subject.patterns().filter_map(|(pattern, _)| without_rate(pattern)).collect();
    let rates = if has_no_rate(subject) { vec![no_rates(subject, rates)] } else { rates };
    let unbounded = subject.reads().filter_map(|one| without_result(subject, one));
    let entities = subject.model.entity_ids().filter_map(|id| entity(subject, id));
    let found = rates.into_iter().chain(unbounded).chain(entities).collect();
    if says_nothing(subject) { vec![in_one(subject, found)] } else { found }
}

/// Whether no pattern has a rate, as in a file that was imported.
fn has_no_rate(subject: &Subject<'_>) -> bool {
    const PATTERNS_LEAST: usize = 3;
    let patterns: Vec<&Pattern> = subject.patterns().map(|(pattern, _)| pattern).collect();
    patterns.len() >= PATTERNS_LEAST && patterns.iter().all(|pattern| pattern.rate.is_none())
}

/// Whether in addition no entity has a count or size.
fn says_nothing(subject: &Subject<'_>) -> bool {
    has_no_rate(subject)
        && subject.model.entities.iter().all(|entity| entity.count.is_none() && entity.size.is_none())
}

/// The first of these are named in a finding about all of them.
const SHOWN: usize = 3;

/// No pattern has a rate: said once.
fn no_rates(subject: &Subject<'_>, found: Vec<Diagnostic>) -> Diagnostic {
    let one = Diagnostic::error(
        subject.model.name.span,
        format!("nothing says how often {} patterns happen", found.len()),
    )
    .label("no `rate` in the whole file")
    .why("cost and heat are rates times units: a guess is better than nothing, and can be corrected")
    .help("begin with the busiest: `rate: 50/s`, or `rate: { average: 50/s, peak: 400/s }`");
    found.into_iter().take(SHOWN).fold(one, |one, each| one.related(each.span, each.message))
}

/// The same for everything is said once.
fn in_one(subject: &Subject<'_>, found: Vec<Diagnostic>) -> Diagnostic {
    let (patterns, entities) = (subject.patterns().count(), subject.model.entities.len());
    let one = Diagnostic::error(
        subject.model.name.span,
        format!("nothing says how often {patterns} patterns happen, and how much there is of {entities} entities"),
    )
    .label("no `rate`, `count` or `size` in the whole file")
    .why("cost, heat and pages are rates times sizes: a guess is better than nothing, and can be corrected")
    .help("begin with the busiest: `rate: 50/s` in patterns, `count: 20 per Customer` and `size: 1 KB` in entities");
    found.into_iter().take(SHOWN).fold(one, |one, each| one.related(each.span, each.message))
}

fn no_patterns(subject: &Subject<'_>) -> Diagnostic {
    let keys_first = subject.model.entities.iter().any(|entity| entity.key.is_some());
    let message =
        if keys_first { "there are keys, but no access patterns" } else { "there are no access patterns" };
    Diagnostic::error(subject.model.name.span, message)
        .label("no access patterns")
        .why("keys follow from the questions an application asks; without these nothing can be proven or priced")
        .help("list them under `patterns`, as in `A1: { get: Customer, by: customerId, rate: 800/s }`")
}

fn without_rate(pattern: &Pattern) -> Option<Diagnostic> {
    pattern.rate.is_none().then(|| {
        Diagnostic::error(
            pattern.id.span,
            format!("`{}` does not say how often it happens", pattern.id.value),
        )
        .label("no `rate`")
        .why("cost and heat are rates times units: a guess is better than nothing")
        .help("`rate: 50/s`, or `rate: { average: 50/s, peak: 400/s }`")
    })
}

/// How many items a query finds must be declared, or follow from the counts.
fn without_result(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let counted = one.read.limit.is_some() || one.read.returns.is_some();
    let unserved =
        one.plan.gaps.iter().any(|gap| {
            matches!(gap, Gap::NoKeys | Gap::PartitionUnknown { .. } | Gap::NotTogether | Gap::Scans)
        });
    if one.read.verb != ReadVerb::Query || counted || unserved {
        return None;
    }
    let places = one.places(subject);
    let known = places.iter().all(|place| items_per_key(subject.model, *place).is_some());
    (!known).then(|| {
        Diagnostic::error(one.action.span, format!("`{}` does not say how many items it finds", one.name()))
            .label("neither `limit` nor `returns`, and it does not follow from the counts")
            .why("twenty items and a million are different designs: pages, capacity and heat depend on it")
            .help("`returns: 20`, `limit: 20`, or count the entity by its parent: `count: 20 per Customer`")
    })
}

fn entity(subject: &Subject<'_>, id: EntityId) -> Option<Diagnostic> {
    let entity = subject.model.entity(id);
    let name = &entity.name.value;
    if !is_used(subject, id) {
        return Some(
            Diagnostic::error(entity.name.span, format!("no pattern reads or writes `{name}`"))
                .label("no pattern uses it")
                .why("what no access pattern needs should not be in the table, or the list is not complete")
                .help("add the patterns it is for, or remove it"),
        );
    }
    let missing = missing(entity);
    (!missing.is_empty()).then(|| {
        Diagnostic::error(entity.name.span, format!("`{name}` does not say {}", missing.join(" and ")))
            .why("capacity is counted by size, and storage, pages and heat by number")
            .help(example(entity))
    })
}

fn missing(entity: &Entity) -> Vec<&'static str> {
    let count = entity.count.is_none().then_some("how many there are");
    let size = entity.size.is_none().then_some("how large an item is");
    count.into_iter().chain(size).collect()
}

fn example(entity: &Entity) -> &'static str {
    match (entity.count.is_none(), entity.size.is_none()) {
        (true, true) => "`count: 1M` or `count: 20 per Customer`, and `size: 600 B`",
        (true, false) => "`count: 1M`, or `count: 20 per Customer`",
        _ => "`size: 600 B`, or `size: { typical: 1 KB, max: 300 KB }`",
    }
}

/// Patterns that another system serves count as use too.
fn is_used(subject: &Subject<'_>, id: EntityId) -> bool {
    subject.model.patterns.iter().any(|pattern| {
        let reads = pattern.reads().any(|(_, read)| read.entities.iter().any(|one| one.value == id));
        reads || pattern.writes().any(|(_, write)| write.entity.value == id)
    })
}
