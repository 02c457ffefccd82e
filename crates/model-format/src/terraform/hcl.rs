//! Configurations as HCL: text <-> the document of `.tf.json`.
//!
//! In the document an expression is text in `${…}`, a nested block an object in a list, and a reference that
//! serves as a name (`depends_on`, `ignore_changes`, the type of a variable) plain text.

mod print;

use hcl::expr::{ObjectKey, TemplateExpr};
use hcl::format::{Format, Formatter};
use hcl::{Block, Body, Expression, Structure};
use serde_json::{Map, Value};

use super::literal;
use crate::{Syntax, Unreadable};

pub const HCL: Syntax = Syntax { parse, print: print::print };

/// Deeper than any configuration; the parser calls itself for each bracket and operator.
const DEPTH_MAX: usize = 64;
/// Signs and question marks nest without brackets. No real configuration has this many in one line.
const OPERATORS_MAX: usize = 256;

/// Blocks and how many labels they have; others have none.
const LABELS: [(&str, usize); 11] = [
    ("resource", 2),
    ("data", 2),
    ("ephemeral", 2),
    ("variable", 1),
    ("output", 1),
    ("module", 1),
    ("provider", 1),
    ("check", 1),
    ("dynamic", 1),
    ("provisioner", 1),
    ("backend", 1),
];

fn labels(kind: &str) -> usize {
    LABELS.iter().find(|(name, _)| *name == kind).map_or(0, |(_, count)| *count)
}

/// Whether an attribute of a block holds references as names.
fn names_things(block: &str, attribute: &str) -> bool {
    let everywhere = ["depends_on", "ignore_changes", "replace_triggered_by", "provider"];
    everywhere.contains(&attribute) || (block == "variable" && attribute == "type")
}

fn parse(text: &str) -> Result<Value, Unreadable> {
    if is_too_deep(text) {
        return Err(Unreadable("this is nested too deeply".to_owned()));
    }
    let body = hcl::parse(text).map_err(|error| Unreadable(format!("this is not HCL: {error}")))?;
    Ok(Value::Object(members("", body)))
}

pub fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut operators) = (0usize, 0usize);
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '!' | '-' | '?' => operators += 1,
            '\n' => operators = 0,
            _ => {}
        }
        if depth > DEPTH_MAX || operators > OPERATORS_MAX {
            return true;
        }
    }
    false
}

fn members(block: &str, body: Body) -> Map<String, Value> {
    let mut members = Map::new();
    for structure in body {
        match structure {
            Structure::Attribute(attribute) => {
                let name = attribute.key.as_str();
                let value = match names_things(block, name) {
                    true => reference(&attribute.expr),
                    false => attribute_value(&attribute.expr),
                };
                members.insert(name.to_owned(), value);
            }
            Structure::Block(inner) => add_block(&mut members, block.is_empty(), inner),
        }
    }
    members
}

/// A top-level block is an object if it is the only one; a nested block is always in a list.
fn add_block(members: &mut Map<String, Value>, top: bool, block: Block) {
    let kind = block.identifier.as_str().to_owned();
    let value = Value::Object(self::members(&kind, block.body));
    let mut place = members.entry(kind).or_insert(Value::Null);
    for label in &block.labels {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[label.as_str()];
    }
    *place = match place.take() {
        Value::Array(mut blocks) => {
            blocks.push(value);
            Value::Array(blocks)
        }
        Value::Null if top => value,
        Value::Null => Value::Array(vec![value]),
        first => Value::Array(vec![first, value]),
    };
}

/// A list of objects stays an expression: it would look like blocks.
fn attribute_value(expression: &Expression) -> Value {
    match expression {
        Expression::Array(elements) if elements.iter().any(|one| matches!(one, Expression::Object(_))) => {
            as_text(expression)
        }
        other => value(other),
    }
}

fn value(expression: &Expression) -> Value {
    match expression {
        Expression::Null => Value::Null,
        Expression::Bool(truth) => (*truth).into(),
        Expression::Number(number) => {
            let integer = number.as_u64().map(Value::from).or_else(|| number.as_i64().map(Value::from));
            integer.or_else(|| number.as_f64().map(Value::from)).unwrap_or_else(|| as_text(expression))
        }
        Expression::String(text) => literal(text),
        Expression::Array(elements) => elements.iter().map(value).collect(),
        Expression::Object(members) => {
            let member = |(key, one): (&ObjectKey, &Expression)| Some((key_text(key)?, value(one)));
            let members: Option<Map<String, Value>> = members.iter().map(member).collect();
            members.map_or_else(|| as_text(expression), Value::Object)
        }
        Expression::TemplateExpr(template) => match template.as_ref() {
            TemplateExpr::QuotedString(text) => text.as_str().into(),
            TemplateExpr::Heredoc(heredoc) => heredoc.template.as_str().into(),
        },
        other => as_text(other),
    }
}

/// `None` for a key that is computed.
fn key_text(key: &ObjectKey) -> Option<String> {
    let value = match key {
        ObjectKey::Identifier(name) => return Some(name.as_str().to_owned()),
        ObjectKey::Expression(Expression::Variable(name)) => return Some(name.as_str().to_owned()),
        ObjectKey::Expression(expression) => value(expression),
        _ => return None,
    };
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `${…}`.
fn as_text(expression: &Expression) -> Value {
    format!("${{{}}}", source(expression)).into()
}

fn source(expression: &Expression) -> String {
    let mut formatter = Formatter::builder().compact(true).build_vec();
    expression.format_string(&mut formatter).unwrap_or_default()
}

/// `[aws_kms_key.main]` -> `["aws_kms_key.main"]`.
fn reference(expression: &Expression) -> Value {
    match expression {
        Expression::Array(elements) => elements.iter().map(reference).collect(),
        Expression::String(text) => text.as_str().into(),
        other => source(other).into(),
    }
}
