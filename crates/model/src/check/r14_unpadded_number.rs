//! R14: numbers and times whose text does not sort like their values.

use item::Type;

use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{ActionKind, Attribute, AttributeKind, Entity, Place};
use crate::predicate::{Operator, Term};
use crate::template::{Field, Form, Template};

pub const RULE: Rule = Rule {
    id: RuleId(14),
    level: Level::Error,
    title: "Text order is not the order meant: unpadded numbers, times that are not ISO-8601",
    page: include_str!("../../../../docs/rules/R14.md"),
    parameters: &[],
    check,
};

/// How many digits are enough for numbers without a declared maximum.
const PLENTY: usize = 10;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places().into_iter().filter(|place| is_written(*place));
    let keys =
        places.flat_map(|place| place.sort().into_iter().map(move |(key, template)| (place, key, template)));
    keys.filter(|(_, key, _)| key.kind == Type::S)
        .flat_map(|(place, _, template)| in_template(subject, place, template))
        .chain(subject.model.entities.iter().flat_map(in_samples))
        .chain(subject.reads().flat_map(|one| in_bounds(subject, one)))
        .collect()
}

/// An index that takes over the table's own keys repeats a finding about the table.
fn is_written(place: Place<'_>) -> bool {
    place.index.is_none_or(|(_, _, entry)| entry.declared)
}

fn in_template(subject: &Subject<'_>, place: Place<'_>, template: &Template) -> Vec<Diagnostic> {
    template.fields().filter_map(|field| in_field(subject, place, field)).collect()
}

fn in_field(subject: &Subject<'_>, place: Place<'_>, field: &Field) -> Option<Diagnostic> {
    let (name, width) = match &field.form {
        Form::Attribute(name) => (name, field.width),
        Form::Descending { attribute, digits } => (attribute, Some(*digits)),
        _ => return None,
    };
    let attribute = place.entity.attribute(name)?;
    let flaw = flaw(place.entity, attribute, width)?;
    let ordered = is_ordered_by(subject, place, name);
    if matches!(flaw, Flaw::Unbounded(_)) && !ordered {
        return None;
    }
    let level = if ordered { Level::Error } else { Level::Warning };
    let digits = digits(attribute);
    let diagnostic = Diagnostic::new(level, field.span, flaw.message(name))
        .label(flaw.label(attribute))
        .why("sort keys of type string are ordered byte by byte: `9` comes after `1000`");
    Some(match flaw {
        Flaw::Negative => diagnostic.help(format!("add an offset, so that `{name}` is never below zero")),
        Flaw::Fraction => diagnostic.help(format!(
            "store whole numbers (cents, thousandths), or give the index a sort key of type number: `sort: {{ {name}: number }}`"
        )),
        Flaw::Time => {
            diagnostic.help(format!("declare `{name}: timestamp`: ISO-8601 text sorts as time does"))
        }
        Flaw::Unbounded(width) => {
            let most = "9".repeat(width.min(15));
            diagnostic
                .help(format!("declare it: `{name}: {{ type: number, max: {most} }}`, or pad it to more"))
        }
        Flaw::TooNarrow(_) if matches!(field.form, Form::Descending { .. }) => {
            diagnostic.help(format!("write `{{desc({name}, {digits})}}`"))
        }
        _ => diagnostic
            .help(format!("write `{{{name}:0{digits}}}`, or give the index a sort key of type number"))
            .fix(Fix::replace(field.span, format!("{{{name}:0{digits}}}"))),
    })
}

enum Flaw {
    Unpadded,
    TooNarrow(usize),
    /// Padded, and the file does not say how large it gets.
    Unbounded(usize),
    Negative,
    /// `12.5` padded is as long as `1000` padded.
    Fraction,
    Time,
}

impl Flaw {
    fn message(&self, name: &str) -> String {
        match self {
            Flaw::Unpadded => format!("the number `{name}` is not padded with zeros"),
            Flaw::TooNarrow(width) => format!("`{name}` can be longer than {width} digits"),
            Flaw::Unbounded(width) => {
                format!("`{name}` is padded to {width} digits, and nothing says that they are enough")
            }
            Flaw::Negative => format!("`{name}` can be negative, and negative text sorts backwards"),
            Flaw::Fraction => format!("`{name}` has fractions, and padded text does not sort them"),
            Flaw::Time => format!("the time `{name}` is not written as ISO-8601"),
        }
    }

    fn label(&self, attribute: &Attribute) -> String {
        match (self, attribute.max) {
            (Flaw::TooNarrow(_), Some(max)) => format!("up to {max}"),
            (Flaw::Unbounded(_), _) => "no `max` is declared".to_owned(),
            (Flaw::Fraction, _) => "as text, 012.5 comes after 00100".to_owned(),
            (Flaw::Negative, _) => format!("from {}", attribute.min.unwrap_or_default()),
            _ => "sorts as text".to_owned(),
        }
    }
}

