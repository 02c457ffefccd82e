//! Conditions and filters, bound and ready to be evaluated on an item.
//!
//! The nodes are public, because legacy parameters and PartiQL build them too. What they mean:
//! values of different types are unequal and have no order; a missing operand makes every comparison false except
//! `<>`, which it makes true; an item that does not exist is treated as one without attributes.

use std::cmp::Ordering;

use item::{ItemRef, Number, Type, ValueBuf, ValueRef, View};

use crate::error::{ExpressionError, Kind};
use crate::path::Path;
use crate::placeholders::Placeholders;
use crate::syntax::{self, Comparator};
use crate::{bind, parser};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// True without terms.
    And(Vec<Condition>),
    /// False without terms.
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        comparator: Comparator,
        left: Operand,
        right: Operand,
    },
    /// Both bounds are included.
    Between {
        subject: Operand,
        lower: Operand,
        upper: Operand,
    },
    In {
        subject: Operand,
        members: Vec<Operand>,
    },
    AttributeExists(Path),
    AttributeNotExists(Path),
    AttributeType(Operand, Type),
    /// The second is a prefix of the first; both are strings or both binaries.
    BeginsWith(Operand, Operand),
    /// The second is a part of the first (string, binary) or a member of it (set, list).
    Contains(Operand, Operand),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Path(Path),
    Value(ValueBuf),
    /// `size(path)`
    Size(Path),
}

impl Condition {
    /// `kind` is [`Kind::Condition`] or [`Kind::Filter`]; only messages differ.
    pub fn parse(
        kind: Kind,
        text: &str,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Condition, ExpressionError> {
        Condition::bind(kind, &parser::condition(kind, text)?, placeholders)
    }

    pub fn bind(
        kind: Kind,
        tree: &syntax::ConditionTree,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Condition, ExpressionError> {
        bind::condition(kind, tree, placeholders)
    }

    pub fn evaluate(&self, item: Option<ItemRef<'_>>) -> bool {
        self.holds(item.unwrap_or_default())
    }

    fn holds(&self, item: ItemRef<'_>) -> bool {
        match self {
            Condition::And(terms) => terms.iter().all(|term| term.holds(item)),
            Condition::Or(terms) => terms.iter().any(|term| term.holds(item)),
            Condition::Not(inner) => !inner.holds(item),
            Condition::Compare { comparator, left, right } => {
                compare(*comparator, left.read(item), right.read(item))
            }
            Condition::Between { subject, lower, upper } => {
                let subject = subject.read(item);
                compare(Comparator::GreaterOrEqual, subject, lower.read(item))
                    && compare(Comparator::LessOrEqual, subject, upper.read(item))
            }
            Condition::In { subject, members } => {
                let subject = subject.read(item);
                members.iter().any(|member| compare(Comparator::Equal, subject, member.read(item)))
            }
            Condition::AttributeExists(path) => path.find(item).is_some(),
            Condition::AttributeNotExists(path) => path.find(item).is_none(),
            Condition::AttributeType(operand, kind) => {
                operand.read(item).is_some_and(|read| read.kind() == *kind)
            }
            Condition::BeginsWith(whole, prefix) => match (whole.read(item), prefix.read(item)) {
                (Some(Read::Value(whole)), Some(Read::Value(prefix))) => begins_with(whole, prefix),
                _ => false,
            },
            Condition::Contains(whole, part) => match (whole.read(item), part.read(item)) {
                (Some(Read::Value(whole)), Some(part)) => contains(whole, part),
                _ => false,
            },
        }
    }

    /// Every path that the condition reads, in the order of the text.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut paths);
        paths.into_iter()
    }

    /// The attributes that the condition reads, in the order of the text, with repetitions.
    pub fn top_level_names(&self) -> impl Iterator<Item = &str> {
        self.paths().map(|path| path.attribute.as_str())
    }

    fn collect_paths<'c>(&'c self, paths: &mut Vec<&'c Path>) {
        let mut operand = |operand: &'c Operand| match operand {
            Operand::Path(path) | Operand::Size(path) => paths.push(path),
            Operand::Value(_) => {}
        };
        match self {
            Condition::And(terms) | Condition::Or(terms) => {
                terms.iter().for_each(|term| term.collect_paths(paths))
            }
            Condition::Not(inner) => inner.collect_paths(paths),
            Condition::Compare { left, right, .. } => [left, right].into_iter().for_each(operand),
            Condition::Between { subject, lower, upper } => {
                [subject, lower, upper].into_iter().for_each(operand)
            }
            Condition::In { subject, members } => {
                operand(subject);
                members.iter().for_each(operand);
            }
            Condition::AttributeExists(path) | Condition::AttributeNotExists(path) => paths.push(path),
            Condition::AttributeType(of, _) => operand(of),
            Condition::BeginsWith(first, second) | Condition::Contains(first, second) => {
                [first, second].into_iter().for_each(operand);
            }
        }
    }
}

