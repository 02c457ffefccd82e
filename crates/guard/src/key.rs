//! Keys of requests against key templates: which template gives a key, and how much of one a condition fixes.
//!
//! A value ends where the next literal of its template begins, as in [`Template::values`]. So every match is one walk
//! over the text, whatever a client sends.

use std::borrow::Cow;

use expression::key_condition::Range;
use item::{ValueRef, View};
use model::plan::SortCondition;
use model::predicate::Operator;
use model::template::{Field, Form, Part, Template, plain_text};

/// Applications end a range with one of these, because they sort after what follows a prefix.
const HIGHEST: [char; 4] = ['\u{10FFFF}', '\u{FFFF}', '\u{FFFD}', '~'];

/// How far a text goes in a template.
struct Walk<'t> {
    /// The text of each field that was reached.
    values: Vec<&'t str>,
    /// The text ends inside its last value, which may go on.
    is_open: bool,
    /// The text is a whole key.
    is_whole: bool,
}

/// What a condition on a sort key asks for, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortForm {
    /// Everything under the partition key.
    All,
    /// One key.
    Whole,
    /// Keys in which this number of fields, from the first on, is fixed. If `is_open`, the last value may be the
    /// beginning of one.
    Begins { fields: usize, is_open: bool },
    /// A range of the field after `fields`.
    Ranged { fields: usize, side: Side },
    /// Below or above a key: a range of any field that the bound has.
    Bounded { fields_max: usize, side: Side },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    From,
    To,
    Both,
}

/// A key's value as a template gives it.
pub fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value.view() {
        View::S(text) => Cow::Borrowed(text),
        _ => Cow::Owned(plain_text(&value.to_value())),
    }
}

/// Whether the template can give this key.
pub fn fits(template: &Template, value: ValueRef<'_>) -> bool {
    template.bare().is_some() || walk(&template.parts, &text(value)).is_some_and(|walk| walk.is_whole)
}

/// The attributes whose values a key, or the beginning of one, has as they are.
pub fn known<'m, 't>(template: &'m Template, text: &'t str) -> Vec<(&'m str, &'t str)> {
    let Some(walk) = walk(&template.parts, text) else { return Vec::new() };
    let plain = |(field, value): (&'m Field, &'t str)| match &field.form {
        Form::Attribute(name) if field.width.is_none() => Some((name.as_str(), value)),
        _ => None,
    };
    template.fields().zip(walk.values).filter_map(plain).collect()
}

/// What a condition asks of keys of this template; `None` if no such key can meet it.
pub fn asked(template: &Template, range: Option<&Range>) -> Option<SortForm> {
    let Some(range) = range else { return Some(SortForm::All) };
    let bound = |value: ValueRef<'_>, side| {
        let text = text(value);
        let walk = walk(&template.parts, text.trim_end_matches(HIGHEST))?;
        let fields_max = walk.values.len().checked_sub(1)?;
        Some(SortForm::Bounded { fields_max, side })
    };
    match range {
        Range::Equal(value) => fits(template, value.as_ref()).then_some(SortForm::Whole),
        Range::BeginsWith(value) => begins(template, &text(value.as_ref())),
        Range::Between(lower, upper) => between(template, &text(lower.as_ref()), &text(upper.as_ref())),
        Range::Less(value) | Range::LessOrEqual(value) => bound(value.as_ref(), Side::To),
        Range::Greater(value) | Range::GreaterOrEqual(value) => bound(value.as_ref(), Side::From),
    }
}

fn begins(template: &Template, text: &str) -> Option<SortForm> {
    let walk = walk(&template.parts, text)?;
    Some(SortForm::Begins { fields: walk.values.len(), is_open: walk.is_open })
}

fn between(template: &Template, lower: &str, upper: &str) -> Option<SortForm> {
    let (from, to) = (walk(&template.parts, lower)?, walk(&template.parts, upper.trim_end_matches(HIGHEST))?);
    let fields = from.values.iter().zip(&to.values).take_while(|(one, other)| one == other).count();
    let side = match (from.values.len() > fields, to.values.len() > fields) {
        (true, true) => Side::Both,
        (true, false) => Side::From,
        (false, true) => Side::To,
        (false, false) => return Some(SortForm::Begins { fields, is_open: from.is_open }),
    };
    Some(SortForm::Ranged { fields, side })
}

