//! Every change that a rule proposes, tried on every model of the rules and on every example: it removes the finding and
//! adds none. What people read as `help` is checked for what it names.

use std::fs;
use std::path::{Path, PathBuf};

use model::editor::{Document, applied};
use model::{Diagnostic, Source};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    let mut found: Vec<PathBuf> =
        found.filter(|path| path.extension().is_some_and(|one| one == "yaml")).collect();
    found.sort();
    found
}

fn documents() -> Vec<Document> {
    let folders = [folder("tests/workbench/rules"), folder("../../examples")];
    let paths = folders.iter().flat_map(|folder| files(folder));
    paths
        .map(|path| {
            Document::new(Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap()))
        })
        .collect()
}

fn count(document: &Document, one: &Diagnostic) -> usize {
    let open = document.diagnostics.iter().filter(|other| other.allowed.is_none());
    open.filter(|other| other.rule == one.rule && other.message == one.message).count()
}

#[test]
fn every_change_that_is_offered_removes_its_finding_and_adds_none() {
    let (mut tried, mut complaints) = (0, Vec::new());
    for document in documents() {
        for found in document.diagnostics.iter().filter(|one| one.rule.is_some() && one.allowed.is_none()) {
            for fix in document.quick_fixes(found).into_iter().filter(|fix| fix.cures) {
                tried += 1;
                let text = applied(&document.source.text, &fix.edits);
                let after = Document::new(Source::new(document.source.path.clone(), text));
                let new =
                    after.diagnostics.iter().filter(|one| one.allowed.is_none() && one.level >= found.level);
                let new: Vec<String> = new
                    .filter(|one| count(&after, one) > count(&document, one))
                    .map(|one| one.message.clone())
                    .collect();
                if count(&after, found) >= count(&document, found) || !new.is_empty() {
                    let path = &document.source.path;
                    complaints.push(format!("{path}: {} -> {}: {new:?}", found.message, fix.title));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(tried > 40, "{tried} changes were tried");
}

/// A rule may propose a change that is then not offered, but only in files made to trip many rules at once.
#[test]
fn nearly_all_changes_that_rules_propose_are_cures() {
    let (mut proposed, mut offered) = (0, 0);
    for document in documents() {
        for found in document.diagnostics.iter().filter(|one| one.rule.is_some() && one.allowed.is_none()) {
            proposed += found.fixes.len();
            offered += document.quick_fixes(found).iter().filter(|fix| fix.cures).count();
        }
    }
    assert!(offered * 10 >= proposed * 9, "{offered} of {proposed}");
}

/// The attributes in the templates that a text shows: `{shard(orderId, 4)}`, `{customerId}`.
fn named(help: &str) -> Vec<String> {
    let inner = help.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(inner, _)| inner));
    let names = inner.filter_map(|inner| {
        let inner = inner.trim_start_matches("shard(").trim_start_matches("lower(");
        let name = inner.split([',', ')', ':']).next().unwrap_or_default().trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| name.to_owned())
    });
    names.collect()
}

#[test]
fn advice_on_keys_names_only_attributes_that_there_are() {
    let mut complaints = Vec::new();
    for document in documents() {
        let Some(model) = &document.model else { continue };
        let known = |name: &str| model.entities.iter().any(|entity| entity.attribute(name).is_some());
        let rules = [6, 7, 8, 11, 31];
        let found = document.diagnostics.iter();
        for one in found.filter(|one| one.rule.is_some_and(|rule| rules.contains(&rule.0))) {
            let help = one.help.as_deref().unwrap_or_default();
            let unknown: Vec<String> = named(help).into_iter().filter(|name| !known(name)).collect();
            if !unknown.is_empty() {
                complaints.push(format!("{}: {help}: {unknown:?}", document.source.path));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
