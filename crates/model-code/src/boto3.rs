//! Python with boto3's resource, which takes and gives Python's own values.

use std::fmt::Write as _;

use model::Model;

use crate::example::ReadLoop;
use crate::layout::Doc;
use crate::literal::{Literal, LiteralValue, quoted};
use crate::sketch::{Form, Repetition, Sketch, sketches};
use crate::{Example, Sending, comments, name, title};

const STEP: usize = 4;
const NEXT_PAGE: &str = "The next page: ExclusiveStartKey with the LastEvaluatedKey of this one";

pub fn module(model: &Model, examples: &[Example]) -> String {
    let variables = name::tables(model);
    let tables: Vec<Table<'_>> =
        model.tables.iter().map(|table| table.name.value.as_str()).zip(&variables).collect();
    let mut functions = String::new();
    for example in examples {
        functions.push_str("\n\n");
        for line in comments(example, NEXT_PAGE) {
            let _ = writeln!(functions, "# {line}");
        }
        if let Ok(sending) = &example.sending {
            let body = Function { tables: &tables, example, sending }.body();
            let _ = write!(functions, "def {}():\n{body}", example.function);
        }
    }
    let decimal = if functions.contains("Decimal(") { "from decimal import Decimal\n\n" } else { "" };
    let mut header =
        format!("# {}\n\n{decimal}import boto3\n\ndynamodb = boto3.resource(\"dynamodb\")\n", title(model));
    for (table, variable) in tables.iter().filter(|(_, one)| functions.contains(&format!("{one}."))) {
        let _ = writeln!(header, "{variable} = dynamodb.Table({})", string(table));
    }
    header + &functions
}

/// A table, and the variable that stands for it.
type Table<'a> = (&'a str, &'a String);

struct Function<'a> {
    tables: &'a [Table<'a>],
    example: &'a Example,
    sending: &'a Sending,
}

impl Function<'_> {
    fn body(&self) -> String {
        let sketches = sketches(self.sending);
        match Form::of(self.example.operation, &self.sending.effect, &sketches) {
            Form::Write(sketches) => sketches.iter().map(|sketch| line(&self.call(sketch, ""), 1)).collect(),
            Form::BatchWrite(sketch) => {
                let requests = assigned("requests = ", &member(sketch, "RequestItems"), 1);
                format!(
                    "{requests}    while requests:\n        \
                     requests = dynamodb.batch_write_item(RequestItems=requests)[\"UnprocessedItems\"]\n"
                )
            }
            Form::BatchGet(sketch) => batch_get(sketch),
            Form::TransactGet(sketch) => {
                self.answer(sketch)
                    + "    return [one[\"Item\"] for one in answer[\"Responses\"] if \"Item\" in one]\n"
            }
            Form::Get(sketch) => self.answer(sketch) + "    return answer.get(\"Item\")\n",
            Form::Answer(sketch, member) => {
                self.answer(sketch) + &format!("    return answer[\"{member}\"]\n")
            }
            Form::Collect(sketches, reading) => self.collect(reading, sketches),
        }
    }

    fn answer(&self, sketch: &Sketch) -> String {
        line(&self.call(sketch, "answer = "), 1)
    }

    /// Collects the answers of several requests.
    fn collect(&self, reading: &ReadLoop, sketches: &[Sketch]) -> String {
        let (sum, start) = if reading.counts { ("count", "0") } else { ("items", "[]") };
        let mut body = format!("    {sum} = {start}\n");
        for sketch in sketches {
            let depth = match &sketch.around {
                Repetition::Once => 1,
                Repetition::Shards(shards) => {
                    let _ = writeln!(body, "    for shard in range({}):", shards.count);
                    2
                }
                Repetition::Each { variable, choices } => {
                    let list = list("[", choices.iter().map(document).collect(), "]");
                    let head = format!("for {variable} in ");
                    let column = STEP + head.len();
                    let _ = writeln!(body, "    {head}{}:", list.text(column, STEP, STEP));
                    2
                }
            };
            body.push_str(&self.step(reading, sketch, depth));
        }
        body + &result(reading, sum)
    }

    /// Reads one answer, or all pages of it.
    fn step(&self, reading: &ReadLoop, sketch: &Sketch, depth: usize) -> String {
        let indent = " ".repeat(depth * STEP);
        let add = match (self.example.operation, reading.counts) {
            ("GetItem", _) => {
                format!("{indent}if \"Item\" in answer:\n{indent}    items.append(answer[\"Item\"])\n")
            }
            (_, true) => format!("{indent}count += answer[\"Count\"]\n"),
            (_, false) => format!("{indent}items += answer[\"Items\"]\n"),
        };
        if !reading.paged {
            return line(&self.call(sketch, "answer = "), depth) + &add;
        }
        let (callee, arguments) = self.parts(sketch);
        let request = line(&Doc::named("request = ", list("dict(", arguments, ")")), depth);
        let add = add.replace(&indent, &format!("{indent}    "));
        format!(
            "{request}{indent}while True:\n{indent}    answer = {callee}(**request)\n{add}\
             {indent}    if \"LastEvaluatedKey\" not in answer:\n{indent}        break\n\
             {indent}    request[\"ExclusiveStartKey\"] = answer[\"LastEvaluatedKey\"]\n"
        )
    }

    /// The method and its arguments. The methods of a table resource take no table name.
    fn parts(&self, sketch: &Sketch) -> (String, Vec<Doc>) {
        let method = snake(self.example.operation);
        let table = sketch.call.iter().find_map(|(name, literal)| match (name.as_str(), literal) {
            ("TableName", Literal::Text(table)) => {
                let named = self.tables.iter().find(|(name, _)| name == table);
                named.map(|(_, variable)| variable.as_str())
            }
            _ => None,
        });
        let callee = match table {
            Some(variable) => format!("{variable}.{method}"),
            None => format!("dynamodb.meta.client.{method}"),
        };
        let arguments = sketch.call.iter().filter(|(name, _)| name != "TableName");
        let arguments = arguments.map(|(name, one)| Doc::named(format!("{name}="), document(one)));
        (callee, arguments.collect())
    }

    fn call(&self, sketch: &Sketch, before: &str) -> Doc {
        let (callee, arguments) = self.parts(sketch);
        list(&format!("{before}{callee}("), arguments, ")")
    }
}

