//! Rust with `aws-sdk-dynamodb`: structs, and async functions that take the client.

mod layout;
mod prelude;
mod values;

use std::fmt::Write as _;

use model::predicate::Operator;

use super::call::{Argument, Call, Row};
use super::case::snake;
use super::writer::{self, Member, table_variable, unreserved, used_of};
use super::{
    Body, EntityItem, Field, Found, Function, ItemAttribute, Kind, Library, Loop, Pages, ParameterKind, Part,
    Piece, Read, ReadOperation, Reader, Record, Request, Source, Step, Test, Value, Verb, View, Write,
};
use layout::{RustCode, plain, statement};
use values::{borrowed_literal, owned_literal, stored_literal, string};

/// Words of the language, and functions that the modules have themselves.
#[rustfmt::skip]
const RESERVED: [&str; 71] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    "batch_get", "batch_write", "bytes_at", "descending", "first_characters", "from_hex", "items_of", "key_before",
    "key_part", "number_at", "padded", "random_shard", "read_attribute", "read_optional", "shard_of", "text_at",
    "to_hex", "types", "unhex", "wait",
];

/// Types that the modules use, so that a record has another name.
#[rustfmt::skip]
const TYPES: [&str; 26] = [
    "AsyncSleep", "AttributeValue", "BTreeSet", "Blob", "Box", "Client", "Duration", "Err", "Error", "FromStr",
    "HashMap", "Item", "None", "NotANumber", "Number", "Ok", "Option", "Ordering", "Page", "Result", "Self", "Some",
    "StoredAs", "String", "ToString", "Vec",
];

pub fn source(library: &Library) -> String {
    let rust = Rust { library };
    let mut body = String::new();
    for record in library.records.iter().filter(|record| !record.fields.is_empty()) {
        body.push_str(&structure(record));
    }
    for (record, parts) in library.mixed() {
        let _ = write!(body, "\n#[derive(Clone, Debug, PartialEq)]\npub struct {} {{\n", type_name(record));
        for part in parts {
            let _ = writeln!(body, "    pub {}: Vec<{}>,", ident(&part.name), type_name(&part.view.record));
        }
        body.push_str("}\n");
    }
    for builder in &library.keys {
        let parameters = builder.parameters.iter();
        let parameters = parameters.map(|(name, kind)| format!("{}: {}", ident(name), borrowed(*kind)));
        let _ = write!(
            body,
            "\n/// {}\n{}{}}}\n",
            builder.comment,
            head(&format!("pub fn {}", ident(&builder.name)), parameters.collect(), "String"),
            statement(1, "", &rust.text(&builder.pieces), "")
        );
    }
    for entity in library.entities.iter().filter(|entity| !entity.attributes.is_empty()) {
        body.push_str(&rust.item_writer(entity));
    }
    for reader in &library.readers {
        body.push_str(&item_reader(reader));
    }
    for function in &library.functions {
        body.push_str(&rust.function(function));
    }
    let batches = used_of(&body, &prelude::BATCHES);
    let all = format!("{}{body}{batches}", prelude::ERROR);
    let all = format!("{}{}{body}{batches}", prelude::ERROR, used_of(&all, &prelude::VALUES));
    rust.header(&all) + &all
}

/// A module whose `call` calls the function of a pattern.
pub fn calls(library: &Library, calls: &[Call]) -> String {
    let module = ident(&library.name);
    let mut text = String::new();
    for (call, _, function, written) in library.called(calls) {
        let mut arguments = vec![plain("client")];
        let given = written.parameters.iter().zip(&call.arguments);
        arguments.extend(given.map(|(parameter, argument)| given_code(library, &parameter.kind, argument)));
        let called = RustCode::call(format!("{}(", ident(&function.name)), arguments, ")");
        let _ = writeln!(text, "        {} => {{", string(&call.pattern));
        text.push_str(&awaited(&statement(3, "let found = ", &called, ".await?;")));
        text.push_str("            format!(\"{found:?}\")\n        }\n");
    }
    let mut header = format!("//! Each function of {} with values of the example data.\n\n", library.name);
    let collections = collections(&text);
    if !collections.is_empty() {
        let _ = writeln!(header, "{collections}\n");
    }
    header.push_str("use aws_sdk_dynamodb::Client;\n");
    imports(&mut header, &text);
    format!(
        "{header}\nuse super::{module}::*;\n\n/// Calls the function of a pattern; what it returns, printed.\n\
         pub async fn call(client: &Client, pattern: &str) -> Result<Option<String>, Error> {{\n    \
         Ok(Some(match pattern {{\n{text}        _ => return Ok(None),\n    }}))\n}}\n"
    )
}

