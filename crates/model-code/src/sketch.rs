//! The requests of an example, prepared for every language: one call, and the loop around it.

use api::Request;
use serde_json::{Map, Value as Json};

use crate::literal::{Literal, LiteralValue, Shards, members};
use crate::{Effect, ReadLoop, Sending};

/// Members of requests in the order in which people read them.
const ORDER: [&str; 19] = [
    "TableName",
    "IndexName",
    "Key",
    "Keys",
    "Item",
    "KeyConditionExpression",
    "FilterExpression",
    "UpdateExpression",
    "ConditionExpression",
    "ProjectionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "Select",
    "ScanIndexForward",
    "ConsistentRead",
    "Limit",
    "RequestItems",
    "TransactItems",
    "ReturnValues",
];

/// One call, and the loop around it.
pub struct Sketch {
    /// The members of the call.
    pub call: Vec<(String, Literal)>,
    pub around: Repetition,
}

/// How often a call is made.
pub enum Repetition {
    Once,
    /// The call names `shard`.
    Shards(Shards),
    /// The call names the variable; these are its values.
    Each {
        variable: &'static str,
        choices: Vec<Literal>,
    },
}

/// What the function of a pattern does, decided for all languages.
pub enum Form<'s> {
    /// Each sketch in turn.
    Write(&'s [Sketch]),
    /// A batch of writes, sent again until nothing is left unprocessed.
    BatchWrite(&'s Sketch),
    /// A batch of reads, sent again until nothing is left unprocessed.
    BatchGet(&'s Sketch),
    TransactGet(&'s Sketch),
    /// One item.
    Get(&'s Sketch),
    /// One answer, whose member of this name is the result.
    Answer(&'s Sketch, &'static str),
    /// Several requests or pages, whose answers are collected.
    Collect(&'s [Sketch], &'s ReadLoop),
}

impl<'s> Form<'s> {
    pub fn of(operation: &str, effect: &'s Effect, sketches: &'s [Sketch]) -> Form<'s> {
        let reading = match effect {
            Effect::Finds { reading, .. } => reading,
            Effect::Leaves { .. } => {
                return match (operation, sketches) {
                    ("BatchWriteItem", [sketch]) => Form::BatchWrite(sketch),
                    _ => Form::Write(sketches),
                };
            }
        };
        let once = |sketch: &Sketch| matches!(sketch.around, Repetition::Once);
        match (operation, sketches) {
            ("BatchGetItem", [sketch]) => Form::BatchGet(sketch),
            ("TransactGetItems", [sketch]) => Form::TransactGet(sketch),
            ("GetItem", [sketch]) if once(sketch) => Form::Get(sketch),
            (_, [sketch]) if once(sketch) && !reading.paged => {
                Form::Answer(sketch, if reading.counts { "Count" } else { "Items" })
            }
            _ => Form::Collect(sketches, reading),
        }
    }
}

/// A request as it goes over the wire.
pub fn body(request: &Request) -> Json {
    let mut out = Vec::new();
    request.write_json(&mut out);
    ordered(serde_json::from_slice(&out).unwrap_or(Json::Null))
}

fn ordered(json: Json) -> Json {
    match json {
        Json::Array(elements) => elements.into_iter().map(ordered).collect(),
        Json::Object(members) => {
            let place = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
            let mut members: Vec<(String, Json)> = members.into_iter().collect();
            members.sort_by_key(|(name, _)| place(name));
            let inner = |(name, inner): (String, Json)| match name.as_str() {
                "Key" | "Keys" | "Item" | "ExpressionAttributeNames" | "ExpressionAttributeValues" => {
                    (name, inner)
                }
                _ => (name, ordered(inner)),
            };
            members.into_iter().map(inner).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// Several requests of a pattern differ in the values of one member; otherwise each gets a sketch of its own.
pub fn sketches(sending: &Sending) -> Vec<Sketch> {
    let calls: Vec<Vec<(String, Literal)>> =
        sending.requests.iter().map(|request| members(&body(request))).collect();
    match looped(&calls) {
        Some(sketch) => vec![sketch],
        None => calls.into_iter().map(|call| Sketch { call, around: Repetition::Once }).collect(),
    }
}

fn looped(calls: &[Vec<(String, Literal)>]) -> Option<Sketch> {
    let (first, others) = calls.split_first().filter(|(_, others)| !others.is_empty())?;
    let alike = |call: &Vec<(String, Literal)>| {
        call.len() == first.len() && call.iter().zip(first).all(|((one, _), (other, _))| one == other)
    };
    let differs = |position: &usize| others.iter().any(|call| call[*position] != first[*position]);
    if !others.iter().all(alike) {
        return None;
    }
    let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
    let [position] = differing[..] else { return None };
    let choices: Vec<Literal> = calls.iter().map(|call| call[position].1.clone()).collect();
    let (literal, around) = match shards(&choices) {
        Some((literal, shards)) => (literal, Repetition::Shards(shards)),
        None => {
            let variable = if first[position].0 == "Key" { "key" } else { "values" };
            (Literal::Variable(variable), Repetition::Each { variable, choices })
        }
    };
    let mut call = first.clone();
    call[position].1 = literal;
    Some(Sketch { call, around })
}

/// Maps that differ in one text only, and there only in the number of the shard.
fn shards(choices: &[Literal]) -> Option<(Literal, Shards)> {
    let maps: Vec<&Vec<(String, Literal)>> = choices
        .iter()
        .map(|choice| match choice {
            Literal::Map(entries) => Some(entries),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let first = *maps.first()?;
    let differs = |position: &usize| maps.iter().any(|map| map.get(*position) != first.get(*position));
    let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
    let [position] = differing[..] else { return None };
    let texts: Vec<&str> = maps
        .iter()
        .map(|map| match &map.get(position)?.1 {
            Literal::Value(LiteralValue::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let shards = numbered(&texts)?;
    let mut map = first.clone();
    map[position].1 = Literal::Value(LiteralValue::Sharded(shards.clone()));
    Some((Literal::Map(map), shards))
}

/// Texts that differ only in their number, counted from 0.
fn numbered(texts: &[&str]) -> Option<Shards> {
    let first = *texts.first()?;
    let shared = |one: &str, other: &str| one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let before = texts.iter().map(|text| shared(first, text)).min()?;
    let before: String = first.chars().take(before).collect();
    let rests: Vec<&str> = texts.iter().map(|text| &text[before.len()..]).collect();
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    let after = rests.iter().map(|rest| shared(&reversed(rests[0]), &reversed(rest))).min()?;
    let after: String = reversed(&reversed(rests[0]).chars().take(after).collect::<String>());
    let numbers: Vec<&str> = rests.iter().map(|rest| &rest[..rest.len() - after.len()]).collect();
    let width = numbers.first()?.len();
    let all = |text: &dyn Fn(usize) -> String| numbers.iter().enumerate().all(|(at, one)| **one == text(at));
    let width = if all(&|at| at.to_string()) {
        None
    } else if all(&|at| format!("{at:0width$}")) {
        Some(width)
    } else {
        return None;
    };
    Some(Shards { before, after, count: texts.len(), width })
}
