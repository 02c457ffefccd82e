//! Predicates of the model file: `status = OPEN and createdAt >= :since`. A conjunction of comparisons,
//! which is what keys can serve and what the rules can reason about.

use std::fmt;

use crate::{Span, Spanned};

/// All terms hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    pub terms: Vec<Term>,
    pub span: Span,
}

/// One comparison. `attribute` is empty for a bare `exists` or `not exists`, which is about the item.
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
    /// What the predicate fixes an attribute to, if anything.
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
            Operand::Literal(text) => formatter.write_str(text),
            Operand::Parameter(name) => write!(formatter, ":{name}"),
        }
    }
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
