//! Java 17 with the SDK version 2: a class whose nested records are the entities, and whose methods are the patterns.

mod calls;
mod comment;
mod layout;
mod names;
mod prelude;
mod reads;
mod types;
mod values;
mod writes;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::writer::used_of;
use super::{Function, KeyBuilder, Kind, Library, ParameterKind, Record, WrittenFunction};

pub use calls::calls;
use comment::{Comment, escaped, one_of};
use layout::{call, line, plain};
use names::{Java, variable};
use values::{string, type_of};

/// Classes that code may use, with their packages. Packages and classes are in the order of imports.
#[rustfmt::skip]
const CLASSES: [(&str, &[&str]); 10] = [
    ("java.math", &["BigDecimal", "BigInteger"]),
    ("java.nio.charset", &["StandardCharsets"]),
    ("java.util", &[
        "ArrayList", "Arrays", "Comparator", "HashMap", "HexFormat", "LinkedHashMap", "List", "Locale", "Map",
        "Objects", "Optional", "Set",
    ]),
    ("java.util.concurrent", &["ThreadLocalRandom"]),
    ("java.util.function", &["BiFunction", "Function"]),
    ("java.util.stream", &["Collectors"]),
    ("java.util.zip", &["CRC32"]),
    ("software.amazon.awssdk.core", &["SdkBytes", "exception.AbortedException"]),
    ("software.amazon.awssdk.services.dynamodb", &["DynamoDbClient"]),
    ("software.amazon.awssdk.services.dynamodb.model", &[
        "AttributeValue", "BatchGetItemRequest", "BatchGetItemResponse", "BatchWriteItemRequest", "ConditionCheck",
        "Delete", "DeleteItemRequest", "DeleteRequest", "Get", "GetItemRequest", "GetItemResponse", "ItemResponse",
        "KeysAndAttributes", "Put", "PutItemRequest", "PutRequest", "QueryRequest", "QueryResponse", "ScanRequest",
        "ScanResponse", "Select", "TransactGetItem", "TransactGetItemsRequest", "TransactWriteItem",
        "TransactWriteItemsRequest", "Update", "UpdateItemRequest", "WriteRequest",
    ]),
];

pub fn source(library: &Library) -> String {
    let java = Java::new(library);
    let mut methods = String::new();
    for (function, name) in library.functions.iter().zip(&java.functions) {
        methods.push_str(&java.function(function, name));
    }
    for (builder, name) in library.keys.iter().zip(&java.keys) {
        methods.push_str(&java.key_builder(builder, name));
    }
    for (entity, name) in library.entities.iter().zip(&java.writers) {
        if !entity.attributes.is_empty() {
            methods.push_str(&java.item_writer(entity, name));
        }
    }
    for (reader, name) in library.readers.iter().zip(&java.readers) {
        methods.push_str(&java.item_reader(reader, name));
    }
    let own = used_of(&methods, &[prelude::VALUES.as_slice(), &prelude::READERS, &prelude::BATCHES].concat());
    let is_mixed = |record: &&Record| library.mixed().any(|(name, _)| name == record.name);
    let mut types = String::new();
    for record in library.records.iter().filter(|record| !is_mixed(record)) {
        types.push_str(&java.record_type(record));
    }
    for (record, parts) in library.mixed() {
        types.push_str(&java.mixed_type(record, parts));
    }
    types.push_str(&used_of(&methods, &prelude::TYPES));
    let mut comment = Comment::default();
    let described = library.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    let described = described.trim_end_matches('.');
    comment.paragraph(&format!("The access patterns of {}{described}.", library.title));
    comment.html("Written by {@code lodestone model code}.");
    let text = format!(
        "{}public final class {} {{\n{}{types}{methods}{own}}}\n",
        comment.text(0),
        java.class,
        java.constructors()
    );
    format!("package {};\n\n{}\n{text}", java.package, imports(&text))
}

/// The class of `calls`, in the same package.
fn name_of_calls(java: &Java<'_>) -> String {
    format!("{}Calls", java.class)
}

fn imports(text: &str) -> String {
    let words = words(text);
    let mut imports = String::new();
    for (package, classes) in CLASSES {
        let is_used = |class: &&&str| words.contains(class.rsplit('.').next().unwrap_or_default());
        for class in classes.iter().filter(is_used) {
            let _ = writeln!(imports, "import {package}.{class};");
        }
    }
    imports
}