/// The value of an operand in one item.
#[derive(Clone, Copy)]
enum Read<'i> {
    Value(ValueRef<'i>),
    /// A size has no bytes that could be borrowed.
    Number(Number),
}

impl Operand {
    fn read<'r>(&'r self, item: ItemRef<'r>) -> Option<Read<'r>> {
        match self {
            Operand::Path(path) => path.find(item).map(Read::Value),
            Operand::Value(value) => Some(Read::Value(value.as_ref())),
            Operand::Size(path) => size(path.find(item)?).map(|size| Read::Number(Number::from(size as u64))),
        }
    }
}

impl Read<'_> {
    fn kind(self) -> Type {
        match self {
            Read::Value(value) => value.kind(),
            Read::Number(_) => Type::N,
        }
    }

    fn number(self) -> Option<Number> {
        match self {
            Read::Value(value) => value.as_number(),
            Read::Number(number) => Some(number),
        }
    }
}

fn compare(comparator: Comparator, left: Option<Read<'_>>, right: Option<Read<'_>>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return comparator == Comparator::NotEqual };
    match comparator {
        Comparator::Equal => equal(left, right),
        Comparator::NotEqual => !equal(left, right),
        Comparator::Less => order(left, right).is_some_and(Ordering::is_lt),
        Comparator::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
        Comparator::Greater => order(left, right).is_some_and(Ordering::is_gt),
        Comparator::GreaterOrEqual => order(left, right).is_some_and(Ordering::is_ge),
    }
}

fn equal(left: Read<'_>, right: Read<'_>) -> bool {
    match (left, right) {
        (Read::Value(left), Read::Value(right)) => left == right,
        _ => left.number().is_some() && left.number() == right.number(),
    }
}

fn order(left: Read<'_>, right: Read<'_>) -> Option<Ordering> {
    match (left, right) {
        (Read::Value(left), Read::Value(right)) => left.partial_cmp_same_type(right),
        _ => Some(left.number()?.cmp(&right.number()?)),
    }
}

fn begins_with(whole: ValueRef<'_>, prefix: ValueRef<'_>) -> bool {
    match (whole.view(), prefix.view()) {
        (View::S(whole), View::S(prefix)) => whole.starts_with(prefix),
        (View::B(whole), View::B(prefix)) => whole.starts_with(prefix),
        _ => false,
    }
}

fn contains(whole: ValueRef<'_>, part: Read<'_>) -> bool {
    match (whole.view(), part) {
        (View::Ss(members) | View::Ns(members) | View::Bs(members) | View::L(members), part) => {
            members.iter().any(|member| equal(Read::Value(member), part))
        }
        (View::S(whole), Read::Value(part)) => part.as_str().is_some_and(|part| whole.contains(part)),
        (View::B(whole), Read::Value(part)) => {
            // Takes linear time whatever the bytes are; searching in strings does too.
            part.as_binary().is_some_and(|part| memchr::memmem::find(whole, part).is_some())
        }
        _ => false,
    }
}

/// What `size()` gives: UTF-16 code units of a string (measured on AWS, where the guide says characters), bytes of a
/// binary, the count of everything else that has members.
pub(crate) fn size(value: ValueRef<'_>) -> Option<usize> {
    Some(match value.view() {
        View::S(text) => text.encode_utf16().count(),
        View::B(bytes) => bytes.len(),
        View::Ss(members) | View::Ns(members) | View::Bs(members) | View::L(members) => members.len(),
        View::M(map) => map.len(),
        View::N(_) | View::Bool(_) | View::Null => return None,
    })
}
