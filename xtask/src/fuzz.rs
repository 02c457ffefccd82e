//! `cargo xtask fuzz`: run each target of `fuzz/` for a while, starting from the seeds in the tree.
//!
//! The fuzzed crates have no unsafe code, so no sanitizer is used and the stable compiler is enough. Debug
//! assertions and overflow checks are on.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::{self, A_DAY, program, root};
use crate::{evidence, tools};

const TARGETS: [&str; 9] = [
    "request_decode",
    "expression",
    "statement",
    "number",
    "item_bytes",
    "model_file",
    "policy",
    "signature",
    "http",
];

#[derive(clap::Args)]
pub struct FuzzOptions {
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    pub seconds: u32,
    /// One target; all by default
    #[arg(value_parser = TARGETS)]
    pub target: Option<String>,
}

pub fn run(options: &FuzzOptions) -> Result<()> {
    let targets =
        TARGETS.into_iter().filter(|name| options.target.as_deref().is_none_or(|only| only == *name));
    run_targets(targets, options.seconds)
}

/// Every target for some seconds.
pub fn run_brief() -> Result<()> {
    run_targets(TARGETS.into_iter(), 10)
}

/// Builds all targets once, and runs as many side by side as there are cores.
fn run_targets(targets: impl Iterator<Item = &'static str>, seconds: u32) -> Result<()> {
    tools::cxx_compiler()?;
    let fuzz = tools::cargo_tool("cargo-fuzz", "0.13.2")?;
    command::run(program(&fuzz).args(["build", "--sanitizer", "none"]))?;
    let logs = evidence::folder()?;
    let outcomes = command::side_by_side(targets, command::cores(), |target| {
        run_target(&fuzz, target, seconds, logs).with_context(|| format!("fuzz target {target}"))
    });
    outcomes.into_iter().collect()
}

/// Runs a target. What it prints goes to a log of its own; the terminal gets the figures at the end.
fn run_target(fuzz: &Path, target: &'static str, seconds: u32, logs: &Path) -> Result<()> {
    let folder = root().join("fuzz");
    let corpus = folder.join("corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let mut run = program(fuzz);
    run.args(["run", "--sanitizer", "none", target]).arg(corpus).arg(folder.join("seeds").join(target));
    run.arg("--").arg(format!("-max_total_time={seconds}"));
    // An input that takes longer than the timeout is a finding too.
    run.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=8192", "-print_final_stats=1"]);

    let path = logs.join(format!("fuzz-{target}.log"));
    let mut log = File::create(&path).with_context(|| format!("writing {}", path.display()))?;
    let mut inputs = None;
    let status = command::run_by_lines(&mut run, A_DAY, |line| {
        // A log that can't be written is no reason to end a run.
        let _ = writeln!(log, "{}", line.text());
        inputs = line.text().strip_prefix(INPUTS).map(|count| count.trim().to_owned()).or(inputs.take());
    })?;
    if !status.is_some_and(|status| status.success()) {
        evidence::print_tail(&path)?;
        bail!("an input fails: {}", command::shown(&run));
    }
    println!("{target}: {} inputs", inputs.context("libFuzzer prints how many inputs it tried")?);
    Ok(())
}

/// How libFuzzer's count of inputs begins.
const INPUTS: &str = "stat::number_of_executed_units:";
