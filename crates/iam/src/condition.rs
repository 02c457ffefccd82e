//! Conditions: an operator holds the values that a policy lists against those of a request's key.
//!
//! An operator is a test of one value of the request: it passes if any listed value fits, or for a negated operator
//! (`StringNotEquals`) if none does. What follows from several values of a key, or from none:
//!
//! | | several values | no value |
//! |---|---|---|
//! | `ForAllValues:` | all must pass | true |
//! | `ForAnyValue:` | one must pass | false |
//! | neither | all must pass in an Allow, one in a Deny | true for negated operators, else false |
//! | `…IfExists` | as above | true |
//!
//! AWS does not say what an operator without `For…` means for several values. Here it never allows more and never
//! denies less than it could mean.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Effect;
use crate::context::Keys;
use crate::pattern::{Pattern, Resolve, Syntax};
use crate::time;

/// One operator on one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    quantifier: Option<Quantifier>,
    operator: Operator,
    negated: bool,
    if_exists: bool,
    /// In lower case.
    key: String,
    /// Any of them may fit.
    listed: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantifier {
    ForAllValues,
    ForAnyValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    StringEquals,
    StringEqualsIgnoreCase,
    StringLike,
    Numeric(Comparison),
    Date(Comparison),
    Bool,
    BinaryEquals,
    IpAddress,
    ArnLike,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value in the policy, in the form that its operator compares.
#[derive(Clone, Debug, PartialEq)]
enum Listed {
    Text(Pattern),
    Arn(Vec<Pattern>),
    Number(f64),
    Date(i64),
    Bool(bool),
    Bytes(Vec<u8>),
    Network(IpAddr, u8),
}

/// Why a condition can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("there is no condition operator '{0}'")]
    UnknownOperator(String),
    #[error("'{value}' is no value for {operator}")]
    Value { operator: String, value: String },
    #[error("{0} lists no value")]
    NoValue(String),
    #[error("a condition has no key")]
    NoKey,
}

impl Condition {
    /// Reads `"operator": {"key": [values]}`.
    pub fn read(
        operator: &str,
        key: &str,
        values: &[String],
        variables: bool,
    ) -> Result<Condition, ConditionError> {
        if key.is_empty() {
            return Err(ConditionError::NoKey);
        }
        if values.is_empty() {
            return Err(ConditionError::NoValue(operator.to_owned()));
        }
        let (quantifier, name) = match operator.split_once(':') {
            Some(("ForAllValues", name)) => (Some(Quantifier::ForAllValues), name),
            Some(("ForAnyValue", name)) => (Some(Quantifier::ForAnyValue), name),
            _ => (None, operator),
        };
        let (name, if_exists) = match name.strip_suffix("IfExists") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let unknown = || ConditionError::UnknownOperator(operator.to_owned());
        let (kind, negated) = kind(name).ok_or_else(unknown)?;
        // Whether a key is there can't depend on whether it is there, nor on each of its values.
        if kind == Operator::Null && (if_exists || quantifier.is_some()) {
            return Err(unknown());
        }
        let listed = values.iter().map(|value| {
            kind.read(value, variables)
                .ok_or_else(|| ConditionError::Value { operator: operator.to_owned(), value: value.clone() })
        });
        let listed = listed.collect::<Result<_, _>>()?;
        Ok(Condition { quantifier, operator: kind, negated, if_exists, key: key.to_lowercase(), listed })
    }

    /// The key that it asks about, in lower case.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The keys of the variables that have no default.
    pub fn required_keys(&self) -> impl Iterator<Item = &str> {
        let patterns = self.listed.iter().flat_map(|listed| match listed {
            Listed::Text(pattern) => std::slice::from_ref(pattern),
            Listed::Arn(fields) => fields,
            _ => &[],
        });
        patterns.flat_map(Pattern::required_keys)
    }

    pub fn holds(&self, keys: &Keys<'_>, effect: Effect) -> bool {
        let values = keys.values(&self.key);
        if self.operator == Operator::Null {
            return self.listed.contains(&Listed::Bool(values.is_empty()));
        }
        let resolve = |key: &str| keys.variable(key);
        let passes = |value: &String| {
            self.listed.iter().any(|listed| self.operator.fits(value, listed, &resolve)) != self.negated
        };
        match (self.quantifier, values.is_empty()) {
            (_, true) if self.if_exists => true,
            (Some(Quantifier::ForAllValues), true) => true,
            (Some(Quantifier::ForAnyValue), true) => false,
            (None, true) => self.negated,
            (Some(Quantifier::ForAllValues), false) => values.iter().all(passes),
            (Some(Quantifier::ForAnyValue), false) => values.iter().any(passes),
            (None, false) => match effect {
                Effect::Allow => values.iter().all(passes),
                Effect::Deny => values.iter().any(passes),
            },
        }
    }
}

