//! R20: a constant that a sparse index would serve, and sparse indexes that items do not leave.

use super::{PatternRead, PatternWrite, Rule, Subject};
use crate::diagnostic::{Level, RuleId, listed};
use crate::index_keys::{Touched, own_keys};
use crate::model::{Entity, IndexEntry, Place, Table};
use crate::plan::{Filter, Gap};
use crate::predicate::{Operand, Operator, Term};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(20),
    level: Level::Error,
    title: "A sparse index would serve, or keeps items that should leave",
    page: include_str!("../../../../docs/rules/R20.md"),
    // A sparse index is worth it if it leaves out this share of the items.
    parameters: &[("left-out", 0.5)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let proposals = subject.reads().filter_map(|one| proposal(subject, one));
    let stuck = subject.model.places().into_iter().filter_map(never_leaves);
    let kept = subject.writes().flat_map(|one| keeps_its_keys(subject, one));
    proposals.chain(stuck).chain(kept).collect()
}

/// A constant that is left for a filter.
fn proposal(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    // Where there are no keys yet, `design` finds such an index by itself.
    if one.plan.gaps.contains(&Gap::NoKeys) {
        return None;
    }
    let term = one.plan.filter.iter().find_map(|filter| match filter {
        Filter::Term(term) if is_constant(term) => Some(term),
        _ => None,
    })?;
    let entity = subject.model.entity(one.plan.entities[0]);
    let attribute = entity.attribute(&term.attribute)?;
    let share = attribute.share_of(term.operands.first()?.literal()?);
    if share.is_some_and(|share| share > 1.0 - subject.parameter("left-out")) {
        return None;
    }
    let name = &entity.name.value;
    let label = share.map_or_else(
        || "a constant".to_owned(),
        |share| format!("about {:.0}% of all `{name}` items", share * 100.0),
    );
    let help = match own_index(subject, one, term) {
        Some(index) => format!(
            "add `when: {term}` to the keys of `{name}` in index `{index}`: nothing else reads it there"
        ),
        None => format!("give `{name}` a key in an index: `{}`", sketch(one, entity, term)),
    };
    Some(
        Diagnostic::info(
            term.span,
            format!("`{}` asks for a constant: a sparse index would hold just these", one.name()),
        )
        .label(label)
        .why("an item is in an index only if it has the index's key attributes: the rest costs nothing there")
        .help(help),
    )
}

/// The index that serves the read, if the entity is read there for this constant alone: it needs no other index.
fn own_index<'m>(subject: &Subject<'m>, one: PatternRead<'m>, term: &Term) -> Option<&'m str> {
    let (index, entity) = (one.plan.index?, one.plan.entities[0]);
    let entry = subject.model.entity(entity).entry(index)?;
    let asks = |other: PatternRead<'_>| {
        let terms = other.read.conditions.iter().chain(&other.read.filter).flat_map(|one| &one.terms);
        terms.into_iter().any(|known| known.to_string() == term.to_string())
    };
    let here = |other: &PatternRead<'_>| {
        other.plan.table == one.plan.table
            && other.plan.index == Some(index)
            && other.plan.entities.contains(&entity)
    };
    let alone = subject.reads().filter(here).all(asks);
    let name = || subject.model.table(one.plan.table).index(index).name.value.as_str();
    (alone && entry.declared && entry.when.is_none() && one.plan.entities.len() == 1).then(name)
}

fn is_constant(term: &Term) -> bool {
    matches!(term.operator, Operator::Equal) && matches!(term.operands.first(), Some(Operand::Literal(_)))
}

/// `open: { when: status = OPEN, openPK: "CUST#{customerId}", openSK: "{createdAt}" }`.
fn sketch(one: PatternRead<'_>, entity: &Entity, term: &Term) -> String {
    let value = term.operands.first().map(ToString::to_string).unwrap_or_default();
    let index = name_of(term, &value);
    let known = one.known().into_iter().find(|name| *name != term.attribute.value);
    let id = entity.key_templates().flat_map(|template| template.attributes()).last().unwrap_or("id");
    let partition = match known {
        Some(known) => format!("{{{known}}}"),
        None => format!("{value}#{{shard({id}, 4)}}"),
    };
    let order = one.read.order.first().map_or(id, |order| order.attribute.value.as_str());
    format!("{index}: {{ when: {term}, {index}PK: \"{partition}\", {index}SK: \"{{{order}}}\" }}")
}

