//! Expressions that say something although they are code: chains of calls (`string().key().savedAs('pk')`), and
//! functions that make a key of attributes (`({ id }) => \`USER#${id}\``), which are key templates in other words. The
//! inverse of [`key`](super::key).

use std::collections::BTreeMap;

use model::predicate::{Operand, Operator, Predicate, Term};
use model::template::Bucket;
use model::{Span, Spanned};
use serde_json::Value;

use super::as_code;
use super::read::{Reader, parse};

/// Longer than any key: an expression that is longer makes none, and is not followed into its brackets.
const KEY_BYTES_MAX: usize = 4_096;

const BRACKETS_MAX: usize = 8;

/// One link of a chain. It has arguments if it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: String,
    pub arguments: Option<Vec<Value>>,
}

impl Step {
    pub fn first(&self) -> Option<&Value> {
        self.arguments.as_ref()?.first()
    }

    pub fn given(&self) -> &[Value] {
        self.arguments.as_deref().unwrap_or_default()
    }
}

/// `new Table(…)`, `a.b(…).c`; `None` if the text is anything else. Type arguments are skipped.
pub fn chain(text: &str) -> Option<Vec<Step>> {
    let mut reader = Reader::new(text.trim_end().trim_end_matches(';'));
    let mut steps = Vec::new();
    loop {
        reader.skip_blank();
        let name = reader.word()?.to_owned();
        if name == "new" && steps.is_empty() {
            continue;
        }
        reader.skip_blank();
        skip_type_arguments(&mut reader);
        let arguments = match reader.peek() == Some('(') {
            true => Some(reader.arguments()?),
            false => None,
        };
        steps.push(Step { name, arguments });
        reader.skip_blank();
        if reader.rest().is_empty() {
            return Some(steps);
        }
        if !reader.take(".") {
            return None;
        }
    }
}

fn skip_type_arguments(reader: &mut Reader<'_>) {
    let start = reader.at;
    let mut open = 0;
    loop {
        reader.skip_blank();
        match reader.peek() {
            Some('<') => open += 1,
            Some('>') => open -= 1,
            Some('=') if reader.rest().starts_with("=>") => reader.advance(),
            Some(_) => {}
            None => {
                reader.at = start;
                return;
            }
        }
        if open == 0 && reader.at == start {
            return;
        }
        reader.skip_token();
        if open == 0 {
            return;
        }
    }
}

/// The constants of a program with the texts of their values.
pub fn bindings(text: &str) -> BTreeMap<String, String> {
    let mut reader = Reader::new(text);
    let mut found = BTreeMap::new();
    loop {
        reader.skip_blank();
        if reader.rest().is_empty() {
            return found;
        }
        match reader.binding() {
            Some(name) => {
                let value = reader.statement();
                value.map(|value| found.entry(name).or_insert(value));
            }
            None => reader.skip_token(),
        }
    }
}

/// A function of one parameter: what it returns, and what the parts of its parameter are called.
pub struct Function {
    /// `{ id, at: time }`: the name in the body, and the member.
    members: Vec<(String, String)>,
    /// `item`.
    whole: Option<String>,
    body: String,
}

/// The text that a function makes from attributes, as a key template, and the condition without which it makes none.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub template: String,
    pub when: Option<String>,
}

impl Function {
    /// An arrow function that does nothing but return something.
    pub fn parse(text: &str) -> Option<Function> {
        let mut reader = Reader::new(text);
        reader.skip_blank();
        let start = reader.at;
        let parameter = match reader.peek()? {
            '(' => {
                reader.skip_group();
                text[start..reader.at].strip_prefix('(')?.strip_suffix(')')?
            }
            _ => reader.word()?,
        };
        let body = text[reader.at..].split_once("=>")?.1.trim();
        let body = match body.strip_prefix('{') {
            Some(block) => {
                let only = block.trim().strip_prefix("return")?.trim_end().strip_suffix('}')?.trim();
                let only = only.strip_suffix(';').unwrap_or(only);
                (!only.contains(';')).then_some(only)?
            }
            None => body,
        };
        let (members, whole) = parameters(parameter.trim());
        Some(Function { members, whole, body: bare(body).to_owned() })
    }

    /// The members of the object that it returns, each as code or a value.
    pub fn returned(&self) -> Option<serde_json::Map<String, Value>> {
        parse(&self.body).ok()?.as_object().cloned().filter(|_| self.body.starts_with('{'))
    }

    /// The template that the whole function is.
    pub fn made(&self) -> Option<Made> {
        if self.body.len() > KEY_BYTES_MAX {
            return None;
        }
        if let [condition, results] = split(&self.body, "?").as_slice() {
            let results = split(results, ":");
            let [made, nothing] = results.as_slice() else { return None };
            let is_nothing = matches!(nothing.trim(), "undefined" | "null" | "void 0");
            let when = is_nothing.then(|| self.predicate(bare(condition.trim()))).flatten()?;
            return Some(Made { template: self.template(made)?, when: Some(when) });
        }
        Some(Made { template: self.template(&self.body)?, when: None })
    }

