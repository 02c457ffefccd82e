//! Go with the SDK version 2.

mod layout;
mod prelude;
mod values;

use std::fmt::Write as _;

use model::predicate::Operator;

use super::call::{Argument, Call, Row};
use super::case::{free, pascal};
use super::writer::{Member, atom, list, table_variable, unreserved, used_of};
use super::{
    Body, EntityItem, Field, Found, Function, Kind, Library, Loop, Pages, ParameterKind, Part, Read,
    ReadOperation, Reader, Record, Request, Source, Step, Test, Value, Verb, View, Write,
};
use crate::layout::Doc;
use layout::line;
use values::{attribute_value, string, typed};

const ITEM: &str = "map[string]types.AttributeValue";
const CONTEXT: &str = "ctx context.Context, client *dynamodb.Client";

/// Words of the language, its own names, packages, and what functions here call things of their own.
#[rustfmt::skip]
const RESERVED: [&str; 104] = [
    "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go",
    "goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type",
    "var", "any", "append", "bool", "byte", "cap", "clear", "close", "complex", "copy", "error", "false", "imag",
    "int", "int32", "int64", "iota", "len", "make", "max", "min", "new", "nil", "panic", "print", "println", "real",
    "recover", "rune", "string", "true", "bytes", "context", "crc32", "dynamodb", "errors", "big", "fmt", "hex",
    "rand", "reflect", "sort", "strconv", "strings", "time", "types", "utf8", "actions", "add", "batchGet",
    "batchWrite", "beginning", "before", "compareNumbers", "contains", "ctx", "delete", "digitsOf", "distance", "err",
    "increment", "init", "nextVersion", "numberText", "optional", "padded", "pages", "pointer", "readAll",
    "readFirst", "readOne", "reader", "response", "shardOf", "sortItems", "stored", "tableKey", "tableWrite", "textOf",
    "uint8",
];

/// Words that Go writes in capitals.
const INITIALISMS: [&str; 14] =
    ["api", "http", "id", "ip", "json", "pk", "sk", "sql", "ttl", "ulid", "uri", "url", "utc", "uuid"];

/// Packages of the standard library, and what is used of them: a comment may end in "this time.".
const IMPORTS: [(&str, &[&str]); 14] = [
    ("bytes", &["bytes.Compare("]),
    ("context", &["context.Context"]),
    ("encoding/hex", &["hex.EncodeToString(", "hex.DecodeString("]),
    ("errors", &["errors.New("]),
    ("fmt", &["fmt.Errorf("]),
    ("hash/crc32", &["crc32.ChecksumIEEE("]),
    ("math/big", &["big.Rat", "big.Int)"]),
    ("math/rand", &["rand.Int63n("]),
    ("reflect", &["reflect.DeepEqual("]),
    ("sort", &["sort.SliceStable("]),
    ("strconv", &["strconv.FormatInt(", "strconv.FormatBool(", "strconv.ParseInt("]),
    (
        "strings",
        &["strings.ToLower(", "strings.HasPrefix(", "strings.Contains(", "strings.Trim", "strings.Compare("],
    ),
    ("time", &["time.After("]),
    ("unicode/utf8", &["utf8.DecodeLastRuneInString("]),
];

pub fn source(library: &Library) -> String {
    let go = Go::new(library);
    let mut body = String::new();
    let is_mixed = |record: &&Record| library.mixed().any(|(name, _)| name == record.name);
    for record in library.records.iter().filter(|record| !is_mixed(record)) {
        body.push_str(&structure(record));
    }
    for (record, parts) in library.mixed() {
        let members: Vec<_> = parts
            .iter()
            .map(|part| (exported(&part.name), format!("[]{}", type_name(&part.view.record)), None))
            .collect();
        let _ = write!(body, "\ntype {} struct {{\n{}}}\n", type_name(record), layout::members(&members));
    }
    for (builder, name) in library.keys.iter().zip(&go.keys) {
        let parameters: Vec<String> = builder
            .parameters
            .iter()
            .map(|(name, kind)| format!("{} {}", ident(name), type_of(*kind, false)))
            .collect();
        let _ = write!(
            body,
            "\n// {name} is {}\nfunc {name}({}) string {{\n\treturn {}\n}}\n",
            builder.comment,
            parameters.join(", "),
            go.text(&builder.pieces)
        );
    }
    for (entity, name) in library.entities.iter().zip(&go.writers) {
        if !entity.attributes.is_empty() {
            body.push_str(&go.item_writer(entity, name));
        }
    }
    for (reader, name) in library.readers.iter().zip(&go.readers) {
        body.push_str(&item_reader(reader, name));
    }
    for (function, name) in library.functions.iter().zip(&go.functions) {
        body.push_str(&go.function(function, name));
    }
    let all = [prelude::VALUES.as_slice(), prelude::REQUESTS.as_slice()].concat();
    // The package's file of calls has pointers to values.
    let is_pointer = |field: &Field| field.optional && is_scalar(field.kind);
    let pointers = library.records.iter().any(|record| record.fields.iter().any(is_pointer));
    let used =
        used_of(&format!("{body}{}", if pointers { "pointer(" } else { "" }), &all).replace("    ", "\t");
    let (number, used) = match used.strip_prefix(prelude::VALUES[0].1) {
        Some(rest) => (prelude::VALUES[0].1, rest),
        None => ("", used.as_str()),
    };
    let mut tables = String::new();
    for (table, name) in library.tables.iter().zip(&go.tables) {
        let _ =
            writeln!(tables, "\n// {name} is a table's name; another may be set before requests are sent.");
        let _ = writeln!(tables, "var {name} = {}", string(table));
    }
    let text = format!("{tables}{number}{body}{used}");
    let described = library.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    format!(
        "// Package {package} has the access patterns of {}{}.\n// Written by `lodestone model code`.\npackage {package}\n{}{text}",
        library.title,
        described.trim_end_matches('.'),
        imports(&text),
        package = go.package(),
    )
}

