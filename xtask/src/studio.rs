//! `cargo xtask studio`: the studio's pages type-checked, and used in Chromium against the release binary.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{self, Tally, program, root, run, run_counting};
use crate::tools;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// Only take the pictures of docs/studio, of every screen in both themes
    #[arg(long)]
    pictures: bool,
    /// Only measure: a table of so many items is opened, scrolled and jumped through
    #[arg(long, value_name = "ITEMS")]
    figures: Option<u64>,
    /// The test files to run, e.g. `test/edit.test.mjs`; all by default
    tests: Vec<String>,
}

pub fn check(options: &Options, tally: &mut Tally) -> Result<()> {
    let ui = root().join("crates/studio/ui");
    tools::node_modules(&ui)?;
    run(program("node").args(["node_modules/typescript/bin/tsc", "--project", "."]).current_dir(&ui))?;

    tools::chromium()?;
    let stories = root().join("acceptance/studio");
    tools::node_modules(&stories)?;
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let mut node = program("node");
    node.current_dir(stories).env("LODESTONE", &binary);
    if options.pictures {
        return run(node.arg("pictures.mjs").arg(root().join("docs/studio")));
    }
    if let Some(items) = options.figures {
        return run(node.arg("figures.mjs").arg(items.to_string()));
    }
    // One browser at a time: side by side they only slow each other down.
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1"]);
    match options.tests.as_slice() {
        [] => node.arg("test/"),
        tests => node.args(tests),
    };
    run_counting(&mut node, tally)
}
