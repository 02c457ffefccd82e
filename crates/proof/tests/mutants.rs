//! Every example model is broken in one place, in each of many ways, and `check` or `prove` must notice. A part of
//! these mutants is tried with the other tests; `cargo test -p proof --test mutants -- --ignored` tries all of them
//! and lists the ones that nobody notices.

use std::collections::BTreeSet;
use std::path::Path;

use model::check::check;
use model::{Model, Source, file};
use serde_json::{Map, Value, json};

/// The share of mutants that must be noticed.
const NOTICED_LEAST: f64 = 0.98;
/// Fewer would show little.
const MUTANTS_LEAST: usize = 500;
/// Of so many mutants, the quick test tries one.
const QUICK_STEP: usize = 61;

/// A model that is broken in one place.
struct Mutant {
    name: String,
    document: Value,
}

fn examples() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let entries = std::fs::read_dir(folder).expect("the examples are there");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|one| one == "yaml")).collect();
    paths.sort();
    let read = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a readable file");
        let document = file::to_json(&Source::new(name.clone(), text)).expect("a readable example");
        (name, document)
    };
    paths.iter().map(|path| read(path)).collect()
}

fn read(document: &Value) -> Option<Model> {
    file::read(&Source::new("mutant.yaml", document.to_string())).model
}

/// What the rules say, without places: those differ after any change.
fn findings(model: &Model) -> BTreeSet<String> {
    let found = check(model).into_iter().filter(|one| one.allowed.is_none());
    found.map(|one| format!("{:?} {}", one.rule, one.message)).collect()
}

/// Whether the file is refused, a rule has something new to say, or a pattern is not proven.
fn is_noticed(original: &BTreeSet<String>, document: &Value) -> bool {
    let Some(model) = read(document) else { return true };
    findings(&model).iter().any(|one| !original.contains(one)) || !proof::prove(&model).is_proven()
}

/// Collects mutants of one document.
struct Breaker<'d> {
    name: &'d str,
    document: &'d Value,
    mutants: Vec<Mutant>,
}

impl Breaker<'_> {
    /// Notes the document with one change, if it changes anything.
    fn add(&mut self, what: &str, pointer: &str, change: impl FnOnce(&mut Value)) {
        let mut document = self.document.clone();
        if let Some(target) = document.pointer_mut(pointer) {
            change(target);
        }
        let name = format!("{} {what} {pointer}", self.name);
        let known = self.mutants.iter().any(|one| one.document == document);
        if document != *self.document && !known {
            self.mutants.push(Mutant { name, document });
        }
    }

    fn remove(&mut self, what: &str, parent: &str, member: &str) {
        self.add(what, parent, |target| {
            if let Value::Object(map) = target {
                map.shift_remove(member);
            }
        });
    }

    fn put(&mut self, what: &str, parent: &str, member: &str, value: Value) {
        self.add(what, parent, |target| {
            if let Value::Object(map) = target {
                map.insert(member.to_owned(), value);
            }
        });
    }
}

fn members<'d>(document: &'d Value, pointer: &str) -> Vec<(String, &'d Value)> {
    let map = document.pointer(pointer).and_then(Value::as_object);
    map.into_iter().flatten().map(|(name, value)| (name.clone(), value)).collect()
}

fn mutants(name: &str, document: &Value) -> Vec<Mutant> {
    let mut breaker = Breaker { name, document, mutants: Vec::new() };
    for (pointer, template) in templates(document) {
        break_template(&mut breaker, &pointer, &template);
    }
    break_entities(&mut breaker);
    break_indexes(&mut breaker);
    break_patterns(&mut breaker);
    breaker.mutants
}

/// The place and text of every key template.
fn templates(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut take = |pointer: &str| {
        for (name, value) in members(document, pointer) {
            if let Some(text) = value.as_str().filter(|_| !["when", "allow"].contains(&name.as_str())) {
                found.push((format!("{pointer}/{name}"), text.to_owned()));
            }
        }
    };
    for (entity, _) in members(document, "/entities") {
        take(&format!("/entities/{entity}/key"));
        let indexes = format!("/entities/{entity}/indexes");
        for (index, _) in members(document, &indexes) {
            take(&format!("{indexes}/{index}"));
        }
    }
    found
}

