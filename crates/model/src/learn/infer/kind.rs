//! Which rows are of one kind. Each row is of exactly one.
//!
//! A type attribute is believed. Rows without one, and rows of one type whose keys have nothing in common, are
//! told apart by the words in their keys. Whether a segment of a key is a word or a value is decided by all rows
//! that have the same words in front of it:
//!
//! - what an attribute holds in all of them is a value, unless the rows differ in their attributes as well;
//! - what comes directly after a word is a value: `ITEM#SWORD`;
//! - what is in several rows, or in capitals, is a word, unless there are many and nothing else tells them apart.

use std::collections::{BTreeMap, BTreeSet};

use super::segment::{Separators, is_shouted, is_word};
use crate::dynamodb_json::Row;
use crate::table_shape::TableSection;

/// Attributes that hold nothing but the type of a row, without `_` and in small letters.
const TYPE_NAMES: [&str; 10] = [
    "entitytype",
    "et",
    "typename",
    "edbe",
    "entityname",
    "entity",
    "itemtype",
    "recordtype",
    "objecttype",
    "doctype",
];
/// Attributes that may hold it; a leading `_` says so.
const PERHAPS_TYPE_NAMES: [&str; 3] = ["type", "kind", "class"];
/// If more words than this differ in nothing but their text, they are values.
const LOOKALIKES_MAX: usize = 3;

/// The segments of a key: a word, or `None` for a value.
pub type KeyShape = Vec<Option<String>>;

/// Rows of one kind.
#[derive(Debug)]
pub struct RowKind {
    /// What their type attribute says.
    pub type_name: Option<String>,
    pub rows: Vec<usize>,
    /// For each key.
    pub shapes: Vec<KeyShape>,
}

/// The attribute that tells the type of rows, if there is one.
pub fn type_attribute(table: &TableSection, rows: &[&Row], separators: &Separators) -> Option<String> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    let typed = |name: &str| rows.iter().filter(|row| type_of(row, name).is_some()).count();
    let sure = TYPE_NAMES
        .into_iter()
        .find_map(|known| names.iter().find(|name| plain(name) == known && 2 * typed(name) >= rows.len()));
    let perhaps = || {
        let mut fitting = names.iter().filter(|name| PERHAPS_TYPE_NAMES.contains(&plain(name).as_str()));
        fitting.find(|name| typed(name) == rows.len() && tells_apart(table, rows, name, separators))
    };
    let keys = table.key_names();
    sure.or_else(perhaps).filter(|name| !keys.contains(name)).map(|name| (*name).clone())
}

pub fn type_of<'r>(row: &'r Row, attribute: &str) -> Option<&'r str> {
    row.get(attribute)?["S"].as_str().filter(|name| !name.is_empty())
}

/// `type` may also be of the business (`CARD`, `CASH`): then rows of two types have the same words in their keys and
/// the same attributes.
fn tells_apart(table: &TableSection, rows: &[&Row], name: &str, separators: &Separators) -> bool {
    let keys = table.key_names();
    let mut types: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, row) in rows.iter().enumerate() {
        types.entry(type_of(row, name).unwrap_or_default()).or_default().push(position);
    }
    let heads = |positions: &[usize]| -> BTreeSet<Vec<String>> {
        let head = |row: &Row, key: &String| {
            let segments = separators.split(row.get(key)?["S"].as_str()?);
            Some(segments[0].to_owned()).filter(|head| is_word(head))
        };
        let heads = |position: &usize| {
            keys.iter().map(|key| head(rows[*position], key).unwrap_or_default()).collect()
        };
        positions.iter().map(heads).collect()
    };
    let names = |positions: &[usize]| -> BTreeSet<&String> {
        positions.iter().flat_map(|position| rows[*position].keys()).collect()
    };
    let types: Vec<&Vec<usize>> = types.values().collect();
    let alike = |one: &[usize], other: &[usize]| heads(one) == heads(other) && names(one) == names(other);
    let pairs = (0..types.len()).flat_map(|one| (one + 1..types.len()).map(move |other| (one, other)));
    types.len() == 1 || !pairs.into_iter().any(|(one, other)| alike(types[one], types[other]))
}

