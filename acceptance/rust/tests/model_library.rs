//! `lodestone model code --language rust`: modules with structs, key builders and functions with parameters.
//!
//! The build writes the modules of all example models, and of one with all kinds of attributes and requests; they
//! compile without a warning. Each function is called with values of the example data, on tables that the product makes
//! and fills: it sends exactly the requests that `prove` proves, and finds and leaves what the pattern means.

#![deny(warnings)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;
use std::sync::{Arc, Mutex};

use acceptance::{Key, Lodestone, lodestone};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value as Json, json};

include!(concat!(env!("OUT_DIR"), "/models.rs"));

type Item = HashMap<String, AttributeValue>;

/// The ticket may enter the index or be in it: the function writes the whole key, the example only what differs.
const MAY_ENTER: &str = "escalate";
/// What only fills items up to their size.
const FILLER: &str = "_filler";

/// The bodies of all requests.
#[derive(Clone, Debug, Default)]
struct Sent(Arc<Mutex<Vec<Json>>>);

impl Intercept for Sent {
    fn name(&self) -> &'static str {
        "Sent"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.request().body().bytes().ok_or("a body in memory")?;
        self.0.lock().map_err(|_| "a test failed")?.push(serde_json::from_slice(body)?);
        Ok(())
    }
}

/// A server with the tables of a model and its example data.
struct Filled {
    _server: Lodestone,
    client: Client,
    sent: Sent,
    /// The items by their table.
    stored: Vec<(String, Vec<Item>)>,
}

impl Filled {
    async fn with(model: &str) -> Filled {
        let server = Lodestone::start(&[]);
        server.apply(model);
        let any_key = Key { id: "ACCEPTANCE".to_owned(), secret: "secret".to_owned() };
        let sent = Sent::default();
        let client = Client::from_conf(server.config(&any_key).interceptor(sent.clone()).build());
        let tables = client.list_tables().send().await.unwrap().table_names.unwrap_or_default();
        let mut filled = Filled { _server: server, client, sent, stored: Vec::new() };
        for table in tables {
            let items = filled.contents(&table).await;
            filled.stored.push((table, items));
        }
        filled
    }

    async fn contents(&self, table: &str) -> Vec<Item> {
        let pages = self.client.scan().table_name(table).consistent_read(true).into_paginator();
        pages.items().send().collect::<Result<_, _>>().await.unwrap()
    }

    /// What the example data has under a key.
    fn stored(&self, table: Option<&str>, key: &Json) -> Option<&Item> {
        let tables = self.stored.iter().filter(|(name, _)| table.is_none_or(|table| table == name));
        let has_key = |item: &&Item| {
            members(key).all(|(name, value)| item.get(name).map(json_of).as_ref() == Some(value))
        };
        tables.flat_map(|(_, items)| items).find(has_key)
    }

    /// What is stored now; then everything is as it was, for the next pattern starts from the example data too.
    async fn check_left(&self, leaves: &Json) {
        for left in leaves.as_array().unwrap() {
            let (table, key) = (left["table"].as_str().unwrap(), key_of(&left["key"]));
            let read = self.client.get_item().table_name(table).set_key(Some(key.clone()));
            let item = read.consistent_read(true).send().await.unwrap().item;
            let item = item.map(|item| {
                let own = item.iter().filter(|(name, _)| *name != FILLER);
                own.map(|(name, value)| (name.clone(), json_of(value))).collect::<Json>()
            });
            assert_eq!(normal(&item.unwrap_or(Json::Null)), normal(&left["item"]), "{}", left["key"]);
            match self.stored(Some(table), &left["key"]) {
                Some(item) => self.put(table, item).await,
                None => self.delete(table, key).await,
            }
        }
    }

    async fn put(&self, table: &str, item: &Item) {
        self.client.put_item().table_name(table).set_item(Some(item.clone())).send().await.unwrap();
    }

