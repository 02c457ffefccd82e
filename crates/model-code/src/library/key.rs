//! Key templates as functions: one for each key attribute of each entity, unless it is a constant or an attribute.

use item::{Type, Value as Stored};
use model::model::{Entity, KeyAttribute};
use model::request::Unsendable;
use model::template::{self, Field, Part, Template};

use super::case::{free, identifier, snake};
use super::{KeyBuilder, Kind, Library, Piece, TextForm, Value};

/// What the sender of a request knows of a field of a template: the attribute's value, or the number of the shard.
pub type Known<'k> = &'k mut dyn FnMut(&Field) -> Result<Value, Unsendable>;

/// The value of a key attribute.
pub fn value(
    library: &mut Library,
    entity: &Entity,
    key: &KeyAttribute,
    template: &Template,
    known: Known<'_>,
) -> Result<Value, Unsendable> {
    if let Some(field) = template.fields().next().filter(|field| is_direct(entity, key, template, field)) {
        return known(field);
    }
    if template.is_constant() {
        return Ok(Value::Literal(Stored::from(template.literal_prefix())));
    }
    let arguments = arguments(template).into_iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let comment = format!("{} of {}: {template}", key.name, entity.name.value);
    let found = library.keys.iter().position(|builder| builder.comment == comment);
    let builder = found.unwrap_or_else(|| {
        let builder = builder(library, entity, key, template, comment);
        library.keys.push(builder);
        library.keys.len() - 1
    });
    Ok(Value::Key { builder, arguments })
}

/// A key that is the attribute itself.
fn is_direct(entity: &Entity, key: &KeyAttribute, template: &Template, field: &Field) -> bool {
    let is_text = || kind(entity, field) == Kind::Text;
    template.bare().is_some() && (key.kind != Type::S || is_text())
}

fn kind(entity: &Entity, field: &Field) -> Kind {
    match field.attribute().filter(|_| field.shards().is_none()).and_then(|name| entity.attribute(name)) {
        Some(attribute) => Kind::of(attribute.kind),
        None if field.shards().is_some() => Kind::Integer,
        None => Kind::Text,
    }
}

/// Each attribute once, and each shard.
fn arguments(template: &Template) -> Vec<&Field> {
    let mut arguments: Vec<&Field> = Vec::new();
    for field in template.fields() {
        let plain = |other: &&Field| other.shards().is_none() && other.attribute() == field.attribute();
        if field.shards().is_some() || !arguments.iter().any(plain) {
            arguments.push(field);
        }
    }
    arguments
}

fn builder(
    library: &Library,
    entity: &Entity,
    key: &KeyAttribute,
    template: &Template,
    comment: String,
) -> KeyBuilder {
    let name = format!("{}_{}", identifier(&entity.name.value, "entity"), snake(&key.name));
    let name = free(&name, |name| library.keys.iter().any(|builder| builder.name == name));
    let mut parameters: Vec<(String, Kind)> = Vec::new();
    let mut shards: Vec<String> = Vec::new();
    for field in arguments(template) {
        let wanted = match field.attribute().filter(|_| field.shards().is_none()) {
            Some(attribute) => identifier(attribute, "value"),
            None => "shard".to_owned(),
        };
        let name = free(&wanted, |name| parameters.iter().any(|(other, _)| other == name));
        if field.shards().is_some() {
            shards.push(name.clone());
        }
        parameters.push((name, kind(entity, field)));
    }
    let mut shards = shards.into_iter();
    let named: Vec<(&str, String)> = arguments(template)
        .into_iter()
        .zip(&parameters)
        .filter(|(field, _)| field.shards().is_none())
        .filter_map(|(field, (name, _))| Some((field.attribute()?, name.clone())))
        .collect();
    let mut known = |field: &Field| {
        let name = match field.shards() {
            Some(_) => shards.next(),
            None => {
                named.iter().find(|(one, _)| Some(*one) == field.attribute()).map(|(_, name)| name.clone())
            }
        };
        let name = name.ok_or_else(|| Unsendable::Unknown(field.to_string()))?;
        Ok(Value::Variable { name, kind: kind(entity, field) })
    };
    let pieces = pieces(&template.parts, &mut known).unwrap_or_default();
    KeyBuilder { name, comment, parameters, pieces }
}

/// Parts of a template with their values.
pub fn pieces(parts: &[Part], known: Known<'_>) -> Result<Vec<Piece>, Unsendable> {
    parts
        .iter()
        .map(|part| match part {
            Part::Literal(text) => Ok(Piece::Literal(text.clone())),
            Part::Field(field) => Ok(piece(field, known(field)?)),
        })
        .collect()
}

/// A field of a template with its value. What is known beforehand is rendered here.
pub fn piece(field: &Field, value: Value) -> Piece {
    if let Value::Literal(stored) = &value {
        let one = Template { parts: vec![Part::Field(field.clone())], span: field.span };
        if let Ok(Stored::S(text)) = one.render(Type::S, |_| Some(stored.clone()), 0) {
            return Piece::Literal(text);
        }
    }
    let form = match &field.form {
        template::Form::Lower(_) => TextForm::Lower,
        template::Form::Bucket { unit, .. } => TextForm::Prefix(unit.text_length()),
        template::Form::Descending { digits, .. } => TextForm::Descending(*digits),
        template::Form::Attribute(_) | template::Form::Shard { .. } | template::Form::Random { .. } => {
            TextForm::Plain
        }
    };
    Piece::Field { value, form, width: field.width }
}

/// A text of pieces, as short as it can be said.
pub fn text(pieces: Vec<Piece>) -> Value {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (_, piece) => joined.push(piece),
        }
    }
    match joined.as_mut_slice() {
        [] => Value::Literal(Stored::from("")),
        [Piece::Literal(text)] => Value::Literal(Stored::S(std::mem::take(text))),
        [Piece::Field { value, form: TextForm::Plain, width: None }] if value.kind() == Kind::Text => {
            value.clone()
        }
        _ => Value::Text(joined),
    }
}
