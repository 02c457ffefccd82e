//! Infers entities from rows: which rows are of one kind ([`kind`]), and how their keys are made of their attributes.
//!
//! `CUST#a1b2` is a word and a value. If all rows of the kind have an attribute with that value (also padded, in lower
//! case, counted down, or the day of a time), it becomes that attribute; else it is named after its word.

mod electrodb;
mod kind;
mod segment;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::draft::entity_name;
use crate::dynamodb_json::Row;
use crate::table_shape::TableSection;
use crate::template::shard;
use kind::{Key, KeyShape, RowKind, kinds, type_attribute};
use segment::{Separators, has_clock, is_time};

/// More shards are not expected of anyone.
const SHARDS_MAX: u64 = 256;
const SHARDS_WITHOUT_ROWS: u64 = 4;
/// Rows fit a shard by chance once in a thousand times.
const SHARD_BITS_LEAST: f64 = 10.0;
/// Rows of each shard that must be there, before a number is taken for one that was drawn.
const DRAWN_ROWS_LEAST: usize = 2;
/// Marks a value that was read out of a key and has no attribute of its own.
const MADE: &str = "made";
/// Sort keys of an item that stands for its whole partition: it is named after the partition.
const OWN_WORDS: [&str; 11] =
    ["profile", "metadata", "meta", "info", "detail", "details", "root", "header", "data", "main", "self"];

/// A kind of row: its name, and its fields as an entity of the model file.
pub struct InferredEntity {
    pub name: String,
    pub fields: Map<String, Value>,
    /// The rows of this kind, by position.
    pub rows: Vec<usize>,
}

/// The kinds of rows in a table. Every row is of one.
pub fn entities(table: &TableSection, rows: &[Row]) -> Vec<InferredEntity> {
    let all: Vec<&Row> = rows.iter().collect();
    let separators = separators(table, &all);
    let type_attribute = type_attribute(table, &all, &separators);
    let kinds = kinds(table, &all, type_attribute.as_deref(), &separators);
    let names = names(table, &kinds);
    let found = |(kind, name): (RowKind, String)| {
        let members: Vec<&Row> = kind.rows.iter().map(|position| &rows[*position]).collect();
        let reader = Reader { table, rows: &members, separators: &separators, shapes: &kind.shapes };
        let mut fields = reader.fields(type_attribute.as_deref());
        if let (Some(attribute), Some(type_name)) = (&type_attribute, &kind.type_name) {
            fields["attributes"][attribute.as_str()] = json!({ "value": type_name });
        }
        InferredEntity { name, fields, rows: kind.rows }
    };
    kinds.into_iter().zip(names).map(found).collect()
}

/// The key, attributes and index entries of rows of one kind.
pub fn fields(table: &TableSection, rows: &[&Row]) -> Map<String, Value> {
    let separators = separators(table, rows);
    Reader { table, rows, separators: &separators, shapes: &[] }.fields(None)
}

fn separators(table: &TableSection, rows: &[&Row]) -> Separators {
    let mut keys = table.key_names();
    keys.extend(table.index_keys().into_iter().flat_map(|(_, names)| names));
    let texts: Vec<&str> =
        rows.iter().flat_map(|row| keys.iter().filter_map(|key| row.get(key)?["S"].as_str())).collect();
    Separators::of(texts.iter().copied())
}

/// Reads the rows of one kind.
struct Reader<'r> {
    table: &'r TableSection,
    rows: &'r [&'r Row],
    separators: &'r Separators,
    /// The words in the table's keys, if the rows were divided by them.
    shapes: &'r [KeyShape],
}