    async fn delete(&self, table: &str, key: Item) {
        self.client.delete_item().table_name(table).set_key(Some(key)).send().await.unwrap();
    }
}

fn members(json: &Json) -> impl Iterator<Item = (&String, &Json)> {
    json.as_object().into_iter().flatten()
}

fn json_of(value: &AttributeValue) -> Json {
    let bytes = |bytes: &Blob| aws_smithy_types::base64::encode(bytes);
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(one) => json!({ "B": bytes(one) }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        AttributeValue::Ss(members) => json!({ "SS": members }),
        AttributeValue::Ns(members) => json!({ "NS": members }),
        AttributeValue::Bs(members) => json!({ "BS": members.iter().map(bytes).collect::<Vec<_>>() }),
        AttributeValue::L(elements) => json!({ "L": elements.iter().map(json_of).collect::<Vec<_>>() }),
        AttributeValue::M(entries) => {
            json!({ "M": entries.iter().map(|(name, one)| (name.clone(), json_of(one))).collect::<Json>() })
        }
        _ => json!({ "NULL": true }),
    }
}

fn key_of(json: &Json) -> Item {
    let part = |(name, value): (&String, &Json)| {
        let text = |of: &str| value[of].as_str().map(str::to_owned);
        let part = text("S").map(AttributeValue::S).or(text("N").map(AttributeValue::N));
        (name.clone(), part.expect("keys are texts and numbers"))
    };
    members(json).map(part).collect()
}

/// Without what the SDK adds, and sets in order.
fn normal(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let own = members.iter().filter(|(name, _)| *name != "ClientRequestToken");
            own.map(|(name, value)| (name.clone(), normal(value))).collect()
        }
        Json::Array(elements) => {
            let mut all: Vec<Json> = elements.iter().map(normal).collect();
            all.sort_by_key(Json::to_string);
            Json::Array(all)
        }
        other => other.clone(),
    }
}

/// The parts of a printed value that a comma divides, outside of brackets and texts.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut is_text, mut is_escaped, mut begin) = (0, false, false, 0);
    let mut parts = Vec::new();
    for (at, one) in text.char_indices() {
        match one {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// `Name { field: value, … }`.
fn fields(text: &str) -> Option<BTreeMap<&str, &str>> {
    let (name, inside) = text.strip_suffix('}')?.split_once(" {")?;
    let is_name = name.chars().all(|one| one.is_ascii_alphanumeric());
    is_name.then(|| parts(inside).into_iter().filter_map(|part| part.split_once(": ")).collect())
}

/// The fields of all printed records, of one entity or of several.
fn records(text: &str) -> Vec<BTreeMap<&str, &str>> {
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return parts(inside).into_iter().flat_map(records).collect();
    }
    if let Some(inside) = text.strip_prefix("Some(").and_then(|text| text.strip_suffix(')')) {
        return records(inside);
    }
    let Some(fields) = fields(text) else { return Vec::new() };
    match fields.get("items") {
        Some(items) if text.starts_with("Page {") => records(items),
        _ if fields
            .values()
            .all(|value| value.starts_with('[') && !records(value).is_empty() || *value == "[]") =>
        {
            fields.values().flat_map(|value| records(value)).collect()
        }
        _ => vec![fields],
    }
}

/// `createdAt` -> `created_at`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for one in name.chars() {
        if one.is_ascii_uppercase() && snake.ends_with(|last: char| last.is_ascii_lowercase()) {
            snake.push('_');
        }
        snake.push(if one == '-' { '_' } else { one.to_ascii_lowercase() });
    }
    snake
}

