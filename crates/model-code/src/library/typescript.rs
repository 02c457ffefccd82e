//! TypeScript with the document client of the JavaScript SDK version 3: interfaces or zod's schemas, and a class with a
//! method for each pattern.

use std::fmt::Write as _;

use item::Value as Stored;
use model::predicate::Operator;

use super::call::{Argument, Call, Row};
use super::case::{camel, pascal};
use super::writer::{self, Member, atom, indented, line, table_variable, unreserved, used_of};
use super::{
    Body, Each, EntityItem, Field, Found, Function, Kind, Library, Loop, Pages, Parameter, ParameterKind,
    Part, Piece, Read, ReadOperation, Record, Request, Source, Step, Test, TextForm, Value, Verb, Write,
    WrittenFunction,
};
use crate::javascript::{command, is_identifier, property, string};
use crate::layout::Doc;

const STEP: usize = 2;
const ITEM: &str = "Record<string, any>";

#[rustfmt::skip]
const RESERVED: [&str; 52] = [
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do",
    "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import",
    "in", "instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public", "return",
    "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
    "documents", "error", "failed", "page",
];

/// Types that the modules use, so that a record has another name.
const TYPES: [&str; 14] = [
    "AsyncGenerator",
    "ConditionFailed",
    "ConditionalCheckFailedException",
    "DynamoDBClient",
    "DynamoDBDocumentClient",
    "Error",
    "Page",
    "Promise",
    "QueryCommandOutput",
    "Record",
    "ScanCommandOutput",
    "Set",
    "TransactionCanceledException",
    "Uint8Array",
];

