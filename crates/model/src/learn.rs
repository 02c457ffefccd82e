//! Learns a model from what is asked of tables: entities from their rows ([`infer`]), access patterns from the
//! shapes of requests.
//!
//! 1. [`shape`]: a request without its values, counted. A server keeps these, bounded; or a log of requests is read.
//! 2. [`pattern`]: the entity and the attributes that a shape is about, by the key templates ([`key`]).
//! 3. Shapes that are the same question become one pattern, with its rate, skew and number of items.
//!
//! What was guessed, and what is not read, is noted above the model.

pub mod infer;
mod key;
mod pattern;
pub mod shape;
pub mod table_contents;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Model;
use crate::draft::{Draft, Import, Notes, Unreadable};
use crate::model::Grouping;
use pattern::{LearnedAction, LearnedPattern, LearnedRead, of_shape};
use shape::{Seen, Shapes};

/// The share of requests from which on a key is called busy.
const SKEW_LEAST: f64 = 0.1;
/// Fewer requests say nothing about skew.
const SKEW_REQUESTS_LEAST: u64 = 100;
/// Fewer answers don't show that there is never more than one item.
const ANSWERS_LEAST: u64 = 3;

/// A model that was learned, and the requests that its patterns come from.
pub struct Learning {
    pub import: Import,
    /// In the order of the model's patterns.
    pub evidence: Vec<Evidence>,
}

/// The requests that a pattern was learned from.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub requests: u64,
    /// The read and write units of one request, as measured.
    pub units_each: Option<f64>,
    /// The pattern as it is written in the model file.
    pub fields: Map<String, Value>,
    /// No request says that the answer needs this order.
    pub is_order_guessed: bool,
    /// No key serves it: it reads everything.
    pub is_unserved: bool,
}

/// The key attributes of tables as DescribeTable shows them.
pub fn key_names<'t>(tables: impl Iterator<Item = &'t Value>) -> shape::KeyNames {
    let schemas = |table: &Value| -> Vec<Value> {
        let indexes = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
        let indexes = indexes.iter().flat_map(|kind| table[*kind].as_array().cloned().unwrap_or_default());
        indexes.map(|index| index["KeySchema"].clone()).chain([table["KeySchema"].clone()]).collect()
    };
    let names = |table: &Value| {
        let schemas = schemas(table);
        let keys = schemas.iter().filter_map(Value::as_array).flatten();
        keys.filter_map(|key| key["AttributeName"].as_str()).map(str::to_owned).collect()
    };
    tables.filter_map(|table| Some((table["TableName"].as_str()?.to_owned(), names(table)))).collect()
}

/// A model of these tables (each in the format `table-contents`) with the patterns of requests that were seen in
/// this many seconds.
pub fn learn(tables: &[Value], shapes: &Shapes, seconds: f64) -> Result<Learning, Unreadable> {
    let mut notes = Notes::default();
    let name = tables.first().and_then(|table| table["Table"]["TableName"].as_str()).unwrap_or("learned");
    let mut draft = Draft::new(name);
    for table in tables {
        table_contents::add(&mut draft, table, &mut notes)?;
    }
    let model = draft.checked()?;
    let mut found: BTreeMap<LearnedPattern, Found> = BTreeMap::new();
    let mut unread: BTreeMap<String, u64> = BTreeMap::new();
    for shape in shapes.all() {
        match of_shape(&model, &shape) {
            Ok((pattern, times)) => found.entry(pattern).or_default().add(&shape.seen, &times),
            Err(reason) => *unread.entry(reason).or_default() += shape.seen.requests,
        }
    }
    let mut patterns: Vec<(LearnedPattern, Found)> = joined(found).into_iter().map(single_items).collect();
    patterns.sort_by_key(|(_, found)| std::cmp::Reverse(found.seen.requests));
    let mut evidence = Vec::new();
    for (pattern, found) in &patterns {
        let fields = fields(pattern, found, seconds);
        draft.add_pattern(&pattern.name(), fields.clone());
        evidence.push(Evidence {
            requests: found.seen.requests,
            units_each: found.seen.units_each(),
            fields,
            is_order_guessed: is_order_guessed(pattern),
            is_unserved: is_unserved(pattern),
        });
    }
    let requests: u64 = shapes.all().iter().map(|shape| shape.seen.requests).sum();
    draft.comment = Some(format!(
        "Learned from {requests} requests in {}. Rates, sizes, counts and skew were measured; names of patterns,\n\
         and `order` where a request asks for none, are guesses.",
        duration(seconds)
    ));
    for (reason, requests) in unread {
        notes.add(format!("{requests} requests are not among the patterns: {reason}"));
    }
    if shapes.left_out() > 0 {
        notes.add(format!("{} requests were of more shapes than are kept", shapes.left_out()));
    }
    for note in shapes.all().iter().flat_map(|shape| pattern::stale(&model, shape)) {
        notes.add(note);
    }
    for (pattern, _) in patterns.iter().filter(|(pattern, _)| is_unserved(pattern)) {
        notes.add(format!("no key serves `{}`: it reads everything", pattern.name()));
    }
    Ok(Learning { import: draft.import(draft.checked()?, notes)?, evidence })
}

/// The name and the fields of the pattern that one request is, for a model of its tables; `None` if it is none.
pub fn pattern_of(
    model: &Model,
    keys: shape::KeyNames,
    operation: &str,
    input: &Value,
) -> Option<(String, Map<String, Value>)> {
    let mut shapes = Shapes::new(keys);
    shapes.note(operation, input, None, 1);
    let (pattern, times) = of_shape(model, shapes.all().first()?).ok()?;
    Some((pattern.name(), pattern.fields(&times)))
}

