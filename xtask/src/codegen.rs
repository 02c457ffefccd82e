//! Writes `crates/api/src/generated` from the service model in `crates/api/facts` (the shapes of botocore
//! 1.44.0, without its prose).
//!
//! 1. Read the model's shapes.
//! 2. Walk from the inputs and outputs of the served operations. A server reads inputs and writes outputs,
//!    a client the other way round, so every shape can do both.
//! 3. Print one Rust type for each structure and enum, one `read_…` function and one `Encode` for each
//!    shape, and the `Operation`, `Request` and `Response` enums.
//! 4. Format with rustfmt, then write, or compare when asked to check.
//!
//! The printed code holds no rule of its own: it calls `api::decode` and `api::encode`. To serve one
//! more operation, add its name to [`SERVED`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// The operations that get a variant of `Operation`, in the order in which they are listed there.
const SERVED: &[&str] = &[
    "CreateTable",
    "DescribeTable",
    "ListTables",
    "UpdateTable",
    "DeleteTable",
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
    "DescribeContinuousBackups",
    "PutResourcePolicy",
    "GetResourcePolicy",
    "DeleteResourcePolicy",
    "DescribeLimits",
    "DescribeEndpoints",
    "PutItem",
    "GetItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "TransactGetItems",
    "TransactWriteItems",
    "ExecuteTransaction",
];

/// Members that DynamoDB reports first when several break a constraint; the rest follow by name.
const REPORTED_FIRST: &[(&str, &[&str])] = &[
    ("CreateTableInput", &["ProvisionedThroughput", "KeySchema", "AttributeDefinitions"]),
    ("ProvisionedThroughput", &["WriteCapacityUnits", "ReadCapacityUnits"]),
    ("PutItemInput", WRITE_MEMBERS),
    ("DeleteItemInput", WRITE_MEMBERS),
    (
        "UpdateItemInput",
        &[
            "TableName",
            "ReturnValues",
            "ReturnValuesOnConditionCheckFailure",
            "ReturnItemCollectionMetrics",
            "ReturnConsumedCapacity",
        ],
    ),
    ("QueryInput", &["Limit", "TableName"]),
    ("ScanInput", &["Limit", "Segment", "TotalSegments", "TableName", "ReturnConsumedCapacity"]),
];
const WRITE_MEMBERS: &[&str] = &[
    "TableName",
    "ReturnConsumedCapacity",
    "ReturnValues",
    "ReturnItemCollectionMetrics",
    "ReturnValuesOnConditionCheckFailure",
];

/// Enums whose messages list the values in another order than the model does.
const ENUM_ORDER: &[(&str, &[&str])] =
    &[("Select", &["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"])];

/// The matcher in `api::pattern` for each regular expression of the model.
const PATTERNS: &[(&str, &str)] = &[
    ("[a-zA-Z0-9_.-]+", "NAME"),
    ("\\p{Print}+", "PRINTABLE"),
    ("[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*", "ROLE_ARN"),
    ("([0-9a-f]{16})+", "HEXADECIMAL_TOKEN"),
    ("^[^\\$]+$", "WITHOUT_DOLLAR"),
    ("[A-Za-z0-9][A-Za-z0-9\\-\\_\\.]{0,126}[A-Za-z0-9]", "INSIGHTS_RULE"),
    ("[,;:|\\t ]", "CSV_DELIMITER"),
    ("[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*", "CSV_HEADER"),
    ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    ("^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$", "S3_BUCKET"),
    ("[0-9]{12}", "ACCOUNT"),
];

const KEYWORDS: &[&str] =
    &["type", "match", "ref", "use", "enum", "struct", "fn", "in", "loop", "move", "self"];

pub type Error = Box<dyn std::error::Error>;

/// Writes the generated files; with `check`, only reports the first that differs from what is there.
pub fn run(check: bool) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask lies in the workspace")?
        .join("crates/api");
    let model = Model::read(&root.join("facts/dynamodb.json"))?;
    let folder = root.join("src/generated");
    let files = generate(&model, SERVED)?;
    if check { compare(&folder, &files) } else { write(&folder, &files) }
}

fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

fn compare(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    for (name, text) in files {
        let path: PathBuf = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(text) {
            return Err(format!("{} is not what `cargo xtask codegen` writes", path.display()).into());
        }
    }
    Ok(())
}

/// The formatted text of each generated file.
fn generate(model: &Model, served: &[&str]) -> Result<Vec<(&'static str, String)>, Error> {
    let reach = Reach::of(model, served)?;
    let files = [
        ("mod.rs", print_index()),
        ("operation.rs", print_operations(model, served)?),
        ("shape.rs", print_shapes(model, &reach)?),
        ("enumeration.rs", print_enums(model, &reach)?),
        ("decode.rs", print_decoders(model, &reach)?),
        ("encode.rs", print_encoders(model, &reach)?),
    ];
    files.into_iter().map(|(name, body)| Ok((name, format_rust(&body)?))).collect()
}

fn format_rust(body: &str) -> Result<String, Error> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=110,use_small_heuristics=Max"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let text =
        format!("// Generated by `cargo xtask codegen` from facts/dynamodb.json. Do not edit.\n\n{body}");
    rustfmt.stdin.take().ok_or("rustfmt takes no input")?.write_all(text.as_bytes())?;
    let output = rustfmt.wait_with_output()?;
    if !output.status.success() {
        return Err("rustfmt refused the generated text".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

// ---- the model

#[derive(Deserialize)]
struct Model {
    operations: BTreeMap<String, Operation>,
    shapes: BTreeMap<String, Shape>,
}

#[derive(Deserialize)]
struct Operation {
    input: Option<Reference>,
    output: Option<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    shape: String,
}

#[derive(Deserialize)]
struct Shape {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    members: BTreeMap<String, Reference>,
    #[serde(default)]
    required: BTreeSet<String>,
    member: Option<Reference>,
    key: Option<Reference>,
    value: Option<Reference>,
    #[serde(default, rename = "enum")]
    values: Vec<String>,
    min: Option<i64>,
    max: Option<i64>,
    pattern: Option<String>,
}

impl Model {
    fn read(path: &Path) -> Result<Model, Error> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    fn shape(&self, name: &str) -> Result<&Shape, Error> {
        self.shapes.get(name).ok_or_else(|| format!("the model has no shape {name}").into())
    }

    fn operation(&self, name: &str) -> Result<&Operation, Error> {
        self.operations.get(name).ok_or_else(|| format!("the model has no operation {name}").into())
    }

    /// A map of attribute names to values: one `item::Item`.
    fn is_item(&self, shape: &Shape) -> bool {
        let points_to =
            |reference: &Option<Reference>, name| reference.as_ref().is_some_and(|r| r.shape == name);
        shape.kind == "map"
            && points_to(&shape.key, "AttributeName")
            && points_to(&shape.value, "AttributeValue")
    }

    /// The structure's members, those that are reported first in front.
    fn members<'m>(&'m self, name: &str) -> Result<Vec<Member<'m>>, Error> {
        let shape = self.shape(name)?;
        let first = table(REPORTED_FIRST, name).copied().unwrap_or_default();
        let rank = |member: &str| first.iter().position(|&f| f == member).unwrap_or(first.len());
        let mut members = Vec::new();
        for (wire, reference) in &shape.members {
            // An AttributeValue has no default to stand in for a missing one.
            let required = shape.required.contains(wire) && reference.shape != "AttributeValue";
            members.push(Member { wire, shape: &reference.shape, required });
        }
        members.sort_by_key(|member| rank(member.wire));
        Ok(members)
    }

    /// Whether a Rust type is printed for the shape.
    fn has_own_type(&self, name: &str) -> bool {
        let shape = self.shapes.get(name);
        shape.is_some_and(|shape| shape.kind == "structure" || !shape.values.is_empty())
    }

    fn rust_type(&self, name: &str) -> Result<String, Error> {
        let shape = self.shape(name)?;
        Ok(match shape.kind.as_str() {
            _ if name == "AttributeValue" => "ValueBuf".to_owned(),
            _ if self.is_item(shape) => "Item".to_owned(),
            "structure" => name.to_owned(),
            "string" if !shape.values.is_empty() => name.to_owned(),
            "string" => "String".to_owned(),
            "boolean" => "bool".to_owned(),
            "integer" => "i32".to_owned(),
            "long" => "i64".to_owned(),
            "double" | "float" | "timestamp" => "f64".to_owned(),
            "blob" => "Vec<u8>".to_owned(),
            "list" => format!("Vec<{}>", self.rust_type(inner(&shape.member)?)?),
            "map" => format!("BTreeMap<String, {}>", self.rust_type(inner(&shape.value)?)?),
            other => return Err(format!("{name} is of an unknown type {other}").into()),
        })
    }

    fn holds_values(&self, name: &str) -> Result<bool, Error> {
        let mut seen = BTreeSet::new();
        self.collect(name, &mut seen)?;
        Ok(seen.contains("AttributeValue"))
    }

    /// Adds the shape and all that it refers to. An AttributeValue is `item`'s own affair.
    fn collect(&self, name: &str, seen: &mut BTreeSet<String>) -> Result<(), Error> {
        if !seen.insert(name.to_owned()) || name == "AttributeValue" {
            return Ok(());
        }
        let shape = self.shape(name)?;
        let parts = [&shape.member, &shape.key, &shape.value].into_iter().flatten();
        for reference in shape.members.values().chain(parts) {
            self.collect(&reference.shape, seen)?;
        }
        Ok(())
    }
}