/// `.await` has a line of its own behind arguments of several lines.
fn awaited(statement: &str) -> String {
    match statement.trim_end().contains('\n') {
        true => statement.replace(").await?;", ")\n            .await?;"),
        false => statement.to_owned(),
    }
}

/// An argument of the example data.
fn given_code(library: &Library, kind: &ParameterKind, argument: &Argument) -> RustCode {
    match (argument, kind) {
        (Argument::Value(value), ParameterKind::Value { kind, .. }) => borrowed_literal(value, *kind, true),
        (Argument::Value(value), _) => borrowed_literal(value, Kind::Text, true),
        (Argument::Record(row), _) => row_code(library, row, "&"),
        (Argument::Records(rows), _) => {
            let rows = rows.iter().map(|row| row_code(library, row, "")).collect();
            RustCode::call("&", vec![RustCode::Array(rows)], "")
        }
        (Argument::Limit(limit), _) => plain(limit.to_string()),
        (Argument::Start, _) => plain("None"),
    }
}

fn row_code(library: &Library, row: &Row, before: &str) -> RustCode {
    let fields = library.record(&row.record).map(|record| record.fields.as_slice()).unwrap_or_default();
    let members = fields.iter().zip(&row.values).map(|(field, value)| {
        let value = match (value, field.optional) {
            (Some(value), true) => RustCode::call("Some(", vec![owned_literal(value, field.kind, true)], ")"),
            (Some(value), false) => owned_literal(value, field.kind, true),
            (None, _) => plain("None"),
        };
        (format!("{}: ", ident(&field.name)), value)
    });
    RustCode::Struct(format!("{before}{}", type_name(&row.record)), members.collect())
}

fn structure(record: &Record) -> String {
    let mut text = String::from("\n");
    if !record.comment.is_empty() {
        let _ = writeln!(text, "/// {}", record.comment);
    }
    let _ = writeln!(text, "#[derive(Clone, Debug, PartialEq)]\npub struct {} {{", type_name(&record.name));
    for field in &record.fields {
        if let Some(note) = field.note {
            let _ = writeln!(text, "    /// {note}");
        }
        if !field.values.is_empty() {
            let _ = writeln!(text, "    /// {}", one_of(&field.values));
        }
        let kind = owned(field.kind);
        let kind = if field.optional { format!("Option<{kind}>") } else { kind.to_owned() };
        let _ = writeln!(text, "    pub {}: {kind},", ident(&field.name));
    }
    text + "}\n"
}

