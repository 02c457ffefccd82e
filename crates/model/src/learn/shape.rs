//! The shapes of requests, counted. A shape is a request without what differs from one to the next: of texts the words
//! are kept and values become `?` (`CUST#?`), of everything else the type.
//!
//! What is kept is bounded: [`SHAPES_MAX`] shapes, each of at most [`SHAPE_BYTES_MAX`], with [`KEYS_MAX`] counters of
//! hashed partition keys. Requests that found no place are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

const SHAPES_MAX: usize = 2048;
const SHAPE_BYTES_MAX: usize = 8 * 1024;
/// Keys that are counted for each shape. A key that has more than one in this many of its requests is among them.
const KEYS_MAX: usize = 32;
/// Segments of a text that are told apart.
const SEGMENTS_MAX: usize = 16;
const WORD_BYTES_MAX: usize = 40;
/// The member of an answer that has its measured units.
pub const UNITS: &str = "units";
/// What stands for a value.
pub const ANY: &str = "?";
/// Sorts after everything that can follow a prefix: a bound, not a value.
const HIGHEST: char = '\u{10FFFF}';

/// Members that tell what is asked. Whatever else a request has is about how it is answered.
const MEMBERS: [&str; 13] = [
    "TableName",
    "IndexName",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
    "UpdateExpression",
    "ConditionExpression",
    "ExpressionAttributeNames",
    "Limit",
    "ScanIndexForward",
    "ConsistentRead",
    "Select",
    "Statement",
];
/// Operations on items.
const OPERATIONS: [&str; 13] = [
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactGetItems",
    "TransactWriteItems",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "ExecuteTransaction",
];

/// The key attributes of each table and its indexes. Only of these are the words in an item kept.
pub type KeyNames = BTreeMap<String, BTreeSet<String>>;

/// What was seen in a time.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    keys: KeyNames,
    seen: BTreeMap<String, Seen>,
    /// Requests of shapes that found no place.
    left_out: u64,
}

/// How often one shape was seen, and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub requests: u64,
    /// Those that go on where an earlier one of the same read ended.
    pub further_pages: u64,
    /// Items that were returned, and the most by one request.
    pub returned: u64,
    pub returned_max: u64,
    /// Requests whose items were counted.
    pub answers: u64,
    /// The read and write units of requests that were measured, and how many these are.
    pub units: f64,
    pub metered: u64,
    /// Writes whose condition did not hold.
    pub failed: u64,
    /// Requests by the hash of their partition key: the busiest (Misra and Gries).
    keys: BTreeMap<u64, u64>,
}

impl Seen {
    /// The share of the busiest partition key, if the counters have one.
    pub fn top_share(&self) -> Option<f64> {
        let top = *self.keys.values().max()?;
        (self.requests > 0).then(|| top as f64 / self.requests as f64)
    }

    /// What a request used on average, if any was measured.
    pub fn units_each(&self) -> Option<f64> {
        (self.metered > 0).then(|| self.units / self.metered as f64)
    }

    fn count_key(&mut self, key: u64, times: u64) {
        if self.keys.len() < KEYS_MAX || self.keys.contains_key(&key) {
            *self.keys.entry(key).or_default() += times;
            return;
        }
        let least = self.keys.values().min().copied().unwrap_or(0).min(times);
        self.keys.retain(|_, count| {
            *count -= least;
            *count > 0
        });
        if times > least {
            self.keys.insert(key, times - least);
        }
    }

    fn add(&mut self, other: &Seen) {
        self.requests += other.requests;
        self.further_pages += other.further_pages;
        self.returned += other.returned;
        self.returned_max = self.returned_max.max(other.returned_max);
        self.answers += other.answers;
        self.units += other.units;
        self.metered += other.metered;
        self.failed += other.failed;
    }

    /// Both together. Keys of both are counted apart, so the busiest is that of one of them.
    pub fn together(&self, other: &Seen) -> Seen {
        let mut both = self.clone();
        both.add(other);
        if other.keys.values().max() > both.keys.values().max() {
            both.keys.clone_from(&other.keys);
        }
        both
    }
}

/// One shape: its operation, the request, how often.
#[derive(Clone, Debug)]
pub struct Shape {
    pub operation: String,
    pub input: Value,
    pub seen: Seen,
}

impl Shapes {
    pub fn new(keys: KeyNames) -> Shapes {
        Shapes { keys, ..Shapes::default() }
    }

    /// Counts a request that was answered: several times if others like it were not looked at. Of the answer only the
    /// number of items is read, and its `units` if they were measured.
    pub fn note(&mut self, operation: &str, input: &Value, answer: Option<&Value>, times: u64) {
        self.count(operation, input, answer, times);
    }

