//! `cargo xtask test`: every check, cheapest first.
//!
//! It installs what it needs, so that it runs on a fresh clone and in CI alike. The clients, the studio's
//! stories, the crash loop and the benchmark share one release build.
//!
//! Each step is a process of its own (`cargo xtask step`), so that all it prints goes to a file as well, and a step that
//! fails keeps no other from running. No step runs twice: what fails once in ten runs is a fault of ours or of the test. At
//! the end it shows how long each step took, the slowest tests, and everything that failed.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::command::{self, A_DAY, cargo, program, run_counting};
use crate::report::{Failure, Outcome, Report, Test};
use crate::rust_tests::{self, Workspace};
use crate::victim::now_us;
use crate::{
    acceptance, advisories, bench, cluster, codegen, crash, damage, deny, evidence, fuzz, package, recovery,
    regions, replay, round_trip, simulate, studio, tidy, tools,
};

/// How many of the slowest tests are listed.
const SLOWEST: usize = 20;

#[derive(Default, clap::Args)]
pub struct TestOptions {
    /// The steps to run; all by default
    steps: Vec<Step>,
}

/// A step in a process of its own.
#[derive(clap::Args)]
pub struct StepOptions {
    step: Step,
    /// Where its report goes
    report: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    Format,
    Tidy,
    Codegen,
    Clippy,
    Deny,
    Advisories,
    Rust,
    Simulate,
    Acceptance,
    Package,
    Studio,
    Crash,
    ChangeLog,
    Cluster,
    Regions,
    Damage,
    Bench,
    Fuzz,
}

/// How a step went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ran {
    pub step: String,
    pub seconds: f64,
    pub report: Report,
}

impl Ran {
    pub fn has_passed(&self) -> bool {
        self.report.error.is_none()
    }

    /// Everything that failed: tests, or the step as a whole.
    fn failures(&self) -> Vec<Failure> {
        match (&self.report.error, self.report.failures.as_slice()) {
            (None, _) => Vec::new(),
            (Some(error), []) => {
                let (what, alone) =
                    (format!("{}: {error}", self.step), format!("cargo xtask test {}", self.step));
                vec![Failure { what, alone }]
            }
            (Some(_), failures) => failures.to_vec(),
        }
    }
}

/// What is known of earlier runs, in the user's cache.
#[derive(Default, Serialize, Deserialize)]
pub struct Record {
    /// The last run of each step.
    pub steps: Vec<Ran>,
    /// The last run of all steps.
    pub whole: Option<Whole>,
}

/// A run of all steps.
#[derive(Clone, Serialize, Deserialize)]
pub struct Whole {
    /// When it began, in seconds since 1970.
    pub began_s: u64,
    pub seconds: f64,
    pub has_passed: bool,
}

impl Record {
    fn file() -> Result<PathBuf> {
        Ok(tools::cache()?.join("test.json"))
    }

    /// Empty if there was no run yet, or one of another version of this program.
    pub fn read() -> Record {
        let bytes = Record::file().and_then(|file| Ok(fs::read(file)?));
        bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self) -> Result<()> {
        let file = Record::file()?;
        fs::create_dir_all(tools::cache()?)?;
        fs::write(&file, serde_json::to_vec(self)?).with_context(|| format!("writing {}", file.display()))
    }

    /// Takes note of a run.
    fn note(&mut self, ran: &[Ran], whole: Option<Whole>) {
        self.steps.retain(|old| !ran.iter().any(|new| new.step == old.step));
        self.steps.extend_from_slice(ran);
        self.whole = whole.or(self.whole.take());
    }

    /// The tests of a step.
    fn tests(&self, step: Step) -> Vec<Test> {
        let ran = self.steps.iter().filter(|ran| ran.step == step.name());
        ran.flat_map(|ran| ran.report.tests.clone()).collect()
    }
}

/// Whether all steps passed.
pub fn run(options: &TestOptions) -> Result<bool> {
    let steps = if options.steps.is_empty() { Step::value_variants() } else { &options.steps };
    let (began, began_s) = (Instant::now(), now_us(0) / 1_000_000);
    let mut all = Vec::new();
    for &step in steps {
        println!("── {}", step.name());
        let ran = step.run_apart(&evidence::folder()?.join(step.name()))?;
        println!("── {}: {:.1} s{}", ran.step, ran.seconds, if ran.has_passed() { "" } else { ", FAILED" });
        all.push(ran);
    }
    let has_passed = all.iter().all(Ran::has_passed);
    let whole = Whole { began_s, seconds: began.elapsed().as_secs_f64(), has_passed };
    let mut record = Record::read();
    record.note(&all, options.steps.is_empty().then_some(whole));
    record.write()?;
    for ran in all.iter().filter(|ran| !ran.has_passed()) {
        evidence::print_tail(&evidence::folder()?.join(&ran.step).join(OUTPUT))?;
    }
    let kept = if has_passed { None } else { Some(evidence::folder()?) };
    print!("{}", summary(&all, began.elapsed(), kept));
    Ok(has_passed)
}

