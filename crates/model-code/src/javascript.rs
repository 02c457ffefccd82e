//! JavaScript: the SDK version 3 with its document client, which takes and gives JavaScript's own values.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::Number;
use model::Model;

use crate::example::ReadLoop;
use crate::layout::Doc;
use crate::literal::{Literal, LiteralValue, Shards, quoted};
use crate::sketch::{Form, Repetition, Sketch, sketches};
use crate::{Example, Sending, comments, title};

const STEP: usize = 2;
/// The largest whole number up to which JavaScript has all of them.
const SAFE_MAX: f64 = 9_007_199_254_740_991.0;
const NEXT_PAGE: &str = "The next page: ExclusiveStartKey with the LastEvaluatedKey of this one";

pub fn module(model: &Model, examples: &[Example]) -> String {
    let mut functions = String::new();
    for example in examples {
        functions.push('\n');
        for line in comments(example, NEXT_PAGE) {
            let _ = writeln!(functions, "// {line}");
        }
        if let Ok(sending) = &example.sending {
            let body = Function { operation: example.operation, sending }.body();
            let _ = write!(functions, "export async function {}() {{\n{body}}}\n", example.function);
        }
    }
    let names = imports(&functions);
    let names = if names.len() > 80 {
        format!("\n  {},\n", names.replace(", ", ",\n  "))
    } else {
        format!(" {names} ")
    };
    let order = "// By key, as the database orders them.\n\
                 const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);\n";
    let order = if functions.contains("order(") { order } else { "" };
    format!(
        "// {}\n\nimport {{ DynamoDBClient }} from \"@aws-sdk/client-dynamodb\";\n\
         import {{{names}}} from \"@aws-sdk/lib-dynamodb\";\n\n\
         const documents = DynamoDBDocumentClient.from(new DynamoDBClient({{}}));\n{order}{functions}",
        title(model)
    )
}

/// The names that the functions import from the SDK.
fn imports(functions: &str) -> String {
    const NAMES: [&str; 14] = [
        "BatchGetCommand",
        "BatchWriteCommand",
        "DeleteCommand",
        "GetCommand",
        "NumberValue",
        "PutCommand",
        "QueryCommand",
        "ScanCommand",
        "TransactGetCommand",
        "TransactWriteCommand",
        "UpdateCommand",
        "paginateQuery",
        "paginateScan",
        "DynamoDBDocumentClient",
    ];
    let used = |name: &&str| {
        let called = [format!("new {name}("), format!("{name}.from("), format!("{name}({{")];
        *name == "DynamoDBDocumentClient" || called.iter().any(|call| functions.contains(call))
    };
    let mut names: Vec<&str> = NAMES.into_iter().filter(used).collect();
    names.sort_unstable();
    names.join(", ")
}

struct Function<'a> {
    operation: &'static str,
    sending: &'a Sending,
}