struct Member<'m> {
    wire: &'m str,
    shape: &'m str,
    required: bool,
}

/// The shapes of the served operations.
struct Reach {
    all: BTreeSet<String>,
    /// What inputs hold. Only that is held to the constraints of the model: a server says what it says.
    constrained: BTreeSet<String>,
    inputs: BTreeSet<String>,
    outputs: BTreeSet<String>,
}

impl Reach {
    fn of(model: &Model, served: &[&str]) -> Result<Reach, Error> {
        let mut reach = Reach {
            all: BTreeSet::new(),
            constrained: BTreeSet::new(),
            inputs: BTreeSet::new(),
            outputs: BTreeSet::new(),
        };
        for name in served {
            let Operation { input, output } = model.operation(name)?;
            for shape in [input, output].into_iter().flatten().map(|reference| &reference.shape) {
                model.collect(shape, &mut reach.all)?;
            }
            if let Some(input) = input {
                model.collect(&input.shape, &mut reach.constrained)?;
            }
            reach.inputs.extend(input.iter().map(|reference| reference.shape.clone()));
            reach.outputs.extend(output.iter().map(|reference| reference.shape.clone()));
        }
        Ok(reach)
    }
}

fn inner(reference: &Option<Reference>) -> Result<&str, Error> {
    Ok(&reference.as_ref().ok_or("a list or map without its element's shape")?.shape)
}

fn table<'t, T>(table: &'t [(&str, T)], name: &str) -> Option<&'t T> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

// ---- names

/// `SSESpecification` -> `sse_specification`, `KMSMasterKeyId` -> `kms_master_key_id`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let after_lower = index > 0 && !letters[index - 1].is_uppercase();
        let before_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && index > 0 && (after_lower || before_lower) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    if KEYWORDS.contains(&snake.as_str()) { format!("r#{snake}") } else { snake }
}

/// `ALL_OLD` -> `AllOld`; names that already mix their letters stay.
fn variant(value: &str) -> String {
    if value.contains(|letter: char| letter.is_lowercase()) {
        return value.to_owned();
    }
    value
        .split('_')
        .map(|word| {
            word.chars().take(1).chain(word.chars().skip(1).flat_map(char::to_lowercase)).collect::<String>()
        })
        .collect()
}

