//! Runs the tests of a Rust workspace: cargo builds the test programs, and they run here, several side by side.
//!
//! Most tests wait more than they compute, so a second program uses the cores that the first leaves idle. Programs that
//! took longest the last time come first. Each writes a log with the time of every test.
//!
//! libtest tells what happens as JSON, an unstable option of the stable compiler: `RUSTC_BOOTSTRAP` allows it to the test
//! programs. The compiler does not get that variable: everything would be built again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::command::{self, Line, TEST_PROGRAM_TIME_MAX, cargo, cores, program, shown};
use crate::evidence;
use crate::report::{Failure, Outcome, Report, Test};

/// What a test says that needs PostgreSQL where it is not installed (`store_postgres::test_server`).
const NEEDS_POSTGRES: &str = "these tests need PostgreSQL";

/// A workspace whose tests run.
pub struct Workspace<'a> {
    /// Its `Cargo.toml`, if it is not ours.
    pub manifest: Option<&'a Path>,
    /// Further variables for cargo and the tests.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// Parts of the names of the tests that run; all by default.
    pub names: &'a [String],
    /// The command that runs a test of this program alone, or all of them if it has no name.
    pub alone: fn(&TestProgram, &str) -> String,
    /// Where logs go.
    pub evidence: &'a Path,
    /// Whether PostgreSQL is there. If not, tests that ask for it are left out.
    pub has_postgres: bool,
}

/// The tests of one crate, file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestProgram {
    executable: PathBuf,
    /// The folder of its package, where it runs.
    folder: PathBuf,
    pub package: String,
    /// The argument for cargo: `--lib`, or `--test name`.
    pub target: String,
}

impl TestProgram {
    fn name(&self) -> String {
        let target = self.target.rsplit(' ').next().unwrap_or_default().trim_start_matches("--");
        format!("{} {target}", self.package)
    }
}

/// The command that runs a test of our own workspace alone, or the whole program.
pub fn alone(program: &TestProgram, test: &str) -> String {
    let test = if test.is_empty() { String::new() } else { format!(" -- --exact {test}") };
    format!("cargo test -p {} {}{test}", program.package, program.target)
}

impl Workspace<'_> {
    /// Runs all programs, also when one fails. `last` are the tests of the last run.
    pub fn run(&self, last: &[Test], report: &mut Report) -> Result<()> {
        let (mut programs, built) = self.build()?;
        longest_first(&mut programs, last);
        let logs = self.evidence.join("rust");
        std::fs::create_dir_all(&logs)?;
        let ended = command::side_by_side(programs, cores(), |program| {
            let ran = self.run_program(&program, &logs);
            (program, ran)
        });
        let (mut ran, mut without_postgres) = (0, 0);
        let failed_before = report.failures.len();
        for (program, ended) in ended {
            let (tests, problem) = match ended {
                Ok((tests, problem)) => (tests, problem),
                Err(error) => (Vec::new(), Some(format!("{error:#}"))),
            };
            ran += tests.len();
            without_postgres += tests.iter().filter(|test| test.outcome == Outcome::Skipped).count();
            report.add(tests, |test| (self.alone)(&program, &test.name));
            report.failures.extend(problem.map(|problem| Failure {
                what: format!("{}: {problem}", program.name()),
                alone: (self.alone)(&program, ""),
            }));
        }
        if without_postgres > 0 {
            report.notes.push(format!(
                "{without_postgres} tests need PostgreSQL 15, which is not installed, and were left out"
            ));
        }
        built?;
        let failed = report.failures.len() - failed_before;
        ensure!(failed == 0, "{failed} tests failed");
        ensure!(ran > 0, "no test ran");
        Ok(())
    }

    /// Builds the test programs. If some can't be built, those that can are there all the same.
    fn build(&self) -> Result<(Vec<TestProgram>, Result<()>)> {
        let mut build = cargo(["test", "--no-run", "--quiet", "--no-fail-fast"]);
        build.arg("--message-format=json-render-diagnostics");
        match self.manifest {
            Some(manifest) => build.args(["--locked", "--manifest-path"]).arg(manifest),
            None => build.arg("--workspace"),
        };
        build.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let mut child = build.stdout(Stdio::piped()).spawn().context("starting cargo")?;
        let output = BufReader::new(child.stdout.take().context("cargo has an output")?);
        let mut programs = Vec::new();
        for line in output.lines() {
            programs.extend(artifact(&line?)?);
        }
        let status = child.wait()?;
        let built = match status.success() {
            true => Ok(()),
            false => Err(anyhow::anyhow!("{status}: {}", shown(&build))),
        };
        Ok((programs, built))
    }

    /// Runs one program. Gives its tests, and what else went wrong.
    fn run_program(&self, tests: &TestProgram, logs: &Path) -> Result<(Vec<Test>, Option<String>)> {
        let mut command = program(&tests.executable);
        command.current_dir(&tests.folder).env("CARGO_MANIFEST_DIR", &tests.folder);
        command.env("RUSTC_BOOTSTRAP", "1").env(evidence::VARIABLE, self.evidence);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(["-Z", "unstable-options", "--format=json", "--report-time"]);
        command.arg(format!("--test-threads={}", cores())).args(self.names);

        let path = logs.join(format!("{}.log", tests.name().replace(' ', "-")));
        let mut log = File::create(&path).with_context(|| format!("writing {}", path.display()))?;
        let mut run = Run::new(tests.name(), self.has_postgres);
        let began = Instant::now();
        let status = command::run_by_lines(&mut command, TEST_PROGRAM_TIME_MAX, |line| {
            // A log that can't be written is no reason to end a run.
            let _ = writeln!(log, "{}", run.read(&line));
        })?;
        let problem = match status {
            None => Some(format!("not finished within {} s", TEST_PROGRAM_TIME_MAX.as_secs())),
            Some(status) if !run.is_finished => Some(format!("ended early: {status}")),
            Some(_) => None,
        };
        let problem = problem.map(|problem| {
            let unfinished = run.running.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("{problem}; tests that had begun: {unfinished}; see {}", path.display())
        });
        println!("{}", run.summary(began.elapsed(), problem.as_deref()));
        Ok((run.tests, problem))
    }
}