/// The words of the code, without those of comments and texts.
fn words(text: &str) -> BTreeSet<&str> {
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/']);
    let mut words = BTreeSet::new();
    for line in text.lines().filter(is_code) {
        let mut rest = line;
        while let Some(begin) = rest.find(|one: char| one.is_ascii_alphabetic() || one == '"') {
            rest = &rest[begin..];
            let end = match rest.strip_prefix('"') {
                Some(inside) => end_of_text(inside) + 1,
                None => rest.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(rest.len()),
            };
            words.insert(&rest[..end]);
            rest = &rest[end..];
        }
    }
    words
}

/// How far a text goes, with the mark that ends it.
fn end_of_text(inside: &str) -> usize {
    let mut is_escaped = false;
    for (at, one) in inside.char_indices() {
        match one {
            '"' if !is_escaped => return at + 1,
            one => is_escaped = one == '\\' && !is_escaped,
        }
    }
    inside.len()
}

impl Java<'_> {
    fn constructors(&self) -> String {
        let class = &self.class;
        let mut fields = "    private final DynamoDbClient client;\n".to_owned();
        let mut set = "        this.client = client;\n".to_owned();
        let mut parameters = vec![plain("DynamoDbClient client")];
        let mut names = vec![plain("client")];
        let mut comment = Comment::new("With tables of other names than the model's.");
        for (table, field) in self.library.tables.iter().zip(&self.tables) {
            let _ = writeln!(fields, "    private final String {field};");
            let _ = writeln!(set, "        this.{field} = {field};");
            parameters.push(plain(format!("String {field}")));
            names.push(plain(string(table)));
            comment.parameter(field, &format!("the name of {}", escaped(table)));
        }
        if names.len() == 1 {
            return format!("{fields}\n    public {class}(DynamoDbClient client) {{\n{set}    }}\n");
        }
        format!(
            "{fields}\n    public {class}(DynamoDbClient client) {{\n{}    }}\n\n{}{}{set}    }}\n",
            line(&call("this(", names, ");"), 2),
            comment.text(1),
            line(&call(format!("public {class}("), parameters, ") {"), 1)
        )
    }

    fn key_builder(&self, builder: &KeyBuilder, name: &str) -> String {
        let mut checks = String::new();
        let mut parameters = Vec::new();
        for (name, kind) in &builder.parameters {
            let name = variable(name);
            parameters.push(plain(format!("{} {name}", type_of(*kind, false))));
            if *kind == Kind::Text {
                let _ = writeln!(checks, "        Objects.requireNonNull({name}, {});", string(&name));
            }
        }
        format!(
            "\n{}{}{checks}        return {};\n    }}\n",
            Comment::new(&builder.comment).text(1),
            line(&call(format!("public static String {name}("), parameters, ") {"), 1),
            self.text(&builder.pieces, true)
        )
    }

    fn function(&self, function: &Function, name: &str) -> String {
        let written = match &function.written {
            Ok(written) => written,
            Err(why) => {
                let why = why.replace("\\u", "\\\\u");
                return format!("\n    // {}: no method, because {why}.\n", function.pattern);
            }
        };
        let parameters = written.parameters.iter().map(|parameter| {
            let name = variable(&parameter.name);
            plain(match &parameter.kind {
                ParameterKind::Value { kind, .. } => format!("{} {name}", type_of(*kind, false)),
                ParameterKind::Record(record) => format!("{} {name}", self.record(record)),
                ParameterKind::Records(record) => format!("List<{}> {name}", self.record(record)),
                ParameterKind::Limit(_) => format!("int {name}"),
                ParameterKind::Start => format!("Map<String, AttributeValue> {name}"),
            })
        });
        let (result, body) = self.body(&written.body, 2);
        let head = call(format!("public {result} {name}("), parameters.collect(), ") {");
        format!("\n{}{}{body}    }}\n", comment_of(function, written).text(1), line(&head, 1))
    }
}

fn comment_of(function: &Function, written: &WrittenFunction) -> Comment {
    let mut comment = Comment::default();
    for text in &function.comments {
        comment.paragraph(text);
    }
    for parameter in &written.parameters {
        let name = variable(&parameter.name);
        match &parameter.kind {
            ParameterKind::Value { values, .. } if !values.is_empty() => {
                comment.parameter(&name, &one_of(values));
            }
            ParameterKind::Limit(limit) => comment.parameter(&name, &format!("{limit} in the model")),
            ParameterKind::Start => {
                comment.parameter(&name, "{@code next} of the page before, null for the first");
            }
            _ => {}
        }
    }
    comment
}
