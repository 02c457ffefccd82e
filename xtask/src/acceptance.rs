//! `cargo xtask acceptance`: boto3, the AWS CLI, and the SDKs of JavaScript, Rust, Go and Java against the release binary.
//!
//! With `--store postgres`, what they are given is a program that looks like the binary (`stand_in`): each server that a
//! test starts is one or several servers on a database of their own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::cluster::patroni::Single;
use crate::command::{self, cores, program, root};
use crate::evidence::{self, Scratch};
use crate::node_tests::{self, NodeTests};
use crate::report::Report;
use crate::rust_tests::Workspace;
use crate::{stand_in, tools};

#[derive(clap::Args, Default)]
pub struct AcceptanceOptions {
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// What the tests' servers keep their data in
    #[arg(long, value_enum, default_value_t)]
    store: Store,
    /// How many servers share each database and get the requests by turns; with --store postgres
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    servers: u8,
    /// What to run: arguments of pytest such as `-k paging`, files of JavaScript tests such as `tls.test.mjs`, or `rust`
    /// and names of its tests; everything by default
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    only: Vec<String>,
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
const NOT_OF_CLUSTERS: [&str; 4] =
    ["test_process.py", "test_language_server.py", "test_mcp.py", "test_neovim.py"];
/// What each of several servers has for itself: faults that are on, its share of limits and what is counted of them,
/// DAX's cache, a certificate that it makes.
const OF_EACH_SERVER: [&str; 5] =
    ["test_faults.py", "test_throttling.py", "test_dax.py", "test_tls.py", "tls.test.mjs"];
/// Servers tell each other what they have counted every few seconds, and these tests look at once.
const COUNTED: [&str; 4] =
    ["test_cloudwatch.py", "test_contributor_insights.py", "test_auto_scaling.py", "cloudwatch.test.mjs"];
/// Each test that asks for a server runs in memory and on a folder, which are the same here.
const ONE_OF_EACH: &str = "not folder";

impl AcceptanceOptions {
    /// A short round with two servers: what most applications use.
    pub fn brief_on_two_servers() -> AcceptanceOptions {
        let files = ["test_items.py", "test_indexes.py", "test_transactions.py", "test_streams.py"];
        let only = files.map(str::to_owned).to_vec();
        AcceptanceOptions { store: Store::Postgres, servers: 2, only, ..AcceptanceOptions::default() }
    }

    /// The files of tests that don't fit the servers.
    fn left_out(&self) -> impl Iterator<Item = &'static str> {
        let of_clusters = NOT_OF_CLUSTERS.into_iter().filter(|_| self.store == Store::Postgres);
        let of_several = OF_EACH_SERVER.into_iter().chain(COUNTED).filter(|_| self.servers > 1);
        of_clusters.chain(of_several)
    }

    /// What is to run.
    fn part(&self) -> Part<'_> {
        match self.only.as_slice() {
            [] => Part::All,
            [first, names @ ..] if first == "rust" => Part::Rust(names),
            files if files.iter().all(|file| file.ends_with(".test.mjs")) => Part::JavaScript(files),
            arguments => Part::Python(arguments),
        }
    }

    /// The files of JavaScript tests that are to run.
    fn javascript_tests(&self, folder: &Path, only: &[String]) -> Result<Vec<PathBuf>> {
        let mut files = node_tests::files(folder)?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default();
            let is_meant = only.is_empty() || only.iter().any(|only| name == only.as_str());
            is_meant && !self.left_out().any(|left_out| name == left_out)
        });
        Ok(files)
    }

    /// The arguments that the command has for what is tested.
    fn alone(&self) -> String {
        match self.store {
            Store::Embedded => "cargo xtask acceptance".to_owned(),
            Store::Postgres => {
                format!("cargo xtask acceptance --store postgres --servers {}", self.servers)
            }
        }
    }
}

