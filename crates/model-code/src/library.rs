//! A model as a library that an application takes in: types of its entities, functions that build keys, and a function
//! with parameters for each access pattern.
//!
//! What is decided here is the same in every language: [`Library`] says which types, keys, requests and loops there
//! are, with parameters in place of values. A language has a file that only writes it down. Requests are made by the
//! plan and the expressions of [`model::request`], so that an application sends what was proven.

mod call;
mod case;
mod go;
mod java;
mod key;
mod parameter;
mod python;
mod read;
mod record;
mod rust;
mod typescript;
mod write;
mod writer;

use item::Value as Stored;
use model::Model;
use model::model::AttributeKind;
use model::predicate::Operator;

pub use call::{Call, example_calls};
use parameter::Role;

/// A language that a library can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryLanguage {
    /// Python 3.10 and later, with boto3.
    Python,
    /// Rust, with `aws-sdk-dynamodb`.
    Rust,
    /// TypeScript, with the document client of the SDK version 3.
    TypeScript,
    /// Go 1.18 and later, with the SDK version 2.
    Go,
    /// Java 17 and later, with the SDK version 2.
    Java,
}

impl LibraryLanguage {
    pub const ALL: [LibraryLanguage; 5] = [
        LibraryLanguage::Python,
        LibraryLanguage::TypeScript,
        LibraryLanguage::Rust,
        LibraryLanguage::Go,
        LibraryLanguage::Java,
    ];

    pub fn name(self) -> &'static str {
        match self {
            LibraryLanguage::Python => "python",
            LibraryLanguage::Rust => "rust",
            LibraryLanguage::TypeScript => "typescript",
            LibraryLanguage::Go => "go",
            LibraryLanguage::Java => "java",
        }
    }
}

/// The source text of the library.
pub fn source(library: &Library, language: LibraryLanguage) -> String {
    match language {
        LibraryLanguage::Python => python::source(library, false),
        LibraryLanguage::Rust => rust::source(library),
        LibraryLanguage::TypeScript => typescript::source(library),
        LibraryLanguage::Go => go::source(library),
        LibraryLanguage::Java => java::source(library),
    }
}

/// The source text in Python, with Pydantic's models for records.
pub fn source_with_pydantic(library: &Library) -> String {
    python::source(library, true)
}

/// A second source text, which calls each function once with values of the example data.
pub fn calls(library: &Library, calls: &[Call], language: LibraryLanguage) -> String {
    match language {
        LibraryLanguage::Python => python::calls(library, calls),
        LibraryLanguage::Rust => rust::calls(library, calls),
        LibraryLanguage::TypeScript => typescript::calls(library, calls),
        LibraryLanguage::Go => go::calls(library, calls),
        LibraryLanguage::Java => java::calls(library, calls),
    }
}

/// All that the code of a model has. Names are in snake case; each language has its own form of them.
pub struct Library {
    /// The model's name as an identifier.
    pub name: String,
    pub title: String,
    pub description: Option<String>,
    pub tables: Vec<String>,
    /// One for each entity, then those that single functions need.
    pub records: Vec<Record>,
    pub readers: Vec<Reader>,
    pub keys: Vec<KeyBuilder>,
    pub entities: Vec<EntityItem>,
    pub functions: Vec<Function>,
}

/// What a value is in an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Text,
    Number,
    /// A whole number: a time in seconds or milliseconds.
    Integer,
    Bool,
    Binary,
    TextSet,
    NumberSet,
    BinarySet,
    List,
    Map,
}

impl Kind {
    fn of(kind: AttributeKind) -> Kind {
        match kind {
            AttributeKind::Number => Kind::Number,
            AttributeKind::Epoch | AttributeKind::EpochMillis => Kind::Integer,
            AttributeKind::Binary => Kind::Binary,
            AttributeKind::Boolean => Kind::Bool,
            AttributeKind::StringSet => Kind::TextSet,
            AttributeKind::NumberSet => Kind::NumberSet,
            AttributeKind::BinarySet => Kind::BinarySet,
            AttributeKind::List => Kind::List,
            AttributeKind::Map => Kind::Map,
            AttributeKind::String
            | AttributeKind::Timestamp
            | AttributeKind::Date
            | AttributeKind::Uuid
            | AttributeKind::Ulid => Kind::Text,
        }
    }
}

/// A type: an entity, what a function returns of one, or what it takes several of.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// In Pascal case.
    pub name: String,
    pub comment: String,
    pub fields: Vec<Field>,
}

/// A function that reads an item into a record.
pub struct Reader {
    pub name: String,
    /// The entity's record.
    pub entity: String,
    pub record: String,
    /// The record's fields, with where they are.
    pub fields: Vec<Field>,
}

