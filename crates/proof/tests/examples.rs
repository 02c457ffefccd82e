//! Every example model is proven: each pattern, with exact items, order, requests and capacity.

use std::path::Path;

use model::{Source, file};

#[test]
fn every_example_is_proven() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("the examples are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let failures: Vec<String> = paths.iter().filter_map(|path| failure(path)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What is not proven of a model file.
fn failure(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let source = Source::new(path.display().to_string(), text);
    let reading = file::read(&source);
    let Some(model) = reading.model else {
        return Some(model::diagnostic::text(&source, &reading.diagnostics, false));
    };
    let certificate = proof::prove(&model);
    (!certificate.is_proven()).then(|| format!("{}{}", certificate.summary(), certificate.failures()))
}
