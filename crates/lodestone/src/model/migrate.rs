//! `lodestone model migrate OLD NEW --endpoint-url URL`.

use std::cell::RefCell;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use model::cost::UnknownRegion;
use model::facts::Facts;
use model::migrate::{Migration, MigrationSettings, migrate};
use proof::migrate::{Allowance, FinishedJob, Record, Run, StepRecord, Stop, Watcher};
use serde_json::{Value, json};

use super::endpoint::{EndpointArguments, Http, explained, runtime};
use super::progress::Progress;
use super::{FOUND, ModelFile, UNREADABLE, output};

/// Migrate a table from one model to another while the application runs.
///
/// Carries out the steps that `lodestone model diff` plans: indexes and tables are created and waited for, existing
/// items are filled in or copied, and in the end what is old is removed. Two kinds of steps are not taken without
/// you. To deploy another version of the application is yours: the command stops there, and goes on with
/// `--deployed STEP`. What can't be undone needs `--delete`, and is backed up first.
///
/// Jobs read the table in segments and write each item on the condition that it is as it was read. They use at
/// most a share of the capacity (`--share`), and a number of write units per second (`--rate`). A job is done when a
/// last pass over the table finds every item right.
///
/// Ctrl-C pauses. How far it got is in a file beside the new model: the same command goes on from there, also after
/// a crash. `--back` is the way back, from wherever it is.
///
/// The status is 0 if everything is done, 1 if something is in the way, 2 if a file is not a model or the database does
/// not answer, 3 if it waits for you or was paused.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model migrate model.yaml next.yaml --endpoint-url http://localhost:8000
                                          up to the first step that is yours
  lodestone model migrate model.yaml next.yaml --endpoint-url http://localhost:8000 --deployed 2 --share 10
                                          step 2 is deployed; use a tenth of the capacity
  lodestone model migrate model.yaml next.yaml --endpoint-url http://localhost:8000 --back
                                          undo it")]
pub struct MigrateModel {
    /// The model that the database has.
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The model that it is to have.
    #[arg(value_name = "NEW")]
    new: PathBuf,

    #[command(flatten)]
    endpoint: EndpointArguments,

    /// Everything up to this step that is yours is deployed; with --back, everything from the last down to it.
    #[arg(long, value_name = "STEP")]
    deployed: Option<usize>,

    /// How much of the capacity of each table and index a job may use, in percent. A table on demand has its maximum,
    /// or what a new one takes at once: 4,000 write units and 12,000 read units.
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u8).range(1..=100))]
    share: u8,

    /// Write units per second that a job uses at most, whatever its share is.
    #[arg(long, value_name = "UNITS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// How many segments of the table are read at the same time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=100))]
    segments: u8,

    /// Take steps, too, that can't be undone: delete items and tables, after a backup.
    #[arg(long, conflicts_with = "back")]
    delete: bool,

    /// Undo what was done, from the last step to the first.
    #[arg(long)]
    back: bool,

    /// Leave items alone whose key looks like an entity's, and that don't have the attributes it is made of.
    #[arg(long)]
    ignore_unknown: bool,

    /// Where to keep how far it got; by default beside the new model: next.yaml -> next.migration.json.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Exit status: there is more to do.
const UNFINISHED: u8 = 3;

impl MigrateModel {
    pub fn run(self) -> ExitCode {
        self.carry_out().unwrap_or_else(|status| status)
    }

    fn carry_out(&self) -> Result<ExitCode, ExitCode> {
        let migration = self.migration()?;
        if !migration.obstacles.is_empty() {
            output::print_text(&migration.text(false));
            return Err(ExitCode::from(FOUND));
        }
        let endpoint = self.endpoint.open()?;
        let _lock = self.lock()?;
        let record = self.record(&migration, &endpoint)?;
        let terminal = Terminal::new(self.state_file());
        let run = Run {
            endpoint: endpoint.as_ref(),
            watcher: &terminal,
            migration: &migration,
            allowance: Allowance { share: f64::from(self.share) / 100.0, write_units: f64::from(self.rate) },
            segments: usize::from(self.segments),
            deployed: self.deployed,
            delete: self.delete,
            ignore_unknown: self.ignore_unknown,
            record: RefCell::new(record),
        };
        let before = run.record().history.len();
        let ended = runtime().block_on(async {
            terminal.pause_on_signals();
            if self.back { run.backwards().await } else { run.forwards().await }
        });
        terminal.progress.clear();
        let record = run.record().clone();
        if self.back && ended.is_ok() {
            // Nothing is left of the migration: another attempt begins with its first step.
            let _ = std::fs::remove_file(self.state_file());
        }
        match self.json {
            true => output::print_json(&described(&migration, &record, &ended)),
            false => self.print(&migration, &record, before, &ended),
        }
        Ok(ExitCode::from(match ended {
            Ok(()) => 0,
            Err(Stop::Paused | Stop::ByPeople(_) | Stop::NotAllowed(_)) => UNFINISHED,
            Err(Stop::Failed(_)) => FOUND,
            Err(Stop::Request(_)) => UNREADABLE,
        }))
    }