/// The kinds of rows, in the order in which they are met.
pub fn kinds(
    table: &TableSection,
    rows: &[&Row],
    type_attribute: Option<&str>,
    separators: &Separators,
) -> Vec<RowKind> {
    let mut types: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let type_name = type_attribute.and_then(|attribute| type_of(row, attribute));
        match types.iter_mut().find(|(known, _)| *known == type_name) {
            Some((_, members)) => members.push(position),
            None => types.push((type_name, vec![position])),
        }
    }
    let keys = table.key_names();
    let mut hidden = keys.clone();
    hidden.extend(table.index_keys().into_iter().flat_map(|(_, names)| names));
    hidden.extend(type_attribute.map(str::to_owned));
    let mut kinds: Vec<RowKind> = Vec::new();
    for (type_name, members) in types {
        let mut found =
            vec![RowKind { type_name: type_name.map(str::to_owned), rows: members, shapes: Vec::new() }];
        for (column, name) in keys.iter().enumerate() {
            let texts: Vec<Option<Vec<&str>>> =
                rows.iter().map(|row| Some(separators.split(row.get(name)?["S"].as_str()?))).collect();
            let key = Key { rows, texts: &texts, hidden: &hidden, is_partition: column == 0 };
            found = found.into_iter().flat_map(|kind| key.divide(kind)).collect();
        }
        kinds.extend(found);
    }
    kinds.sort_by_key(|kind| kind.rows.first().copied());
    kinds
}

/// One key attribute of all rows.
pub struct Key<'r> {
    pub rows: &'r [&'r Row],
    /// The segments of each row; `None` if its key is no text.
    pub texts: &'r [Option<Vec<&'r str>>],
    /// Attributes that say nothing about a segment: keys and types.
    pub hidden: &'r [String],
    pub is_partition: bool,
}

impl<'r> Key<'r> {
    /// Divides rows that are alike so far by the words in this key.
    fn divide(&self, kind: RowKind) -> Vec<RowKind> {
        let mut done: Vec<(KeyShape, Vec<usize>)> = Vec::new();
        let mut open = vec![(KeyShape::new(), kind.rows.clone())];
        while let Some((shape, rows)) = open.pop() {
            let position = shape.len();
            let length = |row: &usize| self.texts[*row].as_ref().map_or(0, Vec::len);
            let (ended, going): (Vec<usize>, Vec<usize>) =
                rows.into_iter().partition(|row| length(row) <= position);
            if !ended.is_empty() {
                done.push((shape.clone(), ended));
            }
            let is_last = |row: &usize| length(row) == position + 1;
            let (last, others): (Vec<usize>, Vec<usize>) = going.into_iter().partition(is_last);
            for rows in [others, last] {
                for (word, rows) in self.divided(&rows, &shape, kind.type_name.as_deref()) {
                    let mut shape = shape.clone();
                    shape.push(word);
                    open.push((shape, rows));
                }
            }
        }
        let mut kinds: Vec<RowKind> = Vec::new();
        for (shape, rows) in self.joined(done) {
            let mut shapes = kind.shapes.clone();
            shapes.push(shape);
            kinds.push(RowKind { type_name: kind.type_name.clone(), rows, shapes });
        }
        kinds
    }

    /// Rows by the word that they have behind the same words; those with a value are together.
    fn divided(
        &self,
        rows: &[usize],
        before: &[Option<String>],
        type_name: Option<&str>,
    ) -> Vec<(Option<String>, Vec<usize>)> {
        let words = self.words(rows, before, type_name);
        let mut divided: Vec<(Option<String>, Vec<usize>)> = Vec::new();
        for row in rows {
            let Some(text) = self.segment(*row, before.len()) else { continue };
            let word = words.contains(text).then(|| text.to_owned());
            match divided.iter_mut().find(|(known, _)| *known == word) {
                Some((_, members)) => members.push(*row),
                None => divided.push((word, vec![*row])),
            }
        }
        divided
    }

