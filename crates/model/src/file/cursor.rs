//! Parses small languages (quantities, predicates, templates) inside a scalar, keeping track of columns.

use super::Parsed;
use super::yaml::Scalar;
use crate::{Diagnostic, Span};

pub struct Cursor<'a> {
    pub scalar: &'a Scalar,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(scalar: &'a Scalar) -> Cursor<'a> {
        Cursor { scalar, at: 0 }
    }

    pub fn rest(&self) -> &'a str {
        &self.scalar.text[self.at..]
    }

    pub fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// The span from `start` to here.
    pub fn since(&self, start: usize) -> Span {
        self.scalar.part(start, self.at)
    }

    /// The span of what comes next, up to white space.
    pub fn here(&self) -> Span {
        let length = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        self.scalar.part(self.at, self.at + length)
    }

    pub fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(self.here(), message))
    }

    /// Takes `text` if it comes next.
    pub fn take(&mut self, text: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Takes a whole word if it comes next, in any case.
    pub fn take_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let next = leading(self.rest(), is_word);
        let found = next.eq_ignore_ascii_case(word);
        self.at += if found { next.len() } else { 0 };
        found
    }

    pub fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let taken = leading(self.rest(), accept);
        self.at += taken.len();
        taken
    }

    /// A name: letters, digits, `_`, `-`, `.`.
    pub fn word(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        self.skip_space();
        let start = self.at;
        let word = self.take_while(is_word);
        if word.is_empty() {
            Err(self.error(format!("expected {what}")))
        } else {
            Ok((word, self.since(start)))
        }
    }

    /// `20`, `1.5K`, `2M`, `10_000`.
    pub fn number(&mut self) -> Parsed<f64> {
        self.skip_space();
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.' || c == '_').replace('_', "");
        let parsed: Option<f64> = digits.parse().ok();
        let Some(number) = parsed.filter(|number| number.is_finite()) else {
            self.at = start;
            return Err(self.error("expected a number, as in `20`, `1.5K` or `2M`"));
        };
        Ok(number * self.magnitude())
    }

    fn magnitude(&mut self) -> f64 {
        let (factor, length) = match leading(self.rest(), char::is_alphabetic) {
            "K" | "k" => (1e3, 1),
            "M" => (1e6, 1),
            "G" => (1e9, 1),
            _ => (1.0, 0),
        };
        self.at += length;
        factor
    }

    /// Refuses anything but the end.
    pub fn end(&mut self) -> Parsed<()> {
        if self.at_end() {
            Ok(())
        } else {
            Err(self.error(format!("`{}` does not belong here", self.rest())))
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

fn leading(text: &str, accept: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|character| !accept(character)).unwrap_or(text.len())]
}
