//! What could be written at a position.
//!
//! A text that is being typed is seldom YAML, so it is repaired first: a mark is put where the cursor is, and what is
//! open is closed. The place of the mark in the tree says what can be written there.

use std::iter;

use super::Document;
use super::outline::{NameKind, Symbol, symbols};
use super::place::{ScalarPlace, description, is_word, members, schemas};
use super::reference::{key_attributes, referable};
use crate::check::RULES;
use crate::file::yaml::{self, Node};
use crate::{Source, Span};

/// Something that could be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub label: String,
    pub kind: CompletionKind,
    /// What it means.
    pub detail: String,
    /// What is written in place of `span`.
    pub text: String,
    /// The part of the name that is there already.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A member of a mapping.
    Member,
    /// One of the values that a member can have.
    Value,
    Name(NameKind),
    Function,
}

/// Stands for the cursor. A character for private use is in no model.
const MARK: char = '\u{F8FF}';

/// The functions of key templates.
const FUNCTIONS: [(&str, &str); 9] = [
    ("desc", "the largest number first: {desc(rating, 8)}"),
    ("lower", "in lower case: {lower(email)}"),
    ("shard", "CRC-32 of the value, modulo a number: {shard(orderId, 3)}"),
    ("random", "a number that the writer draws: {random(10)}"),
    ("year", "of a timestamp"),
    ("month", "of a timestamp"),
    ("day", "of a timestamp"),
    ("hour", "of a timestamp"),
    ("minute", "of a timestamp"),
];

impl Document {
    pub fn completions(&self, byte: usize) -> Vec<Completion> {
        let text = &self.source.text;
        if text.len() > crate::file::TEXT_BYTES_MAX || !text.is_char_boundary(byte) {
            return Vec::new();
        }
        let head = &text[..byte];
        let start = head
            .rfind(|c| !is_word(c))
            .map_or(0, |at| at + head[at..].chars().next().map_or(0, char::len_utf8));
        let span = Span::new(start, byte);
        let found = repairs(text, byte).find_map(|text| {
            let root = yaml::parse(&Source::new("", text), &mut Vec::new())?;
            Some(Cursor { root: &root, own_line: own_line(head) }.offers())
        });
        found.unwrap_or_default().into_iter().map(|offer| offer.at(span)).collect()
    }
}

/// The text with the mark, in the ways that may make it YAML, the most likely first.
fn repairs(text: &str, byte: usize) -> impl Iterator<Item = String> {
    let (head, tail) = text.split_at(byte);
    let line_end = tail.find('\n').unwrap_or(tail.len());
    let (rest_of_line, below) = tail.split_at(line_end);
    let closing = closing(&head[head.rfind('\n').map_or(0, |at| at + 1)..]);
    let named = format!("{MARK}:");
    // A word alone on its line is the name of a member, even if it could continue the value above.
    let alone = (own_line(head) && rest_of_line.trim().is_empty()).then(|| format!("{head}{named}{tail}"));
    let as_it_is = format!("{head}{MARK}{tail}");
    let closed = [MARK.to_string(), named]
        .into_iter()
        .flat_map(move |mark| [format!("{head}{mark}{closing}{below}"), format!("{head}{mark}{closing}\n")]);
    alone.into_iter().chain(iter::once(as_it_is)).chain(closed)
}

/// Whether nothing but part of a name comes before the cursor in its line.
fn own_line(head: &str) -> bool {
    let line = &head[head.rfind('\n').map_or(0, |at| at + 1)..];
    line.trim_start().chars().all(is_word)
}

/// What closes the quotes and brackets that a line leaves open.
fn closing(line: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let mut before = ':';
    for character in line.chars() {
        let in_quotes = matches!(open.last(), Some('"' | '\''));
        match character {
            _ if open.last() == Some(&character) => {
                open.pop();
            }
            _ if in_quotes => {}
            // An apostrophe inside a word opens nothing.
            '"' | '\'' if matches!(before, ':' | ',' | '[' | '{' | '-') => open.push(character),
            '{' => open.push('}'),
            '[' => open.push(']'),
            _ => {}
        }
        if !character.is_whitespace() {
            before = character;
        }
    }
    open.into_iter().rev().collect()
}

/// The mark in a tree.
struct Cursor<'n> {
    root: &'n Node,
    own_line: bool,
}

/// A completion before it is known where it goes.
struct Offer {
    label: String,
    kind: CompletionKind,
    detail: String,
    text: String,
}

impl Offer {
    fn new(label: &str, kind: CompletionKind, detail: &str) -> Offer {
        Offer { label: label.to_owned(), kind, detail: detail.to_owned(), text: label.to_owned() }
    }

    fn member(name: &str, detail: &str) -> Offer {
        Offer { text: format!("{name}: "), ..Offer::new(name, CompletionKind::Member, detail) }
    }

    fn at(self, span: Span) -> Completion {
        let Offer { label, kind, detail, text } = self;
        Completion { label, kind, detail, text, span }
    }
}

