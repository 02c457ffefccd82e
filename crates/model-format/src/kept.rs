//! What a document says that the model made from it can't: the difference between the document and what
//! the format's own writer writes for that model. It is kept in the model file, and restored on export where
//! the model has not been changed since; where it has been changed, the model wins.
//!
//! | in the difference | on restoring |
//! |---|---|
//! | a mapping | goes into the mapping that is there, member by member |
//! | `{ $by: name, … }` | goes into a list, whose elements are found by that member |
//! | `{ $is: value }`, or any value but a mapping | is added if there is nothing |
//! | `{ $is: value, $was: checksum }` | replaces what is still what it was |
//! | `{ $was: checksum }` | is removed if it still is what it was |
//!
//! A format wraps what only makes sense together ([`whole`]): it comes back together, or not at all.

use serde_json::{Map, Value, json};

use crate::Notes;

const BY: &str = "$by";
const IS: &str = "$is";
const ORDER: &str = "$order";
const WAS: &str = "$was";
const WHOLE: &str = "$whole";

/// Members that name an element of a list, in the supported formats; the most specific first.
const NAMES: [&str; 17] = [
    "TableName",
    "IndexName",
    "FacetName",
    "AttributeName",
    "Region",
    "table_name",
    "entity_name",
    "index_name",
    "pattern_id",
    "pattern",
    "name",
    "attribute_name",
    "region_name",
    "field",
    "Key",
    "key",
    "id",
];

/// Wraps a mapping so that it is kept or replaced as a whole.
pub fn whole(value: Value) -> Value {
    json!({ WHOLE: value })
}

/// The value without such wrappers, all the way down.
pub fn unwrapped(value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get(WHOLE) {
            Some(inner) => inner.clone(),
            None => members.iter().map(|(name, member)| (name.clone(), unwrapped(member))).collect(),
        },
        Value::Array(elements) => elements.iter().map(unwrapped).collect(),
        other => other.clone(),
    }
}

/// `None` if the two are equal.
pub fn difference(written: &Value, document: &Value) -> Option<Value> {
    match (written, document) {
        (ours, theirs) if ours == theirs => None,
        (Value::Object(ours), Value::Object(theirs)) if is_plain(ours) && is_plain(theirs) => {
            Some(Value::Object(members(ours, theirs)))
        }
        (Value::Array(ours), Value::Array(theirs)) => match common_name(ours, theirs) {
            Some(by) => Some(Value::Object(elements(by, ours, theirs))),
            None => Some(json!({ IS: theirs, WAS: checksum(written) })),
        },
        _ => Some(json!({ IS: document, WAS: checksum(written) })),
    }
}

fn either(written: Option<&Value>, document: Option<&Value>) -> Option<Value> {
    match (written, document) {
        (Some(ours), Some(theirs)) => difference(ours, theirs),
        (None, Some(object @ Value::Object(_))) => Some(json!({ IS: object })),
        (None, Some(other)) => Some(other.clone()),
        (Some(ours), None) => Some(json!({ WAS: checksum(ours) })),
        (None, None) => None,
    }
}

fn members(ours: &Map<String, Value>, theirs: &Map<String, Value>) -> Map<String, Value> {
    let names = theirs.keys().chain(ours.keys().filter(|name| !theirs.contains_key(*name)));
    names.filter_map(|name| Some((name.clone(), either(ours.get(name), theirs.get(name))?))).collect()
}

fn elements(by: &str, ours: &[Value], theirs: &[Value]) -> Map<String, Value> {
    let mut found = Map::from_iter([(BY.to_owned(), by.into())]);
    let absent = ours.iter().filter(|one| find(theirs, by, &name_of(one, by)).is_none());
    for element in theirs.iter().chain(absent) {
        let name = name_of(element, by);
        let difference = either(find(ours, by, &name), find(theirs, by, &name));
        // An element that is only in the document is added whole.
        if let Some(difference) = difference {
            found.insert(name, difference);
        }
    }
    let wanted: Vec<String> = theirs.iter().map(|one| name_of(one, by)).collect();
    let kept = ours.iter().map(|one| name_of(one, by)).filter(|name| wanted.contains(name));
    let added = wanted.iter().filter(|name| find(ours, by, name).is_none()).cloned();
    if kept.chain(added).ne(wanted.iter().cloned()) {
        found.insert(ORDER.to_owned(), wanted.into());
    }
    found
}

