//! Plays worlds: `cargo xtask simulate`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it reports to the terminal, in real time"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use world::panics;
use world::plan::Plan;
use world::run::{Outcome, play};
use world::shrink::shrink;
use world::warnings;

/// Worlds that are played to make a failing plan smaller.
const SHRINK_TRIES: usize = 150;
/// Failures of one campaign that are made smaller. The others are named.
const REPORTS_MAX: usize = 3;
/// One of this many worlds is played twice.
const TWICE_EVERY: u64 = 10;

#[derive(Parser)]
#[command(name = "world", about = "Plays simulated worlds")]
struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds; without a limit if only minutes are given
    #[arg(long)]
    worlds: Option<u64>,
    /// The minutes after which it stops
    #[arg(long)]
    minutes: Option<f64>,
    /// Play the plan of a file, and print what happens
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Print the plan of the seed, and play nothing
    #[arg(long)]
    print_plan: bool,
    /// Print which faults met which jobs and requests
    #[arg(long)]
    coverage: bool,
    /// Stop at the first failure
    #[arg(long)]
    until_failure: bool,
    /// Worlds at a time; all processors by default
    #[arg(long)]
    threads: Option<usize>,
    /// Leave failing plans as large as they are
    #[arg(long)]
    no_shrinking: bool,
    /// Where the plans and traces of failures go
    #[arg(long, default_value = "target/simulate")]
    failures: PathBuf,
}

