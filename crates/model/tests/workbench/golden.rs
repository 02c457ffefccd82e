//! Mistakes that well-read guides to DynamoDB make in their own examples (`tests/workbench/golden`): each is found, by
//! the rule that is meant for it, at the line it stands in. The same models in a form that works are in
//! `examples/models`.

use std::fs;
use std::path::{Path, PathBuf};

use model::check::check;
use model::{Diagnostic, Level, Source, diagnostic, file};

use crate::support::marks;

fn golden() -> Vec<Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbench/golden");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| Source::new(name(path), fs::read_to_string(path).unwrap())).collect()
}

fn found(source: &Source) -> Vec<Diagnostic> {
    let reading = file::read(source);
    let shown = diagnostic::text(source, &reading.diagnostics, false);
    check(&reading.model.unwrap_or_else(|| panic!("{shown}")))
}

#[test]
fn every_mistake_is_found_by_its_rule_at_its_line() {
    for source in golden() {
        let (found, marks) = (found(&source), marks(&source));
        assert!(!marks.is_empty(), "{} marks nothing", source.path);
        for mark in &marks {
            let hit = found.iter().any(|one| mark.fits(&source, one));
            assert!(hit, "{mark:?}\n{}", diagnostic::text(&source, &found, false));
        }
    }
}

#[test]
fn nothing_else_is_called_an_error() {
    for source in golden() {
        let marks = marks(&source);
        let is_marked = |one: &Diagnostic| marks.iter().any(|mark| mark.fits(&source, one));
        let errors = found(&source).into_iter().filter(|one| one.level == Level::Error);
        let others: Vec<Diagnostic> = errors.filter(|one| !is_marked(one)).collect();
        assert!(others.is_empty(), "{}", diagnostic::text(&source, &others, false));
    }
}

#[test]
fn all_eight_are_here() {
    let golden = golden();
    let numbers: Vec<&str> = golden.iter().filter_map(|source| source.path.split('-').next()).collect();
    assert_eq!(numbers, ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]);
}
