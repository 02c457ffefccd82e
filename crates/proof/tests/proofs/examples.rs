//! Every example model is proven: each pattern, with exact items, order, requests and capacity.

use std::path::{Path, PathBuf};

use model::plan::{ReadOperation, plan};
use model::predict::typical::{self, Assumption, Footprints};
use model::{Model, Source, file};
use proof::Verdict;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the examples are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// The model, or what is wrong with its file.
fn read(path: &Path) -> Result<Model, String> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let source = Source::new(path.display().to_string(), text);
    let reading = file::read(&source);
    reading.model.ok_or_else(|| model::diagnostic::text(&source, &reading.diagnostics, false))
}

/// What is not proven of a model file.
fn failure(path: &Path) -> Option<String> {
    let certificate = match read(path) {
        Ok(model) => proof::prove(&model),
        Err(problems) => return Some(problems),
    };
    (!certificate.is_proven()).then(|| format!("{}{}", certificate.failures(), certificate.summary()))
}

#[test]
fn every_example_is_proven() {
    let failures: Vec<String> = examples().iter().filter_map(|path| failure(path)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A pattern that touches single items costs what the estimate from declared sizes says, to the half unit: the
/// certificate's most expensive try against the most expensive case of the estimate.
#[test]
fn costs_are_calculated_from_what_single_items_consume() {
    for path in examples() {
        let model = read(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let footprints = Footprints::new(&model);
        let certificate = proof::prove(&model);
        for (pattern, proof) in model.patterns.iter().zip(&certificate.patterns) {
            let plan = plan(&model, pattern);
            if proof.verdict != Verdict::Proven
                || plan.reads().any(|read| read.operation != ReadOperation::GetItem)
            {
                continue;
            }
            let estimate = typical::pattern(&model, &footprints, pattern, &plan, Assumption::Worst);
            let estimated = estimate.read_units() + estimate.write_units();
            assert_eq!(estimated, proof.consumed(), "{} of {}", proof.pattern, path.display());
        }
    }
}
