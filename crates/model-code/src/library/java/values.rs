//! Expressions: keys, attribute values, literals, and comparisons at run time.

use item::Value as Stored;
use model::predicate::Operator;

use super::layout::{JavaCode, after, call, plain};
use super::names::{Java, component, variable};
use crate::library::{Kind, Piece, Test, TextForm, Value};
use crate::literal::{is_unseen, quoted};

/// The most pairs that `Map.of` takes.
const PAIRS_MAX: usize = 10;

impl Java<'_> {
    pub fn inline(&self, value: &Value) -> String {
        self.value(value, value.kind()).inline()
    }

    /// An expression of the type of this kind.
    pub fn value(&self, value: &Value, kind: Kind) -> JavaCode {
        match value {
            Value::Literal(stored) => literal(stored, kind),
            Value::Variable { name, kind: own } => plain(converted(variable(name), *own, kind)),
            Value::Field { of, name, kind: own, .. } => {
                plain(converted(format!("{}.{}()", variable(of), component(name)), *own, kind))
            }
            Value::Shard { of, count } => plain(format!("shardOf({}, {count})", self.text_of(of))),
            Value::Random { count } => plain(format!("ThreadLocalRandom.current().nextLong({count})")),
            Value::Next(inner) if inner.kind() == Kind::Integer => {
                plain(format!("{} + 1", self.inline(inner)))
            }
            Value::Next(inner) => plain(format!("{}.add(BigDecimal.ONE)", self.inline(inner))),
            Value::Key { builder, arguments } => {
                let kinds = self.library.keys[*builder].parameters.iter().map(|(_, kind)| *kind);
                let arguments = arguments.iter().zip(kinds).map(|(one, kind)| self.value(one, kind));
                call(format!("{}(", self.keys[*builder]), arguments.collect(), ")")
            }
            Value::Text(pieces) => plain(self.text(pieces, false)),
            Value::Before(inner) => plain(format!("before({})", self.inline(inner))),
        }
    }

    /// The value as requests have it.
    pub fn attribute(&self, value: &Value) -> JavaCode {
        if let Value::Literal(stored) = value {
            return attribute_value(stored);
        }
        let kind = value.kind();
        let inner = self.value(value, kind);
        let inner = match kind {
            Kind::Number => plain(format!("{}.toPlainString()", inner.inline())),
            Kind::Integer => call("Long.toString(", vec![inner], ")"),
            Kind::TextSet | Kind::BinarySet => call("List.copyOf(", vec![inner], ")"),
            Kind::NumberSet => {
                plain(format!("{}.stream().map(BigDecimal::toPlainString).toList()", inner.inline()))
            }
            _ => inner,
        };
        call(format!("AttributeValue.{}(", maker(kind)), vec![inner], ")")
    }

    /// The arguments of a request's member that has attributes by their names.
    pub fn map(&self, open: &str, entries: &[(String, Value)], close: &str) -> JavaCode {
        let entries = entries.iter().map(|(name, value)| (string(name), self.attribute(value)));
        map(open, entries.collect(), close)
    }

    /// An expression for the value's text.
    fn text_of(&self, value: &Value) -> String {
        let text = self.inline(value);
        match value.kind() {
            Kind::Number => format!("digits({text})"),
            Kind::Integer => format!("Long.toString({text})"),
            Kind::Bool => format!("Boolean.toString({text})"),
            Kind::Binary => format!("hex({text})"),
            _ => text,
        }
    }

    /// A text of several pieces. Unless they were checked before, texts must not be null: Java would write `null`.
    pub fn text(&self, pieces: &[Piece], checked: bool) -> String {
        let written = pieces.iter().enumerate().map(|(at, piece)| match piece {
            Piece::Literal(text) => string(text),
            Piece::Field { value, form: TextForm::Plain, width: None } => {
                let beside_text = at > 0 || matches!(pieces.get(1), Some(Piece::Literal(_)));
                match (value, value.kind()) {
                    (Value::Variable { .. } | Value::Field { .. } | Value::Shard { .. }, Kind::Integer)
                        if beside_text =>
                    {
                        self.inline(value)
                    }
                    (Value::Variable { name, .. }, Kind::Text) if !checked => {
                        let name = variable(name);
                        format!("Objects.requireNonNull({name}, {})", string(&name))
                    }
                    _ => self.text_of(value),
                }
            }
            Piece::Field { value, form, width } => {
                let text = self.text_of(value);
                let text = match form {
                    TextForm::Plain => text,
                    TextForm::Lower => format!("{text}.toLowerCase(Locale.ROOT)"),
                    TextForm::Prefix(length) => format!("beginning({text}, {length})"),
                    TextForm::Descending(digits) => format!("padded(distance({text}, {digits}), {digits})"),
                };
                match width {
                    Some(width) => format!("padded({text}, {width})"),
                    None => text,
                }
            }
        });
        written.collect::<Vec<_>>().join(" + ")
    }

    pub fn tests(&self, tests: &[Test]) -> String {
        let mut texts: Vec<String> = tests.iter().map(|test| self.test(test, tests.len() > 1)).collect();
        // What a parameter gives is there.
        texts.retain(|text| text != "true");
        if texts.is_empty() { "true".to_owned() } else { texts.join(" && ") }
    }

    /// A comparison, in brackets if it is one of several and needs them.
    fn test(&self, test: &Test, among: bool) -> String {
        let kind = test.value.kind();
        let value = self.inline(&test.value);
        let optional = matches!(test.value, Value::Field { optional: true, .. });
        let bracketed = |text: String, several: bool| if several { format!("({text})") } else { text };
        let operand =
            |at: usize| test.operands.get(at).map(|one| literal(one, kind).inline()).unwrap_or_default();
        let compared = |operator: &str, at: usize| {
            let (operand, not) = (operand(at), if operator == "!=" { "!" } else { "" });
            match (kind, operator) {
                (Kind::Integer, _) => format!("{value} {operator} {operand}"),
                (Kind::Bool, _) if (operand == "true") == (operator == "==") => value.clone(),
                (Kind::Bool, _) => format!("!{value}"),
                (Kind::Number, _) => format!("{value}.compareTo({operand}) {operator} 0"),
                (Kind::Text, "==" | "!=") => format!("{not}{value}.equals({operand})"),
                (Kind::Text, _) => format!("compareTexts({value}, {operand}) {operator} 0"),
                (Kind::Binary, "<" | "<=" | ">" | ">=") => format!(
                    "Arrays.compareUnsigned({value}.asByteArray(), {operand}.asByteArray()) {operator} 0"
                ),
                _ => format!("{not}{value}.equals({operand})"),
            }
        };
        let text = match test.operator {
            Operator::Exists if optional => return format!("{value} != null"),
            Operator::Exists => return "true".to_owned(),
            Operator::NotExists if optional => return format!("{value} == null"),
            Operator::NotExists => return "false".to_owned(),
            Operator::NotEqual if optional => {
                return bracketed(format!("{value} == null || {}", compared("!=", 0)), among);
            }
            Operator::NotEqual => return compared("!=", 0),
            Operator::BeginsWith => format!("{value}.startsWith({})", operand(0)),
            Operator::Contains => {
                let member =
                    |kind| test.operands.first().map(|one| literal(one, kind).inline()).unwrap_or_default();
                match kind {
                    Kind::List => {
                        let element = test.operands.first().map(attribute_value);
                        let element = element.map(|code| code.inline()).unwrap_or_default();
                        format!("{value}.contains({element})")
                    }
                    Kind::NumberSet => format!("containsNumber({value}, {})", member(Kind::Number)),
                    Kind::BinarySet => format!("{value}.contains({})", member(Kind::Binary)),
                    _ => format!("{value}.contains({})", member(Kind::Text)),
                }
            }
            Operator::Between => format!("{} && {}", compared(">=", 0), compared("<=", 1)),
            Operator::In if kind == Kind::Text && test.operands.len() > 1 => {
                let all: Vec<String> = (0..test.operands.len()).map(operand).collect();
                format!("List.of({}).contains({value})", all.join(", "))
            }
            Operator::In => {
                let all: Vec<String> = (0..test.operands.len()).map(|at| compared("==", at)).collect();
                bracketed(all.join(" || "), all.len() > 1 && (among || optional))
            }
            Operator::Equal => compared("==", 0),
            other => compared(other.name(), 0),
        };
        if optional { format!("{value} != null && {text}") } else { text }
    }
}