    /// A write whose condition did not hold.
    pub fn note_failed(&mut self, operation: &str, input: &Value, times: u64) {
        if let Some(seen) = self.count(operation, input, None, times) {
            seen.failed += times;
        }
    }

    fn count(
        &mut self,
        operation: &str,
        input: &Value,
        answer: Option<&Value>,
        times: u64,
    ) -> Option<&mut Seen> {
        if !OPERATIONS.contains(&operation) {
            return None;
        }
        let shape = shape(input, &self.keys);
        let name = json!([operation, shape]).to_string();
        let has_place =
            self.seen.contains_key(&name) || (self.seen.len() < SHAPES_MAX && name.len() <= SHAPE_BYTES_MAX);
        if !has_place {
            self.left_out += times;
            return None;
        }
        let seen = self.seen.entry(name).or_default();
        seen.requests += times;
        seen.further_pages += times * u64::from(input["ExclusiveStartKey"].is_object());
        if let Some(count) = answer.and_then(|answer| answer["Count"].as_u64()) {
            seen.answers += times;
            seen.returned += times * count;
            seen.returned_max = seen.returned_max.max(count);
        }
        if let Some(units) = answer.and_then(|answer| answer[UNITS].as_f64()) {
            seen.units += units * times as f64;
            seen.metered += times;
        }
        if let Some(key) = partition(input, &self.keys) {
            seen.count_key(key, times);
        }
        Some(seen)
    }

    /// The tables that were asked for items.
    pub fn tables(&self) -> BTreeSet<String> {
        let mut tables = BTreeSet::new();
        for shape in self.all() {
            let named = |input: &Value| input["TableName"].as_str().map(str::to_owned);
            tables.extend(named(&shape.input));
            let actions = shape.input["TransactItems"].as_array().into_iter().flatten();
            tables.extend(actions.filter_map(|one| named(one.as_object()?.values().next()?)));
            tables.extend(shape.input["RequestItems"].as_object().into_iter().flat_map(Map::keys).cloned());
        }
        tables
    }

    /// Those that ask for items of this table, and perhaps of others with them.
    pub fn of_table(&self, table: &str) -> Shapes {
        let mut own = Shapes { keys: self.keys.clone(), left_out: self.left_out, ..Shapes::default() };
        for (name, seen) in &self.seen {
            let one = Shapes { seen: BTreeMap::from([(name.clone(), seen.clone())]), ..Shapes::default() };
            if one.tables().contains(table) {
                own.seen.extend(one.seen);
            }
        }
        own
    }

    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The shapes, the most frequent first.
    pub fn all(&self) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = self
            .seen
            .iter()
            .filter_map(|(name, seen)| {
                let mut parts: Vec<Value> = serde_json::from_str(name).ok()?;
                let input = parts.pop()?;
                let operation = parts.pop()?.as_str()?.to_owned();
                Some(Shape { operation, input, seen: seen.clone() })
            })
            .collect();
        shapes.sort_by_key(|shape| std::cmp::Reverse(shape.seen.requests));
        shapes
    }

    /// As a server hands them out.
    pub fn to_json(&self) -> Value {
        let shapes = self.all().into_iter().map(|shape| {
            let Seen { requests, further_pages, returned, returned_max, answers, .. } = shape.seen;
            let Seen { units, metered, failed, .. } = shape.seen;
            json!({
                "operation": shape.operation, "input": shape.input, "requests": requests,
                "furtherPages": further_pages, "returned": returned, "returnedMax": returned_max,
                "answers": answers, "units": units, "metered": metered, "failed": failed,
                "topKey": shape.seen.keys.values().max(),
            })
        });
        json!({ "shapes": shapes.collect::<Vec<_>>(), "leftOut": self.left_out })
    }

    pub fn from_json(document: &Value) -> Option<Shapes> {
        let mut shapes = Shapes { left_out: document["leftOut"].as_u64()?, ..Shapes::default() };
        for one in document["shapes"].as_array()?.iter().take(SHAPES_MAX) {
            let number = |member: &str| one[member].as_u64();
            let seen = Seen {
                requests: number("requests")?,
                further_pages: number("furtherPages")?,
                returned: number("returned")?,
                returned_max: number("returnedMax")?,
                answers: number("answers")?,
                units: one[UNITS].as_f64().unwrap_or_default(),
                metered: number("metered").unwrap_or_default(),
                // A server of an earlier release does not count them.
                failed: number("failed").unwrap_or(0),
                keys: number("topKey").map(|count| (0, count)).into_iter().collect(),
            };
            shapes.seen.insert(json!([one["operation"], one["input"]]).to_string(), seen);
        }
        Some(shapes)
    }
}

