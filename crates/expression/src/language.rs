//! What the parsers of expressions and of PartiQL share: a walk over tokens, document paths, and (in
//! [`crate::operator`]) operators. What differs between the two is a [`Language`].

use std::ops::Range;

use crate::error::{ExpressionError, Fault, Faults, Kind};
use crate::operator::ParsedOperand;
use crate::syntax::{Comparator, Element, Function, Nodes, WrittenPath};

pub const OPERATORS_MAX: usize = 300;
pub const PATH_DEPTH_MAX: usize = 32;
const LIST_INDEX_MAX: u32 = i32::MAX as u32;

/// One of the two languages: its tokens, its operands, and the operators that only one of them has.
pub(crate) trait Language: Sized {
    type Shape: TokenShape;
    type Error;

    /// Whether a sum may have a third term without parentheses: `a + b + c`.
    const LONG_SUMS: bool;
    /// Whether there is a `NOT BETWEEN` and a `NOT IN`.
    const NEGATED_OPERATORS: bool;
    /// Whether `((a))` is refused.
    const REFUSES_REDUNDANT_PARENTHESES: bool;

    /// Refuses the current token.
    fn unexpected(parser: &Parser<'_, Self>) -> Self::Error;

    /// Refuses the current token, because `mark` is expected there.
    fn expected(parser: &Parser<'_, Self>, mark: &str) -> Self::Error;

    /// Reads the name of an attribute or map entry in a path.
    fn name(parser: &mut Parser<'_, Self>) -> Result<Element, Self::Error>;

    /// Reads what is between the brackets of a path.
    fn step(parser: &mut Parser<'_, Self>) -> Result<Element, Self::Error>;

    /// Reads a value, if one begins here, and returns its placeholder.
    fn value(parser: &mut Parser<'_, Self>) -> Result<Option<String>, Self::Error>;

    /// The function whose call begins at the current token, if one does.
    fn call(parser: &mut Parser<'_, Self>) -> Result<Option<Function>, Self::Error>;

    /// The comparator at the current token.
    fn comparator(parser: &Parser<'_, Self>) -> Option<Comparator>;

    /// The mark that ends a list of `IN`, by the one that begins it.
    fn list_end(start: &str) -> Option<&'static str>;

    /// Reads a test that follows its operand and has no further one, such as `IS NULL`.
    fn test(_parser: &mut Parser<'_, Self>, operand: ParsedOperand) -> Result<ParsedOperand, Self::Error> {
        Ok(operand)
    }
}

/// The shapes that tokens of both languages have; each has further ones.
pub(crate) trait TokenShape: Copy + PartialEq {
    const WORD: Self;
    const MARK: Self;
    const END: Self;
}

#[derive(Clone, Debug)]
pub(crate) struct Token<S> {
    pub shape: S,
    pub span: Range<usize>,
}

/// Reads a text token by token, and collects the tree and the faults.
pub(crate) struct Parser<'t, L: Language> {
    pub language: L,
    pub text: &'t str,
    /// The last one is the end of the text.
    pub tokens: Vec<Token<L::Shape>>,
    pub position: usize,
    pub nodes: Nodes,
    pub operators: usize,
    pub faults: Faults,
}

impl<'t, L: Language> Parser<'t, L> {
    pub fn new(language: L, text: &'t str, tokens: Vec<Token<L::Shape>>) -> Parser<'t, L> {
        debug_assert!(tokens.last().is_some_and(|last| last.shape == L::Shape::END));
        Parser {
            language,
            text,
            tokens,
            position: 0,
            nodes: Nodes::default(),
            operators: 0,
            faults: Faults::default(),
        }
    }

    /// Reports the most serious fault, if there was one. Returns what the language collected, and the nodes.
    pub fn finish(mut self, kind: Kind) -> Result<(L, Nodes), ExpressionError> {
        if self.operators > OPERATORS_MAX {
            // DynamoDB stops counting at the first operator that is too many.
            self.faults.report(Fault::TooManyOperators(OPERATORS_MAX + 1));
        }
        self.faults.finish(kind)?;
        Ok((self.language, self.nodes))
    }

    // Looking at the tokens.

    pub fn shape(&self) -> L::Shape {
        self.tokens[self.position].shape
    }

    pub fn span(&self) -> Range<usize> {
        self.tokens[self.position].span.clone()
    }

    pub fn word(&self) -> &'t str {
        &self.text[self.span()]
    }

    /// The text of the token after the current one.
    pub fn next_word(&self) -> Option<&'t str> {
        self.tokens.get(self.position + 1).map(|next| &self.text[next.span.clone()])
    }

    pub fn at_end(&self) -> bool {
        self.shape() == L::Shape::END
    }

    /// Goes on to the next token. The end is never passed, so there is always a current token.
    pub fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    pub fn at(&self, mark: &str) -> bool {
        self.shape() == L::Shape::MARK && self.word() == mark
    }

    pub fn take(&mut self, mark: &str) -> bool {
        let found = self.at(mark);
        if found {
            self.advance();
        }
        found
    }

    pub fn expect(&mut self, mark: &str) -> Result<(), L::Error> {
        if self.take(mark) { Ok(()) } else { Err(L::expected(self, mark)) }
    }

    pub fn at_keyword(&self, keyword: &str) -> bool {
        self.shape() == L::Shape::WORD && self.word().eq_ignore_ascii_case(keyword)
    }

    pub fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Whether the current token is a word directly before an opening parenthesis.
    pub fn at_call(&self) -> bool {
        self.shape() == L::Shape::WORD && self.next_word() == Some("(")
    }

    /// Refuses the current token unless `holds`.
    pub fn demand(&self, holds: bool) -> Result<(), L::Error> {
        if holds { Ok(()) } else { Err(L::unexpected(self)) }
    }

    // Document paths.

    pub fn path(&mut self) -> Result<WrittenPath, L::Error> {
        let mut elements = vec![L::name(self)?];
        loop {
            if self.take(".") {
                elements.push(L::name(self)?);
            } else if self.take("[") {
                elements.push(L::step(self)?);
                self.expect("]")?;
            } else {
                break;
            }
        }
        if elements.len() > PATH_DEPTH_MAX {
            self.faults.report(Fault::PathDepth(elements.len()));
        }
        Ok(WrittenPath(elements))
    }

    /// The list index that the given digits say.
    pub fn list_index(&mut self, digits: &str) -> Element {
        let index = digits.parse().ok().filter(|index| *index <= LIST_INDEX_MAX);
        if index.is_none() {
            self.faults.report(Fault::ListIndex(digits.to_owned()));
        }
        Element::Index(index.unwrap_or(LIST_INDEX_MAX))
    }
}