/// A file of the same package, whose `Calls` has a call for each pattern.
pub fn calls(library: &Library, calls: &[Call]) -> String {
    let go = Go::new(library);
    let mut text = format!(
        "\n// Calls has each function with values of the example data.\nvar Calls = map[string]func({CONTEXT}) (any, error){{\n"
    );
    for (call, position, _, written) in library.called(calls) {
        let name = &go.functions[position];
        let arguments = call.arguments.iter().zip(&written.parameters).map(|(argument, parameter)| {
            let kind = match &parameter.kind {
                ParameterKind::Value { kind, .. } => *kind,
                _ => Kind::Text,
            };
            argument_doc(library, argument, kind)
        });
        let arguments: Vec<Doc> = [atom("ctx"), atom("client")].into_iter().chain(arguments).collect();
        let sent = |before: &str| line(&list(&format!("{before}{name}("), arguments.clone(), ")"), 2);
        let returned = match &written.body {
            Body::Read(Read { pages: Pages::Next, .. }) => {
                sent("found, _, err := ") + "\t\treturn found, err\n"
            }
            Body::Read(_) | Body::BatchGet { .. } | Body::TransactionGet { .. } => sent("return "),
            _ => sent("return nil, "),
        };
        let _ =
            write!(text, "\t{}: func({CONTEXT}) (any, error) {{\n{returned}\t}},\n", string(&call.pattern));
    }
    text.push_str("}\n");
    format!("package {}\n{}{text}", go.package(), imports(&text))
}

fn imports(text: &str) -> String {
    let is_used = |names: &[&str]| names.iter().any(|name| text.contains(name));
    let standard: Vec<&str> =
        IMPORTS.into_iter().filter(|(_, names)| is_used(names)).map(|(path, _)| path).collect();
    let sdk = [
        ("github.com/aws/aws-sdk-go-v2/service/dynamodb", "*dynamodb.Client"),
        ("github.com/aws/aws-sdk-go-v2/service/dynamodb/types", "types.AttributeValue"),
    ];
    let sdk: Vec<&str> =
        sdk.into_iter().filter(|(_, name)| text.contains(name)).map(|(path, _)| path).collect();
    let group = |paths: &[&str]| paths.iter().map(|path| format!("\t\"{path}\"\n")).collect::<String>();
    let groups: Vec<String> =
        [standard, sdk].iter().filter(|paths| !paths.is_empty()).map(|paths| group(paths)).collect();
    if groups.is_empty() { String::new() } else { format!("\nimport (\n{})\n", groups.join("\n")) }
}

fn argument_doc(library: &Library, argument: &Argument, kind: Kind) -> Doc {
    match argument {
        Argument::Value(value) => typed(value, kind),
        Argument::Record(row) => row_doc(library, row, true),
        Argument::Records(rows) => {
            let of = rows.first().map(|row| type_name(&row.record));
            let rows = rows.iter().map(|row| row_doc(library, row, false)).collect();
            match of {
                Some(of) => list(&format!("[]{of}{{"), rows, "}"),
                None => atom("nil"),
            }
        }
        Argument::Limit(limit) => atom(limit.to_string()),
        Argument::Start => atom("nil"),
    }
}

