//! What prevents a change while the application runs, and what only people can judge.

use api::limits::GLOBAL_SECONDARY_INDEXES_MAX;
use serde::Serialize;

use super::layout::{Fate, Layout, composed, table_named};
use crate::Model;
use crate::model::{AttributesRead, Entity, IndexKind, Pattern, Read};
use crate::plan::{Gap, plan};
use crate::template::{Form, Template};

/// Why a change can't be made, and what to do instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Obstacle {
    pub problem: String,
    pub help: String,
}

/// Everything that prevents the change.
pub fn obstacles(layout: &Layout) -> Vec<Obstacle> {
    let mut obstacles: Vec<Obstacle> =
        [&layout.old, &layout.target].into_iter().filter_map(keyless).collect();
    for fate in &layout.fates {
        if let Fate::Stays { old, new } | Fate::Moves { old, new, .. } = *fate {
            let (was, is) = (layout.old.entity(old), layout.target.entity(new));
            obstacles.extend(types(was, is));
            obstacles.extend(two_forms(layout, *fate, was, is));
            obstacles.extend(unknown(*fate, was, is));
            obstacles.extend(drawn(*fate, is));
        }
    }
    obstacles.extend(layout.target.patterns.iter().filter_map(|pattern| moves_copied_items(layout, pattern)));
    obstacles.extend(layout.both.tables.iter().filter_map(|table| too_many(layout, &table.name.value)));
    obstacles
}

fn keyless(model: &Model) -> Option<Obstacle> {
    (!model.has_keys() || model.tables.iter().any(|table| table.key.is_none())).then(|| Obstacle {
        problem: format!("`{}` has no keys yet", model.name.value),
        help: "let `lodestone model design` find them, or write them".to_owned(),
    })
}

/// One name with two types: readers would have to handle both, and keys can hold only one.
fn types<'e>(was: &'e Entity, is: &'e Entity) -> impl Iterator<Item = Obstacle> + 'e {
    is.attributes.values().filter_map(move |attribute| {
        let earlier = was.attribute(&attribute.name)?;
        let (from, to) = (earlier.kind.stored(), attribute.kind.stored());
        (from != to).then(|| Obstacle {
            problem: format!(
                "`{}` of `{}` changes its stored type from {} to {}",
                attribute.name,
                is.name.value,
                from.name(),
                to.name()
            ),
            help: "give the new one another name: writers write both, readers change over one by one"
                .to_owned(),
        })
    })
}

/// An index key that can't be renamed, because it is data of another entity.
fn two_forms(layout: &Layout, fate: Fate, was: &Entity, is: &Entity) -> Option<Obstacle> {
    let had = composed(&layout.old, was);
    let stays = matches!(fate, Fate::Stays { .. });
    let has = composed(&layout.target, is).into_values().filter(|_| stays);
    let both =
        has.into_iter().find(|one| had.get(&one.attribute).is_some_and(|other| !other.is_like(one)))?;
    Some(Obstacle {
        problem: format!("`{}` of `{}` would have to hold two keys at once", both.attribute, is.name.value),
        help: "give the index a key attribute that is no data of any entity".to_owned(),
    })
}

/// Keys that need attributes which existing items don't have.
fn unknown(fate: Fate, was: &Entity, is: &Entity) -> Option<Obstacle> {
    let of_indexes = is.entries.iter().flat_map(|entry| entry.templates()).flat_map(Template::attributes);
    let moves = matches!(fate, Fate::Moves { .. });
    let of_key = is.key_templates().flat_map(Template::attributes).filter(|_| moves);
    // Items without an optional attribute are not in the index, before and after.
    let must_have = |name: &&str| is.attribute(name).is_some_and(|attribute| !attribute.optional);
    let lacks = |name: &&str| was.attribute(name).is_none();
    let may_lack = |name: &&str| was.attribute(name).is_none_or(|attribute| attribute.optional);
    let mut names = of_indexes.filter(must_have).filter(lacks).chain(of_key.filter(may_lack));
    let name = names.next()?;
    let entity = &is.name.value;
    Some(Obstacle {
        problem: format!("new keys of `{entity}` are made of `{name}`, which existing items don't have"),
        help: format!(
            "first a model that only adds `{name}`, and a job of yours that writes it to every item; then this one"
        ),
    })
}

