//! Which partition keys get the requests, and how many the busiest of them gets.
//!
//! Values that the model lists, or that a pattern names, are separate keys (`STATUS#OPEN`). Of all
//! others (`CUST#{customerId}`) only the busiest counts, and its share follows from skew and cardinality.

use std::collections::BTreeSet;

use crate::Model;
use crate::model::{Attribute, AttributeKind, Entity, EntityId, Place, Skew};
use crate::predict::found::{identity, whole};
use crate::template::{Field, Form, Part, Template, plain_text};

/// Values of an attribute that lists more than this are not separate keys; nor are there more keys than [`KEYS_MAX`].
const VALUES_MAX: usize = 20;
const KEYS_MAX: usize = 200;

/// Keys of one form, and the share of requests that the busiest of them gets.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyShare {
    /// As the template renders it; fields that are not separate values stay as they are written.
    pub key: String,
    pub share: f64,
}

/// What a request knows about attributes: the possible values, all equally likely.
pub type Known<'a> = dyn Fn(&str) -> Option<Vec<String>> + 'a;

/// One possibility for an attribute: a certain value, or any.
#[derive(Clone)]
struct Possibility {
    text: Option<String>,
    share: f64,
}

/// `skew` is how requests are distributed over the keys, if declared; else the attributes' own skew counts.
pub fn key_shares(model: &Model, place: Place<'_>, known: &Known<'_>, skew: Option<Skew>) -> Vec<KeyShare> {
    let templates: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let names = attributes(&templates);
    let mut choices: Vec<Vec<Possibility>> =
        names.iter().map(|name| choices(model, place.entity, name, known)).collect();
    if let Some(skew) = skew {
        apply_skew(model, place, &names, &mut choices, skew);
    }
    let spread = templates.iter().map(|template| template.shards() as f64).product::<f64>().max(1.0);
    let least = model.items(place.entity_id).map_or(0.0, |items| 1.0 / items.max(1.0));
    combinations(&choices)
        .into_iter()
        .map(|chosen| {
            let share: f64 = chosen.iter().map(|choice| choice.share).product();
            KeyShare { key: render(&templates, &names, &chosen), share: share.max(least.min(1.0)) / spread }
        })
        .collect()
}

/// The attributes that distinguish keys. A time bucket is always the current one, and shards only spread.
fn attributes<'t>(templates: &[&'t Template]) -> Vec<&'t str> {
    let mut names: Vec<&str> = Vec::new();
    for name in templates.iter().flat_map(|template| template.fields()).filter_map(telling) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn telling(field: &Field) -> Option<&str> {
    match &field.form {
        Form::Attribute(name) | Form::Lower(name) | Form::Descending { attribute: name, .. } => Some(name),
        Form::Bucket { .. } | Form::Shard { .. } | Form::Random { .. } => None,
    }
}

fn choices(model: &Model, entity: &Entity, name: &str, known: &Known<'_>) -> Vec<Possibility> {
    let attribute = entity.attribute(name);
    if let Some(constant) = attribute.and_then(|attribute| attribute.constant.as_ref()) {
        return vec![Possibility { text: Some(plain_text(constant)), share: 1.0 }];
    }
    if let Some(values) = known(name).filter(|values| !values.is_empty()) {
        let share = 1.0 / values.len() as f64;
        return values.into_iter().map(|value| Possibility { text: Some(value), share }).collect();
    }
    match attribute.filter(|attribute| (1..=VALUES_MAX).contains(&attribute.values.len())) {
        Some(listed) => listed
            .values
            .iter()
            .map(|value| Possibility {
                text: Some(value.clone()),
                share: listed.share_of(value).unwrap_or_default(),
            })
            .collect(),
        None => vec![Possibility { text: None, share: top_share(model, entity, name) }],
    }
}

/// Whether the keys of an index are finer than those of the table: then a pattern's skew, which is about
/// the keys it addresses, applies to them too.
pub fn follows_table(place: Place<'_>) -> bool {
    let table: Vec<&Template> = place.entity.key.iter().map(|key| &key.partition).collect();
    let here: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let (of_table, here) = (attributes(&table), attributes(&here));
    place.index.is_none() || (!of_table.is_empty() && of_table.iter().all(|name| here.contains(name)))
}

/// Whether no two items of the entity have the same partition key.
pub fn is_of_one_item(place: Place<'_>) -> bool {
    let here = place.partition();
    let here: BTreeSet<&str> =
        here.iter().flat_map(|(_, template)| template.fields()).filter_map(whole).collect();
    let entity = place.entity;
    let declared: BTreeSet<&str> = entity.identity.iter().map(|name| name.value.as_str()).collect();
    [declared, identity(entity)].iter().any(|id| !id.is_empty() && id.is_subset(&here))
}

