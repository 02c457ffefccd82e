//! Python with boto3's resource: dataclasses or Pydantic's models, and a class with a method for each pattern.

use std::fmt::Write as _;

use item::Value as Stored;
use model::predicate::Operator;

use super::call::{Argument, Call, Row};
use super::case::{pascal, snake};
use super::writer::{self, Member, atom, indented, line, list, table_variable, tight, unreserved, used_of};
use super::{
    Body, Each, Field, Found, Function, Kind, Library, Loop, Pages, Parameter, ParameterKind, Part, Piece,
    Read, ReadOperation, Reader, Record, Request, Source, Step, Test, TextForm, Value, Verb, View, Write,
    WrittenFunction,
};
use crate::boto3::{bytes, inside, string};
use crate::layout::Doc;

const STEP: usize = 4;
const ITEM: &str = "dict[str, Any]";

/// Words of the language, and names that the modules use themselves.
#[rustfmt::skip]
const RESERVED: [&str; 59] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "list", "None", "nonlocal",
    "not", "or", "pass", "raise", "return", "set", "True", "try", "while", "with", "yield", "type",
    "bool", "boto3", "bytes", "chr", "crc32", "dataclass", "dict", "format", "int", "len", "max", "next", "ord",
    "page", "random", "range", "replace", "self", "str", "time", "tuple",
];

/// Types that the modules use, so that a record has another name.
#[rustfmt::skip]
const TYPES: [&str; 14] = [
    "Any", "BaseModel", "ClientError", "ConditionFailed", "Context", "Decimal", "Exception", "Found", "Generic",
    "Iterator", "Literal", "Page", "RuntimeError", "TypeVar",
];

