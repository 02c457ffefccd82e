//! Key templates and predicates as JavaScript over an `item` with attributes, for what neither library has a
//! notation for.

use item::{Number, Type};
use model::model::Entity;
use model::predicate::{Operand, Operator, Predicate, Term};
use model::template::{Field, Form, Part, Template};
use serde_json::Value;

use super::write::is_identifier;

/// An expression that evaluates to the key.
pub fn template(template: &Template) -> String {
    let part = |part: &Part| match part {
        Part::Literal(text) => text.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${"),
        Part::Field(field) => format!("${{{}}}", self::field(field)),
    };
    format!("`{}`", template.parts.iter().map(part).collect::<String>())
}

/// An expression that evaluates to one part of a key as text.
pub fn text(field: &Field) -> String {
    let is_text = field.width.is_some()
        || matches!(field.form, Form::Lower(_) | Form::Bucket { .. } | Form::Descending { .. });
    let part = self::field(field);
    if is_text { part } else { format!("String({part})") }
}

/// An expression that evaluates to one part of a key.
fn field(field: &Field) -> String {
    let value = field.attribute().map(attribute).unwrap_or_default();
    let part = match &field.form {
        Form::Attribute(_) => value,
        Form::Lower(_) => format!("String({value}).toLowerCase()"),
        Form::Bucket { unit, .. } => format!("String({value}).slice(0, {})", unit.text_length()),
        // BigInt, because 38 digits are more than a JavaScript number has.
        Form::Descending { digits, .. } => {
            format!("String({}n - BigInt({value})).padStart({digits}, \"0\")", "9".repeat(*digits))
        }
        Form::Shard { count, .. } => format!("crc32(String({value})) % {count}"),
        Form::Random { count } => format!("Math.floor(Math.random() * {count})"),
    };
    match field.width {
        // The sign stays in front.
        Some(width) => {
            format!("String({part}).replace(/[^-].*/, (digits) => digits.padStart({width}, \"0\"))")
        }
        None => part,
    }
}

pub fn attribute(name: &str) -> String {
    if is_identifier(name) { format!("item.{name}") } else { format!("item[{}]", Value::from(name)) }
}

/// An expression that is true if the predicate holds.
pub fn predicate(predicate: &Predicate, entity: &Entity) -> String {
    let terms: Vec<String> = predicate.terms.iter().map(|one| term(one, entity)).collect();
    terms.join(" && ")
}

fn term(term: &Term, entity: &Entity) -> String {
    let name = term.attribute.value.as_str();
    let value = attribute(name);
    let kind = entity.attribute(name).map_or(Type::S, |attribute| attribute.kind.stored());
    let operands: Vec<String> = term.operands.iter().map(|operand| literal(operand, kind)).collect();
    let first = operands.first().map_or("undefined", String::as_str);
    let compare = |operator: &str| format!("{value} {operator} {first}");
    match term.operator {
        Operator::Equal => compare("==="),
        Operator::NotEqual => compare("!=="),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            compare(term.operator.name())
        }
        Operator::Between => {
            let second = operands.get(1).map_or("undefined", String::as_str);
            format!("{value} >= {first} && {value} <= {second}")
        }
        Operator::BeginsWith => format!("{value}.startsWith({first})"),
        Operator::Contains => format!("{value}.includes({first})"),
        Operator::In => format!("[{}].includes({value})", operands.join(", ")),
        Operator::Exists => format!("{value} != null"),
        Operator::NotExists => format!("{value} == null"),
    }
}

/// A parameter has no value here: it becomes `undefined`.
fn literal(operand: &Operand, kind: Type) -> String {
    let Some(text) = operand.literal() else { return "undefined".to_owned() };
    match (kind, Number::parse(text)) {
        (Type::N, Ok(number)) => number.to_string(),
        (Type::Bool, _) if matches!(text, "true" | "false") => text.to_owned(),
        _ => Value::from(text).to_string(),
    }
}