impl Reader<'_> {
    fn fields(&self, type_attribute: Option<&str>) -> Map<String, Value> {
        let keys = self.table.key_names();
        let mut hidden = keys.clone();
        hidden.extend(type_attribute.map(str::to_owned));
        let mut known: Vec<Row> = self.rows.iter().map(|row| without(row, &hidden)).collect();
        let mut fields = Map::new();
        let mut made: Vec<String> = Vec::new();
        let mut key = Map::new();
        for (column, name) in keys.iter().enumerate() {
            let words = self.shapes.get(column).map(Vec::as_slice);
            if let Some(template) = self.template(name, self.rows, words, &mut known) {
                made.push(name.clone());
                key.insert(name.clone(), template.into());
            }
        }
        let mut indexes = Map::new();
        for (index, names) in self.table.index_keys() {
            let entry = self.entry(&names, &keys, &mut known);
            made.extend(entry.keys().filter(|name| *name != "when").cloned());
            if !entry.is_empty() {
                indexes.insert(index, Value::Object(entry));
            }
        }
        if !key.is_empty() {
            fields.insert("key".to_owned(), Value::Object(key));
        }
        fields.insert("attributes".to_owned(), Value::Object(attributes(self.rows, &made)));
        if !indexes.is_empty() {
            fields.insert("indexes".to_owned(), Value::Object(indexes));
        }
        fields
    }

    /// Templates for the keys of an index that are made of other attributes.
    fn entry(&self, names: &[String], keys: &[String], known: &mut [Row]) -> Map<String, Value> {
        let rows = self.rows;
        let is_in = |row: &Row| names.iter().all(|name| row.contains_key(name));
        let members: Vec<usize> = (0..rows.len()).filter(|position| is_in(rows[*position])).collect();
        let mut entry = Map::new();
        if members.is_empty() {
            return entry;
        }
        let inside: Vec<&Row> = members.iter().map(|position| rows[*position]).collect();
        let mut inside_known: Vec<Row> =
            members.iter().map(|position| without(&known[*position], names)).collect();
        for name in names.iter().filter(|name| !keys.contains(name)) {
            if let Some(template) = self.template(name, &inside, None, &mut inside_known) {
                entry.insert(name.clone(), template.into());
            }
        }
        let is_sparse = members.len() < rows.len() && !entry.is_empty();
        if let Some(condition) = is_sparse.then(|| condition(rows, names)).flatten() {
            entry.insert("when".to_owned(), condition.into());
        }
        entry
    }

    /// `None` if the key is an ordinary attribute.
    fn template(
        &self,
        key: &str,
        rows: &[&Row],
        words: Option<&[Option<String>]>,
        known: &mut [Row],
    ) -> Option<String> {
        if let Some(template) = electrodb::template(key, rows) {
            return Some(template);
        }
        let texts: Option<Vec<&str>> = rows.iter().map(|row| row.get(key)?["S"].as_str()).collect();
        let texts = texts?;
        let own;
        let words = match words {
            Some(words) => words,
            None => {
                own = self.words(key, rows, &texts);
                &own
            }
        };
        let mut written = Template { texts, offsets: vec![0; rows.len()], text: String::new() };
        let mut word = key.to_owned();
        let is_one_value = words.len() == 1 && words[0].is_none();
        for position in 0.. {
            if let Some(Some(literal)) = words.get(position) {
                word = if literal.is_empty() { word } else { literal.to_lowercase() };
                written.advance(|_, _| literal.len(), &literal.replace('{', "{{").replace('}', "}}"));
            } else if let Some((field, ends)) = field(&written, &word, self.separators, self.table, known) {
                written.text.push_str(&field);
                written.offsets = ends;
            } else if is_one_value {
                return None;
            } else {
                let is_rest = position + 1 >= words.len();
                let end = |text: &str, from: usize| match is_rest {
                    true => text.len(),
                    false => self.separators.end(text, from),
                };
                let here: Vec<&str> = written.parts(end).collect();
                let field = drawn(&here).unwrap_or_else(|| named(&here, &word, known));
                written.advance(|text, from| end(text, from) - from, &field);
            }
            match written.separator(self.separators) {
                Some(separator) => written.advance(|_, _| separator.len_utf8(), &separator.to_string()),
                None if written.is_done() => return Some(written.text),
                None => return None,
            }
        }
        None
    }

    /// The words that all texts of a key have in the same places, up to the first place where one has none.
    fn words(&self, key: &str, rows: &[&Row], texts: &[&str]) -> KeyShape {
        let split: Vec<Option<Vec<&str>>> =
            texts.iter().map(|text| Some(self.separators.split(text))).collect();
        let length = split.iter().flatten().map(Vec::len).min().unwrap_or(0);
        let mut hidden = self.table.key_names();
        hidden.extend(self.table.index_keys().into_iter().flat_map(|(_, names)| names));
        let is_partition = self.table.key_names().first().is_some_and(|first| first == key);
        let reader = Key { rows, texts: &split, hidden: &hidden, is_partition };
        let all: Vec<usize> = (0..rows.len()).collect();
        let mut shape = KeyShape::new();
        for position in 0..length {
            let words = reader.words(&all, &shape, None);
            let first = split[0].as_ref().map_or("", |parts| parts[position]);
            let is_same = split.iter().flatten().all(|parts| parts[position] == first);
            shape.push((is_same && words.contains(first)).then(|| first.to_owned()));
        }
        shape
    }
}