/// The Java type that SerializationException texts name.
fn java_class(model: &Model, name: &str) -> Result<String, Error> {
    let shape = model.shape(name)?;
    Ok(match shape.kind.as_str() {
        "structure" => format!("com.amazonaws.dynamodb.v20120810.{name}"),
        "string" => "java.lang.String".to_owned(),
        "boolean" => "java.lang.Boolean".to_owned(),
        "integer" => "java.lang.Integer".to_owned(),
        "long" => "java.lang.Long".to_owned(),
        "list" => format!("java.util.List<{}>", java_class(model, inner(&shape.member)?)?),
        "map" => format!("java.util.Map<java.lang.String, {}>", java_class(model, inner(&shape.value)?)?),
        _ => "java.lang.Object".to_owned(),
    })
}

// ---- printing

fn print_index() -> String {
    let mut text = String::new();
    for module in ["decode", "encode", "enumeration", "operation", "shape"] {
        let _ = writeln!(text, "mod {module};");
    }
    text.push_str(
        "pub use enumeration::*;\npub use operation::{Operation, Request, Response};\npub use shape::*;\n",
    );
    text
}

fn print_operations(model: &Model, served: &[&str]) -> Result<String, Error> {
    let (mut names, mut texts, mut parses) = (String::new(), String::new(), String::new());
    let (mut requests, mut decodes, mut operations) = (String::new(), String::new(), String::new());
    let (mut checks, mut responses, mut encodes) = (String::new(), String::new(), String::new());
    let (mut sends, mut froms, mut imports) = (String::new(), String::new(), BTreeSet::new());
    for name in served {
        let operation = model.operation(name)?;
        let input = &operation.input.as_ref().ok_or("an operation without input")?.shape;
        writeln!(names, "{name},")?;
        writeln!(texts, "Operation::{name} => \"{name}\",")?;
        writeln!(parses, "\"{name}\" => Operation::{name},")?;
        writeln!(requests, "{name}(Box<{input}>),")?;
        writeln!(operations, "Request::{name}(_) => Operation::{name},")?;
        writeln!(checks, "Request::{name}(input) => input.check(),")?;
        writeln!(sends, "Request::{name}(input) => input.encode(out),")?;
        writeln!(
            decodes,
            "Operation::{name} => Request::{name}(Box::new(decode(body, read::{})?)),",
            reader_name(input)
        )?;
        imports.insert(input.as_str());
        match &operation.output {
            Some(output) => {
                let output = &output.shape;
                imports.insert(output);
                writeln!(responses, "{name}(Box<{output}>),")?;
                writeln!(encodes, "Response::{name}(output) => output.encode(out),")?;
            }
            None => {
                writeln!(responses, "{name},")?;
                writeln!(encodes, "Response::{name} => {{}}")?;
            }
        }
        froms.push_str(&print_conversions(model, served, name, operation)?);
    }
    let imports = imports.into_iter().collect::<Vec<_>>().join(", ");
    Ok(format!(
        "use super::decode as read;
        use super::shape::{{{imports}}};
        use crate::decode::{{answer, decode}};
        use crate::encode::Encode;
        use crate::{{Error, Input}};

        /// An operation that is served.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {{ {names} }}

        impl Operation {{
            /// Every operation that is served.
            pub const ALL: &[Operation] = &[{all}];

            /// As it stands after the dot in `X-Amz-Target`.
            pub fn name(self) -> &'static str {{ match self {{ {texts} }} }}

            /// The inverse of [`Operation::name`].
            pub fn from_target_name(name: &str) -> Option<Operation> {{
                Some(match name {{ {parses} _ => return None }})
            }}
        }}

        /// A request whose JSON types and constraints are right. Its `check` comes next.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {{ {requests} }}

        impl Request {{
            pub fn operation(&self) -> Operation {{ match self {{ {operations} }} }}

            /// Reads a request's body, and refuses it as DynamoDB would for a wrong JSON type or a
            /// broken constraint.
            pub fn decode(operation: Operation, body: &[u8]) -> Result<Request, Error> {{
                Ok(match operation {{ {decodes} }})
            }}

            /// Applies the operation's rules that need neither the table nor an expression's meaning.
            pub fn check(&self) -> Result<(), Error> {{ match self {{ {checks} }} }}

            /// Appends the body that [`Request::decode`] reads.
            pub fn write_json(&self, out: &mut Vec<u8>) {{ match self {{ {sends} }} }}
        }}

        /// An operation's answer.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Response {{ {responses} }}

        impl Response {{
            /// Appends the body.
            pub fn write_json(&self, out: &mut Vec<u8>) {{ match self {{ {encodes} }} }}
        }}

        {froms}",
        all = served.iter().map(|name| format!("Operation::{name}, ")).collect::<String>(),
    ))
}