    /// An expression over the function's parameter as a key template.
    pub fn template(&self, text: &str) -> Option<String> {
        let text = bare(text.trim());
        if text.len() > KEY_BYTES_MAX {
            return None;
        }
        if let Some(inside) = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
            return self.interpolated(inside);
        }
        if let Some(literal) = string(text) {
            return Some(escaped(&literal));
        }
        if let Some((elements, separator)) =
            text.strip_suffix(')').and_then(|text| text.rsplit_once(".join("))
        {
            let elements = elements.trim().strip_prefix('[')?.strip_suffix(']')?;
            let separator = if separator.is_empty() { ",".to_owned() } else { string(separator)? };
            let elements = split(elements, ",").into_iter().filter(|one| !one.trim().is_empty());
            let parts: Option<Vec<String>> = elements.map(|one| self.template(one)).collect();
            return Some(parts?.join(&escaped(&separator)));
        }
        let sum = split(text, "+");
        if sum.len() > 1 {
            return sum.into_iter().map(|one| self.template(one)).collect();
        }
        Some(format!("{{{}}}", self.field(text)?))
    }

    fn interpolated(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut reader = Reader::new(text);
        while let Some(c) = reader.peek() {
            let start = reader.at;
            if reader.take("$") && reader.peek() == Some('{') {
                let inside = reader.at;
                reader.skip_group();
                let inside = text[inside..reader.at].strip_prefix('{')?.strip_suffix('}')?;
                out += &self.template(inside)?;
            } else {
                reader.at = start;
                reader.advance();
                match c {
                    '\\' => {
                        let escape = reader.peek()?;
                        reader.advance();
                        // Others than these are rare in keys.
                        matches!(escape, '`' | '$' | '\\' | '{')
                            .then(|| out += &escaped(&escape.to_string()))?;
                    }
                    c => out += &escaped(&c.to_string()),
                }
            }
        }
        Some(out)
    }

    /// What is between the braces of a template.
    fn field(&self, text: &str) -> Option<String> {
        let text = bare(text.trim());
        if let Some(name) = self.attribute(text) {
            return Some(name);
        }
        if let Some(inner) = call(text, "String(", ")").or_else(|| text.strip_suffix(".toString()")) {
            return self.field(inner);
        }
        if let Some((inner, width)) = text
            .strip_suffix("))")
            .and_then(|text| text.split_once(".replace(/[^-].*/, (digits) => digits.padStart("))
        {
            return Some(format!("{}:0{}", self.field(inner)?, padding(width)?));
        }
        if let Some((inner, width)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(".padStart(")) {
            let digits = padding(width)?;
            let descending = call(inner, "String(", ")").and_then(|inner| inner.split_once("n - BigInt("));
            return match descending {
                Some((nines, value)) => {
                    let is_nines = nines.len() == digits && nines.bytes().all(|digit| digit == b'9');
                    let name = self.attribute(value.strip_suffix(')')?)?;
                    is_nines.then(|| format!("desc({name}, {digits})"))
                }
                None => Some(format!("{}:0{digits}", self.field(inner)?)),
            };
        }
        if let Some(inner) = text.strip_suffix(".toLowerCase()") {
            return Some(format!("lower({})", self.plain(inner)?));
        }
        for method in [".slice(0, ", ".slice(0,", ".substring(0, ", ".substring(0,"] {
            if let Some((inner, length)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(method)) {
                let length: usize = length.trim().parse().ok()?;
                let unit = Bucket::ALL.into_iter().find(|unit| unit.text_length() == length)?;
                return Some(format!("{}({})", unit.name(), self.plain(inner)?));
            }
        }
        if let Some((hash, count)) = text.rsplit_once('%') {
            let name = self.plain(call(hash.trim(), "crc32(", ")")?)?;
            return Some(format!("shard({name}, {})", count.trim().parse::<u64>().ok()?));
        }
        let count = call(text, "Math.floor(Math.random() * ", ")")?;
        Some(format!("random({})", count.trim().parse::<u64>().ok()?))
    }

    /// An attribute, or its text.
    fn plain(&self, text: &str) -> Option<String> {
        let inner = call(text, "String(", ")").or_else(|| text.strip_suffix(".toString()")).unwrap_or(text);
        self.attribute(inner)
    }

    /// `id` or `item.id`.
    fn attribute(&self, text: &str) -> Option<String> {
        let text = text.trim().trim_end_matches('!');
        if let Some((_, member)) = self.members.iter().find(|(name, _)| name == text) {
            return Some(member.clone());
        }
        let rest = text.strip_prefix(self.whole.as_deref()?)?;
        let name = rest.strip_prefix("?.").or_else(|| rest.strip_prefix('.')).map(str::to_owned);
        let name = name.or_else(|| string(rest.strip_prefix('[')?.strip_suffix(']')?))?;
        name.chars().all(|c| c.is_alphanumeric() || "_$-".contains(c)).then_some(name)
    }

    /// Comparisons that are joined by `&&`, as the model file has them.
    fn predicate(&self, text: &str) -> Option<String> {
        let terms: Option<Vec<Term>> =
            split(text, "&&").into_iter().map(|one| self.term(one.trim())).collect();
        Some(Predicate { terms: terms?, span: Span::default() }.to_string())
    }

    fn term(&self, text: &str) -> Option<Term> {
        let term = |attribute: String, operator, operands: Vec<String>| Term {
            attribute: Spanned { value: attribute, span: Span::default() },
            operator,
            operands: operands.into_iter().map(Operand::Literal).collect(),
            span: Span::default(),
        };
        if let Some((values, name)) = text.strip_suffix(')').and_then(|text| text.split_once(".includes(")) {
            let values = values.strip_prefix('[')?.strip_suffix(']')?;
            let values: Option<Vec<String>> = split(values, ",").into_iter().map(scalar).collect();
            return Some(term(self.attribute(name)?, Operator::In, values?));
        }
        let operators = [
            ("===", Operator::Equal),
            ("!==", Operator::NotEqual),
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        for (sign, operator) in operators {
            let Some((name, value)) = text.split_once(sign) else { continue };
            let (name, value) = (self.attribute(name)?, value.trim());
            return match (operator, value) {
                (Operator::NotEqual, "null" | "undefined") => Some(term(name, Operator::Exists, Vec::new())),
                (Operator::Equal, "null" | "undefined") => Some(term(name, Operator::NotExists, Vec::new())),
                _ => Some(term(name, operator, vec![scalar(value)?])),
            };
        }
        self.attribute(text).map(|name| term(name, Operator::Exists, Vec::new()))
    }
}