/// What all worlds together came to.
#[derive(Default)]
struct Totals {
    worlds: u64,
    twice: u64,
    polls: u64,
    requests: usize,
    commits: usize,
    simulated: Duration,
    coverage: BTreeMap<(String, String), usize>,
    warnings: BTreeMap<String, usize>,
    polls_by_name: BTreeMap<&'static str, u64>,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.worlds += 1;
        self.polls += outcome.polls;
        self.requests += outcome.requests;
        self.commits += outcome.commits;
        self.simulated += outcome.simulated;
        for (met, count) in &outcome.coverage {
            *self.coverage.entry(met.clone()).or_default() += count;
        }
        for (place, count) in &outcome.warnings {
            *self.warnings.entry(place.clone()).or_default() += count;
        }
        for (name, polls) in &outcome.polls_by_name {
            *self.polls_by_name.entry(name).or_default() += polls;
        }
    }

    fn print(&self, took: Duration, with_coverage: bool) {
        print_totals(self, took);
        if with_coverage {
            print_coverage(&self.coverage);
            print_warnings(&self.warnings);
            print_polls(self);
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    panics::keep_quiet();
    warnings::count();
    if let Some(file) = &arguments.plan {
        return show(&read(file)?, &arguments);
    }
    if arguments.print_plan {
        println!("{}", serde_json::to_string_pretty(&Plan::of(arguments.seed))?);
        return Ok(ExitCode::SUCCESS);
    }
    match (arguments.worlds, arguments.minutes) {
        (None | Some(1), None) => show(&Plan::of(arguments.seed), &arguments),
        _ => campaign(&arguments),
    }
}

fn read(file: &Path) -> Result<Plan> {
    let text = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is no plan", file.display()))
}

/// Plays one plan, prints what happens, and plays it again to see that it goes the same way.
fn show(plan: &Plan, arguments: &Arguments) -> Result<ExitCode> {
    let began = Instant::now();
    let mut outcome = play(plan, true);
    println!("{}", std::mem::take(&mut outcome.trace).join("\n"));
    println!(
        "{:?} simulated, {} requests, {} commits, {} polls, hash {:016x}",
        outcome.simulated, outcome.requests, outcome.commits, outcome.polls, outcome.hash
    );
    if arguments.coverage {
        let mut totals = Totals::default();
        totals.add(&outcome);
        totals.print(began.elapsed(), true);
    }
    let Some(failure) = outcome.failure.clone().or_else(|| differs(plan, &outcome)) else {
        return Ok(ExitCode::SUCCESS);
    };
    println!("FAILED: {failure}");
    // A plan of a file was made smaller when it was written.
    if arguments.plan.is_none() && !arguments.no_shrinking {
        report(plan, &failure, &arguments.failures)?;
    }
    Ok(ExitCode::FAILURE)
}

/// Plays many worlds on all processors.
fn campaign(arguments: &Arguments) -> Result<ExitCode> {
    let began = Instant::now();
    let next = AtomicU64::new(arguments.seed);
    let end = arguments.worlds.map_or(u64::MAX, |worlds| arguments.seed.saturating_add(worlds));
    let time = arguments.minutes.map_or(Duration::MAX, |minutes| Duration::from_secs_f64(minutes * 60.0));
    let totals = Mutex::new(Totals::default());
    let has_failed = AtomicBool::new(false);
    let reports = AtomicUsize::new(0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or(processors);
    let work = || -> Result<()> {
        while began.elapsed() < time && !(arguments.until_failure && has_failed.load(Ordering::Relaxed)) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(());
            }
            let plan = Plan::of(seed);
            let outcome = play(&plan, false);
            let mut failure = outcome.failure.clone();
            if seed.is_multiple_of(TWICE_EVERY) {
                failure = failure.or(differs(&plan, &outcome));
                totals.lock().expect("no world panics").twice += 1;
            }
            totals.lock().expect("no world panics").add(&outcome);
            if let Some(failure) = failure {
                has_failed.store(true, Ordering::Relaxed);
                println!("seed {seed} FAILED: {failure}");
                if !arguments.no_shrinking && reports.fetch_add(1, Ordering::Relaxed) < REPORTS_MAX {
                    report(&plan, &failure, &arguments.failures)?;
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("worlds catch panics"))
    })?;
    totals.into_inner().expect("no world panics").print(began.elapsed(), arguments.coverage);
    Ok(if has_failed.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether a second run goes another way.
fn differs(plan: &Plan, first: &Outcome) -> Option<String> {
    let second = play(plan, false);
    (second.hash != first.hash).then(|| {
        format!(
            "not deterministic: {} polls and {:016x}, then {} and {:016x}",
            first.polls, first.hash, second.polls, second.hash
        )
    })
}

/// Makes a failing plan small, and writes it with its trace.
fn report(plan: &Plan, failure: &str, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let is_chance = failure.starts_with("not deterministic");
    let fails = |plan: &Plan| match is_chance {
        true => differs(plan, &play(plan, false)).is_some(),
        false => play(plan, false).failure.is_some(),
    };
    let small = shrink(plan, SHRINK_TRIES, fails);
    let outcome = play(&small, true);
    let file = folder.join(format!("{}.json", plan.seed));
    std::fs::write(&file, serde_json::to_string_pretty(&small)?)?;
    let trace = folder.join(format!("{}.txt", plan.seed));
    let found = outcome.failure.unwrap_or_else(|| failure.to_owned());
    std::fs::write(&trace, format!("{found}\n\n{}\n", outcome.trace.join("\n")))?;
    println!("  smallest plan: {found}");
    println!("  what happens: {}", trace.display());
    println!("  play it: cargo xtask simulate --plan {}", file.display());
    Ok(())
}

fn print_totals(totals: &Totals, took: Duration) {
    println!(
        "{} worlds ({} of them twice) in {:.1} s, {:.0} a minute: {:.1} simulated hours, {} requests, {} commits, {} polls",
        totals.worlds,
        totals.twice,
        took.as_secs_f64(),
        totals.worlds as f64 * 60.0 / took.as_secs_f64(),
        totals.simulated.as_secs_f64() / 3600.0,
        totals.requests,
        totals.commits,
        totals.polls,
    );
}

/// A line for each job and request, a column for each kind of fault; at the end, how many pairs never met.
fn print_coverage(coverage: &BTreeMap<(String, String), usize>) {
    let kinds: BTreeSet<&String> = coverage.keys().map(|(kind, _)| kind).collect();
    let names: BTreeSet<&String> = coverage.keys().map(|(_, name)| name).collect();
    print!("{:36}", "");
    kinds.iter().for_each(|kind| print!("{kind:>18}"));
    println!();
    let mut holes = 0;
    for name in &names {
        print!("{name:36}");
        for kind in &kinds {
            let count = coverage.get(&((*kind).clone(), (*name).clone())).copied().unwrap_or(0);
            holes += usize::from(count == 0);
            print!("{count:>18}");
        }
        println!();
    }
    println!("{} of {} pairs never met", holes, kinds.len() * names.len());
}

/// Every place that warns, and how often it did.
fn print_warnings(counted: &BTreeMap<String, usize>) {
    let places = warnings::places(Path::new("."));
    let reached = places.iter().filter(|place| counted.contains_key(*place)).count();
    println!("{reached} of {} places that warn were reached", places.len());
    for place in &places {
        println!("{:>10} {place}", counted.get(place).copied().unwrap_or(0));
    }
}

/// The tasks that were polled most, in a simulated second.
fn print_polls(totals: &Totals) {
    let mut polls: Vec<_> = totals.polls_by_name.iter().collect();
    polls.sort_by_key(|(_, polls)| std::cmp::Reverse(**polls));
    for (name, polls) in polls.iter().take(8) {
        println!(
            "{:>10.1} polls a simulated second: {name}",
            **polls as f64 / totals.simulated.as_secs_f64()
        );
    }
}