/// `Map.of` of names and expressions, or `Map.ofEntries` if there are many.
pub fn map(open: &str, entries: Vec<(String, JavaCode)>, close: &str) -> JavaCode {
    if entries.len() <= PAIRS_MAX {
        let pairs = entries.into_iter().map(|(name, code)| after(format!("{name}, "), code));
        return call(format!("{open}Map.of("), pairs.collect(), format!("){close}"));
    }
    let pairs = entries.into_iter().map(|(name, code)| call("Map.entry(", vec![plain(name), code], ")"));
    call(format!("{open}Map.ofEntries("), pairs.collect(), format!("){close}"))
}

/// Entities that share a parameter may have different types for it.
fn converted(text: String, from: Kind, to: Kind) -> String {
    match (from, to) {
        (Kind::Integer, Kind::Number) => format!("BigDecimal.valueOf({text})"),
        (Kind::Integer, Kind::Text) => format!("Long.toString({text})"),
        (Kind::Number, Kind::Integer) => format!("{text}.longValueExact()"),
        (Kind::Number, Kind::Text) => format!("digits({text})"),
        (Kind::Text, Kind::Number) => format!("new BigDecimal({text})"),
        (Kind::Text, Kind::Integer) => format!("Long.parseLong({text})"),
        _ => text,
    }
}