/// Literals and fields, in order; fields with their braces.
fn parts(template: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for character in template.chars() {
        if character == '{' {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
        if character == '}' {
            parts.push(String::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn break_template(breaker: &mut Breaker<'_>, pointer: &str, template: &str) {
    let parts = parts(template);
    let fields: Vec<usize> = (0..parts.len()).filter(|at| parts[*at].starts_with('{')).collect();
    let mut become_text = |what: &str, text: String| breaker.add(what, pointer, |one| *one = text.into());
    for at in &fields {
        let mut fewer = parts.clone();
        fewer.remove(*at);
        become_text("drops a field of", fewer.concat().trim_end_matches('#').to_owned());
        if let Some((field, _)) = parts[*at].split_once(":0") {
            let mut plain = parts.clone();
            plain[*at] = format!("{field}}}");
            become_text("removes the padding of", plain.concat());
        }
    }
    for pair in fields.windows(2) {
        let mut swapped = parts.clone();
        swapped.swap(pair[0], pair[1]);
        become_text("swaps fields of", swapped.concat());
    }
    // In a table or index of its own an entity needs no prefix.
    let name = pointer.rsplit('/').next().unwrap_or_default();
    let beside = templates(breaker.document);
    let shared = beside.iter().any(|(other, _)| other != pointer && other.ends_with(&format!("/{name}")));
    let mut become_text = |what: &str, text: String| breaker.add(what, pointer, |one| *one = text.into());
    if let (Some(first), false) = (parts.first(), fields.is_empty())
        && !first.starts_with('{')
        && shared
    {
        become_text("drops the prefix of", parts[1..].concat());
    }
    if !fields.is_empty() {
        become_text("makes a constant of", "ALL".to_owned());
    }
}

/// Attributes that some template of the entity needs.
fn keyed(document: &Value, entity: &str) -> BTreeSet<String> {
    let own = format!("/entities/{entity}/");
    let texts = templates(document).into_iter().filter(|(pointer, _)| pointer.starts_with(&own));
    let fields = texts.flat_map(|(_, text)| parts(&text)).filter(|part| part.starts_with('{'));
    fields
        .map(|field| {
            let inner = field.trim_matches(['{', '}']);
            let inner = inner.split_once('(').map_or(inner, |(_, rest)| rest);
            inner.split([':', ',', ')']).next().unwrap_or_default().trim().to_owned()
        })
        .collect()
}

fn break_entities(breaker: &mut Breaker<'_>) {
    for (entity, _) in members(breaker.document, "/entities") {
        let own = format!("/entities/{entity}");
        breaker.put("makes too large", &own, "size", json!("500 KB"));
        breaker.remove("removes the key of", &own, "key");
        for (other, declared) in members(breaker.document, "/entities") {
            let same_table = declared.get("table") == breaker.document.pointer(&format!("{own}/table"));
            if let Some(key) = declared.get("key").filter(|_| other != entity && same_table) {
                breaker.put(&format!("takes the key of {other}:"), &own, "key", key.clone());
            }
        }
        let attributes = format!("{own}/attributes");
        for name in keyed(breaker.document, &entity) {
            let declared = breaker.document.pointer(&format!("{attributes}/{name}"));
            let mut details = match declared {
                Some(Value::Object(details)) => details.clone(),
                Some(Value::Array(values)) => Map::from_iter([("values".to_owned(), values.clone().into())]),
                Some(Value::String(kind)) => Map::from_iter([("type".to_owned(), kind.clone().into())]),
                _ => Map::new(),
            };
            details.insert("optional".to_owned(), true.into());
            breaker.put("makes optional", &attributes, &name, details.into());
        }
    }
}

fn break_indexes(breaker: &mut Breaker<'_>) {
    for (entity, _) in members(breaker.document, "/entities") {
        let indexes = format!("/entities/{entity}/indexes");
        for (index, entry) in members(breaker.document, &indexes) {
            breaker.remove("leaves the index", &indexes, &index);
            if entry.get("when").is_some() {
                breaker.remove("is always in the index", &format!("{indexes}/{index}"), "when");
            }
        }
    }
    for (index, declared) in members(breaker.document, "/indexes") {
        let own = format!("/indexes/{index}");
        if let Some(Value::Array(names)) = declared.get("project") {
            for at in 0..names.len() {
                let mut fewer = names.clone();
                fewer.remove(at);
                breaker.put(&format!("drops projection {at} of"), &own, "project", fewer.into());
            }
        }
        if declared.get("project") != Some(&json!("keys")) {
            breaker.put("projects keys alone", &own, "project", json!("keys"));
        }
    }
}

fn break_patterns(breaker: &mut Breaker<'_>) {
    for (id, pattern) in members(breaker.document, "/patterns") {
        let own = format!("/patterns/{id}");
        if pattern.get("external").is_some() {
            continue;
        }
        breaker.remove("forgets the rate of", &own, "rate");
        let reads = ["get", "query"].iter().any(|verb| pattern.get(*verb).is_some());
        match pattern.get("by") {
            Some(Value::Array(names)) => {
                for at in 0..names.len() {
                    let mut fewer = names.clone();
                    fewer.remove(at);
                    breaker.put(&format!("forgets known value {at} of"), &own, "by", fewer.into());
                }
            }
            // A `get` or `update` without `by` knows the key.
            Some(_) if pattern.get("query").is_some() => {
                breaker.remove("forgets the known value of", &own, "by");
            }
            _ => {}
        }
        if pattern.get("fan-out").is_some() {
            breaker.remove("forgets the fan-out of", &own, "fan-out");
        }
        if reads && pattern.get("order").is_some() {
            breaker.put("orders by something else", &own, "order", json!("unheardOf desc"));
        }
        for grouping in ["transact", "batch"] {
            let steps = pattern.get(grouping).and_then(Value::as_array);
            if let Some(Value::String(first)) = steps.and_then(|steps| steps.first()) {
                let bare = first.split(['×', '*']).next().unwrap_or_default().trim();
                let many = json!([format!("{bare} × 200")]);
                breaker.put("names too many items", &own, grouping, many);
            }
        }
    }
}

/// All mutants of all examples, each with what the rules say about the original.
fn all() -> Vec<(BTreeSet<String>, Mutant)> {
    let mut all = Vec::new();
    for (name, document) in examples() {
        let original = findings(&read(&document).expect("a correct example"));
        all.extend(mutants(&name, &document).into_iter().map(|mutant| (original.clone(), mutant)));
    }
    all
}

/// Tries some of them and returns the names of those that nobody notices.
fn survivors<'m>(mutants: impl Iterator<Item = &'m (BTreeSet<String>, Mutant)>) -> Vec<&'m str> {
    let unnoticed = mutants.filter(|(original, mutant)| !is_noticed(original, &mutant.document));
    unnoticed.map(|(_, mutant)| mutant.name.as_str()).collect()
}

#[test]
fn a_model_broken_in_one_place_is_noticed() {
    let all = all();
    assert!(all.len() >= MUTANTS_LEAST, "{} mutants", all.len());
    let some: Vec<_> = all.iter().step_by(QUICK_STEP).collect();
    let survivors = survivors(some.iter().copied());
    let noticed = 1.0 - survivors.len() as f64 / some.len() as f64;
    assert!(
        noticed >= NOTICED_LEAST,
        "{} of {} unnoticed:\n{}",
        survivors.len(),
        some.len(),
        survivors.join("\n")
    );
}

#[test]
#[ignore = "takes minutes; the quick test tries a part of it"]
fn of_all_models_broken_in_one_place_hardly_any_is_missed() {
    let all = all();
    let survivors = survivors(all.iter());
    println!("{} of {} mutants unnoticed:\n{}", survivors.len(), all.len(), survivors.join("\n"));
    assert!(1.0 - survivors.len() as f64 / all.len() as f64 >= NOTICED_LEAST);
}