/// The hash of a request's partition key: of the first key attribute's value that it names.
fn partition(input: &Value, keys: &KeyNames) -> Option<u64> {
    let names = keys.get(input["TableName"].as_str()?)?;
    let values = match (&input["Key"], &input["Item"], &input["ExpressionAttributeValues"]) {
        (Value::Object(key), ..) => {
            key.iter().find(|(name, _)| names.contains(*name)).map(|(_, value)| value)
        }
        (_, Value::Object(item), _) => {
            item.iter().find(|(name, _)| names.contains(*name)).map(|(_, one)| one)
        }
        (.., Value::Object(values)) if input["KeyConditionExpression"].is_string() => values.values().next(),
        _ => None,
    };
    let mut hasher = DefaultHasher::new();
    values?.to_string().hash(&mut hasher);
    Some(hasher.finish())
}

fn shape(input: &Value, keys: &KeyNames) -> Value {
    let mut shape = Map::new();
    for name in MEMBERS {
        if let Some(member) = input.get(name).filter(|member| !member.is_null()) {
            shape.insert(name.to_owned(), member.clone());
        }
    }
    let table = input["TableName"].as_str().unwrap_or_default();
    if let Some(key) = input["Key"].as_object() {
        shape.insert("Key".to_owned(), forms(key));
    }
    if let Some(item) = input["Item"].as_object() {
        shape.insert("Item".to_owned(), item_form(item, table, keys));
    }
    if let Some(values) = input["ExpressionAttributeValues"].as_object() {
        shape.insert("ExpressionAttributeValues".to_owned(), forms(values));
    }
    if let Some(items) = input["TransactItems"].as_array() {
        let action = |one: &Value| -> Value {
            let members = one.as_object().into_iter().flatten();
            members
                .map(|(verb, inner)| (verb.clone(), self::shape(inner, keys)))
                .collect::<Map<_, _>>()
                .into()
        };
        shape.insert("TransactItems".to_owned(), items.iter().map(action).collect());
    }
    if let Some(tables) = input["RequestItems"].as_object() {
        let tables = tables.iter().map(|(table, asked)| (table.clone(), batch(asked, table, keys)));
        shape.insert("RequestItems".to_owned(), Value::Object(tables.collect()));
    }
    Value::Object(shape)
}

/// What a batch asks of one table: `Keys`, or a list of puts and deletes.
fn batch(asked: &Value, table: &str, keys: &KeyNames) -> Value {
    let key = |key: &Value| key.as_object().map_or(Value::Null, forms);
    match asked {
        Value::Array(writes) => {
            let write =
                |one: &Value| match (one["PutRequest"]["Item"].as_object(), &one["DeleteRequest"]["Key"]) {
                    (Some(item), _) => json!({ "PutRequest": { "Item": item_form(item, table, keys) } }),
                    (None, deleted) => json!({ "DeleteRequest": { "Key": key(deleted) } }),
                };
            writes.iter().map(write).collect()
        }
        asked => {
            let keys = asked["Keys"].as_array().into_iter().flatten().map(key);
            json!({ "Keys": keys.collect::<Vec<_>>(), "ConsistentRead": asked["ConsistentRead"] == true })
        }
    }
}

fn forms(values: &Map<String, Value>) -> Value {
    Value::Object(values.iter().map(|(name, value)| (name.clone(), value_form(value))).collect())
}

/// The keys of an item; of a table whose keys are not known, everything.
fn item_form(item: &Map<String, Value>, table: &str, keys: &KeyNames) -> Value {
    let is_key = |name: &&String| keys.get(table).is_none_or(|names| names.contains(*name));
    let known = item.keys().filter(is_key).map(|name| (name.clone(), value_form(&item[name])));
    Value::Object(known.collect())
}

fn value_form(value: &Value) -> Value {
    let Some((tag, inner)) = value.as_object().and_then(|value| value.iter().next()) else {
        return Value::Null;
    };
    match (tag.as_str(), inner.as_str()) {
        ("S", Some(text)) => json!({ "S": form(text) }),
        ("BOOL", _) => json!({ "BOOL": inner }),
        ("NULL", _) => json!({ "NULL": true }),
        ("N", _) => json!({ "N": "0" }),
        ("B", _) => json!({ "B": "" }),
        ("L", _) => json!({ "L": [] }),
        ("M", _) => json!({ "M": {} }),
        ("NS", _) => json!({ "NS": ["0"] }),
        (tag, _) => json!({ tag: [ANY] }),
    }
}