fn row_doc(library: &Library, row: &Row, named: bool) -> Doc {
    let fields = library.record(&row.record).map(|record| record.fields.as_slice()).unwrap_or_default();
    let members = fields.iter().zip(&row.values).filter_map(|(field, value)| {
        let value = typed(value.as_ref()?, field.kind);
        Some(Doc::named(format!("{}: ", exported(&field.name)), pointed(value, field)))
    });
    let name = if named { type_name(&row.record) } else { String::new() };
    list(&format!("{name}{{"), members.collect(), "}")
}

/// A value as that of a field, which is a pointer if it may be absent and has no other way to say so.
fn pointed(value: Doc, field: &Field) -> Doc {
    match (field.optional && is_scalar(field.kind), field.kind) {
        (true, Kind::Number) => atom(format!("pointer(Number({}))", value.inline())),
        (true, Kind::Integer) => atom(format!("pointer(int64({}))", value.inline())),
        (true, _) => atom(format!("pointer({})", value.inline())),
        (false, _) => value,
    }
}

fn structure(record: &Record) -> String {
    let name = type_name(&record.name);
    let mut text = String::from("\n");
    if !record.comment.is_empty() {
        let _ = writeln!(text, "// {name}: {}", record.comment);
    }
    if record.fields.is_empty() {
        return format!("{text}type {name} struct{{}}\n");
    }
    let member = |field: &Field| {
        let values = (!field.values.is_empty()).then(|| one_of(&field.values));
        let comment = field.note.map(str::to_owned).or(values);
        (exported(&field.name), type_of(field.kind, field.optional), comment)
    };
    let members: Vec<_> = record.fields.iter().map(member).collect();
    format!("{text}type {name} struct {{\n{}}}\n", layout::members(&members))
}

/// `"OPEN", "HELD" or "DONE"`.
fn one_of(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| string(value)).collect();
    match values.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => values.concat(),
    }
}

fn item_reader(reader: &Reader, name: &str) -> String {
    let record = type_name(&reader.record);
    let members =
        reader.fields.iter().map(|field| Doc::named(format!("{}: ", exported(&field.name)), read(field)));
    let record_doc = list(&format!("record := {record}{{"), members.collect(), "}");
    format!(
        "\n// {name} reads a {record} out of an item.\nfunc {name}(item {ITEM}) ({record}, error) {{\n\tfrom := reader{{item: item}}\n{}\treturn record, from.err\n}}\n",
        line(&record_doc, 1)
    )
}

/// A library with the names that its parts have: types, functions and variables of a package share one space.
struct Go<'l> {
    library: &'l Library,
    tables: Vec<String>,
    keys: Vec<String>,
    writers: Vec<String>,
    readers: Vec<String>,
    functions: Vec<String>,
}