/// Those that took longest the last time come first, and new ones before them.
fn longest_first(programs: &mut [TestProgram], last: &[Test]) {
    let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
    for test in last {
        *seconds.entry(&test.group).or_default() += test.seconds;
    }
    let seconds = |program: &TestProgram| *seconds.get(program.name().as_str()).unwrap_or(&f64::MAX);
    programs.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
}

/// A message of cargo about something that it has built.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The test program that a message of cargo is about, if it is about one.
fn artifact(message: &str) -> Result<Option<TestProgram>> {
    let message: Artifact =
        serde_json::from_str(message).with_context(|| format!("cargo said {message:?}"))?;
    let (true, Some(target), Some(Profile { test: true }), Some(executable)) =
        (message.reason == "compiler-artifact", message.target, message.profile, message.executable)
    else {
        return Ok(None);
    };
    let folder = message.manifest_path.parent().context("a manifest is in a folder")?.to_owned();
    let kind = target.kind.first().map(String::as_str).unwrap_or_default();
    let target = match kind {
        "test" | "bin" | "example" | "bench" => format!("--{kind} {}", target.name),
        _ => "--lib".to_owned(),
    };
    Ok(Some(TestProgram { executable, folder, package: package_name(&message.package_id)?, target }))
}

/// The name in `path+file:///…/crates/engine#0.1.0` or `path+file:///…/rust#sdk@0.1.0`.
fn package_name(id: &str) -> Result<String> {
    let Some((path, version)) = id.split_once('#') else { bail!("no package in {id:?}") };
    let name = match version.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or_default(),
    };
    Ok(name.to_owned())
}

/// What libtest says.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    event: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    exec_time: f64,
    #[serde(default)]
    stdout: String,
}

/// The beginning of a message.
const MESSAGE: &str = "{ \"type\":";

/// A program that runs.
struct Run {
    group: String,
    has_postgres: bool,
    tests: Vec<Test>,
    /// Tests that have begun.
    running: BTreeSet<String>,
    is_finished: bool,
    /// The output of tests that failed.
    shown: String,
}

impl Run {
    fn new(group: String, has_postgres: bool) -> Run {
        let (tests, running) = (Vec::new(), BTreeSet::new());
        Run { group, has_postgres, tests, running, is_finished: false, shown: String::new() }
    }