/// `{ id, at: time = 5 }: Input` -> the names of its members; `item: Input` -> the name of the whole.
fn parameters(text: &str) -> (Vec<(String, String)>, Option<String>) {
    let Some(inside) = text.strip_prefix('{') else {
        return (Vec::new(), Some(text.split(':').next().unwrap_or(text).trim().to_owned()));
    };
    let inside = inside.split('}').next().unwrap_or(inside);
    let member = |one: &str| {
        let one = one.split('=').next().unwrap_or(one);
        let (member, name) = one.split_once(':').unwrap_or((one, one));
        (name.trim().to_owned(), member.trim().to_owned())
    };
    (inside.split(',').map(member).filter(|(name, _)| !name.is_empty()).collect(), None)
}

/// The text without the brackets around it: a few pairs at most.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..BRACKETS_MAX {
        let mut reader = Reader::new(text);
        reader.skip_group();
        match text[..reader.at].strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
            Some(inner) if reader.rest().trim().is_empty() => text = inner.trim(),
            _ => return text,
        }
    }
    text
}

/// Divides a text at each sign that is outside of brackets and quotes.
fn split<'t>(text: &'t str, sign: &str) -> Vec<&'t str> {
    let mut reader = Reader::new(text);
    let (mut parts, mut start) = (Vec::new(), 0);
    loop {
        reader.skip_blank();
        let before = reader.at;
        if reader.rest().is_empty() {
            parts.push(&text[start..]);
            return parts;
        }
        let is_other = sign == "?" && (reader.rest().starts_with("?.") || reader.rest().starts_with("??"));
        if is_other {
            reader.advance();
            reader.advance();
        } else if reader.take(sign) {
            parts.push(&text[start..before]);
            start = reader.at;
        } else {
            reader.skip_token();
        }
    }
}

/// What is between, if it is one whole: `String(a)`, but not `String(a) + f(b)`.
fn call<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let inner = text.trim().strip_prefix(begin)?.strip_suffix(end)?;
    let mut open = 0_i32;
    let balanced = inner.chars().all(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open >= 0
    });
    (balanced && open == 0).then_some(inner.trim())
}

/// `8, '0'` -> 8.
fn padding(arguments: &str) -> Option<usize> {
    let (width, with) = arguments.split_once(',')?;
    (string(with.trim())? == "0").then(|| width.trim().parse().ok())?
}

/// A text in quotes.
pub fn string(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = text.len() > 1 && text.starts_with(['"', '\'']) && text.ends_with(text.chars().next()?);
    let mut reader = Reader::new(text);
    let value = quoted.then(|| reader.value(0).ok()).flatten()?;
    value.as_str().filter(|_| reader.rest().is_empty()).map(str::to_owned)
}

fn scalar(text: &str) -> Option<String> {
    let text = text.trim();
    let number = || serde_json::from_str::<Value>(text).ok().filter(|one| !one.is_string());
    string(text).or_else(|| number().map(|number| number.to_string()))
}

fn escaped(literal: &str) -> String {
    literal.replace('{', "{{").replace('}', "}}")
}

/// The text of a value that is code or a text.
pub fn source(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(Value::from(text.as_str()).to_string()),
        other => as_code(other).map(str::to_owned),
    }
}
