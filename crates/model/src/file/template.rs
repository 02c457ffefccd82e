//! `ORDER#{createdAt}#{orderId}` -> [`Template`].

use super::Parsed;
use super::cursor::Cursor;
use super::yaml::Scalar;
use crate::Diagnostic;
use crate::template::{Bucket, Field, Form, Part, Template};

/// No key is longer than 2,048 bytes.
const TEXT_MAX: usize = 2048;
/// As many shards as a reader can query one by one.
const SHARDS_MAX: u64 = 10_000;
/// Enough for 38-digit numbers.
const WIDTH_MAX: u64 = 38;

pub fn template(scalar: &Scalar) -> Parsed<Template> {
    if scalar.text.len() > TEXT_MAX {
        let message = format!("a key is at most {TEXT_MAX} bytes long");
        return Err(Box::new(Diagnostic::error(scalar.span, message)));
    }
    let mut cursor = Cursor::new(scalar);
    let mut parts = Vec::new();
    let mut literal = String::new();
    while !cursor.rest().is_empty() {
        if taken(&mut cursor, "{{") {
            literal.push('{');
        } else if taken(&mut cursor, "}}") {
            literal.push('}');
        } else if cursor.rest().starts_with('{') {
            flush(&mut literal, &mut parts);
            parts.push(Part::Field(field(&mut cursor)?));
        } else if cursor.rest().starts_with('}') {
            return Err(cursor.error("`}` without `{`"));
        } else if let Some(field) = in_angles(&mut cursor) {
            flush(&mut literal, &mut parts);
            parts.push(Part::Field(field));
        } else {
            // A `<` that begins no name is a sign like any other.
            literal.push_str(if taken(&mut cursor, "<") { "<" } else { "" });
            literal.push_str(cursor.take_while(|c| !matches!(c, '{' | '}' | '<')));
        }
    }
    flush(&mut literal, &mut parts);
    if parts.is_empty() {
        return Err(Box::new(
            Diagnostic::error(scalar.span, "a key can't be empty").why("DynamoDB refuses empty keys"),
        ));
    }
    Ok(Template { parts, span: scalar.span })
}

/// `<userId>`, as keys are often written on paper: the same as `{userId}`.
fn in_angles(cursor: &mut Cursor<'_>) -> Option<Field> {
    let inner = cursor.rest().strip_prefix('<')?;
    let (name, _) = inner.split_once('>')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let start = cursor.at;
    is_name.then(|| {
        cursor.at += name.len() + 2;
        Field { form: Form::Attribute(name.to_owned()), width: None, span: cursor.since(start) }
    })
}

/// Spaces are part of a template, so none are skipped.
fn taken(cursor: &mut Cursor<'_>, text: &str) -> bool {
    let found = cursor.rest().starts_with(text);
    cursor.at += if found { text.len() } else { 0 };
    found
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}

fn field(cursor: &mut Cursor<'_>) -> Parsed<Field> {
    let start = cursor.at;
    cursor.at += 1;
    let (word, word_span) = attribute_name(cursor, "an attribute, or `shard(attribute, n)` or the like")?;
    let form = if cursor.take("(") {
        let form = function(cursor, word, word_span)?;
        if !cursor.take(")") {
            return Err(cursor.error("expected `)`"));
        }
        form
    } else {
        Form::Attribute(word.to_owned())
    };
    let width = width(cursor)?;
    if !cursor.take("}") {
        return Err(cursor.error("expected `}`"));
    }
    Ok(Field { form, width, span: cursor.since(start) })
}

/// The name of an attribute: a word, in which `#`, `/` and the like may be too.
fn attribute_name<'a>(cursor: &mut Cursor<'a>, what: &str) -> Parsed<(&'a str, crate::Span)> {
    cursor.skip_space();
    let start = cursor.at;
    let name = cursor.take_while(|c| c.is_alphanumeric() || "_-.#/@$+~".contains(c));
    match name.is_empty() {
        true => Err(cursor.error(format!("expected {what}"))),
        false => Ok((name, cursor.since(start))),
    }
}

fn function(cursor: &mut Cursor<'_>, name: &str, span: crate::Span) -> Parsed<Form> {
    if name == "random" {
        return Ok(Form::Random { count: whole(cursor, SHARDS_MAX, "the number of shards")? });
    }
    let bucket = Bucket::ALL.into_iter().find(|bucket| bucket.name() == name);
    if bucket.is_none() && !matches!(name, "shard" | "desc" | "lower") {
        return Err(Box::new(Diagnostic::error(span, format!("there is no function `{name}`")).help(
            "there are shard(attribute, n), random(n), desc(number, digits), lower(text), year(time), \
                 month(time), day(time), hour(time) and minute(time)",
        )));
    }
    let attribute = attribute_name(cursor, "an attribute")?.0.to_owned();
    Ok(match (name, bucket) {
        (_, Some(unit)) => Form::Bucket { attribute, unit },
        ("shard", _) => Form::Shard { attribute, count: second(cursor, SHARDS_MAX, "the number of shards")? },
        ("desc", _) => {
            let digits = second(cursor, WIDTH_MAX, "the number of digits")?;
            Form::Descending { attribute, digits: digits as usize }
        }
        _ => Form::Lower(attribute),
    })
}

fn second(cursor: &mut Cursor<'_>, most: u64, what: &str) -> Parsed<u64> {
    if !cursor.take(",") {
        return Err(cursor.error(format!("expected `,` and {what}")));
    }
    whole(cursor, most, what)
}

fn whole(cursor: &mut Cursor<'_>, most: u64, what: &str) -> Parsed<u64> {
    cursor.skip_space();
    let start = cursor.at;
    let number = cursor.take_while(|c| c.is_ascii_digit()).parse::<u64>().ok();
    match number.filter(|number| (1..=most).contains(number)) {
        Some(number) => Ok(number),
        None => {
            cursor.at = start;
            Err(cursor.error(format!("expected {what}: between 1 and {most}")))
        }
    }
}

/// `:08`.
fn width(cursor: &mut Cursor<'_>) -> Parsed<Option<usize>> {
    if !cursor.take(":") {
        return Ok(None);
    }
    if !cursor.take("0") {
        return Err(cursor.error("expected a width with zeros, as in `{rating:08}`"));
    }
    Ok(Some(whole(cursor, WIDTH_MAX, "the number of digits")? as usize))
}