    /// Reads a line of the program, and returns what is logged for it.
    fn read(&mut self, line: &Line) -> String {
        let text = line.text();
        let message = match line {
            // A process that a test has started may have left half a line before it.
            Line::Output(text) => text.find(MESSAGE).and_then(|at| serde_json::from_str(&text[at..]).ok()),
            Line::Error(_) => None,
        };
        match message {
            Some(message) => self.note(message),
            None => text.to_owned(),
        }
    }

    fn note(&mut self, message: Message) -> String {
        let Message { kind, event, name, exec_time, stdout } = message;
        let outcome = match (kind.as_str(), event.as_str()) {
            ("test", "started") => {
                self.running.insert(name.clone());
                return format!("begins   {name}");
            }
            ("test", "ok") => Outcome::Passed,
            ("test", "ignored") => {
                self.running.remove(&name);
                return format!("ignored  {name}");
            }
            ("test", "failed") if !self.has_postgres && stdout.contains(NEEDS_POSTGRES) => Outcome::Skipped,
            ("test", "failed") => Outcome::Failed,
            ("suite", "ok" | "failed") => {
                self.is_finished = true;
                return "the end".to_owned();
            }
            _ => return format!("{event}  {name}"),
        };
        self.running.remove(&name);
        let word = match outcome {
            Outcome::Passed => "passed ",
            Outcome::Failed => "FAILED ",
            Outcome::Skipped => "skipped",
        };
        let said = match outcome {
            Outcome::Failed => {
                self.shown += &format!("── {} {name}\n{}\n", self.group, stdout.trim_end());
                format!("\n{stdout}")
            }
            _ => String::new(),
        };
        let log = format!("{word} {name} {exec_time:.3} s{said}");
        self.tests.push(Test { group: self.group.clone(), name, seconds: exec_time, outcome });
        log
    }