/// What a plan asks for.
pub fn planned(condition: Option<&SortCondition>) -> SortForm {
    let fields = |parts: &[Part]| parts.iter().filter(|part| matches!(part, Part::Field(_))).count();
    match condition {
        None => SortForm::All,
        Some(SortCondition::Equal(_)) => SortForm::Whole,
        Some(SortCondition::BeginsWith(prefix)) => {
            SortForm::Begins { fields: fields(prefix), is_open: false }
        }
        Some(SortCondition::Range { prefix, term, .. }) => {
            let fields = fields(prefix);
            match term.operator {
                Operator::Less | Operator::LessOrEqual => SortForm::Ranged { fields, side: Side::To },
                Operator::Greater | Operator::GreaterOrEqual => SortForm::Ranged { fields, side: Side::From },
                Operator::BeginsWith => SortForm::Begins { fields: fields + 1, is_open: true },
                _ => SortForm::Ranged { fields, side: Side::Both },
            }
        }
    }
}

impl SortForm {
    /// Whether a request for `self` is one that the plan has.
    pub fn serves(self, planned: SortForm, fields_of_template: usize) -> bool {
        match (self, planned) {
            (SortForm::Bounded { fields_max, side }, SortForm::Ranged { fields, side: other }) => {
                fields <= fields_max && (side == other || other == Side::Both)
            }
            (SortForm::Ranged { fields, side }, SortForm::Ranged { fields: other, side: wanted }) => {
                fields == other && (side == wanted || side == Side::Both || wanted == Side::Both)
            }
            // A prefix that has no field, as ElectroDB sends it for everything of its entities.
            (SortForm::Begins { fields: 0, .. }, SortForm::All) => true,
            (SortForm::Begins { fields, .. }, SortForm::Begins { fields: other, .. }) => fields == other,
            (SortForm::Begins { fields, is_open: true }, SortForm::Ranged { fields: other, .. }) => {
                fields == other + 1
            }
            (SortForm::Begins { fields, .. }, SortForm::Whole) => fields == fields_of_template,
            (asked, planned) => asked == planned,
        }
    }
}

/// As far as the text goes. `None` if the template never gives a key that begins so.
fn walk<'t>(parts: &[Part], text: &'t str) -> Option<Walk<'t>> {
    let mut walk = Walk { values: Vec::new(), is_open: false, is_whole: false };
    let mut rest = text;
    for (position, part) in parts.iter().enumerate() {
        match part {
            Part::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
                Some(left) => rest = left,
                None => return literal.starts_with(rest).then_some(walk),
            },
            Part::Field(_) if rest.is_empty() => return Some(walk),
            Part::Field(field) => {
                let (end, is_open) = end(field, parts.get(position + 1), rest);
                let (value, left) = rest.split_at(end);
                if !is_open && !accepts(field, value) {
                    return None;
                }
                walk.values.push(value);
                walk.is_open = is_open || left.is_empty() && parts.len() == position + 1;
                if is_open {
                    return Some(walk);
                }
                rest = left;
            }
        }
    }
    walk.is_whole = rest.is_empty();
    rest.is_empty().then_some(walk)
}

/// Where the value of a field ends, and whether the text ends before it.
fn end(field: &Field, next: Option<&Part>, rest: &str) -> (usize, bool) {
    match next {
        None => (rest.len(), false),
        Some(Part::Literal(literal)) => {
            rest.find(literal.as_str()).map_or((rest.len(), true), |end| (end, false))
        }
        Some(Part::Field(_)) => {
            let length = field.width.unwrap_or(1);
            let end = rest.char_indices().nth(length).map(|(end, _)| end);
            end.map_or((rest.len(), true), |end| (end, false))
        }
    }
}

