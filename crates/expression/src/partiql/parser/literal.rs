//! Names, paths and literals.

use item::{Number, Value, ValueBuf, ValueError};

use super::Parser;
use crate::partiql::error::StatementError;
use crate::partiql::keyword::is_keyword;
use crate::partiql::lexer::{StatementShape, unquoted};
use crate::partiql::syntax::{Literal, placeholder};
use crate::syntax::Element;
use crate::update::NESTING_MAX;

/// Values of attributes may be 32 levels deep. The item that INSERT writes is one more level around them.
const LITERAL_DEPTH_MAX: usize = NESTING_MAX + 1;

impl Parser<'_> {
    pub(super) fn name(&mut self) -> Result<String, StatementError> {
        let name = match self.shape() {
            StatementShape::Word if !is_keyword(self.word()) => self.word().to_owned(),
            StatementShape::QuotedName => unquoted(self.word()),
            _ => return Err(self.unexpected()),
        };
        if name.is_empty() {
            return Err(ValueError::EmptyName.into());
        }
        self.advance();
        Ok(name)
    }

    /// What is between the brackets of a path: an index, or a name as a string.
    pub(super) fn step(&mut self) -> Result<Element, StatementError> {
        let word = self.word();
        let element = match self.shape() {
            StatementShape::Text if word.len() > 2 => Element::Name(unquoted(word)),
            StatementShape::Number if word.bytes().all(|byte| byte.is_ascii_digit()) => self.list_index(word),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(element)
    }

    /// Whether a literal begins here.
    pub(super) fn at_literal(&self) -> bool {
        match self.shape() {
            StatementShape::Text | StatementShape::Number | StatementShape::Parameter => true,
            StatementShape::Mark => matches!(self.word(), "[" | "{" | "<<" | "-" | "+"),
            StatementShape::Word => {
                ["TRUE", "FALSE", "NULL"].into_iter().any(|keyword| self.at_keyword(keyword))
            }
            StatementShape::QuotedName | StatementShape::End => false,
        }
    }

    /// Calls itself once for each level; `level` counts them, and the deepest is the 33rd.
    pub(super) fn literal(&mut self, level: usize) -> Result<Literal, StatementError> {
        if level > LITERAL_DEPTH_MAX {
            return Err(ValueError::Nesting.into());
        }
        if self.take("[") {
            return Ok(Literal::List(self.elements("]", level)?));
        }
        if self.take("<<") {
            return Ok(Literal::Set(self.elements(">>", level)?));
        }
        if self.take("{") {
            return Ok(Literal::Map(self.entries(level)?));
        }
        if self.shape() == StatementShape::Parameter {
            self.advance();
            self.language.parameters += 1;
            return Ok(Literal::Parameter(self.language.parameters - 1));
        }
        Ok(Literal::Scalar(self.scalar()?))
    }

    fn elements(&mut self, end: &str, level: usize) -> Result<Vec<Literal>, StatementError> {
        let mut elements = Vec::new();
        if self.take(end) {
            return Ok(elements);
        }
        loop {
            elements.push(self.literal(level + 1)?);
            if !self.take(",") {
                self.expect(end)?;
                return Ok(elements);
            }
        }
    }

    fn entries(&mut self, level: usize) -> Result<Vec<(String, Literal)>, StatementError> {
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(entries);
        }
        loop {
            let name = if self.shape() == StatementShape::Text {
                unquoted(self.word())
            } else {
                return Err(self.unexpected());
            };
            if name.is_empty() {
                return Err(ValueError::EmptyName.into());
            }
            self.advance();
            self.expect(":")?;
            entries.push((name, self.literal(level + 1)?));
            if !self.take(",") {
                self.expect("}")?;
                return Ok(entries);
            }
        }
    }

    fn scalar(&mut self) -> Result<ValueBuf, StatementError> {
        let sign = if self.take("-") { "-" } else { "" };
        let signed = !sign.is_empty() || self.take("+");
        let value = match self.shape() {
            StatementShape::Number => {
                let number = Number::parse(&format!("{sign}{}", self.word())).map_err(ValueError::Number)?;
                ValueBuf::from(number)
            }
            StatementShape::Text if !signed => ValueBuf::from(unquoted(self.word()).as_str()),
            _ if !signed && self.at_keyword("TRUE") => ValueBuf::from(true),
            _ if !signed && self.at_keyword("FALSE") => ValueBuf::from(false),
            _ if !signed && self.at_keyword("NULL") => ValueBuf::from(&Value::Null),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(value)
    }

    /// Keeps a literal among the values of the statement, and returns its placeholder.
    pub(super) fn placeholder(&mut self, literal: Literal) -> String {
        self.language.values.push(literal);
        placeholder(self.language.values.len() - 1)
    }
}