/// A template while it is found, and how far it has come in the key of each row.
struct Template<'t> {
    texts: Vec<&'t str>,
    offsets: Vec<usize>,
    text: String,
}

impl<'t> Template<'t> {
    /// What the rows have here, up to an end.
    fn parts(&self, end: impl Fn(&str, usize) -> usize) -> impl Iterator<Item = &'t str> {
        self.texts.iter().zip(&self.offsets).map(move |(text, from)| &text[*from..end(text, *from)])
    }

    fn advance(&mut self, length: impl Fn(&str, usize) -> usize, written: &str) {
        for (text, offset) in self.texts.iter().zip(&mut self.offsets) {
            *offset += length(text, *offset);
        }
        self.text.push_str(written);
    }

    /// The separator that all rows have here.
    fn separator(&self, separators: &Separators) -> Option<char> {
        let mut here = self.texts.iter().zip(&self.offsets).map(|(text, from)| {
            separators.is_at(text, *from).then(|| text[*from..].chars().next()).flatten()
        });
        let first = here.next()??;
        here.all(|one| one == Some(first)).then_some(first)
    }

    fn is_done(&self) -> bool {
        self.texts.iter().zip(&self.offsets).all(|(text, from)| *from == text.len())
    }
}

/// A field of a template, and the text that it turns an attribute's value into.
type Form = (String, Box<dyn Fn(&str) -> Option<String>>);

/// The attribute that every row has in this place of its key, and where it ends in each. If there are several, the one
/// that is named like the word in front of it.
fn field(
    written: &Template<'_>,
    word: &str,
    separators: &Separators,
    table: &TableSection,
    known: &[Row],
) -> Option<(String, Vec<usize>)> {
    let index_keys: Vec<String> = table.index_keys().into_iter().flat_map(|(_, names)| names).collect();
    let usable = |name: &&String| is_name(name) && !(index_keys.contains(name) && is_key_name(name));
    let mut names: Vec<&String> = known.first()?.keys().filter(usable).collect();
    let is_used = |name: &str| written.text.contains(&format!("{{{name}}}"));
    names.sort_by_key(|name| (kinship(name, word), index_keys.contains(name), is_used(name)));
    let ends = |name: &String, form: &Form| -> Option<Vec<usize>> {
        let end = |((text, from), row): ((&&str, &usize), &Row)| {
            let rendered = form.1(scalar(row.get(name)?)?)?;
            let end = from + rendered.len();
            let is_whole = text[*from..].starts_with(&rendered) && !rendered.is_empty();
            (is_whole && (end == text.len() || separators.is_at(text, end))).then_some(end)
        };
        written.texts.iter().zip(&written.offsets).zip(known).map(end).collect()
    };
    let first = written.parts(|text, from| separators.end(text, from)).next()?.len();
    names.into_iter().find_map(|name| {
        let values: Vec<&Value> = known.iter().filter_map(|row| row.get(name)).collect();
        // One small number is soon met by chance.
        let by_chance = known.len() == 1 && kind_of(&values) == "number" && kinship(name, word) == STRANGER;
        let forms = if by_chance { Vec::new() } else { forms(name, &values, first) };
        let shards = shards(written, separators, known.len()).into_iter().map(|(count, width)| -> Form {
            let padding = padding(width);
            let text = move |value: &str| Some(format!("{:0>width$}", shard(value, count)));
            (format!("{{shard({name}, {count}){padding}}}"), Box::new(text))
        });
        forms.into_iter().chain(shards).find_map(|form| Some((form.0.clone(), ends(name, &form)?)))
    })
}

/// Over how many shards the rows may be spread here, and how many digits each has at least, if these are all small
/// numbers, and if there are too many rows for a fit by chance. The last shards may have no rows.
fn shards(written: &Template<'_>, separators: &Separators, rows: usize) -> Vec<(u64, usize)> {
    let parts: Vec<&str> = written.parts(|text, from| separators.end(text, from)).collect();
    let Some((numbers, width)) = small_numbers(&parts) else { return Vec::new() };
    let last = numbers.last().copied().unwrap_or(0);
    let is_sure = |count: &u64| *count > 1 && (*count as f64).log2() * rows as f64 >= SHARD_BITS_LEAST;
    (last + 1..=last + SHARDS_WITHOUT_ROWS).filter(is_sure).map(|count| (count, width)).collect()
}

