//! A statement's text to tokens. Blanks and comments (`-- …` to the end of the line, `/* … */`) separate tokens and
//! leave no trace.

use super::error::{Position, StatementError};
use crate::language::{self, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementShape {
    /// A letter, `_` or `$`, then also digits. Keywords too: only the grammar tells them apart.
    Word,
    /// Between double quotes; a doubled one stands for itself.
    QuotedName,
    /// Between single quotes; a doubled one stands for itself.
    Text,
    /// Without a sign: `1`, `1.5`, `.5`, `1.`, `1e-3`.
    Number,
    /// `?`
    Parameter,
    /// An operator or a bracket.
    Mark,
    End,
}

impl language::TokenShape for StatementShape {
    const WORD: StatementShape = StatementShape::Word;
    const MARK: StatementShape = StatementShape::Mark;
    const END: StatementShape = StatementShape::End;
}

const LONG_MARKS: [&str; 6] = ["<<", ">>", "<=", ">=", "<>", "!="];
const MARKS: &str = "()[]{},.:;*=<>+-";

/// The tokens of `text`; the last one is always [`StatementShape::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<StatementShape>>, StatementError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let refused = |reason: &str, length: usize| {
            let position = Position::of(&(start..start + length), text);
            StatementError::NotWellFormed(format!("{reason} at {position}"))
        };
        let (shape, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                start += 1;
                continue;
            }
            '-' if rest.starts_with("--") => {
                start += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").ok_or_else(|| refused("Unterminated comment", 2))?;
                start += 2 + end + 2;
                continue;
            }
            '\'' => (StatementShape::Text, quoted(rest).ok_or_else(|| refused("Unterminated string", 1))?),
            '"' => (StatementShape::QuotedName, quoted(rest).ok_or_else(|| refused("Unterminated name", 1))?),
            'a'..='z' | 'A'..='Z' | '_' | '$' => (StatementShape::Word, word(rest)),
            '?' => (StatementShape::Parameter, 1),
            '0'..='9' => (StatementShape::Number, number(rest)),
            '.' if digits(&rest[1..]) > 0 => (StatementShape::Number, number(rest)),
            _ if LONG_MARKS.iter().any(|mark| rest.starts_with(mark)) => (StatementShape::Mark, 2),
            _ if MARKS.contains(first) => (StatementShape::Mark, 1),
            other => return Err(refused("Invalid character", other.len_utf8())),
        };
        tokens.push(Token { shape, span: start..start + length });
        start += length;
    }
    tokens.push(Token { shape: StatementShape::End, span: text.len()..text.len() });
    Ok(tokens)
}

/// The text that a quoted token means.
pub(super) fn unquoted(token: &str) -> String {
    let quote = &token[..1];
    token[1..token.len() - 1].replace(&quote.repeat(2), quote)
}

/// The length of the quoted token that `text` begins with, its quotes included.
fn quoted(text: &str) -> Option<usize> {
    let quote = text.as_bytes()[0];
    let mut end = 1;
    loop {
        end += 1 + text.as_bytes()[end..].iter().position(|byte| *byte == quote)?;
        if text.as_bytes().get(end) != Some(&quote) {
            return Some(end);
        }
        end += 1;
    }
}

fn word(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')).count()
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn number(text: &str) -> usize {
    let mut length = digits(text);
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if let power @ 1.. = digits(&exponent[sign..]) {
            length += 1 + sign + power;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens = tokens(text).unwrap();
        let found: Vec<&str> =
            tokens[..tokens.len() - 1].iter().map(|token| &text[token.span.clone()]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn texts_are_split_into_tokens() {
        check("", &[]);
        check("SELECT * FROM \"T\".\"I\";", &["SELECT", "*", "FROM", "\"T\"", ".", "\"I\"", ";"]);
        check("'it''s' \"a\"\"b\" '' 'é'", &["'it''s'", "\"a\"\"b\"", "''", "'é'"]);
        check("a<>b<=c>=d<e>f!=?", &["a", "<>", "b", "<=", "c", ">=", "d", "<", "e", ">", "f", "!=", "?"]);
        check("<<1,.5,1.,1e0,2E-3>>", &["<<", "1", ",", ".5", ",", "1.", ",", "1e0", ",", "2E-3", ">>"]);
        check("1e 1e+ 1x", &["1", "e", "1", "e", "+", "1", "x"]);
        check("a.b[0] _x $y", &["a", ".", "b", "[", "0", "]", "_x", "$y"]);
        check("a -- 'b\n/* \" */c--", &["a", "c"]);
        check("a/**/-1", &["a", "-", "1"]);
    }

    #[test]
    fn text_that_is_no_token_is_refused_with_its_position() {
        #[track_caller]
        fn refused(text: &str, detail: &str) {
            assert_eq!(
                tokens(text).unwrap_err(),
                StatementError::NotWellFormed(detail.to_owned()),
                "{text:?}"
            );
        }
        refused("a 'b", "Unterminated string at 1:3:1");
        refused("a 'b''", "Unterminated string at 1:3:1");
        refused("\n  \"", "Unterminated name at 2:3:1");
        refused("é/*/", "Invalid character at 1:1:1");
        refused("a /*/", "Unterminated comment at 1:3:2");
        refused("'é' `a`", "Invalid character at 1:5:1");
        refused("a\u{a0}b", "Invalid character at 1:2:1");
    }

    #[test]
    fn doubled_quotes_stand_for_one() {
        assert_eq!(unquoted("'it''s'"), "it's");
        assert_eq!(unquoted("''''''"), "''");
        assert_eq!(unquoted("\"'' \"\" \""), "'' \" ");
        assert_eq!(unquoted("''"), "");
    }
}
