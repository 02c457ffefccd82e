//! Predicates of the model file: `status = OPEN and createdAt >= :since`. A conjunction of comparisons,
//! which is what keys can serve and what the rules can reason about.

use std::cmp::Ordering;
use std::fmt;

use item::{Number, Placeholder, Value};

use crate::{Span, Spanned};

/// All terms hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    pub terms: Vec<Term>,
    pub span: Span,
}

/// One comparison. `attribute` is empty for a bare `exists` or `not exists`, which apply to the whole item.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub attribute: Spanned<String>,
    pub operator: Operator,
    pub operands: Vec<Operand>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Between,
    BeginsWith,
    Contains,
    In,
    Exists,
    NotExists,
}

impl Operator {
    pub fn name(self) -> &'static str {
        match self {
            Operator::Equal => "=",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Between => "between",
            Operator::BeginsWith => "begins_with",
            Operator::Contains => "contains",
            Operator::In => "in",
            Operator::Exists => "exists",
            Operator::NotExists => "not exists",
        }
    }

    /// Whether a sort key can serve it as a contiguous range.
    pub fn is_range(self) -> bool {
        matches!(
            self,
            Operator::Less
                | Operator::LessOrEqual
                | Operator::Greater
                | Operator::GreaterOrEqual
                | Operator::Between
                | Operator::BeginsWith
        )
    }
}

/// What an attribute is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// As written: `OPEN`, `100`, `2026-01-31`.
    Literal(String),
    /// `:since`, given when the request is made.
    Parameter(String),
}

impl Operand {
    pub fn literal(&self) -> Option<&str> {
        match self {
            Operand::Literal(text) => Some(text),
            Operand::Parameter(_) => None,
        }
    }
}

impl Predicate {
    /// The operand that the predicate says an attribute equals, if there is one.
    pub fn equality(&self, attribute: &str) -> Option<&Operand> {
        self.terms.iter().find_map(|term| {
            (term.operator == Operator::Equal && term.attribute.value == attribute)
                .then(|| term.operands.first())?
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Literal(text) => literal(formatter, text),
            Operand::Parameter(name) => formatter.write_str(&Placeholder::Value.of(name)),
        }
    }
}

/// Quoted where the file's reader would not read it as one value.
fn literal(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let special = |c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')');
    let begins_oddly = text.is_empty() || text.starts_with([Placeholder::Value.sign(), '\'', '"']);
    if !begins_oddly && !text.contains(special) {
        return formatter.write_str(text);
    }
    let quote = if text.contains('\'') { '"' } else { '\'' };
    write!(formatter, "{quote}{text}{quote}")
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attribute = &self.attribute.value;
        let operands: Vec<String> = self.operands.iter().map(Operand::to_string).collect();
        match self.operator {
            Operator::Exists | Operator::NotExists if attribute.is_empty() => {
                formatter.write_str(self.operator.name())
            }
            Operator::Exists | Operator::NotExists => {
                write!(formatter, "{} {attribute}", self.operator.name())
            }
            Operator::In => write!(formatter, "{attribute} in ({})", operands.join(", ")),
            _ => write!(formatter, "{attribute} {} {}", self.operator.name(), operands.join(" and ")),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        formatter.write_str(&terms.join(" and "))
    }
}

impl Predicate {
    /// Whether an item matches. A comparison with a parameter does not: the item does not know its value.
    pub fn holds(&self, value: impl Fn(&str) -> Option<Value>) -> bool {
        self.terms.iter().all(|term| term.holds(value(&term.attribute)))
    }
}

impl Term {
    /// `exists attribute`.
    pub fn exists(attribute: &str, span: Span) -> Term {
        let attribute = Spanned::new(attribute.to_owned(), span);
        Term { attribute, operator: Operator::Exists, operands: Vec::new(), span }
    }

    /// Whether an item for which it holds has the attribute: a comparison with what is not there never holds.
    pub fn implies_existence(&self) -> bool {
        self.operator != Operator::NotExists
    }

    fn holds(&self, value: Option<Value>) -> bool {
        let Some(value) = value else { return self.operator == Operator::NotExists };
        let compare = |position: usize| {
            let literal = self.operands.get(position)?.literal()?;
            compare(&value, literal)
        };
        match self.operator {
            Operator::Exists => true,
            Operator::NotExists => false,
            Operator::Equal => compare(0) == Some(Ordering::Equal),
            Operator::NotEqual => compare(0).is_some_and(Ordering::is_ne),
            Operator::Less => compare(0).is_some_and(Ordering::is_lt),
            Operator::LessOrEqual => compare(0).is_some_and(Ordering::is_le),
            Operator::Greater => compare(0).is_some_and(Ordering::is_gt),
            Operator::GreaterOrEqual => compare(0).is_some_and(Ordering::is_ge),
            Operator::Between => {
                compare(0).is_some_and(Ordering::is_ge) && compare(1).is_some_and(Ordering::is_le)
            }
            Operator::In => (0..self.operands.len()).any(|one| compare(one) == Some(Ordering::Equal)),
            Operator::BeginsWith => self.text_test(&value, |text, part| text.starts_with(part)),
            Operator::Contains => self.text_test(&value, |text, part| text.contains(part)),
        }
    }

    fn text_test(&self, value: &Value, test: impl Fn(&str, &str) -> bool) -> bool {
        let part = self.operands.first().and_then(Operand::literal);
        matches!((value, part), (Value::S(text), Some(part)) if test(text, part))
    }
}

/// Numbers by their value, everything else as text.
fn compare(value: &Value, literal: &str) -> Option<Ordering> {
    match value {
        Value::N(number) => Number::parse(literal).ok().map(|literal| number.cmp(&literal)),
        Value::S(text) => Some(text.as_str().cmp(literal)),
        Value::Bool(flag) => Some(flag.to_string().as_str().cmp(literal)),
        _ => None,
    }
}