impl Go<'_> {
    fn new(library: &Library) -> Go<'_> {
        let mut taken: Vec<String> = vec!["Number".to_owned(), "Calls".to_owned()];
        taken.extend(library.records.iter().map(|record| type_name(&record.name)));
        let mut named = |wanted: String| {
            let name = free(&wanted, |name| taken.iter().any(|other| other == name));
            taken.push(name.clone());
            name
        };
        let tables = library.tables.iter().map(|table| exported(&table_variable(library, table)));
        let tables = tables.map(&mut named).collect();
        let keys = library.keys.iter().map(|builder| named(exported(&builder.name))).collect();
        let writers =
            library.entities.iter().map(|entity| named(exported(&format!("{}_to_item", entity.name))));
        let writers = writers.collect();
        let readers = library.readers.iter().map(|reader| named(exported(&reader.name))).collect();
        let function = |function: &Function| {
            let name = exported(&function.name);
            let is_type = library.records.iter().any(|record| type_name(&record.name) == name);
            match &function.written {
                Ok(written) if is_type => named(format!("{}{name}", verb(&written.body))),
                _ => named(name),
            }
        };
        let functions = library.functions.iter().map(function).collect();
        Go { library, tables, keys, writers, readers, functions }
    }

    fn package(&self) -> String {
        let name = self.library.name.replace('_', "");
        if name == "main" || RESERVED.contains(&name.as_str()) { name + "model" } else { name }
    }

    fn item_writer(&self, entity: &EntityItem, name: &str) -> String {
        let (variable, record) = (ident(&entity.name), type_name(&entity.record));
        let item = if variable == "item" { "stored" } else { "item" };
        let (always, tested) = entity.divided();
        let members = always.iter().map(|one| entry(&one.attribute, self.attribute(&one.value)));
        let doc = list(&format!("{item} := {ITEM}{{"), members.collect(), "}");
        let mut text = format!(
            "\n// {name} is a {record} as its table has it.\nfunc {name}({variable} {record}) {ITEM} {{\n{}",
            line(&doc, 1)
        );
        for run in tested {
            let _ = writeln!(text, "\tif {} {{", self.tests(&run[0].when));
            for one in run {
                let open = format!("{item}[{}] = ", string(&one.attribute));
                text.push_str(&line(&Doc::named(open, self.attribute(&one.value)), 2));
            }
            text.push_str("\t}\n");
        }
        let _ = writeln!(text, "\treturn {item}\n}}");
        text
    }

    fn function(&self, function: &Function, name: &str) -> String {
        let written = match &function.written {
            Ok(written) => written,
            Err(why) => return format!("\n// {}: no function, because {why}.\n", function.pattern),
        };
        let parameters = written.parameters.iter().map(|parameter| {
            let name = ident(&parameter.name);
            atom(match &parameter.kind {
                ParameterKind::Value { kind, .. } => format!("{name} {}", type_of(*kind, false)),
                ParameterKind::Record(record) => format!("{name} {}", type_name(record)),
                ParameterKind::Records(record) => format!("{name} []{}", type_name(record)),
                ParameterKind::Limit(_) => format!("{name} int32"),
                ParameterKind::Start => format!("{name} {ITEM}"),
            })
        });
        let mut comments = function.comments.clone();
        for parameter in &written.parameters {
            let name = ident(&parameter.name);
            match &parameter.kind {
                ParameterKind::Value { values, .. } if !values.is_empty() => {
                    comments.push(format!("The {name} is {}.", one_of(values)));
                }
                ParameterKind::Limit(limit) => comments.push(format!("The model's limit is {limit}.")),
                ParameterKind::Start => {
                    comments
                        .push("It also returns what the next page starts with, nil after the last.".into());
                }
                _ => {}
            }
        }
        let (result, body) = self.body(&written.body, 1);
        let parameters =
            [atom("ctx context.Context"), atom("client *dynamodb.Client")].into_iter().chain(parameters);
        let head = list(&format!("func {name}("), parameters.collect(), &format!(") {result} {{"));
        // Without a description, the first comment is the pattern's id and operation.
        let is = if comments[0].starts_with(&format!("{}: ", function.pattern)) { " is" } else { ":" };
        format!("\n// {name}{is} {}\n{}{body}}}\n", comments.join("\n// "), line(&head, 0))
    }

    /// The type of the result, and the statements.
    fn body(&self, body: &Body, depth: usize) -> (String, String) {
        let none = "error".to_owned();
        match body {
            Body::Read(read) => self.read(read),
            Body::Write(write) => {
                let members = self.members(&write.request, self.item(write));
                let sent = send("_", write.verb.operation(), members, depth);
                (none, format!("{}{sent}{}return err\n", self.changes(write, depth), "\t".repeat(depth)))
            }
            Body::Either { tests, then, otherwise } => {
                let indent = "\t".repeat(depth);
                let (_, then) = self.body(then, depth + 1);
                let (_, otherwise) = self.body(otherwise, depth);
                (none, format!("{indent}if {} {{\n{then}{indent}}}\n{otherwise}", self.tests(tests)))
            }
            Body::Transaction(steps) => {
                let mut text = "\tvar actions []types.TransactWriteItem\n".to_owned();
                text += &self.steps(steps, |write, depth| {
                    let verb = write.verb.action();
                    let members = self.members(&write.request, self.item(write));
                    let open =
                        format!("actions = append(actions, types.TransactWriteItem{{{verb}: &types.{verb}{{");
                    self.changes(write, depth) + &line(&list(&open, members, "}})"), depth)
                });
                let sent = send("_", "TransactWriteItems", vec![pair("TransactItems", atom("actions"))], 1);
                (none, text + &sent + "\treturn err\n")
            }
            Body::BatchWrite(steps) => {
                let mut text = "\tvar parts []tableWrite\n".to_owned();
                text += &self.steps(steps, |write, depth| {
                    let request = match self.item(write) {
                        Some(item) => list("{PutRequest: &types.PutRequest{", vec![pair("Item", item)], "}}"),
                        None => {
                            let key = pair("Key", self.map(&write.request.key));
                            list("{DeleteRequest: &types.DeleteRequest{", vec![key], "}}")
                        }
                    };
                    let members = vec![
                        pair("table", atom(self.table(&write.request.table))),
                        pair("request", Doc::named("types.WriteRequest", request)),
                    ];
                    let part = list("parts = append(parts, tableWrite{", members, "})");
                    self.changes(write, depth) + &line(&part, depth)
                });
                (none, text + "\treturn batchWrite(ctx, client, parts)\n")
            }
            Body::TransactionGet { steps, found } => {
                let mut text = "\tvar actions []types.TransactGetItem\n".to_owned();
                text += &self.steps(steps, |get, depth| {
                    let members = vec![
                        pair("TableName", atom(format!("&{}", self.table(&get.table)))),
                        pair("Key", self.map(&get.key)),
                    ];
                    let open = "actions = append(actions, types.TransactGetItem{Get: &types.Get{";
                    line(&list(open, members, "}})"), depth)
                });
                let (kind, zero) = kind_of(found);
                text += &send("answer", "TransactGetItems", vec![pair("TransactItems", atom("actions"))], 1);
                text += &failed(&zero, 1);
                let _ = write!(
                    text,
                    "\tvar items []{ITEM}\n\tfor _, response := range answer.Responses {{\n\t\t\
                     if len(response.Item) > 0 {{\n\t\t\titems = append(items, response.Item)\n\t\t}}\n\t}}\n"
                );
                (format!("({kind}, error)"), text + &self.found(found, "items", None))
            }
            Body::BatchGet { steps, found } => {
                let mut text = "\tvar keys []tableKey\n".to_owned();
                text += &self.steps(steps, |get, depth| {
                    let members =
                        vec![pair("table", atom(self.table(&get.table))), pair("key", self.map(&get.key))];
                    line(&list("keys = append(keys, tableKey{", members, "})"), depth)
                });
                let consistent = match steps.iter().any(|step| step.action.consistent) {
                    true => "pointer(true)",
                    false => "nil",
                };
                let (kind, zero) = kind_of(found);
                let _ = writeln!(text, "\titems, err := batchGet(ctx, client, keys, {consistent})");
                text += &failed(&zero, 1);
                (format!("({kind}, error)"), text + &self.found(found, "items", None))
            }
        }
    }

    fn steps<T>(&self, steps: &[Step<T>], one: impl Fn(&T, usize) -> String) -> String {
        let step = |step: &Step<T>| match &step.each {
            None => one(&step.action, 1),
            Some(each) => format!(
                "\tfor _, {} := range {} {{\n{}\t}}\n",
                ident(&each.element),
                ident(&each.list),
                one(&step.action, 2)
            ),
        };
        steps.iter().map(step).collect()
    }

    fn read(&self, read: &Read) -> (String, String) {
        let operation = read.operation.name();
        let mut members = self.members(&read.request, None);
        let (kind, zero) = kind_of(&read.found);
        if read.loops.is_empty() && read.pages != Pages::All {
            members.extend(read.request.starts.then(|| pair("ExclusiveStartKey", atom("start"))));
            let sent = send("answer", operation, members, 1);
            if read.pages == Pages::Next {
                let text = sent + &failed(&format!("{zero}, nil"), 1);
                let text = text + &self.found(&read.found, "answer.Items", Some("answer.LastEvaluatedKey"));
                return (format!("({kind}, {ITEM}, error)"), text);
            }
            let result = match (&read.found, read.operation) {
                (Found::Count, _) => "\treturn int(answer.Count), nil\n".to_owned(),
                (Found::One(view), ReadOperation::Get) => {
                    format!("\treturn readOne(answer.Item, {})\n", self.reader(view))
                }
                (found, _) => self.found(found, "answer.Items", None),
            };
            return (format!("({kind}, error)"), sent + &failed(&zero, 1) + &result);
        }
        let counts = matches!(read.found, Found::Count);
        let mut text = if counts { "\tcount := 0\n".to_owned() } else { format!("\tvar items []{ITEM}\n") };
        let mut depth = 1;
        for one in &read.loops {
            let indent = "\t".repeat(depth);
            match one {
                Loop::Shards { variable, count } => {
                    let name = ident(variable);
                    let _ = writeln!(text, "{indent}for {name} := int64(0); {name} < {count}; {name}++ {{");
                }
                Loop::Values { variable, kind, values, .. } => {
                    let values = values.iter().map(|value| self.value(value, *kind)).collect();
                    let open = format!("for _, {} := range []{}{{", ident(variable), type_of(*kind, false));
                    text.push_str(&line(&list(&open, values, "} {"), depth));
                }
            }
            depth += 1;
        }
        let indent = "\t".repeat(depth);
        let add = match (read.operation, counts) {
            (ReadOperation::Get, _) => {
                format!(
                    "if len(answer.Item) > 0 {{\n{indent}\titems = append(items, answer.Item)\n{indent}}}"
                )
            }
            (_, true) => "count += int(answer.Count)".to_owned(),
            (_, false) => "items = append(items, answer.Items...)".to_owned(),
        };
        if read.pages == Pages::All {
            let open =
                format!("pages := dynamodb.New{operation}Paginator(client, &dynamodb.{operation}Input{{");
            text.push_str(&line(&list(&open, members, "})"), depth));
            let _ = write!(
                text,
                "{indent}for pages.HasMorePages() {{\n{indent}\tanswer, err := pages.NextPage(ctx)\n{}{indent}\t{add}\n{indent}}}\n",
                failed(&zero, depth + 1)
            );
        } else {
            text.push_str(&send("answer", operation, members, depth));
            let _ = writeln!(text, "{}{indent}{add}", failed(&zero, depth));
        }
        for depth in (1..depth).rev() {
            let _ = writeln!(text, "{}}}", "\t".repeat(depth));
        }
        if counts {
            return ("(int, error)".to_owned(), text + "\treturn count, nil\n");
        }
        if !read.merge_by.is_empty() {
            let keys: String = read.merge_by.iter().map(|(name, _)| format!(", {}", string(name))).collect();
            let _ = writeln!(text, "\tsortItems(items, {}{keys})", read.descending);
        }
        if read.cut {
            text.push_str("\tif len(items) > int(limit) {\n\t\titems = items[:limit]\n\t}\n");
        }
        (format!("({kind}, error)"), text + &self.found(&read.found, "items", None))
    }

    /// Statements that return what was found, with where the next page begins.
    fn found(&self, found: &Found, items: &str, next: Option<&str>) -> String {
        let read = |function: &str, view: &View| {
            let reading = format!("{function}({items}, {})", self.reader(view));
            match next {
                Some(next) => format!("\tfound, err := {reading}\n\treturn found, {next}, err\n"),
                None => format!("\treturn {reading}\n"),
            }
        };
        match found {
            Found::Count => format!("\treturn len({items}), nil\n"),
            Found::One(view) => read("readFirst", view),
            Found::Many(view) => read("readAll", view),
            Found::Mixed { record, parts } => {
                let record = type_name(record);
                let part = |part: &Part| {
                    let (key, text) = (string(&part.is.attribute), string(&part.is.text));
                    let is = match part.is.begins {
                        true => format!("strings.HasPrefix(textOf(item, {key}), {text})"),
                        false => format!("textOf(item, {key}) == {text}"),
                    };
                    let (list, reader) = (exported(&part.name), self.reader(&part.view));
                    format!("\t\tcase {is}:\n\t\t\terr = add(&found.{list}, item, {reader})\n")
                };
                let parts: String = parts.iter().map(part).collect();
                let next = next.map(|next| format!(", {next}")).unwrap_or_default();
                let no_next = if next.is_empty() { "" } else { ", nil" };
                format!(
                    "\tvar found {record}\n\tfor _, item := range {items} {{\n\t\tvar err error\n\t\tswitch {{\n{parts}\t\t}}\n\
                     {}\t}}\n\treturn found{next}, nil\n",
                    failed(&format!("{record}{{}}{no_next}"), 2)
                )
            }
        }
    }

    fn reader(&self, view: &View) -> &str {
        let position = self.library.readers.iter().position(|reader| reader.name == view.reader);
        position.map(|at| self.readers[at].as_str()).unwrap_or_default()
    }

    fn item(&self, write: &Write) -> Option<Doc> {
        let Verb::Put { entity, variable, .. } = &write.verb else { return None };
        Some(atom(format!("{}({})", self.writers[*entity], ident(variable))))
    }

    /// Fields of the item to be written that the pattern sets. The record is a copy of the caller's.
    fn changes(&self, write: &Write, depth: usize) -> String {
        let Verb::Put { variable, record, with, .. } = &write.verb else { return String::new() };
        let record = self.library.record(record);
        let change = |(name, value): &(String, Value)| {
            let field = record.and_then(|record| record.fields.iter().find(|field| field.name == *name));
            let value = self.value(value, field.map_or(value.kind(), |field| field.kind));
            let value = match field {
                Some(field) => pointed(value, field),
                None => value,
            };
            line(&Doc::named(format!("{}.{} = ", ident(variable), exported(name)), value), depth)
        };
        with.iter().map(change).collect()
    }

    fn table(&self, table: &str) -> &str {
        let position = self.library.tables.iter().position(|one| one == table);
        position.map(|at| self.tables[at].as_str()).unwrap_or_default()
    }

    fn members(&self, request: &Request, item: Option<Doc>) -> Vec<Doc> {
        let doc = |member| match member {
            Member::Text(text) => atom(format!("pointer({})", string(text))),
            Member::Flag(flag) => atom(format!("pointer({flag})")),
            Member::Item(item) => item,
            Member::Values(values) => self.map(values),
            Member::Names(names) => {
                let names = names.iter().map(|(alias, name)| entry(alias, atom(string(name))));
                list("map[string]string{", names.collect(), "}")
            }
            Member::Count => atom("types.SelectCount"),
            Member::Limit => atom("&limit"),
        };
        let members = request.members(item).into_iter().map(|(name, member)| pair(name, doc(member)));
        let table = pair("TableName", atom(format!("&{}", self.table(&request.table))));
        [table].into_iter().chain(members).collect()
    }

    fn map(&self, entries: &[(String, Value)]) -> Doc {
        let entries = entries.iter().map(|(name, value)| entry(name, self.attribute(value)));
        list(&format!("{ITEM}{{"), entries.collect(), "}")
    }

    fn tests(&self, tests: &[Test]) -> String {
        let mut texts: Vec<String> = tests.iter().map(|test| self.test(test, tests.len() > 1)).collect();
        // What a parameter gives is there.
        texts.retain(|text| text != "true");
        if texts.is_empty() { "true".to_owned() } else { texts.join(" && ") }
    }

    /// A comparison, in brackets if it is one of several and needs them.
    fn test(&self, test: &Test, among: bool) -> String {
        let kind = test.value.kind();
        let value = self.inline(&test.value);
        let place = match &test.value {
            Value::Field { optional: true, .. } => Some(value.trim_start_matches('*')),
            _ => None,
        };
        let bracketed = |text: String, several: bool| if several { format!("({text})") } else { text };
        let operand =
            |at: usize| test.operands.get(at).map(|one| typed(one, kind).inline()).unwrap_or_default();
        let compared = |operator: &str, at: usize| match kind {
            Kind::Number => format!("compareNumbers({value}, {}) {operator} 0", operand(at)),
            Kind::Binary => format!("bytes.Compare({value}, {}) {operator} 0", operand(at)),
            Kind::Text | Kind::Integer => format!("{value} {operator} {}", operand(at)),
            Kind::Bool if (operand(at) == "true") == (operator == "==") => value.clone(),
            Kind::Bool => format!("!{value}"),
            _ if operator == "!=" => format!("!reflect.DeepEqual({value}, {})", operand(at)),
            _ => format!("reflect.DeepEqual({value}, {})", operand(at)),
        };
        let text = match test.operator {
            Operator::Exists => return place.map_or("true".to_owned(), |place| format!("{place} != nil")),
            Operator::NotExists => {
                return place.map_or("false".to_owned(), |place| format!("{place} == nil"));
            }
            Operator::NotEqual => {
                let text = compared("!=", 0);
                return match place {
                    Some(place) => bracketed(format!("{place} == nil || {text}"), among),
                    None => text,
                };
            }
            Operator::BeginsWith => format!("strings.HasPrefix({value}, {})", operand(0)),
            Operator::Contains if kind == Kind::Text => format!("strings.Contains({value}, {})", operand(0)),
            Operator::Contains => {
                let member = test.operands.first();
                let member = match kind {
                    Kind::List => member.map(attribute_value),
                    Kind::NumberSet => member.map(|one| typed(one, Kind::Number)),
                    _ => member.map(|one| typed(one, Kind::Text)),
                };
                format!("contains({value}, {})", member.map(|one| one.inline()).unwrap_or_default())
            }
            Operator::Between => format!("{} && {}", compared(">=", 0), compared("<=", 1)),
            Operator::In => {
                let all: Vec<String> = (0..test.operands.len()).map(|at| compared("==", at)).collect();
                bracketed(all.join(" || "), all.len() > 1 && (among || place.is_some()))
            }
            Operator::Equal => compared("==", 0),
            other => compared(other.name(), 0),
        };
        match place {
            Some(place) => format!("{place} != nil && {text}"),
            None => text,
        }
    }
}

