//! Entities from rows, scored: the sets in `rows/` are public designs with keys of our own, annotated with the entities
//! and the key templates that a person finds in them. `{*}` stands for a value that no attribute holds, whatever
//! it is called.

use std::path::{Path, PathBuf};

use model::draft::{Draft, Import, Notes, Unreadable};
use model::learn::table_contents;
use model::model::Entity;
use serde_json::{Map, Value, json};

const SETS_LEAST: usize = 12;
const SCORE_LEAST: f64 = 0.9;

fn sets() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbench/rows");
    let files = std::fs::read_dir(folder).expect("the sets are there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

fn typed(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!({ "N": number.to_string() }),
        Value::Bool(flag) => json!({ "BOOL": flag }),
        text => json!({ "S": text }),
    }
}

/// The rows of all entities as a scan might meet them: one of each in turn.
fn rows(set: &Value) -> Vec<Value> {
    let of = |entity: &Value| entity["rows"].as_array().expect("rows").clone();
    let kinds: Vec<Vec<Value>> = set["entities"].as_array().expect("entities").iter().map(of).collect();
    let longest = kinds.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| kinds.iter().filter_map(move |kind| kind.get(turn)));
    let row = |row: &Value| {
        let members = row.as_object().expect("a row").iter();
        Value::Object(members.map(|(name, value)| (name.clone(), typed(value))).collect())
    };
    turns.map(row).collect()
}

/// The table as DescribeTable and Scan show it.
fn contents(name: &str, set: &Value) -> Value {
    let rows = rows(set);
    let schema = |names: &Value| -> Value {
        let roles = names.as_array().expect("key names").iter().zip(["HASH", "RANGE"]);
        roles.map(|(name, role)| json!({ "AttributeName": name, "KeyType": role })).collect()
    };
    let indexes = set["indexes"].as_object().expect("indexes").iter().map(|(index, names)| {
        let projection = json!({ "ProjectionType": "ALL" });
        json!({ "IndexName": index, "KeySchema": schema(names), "Projection": projection })
    });
    json!({
        "Table": {
            "TableName": name,
            "KeySchema": schema(&set["key"]),
            "GlobalSecondaryIndexes": indexes.collect::<Vec<_>>(),
            "BillingModeSummary": { "BillingMode": "PAY_PER_REQUEST" },
            "ItemCount": rows.len(),
        },
        "Items": rows,
    })
}

#[derive(Default)]
struct Score {
    right: usize,
    of: usize,
    misses: Vec<String>,
}

impl Score {
    fn add(&mut self, is_right: bool, miss: impl FnOnce() -> String) {
        self.of += 1;
        match is_right {
            true => self.right += 1,
            false => self.misses.push(miss()),
        }
    }
}

fn is_template(found: &str, expected: &str) -> bool {
    let mut rest = found;
    let mut parts = expected.split("{*}");
    let Some(first) = parts.next() else { return false };
    let Some(left) = rest.strip_prefix(first) else { return false };
    rest = left;
    for part in parts {
        let Some((field, left)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return false;
        };
        let Some(left) = left.strip_prefix(part).filter(|_| !field.contains(['(', ':'])) else {
            return false;
        };
        rest = left;
    }
    rest.is_empty()
}

/// The templates of an entity by key attribute, those of an index behind its name.
fn templates(import: &Import, entity: &Entity, set: &Value) -> Map<String, Value> {
    let names = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let own = names(&set["key"]).into_iter().zip(entity.key_templates().map(ToString::to_string));
    let entries = entity.entries.iter().filter(|entry| entry.declared).flat_map(|entry| {
        let index = &import.model.tables[entity.table.0].indexes[entry.index.0].name.value;
        let templates = entry.partition.iter().chain(&entry.sort).map(ToString::to_string);
        let keys = names(&set["indexes"][index]).into_iter();
        keys.zip(templates).map(move |(key, template)| (format!("{index}.{key}"), template))
    });
    own.chain(entries).map(|(key, template)| (key, template.into())).collect()
}

/// What a person says of an entity, in the same form.
fn annotated(entity: &Value, set: &Value) -> Map<String, Value> {
    let own = set["key"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|key| {
        let plain = || Value::String(format!("{{{key}}}"));
        (key.to_owned(), entity["key"].get(key).cloned().unwrap_or_else(plain))
    });
    let entries = entity["indexes"].as_object().into_iter().flatten().flat_map(|(index, templates)| {
        let templates = templates.as_object().into_iter().flatten();
        templates.map(move |(key, template)| (format!("{index}.{key}"), template.clone()))
    });
    own.chain(entries).collect()
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or("nothing")
}

fn import(name: &str, set: &Value) -> Result<Import, Unreadable> {
    let mut notes = Notes::default();
    let mut draft = Draft::new(name);
    table_contents::add(&mut draft, &contents(name, set), &mut notes)?;
    draft.import(draft.checked()?, notes)
}

/// An entity is right if it has the name and the number of rows; an unexpected one is wrong.
fn judge(name: &str, set: &Value, score: &mut Score) {
    let import = import(name, set).unwrap_or_else(|error| panic!("{name}: {}", error.0));
    let mut found: Vec<&Entity> = import.model.entities.iter().collect();
    let rows_of = |entity: &Entity| entity.count.as_ref().map_or(0.0, |count| count.value.typical);
    for expected in set["entities"].as_array().expect("entities") {
        let names: Vec<&str> =
            expected["names"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let rows = expected["rows"].as_array().map_or(0, Vec::len) as f64;
        let wanted = annotated(expected, set);
        let fits = |entity: &Entity| {
            let templates = templates(&import, entity, set);
            let fitting = wanted
                .iter()
                .filter(|(key, template)| is_template(text(templates.get(*key)), text(Some(template))));
            let is_named = names.contains(&entity.name.value.trim_end_matches(char::is_numeric));
            (is_named && rows_of(entity) == rows, fitting.count())
        };
        let best = found.iter().enumerate().max_by_key(|(_, entity)| fits(entity)).map(|(at, _)| at);
        let best = best.filter(|at| fits(found[*at]).0).map(|at| found.remove(at));
        score.add(best.is_some(), || format!("{name}: no {names:?} with {rows} rows"));
        let templates = best.map(|entity| templates(&import, entity, set)).unwrap_or_default();
        for (key, template) in &wanted {
            let is = text(templates.get(key));
            let template = text(Some(template));
            score.add(is_template(is, template), || {
                format!("{name}: {} has {key} = {is}, not {template}", names[0])
            });
        }
        for (key, template) in templates.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
            score.add(false, || format!("{name}: {} has {key} = {template}, not nothing", names[0]));
        }
    }
    for entity in found {
        score.add(false, || format!("{name}: unexpected: {} × {}", entity.name.value, rows_of(entity)));
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows the figures of docs/learn.md")]
fn entities_and_templates_are_found_in_annotated_rows() {
    let sets = sets();
    assert!(sets.len() >= SETS_LEAST, "{} sets", sets.len());
    let mut score = Score::default();
    for path in &sets {
        let text = std::fs::read_to_string(path).expect("a readable set");
        let set: Value = serde_json::from_str(&text).expect("a set");
        judge(path.file_stem().and_then(|stem| stem.to_str()).expect("a name"), &set, &mut score);
    }
    let share = score.right as f64 / score.of as f64;
    let figures =
        format!("{} of {} right ({:.1} %) in {} sets", score.right, score.of, 100.0 * share, sets.len());
    println!("{figures}\n{}", score.misses.join("\n"));
    assert!(share >= SCORE_LEAST, "{figures}\n{}", score.misses.join("\n"));
}
