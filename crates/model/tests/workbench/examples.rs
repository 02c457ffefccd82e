//! The models of `examples/models` and `examples/published`: each is read without complaint, every pattern of it
//! is one request by keys alone, and no rule finds anything that the file does not allow with a reason.

use std::fs;
use std::path::{Path, PathBuf};

use model::check::check;
use model::plan::plan;
use model::sample::{Scale, sample};
use model::{Diagnostic, Level, Model, Source, diagnostic, file};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The examples, and the published designs.
fn examples() -> Vec<(String, Source)> {
    in_folder("models").into_iter().chain(in_folder("published")).collect()
}

/// All of a folder, in the order of their names.
fn in_folder(name: &str) -> Vec<(String, Source)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            (name.clone(), Source::new(name, text))
        })
        .collect()
}

fn read(source: &Source) -> Model {
    let reading = file::read(source);
    let shown = diagnostic::text(source, &reading.diagnostics, false);
    assert!(reading.diagnostics.is_empty(), "{shown}");
    reading.model.unwrap()
}

#[test]
fn the_readme_has_a_line_for_every_model_and_no_other() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for folder in ["models", "published"] {
        let link = format!("]({folder}/");
        let links = readme.split(&link).skip(1);
        let listed: Vec<&str> = links.filter_map(|rest| rest.split(')').next()).collect();
        let names: Vec<String> = in_folder(folder).into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed, names);
    }
}

#[test]
fn every_model_begins_by_saying_what_it_shows() {
    for (name, source) in examples() {
        assert!(source.text.starts_with("# "), "{name}");
    }
}

#[test]
fn every_pattern_is_one_request_selected_and_ordered_by_keys() {
    let mut gaps = Vec::new();
    for (name, source) in examples() {
        let model = read(&source);
        for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
            let plan = plan(&model, pattern);
            let found =
                plan.gaps().map(|gap| format!("{name} {}: {}", pattern.id.value, gap.describe(&model)));
            gaps.extend(found);
        }
    }
    assert_eq!(gaps, Vec::<String>::new());
}

#[test]
fn no_rule_finds_anything_that_is_not_allowed_with_a_reason() {
    let mut shown = String::new();
    for (_, source) in examples() {
        let is_open = |one: &Diagnostic| one.allowed.is_none() && one.level != Level::Info;
        let found: Vec<Diagnostic> = check(&read(&source)).into_iter().filter(is_open).collect();
        if !found.is_empty() {
            shown += &diagnostic::text(&source, &found, false);
        }
    }
    assert!(shown.is_empty(), "{shown}");
}

#[test]
fn no_two_items_of_the_example_data_have_the_same_key() {
    for (name, source) in examples() {
        let model = read(&source);
        let sample = sample(&model, Scale::default());
        let pairs = sample.collisions(&model);
        let keys: Vec<_> =
            pairs.iter().map(|(one, other)| (&sample.items[*one], &sample.items[*other])).collect();
        assert!(keys.is_empty(), "{name}: {keys:?}");
    }
}