impl Cursor<'_> {
    fn offers(&self) -> Vec<Offer> {
        let Some(place) = ScalarPlace::find(self.root, &|scalar| scalar.text.contains(MARK)) else {
            return Vec::new();
        };
        let symbols = symbols(self.root);
        let before = place.scalar.text.split(MARK).next().unwrap_or_default();
        if place.is_name {
            return self.names(&place, &symbols);
        }
        if let Some(template) = before.rfind('{').filter(|open| !before[*open..].contains('}')) {
            return in_template(&place, &symbols, &before[template..]);
        }
        let mut offers = self.values(&place, &symbols, before);
        // A mapping that begins on the next line.
        if self.own_line {
            offers.extend(self.names_in(&place.path, &place, &symbols));
        }
        offers
    }

    /// The names of members, except those that are there.
    fn names(&self, place: &ScalarPlace<'_>, symbols: &[Symbol]) -> Vec<Offer> {
        let present = place.mappings.last().copied().unwrap_or_default();
        let mut offers = self.names_in(place.parent_path(), place, symbols);
        offers.retain(|offer| !present.iter().any(|(name, _)| name.text == offer.label));
        offers
    }

    fn names_in(&self, path: &[&str], place: &ScalarPlace<'_>, symbols: &[Symbol]) -> Vec<Offer> {
        let mut offers: Vec<Offer> =
            members(path).iter().map(|(name, detail)| Offer::member(name, detail)).collect();
        let keys = key_attributes(self.root, path);
        offers.extend(keys.iter().map(|name| Offer::member(name, "a key attribute: its template")));
        if matches!(path, ["rules"] | [.., "allow"]) {
            offers.extend(RULES.iter().map(|rule| Offer::member(&rule.id.to_string(), rule.title)));
        }
        // What has this name is declared elsewhere: in `entities` and `patterns` names are new.
        let refers = matches!(path, ["entities", _, "indexes"] | [.., "set" | "add" | "given"]);
        if refers && place.is_name {
            offers.extend(referable(place, symbols).into_iter().filter(is_real).map(|symbol| {
                let name = named(symbol);
                Offer { text: format!("{}: ", name.label), ..name }
            }));
        }
        offers
    }

    fn values(&self, place: &ScalarPlace<'_>, symbols: &[Symbol], before: &str) -> Vec<Offer> {
        let mut offers = Vec::new();
        if matches!(place.path.as_slice(), [.., "transact" | "batch"]) && !before.trim_start().contains(' ') {
            let verbs = ["create", "put", "update", "delete", "check", "get"];
            let path: Vec<&str> = place.path.clone();
            return verbs
                .iter()
                .map(|verb| {
                    let path: Vec<&str> = path.iter().copied().chain([*verb]).collect();
                    let offer =
                        Offer::new(verb, CompletionKind::Member, description(&path).unwrap_or_default());
                    Offer { text: format!("{verb} "), ..offer }
                })
                .collect();
        }
        for schema in schemas(&place.path) {
            let detail = schema["description"].as_str().unwrap_or_default();
            let choices =
                schema["enum"].as_array().into_iter().flatten().filter_map(|choice| choice.as_str());
            offers.extend(choices.map(|choice| Offer::new(choice, CompletionKind::Value, detail)));
            if schema["type"] == "boolean" {
                offers
                    .extend(["true", "false"].map(|value| Offer::new(value, CompletionKind::Value, detail)));
            }
        }
        let words: &[&str] = match place.path.as_slice() {
            [.., "project"] => &["all", "keys"],
            ["patterns", _, "read"] => &["all", "keys", "count"],
            ["patterns", _, "fan-out"] => &["allowed"],
            [.., "skew"] => &["uniform", "top 30%", "zipf 1.1"],
            _ => &[],
        };
        let detail = description(&place.path).unwrap_or_default();
        offers.extend(words.iter().map(|word| Offer::new(word, CompletionKind::Value, detail)));
        offers.extend(referable(place, symbols).into_iter().filter(is_real).map(named));
        offers
    }
}

/// Not the unfinished word at the cursor itself.
fn is_real(symbol: &&Symbol) -> bool {
    !symbol.name.contains(MARK)
}

fn named(symbol: &Symbol) -> Offer {
    let detail = match symbol.kind {
        NameKind::Table => "table",
        NameKind::Index => "index",
        NameKind::Entity => "entity",
        NameKind::Attribute => "attribute",
        NameKind::Pattern => "pattern",
        NameKind::Sample => "sample row",
        NameKind::Curve => "curve",
    };
    Offer::new(&symbol.name, CompletionKind::Name(symbol.kind), detail)
}

/// Behind an open brace: attributes, and functions of them.
fn in_template(place: &ScalarPlace<'_>, symbols: &[Symbol], field: &str) -> Vec<Offer> {
    let attributes = referable(place, symbols).into_iter().filter(is_real).map(named);
    let is_argument = field.contains('(');
    let functions = FUNCTIONS.iter().filter(|_| !is_argument).map(|(name, detail)| {
        let offer = Offer::new(name, CompletionKind::Function, detail);
        Offer { text: format!("{name}("), ..offer }
    });
    attributes.chain(functions).collect()
}