/// Values that the file lists.
fn one_of(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    match values.split_last() {
        Some((last, [])) => format!("Always {last}"),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn item_reader(reader: &Reader) -> String {
    let members = reader.fields.iter().map(|field| (format!("{}: ", ident(&field.name)), read(field)));
    let record = RustCode::Struct(type_name(&reader.record), members.collect());
    let result = format!("Result<{}, Error>", type_name(&reader.record));
    let head = head(&format!("pub fn {}", ident(&reader.name)), vec!["item: &Item".to_owned()], &result);
    format!("\n{head}{}}}\n", statement(1, "", &RustCode::call("Ok(", vec![record], ")"), ""))
}

/// A field's value out of an item.
fn read(field: &Field) -> RustCode {
    match &field.source {
        Source::Attribute => {
            let read = if field.optional { "read_optional" } else { "read_attribute" };
            plain(format!("{read}(item, {})?", string(&field.attribute)))
        }
        Source::Key { key, literals, position, descending } => {
            let literals: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
            let arguments = vec![
                plain("item"),
                plain(string(key)),
                plain(format!("&[{}]", literals.join(", "))),
                plain(position.to_string()),
            ];
            let part = |kind: &str| RustCode::call(format!("key_part{kind}("), arguments.clone(), ")?");
            let nines = |digits: &usize| "9".repeat(*digits);
            let value = match (descending, field.kind) {
                (Some(digits), Kind::Integer) => {
                    plain(format!("{} - {}", nines(digits), part("::<i64>").inline()))
                }
                (Some(digits), _) => {
                    plain(format!("Number::from({}_i128 - {})", nines(digits), part("::<i128>").inline()))
                }
                (None, Kind::Binary) => {
                    let missing = format!("Error::Item {{ attribute: {} }}", string(key));
                    plain(format!("from_hex(&{}).ok_or({missing})?", part("::<String>").inline()))
                }
                (None, _) => part(""),
            };
            if field.optional { RustCode::call("Some(", vec![value], ")") } else { value }
        }
    }
}

struct Rust<'l> {
    library: &'l Library,
}

impl Rust<'_> {
    fn header(&self, text: &str) -> String {
        let description = self.library.description.as_deref().map(|text| format!(": {text}"));
        let mut header = format!(
            "//! The access patterns of {}{}.\n//!\n//! Written by `lodestone model code`.\n\n\
             #![allow(dead_code, clippy::too_many_arguments)]\n\n",
            self.library.title,
            description.unwrap_or_default().trim_end_matches('.'),
        );
        if text.contains("Ordering") {
            header.push_str("use std::cmp::Ordering;\n");
        }
        let _ = writeln!(header, "{}\nuse std::fmt;", collections(text));
        if text.contains("FromStr") {
            header.push_str("use std::str::FromStr;\n");
        }
        if text.contains("Duration") {
            header.push_str("use std::time::Duration;\n");
        }
        header.push_str("\nuse aws_sdk_dynamodb::Client;\n");
        if text.contains("sleep_impl") {
            header.push_str("use aws_sdk_dynamodb::config::AsyncSleep;\n");
        }
        imports(&mut header, text);
        header.push('\n');
        for table in &self.library.tables {
            let _ = writeln!(header, "pub const {}: &str = {};", self.table(table), string(table));
        }
        header
    }

    fn table(&self, table: &str) -> String {
        table_variable(self.library, table).to_uppercase()
    }

    fn item_writer(&self, entity: &EntityItem) -> String {
        let variable = ident(&entity.name);
        let (always, tested) = entity.divided();
        let entry = |one: &&ItemAttribute| {
            let name = plain(format!("{}.to_owned()", string(&one.attribute)));
            RustCode::call("(", vec![name, self.stored(&one.value)], ")")
        };
        let item =
            RustCode::call("HashMap::from(", vec![RustCode::Array(always.iter().map(entry).collect())], ")");
        let parameters = vec![format!("{variable}: &{}", type_name(&entity.record))];
        let mut text = format!("\n{}", head(&format!("pub fn {}_to_item", entity.name), parameters, "Item"));
        if tested.is_empty() {
            return text + &statement(1, "", &item, "") + "}\n";
        }
        let map = map_of(&variable);
        text.push_str(&statement(1, &format!("let mut {map} = "), &item, ";"));
        for run in &tested {
            text.push_str(&self.tested(&variable, run));
        }
        format!("{text}    {map}\n}}\n")
    }

    /// Attributes with the same tests. What is optional is looked at first, and has a name of its own then.
    fn tested(&self, variable: &str, attributes: &[&ItemAttribute]) -> String {
        let mut bound: Vec<(String, Kind)> = Vec::new();
        let tests = attributes.first().map(|one| one.when.as_slice()).unwrap_or_default();
        let exists = |test: &&Test| test.operator != Operator::NotExists;
        for value in tests.iter().filter(exists).map(|test| &test.value) {
            optional_fields(value, &mut bound);
        }
        for one in attributes {
            optional_fields(&one.value, &mut bound);
        }
        let mut text = String::new();
        let mut depth = 1;
        let mut open = |text: &mut String, condition: String| {
            let _ = writeln!(text, "{}if {condition} {{", "    ".repeat(depth));
            depth += 1;
        };
        for (name, kind) in &bound {
            let of = format!("{variable}.{}", ident(name));
            let of = match kind {
                Kind::Text | Kind::Binary => format!("{of}.as_deref()"),
                Kind::Integer | Kind::Bool => of,
                _ => format!("&{of}"),
            };
            open(&mut text, format!("let Some({}) = {of}", local(variable, name)));
        }
        let known = |test: &&Test| !matches!(test.operator, Operator::Exists);
        let rest: Vec<Test> = tests
            .iter()
            .filter(known)
            .map(|test| Test { value: unwrapped(variable, &test.value, test.operator), ..test.clone() })
            .collect();
        if !rest.is_empty() {
            open(&mut text, self.tests(&rest));
        }
        for one in attributes {
            let name = plain(format!("{}.to_owned()", string(&one.attribute)));
            let value = self.stored(&unwrapped(variable, &one.value, Operator::Exists));
            text.push_str(&statement(
                depth,
                "",
                &RustCode::call(format!("{}.insert(", map_of(variable)), vec![name, value], ")"),
                ";",
            ));
        }
        for depth in (1..depth).rev() {
            let _ = writeln!(text, "{}}}", "    ".repeat(depth));
        }
        text
    }

    fn function(&self, function: &Function) -> String {
        let written = match &function.written {
            Ok(written) => written,
            Err(why) => return format!("\n// {}: no function, because {why}.\n", function.pattern),
        };
        let mut comments = function.comments.clone();
        let mut parameters = vec!["client: &Client".to_owned()];
        for parameter in &written.parameters {
            let name = ident(&parameter.name);
            parameters.push(match &parameter.kind {
                ParameterKind::Value { kind, values, .. } => {
                    if !values.is_empty() {
                        comments.push(format!("`{name}`: {}.", one_of(values)));
                    }
                    format!("{name}: {}", borrowed(*kind))
                }
                ParameterKind::Record(record) => format!("{name}: &{}", type_name(record)),
                ParameterKind::Records(record) => format!("{name}: &[{}]", type_name(record)),
                ParameterKind::Limit(limit) => {
                    comments.push(format!("The model's limit is {limit}."));
                    format!("{name}: i32")
                }
                ParameterKind::Start => format!("{name}: Option<Item>"),
            });
        }
        let (result, body) = self.body(&written.body, 1);
        let end = if result == "()" { "    Ok(())\n" } else { "" };
        format!(
            "\n/// {}\n{}{body}{end}}}\n",
            comments.join("\n///\n/// "),
            head(
                &format!("pub async fn {}", ident(&function.name)),
                parameters,
                &format!("Result<{result}, Error>")
            )
        )
    }

    /// The type of the result, and the statements.
    fn body(&self, body: &Body, depth: usize) -> (String, String) {
        let none = "()".to_owned();
        match body {
            Body::Read(read) => self.read(read),
            Body::Write(write) => {
                let calls =
                    [vec![method(write.verb.operation())], self.members(&write.request, self.item(write))]
                        .concat();
                (none, statement(depth, "", &sent(calls), ";"))
            }
            Body::Either { tests, then, otherwise } => {
                let indent = "    ".repeat(depth);
                let (_, then) = self.body(then, depth + 1);
                let (_, otherwise) = self.body(otherwise, depth + 1);
                let tests = self.tests(tests);
                (none, format!("{indent}if {tests} {{\n{then}{indent}}} else {{\n{otherwise}{indent}}}\n"))
            }
            Body::Transaction(steps) => {
                let mut text = String::from("    let mut request = client.transact_write_items();\n");
                text.push_str(&self.steps(steps, |write, depth| {
                    let members = self.members(&write.request, self.item(write));
                    transacted(depth, write.verb.action(), members, "TransactWriteItem")
                }));
                (none, text + "    request.send().await?;\n")
            }
            Body::BatchWrite(steps) => {
                let mut text = String::from("    let mut parts = Vec::new();\n");
                text.push_str(&self.steps(steps, |write, depth| {
                    let (kind, method, member) = match self.item(write) {
                        Some(item) => ("PutRequest", "put_request", vec![item]),
                        None => ("DeleteRequest", "delete_request", self.key(&write.request.key)),
                    };
                    let calls = [member, vec![plain(".build()?")]].concat();
                    let request = RustCode::Chain(format!("types::{kind}::builder()"), calls);
                    let calls = vec![plain(format!(".{method}(item)")), plain(".build()")];
                    let part = RustCode::Chain("types::WriteRequest::builder()".to_owned(), calls);
                    let part = vec![plain(self.table(&write.request.table)), part];
                    let push = RustCode::call("parts.push(", vec![RustCode::call("(", part, ")")], ")");
                    statement(depth, "let item = ", &request, ";") + &statement(depth, "", &push, ";")
                }));
                (none, text + "    batch_write(client, parts).await?;\n")
            }
            Body::TransactionGet { steps, found } => {
                let mut text = String::from("    let mut request = client.transact_get_items();\n");
                text.push_str(&self.steps(steps, |get, depth| {
                    let table = plain(format!(".table_name({})", self.table(&get.table)));
                    let members = [vec![table], self.key(&get.key)].concat();
                    transacted(depth, "Get", members, "TransactGetItem")
                }));
                text.push_str("    let answer = request.send().await?;\n");
                text.push_str("    let found = answer.responses.unwrap_or_default();\n");
                text.push_str(
                    "    let items: Vec<Item> = found.into_iter().filter_map(|one| one.item).collect();\n",
                );
                let (kind, result) = self.found(found);
                (kind, text + &returned(&result))
            }
            Body::BatchGet { steps, found } => {
                let mut text = String::from("    let mut keys = Vec::new();\n");
                text.push_str(&self.steps(steps, |get, depth| {
                    let entries = get.key.iter().map(|(name, value)| {
                        let name = plain(format!("{}.to_owned()", string(name)));
                        RustCode::call("(", vec![name, self.stored(value)], ")")
                    });
                    let key = RustCode::call("Item::from(", vec![RustCode::Array(entries.collect())], ")");
                    let push = format!("keys.push(({}, key))", self.table(&get.table));
                    statement(depth, "let key = ", &key, ";") + &statement(depth, "", &plain(push), ";")
                }));
                let consistent = steps.iter().any(|step| step.action.consistent);
                let _ = writeln!(text, "    let items = batch_get(client, keys, {consistent}).await?;");
                let (kind, result) = self.found(found);
                (kind, text + &returned(&result))
            }
        }
    }

    fn steps<T>(&self, steps: &[Step<T>], one: impl Fn(&T, usize) -> String) -> String {
        let step = |step: &Step<T>| match &step.each {
            None => one(&step.action, 1),
            Some(each) => format!(
                "    for {} in {} {{\n{}    }}\n",
                ident(&each.element),
                ident(&each.list),
                one(&step.action, 2)
            ),
        };
        steps.iter().map(step).collect()
    }

    fn read(&self, read: &Read) -> (String, String) {
        let mut calls = [vec![method(read.operation.name())], self.members(&read.request, None)].concat();
        if read.loops.is_empty() && read.pages != Pages::All {
            calls.extend(read.request.starts.then(|| plain(".set_exclusive_start_key(start)")));
            let text = statement(1, "let answer = ", &sent(calls), ";");
            let (kind, result) = self.read_once(read);
            return (kind, text + &result);
        }
        let counts = matches!(read.found, Found::Count);
        let mut text =
            if counts { "    let mut count = 0;\n" } else { "    let mut items: Vec<Item> = Vec::new();\n" }
                .to_owned();
        let mut depth = 1;
        for one in &read.loops {
            let indent = "    ".repeat(depth);
            let _ = match one {
                Loop::Shards { variable, count } => {
                    writeln!(text, "{indent}for {} in 0..{count} {{", ident(variable))
                }
                Loop::Values { variable, values, kind, .. } => {
                    let values: Vec<String> =
                        values.iter().map(|value| self.borrowed(value, *kind).inline()).collect();
                    writeln!(text, "{indent}for {} in [{}] {{", ident(variable), values.join(", "))
                }
            };
            depth += 1;
        }
        let answer = if read.pages == Pages::All { "answer?" } else { "answer" };
        let add = match (read.operation, counts) {
            (ReadOperation::Get, _) => format!("items.extend({answer}.item);"),
            (_, true) => format!("count += i64::from({answer}.count());"),
            (_, false) => format!("items.extend({answer}.items.unwrap_or_default());"),
        };
        let indent = "    ".repeat(depth);
        if read.pages == Pages::All {
            calls.extend([plain(".into_paginator()"), plain(".send()")]);
            let pages = RustCode::Chain("client".to_owned(), calls);
            text.push_str(&statement(depth, "let mut found = ", &pages, ";"));
            let _ = write!(
                text,
                "{indent}while let Some(answer) = found.next().await {{\n{indent}    {add}\n{indent}}}\n"
            );
        } else {
            text.push_str(&statement(depth, "let answer = ", &sent(calls), ";"));
            let _ = writeln!(text, "{indent}{add}");
        }
        for depth in (1..depth).rev() {
            let _ = writeln!(text, "{}}}", "    ".repeat(depth));
        }
        if counts {
            return ("i64".to_owned(), text + "    Ok(count)\n");
        }
        text.push_str(&merged(read));
        if read.cut {
            text.push_str("    items.truncate(usize::try_from(limit).unwrap_or_default());\n");
        }
        let (kind, result) = self.found(&read.found);
        (kind, text + &returned(&result))
    }

    fn read_once(&self, read: &Read) -> (String, String) {
        match (&read.found, read.operation) {
            (Found::Count, _) => ("i64".to_owned(), "    Ok(i64::from(answer.count()))\n".to_owned()),
            (Found::One(view), ReadOperation::Get) => (
                format!("Option<{}>", type_name(&view.record)),
                format!("    answer.item().map({}).transpose()\n", ident(&view.reader)),
            ),
            (Found::Many(view), _) if read.pages != Pages::Next => (
                format!("Vec<{}>", type_name(&view.record)),
                statement(1, "", &each("answer.items()", view), ""),
            ),
            (found, _) => {
                let (kind, result) = self.found(found);
                let items = "    let items = answer.items.unwrap_or_default();\n";
                if read.pages != Pages::Next {
                    return (kind, format!("{items}{}", returned(&result)));
                }
                let next = ("next: ".to_owned(), plain("answer.last_evaluated_key"));
                let page =
                    RustCode::Struct("Page".to_owned(), vec![("items: ".to_owned(), result.tried()), next]);
                let page = RustCode::call("Ok(", vec![page], ")");
                (format!("Page<{kind}>"), items.to_owned() + &statement(1, "", &page, ""))
            }
        }
    }

    /// The type, and what is made of the list of items.
    fn found(&self, found: &Found) -> (String, Outcome) {
        match found {
            Found::Count => ("usize".to_owned(), Outcome::Sure(plain("items.len()"))),
            Found::One(view) => {
                let first = format!("items.first().map({}).transpose()", ident(&view.reader));
                (format!("Option<{}>", type_name(&view.record)), Outcome::Tried(plain(first)))
            }
            Found::Many(view) => {
                (format!("Vec<{}>", type_name(&view.record)), Outcome::Tried(each("items", view)))
            }
            Found::Mixed { record, parts } => {
                let part = |part: &Part| {
                    let text = string(&part.is.text);
                    let is = match part.is.begins {
                        true => format!("|key| key.starts_with({text})"),
                        false => format!("|key| key == {text}"),
                    };
                    let arguments = vec![
                        plain("&items"),
                        plain(string(&part.is.attribute)),
                        plain(is),
                        plain(ident(&part.view.reader)),
                    ];
                    (format!("{}: ", ident(&part.name)), RustCode::call("items_of(", arguments, ")?"))
                };
                let all = RustCode::Struct(type_name(record), parts.iter().map(part).collect());
                (type_name(record), Outcome::Sure(all))
            }
        }
    }

    /// The item that is put.
    fn item(&self, write: &Write) -> Option<RustCode> {
        let Verb::Put { entity, variable, record, with } = &write.verb else { return None };
        let of = ident(variable);
        let of = if with.is_empty() {
            plain(of)
        } else {
            let fields = self.library.record(record).map(|record| record.fields.as_slice());
            let field = |name: &str| fields.unwrap_or_default().iter().find(|field| field.name == name);
            let mut members: Vec<(String, RustCode)> = with
                .iter()
                .map(|(name, value)| {
                    let kind = field(name).map_or(value.kind(), |field| field.kind);
                    let value = self.owned(value, kind);
                    let value = match field(name).is_some_and(|field| field.optional) {
                        true => RustCode::call("Some(", vec![value], ")"),
                        false => value,
                    };
                    (format!("{}: ", ident(name)), value)
                })
                .collect();
            members.push(("..".to_owned(), plain(format!("{of}.clone()"))));
            RustCode::Struct(format!("&{}", type_name(record)), members)
        };
        let item = RustCode::call(format!("{}_to_item(", self.library.entities[*entity].name), vec![of], ")");
        Some(RustCode::call(".set_item(", vec![RustCode::call("Some(", vec![item], ")")], ")"))
    }

    fn key(&self, key: &[(String, Value)]) -> Vec<RustCode> {
        let part = |(name, value): &(String, Value)| {
            RustCode::call(".key(", vec![plain(string(name)), self.stored(value)], ")")
        };
        key.iter().map(part).collect()
    }

    /// The calls that fill a request.
    fn members(&self, request: &Request, item: Option<RustCode>) -> Vec<RustCode> {
        let mut members = vec![plain(format!(".table_name({})", self.table(&request.table)))];
        for (name, member) in request.members(item) {
            let method = format!(".{}(", snake(name));
            let call = |arguments| RustCode::call(method.clone(), arguments, ")");
            match member {
                Member::Text(text) if name == "IndexName" => {
                    members.push(plain(format!("{method}{})", string(text))));
                }
                Member::Text(text) => members.push(call(vec![plain(string(text))])),
                Member::Flag(flag) => members.push(plain(format!("{method}{flag})"))),
                Member::Item(item) => members.push(item),
                Member::Values(values) => {
                    let entry =
                        |(name, value): &(String, Value)| vec![plain(string(name)), self.stored(value)];
                    members.extend(values.iter().map(entry).map(call));
                }
                Member::Names(names) => {
                    let entry =
                        |(alias, name): &(String, String)| [alias, name].map(|one| plain(string(one)));
                    members.extend(names.iter().map(entry).map(|entry| call(entry.to_vec())));
                }
                Member::Count => members.push(plain(".select(types::Select::Count)")),
                Member::Limit => members.push(plain(".limit(limit)")),
            }
        }
        members
    }

    fn tests(&self, tests: &[Test]) -> String {
        tests.iter().map(|test| self.test(test)).collect::<Vec<_>>().join(" && ")
    }

    fn test(&self, test: &Test) -> String {
        let kind = test.value.kind();
        let named = self.place(&test.value);
        // What is compared: a number itself, or the text.
        let value = match (kind, &test.value) {
            (Kind::Text, Value::Field { .. }) => format!("{named}.as_str()"),
            (Kind::Number, Value::Variable { .. }) => format!("*{named}"),
            _ => named.clone(),
        };
        let literal = |at: usize| {
            let operand = test.operands.get(at).map(|operand| match kind {
                Kind::Number | Kind::NumberSet => owned_literal(operand, Kind::Number, false).inline(),
                _ => borrowed_literal(operand, kind, false).inline(),
            });
            operand.unwrap_or_default()
        };
        let looked_up = if kind == Kind::Number {
            self.borrowed(&test.value, kind).inline()
        } else {
            format!("&{value}")
        };
        match (test.operator, kind) {
            (Operator::Exists, _) => match &test.value {
                Value::Field { optional: true, .. } => format!("{named}.is_some()"),
                _ => "true".to_owned(),
            },
            (Operator::NotExists, _) => match &test.value {
                Value::Field { optional: true, .. } => format!("{named}.is_none()"),
                _ => "false".to_owned(),
            },
            (Operator::BeginsWith, _) => format!("{value}.starts_with({})", literal(0)),
            (Operator::Contains, Kind::NumberSet) => format!("{named}.contains(&{})", literal(0)),
            (Operator::Contains, Kind::TextSet) => {
                let text = test.operands.first().map(|one| borrowed_literal(one, Kind::Text, false).inline());
                format!("{named}.contains({})", text.unwrap_or_default())
            }
            (Operator::Contains, Kind::List) => {
                let element = test.operands.first().map(|one| stored_literal(one).inline());
                format!("{named}.contains(&{})", element.unwrap_or_default())
            }
            (Operator::Contains, _) => format!("{value}.contains({})", literal(0)),
            (Operator::Between, _) => format!("({}..={}).contains({looked_up})", literal(0), literal(1)),
            (Operator::In, _) => {
                let all: Vec<String> = (0..test.operands.len()).map(literal).collect();
                format!("[{}].contains({looked_up})", all.join(", "))
            }
            (Operator::Equal, Kind::Text) => format!("{named} == {}", literal(0)),
            (Operator::NotEqual, Kind::Text) => format!("{named} != {}", literal(0)),
            (Operator::Equal, Kind::Bool) if literal(0) == "true" => value,
            (Operator::Equal, Kind::Bool) => format!("!{value}"),
            (Operator::Equal, _) => format!("{value} == {}", literal(0)),
            (Operator::NotEqual, _) => format!("{value} != {}", literal(0)),
            (other, _) => format!("{value} {} {}", other.name(), literal(0)),
        }
    }
}

