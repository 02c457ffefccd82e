//! Key conditions: which partition a Query reads, and which range of its sort order.
//!
//! The text is parsed as a condition and must then be much simpler: terms joined by AND, each comparing one attribute
//! with values of the request. Which attributes these must be depends on the table: see [`KeyCondition::resolve`].

use item::{Type, ValueBuf};

use crate::condition::{Condition, Operand};
use crate::error::{ExpressionError, Fault, Kind};
use crate::path::Path;
use crate::placeholders::Placeholders;
use crate::syntax::{self, Comparator};
use crate::{bind, parser};

/// At most one term for each attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    terms: Vec<Term>,
}

/// What one attribute must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub attribute: String,
    pub range: Range,
}

/// A range of values of one key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    Equal(ValueBuf),
    Less(ValueBuf),
    LessOrEqual(ValueBuf),
    Greater(ValueBuf),
    GreaterOrEqual(ValueBuf),
    /// Both included.
    Between(ValueBuf, ValueBuf),
    BeginsWith(ValueBuf),
}

/// An attribute of a key schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAttribute<'s> {
    pub name: &'s str,
    pub kind: Type,
}

/// What a Query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// One value for each HASH attribute, in the order of the schema.
    pub partition: Vec<ValueBuf>,
    /// The values of the RANGE attributes before the last one that has a term.
    pub sort_prefix: Vec<ValueBuf>,
    /// The range of the last RANGE attribute that has a term.
    pub sort: Option<Range>,
}

impl KeyCondition {
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<KeyCondition, ExpressionError> {
        KeyCondition::bind(&parser::condition(Kind::KeyCondition, text)?, placeholders)
    }

    pub fn bind(
        tree: &syntax::ConditionTree,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<KeyCondition, ExpressionError> {
        let mut terms = Vec::new();
        collect_terms(bind::condition(Kind::KeyCondition, tree, placeholders)?, &mut terms)?;
        KeyCondition::new(terms)
    }

    /// Refuses two terms about one attribute.
    pub fn new(terms: Vec<Term>) -> Result<KeyCondition, ExpressionError> {
        for (index, term) in terms.iter().enumerate() {
            if terms[..index].iter().any(|earlier| earlier.attribute == term.attribute) {
                return Err(invalid(Fault::KeyRepeated));
            }
        }
        Ok(KeyCondition { terms })
    }

    /// The attributes that have a term.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.attribute.as_str())
    }