/// `open` for `status = OPEN`, `flagged` for `flagged = true`.
fn name_of(term: &Term, value: &str) -> String {
    let word: String = value.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    if word.is_empty() || word == "true" || word == "false" { term.attribute.value.clone() } else { word }
}

/// `when` on an index whose key attributes every item has under their own names: no item is left out.
fn never_leaves(place: Place<'_>) -> Option<Diagnostic> {
    let (_, index, entry) = place.index?;
    let when = entry.when.as_ref().filter(|_| entry.declared)?;
    let stays = |(key, template): (&crate::model::KeyAttribute, &crate::template::Template)| {
        let own = template.bare() == Some(key.name.as_str());
        own && place.entity.attribute(&key.name).is_some_and(|attribute| !attribute.optional)
    };
    let of_table = |name: &str| place.table.key.as_ref().is_some_and(|key| key.names(name));
    let keys = place.partition().into_iter().chain(place.sort());
    let all_stay = keys.into_iter().all(|(key, template)| of_table(&key.name) || stays((key, template)));
    all_stay.then(|| {
        let names: Vec<&str> = index.key.attributes().map(|key| key.name.as_str()).collect();
        let message = format!(
            "every `{}` is in index `{}`, whatever `when` says",
            place.entity.name.value, index.name.value
        );
        Diagnostic::error(when.span, message)
            .label("has no effect")
            .why(format!("an item is in an index if it has {}, and each has", listed(&names)))
            .help("key the index by attributes of its own, which are set while the condition holds")
    })
}

/// The request that ends an item's state must remove the index's keys too.
fn keeps_its_keys(subject: &Subject<'_>, one: PatternWrite<'_>) -> Vec<Diagnostic> {
    let Some(request) = &one.pattern.request else { return Vec::new() };
    let span = one.pattern.request_members.get("UpdateExpression").copied().unwrap_or(request.span);
    let entity = subject.model.entity(one.plan.entity);
    let table = subject.model.table_of(entity);
    let Some(touched) = Touched::by_update(&request.value) else { return Vec::new() };
    let leaves = one.plan.effects.iter().filter(|effect| effect.leaves());
    let entries = leaves.filter_map(|effect| entity.entry(effect.index));
    entries.filter_map(|entry| kept_in(one, entry, table, entity, &touched, span)).collect()
}

/// An item without one of the keys is not in the index. Those that it keeps are there when it enters again.
fn kept_in(
    one: PatternWrite<'_>,
    entry: &IndexEntry,
    table: &Table,
    entity: &Entity,
    touched: &Touched,
    span: Span,
) -> Option<Diagnostic> {
    let names: Vec<&str> = own_keys(table, entity, entry.index).collect();
    let kept: Vec<&str> = names.iter().copied().filter(|name| !touched.removed.contains(*name)).collect();
    let index = &table.index(entry.index).name.value;
    let (level, message, why) = match kept.len() {
        0 => return None,
        all if all == names.len() => (
            Level::Error,
            format!("`{}` leaves the item in index `{index}`", one.name()),
            "an item is in an index as long as it has the index's key attributes",
        ),
        _ => (
            Level::Warning,
            format!("`{}` leaves {} of index `{index}` in the item", one.name(), listed(&kept)),
            "the item is out of the index, and comes back under this old key as soon as a request sets the others",
        ),
    };
    Some(
        Diagnostic::new(level, span, message)
            .label(format!("does not remove {}", listed(&kept)))
            .why(why)
            .related(entry.span, "in the index only while this holds")
            .help(format!("add `REMOVE {}` to the update", kept.join(", "))),
    )
}