/// What ties an operation's own input and output together. A few operations share theirs with another:
/// those shapes belong to none.
fn print_conversions(
    model: &Model,
    served: &[&str],
    name: &str,
    operation: &Operation,
) -> Result<String, Error> {
    let mut shapes = Vec::new();
    for served in served {
        let Operation { input, output } = model.operation(served)?;
        shapes.extend([input, output].into_iter().flatten().map(|reference| reference.shape.as_str()));
    }
    let own = |reference: &Option<Reference>| {
        let shape = reference.as_ref().map(|reference| reference.shape.clone())?;
        (shapes.iter().filter(|other| **other == shape).count() == 1).then_some(shape)
    };
    let (input, output) = (own(&operation.input), own(&operation.output));
    let from_output = output.as_ref().map(|output| {
        format!(
            "impl From<{output}> for Response {{
                fn from(output: {output}) -> Response {{ Response::{name}(Box::new(output)) }}
            }}\n\n"
        )
    });
    let (output, pattern) = match &operation.output {
        Some(output) => (output.shape.as_str(), format!("Response::{name}(output) => Some(*output)")),
        None => ("()", format!("Response::{name} => Some(())")),
    };
    let read = match &operation.output {
        Some(output) => format!("answer(body, read::{})", reader_name(&output.shape)),
        None => "Ok(())".to_owned(),
    };
    let body = if operation.output.is_some() { "body" } else { "_body" };
    let input = input.map(|input| {
        format!(
            "impl Input for {input} {{
                type Output = {output};
                fn into_request(self) -> Request {{ Request::{name}(Box::new(self)) }}
                fn output(response: Response) -> Option<{output}> {{
                    match response {{ {pattern}, _ => None }}
                }}
                fn read_output({body}: &[u8]) -> Result<{output}, Error> {{ {read} }}
            }}\n\n"
        )
    });
    Ok(from_output.into_iter().chain(input).collect())
}

fn print_shapes(model: &Model, reach: &Reach) -> Result<String, Error> {
    let mut types = String::new();
    for name in &reach.all {
        if model.shape(name)?.kind != "structure" || name == "AttributeValue" {
            continue;
        }
        writeln!(types, "#[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{")?;
        for member in model.members(name)? {
            let rust = model.rust_type(member.shape)?;
            let rust = if member.required { rust } else { format!("Option<{rust}>") };
            writeln!(types, "pub {}: {rust},", snake(member.wire))?;
        }
        if reach.inputs.contains(name) && model.holds_values(name)? {
            types.push_str(
                "/// The first value that breaks a rule of its type; what holds it is left out above.\n",
            );
            types.push_str("pub value_fault: Option<ValueError>,\n");
        }
        types.push_str("}\n\n");
    }
    let enums =
        enum_names(model, reach)?.into_iter().filter(|name| mentions(&types, name)).collect::<Vec<_>>();
    let mut uses = String::new();
    if mentions(&types, "BTreeMap") {
        uses.push_str("use std::collections::BTreeMap;\n\n");
    }
    uses.push_str(&item_imports(&types));
    if !enums.is_empty() {
        writeln!(uses, "use super::enumeration::{{{}}};\n", enums.join(", "))?;
    }
    Ok(format!("{uses}{types}"))
}

fn item_imports(types: &str) -> String {
    let names: Vec<&str> =
        ["Item", "ValueBuf", "ValueError"].into_iter().filter(|name| mentions(types, name)).collect();
    if names.is_empty() { String::new() } else { format!("use item::{{{}}};\n\n", names.join(", ")) }
}

