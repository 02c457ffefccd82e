//! Text to tokens. Every character that is not blank belongs to a token. A character that the language does not know
//! becomes a token of its own, so that the parser can name it in its message.

use item::Placeholder;
use item::placeholder::word_length;

use crate::language::{self, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionShape {
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

impl language::TokenShape for ExpressionShape {
    const WORD: ExpressionShape = ExpressionShape::Name;
    const MARK: ExpressionShape = ExpressionShape::Mark;
    const END: ExpressionShape = ExpressionShape::End;
}

/// The tokens of `text`; the last one is always [`ExpressionShape::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token<ExpressionShape>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (shape, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                start += 1;
                continue;
            }
            'a'..='z' | 'A'..='Z' => (ExpressionShape::Name, word_length(rest)),
            '#' | ':' => placeholder(rest),
            '0' => (ExpressionShape::Digits, 1),
            '1'..='9' => (ExpressionShape::Digits, rest.bytes().take_while(u8::is_ascii_digit).count()),
            '<' if rest.starts_with("<>") || rest.starts_with("<=") => (ExpressionShape::Mark, 2),
            '>' if rest.starts_with(">=") => (ExpressionShape::Mark, 2),
            other => (ExpressionShape::Mark, other.len_utf8()),
        };
        tokens.push(Token { shape, span: start..start + length });
        start += length;
    }
    tokens.push(Token { shape: ExpressionShape::End, span: text.len()..text.len() });
    tokens
}

/// The placeholder that `text` begins with, or its sign alone.
fn placeholder(text: &str) -> (ExpressionShape, usize) {
    let name = Placeholder::Name.length(text).map(|length| (ExpressionShape::NamePlaceholder, length));
    let value = || Placeholder::Value.length(text).map(|length| (ExpressionShape::ValuePlaceholder, length));
    name.or_else(value).unwrap_or((ExpressionShape::Mark, 1))
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
    fn texts_are_split_into_tokens() {
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
