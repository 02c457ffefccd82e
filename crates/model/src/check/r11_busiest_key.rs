//! R11: one partition key gets more load than a partition sustains.

use super::figures::count;
use super::spread::{differing, shard, values};
use super::{Rule, Subject};
use crate::diagnostic::{Level, RuleId};
use crate::facts::Facts;
use crate::heat::key::is_of_one_item;
use crate::heat::{Cure, CureWay, Cures, DEFAULT_HEADROOM, Heat, KeyHeat, heat};
use crate::model::{EntityId, Place};
use crate::template::{Part, Template};
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(11),
    level: Level::Error,
    title: "The busiest key takes more than one partition sustains",
    page: include_str!("../../../../docs/rules/R11.md"),
    // The share of a partition's throughput that a key may use, and the share that it should use.
    parameters: &[("load", 1.0), ("headroom", DEFAULT_HEADROOM)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let limits = Facts::embedded().limits;
    let heats = heat(subject.model, subject.plans, &limits, subject.parameter("headroom"));
    let most = subject.parameter("load");
    let hot = heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key)));
    hot.filter(|(_, key)| key.load > most).filter_map(|(heat, key)| finding(subject, heat, key)).collect()
}

fn finding(subject: &Subject<'_>, heat: &Heat, key: &KeyHeat) -> Option<Diagnostic> {
    let (place, template) = place_of(subject, heat, key)?;
    if is_guessed(subject, heat, place, template) {
        return None;
    }
    let message = format!("one key of {} takes {}", place.name(), units(key.write.peak(), key.read.peak()));
    let found = Diagnostic::error(template.span, message)
        .label(format!("`{}`: {:.0}% of what one partition sustains", key.key, key.load * 100.0))
        .why(
            "one partition key takes at most 1,000 write units and 3,000 read units a second; adaptive \
             capacity moves whole keys about, it does not make one larger",
        )
        .help(remedy(subject, heat, place, template, key));
    Some(contributions(subject, key).into_iter().fold(found, |found, (span, note)| found.related(span, note)))
}

/// Whether the file declares neither how many values a part of the key has nor how many items there are. Then
/// R5 asks for it, and until then nothing is known.
fn is_guessed(subject: &Subject<'_>, heat: &Heat, place: Place<'_>, template: &Template) -> bool {
    let mut assumed = template.attributes().filter(|name| heat.assumed.iter().any(|assumed| assumed == name));
    subject.model.items(place.entity_id).is_none() && assumed.next().is_some()
}

fn units(write: f64, read: f64) -> String {
    let (written, given) = (count(write), count(read));
    match (write >= 0.5, read >= 0.5) {
        (true, true) => format!("{written} write units and {given} read units a second"),
        (true, false) => format!("{written} write units a second"),
        _ => format!("{given} read units a second"),
    }
}

/// What cures it, the cheapest first.
fn remedy(
    subject: &Subject<'_>,
    heat: &Heat,
    place: Place<'_>,
    template: &Template,
    key: &KeyHeat,
) -> String {
    let facts = Facts::embedded();
    let cures = Cures::new(subject.model, subject.plans, &facts, subject.parameter("headroom")).of(heat, key);
    let curing: Vec<&Cure> = cures.iter().filter(|cure| cure.cures).collect();
    let is_priced = is_priced(subject, key);
    let describe = |cure: &&Cure| {
        let way = match cure.way {
            CureWay::Shards { count } => spread(subject, place, template, key.shards, count),
            _ => cure.way.describe(),
        };
        if is_priced { format!("{way}{}", cure.price()) } else { way }
    };
    let ways = curing.iter().map(describe).collect::<Vec<_>>().join("; or ");
    let by_shards = curing.iter().any(|cure| matches!(cure.way, CureWay::Shards { .. }));
    let is_collection = own_id(place).is_some();
    match (ways.is_empty(), by_shards) {
        (false, false) if is_collection => {
            format!("shards don't help, since a read asks each of them: {ways}")
        }
        (false, _) => ways,
        (true, _) => {
            "no one way is enough: write it less often or in smaller items, and read it less often or let a \
             cache answer (`cached`)"
                .to_owned()
        }
    }
}