    fn migration(&self) -> Result<Migration, ExitCode> {
        let old = ModelFile { path: self.old.clone() }.model()?;
        let new = ModelFile { path: self.new.clone() }.model()?;
        let settings = MigrationSettings { region: None, rate: f64::from(self.rate) };
        migrate(&old, &new, &Facts::embedded(), &settings).map_err(|UnknownRegion { region, known }| {
            let known = known.join(", ");
            failed(UNREADABLE, &format!("there are no prices for {region}; there are for {known}"))
        })
    }

    fn state_file(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| self.new.with_extension("migration.json"))
    }

    /// Two processes would do each other's work again. The lock ends with the process, however that ends.
    fn lock(&self) -> Result<File, ExitCode> {
        let file = File::open(&self.new);
        let file = file.map_err(|error| failed(UNREADABLE, &format!("{}: {error}", self.new.display())))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(failed(
                FOUND,
                &format!("another process carries out the migration to {}", self.new.display()),
            )),
            // Where files can't be locked, conditions still keep two processes from doing harm.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    /// What was kept, or a new record.
    fn record(&self, migration: &Migration, endpoint: &Arc<Http>) -> Result<Record, ExitCode> {
        let path = self.state_file();
        let (address, plan) = (endpoint.address(), plan(migration));
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.back => {
                let path = path.display();
                return Err(failed(FOUND, &format!("nothing to undo: {path} would say how far it got")));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Record::new(address, plan));
            }
            text => text.map_err(|error| failed(UNREADABLE, &format!("{}: {error}", path.display())))?,
        };
        let record: Record = serde_json::from_str(&text)
            .map_err(|error| failed(UNREADABLE, &format!("{}: {error}", path.display())))?;
        if let Some(objection) = record.objection(&address, &plan) {
            let path = path.display();
            return Err(failed(FOUND, &format!("{path} is of another migration: {objection}")));
        }
        if record.back && !self.back {
            return Err(failed(FOUND, "the way back has begun: finish it with --back"));
        }
        // A job that was going on forwards is given up: the way back removes what it wrote.
        let job = record.job.clone().filter(|_| record.back == self.back);
        Ok(Record { back: self.back, job, ..record })
    }

    fn print(&self, migration: &Migration, record: &Record, before: usize, ended: &Result<(), Stop>) {
        for done in &record.history[before..] {
            let title = &migration.steps[done.step - 1].title;
            let undone = if done.back { "undone: " } else { "" };
            output::print_text(&format!("{:3}. {undone}{title}\n", done.step));
            for line in lines(done) {
                output::print_text(&format!("       {line}\n"));
            }
        }
        let again = |argument: &str| format!("  {} {argument}\n", self.command());
        match ended {
            Ok(()) if self.back => output::print_text("Everything is as it was.\n"),
            Ok(()) => output::print_text(&format!("All {} steps are done.\n", migration.steps.len())),
            Err(Stop::Paused) => {
                output::print_text(&format!("Paused. To go on:\n{}", again("")));
            }
            Err(Stop::ByPeople(number)) => {
                let step = &migration.steps[number - 1];
                let (what, details) = match self.back {
                    true => (format!("undo: {}", step.title), vec![step.rollback.how.clone()]),
                    false => (step.title.clone(), step.details.clone()),
                };
                output::print_text(&format!("{number:3}. This is yours: {what}\n"));
                details.iter().for_each(|line| output::print_text(&format!("       {line}\n")));
                output::print_text(&format!("When it is done:\n{}", again(&format!("--deployed {number}"))));
            }
            Err(Stop::NotAllowed(number)) if self.back => output::print_text(&format!(
                "Step {number} can't be undone from what is in the database.\n{}",
                record
                    .history
                    .iter()
                    .find_map(|done| done.backup.as_ref().filter(|_| done.step == *number))
                    .map(|arn| format!("  its backup: {arn}\n"))
                    .unwrap_or_default()
            )),
            Err(Stop::NotAllowed(number)) => output::print_text(&format!(
                "{number:3}. {}\n       This can't be undone. To take a backup and do it:\n{}",
                migration.steps[number - 1].title,
                again("--delete")
            )),
            Err(Stop::Failed(problem)) => output::print_error(problem),
            Err(Stop::Request(error)) => output::print_error(&explained(error)),
        }
    }

    /// The command without what differs each time.
    fn command(&self) -> String {
        let (old, new) = (self.old.display(), self.new.display());
        let url = self.endpoint.url().map(|url| format!(" --endpoint-url {url}")).unwrap_or_default();
        let back = if self.back { " --back" } else { "" };
        format!("lodestone model migrate {old} {new}{url}{back}")
    }
}

