//! The starter, the page on the model file and the schema for editors: right themselves, and right about
//! what the readers understand.

use std::fs;
use std::path::{Path, PathBuf};

use model::plan::plan;
use model::{Model, STARTER, Source, check, diagnostic, file, schema};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<Source> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("examples/models")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let starter = Source::new("starter.yaml", STARTER);
    let read = |path: &PathBuf| Source::new(path.display().to_string(), fs::read_to_string(path).unwrap());
    paths.iter().map(read).chain([starter]).collect()
}

fn read(source: &Source) -> Model {
    let reading = file::read(source);
    let shown = diagnostic::text(source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn the_starter_is_without_any_finding() {
    let source = Source::new("starter.yaml", STARTER);
    let found: Vec<_> =
        check::check(&read(&source)).into_iter().filter(|one| one.level > model::Level::Info).collect();
    assert!(found.is_empty(), "{}", diagnostic::text(&source, &found, false));
}

#[test]
fn every_pattern_of_the_starter_is_served_by_its_keys() {
    let model = read(&Source::new("starter.yaml", STARTER));
    for pattern in &model.patterns {
        let gaps: Vec<String> = plan(&model, pattern).gaps().map(|gap| gap.describe(&model)).collect();
        assert!(gaps.is_empty(), "{}: {gaps:?}", pattern.id.value);
    }
}

/// The `yaml` blocks of the page. A block without a name of its own replaces sections of the first.
fn documented() -> Vec<Source> {
    let page = fs::read_to_string(root().join("docs/model-file.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    let base = sections(blocks[0]);
    let whole = |block: &&str| {
        if block.starts_with("model:") {
            return (*block).to_owned();
        }
        let own = sections(block);
        let kept = base.iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
        kept.chain(&own).map(|(_, text)| text.as_str()).collect()
    };
    let name = |number: usize| format!("docs/model-file.md, block {}", number + 1);
    blocks.iter().enumerate().map(|(number, block)| Source::new(name(number), whole(block))).collect()
}

/// Top-level fields with their text.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let name = line.split(':').next().filter(|_| line.starts_with(|c: char| c.is_ascii_alphabetic()));
        match (name, sections.last_mut()) {
            (Some(name), _) => sections.push((name.to_owned(), format!("{line}\n"))),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    sections
}

#[test]
fn every_example_of_the_documentation_is_understood() {
    assert!(documented().len() > 10);
    for source in documented() {
        read(&source);
    }
}

fn validator() -> impl Fn(&Value) -> Result<(), String> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("model.json", schema::schema()).unwrap();
    let index = compiler.compile("model.json", &mut schemas).unwrap();
    move |value| schemas.validate(value, index).map_err(|error| format!("{error:#}"))
}

#[test]
fn the_schema_accepts_every_example() {
    let validate = validator();
    for source in examples().iter().chain(&documented()) {
        let value = file::to_json(source).unwrap();
        validate(&value).unwrap_or_else(|error| panic!("{}: {error}", source.path));
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validate = validator();
    let refused = |from: &str, to: &str| {
        assert!(STARTER.contains(from), "{from}");
        let source = Source::new("starter.yaml", STARTER.replace(from, to));
        assert!(file::read(&source).model.is_none(), "{to}");
        assert!(validate(&file::to_json(&source).unwrap()).is_err(), "{to}");
    };
    refused("limit: 20", "limt: 20");
    refused("count: 100K", "cuont: 100K");
    refused("consistency: eventual", "consistency: sometimes");
    refused("size: 500 B", "size: 500");
    refused("createdAt: timestamp", "createdAt: timestmp");
}

/// The fields a reader knows, from what it says to one it does not know.
fn fields(text: &str) -> Vec<String> {
    let source = Source::new("model.yaml", text);
    let reading = file::read(&source);
    let unknown = reading.diagnostics.iter().find(|one| source.slice(one.span) == "zzzzzz");
    let help =
        unknown.and_then(|one| one.help.clone()).unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    let mut names: Vec<String> = help.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_schema_has_the_fields_of_the_readers() {
    let schema = schema::schema();
    let head = "model: m\ntable: { name: abc, partition: PK }\nentities: { E: { key: { PK: x } } }\n";
    let check = |pointer: &str, texts: &[&str]| {
        let properties =
            schema.pointer(pointer).and_then(Value::as_object).unwrap_or_else(|| panic!("{pointer}"));
        let mut known: Vec<String> = properties.keys().cloned().collect();
        known.sort();
        let mut read: Vec<String> = texts.iter().flat_map(|text| fields(text)).collect();
        read.sort();
        read.dedup();
        assert_eq!(known, read, "{pointer}");
    };
    check("/properties", &["model: m\nzzzzzz: 1"]);
    check("/$defs/table/properties", &["model: m\ntable: { zzzzzz: 1 }"]);
    check("/$defs/index/properties", &["model: m\nindexes: { a: { zzzzzz: 1 } }"]);
    check("/$defs/capacity/anyOf/1/properties", &["model: m\ntable: { read: { zzzzzz: 1 } }"]);
    check("/$defs/entity/properties", &["model: m\nentities: { E: { zzzzzz: 1 } }"]);
    check(
        "/$defs/attribute/anyOf/2/properties",
        &["model: m\nentities: { E: { attributes: { a: { zzzzzz: 1 } } } }"],
    );
    let pattern = |verb: &str| format!("{head}patterns: {{ P: {{ {verb}: E, zzzzzz: 1 }} }}");
    check("/$defs/pattern/properties", &[&pattern("get"), &pattern("update")]);
    let step = |verb: &str| format!("{head}patterns: {{ P: {{ transact: [{{ {verb}: E, zzzzzz: 1 }}] }} }}");
    check("/$defs/step/anyOf/1/properties", &[&step("get"), &step("update")]);
    let expect = format!("{head}patterns: {{ P: {{ get: E, expect: {{ zzzzzz: 1 }} }} }}");
    check("/$defs/expectation/properties", &[&expect]);
}
