//! Constraints that a request breaks: found while its body is read, reported together afterwards.

use std::fmt;

use crate::Error;

/// The most violations that one answer lists.
const REPORTED_MAX: usize = 10;

/// The most violations that are kept. Only some are reported; the rest make the choice independent of the
/// order of the JSON's members, except in hostile requests.
const KEPT_MAX: usize = 100;

/// One broken constraint of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The member's position in the shapes, level by level. Reports are sorted by it.
    pub order: Vec<usize>,
    /// The path as DynamoDB writes it: `keySchema.1.member.attributeName`.
    pub member: String,
    /// What was sent; none if the member is missing.
    pub value: Option<String>,
    pub constraint: Constraint,
}

/// What a member must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The member must be present.
    NotNull,
    /// Shortest string, list or map.
    LengthMin(usize),
    /// Longest string, list or map.
    LengthMax(usize),
    /// Smallest number.
    ValueMin(i64),
    /// Largest number.
    ValueMax(i64),
    /// The regular expression that a string must match.
    Pattern(&'static str),
    /// The values of an enumeration, in the order in which the service lists them.
    OneOf(&'static str),
}

/// How an operation reports broken constraints.
pub(crate) trait Refuse {
    /// `violations` is not empty, and in the order in which its members are reported.
    fn refuse(&self, violations: Violations) -> Error {
        violations.into_error()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "Value '{value}' at '{}'", self.member)?,
            None => write!(f, "Value null at '{}'", self.member)?,
        }
        write!(f, " failed to satisfy constraint: {}", self.constraint)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::NotNull => write!(f, "Member must not be null"),
            Constraint::LengthMin(min) => write!(f, "Member must have length greater than or equal to {min}"),
            Constraint::LengthMax(max) => write!(f, "Member must have length less than or equal to {max}"),
            Constraint::ValueMin(min) => write!(f, "Member must have value greater than or equal to {min}"),
            Constraint::ValueMax(max) => write!(f, "Member must have value less than or equal to {max}"),
            Constraint::Pattern(text) => write!(f, "Member must satisfy regular expression pattern: {text}"),
            Constraint::OneOf(values) => write!(f, "Member must satisfy enum value set: [{values}]"),
        }
    }
}

impl Violation {
    /// A constraint on a member of the input itself, found after decoding.
    pub(crate) fn of_value(member: &str, value: impl ToString, constraint: Constraint) -> Violation {
        Violation { order: Vec::new(), member: member.to_owned(), value: Some(value.to_string()), constraint }
    }

    /// The newer of DynamoDB's wordings: the member's own name, and no value.
    pub(crate) fn named_only(&self) -> String {
        let mut member = self.member.clone();
        if let Some(first) = member.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        format!("Value at '{member}' failed to satisfy constraint: {}", self.constraint)
    }
}

/// The constraints that one request breaks, in the order in which they are reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violations(Vec<Violation>);

impl Violations {
    /// Notes a violation, unless there are too many already.
    pub fn push(&mut self, violation: Violation) {
        if self.0.len() < KEPT_MAX {
            self.0.push(violation);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts by position in the shapes, so that the order of the JSON does not matter.
    pub fn sort(&mut self) {
        self.0.sort_by(|left, right| left.order.cmp(&right.order));
    }

    /// The violations in the order of the report.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }

    /// The violations of the first group that has any; all violations if no group has.
    pub fn first_group(mut self, groups: &[fn(&Violation) -> bool]) -> Violations {
        if let Some(group) = groups.iter().find(|group| self.0.iter().any(group)) {
            self.0.retain(group);
        }
        self
    }

    /// The report in the words that most operations use.
    pub fn into_error(self) -> Error {
        Error::violations(self.0.iter().map(Violation::to_string))
    }
}

impl Error {
    /// Broken constraints, each in words. The answer lists only the first few.
    pub(crate) fn violations(texts: impl Iterator<Item = String>) -> Error {
        let texts: Vec<String> = texts.take(REPORTED_MAX).collect();
        let plural = if texts.len() == 1 { "" } else { "s" };
        Error::validation(format!("{} validation error{plural} detected: {}", texts.len(), texts.join("; ")))
    }
}