/// What a function does, in front of a name that a type has too.
fn verb(body: &Body) -> &'static str {
    match body {
        Body::Read(read) => match read.operation {
            ReadOperation::Get => "Get",
            ReadOperation::Query => "Query",
            ReadOperation::Scan => "Scan",
        },
        Body::Write(write) => match write.verb {
            Verb::Put { .. } => "Put",
            Verb::Update => "Update",
            Verb::Delete => "Delete",
            Verb::Check => "Check",
        },
        Body::Either { then, .. } => verb(then),
        Body::Transaction(_) | Body::BatchWrite(_) => "Write",
        Body::TransactionGet { .. } | Body::BatchGet { .. } => "Get",
    }
}

/// The type of what is found, and what is returned of it beside an error.
fn kind_of(found: &Found) -> (String, String) {
    match found {
        Found::Count => ("int".to_owned(), "0".to_owned()),
        Found::One(view) => (format!("*{}", type_name(&view.record)), "nil".to_owned()),
        Found::Many(view) => (format!("[]{}", type_name(&view.record)), "nil".to_owned()),
        Found::Mixed { record, .. } => (type_name(record), format!("{}{{}}", type_name(record))),
    }
}

/// `answer, err := client.Query(ctx, &dynamodb.QueryInput{ … })`.
fn send(answer: &str, operation: &str, members: Vec<Doc>, depth: usize) -> String {
    let open = format!("{answer}, err := client.{operation}(ctx, &dynamodb.{operation}Input{{");
    line(&list(&open, members, "})"), depth)
}

