//! Infers entities from rows: rows whose keys have the same words in the same positions are of one kind.
//!
//! `CUST#a1b2` is a word and a value. If all rows of the kind have an attribute with that value (also padded, or the
//! day of a time), it becomes that attribute; else it is named after its word.

use serde_json::{Map, Value, json};

use super::create_table::TableSection;
use super::draft::entity_name;
use super::value::Row;

const SEPARATOR: char = '#';
/// Marks a value that was read out of a key and has no attribute of its own.
const MADE: &str = "made";
/// Attributes that hold the type of a row.
const TYPE_NAMES: [&str; 7] = ["type", "entityType", "entity_type", "_type", "__typename", "entity", "_et"];

/// A kind of row: its name, and its fields as an entity of the model file.
pub struct InferredEntity {
    pub name: String,
    pub fields: Map<String, Value>,
    /// The rows of this kind, by position.
    pub rows: Vec<usize>,
}

/// The kinds of rows in a table.
pub fn entities(table: &TableSection, rows: &[Row]) -> Vec<InferredEntity> {
    let keys = table.key_names();
    let mut groups: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let shape: Vec<String> = keys.iter().map(|key| shape(row, key)).collect();
        match groups.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, group)) => group.push(position),
            None => groups.push((shape, vec![position])),
        }
    }
    let found = |(shape, positions): (Vec<String>, Vec<usize>)| {
        let group: Vec<&Row> = positions.iter().map(|position| &rows[*position]).collect();
        InferredEntity { name: name(table, &shape, &group), fields: fields(table, &group), rows: positions }
    };
    groups.into_iter().map(found).collect()
}

/// The key, attributes and index entries of rows of one kind.
pub fn fields(table: &TableSection, rows: &[&Row]) -> Map<String, Value> {
    let keys = table.key_names();
    let mut known: Vec<Row> = rows.iter().map(|row| without(row, &keys)).collect();
    let mut fields = Map::new();
    let mut made: Vec<String> = Vec::new();
    let mut key = Map::new();
    for name in &keys {
        if let Some(template) = template(name, rows, &mut known) {
            made.push(name.clone());
            key.insert(name.clone(), template.into());
        }
    }
    let mut indexes = Map::new();
    for (index, names) in table.index_keys() {
        let entry = entry(&names, &keys, rows, &mut known);
        made.extend(entry.keys().filter(|name| *name != "when").cloned());
        if !entry.is_empty() {
            indexes.insert(index, Value::Object(entry));
        }
    }
    if !key.is_empty() {
        fields.insert("key".to_owned(), Value::Object(key));
    }
    fields.insert("attributes".to_owned(), Value::Object(attributes(rows, &made)));
    if !indexes.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    fields
}

fn without(row: &Row, keys: &[String]) -> Row {
    row.iter()
        .filter(|(name, _)| !keys.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Templates for the keys of an index that are made of other attributes.
fn entry(names: &[String], keys: &[String], rows: &[&Row], known: &mut [Row]) -> Map<String, Value> {
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
        if let Some(template) = template(name, &inside, &mut inside_known) {
            entry.insert(name.clone(), template.into());
        }
    }
    let condition = (members.len() < rows.len()).then(|| condition(rows, names)).flatten();
    if let Some(condition) = condition.filter(|_| !entry.is_empty()) {
        entry.insert("when".to_owned(), condition.into());
    }
    entry
}

/// The one value that all rows of an index have and no other row has.
fn condition(rows: &[&Row], names: &[String]) -> Option<String> {
    let is_in = |row: &&&Row| names.iter().all(|name| row.contains_key(name));
    let first = rows.iter().find(is_in)?;
    let separates =
        |name: &str, value: &Value| rows.iter().all(|row| is_in(&row) == (row.get(name) == Some(value)));
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    first.iter().find_map(|(name, value)| {
        let text = value["S"].as_str().filter(|text| !text.is_empty() && plain(text) && plain(name))?;
        (!names.contains(name) && separates(name, value)).then(|| format!("{name} = {text}"))
    })
}

/// `None` if the key is an ordinary attribute.
fn template(key: &str, rows: &[&Row], known: &mut [Row]) -> Option<String> {
    let texts: Option<Vec<&str>> = rows.iter().map(|row| row.get(key)?["S"].as_str()).collect();
    let split: Vec<Vec<&str>> = texts?.iter().map(|text| text.split(SEPARATOR).collect()).collect();
    let length = split.first()?.len();
    if split.iter().any(|parts| parts.len() != length) {
        return None;
    }
    let mut word = key.to_owned();
    let mut parts = Vec::new();
    for position in 0..length {
        let here: Vec<&str> = split.iter().map(|parts| parts[position]).collect();
        let same = here.iter().all(|part| *part == here[0]);
        if same && is_word(&known[0], &split[0], position) {
            word = if here[0].is_empty() { word } else { here[0].to_lowercase() };
            parts.push(here[0].replace('{', "{{").replace('}', "}}"));
        } else if let Some(field) = field(&here, known) {
            parts.push(field);
        } else if length == 1 {
            return None;
        } else {
            parts.push(named(&here, &word, known));
        }
    }
    Some(parts.join(&SEPARATOR.to_string()))
}

/// The attribute that every row has in this position of its key.
fn field(here: &[&str], known: &[Row]) -> Option<String> {
    let names = known.first()?.keys().filter(|name| is_name(name) && !TYPE_NAMES.contains(&name.as_str()));
    let all = |name: &str, test: &dyn Fn(&str, &str) -> bool| {
        let text = |row: &Row| scalar(row.get(name)?).map(str::to_owned);
        known.iter().zip(here).all(|(row, part)| text(row).is_some_and(|text| test(&text, part)))
    };
    let width = here.first()?.len();
    let padded = |text: &str, part: &str| part.len() == width && format!("{text:0>width$}") == part;
    let bucket = [(4, "year"), (7, "month"), (10, "day"), (13, "hour"), (16, "minute")];
    let bucket = bucket.into_iter().find(|(length, _)| *length == width);
    let forms = |name: &String| {
        if all(name, &|text, part| text == part) {
            return Some(format!("{{{name}}}"));
        }
        let values: Vec<&Value> = known.iter().filter_map(|row| row.get(name)).collect();
        match (kind(&values), bucket) {
            ("number", _) if all(name, &padded) => Some(format!("{{{name}:0{width}}}")),
            ("date" | "timestamp", Some((_, unit))) if values[0].get(MADE).is_none() => {
                let begins = |text: &str, part: &str| text.starts_with(part) && part.len() == width;
                all(name, &begins).then(|| format!("{{{unit}({name})}}"))
            }
            _ => None,
        }
    };
    names.clone().find_map(forms)
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

/// Begins like `2026-06-23`.
fn is_time(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|c| c.is_ascii_digit()))
    };
    digits(0..4) && text.get(4..5) == Some("-") && digits(5..7)
}