/// The type of a value; one that may be absent is null then.
pub fn type_of(kind: Kind, optional: bool) -> &'static str {
    match kind {
        Kind::Text => "String",
        Kind::Number => "BigDecimal",
        Kind::Integer if optional => "Long",
        Kind::Integer => "long",
        Kind::Bool if optional => "Boolean",
        Kind::Bool => "boolean",
        Kind::Binary => "SdkBytes",
        Kind::TextSet => "Set<String>",
        Kind::NumberSet => "Set<BigDecimal>",
        Kind::BinarySet => "Set<SdkBytes>",
        Kind::List => "List<AttributeValue>",
        Kind::Map => "Map<String, AttributeValue>",
    }
}

/// The function of `AttributeValue` that makes one.
fn maker(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "fromS",
        Kind::Number | Kind::Integer => "fromN",
        Kind::Bool => "fromBool",
        Kind::Binary => "fromB",
        Kind::TextSet => "fromSs",
        Kind::NumberSet => "fromNs",
        Kind::BinarySet => "fromBs",
        Kind::List => "fromL",
        Kind::Map => "fromM",
    }
}

/// A stored value as a literal of the type of this kind.
pub fn literal(value: &Stored, kind: Kind) -> JavaCode {
    let number = |text: String| plain(format!("new BigDecimal({})", string(&text)));
    match value {
        Stored::S(text) => plain(string(text)),
        Stored::N(one) if kind == Kind::Integer => plain(format!("{one}L")),
        Stored::N(one) => number(one.to_string()),
        Stored::B(one) => plain(bytes(one)),
        Stored::Bool(flag) => plain(flag.to_string()),
        Stored::Null => plain("null"),
        Stored::Ss(members) => call("Set.of(", members.iter().map(|one| plain(string(one))).collect(), ")"),
        Stored::Ns(members) => {
            call("Set.of(", members.iter().map(|one| number(one.to_string())).collect(), ")")
        }
        Stored::Bs(members) => call("Set.of(", members.iter().map(|one| plain(bytes(one))).collect(), ")"),
        Stored::L(elements) => call("List.of(", elements.iter().map(attribute_value).collect(), ")"),
        Stored::M(entries) => {
            let entries = entries.iter().map(|(name, one)| (string(name), attribute_value(one)));
            map("", entries.collect(), "")
        }
    }
}

/// A stored value as requests have it.
fn attribute_value(value: &Stored) -> JavaCode {
    let list = |members: Vec<JavaCode>| vec![call("List.of(", members, ")")];
    let (maker, inner) = match value {
        Stored::S(text) => ("fromS", vec![plain(string(text))]),
        Stored::N(number) => ("fromN", vec![plain(string(&number.to_string()))]),
        Stored::B(one) => ("fromB", vec![plain(bytes(one))]),
        Stored::Bool(flag) => ("fromBool", vec![plain(flag.to_string())]),
        Stored::Null => ("fromNul", vec![plain("true")]),
        Stored::Ss(members) => ("fromSs", list(members.iter().map(|one| plain(string(one))).collect())),
        Stored::Ns(members) => {
            ("fromNs", list(members.iter().map(|one| plain(string(&one.to_string()))).collect()))
        }
        Stored::Bs(members) => ("fromBs", list(members.iter().map(|one| plain(bytes(one))).collect())),
        Stored::L(_) => ("fromL", vec![literal(value, Kind::List)]),
        Stored::M(_) => ("fromM", vec![literal(value, Kind::Map)]),
    };
    call(format!("AttributeValue.{maker}("), inner, ")")
}

fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_unseen) => format!("SdkBytes.fromUtf8String({})", string(text)),
        _ => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("SdkBytes.fromByteArray(HexFormat.of().parseHex(\"{digits}\"))")
        }
    }
}

/// Java reads `\u` before it reads texts, so that what ends a line or a text has other escapes.
pub fn string(text: &str) -> String {
    quoted(text, |one| {
        let mut units = [0; 2];
        one.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}
