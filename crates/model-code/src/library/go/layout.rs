//! Lines as gofmt has them: indented with tabs, and keys of consecutive one-line entries with their values in a column.

use crate::layout::{Doc, WIDTH};

/// How wide a tab is when lines are measured.
const TAB: usize = 4;
/// Keys up to this length share a column however different they are.
const SMALL_KEY: usize = 40;
/// Longer ones share it unless they are this many times as long or as short as those before.
const KEY_RATIO: f64 = 2.5;

/// A statement on lines of its own.
pub fn line(doc: &Doc, depth: usize) -> String {
    format!("{}{}\n", "\t".repeat(depth), text(doc, depth * TAB, depth))
}

fn text(doc: &Doc, column: usize, depth: usize) -> String {
    let inline = doc.inline();
    if column + inline.chars().count() < WIDTH {
        return inline;
    }
    match doc {
        Doc::Atom(text) => text.clone(),
        Doc::Named(name, inner) => format!("{name}{}", text(inner, column + name.chars().count(), depth)),
        Doc::Group { items, .. } if items.is_empty() => inline,
        Doc::Group { open, items, close, .. } => {
            let column = (depth + 1) * TAB;
            let entries = items.iter().map(|item| match item {
                Doc::Named(name, value) if name.ends_with(": ") => {
                    let value = text(value, column + name.chars().count(), depth + 1);
                    (Some(name.trim_end().to_owned()), value)
                }
                item => (None, text(item, column, depth + 1)),
            });
            let indent = "\t".repeat(depth + 1);
            let lines: Vec<String> =
                aligned(entries.collect()).iter().map(|line| format!("\n{indent}{line},")).collect();
            format!("{open}{}\n{}{close}", lines.concat(), "\t".repeat(depth))
        }
    }
}

/// Lines of keys and values. A value of several lines ends a column.
fn aligned(entries: Vec<(Option<String>, String)>) -> Vec<String> {
    let size = |(key, value): &(Option<String>, String)| match key {
        Some(key) if !value.contains('\n') => key.chars().count(),
        _ => 0,
    };
    let mut lines = Vec::new();
    let mut rest = entries.as_slice();
    while let Some(first) = rest.first() {
        let mut logarithms = 0.0;
        let mut together = 0;
        let mut before = size(first);
        for entry in rest {
            // gofmt measures keys without their colon.
            let own = size(entry);
            let is_small = before <= SMALL_KEY + 1 && own <= SMALL_KEY + 1;
            let length = own.saturating_sub(1) as f64;
            let ratio = length / f64::exp(logarithms / f64::from(together.max(1)));
            let fits = is_small || together == 0 || (ratio * KEY_RATIO > 1.0 && ratio < KEY_RATIO);
            if own == 0 || !fits {
                break;
            }
            (logarithms, together, before) = (logarithms + length.ln(), together + 1, own);
        }
        let count = usize::try_from(together).unwrap_or_default().max(1);
        let width = rest[..count].iter().map(size).max().unwrap_or_default();
        for (key, value) in &rest[..count] {
            lines.push(match key {
                Some(key) => format!("{key:width$} {value}"),
                None => value.clone(),
            });
        }
        rest = &rest[count..];
    }
    lines
}

/// The members of a struct: names, types and comments in columns.
pub fn members(members: &[(String, String, Option<String>)]) -> String {
    let width = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or_default()
    };
    let names = width(&mut members.iter().map(|(name, ..)| name));
    let mut lines = String::new();
    // Only lines with a comment have a column for it.
    for run in members.chunk_by(|one, other| one.2.is_some() == other.2.is_some()) {
        let types = width(&mut run.iter().map(|(_, kind, _)| kind));
        for (name, kind, comment) in run {
            lines.push_str(&match comment {
                Some(comment) => format!("\t{name:names$} {kind:types$} // {comment}\n"),
                None => format!("\t{name:names$} {kind}\n"),
            });
        }
    }
    lines
}