const PRELUDE: [(&str, &str); 8] = [
    (
        "Page(",
        "

Found = TypeVar(\"Found\")


@dataclass
class Page(Generic[Found]):
    \"\"\"A page, and where the next one begins; None after the last.\"\"\"

    items: Found
    next: dict[str, Any] | None
",
    ),
    (
        "_conditions(",
        "

class ConditionFailed(Exception):
    \"\"\"A condition of a write did not hold, so nothing was written.\"\"\"

    def __init__(self, pattern: str, writes: list[int]) -> None:
        super().__init__(f\"{pattern}: a condition did not hold\")
        self.pattern = pattern
        # The positions of the writes whose condition it was: [0] if there is one write.
        self.writes = writes


@contextmanager
def _conditions(pattern: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response[\"Error\"][\"Code\"] == \"ConditionalCheckFailedException\":
            raise ConditionFailed(pattern, [0]) from error
        answer: Any = error.response
        reasons = enumerate(answer.get(\"CancellationReasons\", []))
        writes = [at for at, reason in reasons if reason.get(\"Code\") == \"ConditionalCheckFailed\"]
        if writes:
            raise ConditionFailed(pattern, writes) from error
        raise
",
    ),
    (
        "_number(",
        "

def _number(number: Decimal | int) -> str:
    \"\"\"A number as keys have it: no exponent, no zeros at the end.\"\"\"
    return format(Context(prec=38).normalize(Decimal(number)), \"f\")
",
    ),
    (
        "_padded(",
        "

def _padded(text: str, width: int) -> str:
    \"\"\"With zeros in front, after the sign if there is one.\"\"\"
    return text.zfill(width + text.startswith(\"-\"))
",
    ),
    (
        "_shard(",
        "

def _shard(text: str, count: int) -> int:
    return crc32(text.encode()) % count
",
    ),
    (
        "_parts(",
        "

def _parts(key: str, *literals: str) -> list[Any]:
    \"\"\"What is between the literals of a key.\"\"\"
    rest = key.removeprefix(literals[0])
    parts = []
    for literal in literals[1:]:
        part, _, rest = rest.partition(literal) if literal else (rest, \"\", \"\")
        parts.append(part)
    return parts
",
    ),
    (
        "_before(",
        "

def _before(text: str) -> str:
    \"\"\"The last key before this text.\"\"\"
    return text[:-1] + chr(max(ord(text[-1]) - 1, 0)) + \"\\U0010ffff\"
",
    ),
    (
        "_batch_get(",
        "

def _batch_get(
    dynamodb: Any, keys: list[tuple[str, dict[str, Any]]], consistent: bool = False
) -> list[dict[str, Any]]:
    \"\"\"Gets a hundred at a time, and what was left unprocessed again.\"\"\"
    items: list[dict[str, Any]] = []
    for begin in range(0, len(keys), 100):
        requests: dict[str, Any] = {}
        for table_name, key in keys[begin : begin + 100]:
            options: dict[str, Any] = {\"ConsistentRead\": True} if consistent else {}
            requests.setdefault(table_name, {\"Keys\": [], **options})[\"Keys\"].append(key)
        for attempt in range(10):
            answer = dynamodb.batch_get_item(RequestItems=requests)
            for found in answer[\"Responses\"].values():
                items += found
            requests = answer[\"UnprocessedKeys\"]
            if not requests:
                break
            time.sleep(0.05 * 2**attempt)
        else:
            raise RuntimeError(\"keys stayed unprocessed\")
    return items
",
    ),
];

pub fn source(library: &Library, validates: bool) -> String {
    let python = Python { library, validates };
    let mut body = String::new();
    for record in library.records.iter().filter(|record| !record.fields.is_empty()) {
        body.push_str(&python.record(record));
    }
    for (record, parts) in library.mixed() {
        body.push_str(&python.mixed(record, parts));
    }
    let mut functions = String::new();
    for (at, builder) in library.keys.iter().enumerate() {
        let parameters: Vec<String> = builder
            .parameters
            .iter()
            .map(|(name, kind)| format!("{}: {}", ident(name), type_of(*kind, &[])))
            .collect();
        let _ = write!(
            functions,
            "\n\ndef {}({}) -> str:\n    \"\"\"{}\"\"\"\n    return {}\n",
            python.builder(at),
            parameters.join(", "),
            documentation(&builder.comment),
            python.text(&builder.pieces)
        );
    }
    for entity in library.entities.iter().filter(|entity| !entity.attributes.is_empty()) {
        functions.push_str(&python.item_writer(entity));
    }
    for reader in &library.readers {
        functions.push_str(&python.item_reader(reader));
    }
    functions.push_str(&python.class());
    let prelude = used_of(&functions, &PRELUDE);
    let all = format!("{prelude}{body}{functions}");
    python.header(&all) + &all
}

/// A module whose `CALLS` has a call for each pattern.
pub fn calls(library: &Library, calls: &[Call]) -> String {
    let class = class_name(library);
    let mut text = format!("CALLS: dict[str, Callable[[{class}], object]] = {{\n");
    for (call, _, function, written) in library.called(calls) {
        let given = written.parameters.iter().zip(&call.arguments);
        let arguments =
            given.map(|(parameter, argument)| argument_doc(library, &parameter.kind, argument)).collect();
        let doc = list(
            &format!("{}: lambda library: library.{}(", string(&call.pattern), ident(&function.name)),
            arguments,
            ")",
        );
        let printed = line(&doc, 1, STEP);
        let _ = writeln!(text, "{},", printed.trim_end());
    }
    text.push_str("}\n");
    let decimal = if text.contains("Decimal(") { "from decimal import Decimal\n" } else { "" };
    format!(
        "\"\"\"Each function of {} with values of the example data.\"\"\"\n\n\
         from collections.abc import Callable\n{decimal}\nfrom {} import *\n\n{text}",
        library.name, library.name
    )
}

fn argument_doc(library: &Library, kind: &ParameterKind, argument: &Argument) -> Doc {
    match argument {
        Argument::Value(value) => {
            stored(value, !matches!(kind, ParameterKind::Value { kind: Kind::Integer, .. }))
        }
        Argument::Record(row) => row_doc(library, row),
        Argument::Records(rows) => list("[", rows.iter().map(|row| row_doc(library, row)).collect(), "]"),
        Argument::Limit(limit) => atom(limit.to_string()),
        Argument::Start => atom("None"),
    }
}

fn row_doc(library: &Library, row: &Row) -> Doc {
    let fields = library.record(&row.record).map(|record| record.fields.as_slice()).unwrap_or_default();
    let members = fields.iter().zip(&row.values).filter_map(|(field, value)| {
        let value = value.as_ref()?;
        Some(Doc::named(format!("{}=", ident(&field.name)), stored(value, field.kind != Kind::Integer)))
    });
    list(&format!("{}(", type_name(&row.record)), members.collect(), ")")
}

struct Python<'l> {
    library: &'l Library,
    /// Whether records are Pydantic's models.
    validates: bool,
}

/// The class whose methods are the patterns.
fn class_name(library: &Library) -> String {
    let name = type_name(&pascal(&library.name));
    let is_taken = library.records.iter().any(|record| type_name(&record.name) == name);
    if is_taken { format!("{name}Table") } else { name }
}

impl Python<'_> {
    fn header(&self, text: &str) -> String {
        let mut imports = String::new();
        let mut import = |used: bool, line: &str| {
            if used {
                imports.push_str(line);
                imports.push('\n');
            }
        };
        import(text.contains("random."), "import random");
        import(text.contains("time."), "import time");
        import(text.contains("Iterator["), "from collections.abc import Iterator");
        import(text.contains("@contextmanager"), "from contextlib import contextmanager");
        import(
            text.contains("@dataclass"),
            if text.contains("replace(") {
                "from dataclasses import dataclass, replace"
            } else {
                "from dataclasses import dataclass"
            },
        );
        match (text.contains("Context("), text.contains("Decimal")) {
            (true, _) => import(true, "from decimal import Context, Decimal"),
            (false, used) => import(used, "from decimal import Decimal"),
        }
        let mut typing = vec!["Any"];
        typing.extend(text.contains("Generic[").then_some("Generic"));
        typing.extend(text.contains("Literal[").then_some("Literal"));
        typing.extend(text.contains("TypeVar(").then_some("TypeVar"));
        import(
            text.contains("Any") || typing.len() > 1,
            &format!("from typing import {}", typing.join(", ")),
        );
        import(text.contains("crc32("), "from zlib import crc32");
        let description =
            self.library.description.as_deref().map(|text| format!(": {}", documentation(text)));
        let mut header = format!(
            "\"\"\"The access patterns of {}{}.\n\nWritten by `lodestone model code`.\n\"\"\"\n\n\
             from __future__ import annotations\n\n{imports}\nimport boto3\n",
            documentation(&self.library.title),
            description.unwrap_or_default().trim_end_matches('.'),
        );
        if text.contains("ClientError") {
            header.push_str("from botocore.exceptions import ClientError\n");
        }
        if text.contains("(BaseModel)") {
            header.push_str("from pydantic import BaseModel\n");
        }
        header
    }

    /// The class with the table's client and a method for each pattern.
    fn class(&self) -> String {
        let tables = || self.library.tables.iter().map(|table| (table_variable(self.library, table), table));
        let named =
            |(variable, table): (String, &String)| atom(format!("{variable}: str = {}", string(table)));
        let parameters = ["self", "dynamodb: Any = None"].map(atom).into_iter().chain(tables().map(named));
        let head = list("def __init__(", parameters.collect(), ") -> None:");
        let mut text = format!(
            "\n\nclass {}:\n    \"\"\"The access patterns, on boto3's resource and tables of these names.\"\"\"\n\n{}",
            class_name(self.library),
            line(&head, 1, STEP)
        );
        text.push_str("        self.dynamodb: Any = dynamodb or boto3.resource(\"dynamodb\")\n");
        for (variable, _) in tables() {
            let _ = writeln!(text, "        self.{variable}: Any = self.dynamodb.Table({variable})");
        }
        for function in &self.library.functions {
            text.push('\n');
            text.push_str(&indented(&self.function(function), STEP));
        }
        text
    }

    fn table(&self, table: &str) -> String {
        format!("self.{}", table_variable(self.library, table))
    }

    /// The table's name in a request to several.
    fn table_name(&self, table: &str) -> Doc {
        atom(format!("{}.name", self.table(table)))
    }

    fn record(&self, record: &Record) -> String {
        let name = type_name(&record.name);
        let mut text = match self.validates {
            true => format!("\n\nclass {name}(BaseModel):\n"),
            false => format!("\n\n@dataclass(kw_only=True)\nclass {name}:\n"),
        };
        if !record.comment.is_empty() {
            let _ = writeln!(text, "    \"\"\"{}\"\"\"\n", documentation(&record.comment));
        }
        for field in &record.fields {
            let kind = type_of(field.kind, &field.values);
            let optional = if field.optional { " | None = None" } else { "" };
            let note = field.note.map(|note| format!("  # {note}")).unwrap_or_default();
            let _ = writeln!(text, "    {}: {kind}{optional}{note}", ident(&field.name));
        }
        text
    }

    fn mixed(&self, record: &str, parts: &[Part]) -> String {
        let mut text = format!("\n\n@dataclass(kw_only=True)\nclass {}:\n", type_name(record));
        for part in parts {
            let _ = writeln!(text, "    {}: list[{}]", ident(&part.name), type_name(&part.view.record));
        }
        text
    }

    fn item_writer(&self, entity: &super::EntityItem) -> String {
        let variable = ident(&entity.name);
        let item = if variable == "item" { "stored" } else { "item" };
        let (always, tested) = entity.divided();
        let member = |one: &&super::ItemAttribute| {
            Doc::named(format!("{}: ", string(&one.attribute)), self.value(&one.value))
        };
        let doc = list(&format!("{item}: {ITEM} = {{"), always.iter().map(member).collect(), "}");
        let mut text = format!(
            "\n\ndef {}_to_item({variable}: {}) -> {ITEM}:\n{}",
            entity.name,
            type_name(&entity.record),
            line(&doc, 1, STEP)
        );
        for run in tested {
            let _ = writeln!(text, "    if {}:", self.tests(&run[0].when));
            for one in run {
                let open = format!("{item}[{}] = ", string(&one.attribute));
                text.push_str(&line(&Doc::named(open, self.value(&one.value)), 2, STEP));
            }
        }
        text + &format!("    return {item}\n")
    }

    fn item_reader(&self, reader: &Reader) -> String {
        let members =
            reader.fields.iter().map(|field| Doc::named(format!("{}=", ident(&field.name)), read(field)));
        let record = type_name(&reader.record);
        let doc = list(&format!("return {record}("), members.collect(), ")");
        format!("\n\ndef {}(item: {ITEM}) -> {record}:\n{}", reader.name, line(&doc, 1, STEP))
    }

    fn function(&self, function: &Function) -> String {
        let written = match &function.written {
            Ok(written) => written,
            Err(why) => {
                return format!("# {}: no function, because {why}.\n", function.pattern);
            }
        };
        let (result, mut body) = self.body(&written.body, 1);
        if written.has_condition() {
            let pattern = string(&function.pattern);
            body = format!("    with _conditions({pattern}):\n{}", indented(&body, STEP));
        }
        let comments: Vec<String> = function.comments.iter().map(|line| documentation(line)).collect();
        let documentation = match comments.as_slice() {
            [one] => format!("    \"\"\"{one}\"\"\"\n"),
            several => format!("    \"\"\"{}\n    \"\"\"\n", several.join("\n\n    ")),
        };
        let head = self.head(&ident(&function.name), written, &result, |_| true);
        let pages = self.pages(function, written, &result);
        format!("{head}{documentation}{body}{pages}")
    }

    /// The line that begins a method with these parameters.
    fn head(
        &self,
        name: &str,
        written: &WrittenFunction,
        result: &str,
        wanted: impl Fn(&Parameter) -> bool,
    ) -> String {
        let all = written.with_defaults().filter(|(parameter, _)| wanted(parameter));
        let parameters = all.map(|(parameter, may_be_left_out)| {
            let name = ident(&parameter.name);
            atom(match &parameter.kind {
                ParameterKind::Value { kind, values, default } => {
                    let default = default.as_ref().filter(|_| may_be_left_out);
                    let exact = *kind != Kind::Integer;
                    let default = default.map(|one| format!(" = {}", stored(one, exact).text(0, 0, STEP)));
                    format!("{name}: {}{}", type_of(*kind, values), default.unwrap_or_default())
                }
                ParameterKind::Record(record) => format!("{name}: {}", type_name(record)),
                ParameterKind::Records(record) => format!("{name}: list[{}]", type_name(record)),
                ParameterKind::Limit(limit) => format!("{name}: int = {limit}"),
                ParameterKind::Start => format!("{name}: {ITEM} | None = None"),
            })
        });
        let parameters = [atom("self")].into_iter().chain(parameters).collect();
        line(&list(&format!("def {name}("), parameters, &format!(") -> {result}:")), 0, STEP)
    }

    /// A second method for a pattern that is read by pages: all of them, one request each.
    fn pages(&self, function: &Function, written: &WrittenFunction, result: &str) -> String {
        let found = result.strip_prefix("Page[").and_then(|rest| rest.strip_suffix(']'));
        let (Some(found), name) = (found, format!("{}_pages", function.name)) else { return String::new() };
        let is_asked = |parameter: &Parameter| parameter.kind != ParameterKind::Start;
        let head = self.head(&name, written, &format!("Iterator[{found}]"), is_asked);
        let given = written.parameters.iter().map(|parameter| {
            let name = ident(&parameter.name);
            atom(format!("{name}={name}"))
        });
        let call = list(&format!("page = self.{}(", ident(&function.name)), given.collect(), ")");
        format!(
            "\n{head}    \"\"\"All pages of `{}`, one request each.\"\"\"\n    \
             start: {ITEM} | None = None\n    while True:\n{}        yield page.items\n        \
             if page.next is None:\n            return\n        start = page.next\n",
            ident(&function.name),
            line(&call, 2, STEP)
        )
    }

    /// The type of the result, and the statements.
    fn body(&self, body: &Body, depth: usize) -> (String, String) {
        let none = "None".to_owned();
        match body {
            Body::Read(read) => self.read(read),
            Body::Write(write) => (none, line(&self.write(write), depth, STEP)),
            Body::Either { tests, then, otherwise } => {
                let indent = " ".repeat(depth * STEP);
                let (_, then) = self.body(then, depth + 1);
                let (_, otherwise) = self.body(otherwise, depth + 1);
                (none, format!("{indent}if {}:\n{then}{indent}else:\n{otherwise}", self.tests(tests)))
            }
            Body::Transaction(steps) => {
                let items = self.steps(steps, |write| self.transact(write));
                let items = Doc::named("TransactItems=", list("[", items, "]"));
                let call = tight("self.dynamodb.meta.client.transact_write_items(", vec![items], ")");
                (none, line(&call, depth, STEP))
            }
            Body::BatchWrite(steps) => (none, self.batch_write(steps)),
            Body::TransactionGet { steps, found } => {
                let items = self.steps(steps, |get| {
                    let members = vec![
                        named("TableName", self.table_name(&get.table)),
                        named("Key", self.map(&get.key)),
                    ];
                    list("{", vec![named("Get", list("{", members, "}"))], "}")
                });
                let items = Doc::named("TransactItems=", list("[", items, "]"));
                let call = tight("answer = self.dynamodb.meta.client.transact_get_items(", vec![items], ")");
                let kept =
                    "    items = [one[\"Item\"] for one in answer[\"Responses\"] if \"Item\" in one]\n";
                let (kind, result) = self.found(found, "items");
                (kind, line(&call, depth, STEP) + kept + &line(&Doc::named("return ", result), depth, STEP))
            }
            Body::BatchGet { steps, found } => {
                let keys = self.steps(steps, |get| {
                    list("(", vec![self.table_name(&get.table), self.map(&get.key)], ")")
                });
                let mut arguments = vec![atom("self.dynamodb"), list("[", keys, "]")];
                if steps.iter().any(|step| step.action.consistent) {
                    arguments.push(atom("consistent=True"));
                }
                let call = list("items = _batch_get(", arguments, ")");
                let (kind, result) = self.found(found, "items");
                (kind, line(&call, depth, STEP) + &line(&Doc::named("return ", result), depth, STEP))
            }
        }
    }

    fn steps<T>(&self, steps: &[Step<T>], one: impl Fn(&T) -> Doc) -> Vec<Doc> {
        let step = |step: &Step<T>| match &step.each {
            None => one(&step.action),
            Some(Each { list, element, .. }) => {
                tight("*[", vec![one(&step.action)], &format!(" for {} in {}]", ident(element), ident(list)))
            }
        };
        steps.iter().map(step).collect()
    }

    fn batch_write(&self, steps: &[Step<Write>]) -> String {
        let mut text = String::new();
        let mut last = None;
        for step in steps {
            let table = self.table(&step.action.request.table);
            if last.as_ref() != Some(&table) {
                let _ = writeln!(text, "    with {table}.batch_writer() as batch:");
            }
            last = Some(table);
            let mut depth = 2;
            if let Some(Each { list, element, .. }) = &step.each {
                let _ = writeln!(text, "        for {} in {}:", ident(element), ident(list));
                depth = 3;
            }
            let call = match self.item(&step.action) {
                Some(item) => tight("batch.put_item(", vec![Doc::named("Item=", item)], ")"),
                None => tight(
                    "batch.delete_item(",
                    vec![Doc::named("Key=", self.map(&step.action.request.key))],
                    ")",
                ),
            };
            text.push_str(&line(&call, depth, STEP));
        }
        text
    }

    fn read(&self, read: &Read) -> (String, String) {
        let method = snake(read.operation.name());
        let callee = format!("{}.{method}", self.table(&read.request.table));
        let arguments = self.arguments(&read.request, None);
        if read.loops.is_empty() && read.pages != Pages::All {
            return self.read_once(read, &callee, arguments);
        }
        let counts = matches!(read.found, Found::Count);
        let mut text =
            if counts { "    count = 0\n" } else { "    items: list[dict[str, Any]] = []\n" }.to_owned();
        let mut depth = 1;
        for one in &read.loops {
            let indent = " ".repeat(depth * STEP);
            let _ = match one {
                Loop::Shards { variable, count } => {
                    writeln!(text, "{indent}for {} in range({count}):", ident(variable))
                }
                Loop::Values { variable, values, .. } => {
                    let values = list("[", values.iter().map(|value| self.value(value)).collect(), "]");
                    writeln!(text, "{indent}for {} in {}:", ident(variable), values.text(0, 0, STEP))
                }
            };
            depth += 1;
        }
        let indent = " ".repeat(depth * STEP);
        let add = match (read.operation, counts) {
            (ReadOperation::Get, _) => {
                format!("{indent}if \"Item\" in answer:\n{indent}    items.append(answer[\"Item\"])\n")
            }
            (_, true) => format!("{indent}count += answer[\"Count\"]\n"),
            (_, false) => format!("{indent}items += answer[\"Items\"]\n"),
        };
        if read.pages == Pages::All {
            text.push_str(&line(&list("request: dict[str, Any] = dict(", arguments, ")"), depth, STEP));
            let add = add.replace(&indent, &format!("{indent}    "));
            let _ = write!(
                text,
                "{indent}while True:\n{indent}    answer = {callee}(**request)\n{add}\
                 {indent}    if \"LastEvaluatedKey\" not in answer:\n{indent}        break\n\
                 {indent}    request[\"ExclusiveStartKey\"] = answer[\"LastEvaluatedKey\"]\n"
            );
        } else {
            text.push_str(&line(&list(&format!("answer = {callee}("), arguments, ")"), depth, STEP));
            text.push_str(&add);
        }
        if counts {
            return ("int".to_owned(), text + "    return count\n");
        }
        let keys: Vec<String> =
            read.merge_by.iter().map(|(name, _)| format!("item[{}]", string(name))).collect();
        let reverse = if read.descending { ", reverse=True" } else { "" };
        match keys.as_slice() {
            [] => {}
            [one] => {
                let _ = writeln!(text, "    items.sort(key=lambda item: {one}{reverse})");
            }
            several => {
                let _ = writeln!(text, "    items.sort(key=lambda item: ({}){reverse})", several.join(", "));
            }
        }
        let (kind, result) = self.found(&read.found, if read.cut { "items[:limit]" } else { "items" });
        (kind, text + &line(&Doc::named("return ", result), 1, STEP))
    }

    fn read_once(&self, read: &Read, callee: &str, arguments: Vec<Doc>) -> (String, String) {
        let mut text = if read.request.starts {
            line(&list("request: dict[str, Any] = dict(", arguments, ")"), 1, STEP)
                + "    if start is not None:\n        request[\"ExclusiveStartKey\"] = start\n"
                + &format!("    answer = {callee}(**request)\n")
        } else {
            line(&list(&format!("answer = {callee}("), arguments, ")"), 1, STEP)
        };
        let (kind, result) = match (&read.found, read.operation) {
            (Found::Count, _) => ("int".to_owned(), atom("int(answer[\"Count\"])")),
            (Found::One(view), ReadOperation::Get) => (
                format!("{} | None", type_name(&view.record)),
                atom(format!("{}(answer[\"Item\"]) if \"Item\" in answer else None", view.reader)),
            ),
            (found, _) => self.found(found, "answer[\"Items\"]"),
        };
        let (kind, result) = match read.pages {
            Pages::Next => (
                format!("Page[{kind}]"),
                list("Page(", vec![result, atom("answer.get(\"LastEvaluatedKey\")")], ")"),
            ),
            _ => (kind, result),
        };
        text.push_str(&line(&Doc::named("return ", result), 1, STEP));
        (kind, text)
    }

    /// The type and the expression that makes the result of a list of items.
    fn found(&self, found: &Found, items: &str) -> (String, Doc) {
        let each = |view: &View, items: &str| format!("[{}(item) for item in {items}]", view.reader);
        match found {
            Found::Count => ("int".to_owned(), atom(format!("len({items})"))),
            Found::One(view) => (
                format!("{} | None", type_name(&view.record)),
                atom(format!("next(({}(item) for item in {items}), None)", view.reader)),
            ),
            Found::Many(view) => (format!("list[{}]", type_name(&view.record)), atom(each(view, items))),
            Found::Mixed { record, parts } => {
                let part = |part: &Part| {
                    let attribute = string(&part.is.attribute);
                    let text = string(&part.is.text);
                    let is = match part.is.begins {
                        true => format!("item[{attribute}].startswith({text})"),
                        false => format!("item[{attribute}] == {text}"),
                    };
                    let of = each(&part.view, &format!("{items} if {is}"));
                    Doc::named(format!("{}=", ident(&part.name)), atom(of))
                };
                let record = type_name(record);
                let result = list(&format!("{record}("), parts.iter().map(part).collect(), ")");
                (record, result)
            }
        }
    }

    fn write(&self, write: &Write) -> Doc {
        let method = snake(write.verb.operation());
        let callee = format!("{}.{method}(", self.table(&write.request.table));
        list(&callee, self.arguments(&write.request, self.item(write)), ")")
    }

    /// The item that is put.
    fn item(&self, write: &Write) -> Option<Doc> {
        let Verb::Put { entity, variable, with, .. } = &write.verb else { return None };
        let mut of = ident(variable);
        if !with.is_empty() {
            let with = with.iter().map(|(name, value)| (ident(name), self.inline(value)));
            of = if self.validates {
                let with: Vec<String> = with.map(|(name, value)| format!("\"{name}\": {value}")).collect();
                format!("{of}.model_copy(update={{{}}})", with.join(", "))
            } else {
                let with: Vec<String> = with.map(|(name, value)| format!(", {name}={value}")).collect();
                format!("replace({of}{})", with.concat())
            };
        }
        Some(atom(format!("{}_to_item({of})", self.library.entities[*entity].name)))
    }

    fn transact(&self, write: &Write) -> Doc {
        let mut members = vec![named("TableName", self.table_name(&write.request.table))];
        members.extend(
            self.members(&write.request, self.item(write)).into_iter().map(|(name, doc)| named(name, doc)),
        );
        list("{", vec![named(write.verb.action(), list("{", members, "}"))], "}")
    }

    /// Keyword arguments of a call.
    fn arguments(&self, request: &Request, item: Option<Doc>) -> Vec<Doc> {
        let members = self.members(request, item).into_iter();
        members.map(|(name, doc)| Doc::named(format!("{name}="), doc)).collect()
    }

    fn members(&self, request: &Request, item: Option<Doc>) -> Vec<(&'static str, Doc)> {
        let doc = |member| match member {
            Member::Text(text) => atom(string(text)),
            Member::Flag(flag) => stored(&Stored::Bool(flag), false),
            Member::Item(item) => item,
            Member::Values(values) => self.map(values),
            Member::Names(names) => {
                list("{", names.iter().map(|(alias, name)| named(alias, atom(string(name)))).collect(), "}")
            }
            Member::Count => atom("\"COUNT\""),
            Member::Limit => atom("limit"),
        };
        request.members(item).into_iter().map(|(name, member)| (name, doc(member))).collect()
    }

    fn map(&self, entries: &[(String, Value)]) -> Doc {
        list("{", entries.iter().map(|(name, value)| named(name, self.value(value))).collect(), "}")
    }

    fn tests(&self, tests: &[Test]) -> String {
        let test = |test: &Test| {
            let value = self.inline(&test.value);
            let operand = |at: usize| {
                test.operands.get(at).map(|one| stored(one, false).text(0, 0, STEP)).unwrap_or_default()
            };
            match test.operator {
                Operator::Exists => format!("{value} is not None"),
                Operator::NotExists => format!("{value} is None"),
                Operator::BeginsWith => format!("{value}.startswith({})", operand(0)),
                Operator::Contains => format!("{} in {value}", operand(0)),
                Operator::Between => format!("{} <= {value} <= {}", operand(0), operand(1)),
                Operator::In => {
                    let all: Vec<String> = (0..test.operands.len()).map(operand).collect();
                    format!("{value} in ({},)", all.join(", "))
                }
                Operator::Equal => format!("{value} == {}", operand(0)),
                Operator::NotEqual => format!("{value} != {}", operand(0)),
                other => format!("{value} {} {}", other.name(), operand(0)),
            }
        };
        tests.iter().map(test).collect::<Vec<_>>().join(" and ")
    }

    fn builder(&self, at: usize) -> String {
        ident(&self.library.keys[at].name)
    }

    fn inline(&self, value: &Value) -> String {
        self.value(value).text(0, 0, STEP)
    }

    fn value(&self, value: &Value) -> Doc {
        match value {
            Value::Literal(literal) => stored(literal, false),
            Value::Variable { name, .. } => atom(ident(name)),
            Value::Field { of, name, .. } => atom(format!("{}.{}", ident(of), ident(name))),
            Value::Shard { of, count } => atom(format!("_shard({}, {count})", self.plain(of))),
            Value::Random { count } => atom(format!("random.randrange({count})")),
            Value::Next(inner) => atom(format!("{} + 1", self.inline(inner))),
            Value::Key { builder, arguments } => {
                let kinds = self.library.keys[*builder].parameters.iter().map(|(_, kind)| *kind);
                let arguments = arguments.iter().zip(kinds).map(|(one, kind)| self.argument(one, kind));
                list(&format!("{}(", self.builder(*builder)), arguments.collect(), ")")
            }
            Value::Text(pieces) => atom(self.text(pieces)),
            Value::Before(inner) => atom(format!("_before({})", self.inline(inner))),
        }
    }

    /// Entities that share a parameter may have different types for it.
    fn argument(&self, value: &Value, kind: Kind) -> Doc {
        match (value.kind(), kind) {
            (Kind::Integer, Kind::Number) => atom(format!("Decimal({})", self.inline(value))),
            (Kind::Number, Kind::Integer) => atom(format!("int({})", self.inline(value))),
            _ => self.value(value),
        }
    }

    /// An expression for the value's text.
    fn plain(&self, value: &Value) -> String {
        let text = self.inline(value);
        match value.kind() {
            Kind::Number => format!("_number({text})"),
            Kind::Integer => format!("str({text})"),
            Kind::Bool => format!("str({text}).lower()"),
            Kind::Binary => format!("{text}.hex()"),
            _ => text,
        }
    }

    fn text(&self, pieces: &[Piece]) -> String {
        if let [Piece::Field { value, form: TextForm::Plain, width: None }] = pieces {
            return self.plain(value);
        }
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => inside(text).replace('{', "{{").replace('}', "}}"),
            Piece::Field { value, form, width } => {
                let inner = self.inline(value);
                let text = match (form, value.kind(), width) {
                    (TextForm::Descending(digits), ..) => {
                        return format!("{{{} - int({inner}):0{digits}}}", "9".repeat(*digits));
                    }
                    (TextForm::Lower, ..) => format!("{}.lower()", self.plain(value)),
                    (TextForm::Prefix(length), ..) => format!("{}[:{length}]", self.plain(value)),
                    (TextForm::Plain, Kind::Integer | Kind::Text, None) => inner,
                    (TextForm::Plain, ..) => self.plain(value),
                };
                match width {
                    Some(width) => format!("{{_padded({text}, {width})}}"),
                    None => format!("{{{text}}}"),
                }
            }
        };
        format!("f\"{}\"", pieces.iter().map(piece).collect::<String>())
    }
}

/// A field's value out of an item.
fn read(field: &Field) -> Doc {
    let key = string(&field.attribute);
    let (text, optional) = match &field.source {
        Source::Attribute => (format!("item[{key}]"), field.optional),
        Source::Key { key, literals, position, descending } => {
            let literals: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
            let part = format!("_parts(item[{}], {})[{position}]", string(key), literals.join(", "));
            let text = match (descending, field.kind) {
                (Some(digits), Kind::Integer) => format!("{} - int({part})", "9".repeat(*digits)),
                (Some(digits), _) => format!("Decimal({} - int({part}))", "9".repeat(*digits)),
                (None, Kind::Integer) => format!("int({part})"),
                (None, Kind::Number) => format!("Decimal({part})"),
                (None, Kind::Bool) => format!("{part} == \"true\""),
                (None, Kind::Binary) => format!("bytes.fromhex({part})"),
                (None, _) => part,
            };
            return atom(text);
        }
    };
    let whole = match field.kind {
        Kind::Integer => format!("int({text})"),
        Kind::Binary => format!("bytes({text})"),
        Kind::BinarySet => format!("{{bytes(one) for one in {text}}}"),
        _ if optional => return atom(format!("item.get({key})")),
        _ => return atom(text),
    };
    atom(if optional { format!("{whole} if {key} in item else None") } else { whole })
}

fn named(name: &str, doc: Doc) -> Doc {
    Doc::named(format!("{}: ", string(name)), doc)
}

fn type_of(kind: Kind, values: &[String]) -> String {
    match kind {
        Kind::Text if !values.is_empty() => {
            let values: Vec<String> = values.iter().map(|value| string(value)).collect();
            return format!("Literal[{}]", values.join(", "));
        }
        Kind::Text => "str",
        Kind::Number => "Decimal",
        Kind::Integer => "int",
        Kind::Bool => "bool",
        Kind::Binary => "bytes",
        Kind::TextSet => "set[str]",
        Kind::NumberSet => "set[Decimal]",
        Kind::BinarySet => "set[bytes]",
        Kind::List => "list[Any]",
        Kind::Map => "dict[str, Any]",
    }
    .to_owned()
}

fn ident(name: &str) -> String {
    unreserved(name.to_owned(), &RESERVED)
}

fn type_name(record: &str) -> String {
    writer::type_name(record, &TYPES)
}

/// A stored value as a literal; `exact` numbers are Decimal, whole or not.
fn stored(value: &Stored, exact: bool) -> Doc {
    let number = |text: String| {
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let whole = digits.bytes().all(|digit| digit.is_ascii_digit());
        match (whole, exact) {
            (true, false) => text,
            (true, true) => format!("Decimal({text})"),
            (false, _) => format!("Decimal({})", string(&text)),
        }
    };
    match value {
        Stored::S(text) => atom(string(text)),
        Stored::N(one) => atom(number(one.to_string())),
        Stored::B(one) => atom(bytes(one)),
        Stored::Bool(flag) => atom(if *flag { "True" } else { "False" }),
        Stored::Null => atom("None"),
        Stored::Ss(members) => list("{", members.iter().map(|one| atom(string(one))).collect(), "}"),
        Stored::Ns(members) => {
            list("{", members.iter().map(|one| atom(number(one.to_string()))).collect(), "}")
        }
        Stored::Bs(members) => list("{", members.iter().map(|one| atom(bytes(one))).collect(), "}"),
        Stored::L(elements) => list("[", elements.iter().map(|one| stored(one, exact)).collect(), "]"),
        Stored::M(entries) => {
            list("{", entries.iter().map(|(name, one)| named(name, stored(one, exact))).collect(), "}")
        }
    }
}

/// A text inside a documentation string.
fn documentation(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "'")
}
