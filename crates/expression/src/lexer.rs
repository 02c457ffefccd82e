//! Text to tokens. Every character that is not blank belongs to a token. A character that the language does not know
//! becomes a token of its own, so that the parser can name it in its message.

use item::Placeholder;
use item::placeholder::word_length;

use crate::language::{self, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A letter, then letters, digits and underscores. Keywords too: only the grammar tells them apart.
    Name,
    NamePlaceholder,
    ValuePlaceholder,
    /// Digits without a leading zero: `01` is two tokens, which no grammar accepts.
    Digits,
    /// An operator, a bracket, or any other single character.
    Mark,
    End,
}

impl language::Shape for Shape {
    const WORD: Shape = Shape::Name;
    const MARK: Shape = Shape::Mark;
    const END: Shape = Shape::End;
}

/// The tokens of `text`; the last one is always [`Shape::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token<Shape>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (shape, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                start += 1;
                continue;
            }
            'a'..='z' | 'A'..='Z' => (Shape::Name, word_length(rest)),
            '#' | ':' => placeholder(rest),
            '0' => (Shape::Digits, 1),
            '1'..='9' => (Shape::Digits, rest.bytes().take_while(u8::is_ascii_digit).count()),
            '<' if rest.starts_with("<>") || rest.starts_with("<=") => (Shape::Mark, 2),
            '>' if rest.starts_with(">=") => (Shape::Mark, 2),
            other => (Shape::Mark, other.len_utf8()),
        };
        tokens.push(Token { shape, span: start..start + length });
        start += length;
    }
    tokens.push(Token { shape: Shape::End, span: text.len()..text.len() });
    tokens
}

/// The placeholder that `text` begins with, or its sign alone.
fn placeholder(text: &str) -> (Shape, usize) {
    let name = Placeholder::Name.length(text).map(|length| (Shape::NamePlaceholder, length));
    let value = || Placeholder::Value.length(text).map(|length| (Shape::ValuePlaceholder, length));
    name.or_else(value).unwrap_or((Shape::Mark, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens = tokens(text);
        let found: Vec<&str> =
            tokens[..tokens.len() - 1].iter().map(|token| &text[token.span.clone()]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn texts_fall_apart_into_tokens() {
        check("", &[]);
        check(" \t\r\n", &[]);
        check("SET a.b[0]=:v", &["SET", "a", ".", "b", "[", "0", "]", "=", ":v"]);
        check("a<>b<=c>=d<e>f", &["a", "<>", "b", "<=", "c", ">=", "d", "<", "e", ">", "f"]);
        check("#1_a:_", &["#1_a", ":_"]);
        check("# : _1", &["#", ":", "_", "1"]);
        check("[007]", &["[", "0", "0", "7", "]"]);
        check("12a", &["12", "a"]);
        check("a\u{a0}é!!", &["a", "\u{a0}", "é", "!", "!"]);
    }
}
