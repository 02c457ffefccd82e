//! A ComparisonOperator with its AttributeValueList, of which Expected, filters and KeyConditions consist. The
//! number and the types of the values were checked when a [`Comparison`] was made.

use std::cmp::Ordering;

use api::ComparisonOperator;
use expression::Path;
use expression::condition::{Condition, Operand};
use expression::key_condition::Range;
use expression::syntax::Comparator;
use item::{Type, ValueBuf};

use super::fault::Fault;

/// A comparison of an attribute with values.
pub enum Comparison<'r> {
    Compare(Comparator, &'r ValueBuf),
    Between(&'r ValueBuf, &'r ValueBuf),
    In(&'r [ValueBuf]),
    Contains(&'r ValueBuf),
    NotContains(&'r ValueBuf),
    BeginsWith(&'r ValueBuf),
    Exists,
    NotExists,
}

impl<'r> Comparison<'r> {
    /// Checks that the values fit the operator.
    pub fn new(operator: ComparisonOperator, values: &'r [ValueBuf]) -> Result<Comparison<'r>, Fault> {
        let comparison = match (operator, values) {
            (ComparisonOperator::Eq, [value]) => Comparison::Compare(Comparator::Equal, value),
            (ComparisonOperator::Ne, [value]) => Comparison::Compare(Comparator::NotEqual, value),
            (ComparisonOperator::Lt, [value]) => Comparison::Compare(Comparator::Less, value),
            (ComparisonOperator::Le, [value]) => Comparison::Compare(Comparator::LessOrEqual, value),
            (ComparisonOperator::Gt, [value]) => Comparison::Compare(Comparator::Greater, value),
            (ComparisonOperator::Ge, [value]) => Comparison::Compare(Comparator::GreaterOrEqual, value),
            (ComparisonOperator::Between, [lower, upper]) => Comparison::Between(lower, upper),
            (ComparisonOperator::In, [_, ..]) => Comparison::In(values),
            (ComparisonOperator::Contains, [value]) => Comparison::Contains(value),
            (ComparisonOperator::NotContains, [value]) => Comparison::NotContains(value),
            (ComparisonOperator::BeginsWith, [value]) => Comparison::BeginsWith(value),
            (ComparisonOperator::NotNull, []) => Comparison::Exists,
            (ComparisonOperator::Null, []) => Comparison::NotExists,
            _ => return Err(Fault::ArgumentCount(operator)),
        };
        check_types(operator, values)?;
        if let Comparison::Between(lower, upper) = comparison
            && lower.as_ref().partial_cmp_same_type(upper.as_ref()) == Some(Ordering::Greater)
        {
            return Err(Fault::BoundOrder);
        }
        Ok(comparison)
    }

    /// The comparison as a condition on an item's attribute. A missing attribute is unequal to every value, but
    /// both CONTAINS and NOT_CONTAINS are false for it.
    pub fn condition(&self, attribute: &str) -> Condition {
        let path = || Path::of_attribute(attribute);
        let subject = || Operand::Path(path());
        let given = |value: &ValueBuf| Operand::Value(value.clone());
        match *self {
            Comparison::Compare(comparator, value) => {
                Condition::Compare { comparator, left: subject(), right: given(value) }
            }
            Comparison::Between(lower, upper) => {
                Condition::Between { subject: subject(), lower: given(lower), upper: given(upper) }
            }
            Comparison::In(values) => {
                Condition::In { subject: subject(), members: values.iter().map(given).collect() }
            }
            Comparison::Contains(value) => Condition::Contains(subject(), given(value)),
            Comparison::NotContains(value) => Condition::And(vec![
                Condition::AttributeExists(path()),
                Condition::Not(Box::new(Condition::Contains(subject(), given(value)))),
            ]),
            Comparison::BeginsWith(value) => Condition::BeginsWith(subject(), given(value)),
            Comparison::Exists => Condition::AttributeExists(path()),
            Comparison::NotExists => Condition::AttributeNotExists(path()),
        }
    }

    /// The comparison as a range of a key; none if it is no range.
    pub fn range(&self) -> Option<Range> {
        Some(match *self {
            Comparison::Compare(Comparator::Equal, value) => Range::Equal(value.clone()),
            Comparison::Compare(Comparator::Less, value) => Range::Less(value.clone()),
            Comparison::Compare(Comparator::LessOrEqual, value) => Range::LessOrEqual(value.clone()),
            Comparison::Compare(Comparator::Greater, value) => Range::Greater(value.clone()),
            Comparison::Compare(Comparator::GreaterOrEqual, value) => Range::GreaterOrEqual(value.clone()),
            Comparison::Between(lower, upper) => Range::Between(lower.clone(), upper.clone()),
            Comparison::BeginsWith(value) => Range::BeginsWith(value.clone()),
            Comparison::Compare(Comparator::NotEqual, _)
            | Comparison::In(_)
            | Comparison::Contains(_)
            | Comparison::NotContains(_)
            | Comparison::Exists
            | Comparison::NotExists => return None,
        })
    }
}

fn check_types(operator: ComparisonOperator, values: &[ValueBuf]) -> Result<(), Fault> {
    let kinds = || values.iter().map(|value| value.as_ref().kind());
    if let Some(kind) = kinds().find(|kind| !takes(operator, *kind)) {
        return Err(Fault::ArgumentType(operator, kind));
    }
    match kinds().zip(kinds().skip(1)).any(|(one, next)| one != next) {
        true => Err(Fault::ArgumentTypesDiffer),
        false => Ok(()),
    }
}

/// Whether the operator takes values of this type. Expressions take more: `contains()` takes any.
fn takes(operator: ComparisonOperator, kind: Type) -> bool {
    match operator {
        ComparisonOperator::Eq
        | ComparisonOperator::Ne
        | ComparisonOperator::Null
        | ComparisonOperator::NotNull => true,
        ComparisonOperator::Lt
        | ComparisonOperator::Le
        | ComparisonOperator::Gt
        | ComparisonOperator::Ge
        | ComparisonOperator::Between
        | ComparisonOperator::In
        | ComparisonOperator::Contains
        | ComparisonOperator::NotContains => matches!(kind, Type::S | Type::N | Type::B),
        ComparisonOperator::BeginsWith => matches!(kind, Type::S | Type::B),
    }
}
