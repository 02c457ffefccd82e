//! `cargo xtask acceptance`: boto3, the AWS CLI, the JavaScript SDK and the Rust SDK against the release binary.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{self, Tally, cargo, program, root, run_counting};
use crate::tools;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// Passed to pytest, e.g. `-k paging`; the JavaScript and Rust tests are then left out
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pytest: Vec<String>,
}

pub fn run(options: &Options, tally: &mut Tally) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let folder = root().join("acceptance");

    tools::faketime()?;
    let python = tools::python(&folder.join("requirements.txt"))?;
    // The environment's AWS CLI and Python must be found before the system's.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(python.clone()).chain(std::env::split_paths(&path)))?;
    let mut pytest = program(python.join("pytest"));
    pytest.args(["-p", "no:cacheprovider"]).args(&options.pytest).current_dir(folder.join("python"));
    pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", path).env("LODESTONE", &binary);
    run_counting(&mut pytest, tally)?;

    if options.pytest.is_empty() {
        let javascript = folder.join("javascript");
        tools::node_modules(&javascript)?;
        let mut node = program("node");
        node.args(["--test", "--test-reporter=spec", "test/"])
            .current_dir(javascript)
            .env("LODESTONE", &binary);
        run_counting(&mut node, tally)?;

        let rust = folder.join("rust").join("Cargo.toml");
        let mut test = cargo(["test", "--quiet", "--locked", "--manifest-path"]);
        test.arg(rust).env("LODESTONE", &binary);
        // The SDK is built once for all clones.
        run_counting(test.env("CARGO_TARGET_DIR", tools::cache()?.join("rust-sdk")), tally)?;
    }
    Ok(())
}