/// An operator's name, without its prefix and suffix.
fn kind(name: &str) -> Option<(Operator, bool)> {
    use Comparison::*;
    Some(match name {
        "StringEquals" => (Operator::StringEquals, false),
        "StringNotEquals" => (Operator::StringEquals, true),
        "StringEqualsIgnoreCase" => (Operator::StringEqualsIgnoreCase, false),
        "StringNotEqualsIgnoreCase" => (Operator::StringEqualsIgnoreCase, true),
        "StringLike" => (Operator::StringLike, false),
        "StringNotLike" => (Operator::StringLike, true),
        "NumericEquals" => (Operator::Numeric(Equal), false),
        "NumericNotEquals" => (Operator::Numeric(Equal), true),
        "NumericLessThan" => (Operator::Numeric(Less), false),
        "NumericLessThanEquals" => (Operator::Numeric(LessOrEqual), false),
        "NumericGreaterThan" => (Operator::Numeric(Greater), false),
        "NumericGreaterThanEquals" => (Operator::Numeric(GreaterOrEqual), false),
        "DateEquals" => (Operator::Date(Equal), false),
        "DateNotEquals" => (Operator::Date(Equal), true),
        "DateLessThan" => (Operator::Date(Less), false),
        "DateLessThanEquals" => (Operator::Date(LessOrEqual), false),
        "DateGreaterThan" => (Operator::Date(Greater), false),
        "DateGreaterThanEquals" => (Operator::Date(GreaterOrEqual), false),
        "Bool" => (Operator::Bool, false),
        "BinaryEquals" => (Operator::BinaryEquals, false),
        "IpAddress" => (Operator::IpAddress, false),
        "NotIpAddress" => (Operator::IpAddress, true),
        // The two are the same, for AWS too.
        "ArnEquals" | "ArnLike" => (Operator::ArnLike, false),
        "ArnNotEquals" | "ArnNotLike" => (Operator::ArnLike, true),
        "Null" => (Operator::Null, false),
        _ => return None,
    })
}

impl Operator {
    /// Reads a value of the policy.
    fn read(self, text: &str, variables: bool) -> Option<Listed> {
        Some(match self {
            Operator::StringEquals | Operator::StringEqualsIgnoreCase => {
                Listed::Text(Pattern::parse(text, Syntax { wildcards: false, variables })?)
            }
            Operator::StringLike => {
                Listed::Text(Pattern::parse(text, Syntax { wildcards: true, variables })?)
            }
            Operator::ArnLike => {
                Listed::Arn(Pattern::parse(text, Syntax { wildcards: true, variables })?.fields(6))
            }
            Operator::Numeric(_) => Listed::Number(number(text)?),
            Operator::Date(_) => Listed::Date(time::parse_policy_date(text)?),
            Operator::Bool | Operator::Null => Listed::Bool(boolean(text)?),
            Operator::BinaryEquals => Listed::Bytes(STANDARD.decode(text).ok()?),
            Operator::IpAddress => {
                let (address, bits) = network(text)?;
                Listed::Network(address, bits)
            }
        })
    }

    /// Whether a value of the request fits one of the policy.
    fn fits(self, value: &str, listed: &Listed, resolve: &Resolve<'_>) -> bool {
        match (self, listed) {
            (Operator::StringEqualsIgnoreCase, Listed::Text(pattern)) => {
                pattern.matches_any_case(value, resolve)
            }
            (_, Listed::Text(pattern)) => pattern.matches(value, resolve),
            (_, Listed::Arn(fields)) => arn_matches(fields, value, resolve),
            (Operator::Numeric(comparison), Listed::Number(listed)) => {
                number(value).is_some_and(|value| comparison.holds(&value, listed))
            }
            (Operator::Date(comparison), Listed::Date(listed)) => {
                time::parse_policy_date(value).is_some_and(|value| comparison.holds(&value, listed))
            }
            (_, Listed::Bool(listed)) => boolean(value) == Some(*listed),
            (_, Listed::Bytes(listed)) => STANDARD.decode(value).is_ok_and(|value| value == *listed),
            (_, Listed::Network(address, bits)) => {
                value.parse().is_ok_and(|value| is_within(value, *address, *bits))
            }
            _ => false,
        }
    }
}

impl Comparison {
    fn holds<T: PartialOrd>(self, value: &T, listed: &T) -> bool {
        match self {
            Comparison::Equal => value == listed,
            Comparison::Less => value < listed,
            Comparison::LessOrEqual => value <= listed,
            Comparison::Greater => value > listed,
            Comparison::GreaterOrEqual => value >= listed,
        }
    }
}

/// Whether each of an ARN's six fields fits.
pub fn arn_matches(fields: &[Pattern], arn: &str, resolve: &Resolve<'_>) -> bool {
    let mut parts = arn.splitn(6, ':');
    fields.iter().all(|field| parts.next().is_some_and(|part| field.matches(part, resolve)))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// `10.0.0.0/8`, or one address.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address.parse().ok()?, Some(bits.parse().ok()?)),
        None => (text.parse().ok()?, None),
    };
    let bits_max = if matches!(address, IpAddr::V4(_)) { 32 } else { 128 };
    let bits = bits.unwrap_or(bits_max);
    (bits <= bits_max).then_some((address, bits))
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let differs = match (address.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => return false,
    };
    differs >= u32::from(bits)
}