    fn summary(&self, took: Duration, problem: Option<&str>) -> String {
        let count = |outcome| self.tests.iter().filter(|test| test.outcome == outcome).count();
        let counted = [("failed", Outcome::Failed), ("skipped", Outcome::Skipped)]
            .map(|(word, outcome)| (word, count(outcome)))
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!(", {count} {word}"));
        format!(
            "{}{}: {} passed{} in {:.1} s{}",
            self.shown,
            self.group,
            count(Outcome::Passed),
            counted.collect::<String>(),
            took.as_secs_f64(),
            problem.map(|problem| format!("; {problem}")).unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_says() {
        let said = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/engine#0.1.0","manifest_path":"/x/crates/engine/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"behaviour","src_path":"/x"},"profile":{"opt_level":"0","test":true},"features":[],"filenames":["/t/behaviour-1"],"executable":"/t/behaviour-1","fresh":true}"#;
        let program = artifact(said).unwrap().unwrap();
        assert_eq!((program.package.as_str(), program.target.as_str()), ("engine", "--test behaviour"));
        assert_eq!(
            (program.name().as_str(), program.folder.as_path()),
            ("engine behaviour", Path::new("/x/crates/engine"))
        );
        assert_eq!(alone(&program, "a::b"), "cargo test -p engine --test behaviour -- --exact a::b");

        let lib = said.replace(r#"["test"]"#, r#"["lib"]"#);
        assert_eq!(artifact(&lib).unwrap().unwrap().name(), "engine lib");
        let dependency = said.replace(r#""test":true"#, r#""test":false"#);
        assert_eq!(artifact(&dependency).unwrap(), None);
        assert_eq!(artifact(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
        assert_eq!(package_name("path+file:///x/rust#sdk@0.1.0").unwrap(), "sdk");
    }

    fn run_of(has_postgres: bool, lines: &[&str]) -> Run {
        let mut run = Run::new("engine behaviour".to_owned(), has_postgres);
        for line in lines {
            run.read(&Line::Output((*line).to_owned()));
        }
        run
    }

    #[test]
    fn tests_are_counted_with_their_times() {
        let run = run_of(
            true,
            &[
                r#"{ "type": "suite", "event": "started", "test_count": 3 }"#,
                r#"{ "type": "test", "event": "started", "name": "a" }"#,
                r#"half a line of a server{ "type": "test", "name": "a", "event": "ok", "exec_time": 0.5 }"#,
                r#"{ "type": "test", "event": "started", "name": "b" }"#,
                r#"{ "type": "test", "name": "b", "event": "failed", "exec_time": 0.25, "stdout": "panicked\n" }"#,
                r#"{ "type": "test", "event": "started", "name": "c" }"#,
                r#"{ "type": "test", "name": "c", "event": "ignored" }"#,
                r#"{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 1 }"#,
            ],
        );
        assert!(run.is_finished && run.running.is_empty());
        let summary = run.summary(Duration::from_secs(1), None);
        assert_eq!(summary, "── engine behaviour b\npanicked\nengine behaviour: 1 passed, 1 failed in 1.0 s");
        assert_eq!(run.tests[0].seconds, 0.5);
    }

    #[test]
    fn a_program_that_ends_early_leaves_the_names_of_the_tests_that_ran() {
        let run = run_of(true, &[r#"{ "type": "test", "event": "started", "name": "a" }"#]);
        assert!(!run.is_finished && run.running.contains("a"));
    }

    #[test]
    fn without_postgresql_the_tests_that_need_it_are_skipped() {
        let failed = r#"{ "type": "test", "name": "a", "event": "failed", "exec_time": 0.1, "stdout": "panicked: these tests need PostgreSQL 15 in /usr" }"#;
        assert_eq!(run_of(false, &[failed]).tests[0].outcome, Outcome::Skipped);
        assert_eq!(run_of(true, &[failed]).tests[0].outcome, Outcome::Failed);
        let other = failed.replace("these tests need", "no");
        assert_eq!(run_of(false, &[&other]).tests[0].outcome, Outcome::Failed);
    }

    const LIBRARY: &str = r#"
        #[test] fn passes() { assert_eq!(std::env::current_dir().unwrap().to_str(), Some(env!("CARGO_MANIFEST_DIR"))) }
        #[test] #[ignore] fn is_ignored() {}
    "#;
    const PROGRAM: &str = r#"
        #[test] fn fails() { println!("half a line"); panic!("as it must") }
        #[test] fn dies() { if std::env::var_os("DIES").is_some() { std::process::abort() } }
    "#;

    #[test]
    fn the_tests_of_a_workspace_run_and_what_fails_leaves_its_log() {
        let folder = tempfile::tempdir().unwrap();
        // Cargo names the folder without links.
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        write("Cargo.toml", "[package]\nname = \"example\"\nedition = \"2024\"\n[workspace]\n");
        write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"example\"\nversion = \"0.0.0\"\n");
        write("src/lib.rs", LIBRARY);
        write("tests/program.rs", PROGRAM);
        let check = |dies: bool| {
            let mut variables = vec![("CARGO_TARGET_DIR", root.join("target"))];
            variables.extend(dies.then(|| ("DIES", PathBuf::from("1"))));
            let (manifest, evidence) = (root.join("Cargo.toml"), root.join("evidence"));
            let workspace = Workspace {
                manifest: Some(&manifest),
                variables,
                names: &[],
                alone,
                evidence: &evidence,
                has_postgres: true,
            };
            let mut report = Report::default();
            let outcome = workspace.run(&[], &mut report);
            let log = std::fs::read_to_string(evidence.join("rust/example-program.log")).unwrap();
            (outcome.map_err(|error| error.to_string()), report, log)
        };
        let (outcome, report, log) = check(false);
        assert_eq!(outcome, Err("1 tests failed".to_owned()));
        assert_eq!((report.count(Outcome::Passed), report.count(Outcome::Failed)), (2, 1));
        assert_eq!(report.failures[0].alone, "cargo test -p example --test program -- --exact fails");
        assert!(log.contains("FAILED  fails") && log.contains("half a line") && log.contains("as it must"));

        let (outcome, report, log) = check(true);
        assert!(outcome.is_err());
        assert!(report.failures.iter().any(|failure| failure.what.contains("ended early")), "{report:?}");
        assert!(log.contains("begins   dies"));
    }

    #[test]
    fn the_longest_program_comes_first_and_a_new_one_before_it() {
        let program = |target: &str| TestProgram {
            executable: PathBuf::new(),
            folder: PathBuf::new(),
            package: "p".to_owned(),
            target: format!("--test {target}"),
        };
        let test = |group: &str, seconds: f64| Test {
            group: group.to_owned(),
            name: String::new(),
            seconds,
            outcome: Outcome::Passed,
        };
        let mut programs = [program("short"), program("long"), program("new")];
        longest_first(&mut programs, &[test("p long", 2.0), test("p short", 3.0), test("p long", 2.0)]);
        let order: Vec<String> = programs.iter().map(TestProgram::name).collect();
        assert_eq!(order, ["p new", "p long", "p short"]);
    }
}