impl Function<'_> {
    fn body(&self) -> String {
        let sketches = sketches(self.sending);
        match Form::of(self.operation, &self.sending.effect, &sketches) {
            Form::Write(sketches) => sketches.iter().map(|sketch| self.send(sketch, "", 1)).collect(),
            Form::BatchWrite(sketch) => {
                let requests = line("let RequestItems = ", &member(sketch, "RequestItems"), ";", 1);
                format!(
                    "{requests}  while (Object.keys(RequestItems).length > 0) {{\n    \
                     const answer = await documents.send(new BatchWriteCommand({{ RequestItems }}));\n    \
                     RequestItems = answer.UnprocessedItems ?? {{}};\n  }}\n"
                )
            }
            Form::BatchGet(sketch) => batch_get(sketch),
            Form::TransactGet(sketch) => {
                let send = self.send(sketch, "const { Responses } = ", 1);
                format!("{send}  return Responses.flatMap(({{ Item }}) => Item ?? []);\n")
            }
            Form::Get(sketch) => self.answer(sketch, "Item"),
            Form::Answer(sketch, member) => self.answer(sketch, member),
            Form::Collect(sketches, reading) => self.collect(reading, sketches),
        }
    }

    fn answer(&self, sketch: &Sketch, member: &str) -> String {
        let send = self.send(sketch, &format!("const {{ {member} }} = "), 1);
        format!("{send}  return {member};\n")
    }

    /// Collects the answers of several requests.
    fn collect(&self, reading: &ReadLoop, sketches: &[Sketch]) -> String {
        let start = if reading.counts { "let count = 0;" } else { "const items = [];" };
        let mut body = format!("  {start}\n");
        for sketch in sketches {
            let head = match &sketch.around {
                Repetition::Once => None,
                Repetition::Shards(Shards { count, .. }) => {
                    Some(format!("for (let shard = 0; shard < {count}; shard++) {{"))
                }
                Repetition::Each { variable, choices } => {
                    let head = format!("for (const {variable} of ");
                    let list = list(choices.iter().map(document).collect());
                    Some(format!("{head}{}) {{", list.text(STEP + head.len(), STEP, STEP)))
                }
            };
            match head {
                None => body.push_str(&self.step(reading, sketch, 1)),
                Some(head) => {
                    let _ = write!(body, "  {head}\n{}  }}\n", self.step(reading, sketch, 2));
                }
            }
        }
        body + &result(reading)
    }

    /// Reads one answer, or all pages of it.
    fn step(&self, reading: &ReadLoop, sketch: &Sketch, depth: usize) -> String {
        let indent = " ".repeat(depth * STEP);
        let (member, add) = match (self.operation, reading.counts) {
            ("GetItem", _) => ("Item", "if (Item) items.push(Item);"),
            (_, true) => ("Count", "count += Count;"),
            (_, false) => ("Items", "items.push(...Items);"),
        };
        if !reading.paged {
            let send = self.send(sketch, &format!("const {{ {member} }} = "), depth);
            return format!("{send}{indent}{add}\n");
        }
        let pages = Doc::Group {
            open: format!("paginate{}({{ client: documents }}, {{", self.operation),
            items: members(sketch),
            close: "})".to_owned(),
            space: true,
            comma: true,
        };
        let head = line(&format!("for await (const {{ {member} }} of "), &pages, ") {", depth);
        format!("{head}{indent}  {add}\n{indent}}}\n")
    }

    fn send(&self, sketch: &Sketch, before: &str, depth: usize) -> String {
        let command = Doc::Group {
            open: format!("new {}({{", command(self.operation)),
            items: members(sketch),
            close: "})".to_owned(),
            space: true,
            comma: true,
        };
        let send = Doc::Group {
            open: "await documents.send(".to_owned(),
            items: vec![command],
            close: ")".to_owned(),
            space: false,
            comma: true,
        };
        line(before, &send, ";", depth)
    }
}

/// `PutItem` -> `PutCommand`, `TransactGetItems` -> `TransactGetCommand`.
pub fn command(operation: &str) -> String {
    let stem = operation.strip_suffix("Items").or(operation.strip_suffix("Item")).unwrap_or(operation);
    format!("{stem}Command")
}

fn batch_get(sketch: &Sketch) -> String {
    let requests = line("let RequestItems = ", &member(sketch, "RequestItems"), ";", 1);
    format!(
        "{requests}  const items = [];\n  while (Object.keys(RequestItems).length > 0) {{\n    \
         const answer = await documents.send(new BatchGetCommand({{ RequestItems }}));\n    \
         items.push(...Object.values(answer.Responses).flat());\n    \
         RequestItems = answer.UnprocessedKeys ?? {{}};\n  }}\n  return items;\n"
    )
}

/// The result: sorted, and no more items than asked for.
fn result(reading: &ReadLoop) -> String {
    if reading.counts {
        return "  return count;\n".to_owned();
    }
    let (one, other) = if reading.descending { ("b", "a") } else { ("a", "b") };
    let by = |name: &String| format!("order({one}{0}, {other}{0})", property(name));
    let by: Vec<String> = reading.merge_by.iter().map(by).collect();
    let sort = match by.is_empty() {
        true => String::new(),
        false => format!("  items.sort((a, b) => {});\n", by.join(" || ")),
    };
    let limit = reading.limit.map(|limit| format!(".slice(0, {limit})"));
    format!("{sort}  return items{};\n", limit.unwrap_or_default())
}

