//! Whether two templates can render to the same text.
//!
//! An attribute is assumed to hold any text without `#`, the separator of key templates: otherwise
//! every pair of templates could be equal, and nothing could be said.

use super::{Part, Template};

const SEPARATOR: char = '#';

#[derive(Clone, Copy)]
enum Token {
    Exactly(char),
    /// One character of an attribute.
    Any,
    /// Any number of characters of an attribute.
    Some,
    /// Anything at all.
    Rest,
}

/// Whether both can render to the same text.
pub fn may_equal(one: &Template, other: &Template) -> bool {
    begin_alike(&one.parts, &other.parts) && meet(&tokens(&one.parts), &tokens(&other.parts))
}

/// Whether a rendering of the template can begin with a rendering of the prefix.
pub fn may_begin_with(template: &Template, prefix: &[Part]) -> bool {
    if !begin_alike(&template.parts, prefix) {
        return false;
    }
    let mut prefix = tokens(prefix);
    prefix.push(Token::Rest);
    meet(&tokens(&template.parts), &prefix)
}

/// A quick check that most pairs fail: the literal text they begin with.
fn begin_alike(one: &[Part], other: &[Part]) -> bool {
    match (one.first(), other.first()) {
        (Some(Part::Literal(one)), Some(Part::Literal(other))) => {
            one.starts_with(other.as_str()) || other.starts_with(one.as_str())
        }
        _ => true,
    }
}

fn tokens(parts: &[Part]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for part in parts {
        match part {
            Part::Literal(text) => tokens.extend(text.chars().map(Token::Exactly)),
            Part::Field(_) => tokens.extend([Token::Any, Token::Some]),
        }
    }
    tokens
}

/// Whether the two can be the same text: `meets[i][j]` is the answer for the rests from `i` and from `j`.
fn meet(one: &[Token], other: &[Token]) -> bool {
    let mut meets = vec![vec![false; other.len() + 1]; one.len() + 1];
    for i in (0..=one.len()).rev() {
        for j in (0..=other.len()).rev() {
            let (left, right) = (one.get(i).copied(), other.get(j).copied());
            meets[i][j] = match (left, right) {
                (None, None) => true,
                _ if left.is_some_and(Token::repeats) && meets[i + 1][j] => true,
                _ if right.is_some_and(Token::repeats) && meets[i][j + 1] => true,
                (Some(left), Some(right)) if covers(left, right) => match (left.repeats(), right.repeats()) {
                    (true, true) => false,
                    (true, false) => meets[i][j + 1],
                    (false, true) => meets[i + 1][j],
                    (false, false) => meets[i + 1][j + 1],
                },
                _ => false,
            };
        }
    }
    meets[0][0]
}

impl Token {
    fn repeats(self) -> bool {
        matches!(self, Token::Some | Token::Rest)
    }
}

/// Whether the two tokens have a character in common.
fn covers(one: Token, other: Token) -> bool {
    match (one, other) {
        (Token::Exactly(one), Token::Exactly(other)) => one == other,
        (Token::Exactly(exactly), Token::Any | Token::Some)
        | (Token::Any | Token::Some, Token::Exactly(exactly)) => exactly != SEPARATOR,
        _ => true,
    }
}
