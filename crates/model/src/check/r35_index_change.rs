//! R35: indexes that lack items, and unsafe back-fills.

use capacity::{PARTITION_WRITE_UNITS, write_units};

use super::{PatternRead, Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Action, Attribute, Entity, EntityId, Pattern, Read, Write, WriteVerb};
use crate::plan::{Membership, Plan, WritePlan, changed};
use crate::{Diagnostic, Model, Span};

pub const RULE: Rule = Rule {
    id: RuleId(35),
    level: Level::Error,
    title: "An index misses items, or its back-fill can't be trusted",
    page: include_str!("../../../../docs/rules/R35.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let misses = subject.reads().filter_map(|read| misses(subject.model, read));
    let back_fills = subject.patterns().filter(|(pattern, _)| is_back_fill(pattern));
    misses.chain(back_fills.flat_map(|(pattern, plan)| in_back_fill(subject, pattern, plan))).collect()
}

/// The index key is an attribute that items may lack, and the pattern does not ask only for those that have it.
fn misses(model: &Model, one: PatternRead<'_>) -> Option<Diagnostic> {
    let PatternRead { action, read, plan: planned, .. } = one;
    let id = planned.index?;
    let index = model.table(planned.table).index(id);
    let found = planned.entities.iter().find_map(|entity_id| {
        let entity = model.entity(*entity_id);
        let entry = entity.entry(id).filter(|entry| entry.declared)?;
        let lacking = |name: &&str| {
            entity.attribute(name).is_some_and(|one| one.optional) && !asks_for(entity, read, name)
        };
        let in_when = |name: &str| {
            let terms = entry.when.iter().flat_map(|when| &when.terms);
            terms.into_iter().any(|term| term.attribute.value == name)
        };
        let name =
            entry.templates().flat_map(|one| one.attributes()).filter(|name| !in_when(name)).find(lacking)?;
        Some((*entity_id, entity.attribute(name)?))
    });
    let (entity_id, attribute): (_, &Attribute) = found?;
    let (name, entity) = (&attribute.name, &model.entity(entity_id).name.value);
    let missed =
        Diagnostic::error(action.span, format!("items of `{entity}` without `{name}` are not found"))
            .label(format!("asks index `{}`", index.name.value))
            .related(attribute.span, "items can be without it")
            .why("an item is in an index only if it has every key attribute of the index")
            .help(format!(
                "give every `{entity}` a `{name}`, and back-fill those that are there; or ask for what the index holds: \
                 `where: exists {name}`"
            ));
    Some(match sets_alone(model, entity_id, read, name) {
        Some((span, other)) => missed.related(span, format!("changes `{other}` alone, not with `{name}`")),
        None => missed,
    })
}

/// Whether the read finds only items that have the attribute.
fn asks_for(entity: &Entity, read: &Read, attribute: &str) -> bool {
    asked(read).any(|name| entity.has_together(name, attribute))
}

/// The attributes that the read knows or asks for.
fn asked(read: &Read) -> impl Iterator<Item = &str> {
    let terms = read.conditions.iter().flat_map(|where_| &where_.terms).map(|term| &term.attribute);
    read.by.iter().chain(terms).map(|name| name.value.as_str())
}

/// A write that sets or removes an optional attribute which the read knows, and not this one with it: so items can have
/// one of them alone.
fn sets_alone<'m>(model: &'m Model, id: EntityId, read: &'m Read, name: &str) -> Option<(Span, &'m str)> {
    let entity = model.entity(id);
    let optional = |other: &&str| entity.attribute(other).is_some_and(|one| one.optional);
    let others: Vec<&str> = asked(read).filter(optional).collect();
    let writes = model.patterns.iter().flat_map(|pattern| pattern.writes());
    writes.filter(|(_, write)| write.entity.value == id).find_map(|(action, write)| {
        let changes = |name: &str| changed(write).any(|one| one == name);
        let alone = others.iter().find(|other| changes(other) && !changes(name))?;
        Some((action.span, *alone))
    })
}

/// By its name or description: nothing else distinguishes a back-fill from other updates.
fn is_back_fill(pattern: &Pattern) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let texts = [Some(pattern.id.value.as_str()), pattern.description.as_deref()];
    texts.into_iter().flatten().any(|text| plain(text).contains("backfill"))
}

fn in_back_fill(subject: &Subject<'_>, pattern: &Pattern, plan: &Plan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for ((action, write), (planned, _)) in pattern.writes().zip(plan.writes()) {
        found.extend(repeats(action, write));
        found.extend(hot(subject, pattern, write, planned));
    }
    if pattern.writes().next().is_some() && pattern.rate.is_none() {
        found.push(
            Diagnostic::error(pattern.id.span, "the back-fill has no rate")
                .label("runs as fast as it can")
                .why("a back-fill takes its capacity from the requests of the application")
                .help("say how fast it may write, as in `rate: 500/s`, and hold it to that"),
        );
    }
    found
}

/// A back-fill that runs twice, or beside the application, must not overwrite newer values.
fn repeats(action: &Action, write: &Write) -> Option<Diagnostic> {
    let guarded = write.condition.is_some() || write.version.is_some();
    let changed = write.set.first().map_or("GSI1PK", |change| change.attribute.value.as_str());
    (write.verb == WriteVerb::Put || (write.verb == WriteVerb::Update && !guarded)).then(|| {
        Diagnostic::error(action.span, "the back-fill writes again what is written")
            .label("no condition")
            .why("it runs beside the application and is run again after a failure: what changed in the meantime is lost")
            .help(format!("`update` with `if: not exists {changed}`: a second run then skips what is done"))
    })
}

/// All rows go to one key of an index.
fn hot(subject: &Subject<'_>, pattern: &Pattern, write: &Write, planned: &WritePlan) -> Option<Diagnostic> {
    let rate = pattern.rate.as_ref()?;
    let entity = subject.model.entity(write.entity.value);
    let entered =
        planned.effects.iter().filter(|effect| effect.after != Membership::Out && effect.key_changes);
    let bytes = entity.size.as_ref().map_or(0, |size| size.typical as usize);
    let (entry, each) = entered.filter_map(|effect| entity.entry(effect.index)).find_map(|entry| {
        let each = rate.peak() * write_units(None, Some(bytes)) / entry.partition_keys(entity);
        (each > PARTITION_WRITE_UNITS as f64).then_some((entry, each))
    })?;
    let units = figures::count(each);
    Some(
        Diagnostic::error(rate.span, format!("the back-fill writes {units} units a second to one index key"))
            .label("more than 1,000")
            .related(entry.span, "so few keys")
            .why("one partition key takes 1,000 write units a second; a throttled index throttles the table's writes")
            .help("slow it down, or shard the index key before the items are written"),
    )
}