fn batch_get(sketch: &Sketch) -> String {
    let requests = assigned("requests = ", &member(sketch, "RequestItems"), 1);
    format!(
        "{requests}    items = []\n    while requests:\n        \
         answer = dynamodb.batch_get_item(RequestItems=requests)\n        \
         for found in answer[\"Responses\"].values():\n            items += found\n        \
         requests = answer[\"UnprocessedKeys\"]\n    return items\n"
    )
}

/// The result: sorted, and no more items than asked for.
fn result(reading: &ReadLoop, sum: &str) -> String {
    let key = |name: &String| format!("item[{}]", string(name));
    let sort = match reading.merge_by.as_slice() {
        [] => String::new(),
        [one] => key(one),
        several => format!("({})", several.iter().map(key).collect::<Vec<_>>().join(", ")),
    };
    let reverse = if reading.descending { ", reverse=True" } else { "" };
    let sort = match sort.as_str() {
        "" => String::new(),
        sort => format!("    items.sort(key=lambda item: {sort}{reverse})\n"),
    };
    let limit = reading.limit.filter(|_| !reading.counts).map(|limit| format!("[:{limit}]"));
    format!("{sort}    return {sum}{}\n", limit.unwrap_or_default())
}

fn member(sketch: &Sketch, name: &str) -> Doc {
    let found = sketch.call.iter().find(|(member, _)| member == name);
    found.map_or(Doc::Atom("{}".to_owned()), |(_, literal)| document(literal))
}

fn assigned(name: &str, doc: &Doc, depth: usize) -> String {
    line(&Doc::named(name, doc.clone()), depth)
}

/// A statement on a line of its own.
fn line(doc: &Doc, depth: usize) -> String {
    let indent = depth * STEP;
    format!("{}{}\n", " ".repeat(indent), doc.text(indent, indent, STEP))
}

/// `PutItem` -> `put_item`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn document(literal: &Literal) -> Doc {
    match literal {
        Literal::Text(text) => Doc::Atom(string(text)),
        Literal::Integer(number) => Doc::Atom(number.clone()),
        Literal::Bool(flag) => Doc::Atom(boolean(*flag)),
        Literal::List(elements) => list("[", elements.iter().map(document).collect(), "]"),
        Literal::Map(entries) => map(entries.iter().map(|(name, one)| (name, document(one)))),
        Literal::Value(one) => value(one),
        Literal::Variable(name) => Doc::Atom((*name).to_owned()),
    }
}

fn value(value: &LiteralValue) -> Doc {
    match value {
        LiteralValue::Text(text) => Doc::Atom(string(text)),
        LiteralValue::Sharded(shards) => {
            let braces = |text: &str| inside(text).replace('{', "{{").replace('}', "}}");
            let width = shards.width.map_or(String::new(), |width| format!(":0{width}"));
            let text = format!("f\"{}{{shard{width}}}{}\"", braces(&shards.before), braces(&shards.after));
            Doc::Atom(text)
        }
        LiteralValue::Number(number) => Doc::Atom(self::number(number)),
        LiteralValue::Bytes(bytes) => Doc::Atom(self::bytes(bytes)),
        LiteralValue::Bool(flag) => Doc::Atom(boolean(*flag)),
        LiteralValue::Null => Doc::Atom("None".to_owned()),
        LiteralValue::Set(members) => list("{", members.iter().map(self::value).collect(), "}"),
        LiteralValue::List(elements) => list("[", elements.iter().map(self::value).collect(), "]"),
        LiteralValue::Map(entries) => map(entries.iter().map(|(name, one)| (name, self::value(one)))),
    }
}

fn list(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    Doc::Group { open: open.to_owned(), items, close: close.to_owned(), space: false, comma: true }
}

fn map<'a>(entries: impl Iterator<Item = (&'a String, Doc)>) -> Doc {
    list("{", entries.map(|(name, doc)| Doc::named(format!("{}: ", string(name)), doc)).collect(), "}")
}

fn boolean(flag: bool) -> String {
    if flag { "True" } else { "False" }.to_owned()
}

/// Whole numbers as they are, others as Decimal: boto3 refuses floats.
fn number(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole { text.to_owned() } else { format!("Decimal({})", string(text)) }
}

pub fn bytes(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().map(|byte| byte.escape_ascii().to_string()).collect();
    format!("b\"{}\"", shown.replace("\\'", "'"))
}

pub fn inside(text: &str) -> String {
    let quoted = string(text);
    quoted[1..quoted.len() - 1].to_owned()
}

pub fn string(text: &str) -> String {
    quoted(text, |one| match one as u32 {
        code @ 0..=0xFFFF => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    })
}
