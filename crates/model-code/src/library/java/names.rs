//! What the parts of a model are called in Java.

use crate::library::case::{camel, free, pascal};
use crate::library::writer::{table_variable, unreserved};
use crate::library::{Body, Library, Verb, Write};

/// Words of the language.
#[rustfmt::skip]
const KEYWORDS: [&str; 54] = [
    "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue", "default",
    "do", "double", "else", "enum", "extends", "false", "final", "finally", "float", "for", "goto", "if", "implements",
    "import", "instanceof", "int", "interface", "long", "native", "new", "null", "package", "private", "protected",
    "public", "return", "short", "static", "strictfp", "super", "switch", "synchronized", "this", "throw", "throws",
    "transient", "true", "try", "void", "volatile", "while", "yield",
];
/// Every object has these methods, so no component of a record may have their names.
const OF_OBJECTS: [&str; 9] =
    ["clone", "equals", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"];
/// Variables of the methods, beside those that no parameter has in any language.
const VARIABLES: [&str; 2] = ["actions", "stored"];
/// Packages that are there already.
const PACKAGES: [&str; 4] = ["java", "javax", "jdk", "software"];

/// Methods that the class has of its own, in `prelude.rs`.
#[rustfmt::skip]
const METHODS: [&str; 34] = [
    "batchGet", "batchWrite", "before", "beginning", "byBytes", "byNumber", "byText", "compareTexts", "containsNumber",
    "deleteRequest", "digits", "distance", "hex", "keyOf", "padded", "partsOf", "pause", "putRequest", "read",
    "readBoolean", "readBytes", "readBytesSet", "readList", "readLong", "readMap", "readNumber", "readNumberSet",
    "readOptional", "readString", "readStringSet", "shardOf", "slices", "textOf", "unhex",
];

/// Types that the code uses, and those of `java.lang` that all code uses.
#[rustfmt::skip]
const TYPES: [&str; 95] = [
    "AbortedException", "ArithmeticException", "ArrayList", "Arrays", "AttributeValue", "AutoCloseable",
    "BatchGetItemRequest", "BatchGetItemResponse", "BatchWriteItemRequest", "BiFunction", "BigDecimal", "BigInteger",
    "Boolean", "Byte", "CRC32", "CharSequence", "Character", "Class", "Collection", "Collections", "Collectors",
    "Comparable", "Comparator", "ConditionCheck", "Delete", "DeleteItemRequest", "DeleteRequest", "Deprecated",
    "Double", "DynamoDbClient", "Enum", "Error", "Exception", "Float", "Function", "FunctionalInterface", "Get",
    "GetItemRequest", "GetItemResponse", "HashMap", "HexFormat", "IllegalArgumentException", "IllegalStateException",
    "Integer", "InterruptedException", "ItemResponse", "Iterable", "KeysAndAttributes", "LinkedHashMap", "List",
    "Locale", "Long", "Map", "Math", "NullPointerException", "Number", "Object", "Objects", "Optional", "Override",
    "Page", "Put", "PutItemRequest", "PutRequest", "QueryRequest", "QueryResponse", "Record", "Runnable", "Runtime",
    "RuntimeException", "SafeVarargs", "ScanRequest", "ScanResponse", "SdkBytes", "Select", "Set", "Short",
    "StandardCharsets", "String", "StringBuilder", "SuppressWarnings", "System", "TableKey", "TableWrite", "Thread",
    "ThreadLocalRandom", "Throwable", "TransactGetItem", "TransactGetItemsRequest", "TransactWriteItem",
    "TransactWriteItemsRequest", "Update", "UpdateItemRequest", "Void", "WriteRequest",
];

/// A library with the names of its parts, each in the order that the library has them.
pub struct Java<'l> {
    pub library: &'l Library,
    pub class: String,
    pub package: String,
    pub tables: Vec<String>,
    pub keys: Vec<String>,
    pub writers: Vec<String>,
    pub readers: Vec<String>,
    pub functions: Vec<String>,
    records: Vec<String>,
}

