//! Text -> data. This is no JavaScript parser: it reads literals, and skips everything else by its brackets
//! and quotes.

use serde_json::{Map, Value};

use super::{RAW, code};
use crate::Unreadable;

/// Deeper than any schema, and far below what the stack allows.
const DEPTH_MAX: usize = 64;

/// The document if the text is a literal (JSON is one); else the literals of a module by the names of their
/// constants: `export const Order = new Entity({…})` -> `Order`.
pub fn parse(text: &str) -> Result<Value, Unreadable> {
    let mut reader = Reader::new(text);
    reader.skip_blank();
    if reader.begins_literal() { reader.only_literal() } else { reader.module() }
}

pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) at: usize,
    /// The last character that was not blank: it distinguishes a regular expression from a division.
    previous: char,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0, previous: ';' }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn advance(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
            self.previous = c;
        }
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
            self.previous = text.chars().last().unwrap_or(self.previous);
        }
        found
    }

    /// Skips up to and including `text`, or to the end.
    fn skip_past(&mut self, text: &str) {
        self.at += self.rest().find(text).map_or(self.rest().len(), |found| found + text.len());
    }

    /// White space and comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            self.at +=
                rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            match self.rest() {
                rest if rest.starts_with("//") => self.skip_past("\n"),
                rest if rest.starts_with("/*") => self.skip_past("*/"),
                _ => return,
            }
        }
    }

    pub(super) fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += length;
        // A regular expression can follow these, as it follows a bracket.
        self.previous = if matches!(word, "return" | "typeof" | "case") { '(' } else { 'a' };
        Some(word)
    }

    fn begins_literal(&self) -> bool {
        matches!(self.peek(), Some('{' | '['))
    }

    fn error(&self, expected: &str) -> Unreadable {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Unreadable(format!("line {line}: expected {expected}"))
    }
}

