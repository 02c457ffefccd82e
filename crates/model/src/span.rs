//! Positions in the text of a model file.

use std::ops::{Deref, Range};

/// A range of bytes in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end: end.max(start) }
    }

    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Spanned<T> {
        Spanned { value, span }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), span: self.span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A model file: its name, for messages, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: String,
    pub text: String,
}

impl Source {
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    /// Line and column of a byte, both counted from one, the column in characters. For many bytes, [`Lines`] are faster.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        self.lines().position(byte)
    }

    /// Where the lines begin.
    pub fn lines(&self) -> Lines<'_> {
        let behind_newlines = self.text.match_indices('\n').map(|(newline, _)| newline + 1);
        Lines { text: &self.text, starts: std::iter::once(0).chain(behind_newlines).collect() }
    }

    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// The lines of a text, found once for many positions.
#[derive(Clone, Debug)]
pub struct Lines<'t> {
    text: &'t str,
    /// Of each line, its first byte.
    starts: Vec<usize>,
}

impl Lines<'_> {
    /// The number of the line of a byte, counted from zero.
    fn number(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// Like [`Source::position`].
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let boundary = (0..=byte.min(self.text.len())).rev().find(|byte| self.text.is_char_boundary(*byte));
        let byte = boundary.unwrap_or(0);
        let line = self.number(byte);
        (line + 1, self.text[self.starts[line]..byte].chars().count() + 1)
    }

    /// The bytes of the lines that a span touches, without the last newline.
    pub fn around(&self, span: Span) -> Span {
        let end = self.text.len();
        let start = self.starts[self.number(span.start.min(end))];
        let next = self.starts.get(self.number(span.end.min(end)) + 1);
        Span::new(start, next.map_or(end, |next| next - 1))
    }
}