impl Record {
    pub fn field(&self, attribute: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.attribute == attribute)
    }
}

/// A member of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub attribute: String,
    pub kind: Kind,
    pub optional: bool,
    /// All values that it can have, if the file lists them.
    pub values: Vec<String>,
    /// What a reader of the code should know of its values.
    pub note: Option<&'static str>,
    pub source: Source,
}

/// Where a reader finds a field in an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Under its own name.
    Attribute,
    /// Between the literals of a key, because the index holds it only there.
    Key { key: String, literals: Vec<String>, position: usize, descending: Option<usize> },
}

/// A function that renders a key template.
pub struct KeyBuilder {
    pub name: String,
    /// The template as in the file.
    pub comment: String,
    pub parameters: Vec<(String, Kind)>,
    pub pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Literal(String),
    Field { value: Value, form: TextForm, width: Option<usize> },
}

/// What a text does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Plain,
    Lower,
    /// The first characters of a time.
    Prefix(usize),
    /// The distance to the largest number of this many digits.
    Descending(usize),
}

/// An expression of the code.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Literal(Stored),
    /// A parameter or the variable of a loop.
    Variable {
        name: String,
        kind: Kind,
    },
    /// A field of a record.
    Field {
        of: String,
        name: String,
        kind: Kind,
        optional: bool,
    },
    /// The CRC-32 of the value's text, modulo the count.
    Shard {
        of: Box<Value>,
        count: u64,
    },
    Random {
        count: u64,
    },
    /// The next version.
    Next(Box<Value>),
    Key {
        builder: usize,
        arguments: Vec<Value>,
    },
    Text(Vec<Piece>),
    /// The last text before all that begin with this one.
    Before(Box<Value>),
}

impl Value {
    pub fn kind(&self) -> Kind {
        match self {
            Value::Literal(stored) => match stored {
                Stored::N(_) => Kind::Number,
                Stored::B(_) => Kind::Binary,
                Stored::Bool(_) => Kind::Bool,
                Stored::Ss(_) => Kind::TextSet,
                Stored::Ns(_) => Kind::NumberSet,
                Stored::Bs(_) => Kind::BinarySet,
                Stored::L(_) => Kind::List,
                Stored::M(_) => Kind::Map,
                Stored::S(_) | Stored::Null => Kind::Text,
            },
            Value::Variable { kind, .. } | Value::Field { kind, .. } => *kind,
            Value::Shard { .. } | Value::Random { .. } => Kind::Integer,
            Value::Next(inner) => inner.kind(),
            Value::Key { .. } | Value::Text(_) | Value::Before(_) => Kind::Text,
        }
    }
}

/// A comparison at run time, which decides whether an item is in an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub value: Value,
    pub operator: Operator,
    pub operands: Vec<Stored>,
}

/// How an entity becomes an item.
pub struct EntityItem {
    /// Its record.
    pub record: String,
    /// What the function and its parameter are called.
    pub name: String,
    /// Keys, constants and fields, in the order in which they are written.
    pub attributes: Vec<ItemAttribute>,
}

/// An attribute of an item, if the tests hold.
pub struct ItemAttribute {
    pub attribute: String,
    pub value: Value,
    pub when: Vec<Test>,
}

/// The code of one access pattern.
pub struct Function {
    pub pattern: String,
    pub name: String,
    pub comments: Vec<String>,
    /// The error says why there is no function.
    pub written: Result<WrittenFunction, String>,
}

/// A function that can be written.
pub struct WrittenFunction {
    pub parameters: Vec<Parameter>,
    pub body: Body,
}

impl WrittenFunction {
    /// Whether the table can refuse what it writes.
    pub fn has_condition(&self) -> bool {
        self.body.has_condition()
    }

    /// The parameters, and whether each may be left out: those behind it may be, too.
    pub fn with_defaults(&self) -> impl Iterator<Item = (&Parameter, bool)> {
        let has_default = |one: &&Parameter| match &one.kind {
            ParameterKind::Value { default, .. } => default.is_some(),
            ParameterKind::Limit(_) | ParameterKind::Start => true,
            ParameterKind::Record(_) | ParameterKind::Records(_) => false,
        };
        let required = self.parameters.len() - self.parameters.iter().rev().take_while(has_default).count();
        self.parameters.iter().enumerate().map(move |(at, one)| (one, at >= required))
    }
}

impl Body {
    fn has_condition(&self) -> bool {
        let of = |write: &Write| write.request.condition.is_some();
        match self {
            Body::Write(write) => of(write),
            Body::Either { then, otherwise, .. } => then.has_condition() || otherwise.has_condition(),
            Body::Transaction(steps) => steps.iter().any(|step| of(&step.action)),
            _ => false,
        }
    }
}