/// What a function turns the items into.
enum Outcome {
    /// A value.
    Sure(RustCode),
    /// A result, since an item may not be as the model says.
    Tried(RustCode),
}

impl Outcome {
    /// The value, after a failure has returned.
    fn tried(self) -> RustCode {
        match self {
            Outcome::Sure(code) => code,
            Outcome::Tried(RustCode::Chain(root, mut calls)) => {
                calls.pop();
                calls.push(plain(".collect::<Result<_, _>>()?"));
                RustCode::Chain(root, calls)
            }
            Outcome::Tried(code) => plain(format!("{}?", code.inline())),
        }
    }
}

/// The last expression of a function.
fn returned(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Sure(code) => statement(1, "", &RustCode::call("Ok(", vec![code.clone()], ")"), ""),
        Outcome::Tried(code) => statement(1, "", code, ""),
    }
}

/// All items as records.
fn each(items: &str, view: &View) -> RustCode {
    let read = format!(".map({})", ident(&view.reader));
    let calls = [".iter()", &read, ".collect()"].map(plain);
    match items.split_once('.') {
        Some((root, method)) => {
            RustCode::Chain(root.to_owned(), [vec![plain(format!(".{method}"))], calls.to_vec()].concat())
        }
        None => RustCode::Chain(items.to_owned(), calls.to_vec()),
    }
}

