//! Plans that failed once, made small: each shows a fault of the past, and none may fail again.

use std::path::{Path, PathBuf};

use world::plan::Plan;
use world::run::play;

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_failed_once_does_not_fail_again() {
    let plans = plans();
    assert!(!plans.is_empty());
    for file in plans {
        let plan: Plan = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let outcome = play(&plan, false);
        assert_eq!(outcome.failure, None, "{}", file.display());
        assert!(outcome.commits > 0, "{}", file.display());
    }
}
