//! Key templates: `ORDER#{createdAt}#{orderId}`. How they render, which attributes they need, and whether
//! two of them can render to the same text.
//!
//! | written | gives |
//! |---|---|
//! | `{attribute}` | its value, as text if the key is a string |
//! | `{rating:08}` | a number, padded with zeros to 8 digits |
//! | `{desc(rating, 8)}` | 99999999 − rating, padded: larger numbers first |
//! | `{day(createdAt)}` | the day of a timestamp; also `year`, `month`, `hour`, `minute` |
//! | `{shard(orderId, 3)}` | CRC-32 of the value's text, modulo 3: a reader can compute it again |
//! | `{random(10)}` | a number below 10 that the writer draws |
//! | `{lower(handle)}` | its value in lower case |

mod overlap;
mod values;

use std::fmt;

use item::{Type, Value};

use crate::Span;

pub use overlap::{may_begin_with, may_equal};

/// A key template: literals and fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub parts: Vec<Part>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Literal(String),
    Field(Field),
}

/// `{…}` in a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub form: Form,
    /// The text is padded with zeros in front to this length.
    pub width: Option<usize>,
    pub span: Span,
}

/// What a field does with its attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    Attribute(String),
    Lower(String),
    Bucket { attribute: String, unit: Bucket },
    Descending { attribute: String, digits: usize },
    Shard { attribute: String, count: u64 },
    Random { count: u64 },
}

/// How much of a timestamp a time bucket keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    Year,
    Month,
    Day,
    Hour,
    Minute,
}

impl Bucket {
    pub const ALL: [Bucket; 5] = [Bucket::Year, Bucket::Month, Bucket::Day, Bucket::Hour, Bucket::Minute];

    pub fn name(self) -> &'static str {
        match self {
            Bucket::Year => "year",
            Bucket::Month => "month",
            Bucket::Day => "day",
            Bucket::Hour => "hour",
            Bucket::Minute => "minute",
        }
    }

    /// The length of an ISO-8601 text that names the bucket: `2026-06-23T14`.
    pub fn text_length(self) -> usize {
        match self {
            Bucket::Year => 4,
            Bucket::Month => 7,
            Bucket::Day => 10,
            Bucket::Hour => 13,
            Bucket::Minute => 16,
        }
    }

    pub fn seconds(self) -> u64 {
        match self {
            Bucket::Year => 365 * 86_400,
            Bucket::Month => 30 * 86_400,
            Bucket::Day => 86_400,
            Bucket::Hour => 3_600,
            Bucket::Minute => 60,
        }
    }
}

/// Why a template does not render.
#[derive(Clone, Debug, PartialEq)]
pub enum Unrendered {
    Missing(String),
    /// `desc` of a value that is no number, or that has more digits than allowed.
    Unfit(String),
}

impl Field {
    /// The attribute it takes its value from; a random suffix takes none.
    pub fn attribute(&self) -> Option<&str> {
        match &self.form {
            Form::Attribute(attribute)
            | Form::Lower(attribute)
            | Form::Bucket { attribute, .. }
            | Form::Descending { attribute, .. }
            | Form::Shard { attribute, .. } => Some(attribute),
            Form::Random { .. } => None,
        }
    }

    /// Over how many shards the field spreads, if it is a shard.
    pub fn shards(&self) -> Option<u64> {
        match self.form {
            Form::Shard { count, .. } | Form::Random { count } => Some(count),
            _ => None,
        }
    }

    fn render(&self, value: impl Fn(&str) -> Option<Value>, random: u64) -> Result<String, Unrendered> {
        let text = |attribute: &str| {
            let value = value(attribute).ok_or_else(|| Unrendered::Missing(attribute.to_owned()))?;
            Ok(plain_text(&value))
        };
        let rendered = match &self.form {
            Form::Attribute(attribute) => text(attribute)?,
            Form::Lower(attribute) => text(attribute)?.to_lowercase(),
            Form::Bucket { attribute, unit } => text(attribute)?.chars().take(unit.text_length()).collect(),
            Form::Descending { attribute, digits } => descending(&text(attribute)?, *digits)
                .ok_or_else(|| Unrendered::Unfit(attribute.to_owned()))?,
            Form::Shard { attribute, count } => shard(&text(attribute)?, *count).to_string(),
            Form::Random { count } => (random % (*count).max(1)).to_string(),
        };
        Ok(match self.width {
            Some(width) => pad(&rendered, width),
            None => rendered,
        })
    }
}