/// `PutItem` -> `.put_item()`.
fn method(operation: &str) -> RustCode {
    plain(format!(".{}()", snake(operation)))
}

/// `client….send().await?`.
fn sent(mut calls: Vec<RustCode>) -> RustCode {
    calls.extend([plain(".send()"), plain(".await?")]);
    RustCode::Chain("client".to_owned(), calls)
}

/// One action of a transaction.
fn transacted(depth: usize, kind: &str, members: Vec<RustCode>, of: &str) -> String {
    let calls = [members, vec![plain(".build()?")]].concat();
    let action = RustCode::Chain(format!("types::{kind}::builder()"), calls);
    let calls = vec![plain(format!(".{}(item)", snake(kind))), plain(".build()")];
    let item = RustCode::Chain(format!("types::{of}::builder()"), calls);
    let added = RustCode::call("request.transact_items(", vec![item], ")");
    statement(depth, "let item = ", &action, ";") + &statement(depth, "request = ", &added, ";")
}

/// Puts the answers of several requests in order.
fn merged(read: &Read) -> String {
    let (one, other) = if read.descending { ("b", "a") } else { ("a", "b") };
    let compared = |(name, kind): &(String, Kind)| {
        let at = match kind {
            Kind::Number | Kind::Integer => "number_at",
            Kind::Binary => "bytes_at",
            _ => "text_at",
        };
        let name = string(name);
        format!("{at}({one}, {name}).cmp(&{at}({other}, {name}))")
    };
    let all: Vec<String> = read.merge_by.iter().map(compared).collect();
    match all.split_first() {
        None => String::new(),
        Some((first, others)) => {
            let others: String = others.iter().map(|one| format!(".then_with(|| {one})")).collect();
            format!("    items.sort_by(|a, b| {first}{others});\n")
        }
    }
}