/// The first attribute without separate values gets the share of the busiest key, the others get everything.
fn apply_skew(model: &Model, place: Place<'_>, names: &[&str], choices: &mut [Vec<Possibility>], skew: Skew) {
    let open: Vec<usize> =
        (0..choices.len()).filter(|at| choices[*at].len() == 1 && choices[*at][0].text.is_none()).collect();
    let keys: f64 = open.iter().map(|at| cardinality(model, place.entity, names[*at])).product();
    for (order, at) in open.into_iter().enumerate() {
        choices[at][0].share = if order == 0 { skew.top_share(keys) } else { 1.0 };
    }
}

fn top_share(model: &Model, entity: &Entity, name: &str) -> f64 {
    if is_today(model, entity, name) {
        return 1.0;
    }
    let skew = described(model, entity, name).find_map(|attribute| attribute.skew.as_ref());
    skew.map_or(Skew::Uniform, |skew| skew.value).top_share(cardinality(model, entity, name))
}

/// For a date without further declarations the current day gets everything, as for a time bucket.
fn is_today(model: &Model, entity: &Entity, name: &str) -> bool {
    let date = entity.attribute(name).is_some_and(|attribute| attribute.kind == AttributeKind::Date);
    let said = |one: &Attribute| one.skew.is_some() || one.cardinality().is_some();
    date && !described(model, entity, name).any(said)
}

/// The attribute of this entity, then those of the same name in others: `customerId` means the same everywhere.
fn described<'m>(model: &'m Model, entity: &'m Entity, name: &'m str) -> impl Iterator<Item = &'m Attribute> {
    let others = model.entities.iter().filter_map(move |other| other.attribute(name));
    entity.attribute(name).into_iter().chain(others)
}

/// How many values an attribute has: as declared; or the number of items of the entity that it identifies, the
/// smallest if there are several; or, if nothing is declared, one per item.
fn cardinality(model: &Model, entity: &Entity, name: &str) -> f64 {
    known_cardinality(model, entity, name).unwrap_or(1.0)
}

/// The same, `None` if no count is declared.
pub fn known_cardinality(model: &Model, entity: &Entity, name: &str) -> Option<f64> {
    let declared = described(model, entity, name).find_map(Attribute::cardinality);
    let own = || model.items(model.entity_named(&entity.name.value)?);
    declared.or_else(|| items_keyed_by(model, name)).or_else(own).map(|values| values.max(1.0))
}

fn items_keyed_by(model: &Model, name: &str) -> Option<f64> {
    let keyed = |id: &EntityId| model.entity(*id).key_templates().any(|template| template.uses(name));
    let items = model.entity_ids().filter(keyed).filter_map(|id| model.items(id));
    items.min_by(f64::total_cmp)
}

/// Attributes of the partition key whose number of values is not declared: the heat of such a key rests on a guess.
pub fn assumed<'m>(model: &'m Model, place: Place<'m>) -> Vec<&'m str> {
    let templates: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let guessed = |name: &&str| {
        let declared = described(model, place.entity, name).find_map(Attribute::cardinality);
        declared.is_none() && !identifies(model, name) && !is_unique(place.entity, name)
    };
    attributes(&templates).into_iter().filter(guessed).collect()
}

/// Whether the key of an entity with a declared count consists of this attribute alone.
fn identifies(model: &Model, name: &str) -> bool {
    model.entity_ids().any(|id| {
        let mut used = model.entity(id).key_templates().flat_map(Template::attributes).peekable();
        used.peek().is_some() && used.all(|one| one == name) && model.items(id).is_some()
    })
}

fn is_unique(entity: &Entity, name: &str) -> bool {
    let kind = entity.attribute(name).map(|attribute| attribute.kind);
    matches!(kind, Some(AttributeKind::Uuid | AttributeKind::Ulid | AttributeKind::Timestamp))
}

/// Every combination of one choice each; if there are too many, only the most likely of each.
fn combinations(choices: &[Vec<Possibility>]) -> Vec<Vec<Possibility>> {
    if choices.iter().map(Vec::len).product::<usize>() > KEYS_MAX {
        let likeliest = |some: &Vec<Possibility>| {
            let best = some.iter().max_by(|one, other| one.share.total_cmp(&other.share));
            Possibility { text: None, share: best.map_or(1.0, |best| best.share) }
        };
        return vec![choices.iter().map(likeliest).collect()];
    }
    let mut rows: Vec<Vec<Possibility>> = vec![Vec::new()];
    for some in choices {
        let longer =
            |row: &Vec<Possibility>, one: &Possibility| [row.as_slice(), std::slice::from_ref(one)].concat();
        rows =
            rows.iter().flat_map(|row| some.iter().map(|one| longer(row, one)).collect::<Vec<_>>()).collect();
    }
    rows
}

fn render(templates: &[&Template], names: &[&str], chosen: &[Possibility]) -> String {
    let value = |field: &Field| {
        let position = names.iter().position(|name| telling(field) == Some(*name))?;
        chosen[position].text.clone()
    };
    let text = |part: &Part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Field(field) => value(field).unwrap_or_else(|| field.to_string()),
    };
    let one = |template: &&Template| template.parts.iter().map(text).collect::<String>();
    templates.iter().map(one).collect::<Vec<_>>().join(" + ")
}