/// How fields print an attribute's value: a number is one with all its digits, or a whole one.
fn printed(value: &AttributeValue) -> Vec<String> {
    let numbers = |all: &[String]| all.iter().map(|one| format!("Number({one:?})")).collect::<Vec<_>>();
    match value {
        AttributeValue::S(text) => vec![format!("{text:?}")],
        AttributeValue::N(number) => vec![format!("Number({number:?})"), number.clone()],
        AttributeValue::Bool(flag) => vec![flag.to_string()],
        AttributeValue::B(bytes) => vec![format!("{:?}", bytes.as_ref())],
        AttributeValue::Ss(all) => vec![format!("{:?}", all.iter().collect::<BTreeSet<_>>())],
        AttributeValue::Ns(all) if all.len() == 1 => vec![format!("{{{}}}", numbers(all).concat())],
        AttributeValue::Bs(all) => {
            vec![format!("{:?}", all.iter().map(|one| one.as_ref().to_vec()).collect::<BTreeSet<_>>())]
        }
        AttributeValue::L(elements) => vec![format!("{elements:?}")],
        AttributeValue::M(entries) => vec![format!("{entries:?}")],
        _ => Vec::new(),
    }
}

/// Whether every field has the value of its attribute.
fn is_read_from(record: &BTreeMap<&str, &str>, item: &Item) -> bool {
    let attributes: HashMap<String, &AttributeValue> =
        item.iter().map(|(name, value)| (snake(name), value)).collect();
    record.iter().all(|(name, value)| match attributes.get(name.trim_end_matches('_')) {
        // The order of a map's entries, and of numbers in a set, is not that of the item.
        Some(AttributeValue::M(entries)) if entries.len() > 1 => value.starts_with('{'),
        Some(AttributeValue::Ns(all)) if all.len() > 1 => all.iter().all(|one| value.contains(one.as_str())),
        Some(stored) => printed(stored).iter().any(|one| one == value || format!("Some({one})") == *value),
        None => *value == "None",
    })
}

fn check_found(filled: &Filled, example: &Json, answer: &str) {
    let keys = example["finds"].as_array().unwrap();
    if answer.parse::<usize>().is_ok() {
        return assert_eq!(answer, keys.len().to_string());
    }
    let items: Vec<&Item> = keys.iter().map(|key| filled.stored(None, key).expect("an example")).collect();
    let records = records(answer);
    assert_eq!(records.len(), items.len(), "{answer}");
    let is_list = answer.starts_with('[') || answer.starts_with("Page {");
    if is_list && !["BatchGetItem", "Scan"].contains(&example["operation"].as_str().unwrap()) {
        let mut pairs = records.iter().zip(&items);
        assert!(pairs.all(|(record, item)| is_read_from(record, item)), "{answer}\n{items:?}");
    }
    for item in items {
        assert!(records.iter().any(|record| is_read_from(record, item)), "{answer}\n{item:?}");
    }
}

/// The writer draws a shard: the counters together have one more.
async fn check_view(filled: &Filled, model: &str) {
    let total = |items: &[Item]| -> i64 {
        let count = |item: &Item| item.get("viewCount")?.as_n().ok()?.parse::<i64>().ok();
        items.iter().filter_map(count).sum()
    };
    let (table, before) = &filled.stored[0];
    call(&filled.client, model, "view").await.unwrap().expect("a function");
    let after = filled.contents(table).await;
    assert_eq!(total(&after), total(before) + 1);
    for mut item in after {
        item.retain(|name, _| ["PK", "SK"].contains(&name.as_str()));
        filled.delete(table, item).await;
    }
    for item in before {
        filled.put(table, item).await;
    }
}

