//! Values as expressions of Rust: where they are, borrowed, owned, and as attributes have them.

use std::fmt::Write as _;

use item::Value as Stored;

use super::layout::{RustCode, plain};
use super::{Rust, ident};
use crate::library::{Kind, Piece, TextForm, Value};
use crate::literal::quoted;

impl Rust<'_> {
    /// A value where it is, or the expression that makes it.
    pub fn place(&self, value: &Value) -> String {
        match value {
            Value::Variable { name, .. } => ident(name),
            Value::Field { of, name, .. } => format!("{}.{}", ident(of), ident(name)),
            other => self.owned(other, other.kind()).inline(),
        }
    }

    /// What a parameter of this kind takes.
    pub fn borrowed(&self, value: &Value, kind: Kind) -> RustCode {
        match value {
            Value::Literal(literal) => borrowed_literal(literal, kind, false),
            Value::Variable { .. } => plain(self.place(value)),
            _ if matches!(kind, Kind::Integer | Kind::Bool) => self.owned(value, kind),
            Value::Field { .. } => plain(format!("&{}", self.place(value))),
            _ => match self.owned(value, kind) {
                RustCode::Call(open, arguments, close) => {
                    RustCode::Call(format!("&{open}"), arguments, close)
                }
                other => plain(format!("&{}", other.inline())),
            },
        }
    }

    /// A value of its own.
    pub fn owned(&self, value: &Value, kind: Kind) -> RustCode {
        match value {
            Value::Literal(literal) => owned_literal(literal, kind, false),
            Value::Variable { .. } | Value::Field { .. } if matches!(kind, Kind::Integer | Kind::Bool) => {
                plain(self.place(value))
            }
            Value::Variable { .. } => plain(format!("{}.to_owned()", self.place(value))),
            Value::Field { .. } => plain(format!("{}.clone()", self.place(value))),
            Value::Shard { of, count } => plain(format!("shard_of({}, {count})", self.text_of(of))),
            Value::Random { count } => plain(format!("random_shard({count})")),
            Value::Next(inner) if inner.kind() == Kind::Integer => {
                plain(format!("{} + 1", self.place(inner)))
            }
            Value::Next(inner) => plain(format!("{}.next()", self.place(inner))),
            Value::Key { builder, arguments } => {
                let builder = &self.library.keys[*builder];
                let arguments = arguments.iter().zip(&builder.parameters);
                let arguments = arguments.map(|(value, (_, kind))| self.borrowed(value, *kind)).collect();
                RustCode::call(format!("{}(", ident(&builder.name)), arguments, ")")
            }
            Value::Text(pieces) => self.text(pieces),
            Value::Before(inner) => {
                RustCode::call("key_before(", vec![self.borrowed(inner, Kind::Text)], ")")
            }
        }
    }

    /// The value as an attribute has it.
    pub fn stored(&self, value: &Value) -> RustCode {
        if let Value::Literal(literal) = value {
            return stored_literal(literal);
        }
        let place = || self.place(value);
        let (variant, inner) = match value.kind() {
            Kind::Text => ("S", self.owned(value, Kind::Text)),
            Kind::Number => ("N", plain(format!("{}.to_string()", place()))),
            Kind::Integer if matches!(value, Value::Next(_)) => {
                ("N", plain(format!("({}).to_string()", place())))
            }
            Kind::Integer => ("N", plain(format!("{}.to_string()", place()))),
            Kind::Bool => ("Bool", plain(place())),
            Kind::Binary => ("B", plain(format!("Blob::new({})", self.owned(value, Kind::Binary).inline()))),
            Kind::TextSet => ("Ss", plain(format!("{}.iter().cloned().collect()", place()))),
            Kind::NumberSet => ("Ns", plain(format!("{}.iter().map(Number::to_string).collect()", place()))),
            Kind::BinarySet => ("Bs", plain(format!("{}.iter().cloned().map(Blob::new).collect()", place()))),
            Kind::List => ("L", plain(format!("{}.to_vec()", place()))),
            Kind::Map => ("M", plain(format!("{}.clone()", place()))),
        };
        RustCode::call(format!("AttributeValue::{variant}("), vec![inner], ")")
    }

    /// A `&str` of the value's text.
    pub fn text_of(&self, value: &Value) -> String {
        match value.kind() {
            Kind::Number => format!("{}.as_str()", self.place(value)),
            Kind::Integer | Kind::Bool => format!("&{}.to_string()", self.place(value)),
            Kind::Binary => format!("&to_hex({})", self.borrowed(value, Kind::Binary).inline()),
            kind => self.borrowed(value, kind).inline(),
        }
    }

    pub fn text(&self, pieces: &[Piece]) -> RustCode {
        if let [Piece::Field { value, form: TextForm::Plain, width: None }] = pieces {
            return match value.kind() {
                Kind::Number | Kind::Integer | Kind::Bool => {
                    plain(format!("{}.to_string()", self.place(value)))
                }
                Kind::Binary => plain(format!("to_hex({})", self.borrowed(value, Kind::Binary).inline())),
                kind => self.owned(value, kind),
            };
        }
        let mut format = String::new();
        let mut arguments = Vec::new();
        for piece in pieces {
            let (value, form, width) = match piece {
                Piece::Literal(text) => {
                    format.push_str(&text.replace('{', "{{").replace('}', "}}"));
                    continue;
                }
                Piece::Field { value, form, width } => (value, form, width),
            };
            let argument = match (form, value.kind(), width) {
                (TextForm::Descending(digits), Kind::Integer, _) => {
                    format!("descending({}.into(), {digits})", self.place(value))
                }
                (TextForm::Descending(digits), ..) => {
                    format!("descending({}.whole(), {digits})", self.place(value))
                }
                (TextForm::Lower, ..) => {
                    format!("{}.to_lowercase()", self.text_of(value).trim_start_matches('&'))
                }
                (TextForm::Prefix(length), ..) => {
                    format!("first_characters({}, {length})", self.text_of(value))
                }
                (TextForm::Plain, _, Some(width)) => format!("padded({}, {width})", self.text_of(value)),
                (TextForm::Plain, Kind::Binary, None) => {
                    format!("to_hex({})", self.borrowed(value, Kind::Binary).inline())
                }
                (TextForm::Plain, _, None) => {
                    if let Value::Variable { .. } = value {
                        let _ = write!(format, "{{{}}}", self.place(value));
                        continue;
                    }
                    self.place(value)
                }
            };
            if pieces.len() == 1 {
                let owned = if matches!(form, TextForm::Prefix(_)) { ".to_owned()" } else { "" };
                return plain(argument + owned);
            }
            format.push_str("{}");
            arguments.push(plain(argument));
        }
        arguments.insert(0, plain(string(&format)));
        RustCode::call("format!(", arguments, ")")
    }
}