/// How long each step took, the slowest tests, what was left out, what failed, and how to go on. CI reads the last line.
fn summary(all: &[Ran], took: Duration, evidence: Option<&Path>) -> String {
    let mut text = String::from("\n   seconds  tests  step\n");
    for ran in all {
        let tests = ran.report.tests.len();
        let tests = if tests == 0 { String::new() } else { tests.to_string() };
        let failed = if ran.has_passed() { "" } else { "  FAILED" };
        text += &format!("{:10.1}  {tests:>5}  {}{failed}\n", ran.seconds, ran.step);
    }
    let mut tests: Vec<(&Ran, &Test)> =
        all.iter().flat_map(|ran| ran.report.tests.iter().map(move |test| (ran, test))).collect();
    tests.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
    if !tests.is_empty() {
        text += "\n   seconds  slowest tests\n";
    }
    for (ran, test) in tests.iter().take(SLOWEST) {
        text += &format!("{:10.1}  {}, {}: {}\n", test.seconds, ran.step, test.group, test.name);
    }
    for (ran, note) in all.iter().flat_map(|ran| ran.report.notes.iter().map(move |note| (ran, note))) {
        text += &format!("\nNot tested, {}: {note}\n", ran.step);
    }
    let failures: Vec<Failure> = all.iter().flat_map(Ran::failures).collect();
    if !failures.is_empty() {
        text += "\nFailed, and the command that runs it alone:\n";
    }
    for Failure { what, alone } in &failures {
        text += &format!("  {what}\n      {alone}\n");
    }
    if let Some(evidence) = evidence {
        text += &format!("\nThe evidence is in {}\n", evidence.display());
    }
    let passed: usize = all.iter().map(|ran| ran.report.count(Outcome::Passed)).sum();
    let minutes = took.as_secs_f64() / 60.0;
    text + &format!(
        "\n{} steps in {minutes:.1} minutes: {passed} passed, {} failed\n",
        all.len(),
        failures.len()
    )
}

/// The file with all that a step printed.
const OUTPUT: &str = "output.log";

impl Step {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Runs the step in a process of its own, with a folder for its evidence.
    fn run_apart(self, folder: &Path) -> Result<Ran> {
        fs::create_dir_all(folder)?;
        let report = folder.join("report.json");
        let mut log = File::create(folder.join(OUTPUT))?;
        // This very program, even if it has been built again since.
        let mut step = program("/proc/self/exe");
        step.args(["step", &self.name()]).arg(&report).env(evidence::VARIABLE, folder);
        let began = Instant::now();
        let status = command::run_by_lines(&mut step, A_DAY, |line| {
            // A log that can't be written is no reason to end a run.
            let _ = writeln!(log, "{}", line.text());
            line.print();
        })?;
        let mut report: Report =
            fs::read(&report).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let has_passed = status.is_some_and(|status| status.success());
        if !has_passed && report.error.is_none() {
            report.error = Some(status.map_or("it hung".to_owned(), |status| status.to_string()));
        }
        Ok(Ran { step: self.name(), seconds: began.elapsed().as_secs_f64(), report })
    }

    fn run(self, report: &mut Report) -> Result<()> {
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
            Step::Advisories => advisories::run(&advisories::AdvisoriesOptions::default()),
            Step::Rust => rust(report),
            Step::Simulate => simulate::run(&simulate::SimulateOptions::brief()),
            Step::Acceptance => {
                let embedded = acceptance::run(&acceptance::AcceptanceOptions::default(), report);
                let on_two_servers =
                    acceptance::run(&acceptance::AcceptanceOptions::brief_on_two_servers(), report);
                embedded.and(on_two_servers)
            }
            Step::Package => package::run(&package::PackageOptions::brief()?, report),
            Step::Studio => studio::check(&studio::StudioOptions::default(), report),
            Step::Crash => crash::run_brief(),
            Step::ChangeLog => change_log(),
            Step::Cluster => cluster::run(&cluster::ClusterOptions::brief()),
            Step::Regions => regions::run(&regions::RegionsOptions::brief()),
            Step::Damage => damage::run(&damage::DamageOptions::brief()),
            Step::Bench => bench::smoke(),
            Step::Fuzz => fuzz::run_brief(),
        }
    }
}

/// Runs one step in this process, and writes its report.
pub fn run_step(options: &StepOptions) -> Result<()> {
    let mut report = Report::default();
    let outcome = options.step.run(&mut report);
    report.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
    fs::write(&options.report, serde_json::to_vec(&report)?)?;
    outcome
}

