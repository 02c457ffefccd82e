//! The requests of every example's writes, written into its file and then broken in one place: what is right is proven,
//! and what is broken is not.

use std::path::Path;

use api::{Input, Request};
use model::model::{Grouping, Pattern, WriteVerb};
use model::plan::plan;
use model::request::{write, write_case};
use model::sample::{Scale, sample};
use model::{Model, Source, file};
use serde_json::{Value, json};

/// A request of an example, and the ways in which it is broken.
struct Written {
    name: String,
    /// The file with this pattern alone, and its request.
    document: Value,
    broken: Vec<(String, Value)>,
}

fn examples() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let entries = std::fs::read_dir(folder).expect("the examples are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a readable file");
        let document = file::to_json(&Source::new(name.clone(), text)).expect("a readable example");
        (name, document)
    };
    paths.iter().map(read).collect()
}

fn read(document: &Value) -> Option<Model> {
    file::read(&Source::new("mutant.yaml", document.to_string())).model
}

fn sent<I: Input<Request = Request>>(input: I) -> Value {
    let mut body = Vec::new();
    input.into_request().write_json(&mut body);
    serde_json::from_slice(&body).expect("JSON")
}

/// The request that the model gives for a single write.
fn request(model: &Model, pattern: &Pattern) -> Option<Value> {
    let data = sample(model, Scale::default()).items;
    let plan = plan(model, pattern);
    let cases = write_case::cases(model, pattern, &plan, &data).ok()?;
    let touch = cases.first()?.touches.first()?;
    let parts = write::parts(model, touch).ok()?;
    Some(match touch.write.verb {
        WriteVerb::Update => sent(parts.update_item()),
        WriteVerb::Delete => sent(parts.delete_item()),
        WriteVerb::Create | WriteVerb::Put => sent(parts.put_item()),
        WriteVerb::Check => return None,
    })
}

/// The clauses of an update: `SET a = :a, b = :b REMOVE c`.
fn clauses(update: &str) -> Vec<(&'static str, Vec<String>)> {
    const WORDS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];
    let mut clauses: Vec<(&'static str, Vec<String>)> = Vec::new();
    for word in update.split(' ') {
        match WORDS.iter().find(|known| **known == word) {
            Some(known) => clauses.push((known, vec![String::new()])),
            None => {
                let Some(parts) = clauses.last_mut().map(|(_, parts)| parts) else { continue };
                let part = parts.last_mut().expect("a part");
                part.push_str(word.trim_end_matches(','));
                part.push(' ');
                if word.ends_with(',') {
                    parts.push(String::new());
                }
            }
        }
    }
    clauses
}

/// The update without one of its parts.
fn shortened(update: &str) -> Vec<(String, String)> {
    let all = clauses(update);
    let mut shorter = Vec::new();
    for (at, (_, parts)) in all.iter().enumerate() {
        for (dropped, text) in parts.iter().enumerate() {
            let mut rest = all.clone();
            rest[at].1.remove(dropped);
            rest.retain(|(_, parts)| !parts.is_empty());
            let printed: Vec<String> = rest
                .iter()
                .map(|(word, parts)| {
                    format!("{word} {}", parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(", "))
                })
                .collect();
            if !printed.is_empty() {
                shorter.push((text.trim().to_owned(), printed.join(" ")));
            }
        }
    }
    shorter
}

/// Values and names that an expression no longer uses are refused by DynamoDB, so they go, too.
fn with_expression(request: &Value, member: &str, expression: Option<&str>) -> Value {
    let mut broken = request.clone();
    let members = broken.as_object_mut().expect("a request");
    match expression {
        Some(text) => members.insert(member.to_owned(), text.into()),
        None => members.remove(member),
    };
    let texts = ["UpdateExpression", "ConditionExpression"]
        .map(|member| broken[member].as_str().unwrap_or("").to_owned());
    let is_used = |name: &str| {
        texts.iter().any(|text| {
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_#:".contains(c)));
            words.into_iter().any(|word| word == name)
        })
    };
    for member in ["ExpressionAttributeNames", "ExpressionAttributeValues"] {
        if let Some(map) = broken[member].as_object_mut() {
            map.retain(|name, _| is_used(name));
        }
        if broken[member].as_object().is_none_or(|map| map.is_empty()) {
            broken.as_object_mut().expect("a request").remove(member);
        }
    }
    broken.as_object_mut().expect("a request").retain(|_, value| !value.is_null());
    broken
}