pub fn property(name: &str) -> String {
    if is_identifier(name) { format!(".{name}") } else { format!("[{}]", string(name)) }
}

pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
}

fn member(sketch: &Sketch, name: &str) -> Doc {
    let found = sketch.call.iter().find(|(member, _)| member == name);
    found.map_or(Doc::Atom("{}".to_owned()), |(_, literal)| document(literal))
}

fn members(sketch: &Sketch) -> Vec<Doc> {
    sketch.call.iter().map(|(name, one)| Doc::named(format!("{name}: "), document(one))).collect()
}

fn line(before: &str, doc: &Doc, after: &str, depth: usize) -> String {
    let indent = depth * STEP;
    let column = indent + before.chars().count() + after.len();
    format!("{}{before}{}{after}\n", " ".repeat(indent), doc.text(column, indent, STEP))
}

fn document(literal: &Literal) -> Doc {
    match literal {
        Literal::Text(text) => Doc::Atom(string(text)),
        Literal::Integer(number) => Doc::Atom(number.clone()),
        Literal::Bool(flag) => Doc::Atom(flag.to_string()),
        Literal::List(elements) => list(elements.iter().map(document).collect()),
        Literal::Map(entries) => map(entries.iter().map(|(name, one)| (name, document(one)))),
        Literal::Value(one) => value(one),
        Literal::Variable(name) => Doc::Atom((*name).to_owned()),
    }
}

fn value(value: &LiteralValue) -> Doc {
    match value {
        LiteralValue::Text(text) => Doc::Atom(string(text)),
        LiteralValue::Sharded(shards) => Doc::Atom(sharded(shards)),
        LiteralValue::Number(number) => Doc::Atom(self::number(number)),
        LiteralValue::Bytes(bytes) => {
            Doc::Atom(format!("Buffer.from({}, \"base64\")", string(&STANDARD.encode(bytes))))
        }
        LiteralValue::Bool(flag) => Doc::Atom(flag.to_string()),
        LiteralValue::Null => Doc::Atom("null".to_owned()),
        LiteralValue::Set(members) => Doc::Group {
            open: "new Set([".to_owned(),
            items: members.iter().map(self::value).collect(),
            close: "])".to_owned(),
            space: false,
            comma: true,
        },
        LiteralValue::List(elements) => list(elements.iter().map(self::value).collect()),
        LiteralValue::Map(entries) => map(entries.iter().map(|(name, one)| (name, self::value(one)))),
    }
}

fn sharded(shards: &Shards) -> String {
    let inside = |text: &str| {
        let quoted = string(text);
        quoted[1..quoted.len() - 1].replace('`', "\\`").replace("${", "\\${")
    };
    let number = match shards.width {
        Some(width) => format!("String(shard).padStart({width}, \"0\")"),
        None => "shard".to_owned(),
    };
    format!("`{}${{{number}}}{}`", inside(&shards.before), inside(&shards.after))
}

fn list(items: Vec<Doc>) -> Doc {
    Doc::Group { open: "[".to_owned(), items, close: "]".to_owned(), space: false, comma: true }
}

fn map<'a>(entries: impl Iterator<Item = (&'a String, Doc)>) -> Doc {
    let name = |name: &String| if is_identifier(name) { name.clone() } else { string(name) };
    let items = entries.map(|(key, doc)| Doc::named(format!("{}: ", name(key)), doc)).collect();
    Doc::Group { open: "{".to_owned(), items, close: "}".to_owned(), space: true, comma: true }
}

/// A JavaScript number if it is one exactly, else a value that keeps all digits.
fn number(text: &str) -> String {
    let own = text.parse::<f64>().ok().filter(|number| number.abs() <= SAFE_MAX);
    let same = |number: &f64| Number::parse(&number.to_string()).ok() == Number::parse(text).ok();
    match own.filter(same) {
        Some(number) => number.to_string(),
        None => format!("NumberValue.from({})", string(text)),
    }
}

pub fn string(text: &str) -> String {
    quoted(text, |one| format!("\\u{{{:x}}}", one as u32))
}
