//! The designs that `design` finds for patterns without keys are proven like any model.

use std::path::{Path, PathBuf};

use model::design::{Indexes, Options, design};
use model::facts::Facts;
use model::{Model, Source, file};

fn read(path: &Path) -> Model {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let source = Source::new(path.display().to_string(), text);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    reading.model.unwrap_or_else(|| panic!("{shown}"))
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the examples are there");
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

fn check_proven(folder: &str, indexes: Indexes) {
    for path in examples(folder) {
        let options = Options { indexes, ..Options::default() };
        let designed = design(&read(&path), &Facts::embedded(), &options)
            .unwrap_or_else(|problems| panic!("{}: {problems:?}", path.display()));
        let certificate = proof::prove(&designed.model);
        assert!(
            certificate.is_proven(),
            "{}: {}{}\n{}",
            path.display(),
            certificate.failures(),
            certificate.summary(),
            designed.text
        );
    }
}

#[test]
fn designs_from_patterns_alone_are_proven() {
    check_proven("designs", Indexes::Overloaded);
}

#[test]
fn designs_with_an_index_for_each_purpose_are_proven() {
    check_proven("designs", Indexes::Named);
}

#[test]
fn designs_of_models_that_had_other_keys_are_proven() {
    check_proven("models", Indexes::Overloaded);
}

#[test]
fn published_designs_are_proven_with_their_own_keys_and_with_those_that_are_designed() {
    for path in examples("published") {
        let certificate = proof::prove(&read(&path));
        assert!(certificate.is_proven(), "{}: {}", path.display(), certificate.failures());
    }
    check_proven("published", Indexes::Overloaded);
}