/// `ORDER#2026-11-17#o1` -> `ORDER#?#?`. A word is in capitals, or stands in front of a separator at the beginning.
pub fn form(text: &str) -> String {
    if text.starts_with('$') {
        return labelled_form(text);
    }
    let is_usual = text.contains(['#', '|']);
    let is_separator = |c: char| match is_usual {
        true => c == '#' || c == '|',
        false => c == ':' || c == '/' || c == '~',
    };
    let head = text.split(is_separator).next().unwrap_or_default();
    if !is_usual && (head.len() == text.len() || !is_word(head)) {
        return segment(text, false);
    }
    let mut form = String::new();
    let mut rest = text;
    for position in 0..SEGMENTS_MAX {
        let end = rest.find(is_separator).unwrap_or(rest.len());
        form.push_str(&segment(&rest[..end], position == 0 && end < rest.len()));
        rest = &rest[end..];
        let Some(separator) = rest.chars().next() else { return form };
        form.push(separator);
        rest = &rest[separator.len_utf8()..];
    }
    form + ANY
}

/// ElectroDB's: `$taskapp#employee_e1` -> `$taskapp#employee_?`. Labels stay, and the names that are no label.
fn labelled_form(text: &str) -> String {
    let segment = |segment: &str| {
        let name = segment.strip_prefix('$').unwrap_or(segment);
        match name.split_once('_') {
            Some((label, value)) if is_word(label) => {
                let dollar = &segment[..segment.len() - name.len()];
                let value = if value.is_empty() { "" } else { ANY };
                format!("{dollar}{label}_{value}")
            }
            _ if is_word(name) && segment.starts_with('$') => segment.to_owned(),
            _ if name.is_empty() => segment.to_owned(),
            _ => ANY.to_owned(),
        }
    };
    let segments: Vec<String> = text.split('#').take(SEGMENTS_MAX).map(segment).collect();
    segments.join("#")
}

fn segment(text: &str, is_prefix: bool) -> String {
    let plain = text.trim_end_matches(HIGHEST);
    let bound = &text[plain.len()..];
    let is_shouted = is_word(plain) && !plain.chars().any(char::is_lowercase);
    match plain.is_empty() || is_shouted || (is_prefix && is_word(plain)) {
        true => text.to_owned(),
        false => format!("{ANY}{}", bound.chars().next().map_or("", |_| "\u{10FFFF}")),
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= WORD_BYTES_MAX
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|c| c.is_ascii_alphabetic() || c == b'_' || c == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_and_values_do_not() {
        for (text, expected) in [
            ("CUST#a1b2", "CUST#?"),
            ("room#r7", "room#?"),
            ("ORDER#2026-11-17T10:00:00Z#o1", "ORDER#?#?"),
            ("STATUS#OPEN#3", "STATUS#OPEN#?"),
            ("PROFILE", "PROFILE"),
            ("alice", "?"),
            ("alice@example.com", "?"),
            ("2026-11-17T10:00:00Z", "?"),
            ("book:978", "book:?"),
            ("$taskapp#employee_e1", "$taskapp#employee_?"),
            ("$assignments#task_1#project_", "$assignments#task_?#project_"),
            ("ORDER#", "ORDER#"),
            ("ORDER#\u{10FFFF}", "ORDER#\u{10FFFF}"),
            ("SUM#2026\u{10FFFF}", "SUM#?\u{10FFFF}"),
        ] {
            assert_eq!(form(text), expected, "{text}");
        }
    }

    #[test]
    fn shapes_are_bounded_and_what_is_left_out_is_counted() {
        let mut shapes = Shapes::default();
        for number in 0..SHAPES_MAX + 10 {
            shapes.note("Scan", &json!({ "TableName": format!("t{number}") }), None, 1);
        }
        assert_eq!((shapes.all().len(), shapes.left_out()), (SHAPES_MAX, 10));
        shapes.note("Scan", &json!({ "TableName": "t1" }), None, 1);
        assert_eq!(shapes.all()[0].seen.requests, 2);
        let again = Shapes::from_json(&shapes.to_json()).expect("what was written");
        assert_eq!(again.to_json(), shapes.to_json());
    }

    #[test]
    fn a_busy_key_is_found_with_its_share() {
        let keys = KeyNames::from([("t".to_owned(), BTreeSet::from(["pk".to_owned()]))]);
        let mut shapes = Shapes::new(keys);
        for number in 0..1000 {
            let key = if number % 2 == 0 { "hot".to_owned() } else { format!("k{number}") };
            shapes.note("GetItem", &json!({ "TableName": "t", "Key": { "pk": { "S": key } } }), None, 1);
        }
        let share = shapes.all()[0].seen.top_share().expect("a key");
        assert!((0.45..=0.5).contains(&share), "{share}");
    }
}