/// Unit, integration and documentation tests. The tests of one file share a process, and so the PostgreSQL server
/// that is slow to start.
fn rust(report: &mut Report) -> Result<()> {
    let workspace = Workspace {
        manifest: None,
        variables: Vec::new(),
        names: &[],
        alone: rust_tests::alone,
        evidence: evidence::folder()?,
        has_postgres: tools::postgres_if_possible()?,
    };
    let last = Record::read().tests(Step::Rust);
    let programs = workspace.run(&last, report);
    programs.and(documentation(report)).and(foundationdb(report))
}

/// The storage contract on the FoundationDB cluster that is named, if there is one. Building that needs libclang and
/// FoundationDB's client library.
fn foundationdb(report: &mut Report) -> Result<()> {
    if std::env::var_os("LODESTONE_FDB_CLUSTER").is_none() {
        let note = "FoundationDB was not tested, only a model of its transactions: LODESTONE_FDB_CLUSTER names no \
                    cluster file";
        report.notes.push(note.to_owned());
        return Ok(());
    }
    let suite = ["-p", "store-fdb", "--features", "client", "--test", "foundationdb", "on_a_cluster"];
    run_counting(&mut cargo(["test", "--quiet"].into_iter().chain(suite))).map(|_| ())
}

/// The examples in documentation, which rustdoc builds and runs itself.
fn documentation(report: &mut Report) -> Result<()> {
    let began = Instant::now();
    let alone = "cargo test --doc --workspace";
    let tally = run_counting(&mut cargo(["test", "--doc", "--quiet", "--workspace", "--no-fail-fast"]));
    if tally.is_err() {
        let what = "examples in the documentation".to_owned();
        report.failures.push(Failure { what, alone: alone.to_owned() });
    }
    let tally = tally?;
    let each = began.elapsed().as_secs_f64() / tally.passed as f64;
    let test = |number: u64| Test {
        group: "documentation".to_owned(),
        name: format!("example {number}"),
        seconds: each,
        outcome: Outcome::Passed,
    };
    report.add((1..=tally.passed).map(test).collect(), |_| alone.to_owned());
    Ok(())
}

/// What reads the change log, while everything around it is killed.
fn change_log() -> Result<()> {
    let outcomes = [
        recovery::run(&recovery::RecoveryOptions::brief()),
        replay::run(&replay::ReplayOptions::brief()),
        round_trip::run(&round_trip::RoundTripOptions::brief()),
    ];
    outcomes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(step: &str, seconds: f64, report: Report) -> Ran {
        Ran { step: step.to_owned(), seconds, report }
    }

    fn test(name: &str, seconds: f64, outcome: Outcome) -> Test {
        Test { group: "engine behaviour".to_owned(), name: name.to_owned(), seconds, outcome }
    }

    #[test]
    fn the_summary_says_what_was_slow_what_failed_and_how_to_go_on() {
        let mut of_rust = Report { notes: vec!["no PostgreSQL".to_owned()], ..Report::default() };
        let tests = vec![test("quick", 0.1, Outcome::Passed), test("slow", 9.0, Outcome::Failed)];
        of_rust.add(tests, |test| format!("cargo test {}", test.name));
        of_rust.error = Some("1 tests failed".to_owned());
        let of_crash = Report { error: Some("a write is lost".to_owned()), ..Report::default() };
        let all =
            [ran("tidy", 1.0, Report::default()), ran("rust", 60.0, of_rust), ran("crash", 7.0, of_crash)];
        let text = summary(&all, Duration::from_secs(90), Some(Path::new("/evidence")));
        assert_eq!(
            text,
            "
   seconds  tests  step
       1.0         tidy
      60.0      2  rust  FAILED
       7.0         crash  FAILED

   seconds  slowest tests
       9.0  rust, engine behaviour: slow
       0.1  rust, engine behaviour: quick

Not tested, rust: no PostgreSQL

Failed, and the command that runs it alone:
  engine behaviour: slow
      cargo test slow
  crash: a write is lost
      cargo xtask test crash

The evidence is in /evidence

3 steps in 1.5 minutes: 1 passed, 2 failed
"
        );
    }

    #[test]
    fn a_run_of_one_step_leaves_what_is_known_of_the_others() {
        let mut record = Record::default();
        let whole = Whole { began_s: 1, seconds: 8.0, has_passed: true };
        record.note(&[ran("tidy", 1.0, Report::default()), ran("rust", 7.0, Report::default())], Some(whole));
        record.note(&[ran("rust", 5.0, Report::default())], None);
        let seconds: Vec<(&str, f64)> =
            record.steps.iter().map(|ran| (ran.step.as_str(), ran.seconds)).collect();
        assert_eq!(seconds, [("tidy", 1.0), ("rust", 5.0)]);
        assert_eq!(record.whole.map(|whole| whole.seconds), Some(8.0));
    }
}