/// The numbers that parts of a key are, and to how many digits they are padded.
fn small_numbers(parts: &[&str]) -> Option<(BTreeSet<u64>, usize)> {
    let is_padded = parts.iter().any(|part| part.len() > 1 && part.starts_with('0'));
    let width = if is_padded { parts.first()?.len() } else { 1 };
    let number = |part: &&str| {
        let number: u64 = part.parse().ok().filter(|number| *number < SHARDS_MAX)?;
        (format!("{number:0>width$}") == **part).then_some(number)
    };
    Some((parts.iter().map(number).collect::<Option<_>>()?, width))
}

fn padding(width: usize) -> String {
    if width > 1 { format!(":0{width}") } else { String::new() }
}

/// The fields that an attribute can be in a key, where a value is this many bytes long.
fn forms(name: &str, values: &[&Value], width: usize) -> Vec<Form> {
    let mut forms: Vec<Form> = vec![(format!("{{{name}}}"), Box::new(|value| Some(value.to_owned())))];
    let is_made = values.iter().any(|value| value.get(MADE).is_some());
    match kind_of(values) {
        "number" => {
            let padded = move |value: &str| Some(format!("{value:0>width$}"));
            forms.push((format!("{{{name}:0{width}}}"), Box::new(padded)));
            let counted_down = move |value: &str| {
                let highest = 10_u128.checked_pow(u32::try_from(width).ok()?)?.checked_sub(1)?;
                Some(format!("{:0>width$}", highest.checked_sub(value.parse().ok()?)?))
            };
            forms.push((format!("{{desc({name}, {width})}}"), Box::new(counted_down)));
        }
        "date" | "timestamp" if !is_made => {
            let units = [(4, "year"), (7, "month"), (10, "day"), (13, "hour"), (16, "minute")];
            if let Some((_, unit)) = units.into_iter().find(|(length, _)| *length == width) {
                let beginning = move |value: &str| value.get(..width).map(str::to_owned);
                forms.push((format!("{{{unit}({name})}}"), Box::new(beginning)));
            }
        }
        "string" if !is_made => {
            forms.push((format!("{{lower({name})}}"), Box::new(|value| Some(value.to_lowercase()))));
        }
        _ => {}
    }
    forms
}

const STRANGER: u8 = 2;

/// How much the name of an attribute says that it belongs to a word: 0 for `customerId` behind `CUSTOMER`.
fn kinship(name: &str, word: &str) -> u8 {
    let plain = |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
    let (name, word) = (plain(name).to_lowercase(), plain(word).to_lowercase());
    let rest = name.strip_prefix(word.as_str());
    match rest {
        Some("" | "id" | "no" | "number" | "name" | "key" | "code") => 0,
        Some(_) => 1,
        None if !name.is_empty() && word.starts_with(&name) => 1,
        None => STRANGER,
    }
}

/// `GSI1PK`, `pk2`: composed for an index, and nothing by itself.
fn is_key_name(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
    name.ends_with("pk") || name.ends_with("sk") || name.starts_with("gsi") || name.starts_with("lsi")
}