    /// Checks the condition against the key schema of a table or index. Every HASH attribute must have a value. The
    /// first few RANGE attributes may have terms, all but the last of them by equality.
    pub fn resolve(
        &self,
        hash: &[KeyAttribute<'_>],
        range: &[KeyAttribute<'_>],
    ) -> Result<KeyRange, ExpressionError> {
        let attributes = hash.len() + range.len();
        if range.is_empty() && self.terms.len() > attributes {
            return Err(ExpressionError::KeyConditionNotSupported);
        }
        if self.terms.len() > attributes {
            return Err(ExpressionError::TooManyKeyConditions { conditions: self.terms.len(), attributes });
        }
        let partition = self.partition(hash)?;
        let named = self.named(range)?;
        if hash.len() + named < self.terms.len() {
            // Some term is not about a key attribute. DynamoDB names the key attribute that lacks a term.
            let missed = range.get(named).map_or("", |key| key.name);
            return Err(ExpressionError::MissedKey(missed.to_owned()));
        }
        for key in hash.iter().chain(range) {
            if self
                .range(key)
                .is_some_and(|range| range.values().any(|value| value.as_ref().kind() != key.kind))
            {
                return Err(ExpressionError::KeyType);
            }
        }
        let mut sort_prefix: Vec<Range> =
            range[..named].iter().filter_map(|key| self.range(key).cloned()).collect();
        let sort = sort_prefix.pop();
        let equal = |range| match range {
            Range::Equal(value) => Some(value),
            _ => None,
        };
        Ok(KeyRange { partition, sort_prefix: sort_prefix.into_iter().filter_map(equal).collect(), sort })
    }

    fn range(&self, key: &KeyAttribute<'_>) -> Option<&Range> {
        self.terms.iter().find(|term| term.attribute == key.name).map(|term| &term.range)
    }

    fn partition(&self, hash: &[KeyAttribute<'_>]) -> Result<Vec<ValueBuf>, ExpressionError> {
        let mut values = Vec::new();
        let mut missing = Vec::new();
        for key in hash {
            match self.range(key) {
                Some(Range::Equal(value)) => values.push(value.clone()),
                None if hash.len() == 1 => return Err(ExpressionError::MissedKey(key.name.to_owned())),
                Some(_) if hash.len() == 1 => return Err(ExpressionError::KeyConditionNotSupported),
                _ => missing.push(key.name.to_owned()),
            }
        }
        if missing.is_empty() { Ok(values) } else { Err(ExpressionError::HashEquality(missing)) }
    }

    /// How many of the RANGE attributes, from the first on, have a term.
    fn named(&self, range: &[KeyAttribute<'_>]) -> Result<usize, ExpressionError> {
        let is_named = |key: &KeyAttribute<'_>| self.range(key).is_some();
        let named = range.iter().rposition(is_named).map_or(0, |last| last + 1);
        if let Some((last, before)) = range[..named].split_last() {
            let is_equal = |key: &&KeyAttribute<'_>| matches!(self.range(key), Some(Range::Equal(_)));
            let missing: Vec<String> =
                before.iter().filter(|key| !is_equal(key)).map(|key| key.name.to_owned()).collect();
            if !missing.is_empty() {
                return Err(ExpressionError::RangeEquality { missing, last: last.name.to_owned() });
            }
        }
        Ok(named)
    }
}

impl Range {
    pub fn values(&self) -> impl Iterator<Item = &ValueBuf> {
        let (first, second) = match self {
            Range::Equal(value)
            | Range::Less(value)
            | Range::LessOrEqual(value)
            | Range::Greater(value)
            | Range::GreaterOrEqual(value)
            | Range::BeginsWith(value) => (value, None),
            Range::Between(lower, upper) => (lower, Some(upper)),
        };
        std::iter::once(first).chain(second)
    }
}

fn collect_terms(condition: Condition, terms: &mut Vec<Term>) -> Result<(), ExpressionError> {
    match condition {
        Condition::And(inner) => inner.into_iter().try_for_each(|term| collect_terms(term, terms)),
        condition => {
            terms.push(term(condition)?);
            Ok(())
        }
    }
}

/// The condition as a term about one key attribute, if it can be one.
pub(crate) fn term(condition: Condition) -> Result<Term, ExpressionError> {
    let operator = |name: &str| Err(ExpressionError::KeyOperator(name.to_owned()));
    let (path, range) = match condition {
        Condition::And(_) => return operator("AND"),
        Condition::Or(_) => return operator("OR"),
        Condition::Not(_) => return operator("NOT"),
        Condition::In { .. } => return operator("IN"),
        Condition::AttributeExists(_) => return operator("attribute_exists"),
        Condition::AttributeNotExists(_) => return operator("attribute_not_exists"),
        Condition::AttributeType(..) => return operator("attribute_type"),
        Condition::Contains(..) => return operator("contains"),
        Condition::Compare { comparator, left, right } => match comparator {
            Comparator::NotEqual => return operator("<>"),
            _ => compared(comparator, left, right)?,
        },
        Condition::Between { subject, lower, upper } => {
            let (path, [lower, upper]) = subject_first("BETWEEN", subject, [lower, upper])?;
            (path, Range::Between(lower, upper))
        }
        Condition::BeginsWith(subject, prefix) => {
            let (path, [prefix]) = subject_first("begins_with", subject, [prefix])?;
            (path, Range::BeginsWith(prefix))
        }
    };
    if path.is_nested() {
        return Err(invalid(Fault::KeyNested));
    }
    Ok(Term { attribute: path.attribute, range })
}

fn compared(comparator: Comparator, left: Operand, right: Operand) -> Result<(Path, Range), ExpressionError> {
    let (path, comparator, value) = match (left, right) {
        (Operand::Size(_), _) | (_, Operand::Size(_)) => return Err(invalid(Fault::KeyOperation)),
        (Operand::Path(path), Operand::Value(value)) => (path, comparator, value),
        (Operand::Value(value), Operand::Path(path)) => (path, comparator.mirrored(), value),
        (Operand::Path(_), Operand::Path(_)) => return Err(many_names()),
        (Operand::Value(_), Operand::Value(_)) => return Err(no_name()),
    };
    let range = match comparator {
        Comparator::Less => Range::Less(value),
        Comparator::LessOrEqual => Range::LessOrEqual(value),
        Comparator::Greater => Range::Greater(value),
        Comparator::GreaterOrEqual => Range::GreaterOrEqual(value),
        Comparator::Equal | Comparator::NotEqual => Range::Equal(value),
    };
    Ok((path, range))
}

/// The operands as an attribute followed by values, the only order that is allowed where order has a meaning.
fn subject_first<const N: usize>(
    operator: &'static str,
    subject: Operand,
    others: [Operand; N],
) -> Result<(Path, [ValueBuf; N]), ExpressionError> {
    let is_size = |operand: &Operand| matches!(operand, Operand::Size(_));
    if is_size(&subject) || others.iter().any(is_size) {
        return Err(invalid(Fault::KeyOperation));
    }
    let mut values = Vec::new();
    let mut names = 0;
    for other in others {
        match other {
            Operand::Value(value) => values.push(value),
            _ => names += 1,
        }
    }
    match (subject, <[ValueBuf; N]>::try_from(values)) {
        (Operand::Path(path), Ok(values)) => Ok((path, values)),
        (Operand::Path(_), Err(_)) => Err(many_names()),
        (_, Err(_)) if names == 1 => Err(ExpressionError::KeyFirst(operator)),
        (_, Err(_)) => Err(many_names()),
        (_, Ok(_)) => Err(no_name()),
    }
}

fn many_names() -> ExpressionError {
    ExpressionError::KeyTerm("Multiple attribute names used in one condition")
}

fn no_name() -> ExpressionError {
    ExpressionError::KeyTerm("No key attribute specified")
}

fn invalid(fault: Fault) -> ExpressionError {
    fault.of(Kind::KeyCondition)
}