fn failed(zero: &str, depth: usize) -> String {
    let indent = "\t".repeat(depth);
    format!("{indent}if err != nil {{\n{indent}\treturn {zero}, err\n{indent}}}\n")
}

/// A field's value out of an item.
fn read(field: &Field) -> Doc {
    let name = string(&field.attribute);
    let reader = match field.kind {
        Kind::Text => "readString",
        Kind::Number => "readNumber",
        Kind::Integer => "readInteger",
        Kind::Bool => "readBool",
        Kind::Binary => "readBytes",
        Kind::TextSet => "setOfStrings",
        Kind::NumberSet => "setOfNumbers",
        Kind::BinarySet => "setOfBytes",
        Kind::List => "readList",
        Kind::Map => "readMap",
    };
    let Source::Key { key, literals, position, descending } = &field.source else {
        return atom(match field.optional {
            true if is_scalar(field.kind) => format!("optional(&from, {name}, {reader})"),
            true => format!("orNone(&from, {name}, {reader})"),
            false => format!("{reader}(&from, {name})"),
        });
    };
    let literals: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
    let key = string(key);
    let part = format!("partsOf(readString(&from, {key}), {})[{position}]", literals.join(", "));
    let part = match descending {
        Some(digits) => format!("distance({part}, {digits})"),
        None => part,
    };
    let value = match field.kind {
        Kind::Number => format!("Number(numberText(Number({part})))"),
        Kind::Integer => format!("parseInteger(&from, {key}, {part})"),
        Kind::Bool => format!("{part} == \"true\""),
        Kind::Binary => format!("parseBytes(&from, {key}, {part})"),
        _ => part,
    };
    // An item whose key has the attribute has it.
    atom(if field.optional && is_scalar(field.kind) { format!("pointer({value})") } else { value })
}