/// Whether the type's name stands in the text as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

fn enum_names<'m>(model: &'m Model, reach: &Reach) -> Result<Vec<&'m str>, Error> {
    let is_enum =
        |(name, shape): &(&'m String, &'m Shape)| !shape.values.is_empty() && reach.all.contains(*name);
    Ok(model.shapes.iter().filter(is_enum).map(|(name, _)| name.as_str()).collect())
}

fn print_enums(model: &Model, reach: &Reach) -> Result<String, Error> {
    let mut text = String::from("use crate::decode::Enumeration;\n\n");
    for name in enum_names(model, reach)? {
        let values = &model.shape(name)?.values;
        let listed: Vec<&str> = match table(ENUM_ORDER, name) {
            Some(order) => order.to_vec(),
            None => values.iter().map(String::as_str).collect(),
        };
        let (mut variants, mut texts, mut parses) = (String::new(), String::new(), String::new());
        for (index, value) in values.iter().enumerate() {
            let variant = variant(value);
            let default = if index == 0 { "#[default]\n" } else { "" };
            writeln!(variants, "{default}{variant},")?;
            writeln!(texts, "{name}::{variant} => \"{value}\",")?;
            writeln!(parses, "\"{value}\" => {name}::{variant},")?;
        }
        writeln!(
            text,
            "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum {name} {{ {variants} }}

            impl {name} {{
                pub fn as_str(self) -> &'static str {{ match self {{ {texts} }} }}
            }}

            impl Enumeration for {name} {{
                const VALUES: &'static str = \"{listed}\";
                fn from_name(name: &str) -> Option<{name}> {{
                    Some(match name {{ {parses} _ => return None }})
                }}
            }}
            ",
            listed = listed.join(", "),
        )?;
    }
    Ok(text)
}

fn reader_name(shape: &str) -> String {
    format!("read_{}", snake(shape).trim_start_matches("r#"))
}

/// The function that reads a shape: its own, or the common one if the shape sets no constraint.
fn reader(model: &Model, reach: &Reach, name: &str) -> Result<String, Error> {
    let shape = model.shape(name)?;
    let without = shape.min.is_none() && shape.max.is_none() && shape.pattern.is_none();
    let free = without || !reach.constrained.contains(name);
    Ok(match shape.kind.as_str() {
        _ if name == "TableArn" && reach.constrained.contains(name) => "table_name".to_owned(),
        _ if name == "AttributeValue" => "value".to_owned(),
        _ if model.is_item(shape) => "item".to_owned(),
        "string" if !shape.values.is_empty() => "enumeration".to_owned(),
        "string" if free => "string".to_owned(),
        "integer" if free => "integer".to_owned(),
        "long" if free => "long".to_owned(),
        "boolean" => "boolean".to_owned(),
        "double" | "float" | "timestamp" => "double".to_owned(),
        "blob" => "blob".to_owned(),
        _ => reader_name(name),
    })
}