/// A copy whose key has a random suffix would get another key the next time.
fn drawn(fate: Fate, is: &Entity) -> Option<Obstacle> {
    let moves = matches!(fate, Fate::Moves { .. });
    let mut fields = is.key_templates().flat_map(|template| template.fields());
    let random = fields.any(|field| matches!(field.form, Form::Random { .. }));
    (moves && random).then(|| Obstacle {
        problem: format!("the new key of `{}` is drawn by chance", is.name.value),
        help: "a job that is run again would copy every item twice; use `shard(…)` of an attribute"
            .to_owned(),
    })
}

/// A write that would change the key of items which are copied.
fn moves_copied_items(layout: &Layout, pattern: &Pattern) -> Option<Obstacle> {
    let planned = plan(&layout.target, pattern);
    let (write, attributes) = planned.writes().find_map(|(write, _)| {
        let changing = write.gaps.iter().find_map(|gap| match gap {
            Gap::KeyChanges { attributes } => Some(attributes.clone()),
            _ => None,
        });
        Some((write.entity, changing?))
    })?;
    let moves = layout.moves().any(|fate| matches!(fate, Fate::Moves { new, .. } if new == write));
    moves.then(|| Obstacle {
        problem: format!(
            "`{}` changes `{}`, which the new key of `{}` is made of",
            pattern.id.value,
            attributes.join("`, `"),
            layout.target.entity(write).name.value
        ),
        help:
            "the key of an item can't change: put it into the key of an index, or delete and create the item \
               in one transaction"
                .to_owned(),
    })
}

fn too_many(layout: &Layout, table: &str) -> Option<Obstacle> {
    let both = table_named(&layout.both, table)?;
    let count = both.indexes.iter().filter(|index| index.kind == IndexKind::Global).count();
    (count > GLOBAL_SECONDARY_INDEXES_MAX).then(|| Obstacle {
        problem: format!("`{table}` would have {count} global indexes at once, and may have 20"),
        help: "in two migrations: first drop what no pattern needs, then add what is new".to_owned(),
    })
}

/// What people must judge before the change.
pub fn cautions(layout: &Layout) -> Vec<String> {
    let mut cautions = Vec::new();
    for fate in &layout.fates {
        match *fate {
            Fate::Moves { old, new, .. } => {
                cautions.extend(merged(layout.old.entity(old), layout.target.entity(new)));
            }
            Fate::Removed { old, .. } => {
                let name = &layout.old.entity(old).name.value;
                cautions.push(format!(
                    "`{name}` is gone from the model. If it only got another name, keep the old one here: its items would be deleted."
                ));
            }
            Fate::Stays { .. } | Fate::Added { .. } => {}
        }
    }
    cautions.extend(conflict(layout));
    cautions.extend(no_longer_written(layout));
    cautions.extend(not_yet_written(layout));
    cautions.extend(new_items_found_early(layout));
    cautions.extend(unserved(layout));
    cautions
}

/// Items that differ only in an attribute which the new key leaves out.
fn merged(was: &Entity, is: &Entity) -> Option<String> {
    let whole = |name: &str| {
        let mut fields = is.key_templates().flat_map(|template| template.fields());
        fields.any(|field| matches!(&field.form, Form::Attribute(one) if one == name))
    };
    let identified = !is.identity.is_empty() && is.identity.iter().all(|name| whole(name));
    let mut attributes = was.key_templates().flat_map(|template| template.attributes());
    let lost = attributes.find(|name| !whole(name)).filter(|_| !identified)?;
    Some(format!(
        "Two items of `{}` that differ in `{lost}` alone would get the same key, and the second would not be \
         copied. Compare the counts before the first pattern is switched over.",
        is.name.value
    ))
}

/// A reader that old and new data mislead while both are there, whatever is created again.
fn conflict(layout: &Layout) -> Option<String> {
    let conflict = layout.conflict()?;
    Some(format!(
        "While old and new exist side by side, `{}` does not find exactly what it should in {}: {}.",
        conflict.pattern,
        conflict.index.unwrap_or(conflict.table),
        conflict.problem
    ))
}