fn without(row: &Row, keys: &[String]) -> Row {
    row.iter()
        .filter(|(name, _)| !keys.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What all rows of an index have and no other row has: a value, or else an attribute.
fn condition(rows: &[&Row], names: &[String]) -> Option<String> {
    let is_in = |row: &&&Row| names.iter().all(|name| row.contains_key(name));
    let first = rows.iter().find(is_in)?;
    let separates =
        |name: &str, value: &Value| rows.iter().all(|row| is_in(&row) == (row.get(name) == Some(value)));
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let by_value = first.iter().find_map(|(name, value)| {
        let text = value["S"].as_str().filter(|text| !text.is_empty() && plain(text) && plain(name))?;
        (!names.contains(name) && separates(name, value)).then(|| format!("{name} = {text}"))
    });
    let by_presence = || {
        let exists = |name: &&String| rows.iter().all(|row| is_in(&row) == row.contains_key(*name));
        let usable = |name: &&String| plain(name) && !names.contains(name) && !is_key_name(name);
        first.keys().filter(usable).find(exists).map(|name| format!("exists {name}"))
    };
    by_value.or_else(by_presence)
}

/// A shard that the writer draws: every number below the largest is there, most of them often, and no attribute tells
/// which it is.
fn drawn(here: &[&str]) -> Option<String> {
    let (numbers, width) = small_numbers(here)?;
    let count = numbers.len() as u64;
    let is_whole = count > 1 && numbers.last() == Some(&(count - 1));
    let is_sure = here.len() >= DRAWN_ROWS_LEAST * numbers.len();
    (is_whole && is_sure).then(|| format!("{{random({count}){}}}", padding(width)))
}

/// A name for a value that no attribute holds, and the value under it for the keys to come.
fn named(here: &[&str], word: &str, known: &mut [Row]) -> String {
    let suffix = if here.iter().all(|part| is_time(part)) { "At" } else { "Id" };
    let word: String = word.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let mut name = format!("{}{suffix}", if word.is_empty() { "key" } else { &word });
    while known.iter().any(|row| row.contains_key(&name)) {
        name.push('2');
    }
    for (row, part) in known.iter_mut().zip(here) {
        row.insert(name.clone(), json!({ "S": part, MADE: true }));
    }
    format!("{{{name}}}")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

fn scalar(value: &Value) -> Option<&str> {
    value["S"].as_str().or_else(|| value["N"].as_str())
}

/// The type that rows tell; else the word that the last of their keys begins with.
fn names(table: &TableSection, kinds: &[RowKind]) -> Vec<String> {
    let words = |kind: &RowKind| -> (Option<String>, Option<String>) {
        // The word in front of the last value of a partition key, or the first of a sort key, names a thing.
        let named = |shape: &KeyShape, from_end: bool| {
            let mut words = shape.iter().flatten().filter(|word| !word.is_empty());
            if from_end { words.next_back().cloned() } else { words.next().cloned() }
        };
        let mut shapes = kind.shapes.iter();
        let partition = shapes.next().and_then(|shape| named(shape, true));
        let sort = shapes.next().and_then(|shape| {
            let is_own = shape.len() == 1 && partition.is_some();
            named(shape, false).filter(|word| !(is_own && OWN_WORDS.contains(&word.to_lowercase().as_str())))
        });
        (partition, sort)
    };
    let name = |kind: &RowKind| match (&kind.type_name, words(kind)) {
        (Some(type_name), _) => entity_name(type_name),
        (None, (_, Some(word)) | (Some(word), None)) => entity_name(&word),
        (None, (None, None)) => entity_name(&table.name),
    };
    let names: Vec<String> = kinds.iter().map(name).collect();
    let several = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    // `BILL#…` below `INV#…`, beside a bill of its own.
    let distinct = |(kind, name): (&RowKind, &String)| match words(kind) {
        (Some(partition), Some(sort)) if kind.type_name.is_none() && several(name) && partition != sort => {
            entity_name(&partition) + name
        }
        _ => name.clone(),
    };
    kinds.iter().zip(&names).map(distinct).collect()
}

/// Every attribute of the rows, except keys that are composed of others.
pub fn attributes(rows: &[&Row], made: &[String]) -> Map<String, Value> {
    let mut found = Map::new();
    for name in rows.iter().flat_map(|row| row.keys()).filter(|name| !made.contains(name)) {
        let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(name)).collect();
        let kind = kind_of(&values);
        let everywhere = values.len() == rows.len();
        let described = if everywhere { json!(kind) } else { json!({ "type": kind, "optional": true }) };
        found.insert(name.clone(), described);
    }
    found
}

fn kind_of(values: &[&Value]) -> &'static str {
    let tag = |value: &&Value| value.as_object().and_then(|value| value.keys().next().cloned());
    let tag = values.iter().find_map(tag).unwrap_or_default();
    let times = || values.iter().all(|value| value["S"].as_str().is_some_and(is_time));
    let lengths = |test: fn(usize) -> bool| {
        values.iter().all(|one| one["S"].as_str().is_some_and(|text| test(text.len())))
    };
    match tag.as_str() {
        "S" if times() && lengths(|length| length == 10) => "date",
        "S" if times() && values.iter().all(|one| one["S"].as_str().is_some_and(has_clock)) => "timestamp",
        tag => kind_of_tag(tag),
    }
}

/// DynamoDB's name of a type -> the model file's.
pub fn kind_of_tag(tag: &str) -> &'static str {
    match tag {
        "N" => "number",
        "B" => "binary",
        "BOOL" => "boolean",
        "SS" => "string-set",
        "NS" => "number-set",
        "BS" => "binary-set",
        "L" => "list",
        "M" => "map",
        _ => "string",
    }
}