/// The optional fields that a value uses.
fn optional_fields(value: &Value, found: &mut Vec<(String, Kind)>) {
    match value {
        Value::Field { name, kind, optional: true, .. } => {
            if !found.iter().any(|(other, _)| other == name) {
                found.push((name.clone(), *kind));
            }
        }
        Value::Shard { of, .. } | Value::Next(of) | Value::Before(of) => optional_fields(of, found),
        Value::Key { arguments, .. } => arguments.iter().for_each(|one| optional_fields(one, found)),
        Value::Text(pieces) => {
            for piece in pieces {
                if let Piece::Field { value, .. } = piece {
                    optional_fields(value, found);
                }
            }
        }
        Value::Literal(_) | Value::Variable { .. } | Value::Field { .. } | Value::Random { .. } => {}
    }
}

/// The same with the names that optional fields have after they were looked at.
fn unwrapped(variable: &str, value: &Value, operator: Operator) -> Value {
    let inner = |of: &Value| Box::new(unwrapped(variable, of, operator));
    match value {
        Value::Field { name, kind, optional: true, .. } if operator != Operator::NotExists => {
            Value::Variable { name: local(variable, name), kind: *kind }
        }
        Value::Shard { of, count } => Value::Shard { of: inner(of), count: *count },
        Value::Next(of) => Value::Next(inner(of)),
        Value::Before(of) => Value::Before(inner(of)),
        Value::Key { builder, arguments } => {
            let arguments = arguments.iter().map(|one| *inner(one)).collect();
            Value::Key { builder: *builder, arguments }
        }
        Value::Text(pieces) => {
            let piece = |piece: &Piece| match piece {
                Piece::Field { value, form, width } => {
                    Piece::Field { value: *inner(value), form: *form, width: *width }
                }
                literal => literal.clone(),
            };
            Value::Text(pieces.iter().map(piece).collect())
        }
        other => other.clone(),
    }
}