async fn check_model(model: &str, path: &str) {
    let filled = Filled::with(path).await;
    let shown: Json = serde_json::from_str(&lodestone(&["model", "code", path, "--json"])).unwrap();
    for example in shown["patterns"].as_array().unwrap() {
        let pattern = example["pattern"].as_str().unwrap();
        let Some(requests) = example.get("requests").filter(|requests| requests.is_array()) else { continue };
        if pattern == "view" {
            check_view(&filled, model).await;
            continue;
        }
        filled.sent.0.lock().unwrap().clear();
        let answer = call(&filled.client, model, pattern).await;
        let answer = answer.unwrap_or_else(|why| panic!("{model} {pattern}: {why}"));
        let answer = answer.unwrap_or_else(|| panic!("{model} has no call of {pattern}"));
        if pattern != MAY_ENTER {
            let sent: Vec<Json> = filled.sent.0.lock().unwrap().iter().map(normal).collect();
            let proven: Vec<Json> = requests.as_array().unwrap().iter().map(normal).collect();
            assert_eq!(sent, proven, "{model} {pattern}");
        }
        match example.get("leaves").filter(|leaves| leaves.is_array()) {
            Some(leaves) => filled.check_left(leaves).await,
            None => check_found(&filled, example, &answer),
        }
    }
}

#[tokio::test]
async fn every_function_sends_what_was_proven_and_returns_what_is_meant() {
    assert!(MODELS.len() > 1);
    for (model, path) in MODELS {
        check_model(model, path).await;
    }
}

#[tokio::test]
async fn a_page_begins_where_the_last_one_ended_and_a_failed_condition_is_an_error() {
    use comments::{Comment, Post};
    let (_, path) = MODELS.iter().find(|(name, _)| *name == "comments").unwrap();
    let filled = Filled::with(path).await;
    let client = &filled.client;
    let text = |text: &str| text.to_owned();
    let created_at = text("2026-01-01T00:00:00Z");
    let post = Post { post_id: text("p-1"), title: text("t"), body: text("b"), created_at };
    comments::write_post(client, &post).await.unwrap();
    assert_eq!(comments::post(client, "p-1").await.unwrap(), Some(post));
    for second in 0..5 {
        let comment = Comment {
            user_id: text("u-1"),
            post_id: text("p-1"),
            created_at: format!("2026-01-01T00:00:0{second}Z"),
            comment_id: format!("c-{second}"),
            text: text("hello"),
        };
        comments::comment(client, &comment).await.unwrap();
        let again = comments::comment(client, &comment).await.unwrap_err();
        assert!(again.is_failed_condition(), "{again}");
    }
    let mut found = Vec::new();
    let mut start = None;
    for wanted in [3, 2] {
        let page = comments::comments_on_post(client, "p-1", 3, start).await.unwrap();
        assert_eq!(page.items.len(), wanted);
        found.extend(page.items.into_iter().map(|comment| comment.comment_id));
        start = page.next;
    }
    assert_eq!(found, ["c-4", "c-3", "c-2", "c-1", "c-0"]);
    assert_eq!(start, None);
}

#[test]
fn a_number_keeps_its_digits_and_its_place_among_others() {
    use every_kind::Number;
    let number = |text: &str| text.parse::<Number>().unwrap();
    for (text, plain) in [
        ("0123.4500", "123.45"),
        ("-0.0", "0"),
        ("+5", "5"),
        (".5", "0.5"),
        ("1.5e3", "1500"),
        ("-1.5E-3", "-0.0015"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("0.12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"),
    ] {
        assert_eq!(number(text).to_string(), plain);
    }
    for text in ["", "-", ".", "1e", "1e999", "five", "1.2.3", "--1"] {
        assert!(text.parse::<Number>().is_err(), "{text}");
    }
    let ordered = ["-10.5", "-10", "-9", "-0.5", "0", "0.25", "0.5", "9", "10", "10.5", "100"].map(number);
    assert!(ordered.is_sorted());
    assert_eq!(Number::from(41u32).next(), number("42"));
    assert_eq!(number("2.5").to_f64(), 2.5);
}

#[test]
fn the_modules_are_laid_out_as_rustfmt_would() {
    for (model, _) in MODELS {
        let module = format!("{}/{model}.rs", env!("OUT_DIR"));
        let mut rustfmt = Command::new("rustfmt");
        let done = rustfmt.args(["--edition", "2024", "--check", &module]).output().expect("rustfmt starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}
