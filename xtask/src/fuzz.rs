//! `cargo xtask fuzz`: run each target of `fuzz/` for a while, starting from the seeds in the tree.
//!
//! The fuzzed crates have no unsafe code, so no sanitizer is used and the stable compiler is enough. Debug
//! assertions and overflow checks are on.

use anyhow::Result;

use crate::command::{self, program, root};
use crate::tools;

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

fn run_targets(targets: impl Iterator<Item = &'static str>, seconds: u32) -> Result<()> {
    tools::cxx_compiler()?;
    let fuzz = tools::cargo_tool("cargo-fuzz", "0.13.2")?;
    for target in targets {
        let folder = root().join("fuzz");
        let corpus = folder.join("corpus").join(target);
        std::fs::create_dir_all(&corpus)?;
        let mut run = program(&fuzz);
        run.args(["run", "--sanitizer", "none", target]).arg(corpus).arg(folder.join("seeds").join(target));
        run.arg("--").arg(format!("-max_total_time={}", seconds));
        // An input that takes longer than the timeout is a finding too.
        run.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=8192", "-print_final_stats=1"]);
        command::run(&mut run)?;
    }
    Ok(())
}