/// What an optional field is called after it was looked at.
fn local(variable: &str, name: &str) -> String {
    let name = ident(name);
    if name == variable || name == map_of(variable) { name + "_value" } else { name }
}

/// What the item is called that a record of this name becomes.
fn map_of(variable: &str) -> &'static str {
    if variable == "item" { "stored" } else { "item" }
}

fn collections(text: &str) -> &'static str {
    match (text.contains("BTreeSet"), text.contains("HashMap")) {
        (true, true) => "use std::collections::{BTreeSet, HashMap};",
        (true, false) => "use std::collections::BTreeSet;",
        (false, true) => "use std::collections::HashMap;",
        (false, false) => "",
    }
}

/// What the SDK has for values and requests.
fn imports(header: &mut String, text: &str) {
    if text.contains("Blob::") {
        header.push_str("use aws_sdk_dynamodb::primitives::Blob;\n");
    }
    match (text.contains("types::"), text.contains("AttributeValue")) {
        (true, true) => header.push_str("use aws_sdk_dynamodb::types::{self, AttributeValue};\n"),
        (true, false) => header.push_str("use aws_sdk_dynamodb::types;\n"),
        (false, true) => header.push_str("use aws_sdk_dynamodb::types::AttributeValue;\n"),
        (false, false) => {}
    }
}