/// Attributes that the new model lacks and old readers need: no step says when writers may stop.
fn no_longer_written(layout: &Layout) -> impl Iterator<Item = String> {
    let all = attributes_apart(layout, |was, is| (was, is), &layout.old);
    all.into_iter().map(|(entity, attribute, readers)| {
        format!(
            "`{attribute}` of `{entity}` is gone from the model. Let writers keep it until no old reader is needed: {} {} it.",
            readers.join(", "),
            if readers.len() == 1 { "needs" } else { "need" }
        )
    })
}

/// Attributes that existing items lack and new readers need.
fn not_yet_written(layout: &Layout) -> impl Iterator<Item = String> {
    let all = attributes_apart(layout, |was, is| (is, was), &layout.target);
    all.into_iter().map(|(entity, attribute, readers)| {
        format!(
            "Existing items of `{entity}` have no `{attribute}`, which {} {}: let a job of yours write it first.",
            readers.join(", "),
            if readers.len() == 1 { "needs" } else { "need" }
        )
    })
}

/// Attributes that the one form of an entity always has and the other never, with the reads of the model that select
/// or order by them or name them.
fn attributes_apart<'l>(
    layout: &'l Layout,
    choose: impl Fn(&'l Entity, &'l Entity) -> (&'l Entity, &'l Entity),
    model: &'l Model,
) -> Vec<(String, String, Vec<String>)> {
    let mut found = Vec::new();
    for fate in &layout.fates {
        let (Fate::Stays { old, new } | Fate::Moves { old, new, .. }) = *fate else { continue };
        let (has, lacks) = choose(layout.old.entity(old), layout.target.entity(new));
        let apart =
            has.attributes.values().filter(|one| !one.optional && lacks.attribute(&one.name).is_none());
        for attribute in apart {
            let uses = |pattern: &&Pattern| {
                let mut reads = pattern.reads().map(|(_, read)| read);
                pattern.external.is_none()
                    && reads.any(|read| reads_attribute(model, read, has, &attribute.name))
            };
            let readers: Vec<String> =
                model.patterns.iter().filter(uses).map(|pattern| format!("`{}`", pattern.id.value)).collect();
            if !readers.is_empty() {
                found.push((has.name.value.clone(), attribute.name.clone(), readers));
            }
        }
    }
    found
}

fn reads_attribute(model: &Model, read: &Read, entity: &Entity, attribute: &str) -> bool {
    let of_entity = read.entities.iter().any(|id| model.entity(id.value).name.value == entity.name.value);
    let terms = read.conditions.iter().chain(&read.filter).flat_map(|predicate| &predicate.terms);
    let asked =
        terms.map(|term| &term.attribute).chain(&read.by).chain(read.order.iter().map(|one| &one.attribute));
    let named = match read.attributes.as_ref().map(|read| &read.value) {
        Some(AttributesRead::These(names)) => names.iter().any(|name| name.value == attribute),
        _ => false,
    };
    of_entity && (named || asked.into_iter().any(|name| name.value == attribute))
}

/// New items that old readers would find by mistake.
fn new_items_found_early(layout: &Layout) -> Option<String> {
    let finders = layout.old_patterns_that_find_added();
    let added = layout.fates.iter().filter_map(|fate| match fate {
        Fate::Added { new } => Some(layout.target.entity(*new).name.value.as_str()),
        _ => None,
    });
    let added: Vec<&str> = added.collect();
    (!finders.is_empty()).then(|| {
        format!(
            "Write the first item of {} when every step is done: until then {} would find it.",
            added.join(", "),
            finders.join(", ")
        )
    })
}

/// New patterns that are wrong by themselves.
fn unserved(layout: &Layout) -> Option<String> {
    let wrong = layout
        .target
        .patterns
        .iter()
        .filter(|pattern| pattern.external.is_none() && !plan(&layout.target, pattern).is_sound());
    let names: Vec<&str> = wrong.map(|pattern| pattern.id.value.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The new model does not serve {} as it should: `lodestone model check` says why.",
            names.join(", ")
        )
    })
}