fn flaw(entity: &Entity, attribute: &Attribute, width: Option<usize>) -> Option<Flaw> {
    match attribute.kind {
        AttributeKind::Epoch | AttributeKind::EpochMillis if width.is_none() => Some(Flaw::Time),
        AttributeKind::Number if attribute.min.is_some_and(|min| min < 0.0) => Some(Flaw::Negative),
        AttributeKind::Number if entity.has_fractions(attribute) => Some(Flaw::Fraction),
        AttributeKind::Number => match (width, digits_of(attribute)) {
            (Some(width), Some(digits)) => (digits > width).then_some(Flaw::TooNarrow(width)),
            (Some(width), None) => {
                (width < PLENTY && !one_digit(attribute)).then_some(Flaw::Unbounded(width))
            }
            (None, _) => (!one_digit(attribute)).then_some(Flaw::Unpadded),
        },
        _ => None,
    }
}

/// Numbers that are all one digit long are in order without zeros.
fn one_digit(attribute: &Attribute) -> bool {
    attribute.constant.is_some() || digits_of(attribute) == Some(1)
}

fn digits_of(attribute: &Attribute) -> Option<usize> {
    attribute.max.map(|max| format!("{:.0}", max.abs().floor()).len())
}

/// How many digits to propose: those that the file declares, or plenty.
fn digits(attribute: &Attribute) -> usize {
    digits_of(attribute).unwrap_or(PLENTY).max(2)
}

/// Whether a pattern ranges over or sorts by the attribute in this place: then the result is wrong, not
/// merely unusual.
fn is_ordered_by(subject: &Subject<'_>, place: Place<'_>, name: &str) -> bool {
    subject.patterns().any(|(pattern, plan)| {
        let here = plan
            .reads()
            .any(|read| read.index == place.index_id() && read.entities.contains(&place.entity_id));
        here && pattern.actions.iter().any(|action| match &action.kind {
            ActionKind::Read(read) => {
                let ranged = read.conditions.iter().flat_map(|where_| &where_.terms);
                let ranged =
                    ranged.into_iter().any(|term| term.operator.is_range() && term.attribute.value == name);
                ranged || read.order.iter().any(|order| order.attribute.value == name)
            }
            ActionKind::Write(_) => false,
        })
    })
}

/// Sample values of a timestamp that is part of a key must be ISO-8601 in UTC.
fn in_samples(entity: &Entity) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for row in &entity.samples {
        for (name, value) in &row.values {
            let is_time = entity.attribute(name).is_some_and(|one| one.kind == AttributeKind::Timestamp);
            let item::Value::S(text) = &value.value else { continue };
            if is_time && !is_iso(text) {
                let message = format!("`{text}` is not an ISO-8601 time");
                let help = "as in `2026-06-23T14:05:09Z`: then text order is time order";
                found.push(Diagnostic::error(value.span, message).help(help));
            }
        }
    }
    found
}

/// `2026-06-23`, optionally followed by a time in UTC.
fn is_iso(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let date = shape.starts_with("0000-00-00");
    let rest = shape.get(10..).unwrap_or_default();
    let fraction = rest.strip_prefix("T00:00:00.").and_then(|rest| rest.strip_suffix('Z'));
    date && (matches!(rest, "" | "T00Z" | "T00:00Z" | "T00:00:00Z" | "T00" | "T00:00" | "T00:00:00")
        || fraction.is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c == '0')))
}

/// A day as the bound of a time: as text, the day sorts before all of its times.
fn in_bounds(subject: &Subject<'_>, one: PatternRead<'_>) -> Vec<Diagnostic> {
    let entities = one.plan.entities.iter().map(|id| subject.model.entity(*id));
    let is_time = |name: &str| {
        let mut attributes = entities.clone().filter_map(|entity| entity.attribute(name));
        attributes.any(|attribute| attribute.kind == AttributeKind::Timestamp)
    };
    let terms = one.read.conditions.iter().chain(&one.read.filter).flat_map(|predicate| &predicate.terms);
    terms.filter(|term| is_time(&term.attribute)).filter_map(day_as_bound).collect()
}

fn day_as_bound(term: &Term) -> Option<Diagnostic> {
    let (operand, fate) = match term.operator {
        Operator::Between => (term.operands.get(1)?, "leaves out"),
        Operator::LessOrEqual => (term.operands.first()?, "leaves out"),
        Operator::Greater => (term.operands.first()?, "takes in"),
        _ => return None,
    };
    let day = operand.literal().filter(|text| text.len() == 10 && is_iso(text))?;
    let name = &term.attribute.value;
    let help = match term.operator {
        Operator::Between => format!("`{name} between {} and {day}T23:59:59.999Z`", term.operands[0]),
        Operator::LessOrEqual => format!("`{name} <= {day}T23:59:59.999Z`, or `<` the next day"),
        _ => format!("`{name} > {day}T23:59:59.999Z`, or `>=` the next day"),
    };
    Some(
        Diagnostic::error(term.span, format!("`{term}` {fate} the times of {day}"))
            .label(format!("`{name}` carries a time of day"))
            .why(format!("as text `{day}` comes before `{day}T00:00:00Z`, and so before the whole day"))
            .help(help),
    )
}