const PRELUDE: [(&str, &str); 8] = [
    (
        "Page<",
        "
/** A page, and where the next one begins; undefined after the last. */
export interface Page<Found> {
  items: Found;
  next?: Record<string, any>;
}
",
    ),
    (
        "failed(",
        "
/** A condition of a write did not hold, so nothing was written. */
export class ConditionFailed extends Error {
  /** `writes` are the positions of the writes whose condition it was: [0] if there is one write. */
  constructor(
    readonly pattern: string,
    readonly writes: number[],
    cause: Error,
  ) {
    super(`${pattern}: a condition did not hold`, { cause });
    this.name = \"ConditionFailed\";
  }
}

function failed(pattern: string, error: unknown): unknown {
  if (error instanceof ConditionalCheckFailedException) return new ConditionFailed(pattern, [0], error);
  if (!(error instanceof TransactionCanceledException)) return error;
  const reasons = error.CancellationReasons ?? [];
  const writes = reasons.flatMap(({ Code }, at) => (Code === \"ConditionalCheckFailed\" ? [at] : []));
  return writes.length > 0 ? new ConditionFailed(pattern, writes, error) : error;
}
",
    ),
    (
        "zeroPadded(",
        "
/** With zeros in front, after the sign if there is one. */
function zeroPadded(text: string, width: number): string {
  const sign = text.startsWith(\"-\") ? \"-\" : \"\";
  return sign + text.slice(sign.length).padStart(width, \"0\");
}
",
    ),
    (
        "shardOf(",
        "
function shardOf(text: string, count: number): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ((crc ^ 0xffffffff) >>> 0) % count;
}
",
    ),
    (
        "partsOf(",
        "
/** What is between the literals of a key. */
function partsOf(key: string, ...literals: string[]): string[] {
  let rest = key.slice(literals[0]!.length);
  return literals.slice(1).map((literal) => {
    const end = literal === \"\" ? -1 : rest.indexOf(literal);
    const part = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? \"\" : rest.slice(end + literal.length);
    return part;
  });
}
",
    ),
    (
        "before(",
        "
/** The last key before this text. */
function before(text: string): string {
  const points = [...text];
  const last = points.pop()!.codePointAt(0)!;
  return points.join(\"\") + String.fromCodePoint(Math.max(last - 1, 0)) + \"\\u{10ffff}\";
}
",
    ),
    (
        "ordered(",
        "
/** In the order of bytes, as keys are. */
function ordered(one: any, other: any): number {
  if (typeof one === \"number\") return one - other;
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
",
    ),
    (
        "untilDone(",
        "
/** Sends a batch, and what was left unprocessed again. */
async function untilDone(
  parts: { table: string; part: any }[],
  most: number,
  send: (left: Record<string, any[]>) => Promise<Record<string, any[]>>,
): Promise<void> {
  for (let begin = 0; begin < parts.length; begin += most) {
    let left: Record<string, any[]> = {};
    for (const { table, part } of parts.slice(begin, begin + most)) (left[table] ??= []).push(part);
    for (let attempt = 0; Object.keys(left).length > 0; attempt++) {
      if (attempt === 10) throw new Error(\"a part of the batch stayed unprocessed\");
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt));
      left = await send(left);
    }
  }
}
",
    ),
];

const COMMANDS: [&str; 10] = [
    "BatchGetCommand",
    "BatchWriteCommand",
    "DeleteCommand",
    "GetCommand",
    "PutCommand",
    "QueryCommand",
    "ScanCommand",
    "TransactGetCommand",
    "TransactWriteCommand",
    "UpdateCommand",
];

pub fn source(library: &Library) -> String {
    let script = TypeScript { library };
    let mut body = String::new();
    for record in library.records.iter().filter(|record| !record.fields.is_empty()) {
        body.push_str(&interface(record));
    }
    for (record, parts) in library.mixed() {
        let _ = write!(body, "\nexport interface {} {{\n", type_name(record));
        for part in parts {
            let _ = writeln!(body, "  {}: {}[];", ident(&part.name), type_name(&part.view.record));
        }
        body.push_str("}\n");
    }
    for builder in &library.keys {
        let parameters: Vec<String> = builder
            .parameters
            .iter()
            .map(|(name, kind)| format!("{}: {}", ident(name), type_of(*kind, &[])))
            .collect();
        let _ = write!(
            body,
            "\n/** {} */\nexport function {}({}): string {{\n  return {};\n}}\n",
            comment(&builder.comment),
            ident(&builder.name),
            parameters.join(", "),
            script.text(&builder.pieces)
        );
    }
    for entity in library.entities.iter().filter(|entity| !entity.attributes.is_empty()) {
        body.push_str(&script.item_writer(entity));
    }
    for reader in &library.readers {
        let members =
            reader.fields.iter().map(|field| Doc::named(format!("{}: ", ident(&field.name)), read(field)));
        let doc = object("return {", members.collect(), "};");
        let _ = write!(
            body,
            "\nexport function {}(item: {ITEM}): {} {{\n{}}}\n",
            ident(&reader.name),
            type_name(&reader.record),
            line(&doc, 1, STEP)
        );
    }
    body.push_str(&script.class());
    let body = used_of(&body, &PRELUDE) + &body;
    script.header(&body) + &body
}

/// A module whose `calls` has a call for each pattern.
pub fn calls(library: &Library, calls: &[Call]) -> String {
    let class = class_name(library);
    let mut text =
        format!("export const calls: Record<string, (library: {class}) => Promise<unknown>> = {{\n");
    for (call, _, function, _) in library.called(calls) {
        let arguments = call.arguments.iter().map(|argument| argument_doc(library, argument)).collect();
        let open = format!("{}: (library) => library.{}(", string(&call.pattern), ident(&function.name));
        let printed = line(&group(&open, arguments, ")"), 1, STEP);
        let _ = writeln!(text, "{},", printed.trim_end());
    }
    format!(
        "// Each function of {} with values of the example data.\n\nimport {{ {class} }} from \"./{}.js\";\n\n{text}}};\n",
        library.name, library.name
    )
}

fn argument_doc(library: &Library, argument: &Argument) -> Doc {
    match argument {
        Argument::Value(value) => stored(value),
        Argument::Record(row) => row_doc(library, row),
        Argument::Records(rows) => group("[", rows.iter().map(|row| row_doc(library, row)).collect(), "]"),
        Argument::Limit(limit) => atom(limit.to_string()),
        Argument::Start => atom("undefined"),
    }
}

fn row_doc(library: &Library, row: &Row) -> Doc {
    let fields = library.record(&row.record).map(|record| record.fields.as_slice()).unwrap_or_default();
    let members = fields.iter().zip(&row.values).filter_map(|(field, value)| {
        Some(Doc::named(format!("{}: ", ident(&field.name)), stored(value.as_ref()?)))
    });
    object("{", members.collect(), "}")
}

fn interface(record: &Record) -> String {
    let mut text = String::from("\n");
    if !record.comment.is_empty() {
        let _ = writeln!(text, "/** {} */", comment(&record.comment));
    }
    let _ = writeln!(text, "export interface {} {{", type_name(&record.name));
    for field in &record.fields {
        if let Some(note) = field.note {
            let _ = writeln!(text, "  /** {note} */");
        }
        let optional = if field.optional { "?" } else { "" };
        let _ = writeln!(text, "  {}{optional}: {};", ident(&field.name), type_of(field.kind, &field.values));
    }
    text + "}\n"
}

/// The class whose methods are the patterns.
fn class_name(library: &Library) -> String {
    let name = type_name(&pascal(&library.name));
    let is_taken = library.records.iter().any(|record| type_name(&record.name) == name);
    if is_taken { format!("{name}Table") } else { name }
}

struct TypeScript<'l> {
    library: &'l Library,
}

impl TypeScript<'_> {
    fn header(&self, text: &str) -> String {
        let mut imports: Vec<&str> = vec!["DynamoDBDocumentClient"];
        let is_used = |command: &&str| text.contains(&format!("new {command}("));
        imports.extend(COMMANDS.into_iter().filter(is_used));
        let outputs = ["type QueryCommandOutput", "type ScanCommandOutput"];
        imports.extend(outputs.into_iter().filter(|output| text.contains(&output["type".len()..])));
        let imports =
            object("import {", imports.into_iter().map(atom).collect(), "} from \"@aws-sdk/lib-dynamodb\";");
        let mut clients = vec!["DynamoDBClient"];
        let errors = ["ConditionalCheckFailedException", "TransactionCanceledException"];
        clients.extend(errors.into_iter().filter(|error| text.contains(error)));
        let clients = object(
            "import {",
            clients.into_iter().map(atom).collect(),
            "} from \"@aws-sdk/client-dynamodb\";",
        );
        let description = self.library.description.as_deref().map(|text| format!(": {}", comment(text)));
        let mut header = format!(
            "// The access patterns of {}{}.\n// Written by `lodestone model code`.\n\n\
             {}{}",
            comment(&self.library.title),
            description.unwrap_or_default().trim_end_matches('.'),
            line(&clients, 0, STEP),
            line(&imports, 0, STEP),
        );
        header.truncate(header.trim_end().len());
        header + "\n"
    }

    /// The class with the client, the tables' names, and a method for each pattern.
    fn class(&self) -> String {
        let client = "DynamoDBDocumentClient.from(new DynamoDBClient({}))";
        let mut text = format!(
            "\n/** The access patterns, on a document client and tables of these names. */\nexport class {} {{\n  \
             constructor(\n    private readonly documents: DynamoDBDocumentClient = {client},\n",
            class_name(self.library)
        );
        for table in &self.library.tables {
            let variable = camel(&table_variable(self.library, table));
            let _ = writeln!(text, "    private readonly {variable} = {},", string(table));
        }
        text.push_str("  ) {}\n");
        for function in &self.library.functions {
            text.push_str(&indented(&self.function(function), STEP));
        }
        text + "}\n"
    }

    fn item_writer(&self, entity: &EntityItem) -> String {
        let variable = ident(&entity.name);
        let item = if variable == "item" { "stored" } else { "item" };
        let (always, tested) = entity.divided();
        let members = always.iter().map(|one| member(&one.attribute, self.value(&one.value)));
        let doc = object(&format!("const {item}: {ITEM} = {{"), members.collect(), "};");
        let mut text = format!(
            "\nexport function {}ToItem({variable}: {}): {ITEM} {{\n{}",
            camel(&entity.name),
            type_name(&entity.record),
            line(&doc, 1, STEP)
        );
        for run in tested {
            let _ = writeln!(text, "  if ({}) {{", self.tests(&run[0].when));
            for one in run {
                let doc =
                    Doc::named(format!("{item}{} = ", property(&one.attribute)), self.value(&one.value));
                text.push_str(&ended(&doc, 2));
            }
            text.push_str("  }\n");
        }
        text + &format!("  return {item};\n}}\n")
    }

    fn function(&self, function: &Function) -> String {
        let written = match &function.written {
            Ok(written) => written,
            Err(why) => {
                return format!("\n// {}: no function, because {}.\n", function.pattern, comment(why));
            }
        };
        let (result, mut body) = self.body(&written.body, 1);
        if written.has_condition() {
            let pattern = string(&function.pattern);
            body = format!(
                "  try {{\n{}  }} catch (error) {{\n    throw failed({pattern}, error);\n  }}\n",
                indented(&body, STEP)
            );
        }
        let head = group(
            &format!("async {}(", ident(&function.name)),
            self.parameters(written, |_| true),
            &format!("): Promise<{result}> {{"),
        );
        let comments: Vec<String> = function.comments.iter().map(|line| comment(line)).collect();
        let comments = format!("\n/**\n * {}\n */\n", comments.join("\n * "));
        let pages = self.pages(function, written, &result);
        format!("{comments}{}{body}}}\n{pages}", line(&head, 0, STEP))
    }

    fn parameters(&self, written: &WrittenFunction, wanted: impl Fn(&Parameter) -> bool) -> Vec<Doc> {
        let all = written.with_defaults().filter(|(parameter, _)| wanted(parameter));
        let parameters = all.map(|(parameter, may_be_left_out)| {
            let name = ident(&parameter.name);
            atom(match &parameter.kind {
                ParameterKind::Value { kind, values, default } => {
                    let default = default.as_ref().filter(|_| may_be_left_out);
                    let default = default.map(|one| format!(" = {}", stored(one).text(0, 0, STEP)));
                    format!("{name}: {}{}", type_of(*kind, values), default.unwrap_or_default())
                }
                ParameterKind::Record(record) => format!("{name}: {}", type_name(record)),
                ParameterKind::Records(record) => format!("{name}: {}[]", type_name(record)),
                ParameterKind::Limit(limit) => format!("{name} = {limit}"),
                ParameterKind::Start => format!("{name}?: {ITEM}"),
            })
        });
        parameters.collect()
    }

    /// A second method for a pattern that is read by pages: all of them, one request each.
    fn pages(&self, function: &Function, written: &WrittenFunction, result: &str) -> String {
        let found = result.strip_prefix("Page<").and_then(|rest| rest.strip_suffix('>'));
        let Some(found) = found else { return String::new() };
        let name = ident(&function.name);
        let asked = self.parameters(written, |parameter| parameter.kind != ParameterKind::Start);
        let head = group(&format!("async *{name}Pages("), asked, &format!("): AsyncGenerator<{found}> {{"));
        let given: Vec<String> = written.parameters.iter().map(|parameter| ident(&parameter.name)).collect();
        format!(
            "\n/** All pages of `{name}`, one request each. */\n{}  let start: {ITEM} | undefined;\n  do {{\n    \
             const page: {result} = await this.{name}({});\n    yield page.items;\n    start = page.next;\n  \
             }} while (start);\n}}\n",
            line(&head, 0, STEP),
            given.join(", ")
        )
    }

    fn body(&self, body: &Body, depth: usize) -> (String, String) {
        let none = "void".to_owned();
        let result = |found: &Found| {
            let (kind, result) = self.found(found, "items");
            (kind, ended(&Doc::named("return ", result), depth))
        };
        match body {
            Body::Read(read) => self.read(read),
            Body::Write(write) => {
                let members = self.members(&write.request, self.item(write));
                (none, ended(&send("", &command(write.verb.operation()), members), depth))
            }
            Body::Either { tests, then, otherwise } => {
                let indent = " ".repeat(depth * STEP);
                let (_, then) = self.body(then, depth + 1);
                let (_, otherwise) = self.body(otherwise, depth + 1);
                let tests = self.tests(tests);
                (none, format!("{indent}if ({tests}) {{\n{then}{indent}}} else {{\n{otherwise}{indent}}}\n"))
            }
            Body::Transaction(steps) => {
                let items = self.steps(steps, |write| {
                    let members = self.members(&write.request, self.item(write));
                    let action = format!("{}: ", write.verb.action());
                    object("{", vec![Doc::named(action, object("{", members, "}"))], "}")
                });
                let items = Doc::named("TransactItems: ", group("[", items, "]"));
                (none, ended(&send("", "TransactWriteCommand", vec![items]), depth))
            }
            Body::BatchWrite(steps) => {
                let parts = self.steps(steps, |write| {
                    let request = match self.item(write) {
                        Some(item) => {
                            Doc::named("PutRequest: ", object("{", vec![Doc::named("Item: ", item)], "}"))
                        }
                        None => {
                            let key = Doc::named("Key: ", self.map(&write.request.key));
                            Doc::named("DeleteRequest: ", object("{", vec![key], "}"))
                        }
                    };
                    self.part(&write.request.table, object("{", vec![request], "}"))
                });
                let parts = ended(&group("const parts = [", parts, "]"), depth);
                let send = "  await untilDone(parts, 25, async (RequestItems) => {\n    \
                            const answer = await this.documents.send(new BatchWriteCommand({ RequestItems }));\n    \
                            return (answer.UnprocessedItems ?? {}) as Record<string, any[]>;\n  });\n";
                (none, parts + send)
            }
            Body::TransactionGet { steps, found } => {
                let items = self.steps(steps, |get| {
                    let members = vec![
                        Doc::named("TableName: ", atom(self.table_named(&get.table))),
                        Doc::named("Key: ", self.map(&get.key)),
                    ];
                    object("{", vec![Doc::named("Get: ", object("{", members, "}"))], "}")
                });
                let items = Doc::named("TransactItems: ", group("[", items, "]"));
                let call = ended(&send("const answer = ", "TransactGetCommand", vec![items]), depth);
                let kept =
                    "  const items = (answer.Responses ?? []).flatMap(({ Item }) => (Item ? [Item] : []));\n";
                let (kind, result) = result(found);
                (kind, call + kept + &result)
            }
            Body::BatchGet { steps, found } => {
                let keys = self.steps(steps, |get| self.part(&get.table, self.map(&get.key)));
                let keys = ended(&group("const keys = [", keys, "]"), depth);
                let consistent = match steps.iter().any(|step| step.action.consistent) {
                    true => ", ConsistentRead: true",
                    false => "",
                };
                let read = format!(
                    "  const items: {ITEM}[] = [];\n  await untilDone(keys, 100, async (left) => {{\n    \
                     const RequestItems = Object.fromEntries(\n      \
                     Object.entries(left).map(([table, Keys]) => [table, {{ Keys{consistent} }}]),\n    );\n    \
                     const answer = await this.documents.send(new BatchGetCommand({{ RequestItems }}));\n    \
                     for (const found of Object.values(answer.Responses ?? {{}})) items.push(...found);\n    \
                     return Object.fromEntries(\n      \
                     Object.entries(answer.UnprocessedKeys ?? {{}}).map(([table, {{ Keys }}]) => [table, Keys ?? []]),\n    \
                     );\n  }});\n"
                );
                let (kind, result) = result(found);
                (kind, keys + &read + &result)
            }
        }
    }

    fn steps<T>(&self, steps: &[Step<T>], one: impl Fn(&T) -> Doc) -> Vec<Doc> {
        let step = |step: &Step<T>| match &step.each {
            None => one(&step.action),
            Some(Each { list, element, .. }) => {
                let inner = one(&step.action);
                let inner = match &inner {
                    Doc::Group { open, .. } if open == "{" => parenthesised(inner),
                    _ => inner,
                };
                let open = format!("...{}.map(({}) => ", ident(list), ident(element));
                Doc::Named(open, Box::new(closed(inner, ")")))
            }
        };
        steps.iter().map(step).collect()
    }

    fn read(&self, read: &Read) -> (String, String) {
        let command = &command(read.operation.name());
        let members = self.members(&read.request, None);
        if read.loops.is_empty() && read.pages != Pages::All {
            return self.read_once(read, command, members);
        }
        let counts = matches!(read.found, Found::Count);
        let mut text =
            if counts { "  let count = 0;\n".to_owned() } else { format!("  const items: {ITEM}[] = [];\n") };
        let mut depth = 1;
        for one in &read.loops {
            let indent = " ".repeat(depth * STEP);
            let _ = match one {
                Loop::Shards { variable, count } => {
                    let name = ident(variable);
                    writeln!(text, "{indent}for (let {name} = 0; {name} < {count}; {name}++) {{")
                }
                Loop::Values { variable, values, .. } => {
                    let values = group("[", values.iter().map(|value| self.value(value)).collect(), "]");
                    let values = values.text(depth * STEP, depth * STEP, STEP);
                    writeln!(text, "{indent}for (const {} of {values}) {{", ident(variable))
                }
            };
            depth += 1;
        }
        let add = match (read.operation, counts) {
            (ReadOperation::Get, _) => "if (answer.Item) items.push(answer.Item);",
            (_, true) => "count += answer.Count ?? 0;",
            (_, false) => "items.push(...(answer.Items ?? []));",
        };
        let indent = " ".repeat(depth * STEP);
        if read.pages == Pages::All {
            let _ = write!(text, "{indent}let start: {ITEM} | undefined;\n{indent}do {{\n");
            let members = members.into_iter().chain([atom("ExclusiveStartKey: start")]).collect();
            let open = format!("const answer: {command}Output = ");
            text.push_str(&ended(&send(&open, command, members), depth + 1));
            let _ = write!(
                text,
                "{indent}  {add}\n{indent}  start = answer.LastEvaluatedKey;\n{indent}}} while (start);\n"
            );
        } else {
            text.push_str(&ended(&send("const answer = ", command, members), depth));
            let _ = writeln!(text, "{indent}{add}");
        }
        for depth in (1..depth).rev() {
            let _ = writeln!(text, "{}}}", " ".repeat(depth * STEP));
        }
        if counts {
            return ("number".to_owned(), text + "  return count;\n");
        }
        let (one, other) = if read.descending { ("b", "a") } else { ("a", "b") };
        let keys: Vec<String> = read
            .merge_by
            .iter()
            .map(|(name, _)| format!("ordered({one}{}, {other}{})", property(name), property(name)))
            .collect();
        if !keys.is_empty() {
            let _ = writeln!(text, "  items.sort((a, b) => {});", keys.join(" || "));
        }
        let (kind, result) =
            self.found(&read.found, if read.cut { "items.slice(0, limit)" } else { "items" });
        (kind, text + &ended(&Doc::named("return ", result), 1))
    }

    fn read_once(&self, read: &Read, command: &str, mut members: Vec<Doc>) -> (String, String) {
        members.extend(read.request.starts.then(|| atom("ExclusiveStartKey: start")));
        let text = ended(&send("const answer = ", command, members), 1);
        let (kind, result) = match (&read.found, read.operation) {
            (Found::Count, _) => ("number".to_owned(), atom("answer.Count ?? 0")),
            (Found::One(view), ReadOperation::Get) => (
                format!("{} | undefined", type_name(&view.record)),
                atom(format!("answer.Item && {}(answer.Item)", ident(&view.reader))),
            ),
            (found, _) => {
                let (kind, result) = self.found(found, "items");
                let result = match read.pages {
                    Pages::Next => object(
                        "{",
                        vec![Doc::named("items: ", result), atom("next: answer.LastEvaluatedKey")],
                        "}",
                    ),
                    _ => result,
                };
                let kind = if read.pages == Pages::Next { format!("Page<{kind}>") } else { kind };
                let text = text + "  const items = answer.Items ?? [];\n";
                return (kind, text + &ended(&Doc::named("return ", result), 1));
            }
        };
        (kind, text + &ended(&Doc::named("return ", result), 1))
    }

    fn found(&self, found: &Found, items: &str) -> (String, Doc) {
        match found {
            Found::Count => ("number".to_owned(), atom(format!("{items}.length"))),
            Found::One(view) => (
                format!("{} | undefined", type_name(&view.record)),
                atom(format!("{items}.map({})[0]", ident(&view.reader))),
            ),
            Found::Many(view) => (
                format!("{}[]", type_name(&view.record)),
                atom(format!("{items}.map({})", ident(&view.reader))),
            ),
            Found::Mixed { record, parts } => {
                let part = |part: &Part| {
                    let (key, text) = (property(&part.is.attribute), string(&part.is.text));
                    let is = match part.is.begins {
                        true => format!("item{key}.startsWith({text})"),
                        false => format!("item{key} === {text}"),
                    };
                    let of = format!("{items}.filter((item) => {is}).map({})", ident(&part.view.reader));
                    Doc::named(format!("{}: ", ident(&part.name)), atom(of))
                };
                (type_name(record), object("{", parts.iter().map(part).collect(), "}"))
            }
        }
    }

    fn item(&self, write: &Write) -> Option<Doc> {
        let Verb::Put { entity, variable, with, .. } = &write.verb else { return None };
        let mut of = ident(variable);
        if !with.is_empty() {
            let with: Vec<String> = with
                .iter()
                .map(|(name, value)| format!(", {}: {}", ident(name), self.inline(value)))
                .collect();
            of = format!("{{ ...{of}{} }}", with.concat());
        }
        Some(atom(format!("{}ToItem({of})", camel(&self.library.entities[*entity].name))))
    }

    /// A part of a batch, with its table.
    fn part(&self, table: &str, part: Doc) -> Doc {
        let table = Doc::named("table: ", atom(self.table_named(table)));
        object("{", vec![table, Doc::named("part: ", part)], "}")
    }

    fn table(&self, request: &Request) -> String {
        self.table_named(&request.table)
    }

    fn table_named(&self, table: &str) -> String {
        format!("this.{}", camel(&table_variable(self.library, table)))
    }

    fn members(&self, request: &Request, item: Option<Doc>) -> Vec<Doc> {
        let doc = |one| match one {
            Member::Text(text) => atom(string(text)),
            Member::Flag(flag) => atom(flag.to_string()),
            Member::Item(item) => item,
            Member::Values(values) => self.map(values),
            Member::Names(names) => {
                let names = names.iter().map(|(alias, name)| member(alias, atom(string(name))));
                object("{", names.collect(), "}")
            }
            Member::Count => atom("\"COUNT\""),
            Member::Limit => atom("limit"),
        };
        let members = request.members(item).into_iter().map(|(name, one)| member(name, doc(one)));
        [member("TableName", atom(self.table(request)))].into_iter().chain(members).collect()
    }

    fn map(&self, entries: &[(String, Value)]) -> Doc {
        object("{", entries.iter().map(|(name, value)| member(name, self.value(value))).collect(), "}")
    }

    fn tests(&self, tests: &[Test]) -> String {
        let test = |test: &Test| {
            let value = self.inline(&test.value);
            let operand =
                |at: usize| test.operands.get(at).map(|one| stored(one).text(0, 0, STEP)).unwrap_or_default();
            match test.operator {
                Operator::Exists => format!("{value} !== undefined"),
                Operator::NotExists => format!("{value} === undefined"),
                Operator::BeginsWith => format!("{value}.startsWith({})", operand(0)),
                Operator::Contains => format!("{value}.includes({})", operand(0)),
                Operator::Between => format!("{value} >= {} && {value} <= {}", operand(0), operand(1)),
                Operator::In => {
                    let all: Vec<String> =
                        (0..test.operands.len()).map(|at| format!("{value} === {}", operand(at))).collect();
                    format!("({})", all.join(" || "))
                }
                Operator::Equal => format!("{value} === {}", operand(0)),
                Operator::NotEqual => format!("{value} !== {}", operand(0)),
                other => format!("{value} {} {}", other.name(), operand(0)),
            }
        };
        tests.iter().map(test).collect::<Vec<_>>().join(" && ")
    }

    fn inline(&self, value: &Value) -> String {
        self.value(value).text(0, 0, STEP)
    }

    fn value(&self, value: &Value) -> Doc {
        match value {
            Value::Literal(literal) => stored(literal),
            Value::Variable { name, .. } => atom(ident(name)),
            Value::Field { of, name, .. } => atom(format!("{}.{}", ident(of), ident(name))),
            Value::Shard { of, count } => atom(format!("shardOf({}, {count})", self.plain(of))),
            Value::Random { count } => atom(format!("Math.floor(Math.random() * {count})")),
            Value::Next(inner) => atom(format!("{} + 1", self.inline(inner))),
            Value::Key { builder, arguments } => {
                let name = ident(&self.library.keys[*builder].name);
                group(&format!("{name}("), arguments.iter().map(|one| self.value(one)).collect(), ")")
            }
            Value::Text(pieces) => atom(self.text(pieces)),
            Value::Before(inner) => atom(format!("before({})", self.inline(inner))),
        }
    }

    fn plain(&self, value: &Value) -> String {
        let text = self.inline(value);
        match value.kind() {
            Kind::Number | Kind::Integer | Kind::Bool => format!("String({text})"),
            Kind::Binary => format!("Buffer.from({text}).toString(\"hex\")"),
            _ => text,
        }
    }

    fn text(&self, pieces: &[Piece]) -> String {
        if let [Piece::Field { value, form: TextForm::Plain, width: None }] = pieces {
            return self.plain(value);
        }
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => {
                inside(text).replace('`', "\\`").replace("${", "\\${").replace("\\\"", "\"")
            }
            Piece::Field { value, form, width } => {
                let inner = match (form, width) {
                    (TextForm::Descending(digits), _) => {
                        let text = format!("String({} - {})", "9".repeat(*digits), self.inline(value));
                        format!("{text}.padStart({digits}, \"0\")")
                    }
                    (TextForm::Lower, _) => format!("{}.toLowerCase()", self.plain(value)),
                    (TextForm::Prefix(length), _) => format!("{}.slice(0, {length})", self.plain(value)),
                    (TextForm::Plain, None) if value.kind() != Kind::Binary => self.inline(value),
                    (TextForm::Plain, _) => self.plain(value),
                };
                match width {
                    Some(width) => format!("${{zeroPadded({inner}, {width})}}"),
                    None => format!("${{{inner}}}"),
                }
            }
        };
        format!("`{}`", pieces.iter().map(piece).collect::<String>())
    }
}

fn read(field: &Field) -> Doc {
    atom(match &field.source {
        Source::Attribute => format!("item{}", property(&field.attribute)),
        Source::Key { key, literals, position, descending } => {
            let literals: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
            let part = format!("partsOf(item{}, {})[{position}]!", property(key), literals.join(", "));
            match (descending, field.kind) {
                (Some(digits), _) => format!("{} - Number({part})", "9".repeat(*digits)),
                (None, Kind::Integer | Kind::Number) => format!("Number({part})"),
                (None, Kind::Bool) => format!("{part} === \"true\""),
                (None, Kind::Binary) => format!("Buffer.from({part}, \"hex\")"),
                (None, Kind::Text) if !field.values.is_empty() => {
                    format!("{part} as {}", type_of(field.kind, &field.values))
                }
                (None, _) => part,
            }
        }
    })
}

/// `documents.send(new QueryCommand({ … }))`.
fn send(before: &str, command: &str, members: Vec<Doc>) -> Doc {
    let open = format!("{before}await this.documents.send(new {command}(");
    Doc::Named(open, Box::new(closed(object("{", members, "}"), "))")))
}

/// A statement.
fn ended(doc: &Doc, depth: usize) -> String {
    line(&closed(doc.clone(), ";"), depth, STEP)
}

/// The same with more text behind it.
fn closed(doc: Doc, more: &str) -> Doc {
    match doc {
        Doc::Atom(text) => Doc::Atom(text + more),
        Doc::Named(name, inner) => Doc::Named(name, Box::new(closed(*inner, more))),
        Doc::Group { open, items, close, space, comma } => {
            Doc::Group { open, items, close: close + more, space, comma }
        }
    }
}

fn parenthesised(doc: Doc) -> Doc {
    Doc::Named("(".to_owned(), Box::new(closed(doc, ")")))
}

fn object(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    Doc::Group { open: open.to_owned(), items, close: close.to_owned(), space: true, comma: true }
}

fn group(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    Doc::Group { open: open.to_owned(), items, close: close.to_owned(), space: false, comma: true }
}

fn member(name: &str, doc: Doc) -> Doc {
    let name = if is_identifier(name) { name.to_owned() } else { string(name) };
    Doc::named(format!("{name}: "), doc)
}

fn type_of(kind: Kind, values: &[String]) -> String {
    match kind {
        Kind::Text if !values.is_empty() => {
            return values.iter().map(|value| string(value)).collect::<Vec<_>>().join(" | ");
        }
        Kind::Text => "string",
        Kind::Number | Kind::Integer => "number",
        Kind::Bool => "boolean",
        Kind::Binary => "Uint8Array",
        Kind::TextSet => "Set<string>",
        Kind::NumberSet => "Set<number>",
        Kind::BinarySet => "Set<Uint8Array>",
        Kind::List => "any[]",
        Kind::Map => "Record<string, any>",
    }
    .to_owned()
}

fn ident(name: &str) -> String {
    unreserved(camel(name), &RESERVED)
}

fn type_name(record: &str) -> String {
    writer::type_name(record, &TYPES)
}

fn stored(value: &Stored) -> Doc {
    let bytes = |bytes: &[u8]| {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        format!("new Uint8Array([{}])", numbers.join(", "))
    };
    match value {
        Stored::S(text) => atom(string(text)),
        Stored::N(number) => atom(number.to_string()),
        Stored::B(one) => atom(bytes(one)),
        Stored::Bool(flag) => atom(flag.to_string()),
        Stored::Null => atom("null"),
        Stored::Ss(members) => {
            group("new Set([", members.iter().map(|one| atom(string(one))).collect(), "])")
        }
        Stored::Ns(members) => {
            group("new Set([", members.iter().map(|one| atom(one.to_string())).collect(), "])")
        }
        Stored::Bs(members) => group("new Set([", members.iter().map(|one| atom(bytes(one))).collect(), "])"),
        Stored::L(elements) => group("[", elements.iter().map(stored).collect(), "]"),
        Stored::M(entries) => {
            object("{", entries.iter().map(|(name, one)| member(name, stored(one))).collect(), "}")
        }
    }
}

fn inside(text: &str) -> String {
    let quoted = string(text);
    quoted[1..quoted.len() - 1].to_owned()
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}