/// A request that asks for descending order means it; ascending is what it gets unasked.
fn is_order_guessed(pattern: &LearnedPattern) -> bool {
    let is_guess = |read: &LearnedRead| read.order.as_ref().is_some_and(|(_, descending)| !descending);
    pattern.actions.iter().any(|action| matches!(action, LearnedAction::Read(read) if is_guess(read)))
}

fn is_unserved(pattern: &LearnedPattern) -> bool {
    pattern.actions.iter().any(|action| matches!(action, LearnedAction::Read(read) if read.verb == "scan"))
}

/// How often a pattern was seen, and its actions in all of that.
#[derive(Clone, Debug, Default)]
struct Found {
    seen: Seen,
    times: Vec<u64>,
}

impl Found {
    fn add(&mut self, seen: &Seen, times: &[u64]) {
        self.times.resize(times.len(), 0);
        for (sum, times) in self.times.iter_mut().zip(times) {
            *sum += times * seen.requests;
        }
        self.seen = self.seen.together(seen);
    }

    fn join(&mut self, other: &Found) {
        self.times.resize(other.times.len(), 0);
        for (sum, times) in self.times.iter_mut().zip(&other.times) {
            *sum += times;
        }
        self.seen = self.seen.together(&other.seen);
    }

    /// How often each action is in one request, on average.
    fn times(&self) -> Vec<u64> {
        let requests = self.seen.requests.max(1);
        self.times.iter().map(|sum| (sum + requests / 2) / requests).map(|times| times.max(1)).collect()
    }
}

/// Reads that differ only in a word ask for any value of that attribute, and updates that differ only in a new value
/// set any.
fn joined(found: BTreeMap<LearnedPattern, Found>) -> BTreeMap<LearnedPattern, Found> {
    let mut by_question: BTreeMap<LearnedPattern, Vec<(LearnedPattern, Found)>> = BTreeMap::new();
    for (pattern, found) in found {
        let mut question = pattern.clone();
        for action in &mut question.actions {
            match action {
                LearnedAction::Read(read) => read.known.values_mut().for_each(|word| *word = None),
                LearnedAction::Write(write) => {
                    let open = write.set.values_mut();
                    let open = open.filter(|value| value.as_ref().is_some_and(|value| value.from.is_none()));
                    open.for_each(|value| *value = None);
                }
            }
        }
        by_question.entry(question).or_default().push((pattern, found));
    }
    let mut joined = BTreeMap::new();
    for (question, mut asked) in by_question {
        match asked.pop() {
            Some((pattern, found)) if asked.is_empty() => joined.insert(pattern, found),
            Some((_, mut all)) => {
                asked.iter().for_each(|(_, found)| all.join(found));
                joined.insert(question, all)
            }
            None => None,
        };
    }
    joined
}

/// A Query of an index that never found more than one item asks for one.
fn single_items((mut pattern, found): (LearnedPattern, Found)) -> (LearnedPattern, Found) {
    let is_one = found.seen.returned_max <= 1 && found.seen.answers >= ANSWERS_LEAST;
    if let ([LearnedAction::Read(read)], Grouping::Single, true) =
        (pattern.actions.as_mut_slice(), pattern.grouping, is_one)
    {
        let is_whole = read.terms.is_empty() && read.filter.is_empty() && read.entities.len() == 1;
        if read.verb == "query" && read.index.is_some() && read.limit.is_none() && is_whole && !read.counts {
            read.verb = "get";
            read.order = None;
        }
    }
    (pattern, found)
}

fn fields(pattern: &LearnedPattern, found: &Found, seconds: f64) -> Map<String, Value> {
    let mut fields = pattern.fields(&found.times());
    let seen = &found.seen;
    let asked = seen.requests.saturating_sub(seen.further_pages);
    let executions = asked as f64 / pattern.fan_out() as f64;
    fields.insert("rate".to_owned(), rate(executions / seconds).into());
    let is_list = fields.contains_key("query") || fields.contains_key("scan");
    if is_list && seen.answers > 0 && seen.returned > 0 {
        let typical = (seen.returned as f64 / executions.max(1.0)).round().max(1.0);
        fields.insert("returns".to_owned(), json!(typical as u64));
    }
    if seen.failed > 0 && seen.requests > 0 {
        // A share that is not shown as 0.
        let percent = (seen.failed as f64 * 100.0 / seen.requests as f64).round().max(1.0);
        fields.insert("fails".to_owned(), format!("{percent:.0}%").into());
    }
    if seen.further_pages > 0 {
        fields.insert("paged".to_owned(), true.into());
    }
    if let Some(share) = seen.top_share().filter(|share| *share >= SKEW_LEAST)
        && seen.requests >= SKEW_REQUESTS_LEAST
    {
        fields.insert("skew".to_owned(), format!("top {:.0}%", share * 100.0).into());
    }
    fields
}

/// Requests per second as people read them: two digits, in the largest unit in which the number is at least 1.
fn rate(per_second: f64) -> String {
    let units = [(1.0, "s"), (60.0, "min"), (3600.0, "h"), (86_400.0, "day")];
    let fitting = units.iter().find(|(seconds, _)| per_second * seconds >= 1.0).unwrap_or(&units[3]);
    let amount = per_second * fitting.0;
    let step = 10_f64.powf(amount.log10().floor() - 1.0).max(0.01);
    let number = format!("{:.2}", (amount / step).round() * step);
    format!("{}/{}", number.trim_end_matches('0').trim_end_matches('.'), fitting.1)
}

fn duration(seconds: f64) -> String {
    match seconds < 120.0 {
        true => format!("{seconds:.0} seconds"),
        false => format!("{:.0} minutes", seconds / 60.0),
    }
}