fn print_decoders(model: &Model, reach: &Reach) -> Result<String, Error> {
    let mut body = String::new();
    let mut imported = BTreeSet::new();
    let mut types = String::new();
    for name in &reach.all {
        let own = reader_name(name);
        if reader(model, reach, name)? != own {
            continue;
        }
        let shape = model.shape(name)?;
        let kind = shape.kind.as_str();
        if kind == "structure" {
            imported.insert(name.as_str());
            print_structure_decoder(model, reach, name, &mut body)?;
            continue;
        }
        let call = match kind {
            "string" => {
                let pattern = match &shape.pattern {
                    None => "None".to_owned(),
                    Some(pattern) => {
                        let matcher = table(PATTERNS, pattern).ok_or(format!("no matcher for {pattern}"))?;
                        format!("Some(&pattern::{matcher})")
                    }
                };
                format!("text(reader, at, {}, {pattern})", length(shape))
            }
            "integer" | "long" => {
                let bound =
                    |limit: Option<i64>, word| limit.map_or(format!("i64::{word}"), |n| n.to_string());
                format!(
                    "{kind}_within(reader, at, {}..={})",
                    bound(shape.min, "MIN"),
                    bound(shape.max, "MAX")
                )
            }
            "list" if inner(&shape.member)? == "AttributeValue" => {
                format!("value_list(reader, at, {})", length(shape))
            }
            "list" => {
                format!(
                    "list(reader, at, {}, {})",
                    length(shape),
                    reader(model, reach, inner(&shape.member)?)?
                )
            }
            "map" if inner(&shape.value)? == "AttributeValue" => "value_map(reader, at)".to_owned(),
            "map" => {
                let value = inner(&shape.value)?;
                let class = java_class(model, name)?;
                format!("map(reader, at, {}, \"{class}\", {})", length(shape), reader(model, reach, value)?)
            }
            other => return Err(format!("{name} is of an unknown type {other}").into()),
        };
        let rust = model.rust_type(name)?;
        let named = reach.all.iter().map(String::as_str).filter(|part| mentions(&rust, part));
        imported.extend(named.filter(|part| model.has_own_type(part)));
        writeln!(types, "{rust}")?;
        writeln!(body, "fn {own}(reader: &mut Reader<'_>, at: &Path<'_>) -> Decoded<{rust}> {{ {call} }}\n")?;
    }
    let mut uses = String::new();
    if mentions(&types, "BTreeMap") {
        uses.push_str("use std::collections::BTreeMap;\n\n");
    }
    uses.push_str(&item_imports(&types));
    let enums = enum_names(model, reach)?;
    let (enums, shapes): (Vec<&str>, Vec<&str>) =
        imported.into_iter().filter(|name| *name != "AttributeValue").partition(|name| enums.contains(name));
    if !enums.is_empty() {
        writeln!(uses, "use super::enumeration::{{{}}};", enums.join(", "))?;
    }
    writeln!(uses, "use super::shape::{{{}}};", shapes.join(", "))?;
    let calls =
        COMMON_READERS.iter().filter(|name| mentions(&body, name)).copied().collect::<Vec<_>>().join(", ");
    writeln!(uses, "use crate::decode::{{Decoded, Path, Reader, {calls}}};")?;
    if mentions(&body, "pattern") {
        uses.push_str("use crate::pattern;\n");
    }
    Ok(format!("{uses}\n{body}"))
}

const COMMON_READERS: &[&str] = &[
    "blob",
    "boolean",
    "double",
    "enumeration",
    "integer",
    "integer_within",
    "item",
    "list",
    "long",
    "long_within",
    "map",
    "string",
    "table_name",
    "text",
    "value",
    "value_list",
    "value_map",
];

fn length(shape: &Shape) -> String {
    format!(
        "{}..={}",
        shape.min.unwrap_or(0),
        shape.max.map_or("usize::MAX".to_owned(), |max| max.to_string())
    )
}

