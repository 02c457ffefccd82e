//! Literals of code: members of a request, and separately attribute values, since each language has its own form for
//! those.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

/// A member of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Text(String),
    Integer(String),
    Bool(bool),
    List(Vec<Literal>),
    Map(Vec<(String, Literal)>),
    Value(LiteralValue),
    /// The variable of a loop.
    Variable(&'static str),
}

/// An attribute value.
#[derive(Clone, Debug, PartialEq)]
pub enum LiteralValue {
    Text(String),
    /// A text that contains the number of a shard.
    Sharded(Shards),
    Number(String),
    Bytes(Vec<u8>),
    Bool(bool),
    Null,
    /// Not empty, and all of one type.
    Set(Vec<LiteralValue>),
    List(Vec<LiteralValue>),
    Map(Vec<(String, LiteralValue)>),
}

/// `OPEN#{shard}` for all shards, counted from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Shards {
    pub before: String,
    pub after: String,
    pub count: usize,
    /// The number of digits, if all have the same.
    pub width: Option<usize>,
}

/// The members of a request, each in the form that its type in the API asks for.
pub fn members(json: &Json) -> Vec<(String, Literal)> {
    let members = json.as_object().into_iter().flatten();
    members.map(|(name, inner)| (name.clone(), member(name, inner))).collect()
}

fn member(name: &str, json: &Json) -> Literal {
    match (name, json) {
        ("Item" | "Key" | "ExpressionAttributeValues", json) => attributes(json),
        ("Keys", Json::Array(keys)) => Literal::List(keys.iter().map(attributes).collect()),
        // The next level has the names of tables.
        ("RequestItems", Json::Object(tables)) => {
            Literal::Map(tables.iter().map(|(table, inner)| (table.clone(), member("", inner))).collect())
        }
        (_, Json::Object(_)) => Literal::Map(members(json)),
        (_, Json::Array(elements)) => Literal::List(elements.iter().map(|one| member("", one)).collect()),
        (_, Json::String(text)) => Literal::Text(text.clone()),
        (_, Json::Bool(flag)) => Literal::Bool(*flag),
        (_, other) => Literal::Integer(other.to_string()),
    }
}

fn attributes(json: &Json) -> Literal {
    let members = json.as_object().into_iter().flatten();
    Literal::Map(members.map(|(name, inner)| (name.clone(), Literal::Value(value(inner)))).collect())
}

/// DynamoDB JSON, as requests print themselves.
pub fn value(json: &Json) -> LiteralValue {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let bytes = |json: &Json| STANDARD.decode(text(json)).unwrap_or_default();
    let list = |json: &Json| json.as_array().cloned().unwrap_or_default();
    let Some((tag, inner)) = json.as_object().and_then(|members| members.iter().next()) else {
        return LiteralValue::Null;
    };
    match tag.as_str() {
        "S" => LiteralValue::Text(text(inner)),
        "N" => LiteralValue::Number(text(inner)),
        "B" => LiteralValue::Bytes(bytes(inner)),
        "BOOL" => LiteralValue::Bool(inner.as_bool().unwrap_or_default()),
        "SS" => LiteralValue::Set(list(inner).iter().map(|one| LiteralValue::Text(text(one))).collect()),
        "NS" => LiteralValue::Set(list(inner).iter().map(|one| LiteralValue::Number(text(one))).collect()),
        "BS" => LiteralValue::Set(list(inner).iter().map(|one| LiteralValue::Bytes(bytes(one))).collect()),
        "L" => LiteralValue::List(list(inner).iter().map(value).collect()),
        "M" => {
            let entries = inner.as_object().into_iter().flatten();
            LiteralValue::Map(entries.map(|(name, one)| (name.clone(), value(one))).collect())
        }
        _ => LiteralValue::Null,
    }
}

/// A text in double quotes, with the escapes that JSON, Python and JavaScript share; `escape` prints invisible
/// characters.
pub fn quoted(text: &str, escape: fn(char) -> String) -> String {
    let mut quoted = String::from("\"");
    for one in text.chars() {
        match one {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            one if is_unseen(one) => quoted.push_str(&escape(one)),
            one => quoted.push(one),
        }
    }
    quoted.push('"');
    quoted
}

/// Control characters, line separators, direction marks, and characters beyond all scripts.
pub fn is_unseen(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(one, '\u{E000}'..='\u{F8FF}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFF}' | '\u{E0000}'..)
}

/// A character as one or two units of UTF-16, as JSON and JavaScript escape it.
pub fn utf16(one: char) -> String {
    one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}
