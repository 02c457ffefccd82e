//! Running other programs, and counting what test runners report.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use ::bench::process;

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A program that runs in the workspace's folder. It does not get what cargo says of this package: build scripts that look
/// at it, and all that depends on them, would be built again for every clone.
pub fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let is_own =
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.to_string_lossy().starts_with(start));
        if is_own {
            command.env_remove(name);
        }
    }
    command
}

pub fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a program to its end. If it fails, the error shows the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    ensure!(status.success(), "{status}: {}", shown(command));
    Ok(())
}

/// Whether a program can be started and succeeds. Its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A line that a program prints.
pub enum Line {
    Output(String),
    Error(String),
}

impl Line {
    pub fn text(&self) -> &str {
        match self {
            Line::Output(text) | Line::Error(text) => text,
        }
    }

    pub fn print(&self) {
        match self {
            Line::Output(text) => println!("{text}"),
            Line::Error(text) => eprintln!("{text}"),
        }
    }
}

/// How often it is looked whether a program has ended.
const POLL: Duration = Duration::from_millis(50);
/// How long the last lines of a program may take that has ended. A process that it leaves behind can hold its output
/// open for ever.
const LAST_LINES_WITHIN: Duration = Duration::from_secs(2);

/// No program of tests takes nearly as long. One that does hangs.
pub const TEST_PROGRAM_TIME_MAX: Duration = Duration::from_secs(30 * 60);
/// For programs that have their own bounds.
pub const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs a program to its end, line by line. One that takes longer than it may is killed with all that it has started, and
/// there is no status.
pub fn run_by_lines(
    command: &mut Command,
    time_max: Duration,
    mut on_line: impl FnMut(Line),
) -> Result<Option<ExitStatus>> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", shown(command)))?;
    let (sender, lines) = mpsc::channel();
    forward(child.stdout.take(), Line::Output, sender.clone());
    forward(child.stderr.take(), Line::Error, sender);
    let deadline = Instant::now() + time_max;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        match lines.recv_timeout(POLL) {
            Ok(line) => on_line(line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if ended.is_some_and(|(_, at)| at.elapsed() > LAST_LINES_WITHIN) {
                    break;
                }
            }
        }
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        if ended.is_none() && Instant::now() > deadline {
            process::kill_with_children(child.id());
            child.wait()?;
            return Ok(None);
        }
    }
    Ok(Some(child.wait()?))
}

/// Sends the lines of a stream, from a thread of its own.
fn forward(from: Option<impl Read + Send + 'static>, line: fn(String) -> Line, to: Sender<Line>) {
    let Some(from) = from else { return };
    std::thread::spawn(move || {
        for bytes in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            if to.send(line(String::from_utf8_lossy(&bytes).into_owned())).is_err() {
                return;
            }
        }
    });
}

/// Like [`run`], and counts what `cargo test` reports.
pub fn run_counting(command: &mut Command) -> Result<Tally> {
    let mut tally = Tally::default();
    let status = run_by_lines(command, A_DAY, |line| {
        tally.read(line.text());
        line.print();
    })?;
    let status = status.context("it was killed after a day")?;
    ensure!(status.success() && tally.failed == 0, "{status}: {}", shown(command));
    ensure!(tally.passed > 0, "no test ran: {}", shown(command));
    Ok(tally)
}

/// How many processors there are.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does all jobs, up to `width` at the same time, and begins them in their order.
pub fn side_by_side<J: Send, R: Send>(
    jobs: impl IntoIterator<Item = J>,
    width: usize,
    work: impl Fn(J) -> R + Sync,
) -> Vec<R> {
    let queue: Mutex<VecDeque<J>> = Mutex::new(jobs.into_iter().collect());
    let done = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..width.max(1) {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let result = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A command as it would be typed.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Builds the binary and the load generator in release mode and returns their folder. It always builds both: each
/// alone would select other features of their dependencies and build those again.
pub fn build_release() -> Result<PathBuf> {
    build("release")
}

/// Builds the binaries as they are handed out and measured, which takes minutes; returns their folder.
pub fn build_dist() -> Result<PathBuf> {
    build("dist")
}

fn build(profile: &str) -> Result<PathBuf> {
    run(&mut cargo(["build", "--profile", profile, "--package", "lodestone", "--package", "bench"]))?;
    Ok(target_folder()?.join(profile))
}

/// The given binary, or the one that is built from this tree.
pub fn lodestone(given: Option<&PathBuf>) -> Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("finding {}", path.display())),
        None => Ok(build_release()?.join("lodestone")),
    }
}

/// Where cargo builds.
pub fn target_folder() -> Result<PathBuf> {
    let output = cargo(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
    Ok(metadata["target_directory"].as_str().context("cargo names its target folder")?.into())
}

/// How many tests passed and failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    /// Adds up the summary lines of cargo test.
    fn read(&mut self, line: &str) {
        let Some(summary) = line.strip_prefix("test result:") else { return };
        let words: Vec<&str> = summary.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match *pair {
                [count, "passed"] => self.passed += count.parse().unwrap_or(0),
                [count, "failed"] => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_cargo_is_counted() {
        let mut tally = Tally::default();
        tally.read("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; finished in 0.00s");
        tally.read("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; finished in 0.00s");
        tally.read("the server passed 3 checks");
        assert_eq!(tally, Tally { passed: 13, failed: 2 });
    }

    fn shell(script: &str, time_max: Duration) -> (Vec<String>, Option<ExitStatus>) {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        let status = run_by_lines(command.args(["-c", script]), time_max, |line| {
            lines.push(line.text().to_owned());
        });
        (lines, status.unwrap())
    }

    #[test]
    fn the_output_of_a_program_is_read_to_its_end() {
        let (mut lines, status) = shell("echo one; echo two >&2; exit 3", Duration::from_secs(60));
        lines.sort();
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(status.and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_what_it_has_started() {
        let script = "sleep 600 & echo $!; wait";
        let (lines, status) = shell(script, Duration::from_millis(300));
        assert!(status.is_none());
        let child: i32 = lines[0].parse().unwrap();
        // A dead process stays in the list until its new parent waits for it.
        let is_dead = || matches!(process::state(child), None | Some('Z' | 'X'));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_dead() {
            assert!(Instant::now() < deadline, "{child} goes on");
            std::thread::sleep(POLL);
        }
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let (lines, status) = shell("sleep 20 & echo $!", Duration::from_secs(60));
        assert!(status.is_some_and(|status| status.success()));
        process::kill_with_children(lines[0].parse().unwrap());
    }

    #[test]
    fn all_jobs_are_done_and_no_more_at_a_time_than_allowed() {
        let running = std::sync::atomic::AtomicUsize::new(0);
        let done = side_by_side(0..20, 3, |job| {
            let together = running.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            std::thread::sleep(Duration::from_millis(2));
            running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            (job, together)
        });
        assert!(done.iter().all(|(_, together)| *together <= 3));
        assert_eq!(done.iter().map(|(job, _)| job).sum::<i32>(), 190);
    }
}