/// A parameter of a function.
pub struct Parameter {
    pub name: String,
    pub kind: ParameterKind,
    role: Role,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    Value {
        kind: Kind,
        values: Vec<String>,
        /// What it is unless the caller says otherwise.
        default: Option<Stored>,
    },
    Record(String),
    Records(String),
    /// How many items are wanted; the number is that of the file.
    Limit(u64),
    /// Where the page begins: what the page before ended with.
    Start,
}

/// What a function does.
pub enum Body {
    Read(Read),
    Write(Write),
    /// One write or another, decided by the values.
    Either {
        tests: Vec<Test>,
        then: Box<Body>,
        otherwise: Box<Body>,
    },
    Transaction(Vec<Step<Write>>),
    BatchWrite(Vec<Step<Write>>),
    TransactionGet {
        steps: Vec<Step<Get>>,
        found: Found,
    },
    BatchGet {
        steps: Vec<Step<Get>>,
        found: Found,
    },
}

/// One of several reads or writes, or one for each element of a list.
pub struct Step<T> {
    pub each: Option<Each>,
    pub action: T,
}

/// `for element in list`.
pub struct Each {
    pub list: String,
    pub element: String,
    pub record: String,
}

/// A key of a group of reads.
pub struct Get {
    pub table: String,
    pub key: Vec<(String, Value)>,
    pub consistent: bool,
}

/// A request that reads, the loops around it, and what is made of the answers.
pub struct Read {
    pub operation: ReadOperation,
    pub request: Request,
    pub loops: Vec<Loop>,
    pub pages: Pages,
    /// The attributes by which the answers of several requests are merged.
    pub merge_by: Vec<(String, Kind)>,
    pub descending: bool,
    /// Whether the result is cut to the parameter `limit`.
    pub cut: bool,
    pub found: Found,
}

/// The operation of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOperation {
    Get,
    Query,
    Scan,
}

/// A loop around a request.
pub enum Loop {
    Shards {
        variable: String,
        count: u64,
    },
    /// The variable has a value of the attribute.
    Values {
        variable: String,
        attribute: String,
        kind: Kind,
        values: Vec<Value>,
    },
}

/// How many answers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// One answer.
    One,
    /// One answer, with what the next page begins after.
    Next,
    /// All answers.
    All,
}

/// What a read returns.
pub enum Found {
    Count,
    /// At most one.
    One(View),
    Many(View),
    /// Items of several entities: a record with a list of each.
    Mixed {
        record: String,
        parts: Vec<Part>,
    },
}

/// The record that items are read into, and the function that does it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub record: String,
    pub reader: String,
}

/// The items of one entity among others.
pub struct Part {
    /// The member of the record.
    pub name: String,
    pub view: View,
    pub is: Recognised,
}

/// Which items are of an entity: those with this text in this attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    pub attribute: String,
    pub text: String,
    /// Whether the attribute only begins with the text.
    pub begins: bool,
}

/// A request, with expressions as texts.
#[derive(Default)]
pub struct Request {
    pub table: String,
    pub index: Option<String>,
    pub key: Vec<(String, Value)>,
    pub key_condition: Option<String>,
    pub filter: Option<String>,
    pub update: Option<String>,
    pub condition: Option<String>,
    pub projection: Option<String>,
    pub names: Vec<(String, String)>,
    pub values: Vec<(String, Value)>,
    pub counts: bool,
    pub backward: bool,
    pub consistent: bool,
    /// Whether it has the parameter `limit`.
    pub limited: bool,
    /// Whether it has the parameter `start`.
    pub starts: bool,
}

/// A request that writes one item.
pub struct Write {
    pub verb: Verb,
    pub request: Request,
}

/// What a write does with the item.
pub enum Verb {
    /// The item of an entity: the index of [`Library::entities`], the variable, and fields that get other values.
    Put {
        entity: usize,
        variable: String,
        record: String,
        with: Vec<(String, Value)>,
    },
    Update,
    Delete,
    Check,
}

/// The library of a model: all patterns, or only the one of this name.
pub fn library(model: &Model, only: Option<&str>) -> Library {
    let mut library = Library {
        name: case::identifier(&model.name.value, "model"),
        title: super::one_line(&model.name.value),
        description: model.description.as_deref().map(super::one_line),
        tables: model.tables.iter().map(|table| table.name.value.clone()).collect(),
        records: Vec::new(),
        readers: Vec::new(),
        keys: Vec::new(),
        entities: Vec::new(),
        functions: Vec::new(),
    };
    record::entities(model, &mut library);
    let names = case::functions(model);
    for (pattern, name) in model.patterns.iter().zip(names) {
        if only.is_none_or(|only| pattern.id.value == only) {
            let function = parameter::function(model, pattern, name, &mut library);
            library.functions.push(function);
        }
    }
    library
}
