//! The AWS CLI, in a shell.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Model;

use crate::layout::Doc;
use crate::literal::{Literal, LiteralValue, Shards, quoted, utf16};
use crate::name::joined;
use crate::sketch::{Repetition, Sketch, sketches};
use crate::{Effect, Example, Sending, comments, title};

const STEP: usize = 4;
const NEXT_PAGE: &str = "The next page: --starting-token with the NextToken of this one";
/// Up to this many shards are listed by their numbers.
const LISTED_MAX: usize = 10;

pub fn script(model: &Model, examples: &[Example]) -> String {
    let mut script = format!("#!/bin/sh\n# {}\n", title(model));
    for example in examples {
        script.push('\n');
        for line in comments(example, NEXT_PAGE) {
            script.push_str(&format!("# {line}\n"));
        }
        if let Ok(sending) = &example.sending {
            script.push_str(&commands(example.operation, sending));
        }
    }
    script
}

fn commands(operation: &str, sending: &Sending) -> String {
    let merge = match &sending.effect {
        Effect::Finds { reading, .. } if !reading.merge_by.is_empty() => {
            format!(
                "# Each answer is in order; together they are merged by {}\n",
                reading.merge_by.join(", ")
            )
        }
        _ => String::new(),
    };
    let commands: Vec<String> =
        sketches(sending).iter().map(|sketch| merge.clone() + &command(operation, sketch)).collect();
    commands.concat()
}

fn command(operation: &str, sketch: &Sketch) -> String {
    match &sketch.around {
        Repetition::Once => format!("{}\n", call(operation, sketch, 0)),
        Repetition::Shards(shards) => {
            format!("for shard in {}; do\n    {}\ndone\n", numbers(shards), call(operation, sketch, STEP))
        }
        Repetition::Each { variable, choices } => {
            let values: Vec<String> =
                choices.iter().map(|choice| format!("    {}", argument(choice, STEP))).collect();
            let list = values.join(" \\\n");
            format!("for {variable} in \\\n{list}\ndo\n    {}\ndone\n", call(operation, sketch, STEP))
        }
    }
}

fn numbers(shards: &Shards) -> String {
    let last = shards.count - 1;
    match shards.width {
        _ if shards.count <= LISTED_MAX => {
            let width = shards.width.unwrap_or(0);
            (0..shards.count).map(|shard| format!("{shard:0width$}")).collect::<Vec<_>>().join(" ")
        }
        None => format!("$(seq 0 {last})"),
        Some(width) => format!("$(seq -f %0{width}g 0 {last})"),
    }
}

fn call(operation: &str, sketch: &Sketch, indent: usize) -> String {
    let inner = indent + STEP;
    let mut parts = vec![format!("aws dynamodb {}", joined(operation, '-'))];
    for (name, literal) in &sketch.call {
        let option = joined(name, '-');
        match (name.as_str(), literal) {
            // The CLI follows pages by itself; these two options make it stop after one page of this size.
            ("Limit", Literal::Integer(limit)) => {
                parts.push(format!("--page-size {limit}"));
                parts.push(format!("--max-items {limit}"));
            }
            (_, Literal::Bool(true)) => parts.push(format!("--{option}")),
            (_, Literal::Bool(false)) => parts.push(format!("--no-{option}")),
            (_, literal) => parts.push(format!("--{option} {}", argument(literal, inner))),
        }
    }
    parts.join(&format!(" \\\n{}", " ".repeat(inner)))
}

/// A literal as one word of the shell.
fn argument(literal: &Literal, indent: usize) -> String {
    match literal {
        Literal::Variable(name) => format!("\"${name}\""),
        Literal::Integer(number) => number.clone(),
        Literal::Text(text) if is_plain(text) => text.clone(),
        Literal::Text(text) => format!("'{}'", unquote(text)),
        literal => format!("'{}'", document(literal).text(indent, indent, STEP)),
    }
}

/// Whether the shell takes the text as it is.
pub fn is_plain(text: &str) -> bool {
    let plain =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.' | '/' | ':' | '@' | '+');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// A single quote inside single quotes: the quoted text ends, the quote is escaped, the quoted text begins again.
pub fn unquote(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// DynamoDB JSON, between single quotes.
fn document(literal: &Literal) -> Doc {
    match literal {
        Literal::Text(text) => Doc::Atom(string(text)),
        Literal::Integer(number) => Doc::Atom(number.clone()),
        Literal::Bool(flag) => Doc::Atom(flag.to_string()),
        Literal::List(elements) => list(elements.iter().map(document).collect()),
        Literal::Map(entries) => map(entries.iter().map(|(name, one)| (name.as_str(), document(one)))),
        Literal::Value(one) => value(one),
        Literal::Variable(name) => Doc::Atom(format!("'\"${name}\"'")),
    }
}

fn value(value: &LiteralValue) -> Doc {
    let tagged = |tag: &str, doc: Doc| map([(tag, doc)].into_iter());
    match value {
        LiteralValue::Text(text) => tagged("S", Doc::Atom(string(text))),
        LiteralValue::Sharded(shards) => {
            let (before, after) = (string(&shards.before), string(&shards.after));
            let (before, after) = (&before[..before.len() - 1], &after[1..]);
            tagged("S", Doc::Atom(format!("{before}'\"$shard\"'{after}")))
        }
        LiteralValue::Number(number) => tagged("N", Doc::Atom(string(number))),
        LiteralValue::Bytes(bytes) => tagged("B", Doc::Atom(string(&STANDARD.encode(bytes)))),
        LiteralValue::Bool(flag) => tagged("BOOL", Doc::Atom(flag.to_string())),
        LiteralValue::Null => tagged("NULL", Doc::Atom("true".to_owned())),
        LiteralValue::Set(members) => set(members),
        LiteralValue::List(elements) => tagged("L", list(elements.iter().map(self::value).collect())),
        LiteralValue::Map(entries) => {
            tagged("M", map(entries.iter().map(|(name, one)| (name.as_str(), self::value(one)))))
        }
    }
}

fn set(members: &[LiteralValue]) -> Doc {
    let tag = match members.first() {
        Some(LiteralValue::Number(_)) => "NS",
        Some(LiteralValue::Bytes(_)) => "BS",
        _ => "SS",
    };
    let text = |member: &LiteralValue| match member {
        LiteralValue::Text(text) | LiteralValue::Number(text) => Doc::Atom(string(text)),
        LiteralValue::Bytes(bytes) => Doc::Atom(string(&STANDARD.encode(bytes))),
        other => value(other),
    };
    map([(tag, list(members.iter().map(text).collect()))].into_iter())
}

fn list(items: Vec<Doc>) -> Doc {
    Doc::Group { open: "[".to_owned(), items, close: "]".to_owned(), space: false, comma: false }
}

fn map<'a>(entries: impl Iterator<Item = (&'a str, Doc)>) -> Doc {
    let items = entries.map(|(name, doc)| Doc::named(format!("{}: ", string(name)), doc)).collect();
    Doc::Group { open: "{".to_owned(), items, close: "}".to_owned(), space: false, comma: false }
}

/// A text of JSON, between single quotes.
fn string(text: &str) -> String {
    unquote(&quoted(text, utf16))
}