    fn segment(&self, row: usize, position: usize) -> Option<&'r str> {
        self.texts[row].as_ref()?.get(position).copied()
    }

    /// The words among the segments at one place of these rows. Either all of them end there, or none.
    pub fn words(
        &self,
        rows: &[usize],
        before: &[Option<String>],
        type_name: Option<&str>,
    ) -> BTreeSet<&'r str> {
        let position = before.len();
        let mut texts: BTreeMap<&'r str, Vec<usize>> = BTreeMap::new();
        for row in rows {
            if let Some(text) = self.segment(*row, position) {
                texts.entry(text).or_default().push(*row);
            }
        }
        if texts.len() == 1 && texts.contains_key("") {
            return texts.into_keys().collect();
        }
        let is_marked = |text: &str, rows: &[usize]| {
            let others = texts.iter().filter(|(other, _)| **other != text);
            self.is_marked(rows, &others.flat_map(|(_, rows)| rows.clone()).collect::<Vec<_>>())
        };
        let marked: BTreeSet<&str> =
            texts.iter().filter(|(text, rows)| is_marked(text, rows)).map(|(text, _)| *text).collect();
        let candidates: Vec<(&'r str, usize)> =
            texts.iter().filter(|(text, _)| is_word(text)).map(|(text, rows)| (*text, rows.len())).collect();
        let is_type_name = |text: &str| type_name.is_some_and(|name| name.eq_ignore_ascii_case(text));
        if self.is_held(rows, position)
            && 2 * marked.len() <= texts.len()
            && (position > 0 || texts.len() > 1)
        {
            return BTreeSet::new();
        }
        let ends =
            rows.iter().any(|row| self.texts[*row].as_ref().is_some_and(|all| all.len() == position + 1));
        let follows_word =
            before.last().is_some_and(|part| part.as_ref().is_some_and(|word| !word.is_empty()));
        let alone = candidates.len() == 1 && texts.len() == 1;
        let words = candidates.len();
        let lookalikes = candidates.iter().filter(|(text, _)| !marked.contains(text)).count();
        let several = candidates.iter().filter(|(_, count)| *count > 1).count();
        let is_word = |(text, count): &(&'r str, usize)| {
            let (marked, shouted) = (marked.contains(text), is_shouted(text));
            if is_type_name(text) {
                return !follows_word;
            }
            match (follows_word, ends) {
                (true, _) => *count > 1 && shouted && (alone || marked),
                (false, false) if 2 * lookalikes > words && lookalikes > LOOKALIKES_MAX => false,
                (false, false) => shouted || *count > 1 || marked || several > 0 || alone,
                (false, true) if self.is_partition => shouted && (alone || marked),
                (false, true) => (alone || marked) && (shouted || *count > 1),
            }
        };
        candidates.into_iter().filter(is_word).map(|(text, _)| text).collect()
    }

    /// Whether some attribute has the segment in all rows.
    fn is_held(&self, rows: &[usize], position: usize) -> bool {
        let Some(first) = rows.first() else { return false };
        let holds = |name: &String, row: &usize| {
            let value = self.rows[*row].get(name).and_then(|value| value["S"].as_str());
            value.is_some() && value == self.segment(*row, position)
        };
        let names = self.rows[*first].keys().filter(|name| !self.hidden.contains(name));
        names.into_iter().any(|name| rows.iter().all(|row| holds(name, row)))
    }

    /// Shapes that differ only in how many values they end with are one, if nothing else tells their rows apart: the
    /// last value has separators of its own.
    fn joined(&self, shapes: Vec<(KeyShape, Vec<usize>)>) -> Vec<(KeyShape, Vec<usize>)> {
        let words = |shape: &KeyShape| -> KeyShape {
            let values = shape.iter().rev().take_while(|part| part.is_none()).count();
            shape[..shape.len() - values].to_vec()
        };
        let mut joined: Vec<(KeyShape, Vec<usize>)> = Vec::new();
        for (shape, rows) in shapes {
            let same = joined.iter_mut().find(|(known, members)| {
                (known.last() == Some(&None)) == (shape.last() == Some(&None))
                    && words(known) == words(&shape)
                    && !self.is_marked(&rows, members)
                    && !self.is_held(longer(known, members, &shape, &rows), words(known).len())
            });
            match same {
                Some((known, members)) => {
                    known.truncate(shape.len());
                    members.extend(rows);
                    members.sort_unstable();
                }
                None => joined.push((shape, rows)),
            }
        }
        joined
    }

    /// Whether these rows have an attribute that none of those has, or lack one that all of those have.
    fn is_marked(&self, these: &[usize], those: &[usize]) -> bool {
        let only = |these: &[usize], those: &[usize]| {
            let Some(first) = these.first() else { return false };
            let has = |row: &usize, name: &String| self.rows[*row].contains_key(name);
            let mut names = self.rows[*first].keys().filter(|name| !self.hidden.contains(name));
            names
                .any(|name| these.iter().all(|row| has(row, name)) && !those.iter().any(|row| has(row, name)))
        };
        !these.is_empty() && !those.is_empty() && (only(these, those) || only(those, these))
    }
}

/// The rows with more segments.
fn longer<'r>(known: &KeyShape, members: &'r [usize], shape: &KeyShape, rows: &'r [usize]) -> &'r [usize] {
    if known.len() > shape.len() { members } else { rows }
}
