//! `cargo xtask studio`: the studio's pages type-checked, and used in Chromium against the release binary.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::command::{self, program, root, run};
use crate::node_tests::{self, NodeTests};
use crate::report::Report;
use crate::tools;

#[derive(clap::Args, Default)]
pub struct StudioOptions {
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// Only take the pictures of docs/studio, of every screen in both themes
    #[arg(long)]
    pictures: bool,
    /// Only measure: a table of this many items is opened, scrolled and jumped through
    #[arg(long, value_name = "ITEMS")]
    figures: Option<u64>,
    /// The test files to run, e.g. `edit.test.mjs`; all by default
    tests: Vec<String>,
}

pub fn check(options: &StudioOptions, report: &mut Report) -> Result<()> {
    let ui = root().join("crates/studio/ui");
    tools::node_modules(&ui)?;
    run(program("node").args(["node_modules/typescript/bin/tsc", "--project", "."]).current_dir(&ui))?;

    tools::chromium()?;
    let stories = root().join("acceptance/studio");
    tools::node_modules(&stories)?;
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let mut node = program("node");
    node.current_dir(&stories).env("LODESTONE", &binary);
    if options.pictures {
        return run(node.arg("pictures.mjs").arg(root().join("docs/studio")));
    }
    if let Some(items) = options.figures {
        return run(node.arg("figures.mjs").arg(items.to_string()));
    }
    let mut files = node_tests::files(&stories.join("test"))?;
    let is_meant = |file: &Path| options.tests.iter().any(|test| file.ends_with(test));
    files.retain(|file| options.tests.is_empty() || is_meant(file));
    // What the grid shows is compared with what boto3 returns.
    let python = tools::python(&root().join("acceptance/requirements.txt"))?.join("python");
    // One browser at a time: side by side they only slow each other down.
    let tests = NodeTests {
        folder: &stories,
        name: "studio",
        width: 1,
        binary: &binary,
        programs: vec![("PYTHON", python)],
        alone: "cargo xtask studio",
    };
    tests.run(files, report)
}
