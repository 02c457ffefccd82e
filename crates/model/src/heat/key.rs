//! Which partition keys requests fall on, and how much the busiest of them takes.
//!
//! Values that the model lists, or that a pattern names, are keys of their own (`STATUS#OPEN`); among all
//! others (`CUST#{customerId}`) only the busiest counts, and its share follows from skew and cardinality.

use crate::Model;
use crate::model::{Attribute, AttributeKind, Entity, EntityId, Place, Skew};
use crate::template::{Field, Form, Part, Template, plain_text};

/// A listed attribute with more values than this is not told apart, nor are more keys than [`KEYS_MAX`].
const VALUES_MAX: usize = 20;
const KEYS_MAX: usize = 200;

/// Keys of one form, and the share of requests that the busiest of them takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fall {
    /// As the template renders it, values that are not told apart left as they are written.
    pub key: String,
    pub share: f64,
}

/// What a request knows of attributes: the values that are named, each as likely as the other.
pub type Known<'a> = dyn Fn(&str) -> Option<Vec<String>> + 'a;

/// One way for an attribute to be: a value, or any.
#[derive(Clone)]
struct Choice {
    text: Option<String>,
    share: f64,
}

/// `skew` is how the requests fall on the keys, where that is known; else the attributes' own skew counts.
pub fn falls(model: &Model, place: Place<'_>, known: &Known<'_>, skew: Option<Skew>) -> Vec<Fall> {
    let templates: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let names = attributes(&templates);
    let mut choices: Vec<Vec<Choice>> =
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
            Fall { key: render(&templates, &names, &chosen), share: share.max(least.min(1.0)) / spread }
        })
        .collect()
}

/// The attributes that tell keys apart. A time bucket is always the current one, and shards only spread.
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

fn choices(model: &Model, entity: &Entity, name: &str, known: &Known<'_>) -> Vec<Choice> {
    let attribute = entity.attribute(name);
    if let Some(constant) = attribute.and_then(|attribute| attribute.constant.as_ref()) {
        return vec![Choice { text: Some(plain_text(constant)), share: 1.0 }];
    }
    if let Some(values) = known(name).filter(|values| !values.is_empty()) {
        let share = 1.0 / values.len() as f64;
        return values.into_iter().map(|value| Choice { text: Some(value), share }).collect();
    }
    match attribute.filter(|attribute| (1..=VALUES_MAX).contains(&attribute.values.len())) {
        Some(listed) => listed
            .values
            .iter()
            .map(|value| Choice {
                text: Some(value.clone()),
                share: listed.share_of(value).unwrap_or_default(),
            })
            .collect(),
        None => vec![Choice { text: None, share: top_share(model, entity, name) }],
    }
}

/// Whether the keys of an index are finer than those of the table: then a pattern's skew, which is about
/// the keys it addresses, holds for them too.
pub fn follows_table(place: Place<'_>) -> bool {
    let table: Vec<&Template> = place.entity.key.iter().map(|key| &key.partition).collect();
    let here: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let (of_table, here) = (attributes(&table), attributes(&here));
    place.index.is_none() || (!of_table.is_empty() && of_table.iter().all(|name| here.contains(name)))
}

/// The first attribute that is not told apart takes the share of the busiest key, the others take all.
fn apply_skew(model: &Model, place: Place<'_>, names: &[&str], choices: &mut [Vec<Choice>], skew: Skew) {
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

/// Of a date nobody says more about, the current one takes all, as of a time bucket.
fn is_today(model: &Model, entity: &Entity, name: &str) -> bool {
    let date = entity.attribute(name).is_some_and(|attribute| attribute.kind == AttributeKind::Date);
    let said = |one: &Attribute| one.skew.is_some() || one.cardinality().is_some();
    date && !described(model, entity, name).any(said)
}

/// The attribute of this entity, then those of the same name: `customerId` is one thing everywhere.
fn described<'m>(model: &'m Model, entity: &'m Entity, name: &'m str) -> impl Iterator<Item = &'m Attribute> {
    let others = model.entities.iter().filter_map(move |other| other.attribute(name));
    entity.attribute(name).into_iter().chain(others)
}

/// How many values an attribute has: as declared; or as many as there are items of the entity it is part
/// of the key of, the one with the fewest; or, if nothing is said of it, one for each item.
fn cardinality(model: &Model, entity: &Entity, name: &str) -> f64 {
    let declared = described(model, entity, name).find_map(Attribute::cardinality);
    let own = || model.items(model.entity_named(&entity.name.value)?);
    declared.or_else(|| items_keyed_by(model, name)).or_else(own).unwrap_or(1.0).max(1.0)
}

fn items_keyed_by(model: &Model, name: &str) -> Option<f64> {
    let keyed = |id: &EntityId| model.entity(*id).key_templates().any(|template| template.uses(name));
    let items = model.entity_ids().filter(keyed).filter_map(|id| model.items(id));
    items.min_by(f64::total_cmp)
}

/// Attributes of the partition key of which nothing tells how many values they have: what heat says of
/// such a key rests on a guess.
pub fn assumed<'m>(model: &'m Model, place: Place<'m>) -> Vec<&'m str> {
    let templates: Vec<&Template> = place.partition().into_iter().map(|(_, template)| template).collect();
    let guessed = |name: &&str| {
        let declared = described(model, place.entity, name).find_map(Attribute::cardinality);
        declared.is_none() && !identifies(model, name) && !is_unique(place.entity, name)
    };
    attributes(&templates).into_iter().filter(guessed).collect()
}

/// Whether an entity whose items are counted has nothing else in its key.
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

/// Every way to choose one of each, unless they are too many: then only the likeliest of each.
fn combinations(choices: &[Vec<Choice>]) -> Vec<Vec<Choice>> {
    if choices.iter().map(Vec::len).product::<usize>() > KEYS_MAX {
        let likeliest = |some: &Vec<Choice>| {
            let best = some.iter().max_by(|one, other| one.share.total_cmp(&other.share));
            Choice { text: None, share: best.map_or(1.0, |best| best.share) }
        };
        return vec![choices.iter().map(likeliest).collect()];
    }
    let mut rows: Vec<Vec<Choice>> = vec![Vec::new()];
    for some in choices {
        let longer = |row: &Vec<Choice>, one: &Choice| [row.as_slice(), std::slice::from_ref(one)].concat();
        rows =
            rows.iter().flat_map(|row| some.iter().map(|one| longer(row, one)).collect::<Vec<_>>()).collect();
    }
    rows
}

fn render(templates: &[&Template], names: &[&str], chosen: &[Choice]) -> String {
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