/// `name: value` of a struct.
fn pair(name: &str, doc: Doc) -> Doc {
    Doc::named(format!("{name}: "), doc)
}

/// `"name": value` of a map.
fn entry(name: &str, doc: Doc) -> Doc {
    pair(&string(name), doc)
}

/// Whether a value that may be absent is a pointer; slices and maps can be nil.
fn is_scalar(kind: Kind) -> bool {
    matches!(kind, Kind::Text | Kind::Number | Kind::Integer | Kind::Bool)
}

fn type_of(kind: Kind, optional: bool) -> String {
    let name = match kind {
        Kind::Text => "string",
        Kind::Number => "Number",
        Kind::Integer => "int64",
        Kind::Bool => "bool",
        Kind::Binary => "[]byte",
        Kind::TextSet => "[]string",
        Kind::NumberSet => "[]Number",
        Kind::BinarySet => "[][]byte",
        Kind::List => "[]types.AttributeValue",
        Kind::Map => ITEM,
    };
    if optional && is_scalar(kind) { format!("*{name}") } else { name.to_owned() }
}

/// A record's name; the package has a type `Number` of its own.
fn type_name(record: &str) -> String {
    unreserved(record.to_owned(), &["Number", "Calls"])
}

/// `created_at`, `user_id`, `gsi1pk` -> `CreatedAt`, `UserID`, `GSI1PK`.
fn exported(snake: &str) -> String {
    snake.split('_').map(word).collect()
}

/// The same for parameters and variables: `createdAt`, `userID`.
fn ident(snake: &str) -> String {
    let (first, rest) = snake.split_once('_').unwrap_or((snake, ""));
    unreserved(format!("{first}{}", exported(rest)), &RESERVED)
}

fn word(word: &str) -> String {
    let of_index = word.strip_prefix("gsi").or_else(|| word.strip_prefix("lsi"));
    let numbered = of_index.is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()));
    if numbered || INITIALISMS.contains(&word) { word.to_ascii_uppercase() } else { pascal(word) }
}