/// Literals.
impl Reader<'_> {
    fn only_literal(&mut self) -> Result<Value, Unreadable> {
        let value = self.value(0)?;
        self.skip_blank();
        self.take(";");
        self.skip_blank();
        if self.rest().is_empty() { Ok(value) } else { Err(self.error("the end of the file")) }
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Value, Unreadable> {
        if depth > DEPTH_MAX {
            return Err(self.error("less nesting"));
        }
        self.skip_blank();
        let start = self.at;
        let value = match self.peek() {
            Some('{') => Some(self.object(depth)?),
            Some('[') => Some(self.array(depth)?),
            _ => self.scalar(),
        };
        if let Some(value) = value.filter(|_| self.value_ends()) {
            return Ok(value);
        }
        self.at = start;
        self.code().map(code).ok_or_else(|| self.error("a value"))
    }

    /// TypeScript's `as const` and `satisfies Schema` do not change the value.
    fn value_ends(&mut self) -> bool {
        self.skip_blank();
        let before = self.at;
        if matches!(self.word(), Some("as" | "satisfies")) {
            self.code();
        } else {
            self.at = before;
        }
        self.skip_blank();
        matches!(self.peek(), None | Some(',' | '}' | ']' | ')' | ';')) || self.at != before
    }

    fn object(&mut self, depth: usize) -> Result<Value, Unreadable> {
        self.advance();
        let mut members = Map::new();
        loop {
            self.skip_blank();
            if self.take("}") {
                return Ok(Value::Object(members));
            }
            let start = self.at;
            match self.member_name() {
                Some(name) => {
                    let value = self.value(depth + 1)?;
                    members.insert(name, value);
                }
                None => {
                    self.at = start;
                    let text = self.code().ok_or_else(|| self.error("a member or `}`"))?;
                    members.insert(format!("{RAW}{text}"), code(text));
                }
            }
            self.separator('}')?;
        }
    }

    /// `name:`, `"name":` or `["name"]:`.
    fn member_name(&mut self) -> Option<String> {
        let bracket = self.take("[");
        let name = match self.peek()? {
            '"' | '\'' => self.string()?,
            c if c.is_ascii_digit() => self.number()?.to_string(),
            _ => self.word().filter(|_| !bracket)?.to_owned(),
        };
        if bracket && !self.take("]") {
            return None;
        }
        self.skip_blank();
        self.take(":").then_some(name)
    }

    fn array(&mut self, depth: usize) -> Result<Value, Unreadable> {
        self.advance();
        let mut elements = Vec::new();
        loop {
            self.skip_blank();
            if self.take("]") {
                return Ok(Value::Array(elements));
            }
            elements.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
    }

    /// A comma, unless the end comes next.
    fn separator(&mut self, end: char) -> Result<(), Unreadable> {
        self.skip_blank();
        if self.take(",") || self.peek() == Some(end) {
            return Ok(());
        }
        Err(self.error(&format!("`,` or `{end}`")))
    }

    fn scalar(&mut self) -> Option<Value> {
        match self.peek()? {
            '"' | '\'' => self.string().map(Value::String),
            '`' => self.plain_template().map(Value::String),
            c if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            _ => match self.word()? {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_string();
        json5::from_str(&self.text[start..self.at]).ok()
    }

    /// A template literal is plain text if it has no placeholders and no escapes.
    fn plain_template(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_group();
        let inside = self.text[start..self.at].strip_prefix('`')?.strip_suffix('`')?;
        (!inside.contains("${") && !inside.contains('\\')).then(|| inside.to_owned())
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        self.take("-");
        self.take("+");
        let mut exponent = false;
        while let Some(c) = self.peek() {
            let sign = exponent && matches!(c, '+' | '-');
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign) {
                break;
            }
            exponent = matches!(c, 'e' | 'E');
            self.advance();
        }
        let text = self.text[start..self.at].replace('_', "");
        json5::from_str(&text).ok().filter(Value::is_number)
    }

    /// The text up to the end of the value; `None` if it is empty.
    pub(super) fn code(&mut self) -> Option<String> {
        self.code_until(|_| false)
    }

    /// The text up to the end of a statement, which may be the end of its line.
    pub(super) fn statement(&mut self) -> Option<String> {
        self.code_until(|reader| {
            let before = &reader.text[..reader.at];
            let ends_line = before[before.trim_end().len()..].contains('\n');
            let is_whole = reader.previous.is_alphanumeric() || ")]}`\"'".contains(reader.previous);
            let begins = |c: char| c.is_alphanumeric() || "_${@\"'".contains(c);
            ends_line && is_whole && reader.peek().is_some_and(begins)
        })
    }

    fn code_until(&mut self, ends: impl Fn(&Reader<'_>) -> bool) -> Option<String> {
        let start = self.at;
        self.previous = ':';
        loop {
            self.skip_blank();
            if ends(self) {
                break;
            }
            match self.peek() {
                None | Some(',' | '}' | ']' | ')' | ';') => break,
                Some(_) => self.skip_token(),
            }
        }
        let text = self.text[start..self.at].trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// Skipping.
impl Reader<'_> {
    pub(super) fn skip_token(&mut self) {
        match self.peek() {
            Some('(' | '[' | '{' | '`') => self.skip_group(),
            _ => self.skip_simple(),
        }
    }

    /// A string, a regular expression, a word, or one character.
    fn skip_simple(&mut self) {
        match self.peek() {
            Some('"' | '\'') => self.skip_string(),
            Some('/') if "(,=:[!&|?{};+-*%<>~^".contains(self.previous) => self.skip_regular_expression(),
            _ => {
                if self.word().is_none() {
                    self.advance();
                }
            }
        }
    }

    fn skip_string(&mut self) {
        let Some(quote) = self.peek() else { return };
        self.advance();
        while let Some(c) = self.peek() {
            self.advance();
            if c == '\\' {
                self.advance();
            } else if c == quote || c == '\n' {
                return;
            }
        }
    }

    fn skip_regular_expression(&mut self) {
        let mut in_class = false;
        self.advance();
        while let Some(c) = self.peek() {
            self.advance();
            match c {
                '\\' => self.advance(),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return,
                '\n' => return,
                _ => {}
            }
        }
    }

    /// Skips brackets, or a template literal, to their end. Open brackets are on a list instead of the call stack, so
    /// that no nesting is too deep.
    pub(super) fn skip_group(&mut self) {
        let mut open = Vec::new();
        loop {
            let in_template = open.last() == Some(&'`');
            if !in_template {
                self.skip_blank();
            }
            let Some(c) = self.peek() else { return };
            match c {
                '\\' if in_template => {
                    self.advance();
                    self.advance();
                }
                '`' if in_template => {
                    self.advance();
                    open.pop();
                }
                '$' if in_template && self.take("${") => open.push('{'),
                _ if in_template => self.advance(),
                '(' | '[' | '{' | '`' => {
                    self.advance();
                    open.push(c);
                }
                ')' | ']' | '}' => {
                    self.advance();
                    open.pop();
                }
                _ => self.skip_simple(),
            }
            if open.is_empty() {
                return;
            }
        }
    }
}

/// Modules.
impl Reader<'_> {
    fn module(&mut self) -> Result<Value, Unreadable> {
        let mut found = Map::new();
        let mut problem = None;
        loop {
            self.skip_blank();
            if self.rest().is_empty() {
                break;
            }
            let Some(name) = self.binding() else {
                self.skip_token();
                continue;
            };
            let before = self.at;
            match self.bound_literal() {
                Some(Ok(value)) => {
                    found.insert(name, value);
                }
                Some(Err(error)) => {
                    problem.get_or_insert(error);
                    self.at = before;
                }
                None => self.at = before,
            }
        }
        match (found.is_empty(), problem) {
            (false, _) => Ok(Value::Object(found)),
            (true, Some(problem)) => Err(problem),
            (true, None) => Err(Unreadable("there is no object literal in this".to_owned())),
        }
    }

    /// The name of what follows: after `const name =`, `export default` or `exports.name =`.
    pub(super) fn binding(&mut self) -> Option<String> {
        let before = self.at;
        let name = match self.word() {
            Some("const" | "let" | "var") => {
                self.skip_blank();
                self.word()
            }
            Some("default") => return Some("default".to_owned()),
            Some("exports") if self.take(".") => self.word(),
            Some("exports") => Some("default"),
            _ => {
                self.at = before;
                return None;
            }
        };
        name.filter(|_| self.skip_to_assignment()).map(str::to_owned)
    }

    /// Skips to after `=`, past a type annotation.
    fn skip_to_assignment(&mut self) -> bool {
        loop {
            self.skip_blank();
            match self.peek() {
                None | Some(';' | ')' | '}' | ']') => return false,
                Some('=') => {
                    self.advance();
                    return !matches!(self.peek(), Some('=' | '>'));
                }
                Some(_) => self.skip_token(),
            }
        }
    }

    /// The literal that is assigned, alone or as the first argument of a call: `new Entity({…})`.
    fn bound_literal(&mut self) -> Option<Result<Value, Unreadable>> {
        loop {
            self.skip_blank();
            if self.begins_literal() {
                let literal = if self.peek() == Some('{') { self.object(0) } else { self.array(0) };
                return Some(literal);
            }
            let called = self.word().is_some() || self.take(".") || self.take("(");
            if !called {
                return None;
            }
        }
    }
}

/// A call in a program: `new dynamodb.Table(this, 'Orders', {…})`, `table.addGlobalSecondaryIndex({…})`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As it is written, without `new`: `dynamodb.Table`.
    pub name: String,
    /// What the result is assigned to: `this.orders`.
    pub target: Option<String>,
    pub arguments: Vec<Value>,
}

/// The calls of a program whose name ends with one of these words, and its constants that are literals.
pub fn calls(text: &str, names: &[&str]) -> (Vec<Call>, Map<String, Value>) {
    let mut reader = Reader::new(text);
    let (mut calls, mut constants) = (Vec::new(), Map::new());
    let mut target: Option<String> = None;
    let mut declared = false;
    loop {
        reader.skip_blank();
        let Some(c) = reader.peek() else { return (calls, constants) };
        match c {
            '"' | '\'' | '/' => reader.skip_simple(),
            '`' => reader.skip_group(),
            ';' => {
                (target, declared) = (None, false);
                reader.advance();
            }
            '=' if reader.rest().starts_with("=>") || reader.rest().starts_with("==") => {
                reader.advance();
                reader.advance();
            }
            '=' => {
                reader.advance();
                let start = reader.at;
                reader.skip_blank();
                let value = match reader.peek() {
                    Some('{' | '[') if declared => reader.value(0).ok(),
                    _ => reader.scalar().filter(|_| reader.value_ends()),
                };
                // What is made in a literal is found on the way through it.
                let is_made = text[start..reader.at].contains("new ");
                match (declared, &target, value.filter(|_| !is_made)) {
                    (true, Some(name), Some(value)) => {
                        constants.insert(name.clone(), value);
                    }
                    _ => reader.at = start,
                }
            }
            _ => match reader.path() {
                None => reader.advance(),
                Some(path) if matches!(path.as_str(), "const" | "let" | "var" | "readonly") => {
                    reader.skip_blank();
                    (target, declared) = (reader.word().map(str::to_owned), true);
                }
                Some(path) => {
                    let is_named = names.iter().any(|name| path.rsplit('.').next() == Some(*name));
                    let is_call = is_named && reader.peek() == Some('(');
                    match is_call.then(|| reader.arguments()).flatten() {
                        Some(arguments) => {
                            calls.push(Call { name: path, target: target.take(), arguments });
                            declared = false;
                        }
                        None if !declared && path != "new" => target = Some(path),
                        None => {}
                    }
                }
            },
        }
    }
}

impl Reader<'_> {
    /// `this.table.name`.
    fn path(&mut self) -> Option<String> {
        let mut path = self.word()?.to_owned();
        while self.rest().starts_with('.') {
            let before = self.at;
            self.advance();
            match self.word() {
                Some(word) => path = format!("{path}.{word}"),
                None => {
                    self.at = before;
                    break;
                }
            }
        }
        Some(path)
    }

    /// The arguments in brackets; `None` if they can't be read, and nothing is skipped.
    pub(super) fn arguments(&mut self) -> Option<Vec<Value>> {
        let start = self.at;
        self.advance();
        let mut arguments = Vec::new();
        loop {
            self.skip_blank();
            if self.take(")") {
                return Some(arguments);
            }
            let value = self.value(0).ok();
            let goes_on = value.is_some() && self.separator(')').is_ok();
            arguments.extend(value);
            if !goes_on {
                self.at = start;
                return None;
            }
        }
    }
}
