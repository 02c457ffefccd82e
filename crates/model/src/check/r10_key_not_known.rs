//! R10: a request that needs a key and does not know all of it.

use super::r01_served_only_by_scan::asked;
use super::{PatternRead, PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::{Place, ReadVerb};
use crate::plan::{Gap, ReadOperation};
use crate::template::Template;

pub const RULE: Rule = Rule {
    id: RuleId(10),
    level: Level::Error,
    title: "A request does not know the key it needs, or would change it",
    page: include_str!("../../../../docs/rules/R10.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads().filter_map(|one| in_read(subject, one));
    let writes = subject.writes().flat_map(|one| in_write(subject, one));
    reads.chain(writes).collect()
}

/// Whether the reader looks for a particular key: it gets one item, names an index, or knows part of a
/// partition key. Otherwise there is no key for what it knows, which R1 reports.
pub fn means_a_key(subject: &Subject<'_>, one: PatternRead<'_>) -> bool {
    one.pattern.index.is_some() || nearest(subject, one).is_some()
}

fn in_read(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    if one.plan.operation != ReadOperation::Scan || one.read.verb == ReadVerb::Scan {
        return None;
    }
    let entity = subject.model.entity(one.plan.entities[0]);
    if let Some(index) = &one.pattern.index {
        let table = subject.model.table(one.plan.table);
        let absent = table.index_named(index).is_none_or(|id| entity.entry(id).is_none());
        if absent && one.plan.entities.len() == 1 {
            let message = format!("items of `{}` are not in index `{}`", entity.name.value, index.value);
            let help = format!("give `{}` a key in it, or name another index", entity.name.value);
            return Some(Diagnostic::error(index.span, message).help(help));
        }
    }
    let unknown = one.plan.gaps.iter().any(|gap| matches!(gap, Gap::PartitionUnknown { .. }));
    let apart = one.plan.gaps.contains(&Gap::NotTogether);
    if !unknown || apart {
        return None;
    }
    let place = nearest(subject, one).or_else(|| named(subject, one))?;
    Some(unknown_partition(one, place))
}

/// The place whose partition key is known best, if any of it is.
fn nearest<'m>(subject: &Subject<'m>, one: PatternRead<'m>) -> Option<Place<'m>> {
    let known = one.known();
    let places = subject.model.places_of(one.plan.entities[0]).into_iter();
    let asked = places.filter(|place| {
        let attributes = attributes(*place);
        let gets = one.read.verb == ReadVerb::Get && place.index.is_none();
        gets || attributes.iter().any(|name| known.contains(name))
    });
    asked.min_by_key(|place| attributes(*place).iter().filter(|name| !known.contains(name)).count())
}

fn named<'m>(subject: &Subject<'m>, one: PatternRead<'m>) -> Option<Place<'m>> {
    let index = subject.model.table(one.plan.table).index_named(one.pattern.index.as_ref()?);
    subject.place(one.plan.entities[0], index)
}

/// The attributes of a partition key that a reader must know. Shards it can try one by one.
fn attributes<'m>(place: Place<'m>) -> Vec<&'m str> {
    let fields = place.partition().into_iter().flat_map(|(_, template)| template.fields());
    fields.filter(|field| field.shards().is_none()).filter_map(|field| field.attribute()).collect()
}

fn unknown_partition(one: PatternRead<'_>, place: Place<'_>) -> Diagnostic {
    let known = one.known();
    let missing: Vec<&str> = attributes(place).into_iter().filter(|name| !known.contains(name)).collect();
    let message = format!(
        "`{}` does not know {}, which the partition key of {} is made of",
        one.name(),
        listed(&missing),
        place.name()
    );
    let mut found = Diagnostic::error(asked(one), message)
        .label(format!("known: {}", if known.is_empty() { "nothing".to_owned() } else { listed(&known) }))
        .why("a GetItem or Query gives the whole partition key; with a part of it only a Scan is left");
    for (_, template) in place.partition() {
        found = found.related(template.span, format!("needs {}", listed(&needed(template))));
    }
    found.help(format!(
        "hand {} to the reader, or give `{}` an index whose partition key is made of what it knows",
        listed(&missing),
        place.entity.name.value
    ))
}

fn needed(template: &Template) -> Vec<&str> {
    template.attributes().collect()
}

fn in_write(subject: &Subject<'_>, one: PatternWrite<'_>) -> Vec<Diagnostic> {
    one.plan.gaps.iter().filter_map(|gap| write_gap(subject, one, gap)).collect()
}

fn write_gap(subject: &Subject<'_>, one: PatternWrite<'_>, gap: &Gap) -> Option<Diagnostic> {
    let entity = subject.model.entity(one.plan.entity);
    let key = entity.key.as_ref()?;
    let name = &entity.name.value;
    let by = one.write.by.iter().map(|name| name.span).reduce(crate::Span::to);
    let span = by.unwrap_or(one.action.span);
    match gap {
        Gap::KeyUnknown { attributes } => Some(
            Diagnostic::error(
                span,
                format!("`{}` does not know {} of the key", one.name(), listed(attributes)),
            )
            .label(format!("does not find one `{name}`"))
            .why("a write names its item by the whole primary key; there is no update by query")
            .related(key.span, format!("the key needs {}", listed(attributes)))
            .help(format!(
                "hand {} to the writer, key `{name}` by what it knows, or keep an item that leads to it",
                listed(attributes)
            )),
        ),
        Gap::KeyChanges { attributes } => {
            let changed = one.write.set.iter().chain(&one.write.add).map(|change| &change.attribute);
            let changed = changed.chain(&one.write.remove).find(|name| attributes.contains(&name.value));
            let span = changed.map_or(one.action.span, |name| name.span);
            let message =
                format!("`{}` changes {}, which the key is made of", one.name(), listed(attributes));
            Some(
                Diagnostic::error(span, message)
                    .label("can't change")
                    .why("the primary key of an item never changes: it would be another item")
                    .related(key.span, "the key")
                    .help(
                        "delete the item and create the other in one transaction, or leave it out of the key",
                    ),
            )
        }
        Gap::IndexKeyUnknown { index, attributes } => {
            let entry = entity.entry(*index)?;
            let index = &subject.model.table_of(entity).index(*index).name.value;
            let message = format!(
                "`{}` changes a key of index `{index}` and does not know {} of it",
                one.name(),
                listed(attributes)
            );
            Some(
                Diagnostic::error(one.action.span, message)
                    .label("can't write the new index key")
                    .why("a composed key is one text: who changes a part writes the whole of it")
                    .related(entry.span, format!("needs {}", listed(attributes)))
                    .help(format!(
                        "`knows: [{}]` if the writer has it at hand, or give the index a key of several \
                         attributes",
                        attributes.join(", ")
                    )),
            )
        }
        _ => None,
    }
}