/// The clients that run, with what is said about each.
enum Part<'a> {
    All,
    /// Arguments of pytest.
    Python(&'a [String]),
    /// Names of files.
    JavaScript(&'a [String]),
    /// Names of tests.
    Rust(&'a [String]),
}

pub fn run(options: &AcceptanceOptions, report: &mut Report) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    if options.store == Store::Embedded {
        return run_clients(&binary, options, report);
    }
    tools::postgres()?;
    let scratch = Scratch::new("acceptance-postgres")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Nothing is synced to disk: this is about behaviour, not about crashes.
    let settings = ["fsync=off", "full_page_writes=off", "max_connections=400"];
    let postgres = runtime.block_on(Single::start(scratch.path(), &settings))?;
    let script = scratch.path().join("lodestone");
    stand_in::write_script(&script, &binary, &postgres.url(), options.servers.into())?;
    run_clients(&script, options, report)?;
    drop(postgres);
    scratch.passed();
    Ok(())
}

/// Runs the clients, each also when another fails.
fn run_clients(binary: &Path, options: &AcceptanceOptions, report: &mut Report) -> Result<()> {
    match options.part() {
        Part::Python(arguments) => python(binary, options, arguments, report),
        Part::JavaScript(files) => javascript(binary, options, files, report),
        Part::Rust(names) => rust(binary, names, report),
        Part::All => {
            let outcomes = [
                python(binary, options, &[], report).context("Python"),
                javascript(binary, options, &[], report).context("JavaScript"),
                rust(binary, &[], report).context("Rust"),
            ];
            outcomes.into_iter().collect()
        }
    }
}

fn python(
    binary: &Path,
    options: &AcceptanceOptions,
    arguments: &[String],
    report: &mut Report,
) -> Result<()> {
    let folder = root().join("acceptance");
    tools::faketime()?;
    tools::neovim()?;
    let python = tools::python(&folder.join("requirements.txt"))?;
    // The environment's AWS CLI and Python must be found before the system's.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(python.clone()).chain(std::env::split_paths(&path)))?;
    let mut pytest = program(python.join("pytest"));
    pytest.args(["-p", "no:cacheprovider"]).current_dir(folder.join("python"));
    if options.store == Store::Postgres {
        pytest.args(options.left_out().map(|file| format!("--ignore={file}"))).args(["-k", ONE_OF_EACH]);
    }
    let store = if options.store == Store::Postgres { "python-postgres.xml" } else { "python.xml" };
    let junit = evidence::folder()?.join(store);
    // This kind of file says which file a test is in.
    pytest.arg("--junitxml").arg(&junit).args(["-o", "junit_family=xunit1"]).args(arguments);
    pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", path).env("LODESTONE", binary);
    pytest.env("GOCACHE", tools::go()?).env("JAVA_SDK", tools::java()?);
    pytest.env(evidence::VARIABLE, evidence::folder()?);
    let ran = command::run(&mut pytest);
    report.add_junit(ran, &junit, "python", |test| {
        format!("{} '{}::{}'", options.alone(), test.group, test.name)
    })
}

fn javascript(
    binary: &Path,
    options: &AcceptanceOptions,
    only: &[String],
    report: &mut Report,
) -> Result<()> {
    let folder = root().join("acceptance/javascript");
    tools::node_modules(&folder)?;
    let files = options.javascript_tests(&folder.join("test"), only)?;
    let tests = NodeTests {
        folder: &folder,
        name: "javascript",
        width: cores(),
        binary,
        programs: Vec::new(),
        alone: &options.alone(),
    };
    tests.run(files, report)
}

fn rust(binary: &Path, names: &[String], report: &mut Report) -> Result<()> {
    let manifest = root().join("acceptance/rust/Cargo.toml");
    let workspace = Workspace {
        manifest: Some(&manifest),
        // Cargo has one folder for each workspace. With ours it goes from one clone to the next, and with a folder for
        // all clones the tests of one would run in another.
        variables: vec![
            ("CARGO_TARGET_DIR", command::target_folder()?.join("rust-sdk")),
            ("LODESTONE", binary.to_owned()),
        ],
        names,
        alone: |_, test| format!("cargo xtask acceptance rust {test}").trim_end().to_owned(),
        evidence: evidence::folder()?,
        has_postgres: true,
    };
    workspace.run(&[], report)
}