impl Java<'_> {
    pub fn new(library: &Library) -> Java<'_> {
        let mut records: Vec<String> = Vec::new();
        for record in &library.records {
            let reserved = TYPES.contains(&record.name.as_str());
            let wanted = if reserved { format!("{}Record", record.name) } else { record.name.clone() };
            let is_other = |name: &str| library.records.iter().any(|other| other.name == name);
            let taken = |name: &str| records.iter().any(|one| one == name) || reserved && is_other(name);
            let name = free(&wanted, taken);
            records.push(name);
        }
        let class = pascal(&library.name);
        let is_type = |name: &str| TYPES.contains(&name) || records.iter().any(|record| record == name);
        let class = if is_type(&class) { free(&format!("{class}Model"), is_type) } else { class };
        let package = library.name.replace('_', "");
        let is_word = |name: &str| PACKAGES.contains(&name) || KEYWORDS.contains(&name) || name == "record";
        let package = if is_word(&package) { package + "model" } else { package };

        let is_parameter = |name: &str| {
            let written = library.functions.iter().filter_map(|function| function.written.as_ref().ok());
            let mut parameters = written.flat_map(|written| &written.parameters);
            parameters.any(|parameter| variable(&parameter.name) == name)
        };
        let mut tables: Vec<String> = Vec::new();
        for table in &library.tables {
            let taken = |name: &str| tables.iter().any(|other| other == name) || is_parameter(name);
            let name = free(&variable(&table_variable(library, table)), taken);
            tables.push(name);
        }

        let mut taken: Vec<String> = METHODS.map(str::to_owned).to_vec();
        let mut named = |wanted: &str| {
            let reserved = [KEYWORDS.as_slice(), &OF_OBJECTS].concat();
            let wanted = unreserved(camel(wanted), &reserved);
            let name = free(&wanted, |name| taken.iter().any(|other| other == name));
            taken.push(name.clone());
            name
        };
        // Patterns choose first: these are the names that callers see most.
        let functions = library.functions.iter().map(|function| named(&function.name)).collect();
        let keys = library.keys.iter().map(|builder| named(&builder.name)).collect();
        let writers = library.entities.iter().map(|entity| named(&format!("{}_to_item", entity.name)));
        let writers = writers.collect();
        let readers = library.readers.iter().map(|reader| named(&reader.name)).collect();
        Java { library, class, package, tables, keys, writers, readers, functions, records }
    }

    /// The type of a record of this name.
    pub fn record(&self, name: &str) -> &str {
        let position = self.library.records.iter().position(|record| record.name == name);
        position.map(|at| self.records[at].as_str()).unwrap_or_default()
    }

    pub fn table(&self, name: &str) -> &str {
        let position = self.library.tables.iter().position(|table| table == name);
        position.map(|at| self.tables[at].as_str()).unwrap_or_default()
    }

    /// The method that reads an item into a record.
    pub fn reader(&self, name: &str) -> &str {
        let position = self.library.readers.iter().position(|reader| reader.name == name);
        position.map(|at| self.readers[at].as_str()).unwrap_or_default()
    }

    /// The fields of a record that some pattern sets before it writes the record.
    pub fn replaced(&self, record: &str) -> Vec<&str> {
        let mut fields: Vec<&str> = Vec::new();
        let written = self.library.functions.iter().filter_map(|function| function.written.as_ref().ok());
        for write in written.flat_map(|written| writes(&written.body)) {
            match &write.verb {
                Verb::Put { record: own, with, .. } if own == record => {
                    fields.extend(with.iter().map(|(name, _)| name.as_str()));
                }
                _ => {}
            }
        }
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}

fn writes(body: &Body) -> Vec<&Write> {
    match body {
        Body::Write(write) => vec![write],
        Body::Either { then, otherwise, .. } => [writes(then), writes(otherwise)].concat(),
        Body::Transaction(steps) | Body::BatchWrite(steps) => steps.iter().map(|step| &step.action).collect(),
        Body::Read(_) | Body::TransactionGet { .. } | Body::BatchGet { .. } => Vec::new(),
    }
}

/// A parameter or a variable: `createdAt`.
pub fn variable(snake: &str) -> String {
    unreserved(camel(snake), &[KEYWORDS.as_slice(), &VARIABLES].concat())
}

/// A component of a record.
pub fn component(snake: &str) -> String {
    unreserved(camel(snake), &[KEYWORDS.as_slice(), &OF_OBJECTS].concat())
}

/// The method that replaces a component.
pub fn wither(snake: &str) -> String {
    format!("with{}", pascal(snake))
}
