//! `cargo xtask acceptance`: boto3, the AWS CLI, and the SDKs of JavaScript, Rust, Go and Java against the release binary.
//!
//! With `--store postgres`, what they are given is a program that looks like the binary (`stand_in`): each server that a
//! test starts is one or several servers on a database of their own.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;

use crate::cluster::patroni::Single;
use crate::command::{self, Tally, cargo, program, root, run_counting};
use crate::{stand_in, tools};

#[derive(clap::Args, Default)]
pub struct Options {
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// What the tests' servers keep their data in
    #[arg(long, value_enum, default_value_t)]
    store: Store,
    /// How many servers share each database and get the requests by turns; with --store postgres
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    servers: u8,
    /// Passed to pytest, e.g. `-k paging`; the JavaScript and Rust tests are then left out
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pytest: Vec<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Store {
    /// Memory and folders, as each test says
    #[default]
    Embedded,
    /// A PostgreSQL server, started for the tests
    Postgres,
}

/// What says nothing about a cluster: how the process of a folder starts and ends, and programs that no server is
/// needed for.
const NOT_OF_CLUSTERS: [&str; 3] = ["test_process.py", "test_language_server.py", "test_mcp.py"];
/// What each of several servers has for itself: faults that are on, its share of limits and what is counted of them,
/// DAX's cache, a certificate that it makes.
const OF_EACH_SERVER: [&str; 5] =
    ["test_faults.py", "test_throttling.py", "test_dax.py", "test_tls.py", "tls.test.mjs"];
/// Servers tell each other what they have counted every few seconds, and these tests look at once.
const COUNTED: [&str; 4] =
    ["test_cloudwatch.py", "test_contributor_insights.py", "test_auto_scaling.py", "cloudwatch.test.mjs"];
/// Each test that asks for a server runs in memory and on a folder, which are the same here.
const ONE_OF_EACH: &str = "not folder";

impl Options {
    /// A short round with two servers: what most applications use.
    pub fn brief_on_two_servers() -> Options {
        let files = ["test_items.py", "test_indexes.py", "test_transactions.py", "test_streams.py"];
        let pytest = files.map(str::to_owned).to_vec();
        Options { store: Store::Postgres, servers: 2, pytest, ..Options::default() }
    }

    /// The files of tests that don't fit the servers.
    fn left_out(&self) -> impl Iterator<Item = &'static str> {
        let of_clusters = NOT_OF_CLUSTERS.into_iter().filter(|_| self.store == Store::Postgres);
        let of_several = OF_EACH_SERVER.into_iter().chain(COUNTED).filter(|_| self.servers > 1);
        of_clusters.chain(of_several)
    }

    fn javascript_tests(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let files: std::io::Result<Vec<PathBuf>> =
            folder.read_dir()?.map(|entry| Ok(entry?.path())).collect();
        let mut files = files?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default();
            file.is_file() && !self.left_out().any(|left_out| name == left_out)
        });
        files.sort();
        Ok(files)
    }
}

pub fn run(options: &Options, tally: &mut Tally) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    if options.store == Store::Embedded {
        return run_clients(&binary, options, tally);
    }
    tools::postgres()?;
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Nothing is synced to disk: this is about behaviour, not about crashes.
    let settings = ["fsync=off", "full_page_writes=off", "max_connections=400"];
    let postgres = runtime.block_on(Single::start(folder.path(), &settings))?;
    let script = folder.path().join("lodestone");
    stand_in::write_script(&script, &binary, &postgres.url(), options.servers.into())?;
    run_clients(&script, options, tally)
}

fn run_clients(binary: &Path, options: &Options, tally: &mut Tally) -> Result<()> {
    let folder = root().join("acceptance");
    tools::faketime()?;
    let python = tools::python(&folder.join("requirements.txt"))?;
    // The environment's AWS CLI and Python must be found before the system's.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(python.clone()).chain(std::env::split_paths(&path)))?;
    let mut pytest = program(python.join("pytest"));
    pytest.args(["-p", "no:cacheprovider"]).current_dir(folder.join("python"));
    if options.store == Store::Postgres {
        pytest.args(options.left_out().map(|file| format!("--ignore={file}"))).args(["-k", ONE_OF_EACH]);
    }
    pytest.args(&options.pytest);
    pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", path).env("LODESTONE", binary);
    pytest.env("GOCACHE", tools::go()?).env("JAVA_SDK", tools::java()?);
    run_counting(&mut pytest, tally)?;

    if options.pytest.is_empty() {
        let javascript = folder.join("javascript");
        tools::node_modules(&javascript)?;
        let mut node = program("node");
        node.args(["--test", "--test-reporter=spec"])
            .args(options.javascript_tests(&javascript.join("test"))?);
        node.current_dir(javascript).env("LODESTONE", binary);
        run_counting(&mut node, tally)?;

        let rust = folder.join("rust").join("Cargo.toml");
        let mut test = cargo(["test", "--quiet", "--locked", "--manifest-path"]);
        test.arg(rust).env("LODESTONE", binary);
        // The SDK is built once for all clones.
        run_counting(test.env("CARGO_TARGET_DIR", tools::cache()?.join("rust-sdk")), tally)?;
    }
    Ok(())
}