/// A literal that a parameter of this kind takes.
pub fn borrowed_literal(value: &Stored, kind: Kind, outside: bool) -> RustCode {
    match (value, kind) {
        (Stored::S(text), _) => plain(string(text)),
        (Stored::N(_), Kind::Integer) | (Stored::Bool(_), _) => owned_literal(value, kind, outside),
        (Stored::B(bytes), _) => plain(format!("&{bytes:?}")),
        (Stored::L(elements), _) => {
            RustCode::call("&", vec![RustCode::Array(elements.iter().map(stored_literal).collect())], "")
        }
        _ => RustCode::call("&", vec![owned_literal(value, kind, outside)], ""),
    }
}

/// A literal of a field of this kind. `outside` of the module, numbers are made by what they have in public.
pub fn owned_literal(value: &Stored, kind: Kind, outside: bool) -> RustCode {
    let number = |text: String| match text.parse::<i128>() {
        Ok(whole) if i32::try_from(whole).is_ok() => format!("Number::from({text})"),
        Ok(_) => format!("Number::from({text}_i128)"),
        Err(_) if outside => format!("{}.parse::<Number>().expect(\"a number\")", string(&text)),
        Err(_) => format!("Number({}.to_owned())", string(&text)),
    };
    let set = |members: Vec<String>| {
        RustCode::call(
            "BTreeSet::from(",
            vec![RustCode::Array(members.into_iter().map(plain).collect())],
            ")",
        )
    };
    match value {
        Stored::S(text) => plain(format!("{}.to_owned()", string(text))),
        Stored::N(one) if kind == Kind::Integer => plain(one.to_string()),
        Stored::N(one) => plain(number(one.to_string())),
        Stored::B(bytes) => plain(format!("vec!{bytes:?}")),
        Stored::Bool(flag) => plain(flag.to_string()),
        Stored::Null => plain("AttributeValue::Null(true)"),
        Stored::Ss(members) => set(members.iter().map(|one| format!("{}.to_owned()", string(one))).collect()),
        Stored::Ns(members) => set(members.iter().map(|one| number(one.to_string())).collect()),
        Stored::Bs(members) => set(members.iter().map(|one| format!("vec!{one:?}")).collect()),
        Stored::L(elements) => {
            RustCode::call("vec!", vec![RustCode::Array(elements.iter().map(stored_literal).collect())], "")
        }
        Stored::M(entries) => {
            let entry = |(name, one): (&String, &Stored)| {
                RustCode::call(
                    "(",
                    vec![plain(format!("{}.to_owned()", string(name))), stored_literal(one)],
                    ")",
                )
            };
            RustCode::call("HashMap::from(", vec![RustCode::Array(entries.iter().map(entry).collect())], ")")
        }
    }
}

/// A literal as an attribute has it.
pub fn stored_literal(value: &Stored) -> RustCode {
    let of = |variant: &str, inner: RustCode| {
        RustCode::call(format!("AttributeValue::{variant}("), vec![inner], ")")
    };
    let all = |members: Vec<String>| {
        RustCode::call("vec!", vec![RustCode::Array(members.into_iter().map(plain).collect())], "")
    };
    match value {
        Stored::S(_) => of("S", owned_literal(value, Kind::Text, false)),
        Stored::N(one) => of("N", plain(format!("\"{one}\".to_owned()"))),
        Stored::B(bytes) => of("B", plain(format!("Blob::new({bytes:?})"))),
        Stored::Bool(flag) => of("Bool", plain(flag.to_string())),
        Stored::Null => of("Null", plain("true")),
        Stored::Ss(members) => {
            of("Ss", all(members.iter().map(|one| format!("{}.to_owned()", string(one))).collect()))
        }
        Stored::Ns(members) => {
            of("Ns", all(members.iter().map(|one| format!("\"{one}\".to_owned()")).collect()))
        }
        Stored::Bs(members) => {
            of("Bs", all(members.iter().map(|one| format!("Blob::new({one:?})")).collect()))
        }
        Stored::L(_) => of("L", owned_literal(value, Kind::List, false)),
        Stored::M(_) => of("M", owned_literal(value, Kind::Map, false)),
    }
}

pub fn string(text: &str) -> String {
    quoted(text, |one| format!("\\u{{{:x}}}", one as u32))
}