fn spread(subject: &Subject<'_>, place: Place<'_>, template: &Template, shards: u64, needed: u64) -> String {
    match (own_id(place), shards) {
        (_, shards) if shards > 1 => format!("spread it over {needed} keys instead of {shards}"),
        (Some(id), _) => match shard(subject, place, needed).filter(|spread| spread.count == needed) {
            Some(spread) => {
                format!(
                    "spread it over {needed} keys: `{template}#{{{}}}`, and read all of them",
                    spread.field
                )
            }
            None => format!(
                "spread it over {needed} keys by what has as many values: `{id}` has {}",
                count(values(place, id))
            ),
        },
        (None, _) => format!(
            "it is one item: keep {needed} of it, as in `{template}#{{random({needed})}}`, and add them up"
        ),
    }
}

/// An attribute that differs among the items of the key; `None` if it has one item.
fn own_id(place: Place<'_>) -> Option<&str> {
    differing(place).filter(|_| !is_of_one_item(place))
}

/// Whether the file says how much there is of everything that the load comes from: without that a price is a guess.
fn is_priced(subject: &Subject<'_>, key: &KeyHeat) -> bool {
    entities(subject, key).into_iter().all(|id| {
        let entity = subject.model.entity(id);
        entity.count.is_some() && entity.size.is_some()
    })
}

/// The rates of the patterns that add most of the load.
fn contributions(subject: &Subject<'_>, key: &KeyHeat) -> Vec<(Span, String)> {
    const SHOWN: usize = 3;
    let patterns = key.from.iter().take(SHOWN).filter_map(|one| {
        let pattern = subject.model.pattern_named(&one.pattern)?;
        let span = pattern.rate.as_ref().map_or(pattern.id.span, |rate| rate.span);
        Some((span, format!("adds {}", units(one.write, one.read))))
    });
    patterns.collect()
}

/// The entity whose key it is, and the template to underline: one that reads like the key or can render to it, of
/// an entity that the load comes from.
fn place_of<'m>(subject: &Subject<'m>, heat: &Heat, key: &KeyHeat) -> Option<(Place<'m>, &'m Template)> {
    let touched = entities(subject, key);
    let places: Vec<Place<'m>> = subject
        .model
        .places()
        .into_iter()
        .filter(|place| place.table_id == heat.table_id && place.index_id() == heat.index_id)
        .filter(|place| touched.contains(&place.entity_id))
        .collect();
    let templates = |place: &Place<'m>| -> Vec<&'m Template> {
        place.partition().into_iter().map(|(_, template)| template).collect()
    };
    let written = |place: &&Place<'m>| {
        let texts: Vec<String> = templates(place).iter().map(ToString::to_string).collect();
        texts.join(SEPARATOR) == key.key
    };
    let found = places.iter().find(written);
    let found = found.or_else(|| places.iter().find(|place| renders(&templates(place), &key.key)))?;
    Some((*found, templates(found).first()?))
}

/// The entities of the patterns that the load comes from.
fn entities(subject: &Subject<'_>, key: &KeyHeat) -> Vec<EntityId> {
    let patterns = key.from.iter().filter_map(|one| subject.model.pattern_named(&one.pattern));
    patterns
        .flat_map(|pattern| {
            let read = pattern.reads().flat_map(|(_, read)| read.entities.iter().map(|entity| entity.value));
            read.chain(pattern.writes().map(|(_, write)| write.entity.value)).collect::<Vec<_>>()
        })
        .collect()
}

/// Separates the attributes of a partition key that has several.
const SEPARATOR: &str = " + ";

/// Whether the templates can render to this text, which may contain fields as they are written.
fn renders(templates: &[&Template], text: &str) -> bool {
    let mut parts: Vec<Part> = Vec::new();
    for template in templates {
        if !parts.is_empty() {
            parts.push(Part::Literal(SEPARATOR.to_owned()));
        }
        parts.extend(template.parts.iter().cloned());
    }
    let mut rest = text;
    let mut open = false;
    for part in &parts {
        match part {
            Part::Field(_) => open = true,
            Part::Literal(literal) => {
                let Some(at) = rest.find(literal.as_str()).filter(|at| open || *at == 0) else {
                    return false;
                };
                rest = &rest[at + literal.len()..];
                open = false;
            }
        }
    }
    open || rest.is_empty()
}