/// Whether a field can give this text.
fn accepts(field: &Field, value: &str) -> bool {
    let is_wide = field.width.is_none_or(|width| value.chars().count() >= width);
    let is_number = || value.bytes().all(|byte| byte.is_ascii_digit());
    let is_formed = match &field.form {
        Form::Attribute(_) => true,
        Form::Lower(_) => !value.chars().any(char::is_uppercase),
        Form::Bucket { unit, .. } => value.len() == unit.text_length(),
        Form::Descending { digits, .. } => value.len() >= *digits && is_number(),
        Form::Shard { count, .. } | Form::Random { count } => {
            value.parse::<u64>().is_ok_and(|shard| shard < *count)
        }
    };
    !value.is_empty() && is_wide && is_formed
}

#[cfg(test)]
mod tests {
    use super::*;
    use item::{Value, ValueBuf};
    use model::{Source, file};

    /// The template as the second key of a model.
    fn template(text: &str) -> Template {
        let yaml = format!(
            "model: t\ntable: {{ name: tests, partition: PK, sort: SK }}\nentities:\n  E: {{ key: {{ PK: \"E#{{a}}\", SK: \"{text}\" }}, attributes: {{ n: number, t: timestamp }} }}\npatterns:\n  p: {{ create: E }}\n"
        );
        let reading = file::read(&Source::new("t.yaml", &yaml));
        let model = reading.model.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        model.entities[0].key.as_ref().and_then(|key| key.sort.clone()).expect("a sort key")
    }

    fn value(text: &str) -> ValueBuf {
        ValueBuf::from(&Value::from(text))
    }

    #[test]
    fn a_key_fits_the_template_that_gives_it() {
        for (of, text, expected) in [
            ("ORDER#{b}", "ORDER#1", true),
            ("ORDER#{b}", "ORDER#", false),
            ("ORDER#{b}", "INVOICE#1", false),
            ("ORDER#{b}#{c}", "ORDER#2026-01-01T00:00:00Z#o1", true),
            ("ORDER#{b}#{c}", "ORDER#2026", false),
            ("PROFILE", "PROFILE", true),
            ("PROFILE", "PROFILES", false),
            ("{n:04}", "0042", true),
            ("{n:04}", "42", false),
            ("S#{shard(b, 4)}", "S#3", true),
            ("S#{shard(b, 4)}", "S#4", false),
            ("D#{day(t)}", "D#2026-01-01", true),
            ("D#{day(t)}", "D#2026", false),
            ("{lower(b)}", "a@b.example", true),
            ("{desc(n, 4)}#{c}", "0017#x", true),
        ] {
            assert_eq!(fits(&template(of), value(text).as_ref()), expected, "{of} {text}");
        }
    }

    #[test]
    fn a_condition_fixes_the_fields_that_it_has() {
        let template = template("ORDER#{b}#{c}");
        let begins = |fields, is_open| Some(SortForm::Begins { fields, is_open });
        let ranged = |fields, side| Some(SortForm::Ranged { fields, side });
        for (range, expected) in [
            (Range::BeginsWith(value("ORDER#")), begins(0, false)),
            (Range::BeginsWith(value("ORD")), begins(0, false)),
            (Range::BeginsWith(value("ORDER#2026")), begins(1, true)),
            (Range::BeginsWith(value("ORDER#2026#")), begins(1, false)),
            (Range::BeginsWith(value("INVOICE#")), None),
            (Range::Equal(value("ORDER#2026#1")), Some(SortForm::Whole)),
            (Range::Between(value("ORDER#2025"), value("ORDER#2026")), ranged(0, Side::Both)),
            (Range::Between(value("ORDER#2025"), value("ORDER#~")), ranged(0, Side::From)),
            (Range::Between(value("ORDER#"), value("ORDER#2026")), ranged(0, Side::To)),
            (Range::Between(value("ORDER#2026#a"), value("ORDER#2026#b")), ranged(1, Side::Both)),
            (Range::Between(value("ORDER#"), value("ORDER#\u{FFFF}")), begins(0, false)),
            (Range::Less(value("ORDER#2026")), Some(SortForm::Bounded { fields_max: 0, side: Side::To })),
        ] {
            assert_eq!(asked(&template, Some(&range)), expected, "{range:?}");
        }
    }

    #[test]
    fn any_text_takes_one_walk() {
        let template = template("{b}#{c}#{d}#{e}#X");
        assert!(!fits(&template, value(&"#".repeat(1024)).as_ref()));
    }
}
