//! Bytes of a text and the protocol's positions: lines from 0, and columns in UTF-16 units unless both sides agree on
//! bytes.

use lsp_types::{Position, PositionEncodingKind, Range};
use model::Span;

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, character: char) -> usize {
        match self {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
        }
    }
}

/// Where the lines of a text begin.
pub struct Lines {
    starts: Vec<usize>,
    encoding: Encoding,
}

impl Lines {
    pub fn new(text: &str, encoding: Encoding) -> Lines {
        let starts = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Lines { starts: std::iter::once(0).chain(starts).collect(), encoding }
    }

    /// The byte at a position; positions beyond the end of a line or of the text are at that end.
    pub fn byte(&self, text: &str, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return text.len() };
        let end = self.starts.get(position.line as usize + 1).map_or(text.len(), |next| next - 1);
        let mut column = 0;
        for (at, character) in text[start..end].char_indices() {
            if column >= position.character as usize {
                return start + at;
            }
            column += self.encoding.width(character);
        }
        end
    }

    pub fn position(&self, text: &str, byte: usize) -> Position {
        let byte = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let line = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        let before = &text[self.starts[line]..byte];
        let column: usize = before.chars().map(|character| self.encoding.width(character)).sum();
        Position::new(line as u32, column as u32)
    }

    pub fn range(&self, text: &str, span: Span) -> Range {
        Range::new(self.position(text, span.start), self.position(text, span.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: Zoë 😀!\n\nlast";

    #[test]
    fn every_character_has_a_position_that_leads_back_to_it() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let lines = Lines::new(TEXT, encoding);
            for (byte, _) in TEXT.char_indices().chain([(TEXT.len(), ' ')]) {
                assert_eq!(lines.byte(TEXT, lines.position(TEXT, byte)), byte, "{encoding:?}");
            }
        }
    }

    #[test]
    fn columns_count_what_was_agreed_on() {
        let exclamation = TEXT.find('!').expect("it is there");
        let column = |encoding| Lines::new(TEXT, encoding).position(TEXT, exclamation).character;
        assert_eq!(column(Encoding::Utf16), 12);
        assert_eq!(column(Encoding::Utf8), 15);
    }

    #[test]
    fn positions_beyond_the_text_are_at_its_end() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        assert_eq!(lines.byte(TEXT, Position::new(9, 0)), TEXT.len());
        assert_eq!(lines.byte(TEXT, Position::new(1, 5)), TEXT.find("\n\n").expect("it is there") + 1);
        assert_eq!(lines.position(TEXT, 1_000).line, 2);
    }
}
