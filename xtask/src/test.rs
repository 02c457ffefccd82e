//! `cargo xtask test`: every check, cheapest first, up to the first step that fails twice.
//!
//! It installs what it needs, so that it runs on a fresh clone and in CI alike. The clients, the studio's
//! stories, the crash loop and the benchmark share one release build.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::command::{self, Tally, cargo, run_counting};
use crate::{
    acceptance, bench, cluster, codegen, crash, damage, deny, fuzz, recovery, regions, replay, round_trip,
    studio, tidy, tools,
};

/// How many steps may be run a second time.
const REPEATED_STEPS: usize = 2;

#[derive(clap::Args)]
pub struct Options {
    /// The steps to run; all by default
    steps: Vec<Step>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Step {
    Format,
    Tidy,
    Codegen,
    Clippy,
    Deny,
    Rust,
    Acceptance,
    Studio,
    Crash,
    ChangeLog,
    Cluster,
    Regions,
    Damage,
    Bench,
    Fuzz,
}

pub fn run(options: &Options) -> Result<()> {
    let steps = if options.steps.is_empty() { Step::value_variants() } else { &options.steps };
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut unsteady = Vec::new();
    for &step in steps {
        let name = step.to_possible_value().context("every step has a name")?.get_name().to_owned();
        println!("── {name}");
        let began = Instant::now();
        if let Err(error) = step.run(&mut tally) {
            ensure!(
                step.may_be_repeated() && unsteady.len() < REPEATED_STEPS,
                "{name} failed. To run it alone: cargo xtask test {name}: {error:#}"
            );
            println!("── {name} failed and is run once more: {error:#}");
            step.run(&mut tally)
                .with_context(|| format!("{name} failed twice. To run it alone: cargo xtask test {name}"))?;
            unsteady.push(name.clone());
        }
        println!("── {name}: {:.1} s", began.elapsed().as_secs_f64());
    }
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    if !unsteady.is_empty() {
        println!("failed at first, and should be looked into: {}", unsteady.join(", "));
    }
    println!("{} steps in {minutes:.1} minutes: {} passed, 0 failed", steps.len(), tally.passed);
    Ok(())
}

impl Step {
    /// Tests wait for servers and browsers, with bounds on how long, and a machine that others use can be too slow
    /// for them. A fault of ours fails again. A campaign looks for what goes wrong once in a thousand times, so one
    /// failure of it is enough.
    fn may_be_repeated(self) -> bool {
        matches!(self, Step::Rust | Step::Acceptance | Step::Studio)
    }

    fn run(self, tally: &mut Tally) -> Result<()> {
        match self {
            Step::Format => command::run(&mut cargo(["fmt", "--all", "--check"])),
            Step::Tidy => tidy::run(),
            Step::Codegen => codegen::run(true).map_err(|error| anyhow::anyhow!("{error}")),
            Step::Clippy => command::run(&mut cargo([
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--",
                "--deny",
                "warnings",
            ])),
            Step::Deny => deny::run(),
            Step::Rust => rust(tally),
            Step::Acceptance => {
                acceptance::run(&acceptance::Options::default(), tally)?;
                acceptance::run(&acceptance::Options::brief_on_two_servers(), tally)
            }
            Step::Studio => studio::check(&studio::Options::default(), tally),
            Step::Crash => crash::run_brief(),
            Step::ChangeLog => change_log(),
            Step::Cluster => cluster::run(&cluster::Options::brief()),
            Step::Regions => regions::run(&regions::Options::brief()),
            Step::Damage => damage::run(&damage::Options::brief()),
            Step::Bench => bench::smoke(),
            Step::Fuzz => fuzz::run_brief(),
        }
    }
}

/// Unit, integration and documentation tests. The tests of one file share a process, and so the PostgreSQL server
/// that is slow to start.
fn rust(tally: &mut Tally) -> Result<()> {
    tools::postgres()?;
    run_counting(&mut cargo(["test", "--quiet", "--workspace", "--no-fail-fast"]), tally)
}

/// What reads the change log, while everything around it is killed.
fn change_log() -> Result<()> {
    recovery::run(&recovery::Options::brief())?;
    replay::run(&replay::Options::brief())?;
    round_trip::run(&round_trip::Options::brief())
}
