//! What the form of a key (`ORDER#?#?`) tells about the attributes in its template (`ORDER#{createdAt}#{orderId}`).

use super::shape::ANY;
use crate::template::{Part, Template};

const SEPARATORS: [char; 5] = ['#', '|', ':', '/', '~'];
/// The end of a bound that nothing sorts after.
const HIGHEST: char = '\u{10FFFF}';

/// The attributes that a form gives, in the order of the template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenAttributes {
    /// Each with its value, if that is a word.
    pub known: Vec<(String, Option<String>)>,
    /// Over how many shards the key is spread, and by which attribute: none if by chance.
    pub shards: Vec<(Option<String>, u64)>,
    /// Words of the template that the form does not have, and separators that only the form has.
    pub guesses: usize,
    /// The first attribute that the form does not give.
    pub next: Option<String>,
    /// Whether the last attribute that the form gives may be only the beginning of its value.
    pub is_partial: bool,
}

/// `None` if the template never gives such a key.
pub fn equal(template: &Template, form: &str) -> Option<GivenAttributes> {
    let walk = Walk::of(template, form)?;
    (walk.parts_left == 0 && walk.text_left == 0).then_some(walk.given)
}

/// `None` if no key of the template begins so.
pub fn begin(template: &Template, form: &str) -> Option<GivenAttributes> {
    let walk = Walk::of(template, form)?;
    (walk.text_left == 0).then_some(walk.given)
}

/// A bound, without what makes it the highest of its kind.
pub fn bound(template: &Template, form: &str) -> Option<GivenAttributes> {
    begin(template, form.trim_end_matches(HIGHEST))
}

struct Walk {
    given: GivenAttributes,
    parts_left: usize,
    text_left: usize,
}

impl Walk {
    fn of(template: &Template, form: &str) -> Option<Walk> {
        let mut given = GivenAttributes::default();
        let mut rest = form;
        let mut parts = template.parts.iter().enumerate();
        let mut parts_left = 0;
        for (position, part) in parts.by_ref() {
            match part {
                Part::Literal(literal) => match stripped(rest, literal) {
                    Some((left, guesses)) => {
                        rest = left;
                        given.guesses += guesses;
                    }
                    None if literal.starts_with(rest) => {
                        rest = "";
                        parts_left = template.parts.len() - position;
                        break;
                    }
                    None => return None,
                },
                Part::Field(_) if rest.is_empty() => {
                    parts_left = template.parts.len() - position;
                    break;
                }
                Part::Field(field) => {
                    let following = match template.parts.get(position + 1) {
                        Some(Part::Literal(literal)) => Some(literal.as_str()),
                        Some(Part::Field(_)) => return None,
                        None => None,
                    };
                    let end = following.and_then(|literal| end(rest, literal)).unwrap_or(rest.len());
                    let value = &rest[..end];
                    rest = &rest[end..];
                    given.is_partial = rest.is_empty();
                    // A value may have separators of its own; a template that has them, too, fits better.
                    given.guesses += value.matches(SEPARATORS).count();
                    match (field.shards(), field.attribute()) {
                        (Some(count), attribute) => {
                            given.shards.push((attribute.map(str::to_owned), count));
                        }
                        (None, Some(attribute)) => {
                            let word = (!value.contains(ANY)).then(|| value.to_owned());
                            given.known.push((attribute.to_owned(), word));
                        }
                        (None, None) => {}
                    }
                }
            }
        }
        let left = &template.parts[template.parts.len() - parts_left..];
        given.next = left.iter().find_map(|part| match part {
            Part::Field(field) => field.attribute().map(str::to_owned),
            Part::Literal(_) => None,
        });
        Some(Walk { given, parts_left, text_left: rest.len() })
    }
}

/// Where a value ends that this literal follows: at its first character, which is a separator.
fn end(rest: &str, literal: &str) -> Option<usize> {
    rest.find(literal.chars().next()?)
}

/// The rest behind a literal, and how many of its words the form has as `?`.
fn stripped<'f>(form: &'f str, literal: &str) -> Option<(&'f str, usize)> {
    let mut rest = form;
    let mut guesses = 0;
    let mut wanted = literal.chars().peekable();
    while let Some(c) = wanted.next() {
        if let Some(left) = rest.strip_prefix(c) {
            rest = left;
        } else if let Some(left) = rest.strip_prefix(ANY).filter(|_| !SEPARATORS.contains(&c)) {
            rest = left;
            guesses += 1;
            while wanted.next_if(|c| !SEPARATORS.contains(c)).is_some() {}
        } else {
            return None;
        }
    }
    Some((rest, guesses))
}