/// Adds zeros in front, after the sign if there is one.
fn pad(text: &str, width: usize) -> String {
    match text.strip_prefix('-') {
        Some(digits) => format!("-{digits:0>width$}"),
        None => format!("{text:0>width$}"),
    }
}

fn descending(text: &str, digits: usize) -> Option<String> {
    let number: u128 = text.parse().ok()?;
    let largest = 10u128.checked_pow(u32::try_from(digits).ok()?)?.checked_sub(1)?;
    let rest = largest.checked_sub(number)?;
    Some(format!("{rest:0>digits$}"))
}

/// The shard of a value: CRC-32 of its text, which every language has a library for.
pub fn shard(text: &str, count: u64) -> u64 {
    u64::from(crc32fast::hash(text.as_bytes())) % count.max(1)
}

/// A value as it appears inside a key.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::B(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Bool(flag) => flag.to_string(),
        other => format!("{other:?}"),
    }
}

impl Template {
    /// A template that is one attribute and nothing else.
    pub fn of_attribute(attribute: &str, span: Span) -> Template {
        let field = Field { form: Form::Attribute(attribute.to_owned()), width: None, span };
        Template { parts: vec![Part::Field(field)], span }
    }

    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.parts.iter().filter_map(|part| match part {
            Part::Field(field) => Some(field),
            Part::Literal(_) => None,
        })
    }

    /// The attributes it needs, in order, with repetitions.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.fields().filter_map(Field::attribute)
    }

    pub fn uses(&self, attribute: &str) -> bool {
        self.attributes().any(|used| used == attribute)
    }

    /// Whether a reader of the key can tell the attribute's value: what is cut off or put into lower case is lost.
    pub fn tells(&self, attribute: &str) -> bool {
        self.fields().any(|field| match &field.form {
            Form::Attribute(name) | Form::Descending { attribute: name, .. } => name == attribute,
            Form::Lower(_) | Form::Bucket { .. } | Form::Shard { .. } | Form::Random { .. } => false,
        })
    }

    /// The attribute, if the template is exactly `{attribute}`.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Field(Field { form: Form::Attribute(attribute), width: None, .. })] => Some(attribute),
            _ => None,
        }
    }

    /// The text that every rendering begins with.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// Whether it has no fields.
    pub fn is_constant(&self) -> bool {
        self.fields().next().is_none()
    }

    /// Over how many values its shards spread one logical key; 1 without shards.
    pub fn shards(&self) -> u64 {
        self.fields().filter_map(Field::shards).fold(1, u64::saturating_mul)
    }

    /// The value of a key attribute of the type `kind`. `random` is what a random suffix is drawn from.
    pub fn render(
        &self,
        kind: Type,
        value: impl Fn(&str) -> Option<Value>,
        random: u64,
    ) -> Result<Value, Unrendered> {
        if let Some(attribute) = self.bare().filter(|_| kind != Type::S) {
            return value(attribute).ok_or_else(|| Unrendered::Missing(attribute.to_owned()));
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Field(field) => text.push_str(&field.render(&value, random)?),
            }
        }
        Ok(Value::S(text))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("{")?;
        match &self.form {
            Form::Attribute(attribute) => formatter.write_str(attribute)?,
            Form::Lower(attribute) => write!(formatter, "lower({attribute})")?,
            Form::Bucket { attribute, unit } => write!(formatter, "{}({attribute})", unit.name())?,
            Form::Descending { attribute, digits } => write!(formatter, "desc({attribute}, {digits})")?,
            Form::Shard { attribute, count } => write!(formatter, "shard({attribute}, {count})")?,
            Form::Random { count } => write!(formatter, "random({count})")?,
        }
        if let Some(width) = self.width {
            write!(formatter, ":0{width}")?;
        }
        formatter.write_str("}")
    }
}

/// As in the file; [`crate::file`] reads it back to the same template.
impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) => {
                    formatter.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                Part::Field(field) => write!(formatter, "{field}")?,
            }
        }
        Ok(())
    }
}