/// Conditions that mean something else: none, one that is about the key alone, one that never holds, one with a term
/// less, one with another comparison.
fn other_conditions(condition: &str, key: &str) -> Vec<(String, Option<String>)> {
    let terms: Vec<&str> = condition.split(" AND ").collect();
    let mut others = vec![
        ("has no condition".to_owned(), None),
        ("asks for an item alone".to_owned(), Some(format!("attribute_exists({key})"))),
        ("asks for no item alone".to_owned(), Some(format!("attribute_not_exists({key})"))),
        (
            "has a condition that never holds".to_owned(),
            Some(format!("attribute_exists({key}) AND attribute_not_exists({key})")),
        ),
        ("has one that always holds".to_owned(), Some(format!("({condition}) OR NOT ({condition})"))),
        ("has the opposite condition".to_owned(), Some(format!("NOT ({condition})"))),
    ];
    // Any comparison needs an item, too.
    let can_go =
        |at: &usize| !terms[*at].starts_with("attribute_exists(") && !condition.contains(" BETWEEN ");
    for dropped in (0..terms.len()).filter(|at| terms.len() > 1 && can_go(at)) {
        let rest: Vec<&str> =
            terms.iter().enumerate().filter(|(at, _)| *at != dropped).map(|(_, term)| *term).collect();
        others.push((format!("has no `{}`", terms[dropped]), Some(rest.join(" AND "))));
    }
    let turned =
        [(" = ", " <> "), (" <> ", " = "), (" < ", " > "), (" > ", " < "), (" <= ", " > "), (" >= ", " < ")];
    for (from, to) in turned {
        for (at, _) in condition.match_indices(from) {
            let text = format!("{}{to}{}", &condition[..at], &condition[at + from.len()..]);
            others.push((format!("has `{text}`"), Some(text)));
        }
    }
    others.retain(|(_, other)| other.as_deref() != Some(condition));
    others
}

fn broken(model: &Model, pattern: &Pattern, request: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let (_, write) = pattern.writes().next().expect("a write");
    let entity = model.entity(write.entity.value);
    let table = model.table_of(entity);
    let is_index_key = |name: &str| table.indexes.iter().any(|index| index.key.names(name));
    let of_table = |name: &str| table.key.as_ref().is_some_and(|key| key.names(name));
    let is_guarded = write.condition.is_some() || write.version.is_some() || write.verb == WriteVerb::Create;
    let partition = table.key.as_ref().map(|key| key.partition[0].name.as_str()).unwrap_or_default();
    if let Some(condition) = request["ConditionExpression"].as_str().filter(|_| is_guarded) {
        for (what, other) in other_conditions(condition, partition) {
            all.push((what, with_expression(request, "ConditionExpression", other.as_deref())));
        }
    }
    if let Some(item) = request["Item"].as_object() {
        for name in item.keys().filter(|name| is_index_key(name) && !of_table(name)) {
            let mut lacking = request.clone();
            lacking["Item"].as_object_mut().expect("an item").remove(name);
            all.push((format!("does not store {name}"), lacking));
            let mut other = request.clone();
            if item[name].get("S").is_some() && entity.attribute(name).is_none() {
                other["Item"][name] = json!({ "S": "SOMETHING#ELSE" });
                all.push((format!("stores another {name}"), other));
            }
        }
    }
    for (part, update) in request["UpdateExpression"].as_str().map(shortened).unwrap_or_default() {
        all.push((
            format!("leaves out `{part}`"),
            with_expression(request, "UpdateExpression", Some(&update)),
        ));
    }
    all
}

fn written() -> Vec<Written> {
    let mut all = Vec::new();
    for (example, document) in examples() {
        let model = read(&document).expect("a correct example");
        let single = model.patterns.iter().filter(|pattern| {
            pattern.grouping == Grouping::Single && !pattern.is_read() && pattern.external.is_none()
        });
        for pattern in single {
            let Some(request) = request(&model, pattern) else { continue };
            let alone = |request: &Value| {
                let mut document = document.clone();
                let mut declared = document["patterns"][&pattern.id.value].clone();
                declared["request"] = request.clone();
                document["patterns"] = json!({ pattern.id.value.clone(): declared });
                document
            };
            let broken = broken(&model, pattern, &request);
            all.push(Written {
                name: format!("{example} {}", pattern.id.value),
                document: alone(&request),
                broken: broken.iter().map(|(what, request)| (what.clone(), alone(request))).collect(),
            });
        }
    }
    all
}

/// Whether the pattern's own request is as the pattern means.
fn is_proven(document: &Value) -> Result<bool, String> {
    let model = read(document).ok_or("not a model")?;
    let certificate = proof::prove(&model);
    Ok(certificate.patterns.iter().all(|pattern| pattern.findings.is_empty()))
}

#[test]
fn requests_of_the_examples_are_proven_and_broken_ones_are_not() {
    let (mut complaints, mut mutants) = (Vec::new(), 0);
    let all = written();
    for one in &all {
        match is_proven(&one.document) {
            Ok(true) => {}
            other => complaints.push(format!("{}: as the model has it: {other:?}", one.name)),
        }
        for (what, document) in &one.broken {
            mutants += 1;
            if is_proven(document) == Ok(true) {
                complaints.push(format!("{}: {what}: unnoticed", one.name));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "of {mutants} mutants of {} requests:\n{}",
        all.len(),
        complaints.join("\n")
    );
    assert!(mutants >= 150, "{mutants} mutants");
}
