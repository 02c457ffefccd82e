//! Counts the warnings and errors of simulated code by their place: a place that no world reaches is a fault that no world
//! tries.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static COUNTED: RefCell<BTreeMap<String, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// Where warnings are: the code that worlds run.
const FOLDERS: [&str; 3] = ["crates/engine/src", "crates/host/src", "crates/store-lsm/src"];

/// Counts all warnings of this process from here on.
pub fn count() {
    // It is set once; a second one would count the same.
    let _ = tracing::subscriber::set_global_default(Counting);
}

/// What was counted on this thread since the last call.
pub fn take() -> BTreeMap<String, usize> {
    COUNTED.take()
}

struct Counting;

impl Subscriber for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let place = format!("{}:{}", metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0));
        COUNTED.with_borrow_mut(|counted| *counted.entry(place).or_default() += 1);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// All places that warn, as they are in the sources below `root`.
pub fn places(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(&root.join(folder), root, &mut found);
    }
    found.sort();
    found
}

fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let warns = |line: &str| line.contains("tracing::warn!(") || line.contains("tracing::error!(");
            let lines = text.lines().enumerate().filter(|(_, line)| warns(line));
            found.extend(lines.map(|(number, _)| format!("{name}:{}", number + 1)));
        }
    }
}