/// The member whose text names every element of both lists.
fn common_name(ours: &[Value], theirs: &[Value]) -> Option<&'static str> {
    let names_all = |by: &str, elements: &[Value]| {
        let mut names: Vec<String> = elements.iter().map(|one| name_of(one, by)).collect();
        let sound = names.iter().all(|name| !name.is_empty() && !name.starts_with('$'));
        names.sort();
        names.dedup();
        sound && names.len() == elements.len()
    };
    NAMES.into_iter().find(|by| names_all(by, ours) && names_all(by, theirs))
}

fn name_of(element: &Value, by: &str) -> String {
    match element.get(by) {
        Some(Value::String(name)) => name.clone(),
        Some(name @ (Value::Number(_) | Value::Object(_))) => name.to_string(),
        _ => String::new(),
    }
}

fn find<'v>(elements: &'v [Value], by: &str, name: &str) -> Option<&'v Value> {
    elements.iter().find(|element| name_of(element, by) == name)
}

/// Whether no member could be confused with the wrappers here.
fn is_plain(members: &Map<String, Value>) -> bool {
    !members.keys().any(|name| name.starts_with('$'))
}

fn checksum(value: &Value) -> String {
    format!("{:08x}", crc32fast::hash(value.to_string().as_bytes()))
}

/// The document with the kept parts put back; a note reports parts that no longer fit anywhere.
pub fn restore(written: Value, kept: &Value, notes: &mut Notes) -> Value {
    let mut lost = Vec::new();
    let restored = restored(Some(written), kept, "", &mut lost).unwrap_or(Value::Null);
    lost.iter().for_each(|path| notes.add(format!("what was kept of {path} has no place any more")));
    restored
}

fn restored(written: Option<Value>, kept: &Value, path: &str, lost: &mut Vec<String>) -> Option<Value> {
    let Value::Object(difference) = kept else { return written.or_else(|| Some(kept.clone())) };
    if difference.contains_key(IS) || difference.contains_key(WAS) {
        return replaced(written, difference, path, lost);
    }
    match (written, difference.get(BY).and_then(Value::as_str)) {
        (Some(Value::Object(mut members)), None) => {
            for (name, difference) in difference {
                let path = format!("{path}/{name}");
                match restored(members.get(name).cloned(), difference, &path, lost) {
                    Some(member) => members.insert(name.clone(), member),
                    None => members.shift_remove(name),
                };
            }
            Some(Value::Object(members))
        }
        (Some(Value::Array(elements)), Some(by)) => {
            Some(Value::Array(restored_elements(elements, by, difference, path, lost)))
        }
        (written, _) => {
            lost.push(path.to_owned());
            written
        }
    }
}

fn replaced(
    written: Option<Value>,
    difference: &Map<String, Value>,
    path: &str,
    lost: &mut Vec<String>,
) -> Option<Value> {
    let was = difference.get(WAS).and_then(Value::as_str);
    let unchanged = written.as_ref().map(checksum).as_deref() == was;
    match unchanged {
        true => difference.get(IS).cloned(),
        false => {
            lost.push(path.to_owned());
            written
        }
    }
}

fn restored_elements(
    mut elements: Vec<Value>,
    by: &str,
    difference: &Map<String, Value>,
    path: &str,
    lost: &mut Vec<String>,
) -> Vec<Value> {
    for (name, difference) in difference.iter().filter(|(name, _)| !name.starts_with('$')) {
        let path = format!("{path}/{name}");
        let position = elements.iter().position(|element| name_of(element, by) == *name);
        let element = position.map(|position| elements.remove(position));
        if let Some(element) = restored(element, difference, &path, lost) {
            elements.insert(position.unwrap_or(elements.len()), element);
        }
    }
    if let Some(order) = difference.get(ORDER).and_then(Value::as_array) {
        let rank = |element: &Value| {
            let name = name_of(element, by);
            order.iter().position(|one| one.as_str() == Some(name.as_str())).unwrap_or(order.len())
        };
        elements.sort_by_key(rank);
    }
    elements
}