fn failed(status: u8, problem: &str) -> ExitCode {
    output::print_error(problem);
    ExitCode::from(status)
}

/// The steps in words: a record belongs to one plan.
fn plan(migration: &Migration) -> Vec<String> {
    let line = |step: &model::migrate::Step| {
        std::iter::once(step.title.clone()).chain(step.details.clone()).collect::<Vec<_>>().join("; ")
    };
    migration.steps.iter().map(line).collect()
}

/// What a step did, reconciled.
fn lines(done: &StepRecord) -> Vec<String> {
    let job = |job: &FinishedJob| {
        let FinishedJob { entity, passes, last, all, was_killed } = job;
        let left = match all.refused {
            0 => String::new(),
            refused => format!(", {refused} left to the next pass because they had just changed"),
        };
        // After a kill, what the process did for its last pages is in the table and in no count.
        let at_least = if *was_killed { "at least " } else { "" };
        format!(
            "{} items of {entity} are right; {at_least}{} written in {passes} passes{left}; {at_least}{:.0} read and {:.0} write units",
            last.right, all.written, all.read_units, all.write_units
        )
    };
    let backup = done.backup.iter().map(|arn| format!("backup {arn}"));
    done.jobs.iter().map(job).chain(backup).collect()
}

fn described(migration: &Migration, record: &Record, ended: &Result<(), Stop>) -> Value {
    let (end, step, problem) = match ended {
        Ok(()) => ("done", None, None),
        Err(Stop::Paused) => ("paused", None, None),
        Err(Stop::ByPeople(step)) => ("waits", Some(*step), None),
        Err(Stop::NotAllowed(step)) => ("not allowed", Some(*step), None),
        Err(Stop::Failed(problem)) => ("failed", None, Some(problem.clone())),
        Err(Stop::Request(error)) => ("failed", None, Some(explained(error))),
    };
    json!({
        "end": end,
        "step": step,
        "problem": problem,
        "steps": migration.steps.len(),
        "done": record.done,
        "back": record.back,
        "history": record.history,
    })
}

/// Keeps the record in a file, shows progress, and pauses on Ctrl-C.
struct Terminal {
    state: PathBuf,
    progress: Progress,
    pausing: Arc<AtomicBool>,
}

impl Terminal {
    fn new(state: PathBuf) -> Terminal {
        Terminal { state, progress: Progress::new(), pausing: Arc::default() }
    }

    /// The first signal pauses; after that, signals end the process, which costs nothing but the current pages.
    fn pause_on_signals(&self) {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return;
        };
        let pausing = Arc::clone(&self.pausing);
        tokio::spawn(async move {
            loop {
                tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
                if pausing.swap(true, Ordering::Relaxed) {
                    std::process::exit(i32::from(UNFINISHED));
                }
            }
        });
    }
}

impl Watcher for Terminal {
    fn keep(&self, record: &Record) -> Result<(), String> {
        let kept = replace(&self.state, format!("{:#}\n", json!(record)).as_bytes());
        kept.map_err(|error| format!("{}: {error}", self.state.display()))
    }

    fn tell(&self, text: &str) {
        self.progress.tell(text);
    }

    fn count(&self, text: &str, done: u64, all: u64) {
        self.progress.count(text, done as usize, all as usize);
    }

    fn is_pausing(&self) -> bool {
        self.pausing.load(Ordering::Relaxed)
    }
}

/// The file is the old one or the new one, whatever happens in between.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}