/// Goes on like `T14:05`.
fn has_clock(text: &str) -> bool {
    text.len() >= 16 && text.get(10..11) == Some("T") && text.get(13..14) == Some(":")
}

fn scalar(value: &Value) -> Option<&str> {
    value["S"].as_str().or_else(|| value["N"].as_str())
}

/// A word in front of others, or one in capitals that is not a value of the row.
fn is_word(row: &Row, parts: &[&str], position: usize) -> bool {
    let part = parts[position];
    let letters = part.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-');
    let held = row.iter().any(|(name, value)| {
        value["S"].as_str() == Some(part) && !TYPE_NAMES.contains(&name.as_str()) && !part.is_empty()
    });
    letters && ((position == 0 && parts.len() > 1) || (!part.chars().any(char::is_lowercase) && !held))
}

/// The words of a key, and dots for values.
fn shape(row: &Row, key: &str) -> String {
    let Some(text) = row.get(key).and_then(|value| value["S"].as_str()) else { return ".".to_owned() };
    let parts: Vec<&str> = text.split(SEPARATOR).collect();
    let others = without(row, &[key.to_owned()]);
    let part = |position: usize| if is_word(&others, &parts, position) { parts[position] } else { "." };
    (0..parts.len()).map(part).collect::<Vec<_>>().join("#")
}

/// The type that the rows declare; else the last word that a part of their keys begins with.
fn name(table: &TableSection, shape: &[String], rows: &[&Row]) -> String {
    let told = TYPE_NAMES.iter().find_map(|name| {
        let first = rows.first()?.get(*name)?["S"].as_str()?;
        rows.iter().all(|row| row.get(*name).is_some_and(|value| value["S"] == first)).then_some(first)
    });
    if let Some(told) = told {
        return entity_name(told);
    }
    let is_word = |word: &str| !word.is_empty() && word != ".";
    let prefix =
        |key: &String| key.split_once('#').map(|(word, _)| word.to_owned()).filter(|word| is_word(word));
    let prefixes: Vec<String> = shape.iter().filter_map(prefix).collect();
    prefixes.last().map_or_else(|| entity_name(&table.name), |word| entity_name(word))
}

/// Every attribute of the rows, except keys that are composed of others.
pub fn attributes(rows: &[&Row], made: &[String]) -> Map<String, Value> {
    let mut found = Map::new();
    for name in rows.iter().flat_map(|row| row.keys()).filter(|name| !made.contains(name)) {
        let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(name)).collect();
        let kind = kind(&values);
        let everywhere = values.len() == rows.len();
        let described = if everywhere { json!(kind) } else { json!({ "type": kind, "optional": true }) };
        found.insert(name.clone(), described);
    }
    found
}

fn kind(values: &[&Value]) -> &'static str {
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
