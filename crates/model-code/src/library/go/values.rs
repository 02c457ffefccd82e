//! Values as expressions of Go: as variables have them, as requests have them, and as texts.

use item::Value as Stored;

use super::{Go, ITEM, entry, exported, ident, is_scalar, pair};
use crate::layout::Doc;
use crate::library::writer::{atom, list};
use crate::library::{Kind, Piece, TextForm, Value};
use crate::literal::quoted;

impl Go<'_> {
    pub fn inline(&self, value: &Value) -> String {
        self.value(value, value.kind()).inline()
    }

    /// An expression of the Go type of this kind.
    pub fn value(&self, value: &Value, kind: Kind) -> Doc {
        match value {
            Value::Literal(literal) => typed(literal, kind),
            Value::Variable { name, kind: own } => atom(converted(ident(name), *own, kind)),
            Value::Field { of, name, kind: own, optional } => {
                let pointer = if *optional && is_scalar(*own) { "*" } else { "" };
                atom(converted(format!("{pointer}{}.{}", ident(of), exported(name)), *own, kind))
            }
            Value::Shard { of, count } => atom(format!("shardOf({}, {count})", self.plain(of))),
            Value::Random { count } => atom(format!("rand.Int63n({count})")),
            Value::Next(inner) if inner.kind() == Kind::Integer => {
                atom(format!("increment({})", self.inline(inner)))
            }
            Value::Next(inner) => atom(format!("nextVersion({})", self.inline(inner))),
            Value::Key { builder, arguments } => {
                let kinds = self.library.keys[*builder].parameters.iter().map(|(_, kind)| *kind);
                let arguments = arguments.iter().zip(kinds).map(|(one, kind)| self.value(one, kind));
                list(&format!("{}(", self.keys[*builder]), arguments.collect(), ")")
            }
            Value::Text(pieces) => atom(self.text(pieces)),
            Value::Before(inner) => atom(format!("before({})", self.inline(inner))),
        }
    }

    /// The value as requests have it.
    pub fn attribute(&self, value: &Value) -> Doc {
        if let Value::Literal(literal) = value {
            return attribute_value(literal);
        }
        let kind = value.kind();
        let member = match kind {
            Kind::Number => atom(format!("string({})", self.inline(value))),
            Kind::Integer => atom(format!("strconv.FormatInt({}, 10)", self.inline(value))),
            Kind::NumberSet => atom(format!("digitsOf({})", self.inline(value))),
            _ => self.value(value, kind),
        };
        of_type(name_of(kind), member)
    }

    /// An expression for the value's text.
    pub fn plain(&self, value: &Value) -> String {
        let text = self.inline(value);
        match value.kind() {
            Kind::Number => format!("numberText({text})"),
            Kind::Integer => format!("strconv.FormatInt({text}, 10)"),
            Kind::Bool => format!("strconv.FormatBool({text})"),
            Kind::Binary => format!("hex.EncodeToString({text})"),
            _ => text,
        }
    }

    pub fn text(&self, pieces: &[Piece]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => string(text),
            Piece::Field { value, form, width } => {
                let plain = self.plain(value);
                let text = match form {
                    TextForm::Plain => plain,
                    TextForm::Lower => format!("strings.ToLower({plain})"),
                    TextForm::Prefix(length) => format!("beginning({plain}, {length})"),
                    TextForm::Descending(digits) => format!("padded(distance({plain}, {digits}), {digits})"),
                };
                match width {
                    Some(width) => format!("padded({text}, {width})"),
                    None => text,
                }
            }
        };
        pieces.iter().map(piece).collect::<Vec<_>>().join(" + ")
    }
}

/// Entities that share a parameter may have different types for it.
pub fn converted(text: String, from: Kind, to: Kind) -> String {
    match (from, to) {
        (Kind::Integer, Kind::Number) => format!("Number(strconv.FormatInt({text}, 10))"),
        (Kind::Integer, Kind::Text) => format!("strconv.FormatInt({text}, 10)"),
        (Kind::Number, Kind::Text) => format!("numberText({text})"),
        (Kind::Text, Kind::Number) => format!("Number({text})"),
        _ => text,
    }
}

/// A stored value as a literal of the Go type of this kind.
pub fn typed(value: &Stored, kind: Kind) -> Doc {
    let bytes = |bytes: &[u8]| {
        let shown: String = bytes.iter().map(|byte| byte.escape_ascii().to_string()).collect();
        atom(format!("[]byte(\"{}\")", shown.replace("\\'", "'")))
    };
    match value {
        Stored::S(text) => atom(string(text)),
        Stored::N(number) if kind == Kind::Integer => atom(number.to_string()),
        Stored::N(number) => atom(string(&number.to_string())),
        Stored::B(one) => bytes(one),
        Stored::Bool(flag) => atom(flag.to_string()),
        Stored::Null => atom("nil"),
        Stored::Ss(members) => list("[]string{", members.iter().map(|one| atom(string(one))).collect(), "}"),
        Stored::Ns(members) => {
            list("[]Number{", members.iter().map(|one| atom(string(&one.to_string()))).collect(), "}")
        }
        Stored::Bs(members) => list("[][]byte{", members.iter().map(|one| bytes(one)).collect(), "}"),
        Stored::L(elements) => {
            list("[]types.AttributeValue{", elements.iter().map(attribute_value).collect(), "}")
        }
        Stored::M(entries) => {
            let entries = entries.iter().map(|(name, one)| entry(name, attribute_value(one)));
            list(&format!("{ITEM}{{"), entries.collect(), "}")
        }
    }
}

/// A stored value as requests have it.
pub fn attribute_value(value: &Stored) -> Doc {
    let texts = |members: Vec<Doc>| list("[]string{", members, "}");
    match value {
        Stored::S(_) => of_type("S", typed(value, Kind::Text)),
        Stored::N(_) => of_type("N", typed(value, Kind::Number)),
        Stored::B(_) => of_type("B", typed(value, Kind::Binary)),
        Stored::Bool(_) => of_type("BOOL", typed(value, Kind::Bool)),
        Stored::Null => of_type("NULL", atom("true")),
        Stored::Ss(_) => of_type("SS", typed(value, Kind::TextSet)),
        Stored::Ns(members) => {
            of_type("NS", texts(members.iter().map(|one| atom(string(&one.to_string()))).collect()))
        }
        Stored::Bs(_) => of_type("BS", typed(value, Kind::BinarySet)),
        Stored::L(_) => of_type("L", typed(value, Kind::List)),
        Stored::M(_) => of_type("M", typed(value, Kind::Map)),
    }
}

pub fn of_type(name: &str, value: Doc) -> Doc {
    list(&format!("&types.AttributeValueMember{name}{{"), vec![pair("Value", value)], "}")
}

pub fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "S",
        Kind::Number | Kind::Integer => "N",
        Kind::Bool => "BOOL",
        Kind::Binary => "B",
        Kind::TextSet => "SS",
        Kind::NumberSet => "NS",
        Kind::BinarySet => "BS",
        Kind::List => "L",
        Kind::Map => "M",
    }
}

pub fn string(text: &str) -> String {
    quoted(text, |one| match one as u32 {
        code @ 0..=0xFFFF => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    })
}