/// The first lines of a function.
fn head(name: &str, parameters: Vec<String>, result: &str) -> String {
    let line = format!("{name}({}) -> {result} {{\n", parameters.join(", "));
    if line.chars().count() <= 101 {
        return line;
    }
    let parameters: String = parameters.iter().map(|one| format!("    {one},\n")).collect();
    format!("{name}(\n{parameters}) -> {result} {{\n")
}

fn owned(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "String",
        Kind::Number => "Number",
        Kind::Integer => "i64",
        Kind::Bool => "bool",
        Kind::Binary => "Vec<u8>",
        Kind::TextSet => "BTreeSet<String>",
        Kind::NumberSet => "BTreeSet<Number>",
        Kind::BinarySet => "BTreeSet<Vec<u8>>",
        Kind::List => "Vec<AttributeValue>",
        Kind::Map => "HashMap<String, AttributeValue>",
    }
}

fn borrowed(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "&str",
        Kind::Number => "&Number",
        Kind::Integer => "i64",
        Kind::Bool => "bool",
        Kind::Binary => "&[u8]",
        Kind::TextSet => "&BTreeSet<String>",
        Kind::NumberSet => "&BTreeSet<Number>",
        Kind::BinarySet => "&BTreeSet<Vec<u8>>",
        Kind::List => "&[AttributeValue]",
        Kind::Map => "&HashMap<String, AttributeValue>",
    }
}

fn ident(name: &str) -> String {
    unreserved(name.to_owned(), &RESERVED)
}

fn type_name(record: &str) -> String {
    writer::type_name(record, &TYPES)
}