fn print_structure_decoder(model: &Model, reach: &Reach, name: &str, body: &mut String) -> Result<(), Error> {
    let members = model.members(name)?;
    let wires = members.iter().map(|member| format!("\"{}\", ", member.wire)).collect::<String>();
    let mut arms = String::new();
    for (index, member) in members.iter().enumerate() {
        let read = format!("{}(reader, &at)?", reader(model, reach, member.shape)?);
        // The reader of a value answers with an option: a value at fault leaves nothing.
        let value =
            if member.required || member.shape == "AttributeValue" { read } else { format!("Some({read})") };
        let index = if index + 1 == members.len() { "_".to_owned() } else { index.to_string() };
        writeln!(arms, "{index} => shape.{} = {value},", snake(member.wire))?;
    }
    let required: Vec<String> =
        members.iter().enumerate().filter(|(_, m)| m.required).map(|(index, _)| index.to_string()).collect();
    let is_body = reach.inputs.contains(name) || reach.outputs.contains(name);
    let public = if is_body { "pub(super) " } else { "" };
    let at = if members.is_empty() { "_at" } else { "at" };
    let start = format!(
        "{public}fn {}(reader: &mut Reader<'_>, {at}: &Path<'_>) -> Decoded<{name}> {{
            const MEMBERS: &[&str] = &[{wires}];",
        reader_name(name)
    );
    let fault = if reach.inputs.contains(name) && model.holds_values(name)? {
        "shape.value_fault = reader.take_value_fault();"
    } else {
        ""
    };
    let fetch = match members.len() {
        0 => "while members.next(reader)?.is_some() {}".to_owned(),
        1 => {
            let (_, assign) = arms.split_once("=> ").ok_or("an arm has an arrow")?;
            format!(
                "while let Some(index) = members.next(reader)? {{ let at = at.member(MEMBERS, index); {}; }}",
                assign.trim().trim_end_matches(',')
            )
        }
        _ => format!(
            "while let Some(index) = members.next(reader)? {{
                let at = at.member(MEMBERS, index);
                match index {{ {arms} }}
            }}"
        ),
    };
    let require = if required.is_empty() {
        String::new()
    } else {
        format!("members.require(reader, at, &[{}]);", required.join(", "))
    };
    let mutable = if members.is_empty() { "" } else { "mut " };
    writeln!(
        body,
        "{start}
            let mut members = reader.structure(\"{name}\", MEMBERS)?;
            let {mutable}shape = {name}::default();
            {fetch}
            {require}
            {fault}
            Ok(shape)
        }}\n"
    )?;
    Ok(())
}

fn print_encoders(model: &Model, reach: &Reach) -> Result<String, Error> {
    let mut body = String::new();
    let mut shapes = Vec::new();
    let mut enums = Vec::new();
    for name in &reach.all {
        let shape = model.shape(name)?;
        if !shape.values.is_empty() {
            enums.push(name.as_str());
            writeln!(
                body,
                "impl Encode for {name} {{
                    fn encode(&self, out: &mut Vec<u8>) {{ self.as_str().encode(out); }}
                }}\n"
            )?;
        }
        if shape.kind != "structure" || name == "AttributeValue" {
            continue;
        }
        shapes.push(name.as_str());
        let mut lines = String::new();
        for member in model.members(name)? {
            let field = snake(member.wire);
            let timestamp = model.shape(member.shape)?.kind == "timestamp";
            let value = match (timestamp, member.required) {
                (false, _) => format!("&self.{field}"),
                (true, true) => format!("&Timestamp(self.{field})"),
                (true, false) => format!("&self.{field}.map(Timestamp)"),
            };
            writeln!(lines, "object.member(\"{}\", {value});", member.wire)?;
        }
        writeln!(
            body,
            "impl Encode for {name} {{
                fn encode(&self, out: &mut Vec<u8>) {{
                    let {}object = Object::new(out);
                    {lines}
                    object.end();
                }}
            }}\n",
            if lines.is_empty() { "" } else { "mut " }
        )?;
    }
    let timestamp = if body.contains("Timestamp") { ", Timestamp" } else { "" };
    let mut uses = String::new();
    if !enums.is_empty() {
        writeln!(uses, "use super::enumeration::{{{}}};", enums.join(", "))?;
    }
    writeln!(uses, "use super::shape::{{{}}};", shapes.join(", "))?;
    writeln!(uses, "use crate::encode::{{Encode, Object{timestamp}}};")?;
    Ok(format!("{uses}\n{body}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_model_can_be_generated() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api/facts/dynamodb.json");
        let model = Model::read(&path).expect("the model reads");
        let all: Vec<&str> = model.operations.keys().map(String::as_str).collect();
        assert_eq!(all.len(), 62);
        generate(&model, &all).expect("each shape has a Rust form");
    }

    #[test]
    fn names_keep_their_words_apart() {
        assert_eq!(snake("SSESpecification"), "sse_specification");
        assert_eq!(snake("KMSMasterKeyId"), "kms_master_key_id");
        assert_eq!(snake("SizeEstimateRangeGB"), "size_estimate_range_gb");
        assert_eq!(variant("PAY_PER_REQUEST"), "PayPerRequest");
        assert_eq!(variant("ConditionalCheckFailed"), "ConditionalCheckFailed");
    }
}
