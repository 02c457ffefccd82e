//! `lodestone repair`: saves what can be read of a damaged data folder, and makes all indexes again.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use engine::{Engine, Rebuilding, TaskState};
use lodestone::{Database, OpenError, Options, Storage, Verification};
use store::{Store as _, StoreError};
use store_lsm::{LsmStore, Survey};

use crate::advice;

/// Between two looks at how far the indexes are.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Save what can be read of a damaged data folder into a new store, keep the damaged one, and make all indexes again.
///
/// It tells what can be saved and what is lost, and asks before it does anything. If no file is damaged, but indexes do
/// not agree with their tables, it only makes the indexes again. The folder must not be in use.
#[derive(Args)]
pub struct Repair {
    /// The folder that holds the data
    #[arg(long, value_name = "DIR", default_value = "lodestone-data")]
    data: PathBuf,

    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Repair {
    #[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
    pub fn run(self) -> Result<(), String> {
        if !self.data.is_dir() {
            return Err(format!("there is no folder {}", self.data.display()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let survey = store_lsm::survey(&self.data).map_err(|error| explain(&error.into()))?;
        let is_damaged = !survey.findings.is_empty();
        let question = match is_damaged {
            true => {
                show(&survey);
                "Save this into a new store, keep the damaged one, and make all indexes again?"
            }
            false => {
                let found = runtime.block_on(verify(&self.data)).map_err(|error| explain(&error))?;
                if found.faults == 0 {
                    println!("no file is damaged and every index is right: there is nothing to repair");
                    return Ok(());
                }
                show_faults(&found);
                "Make all indexes again?"
            }
        };
        if !self.yes && !agreed(question)? {
            println!("nothing was changed");
            return Ok(());
        }
        if is_damaged {
            let options = store_lsm::Options::default();
            let repaired = store_lsm::repair(&self.data, &options).map_err(|error| explain(&error.into()))?;
            println!("repaired. The damaged store is kept in {}", repaired.original.display());
        }
        // A catalog that is older than its tables does not know all spaces that are used.
        let unused = survey.rows.keys().next_back().map_or(0, |last| last + 1);
        let (begun, found) =
            runtime.block_on(rebuild(&self.data, unused)).map_err(|error| explain(&error))?;
        println!("made again: {} indexes of {} tables", begun.indexes, begun.tables);
        match found.faults {
            0 => Ok(()),
            _ => {
                show_faults(&found);
                Err("some of it could not be repaired; restore it from a copy".to_owned())
            }
        }
    }
}

/// Makes all indexes again. Returns what is wrong then.
async fn rebuild(data: &Path, unused: u64) -> Result<(Rebuilding, Verification), OpenError> {
    let store = LsmStore::open(data, store_lsm::Options::default())?;
    let begun = engine::begin_rebuilding(&store, unused).await?;
    store.close().await?;
    drop(store);
    let database = Database::open(data).await?;
    until_indexes_are_filled(&database.engine()).await?;
    let found = database.verify().await?;
    database.close().await?;
    Ok((begun, found))
}

/// The jobs of the database fill indexes. One that gave up has met an item that can't be read.
async fn until_indexes_are_filled(engine: &Engine) -> Result<(), StoreError> {
    while !engine.index_progress().await?.is_empty() {
        for task in engine.tasks() {
            if let TaskState::GaveUp(reason) = task.state {
                return Err(StoreError::Corrupt(format!("{}: {reason}", task.subject)));
            }
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    Ok(())
}

/// What is wrong with tables and indexes, in a temporary copy of the folder.
async fn verify(data: &Path) -> Result<Verification, OpenError> {
    let database = Database::open_with(Storage::Scratch { path: data }, Options::default()).await?;
    let found = database.verify().await?;
    database.close().await?;
    Ok(found)
}

fn explain(error: &OpenError) -> String {
    advice::about_opening(error)
}

#[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
fn show(survey: &Survey) {
    println!("damaged:");
    for finding in &survey.findings {
        println!("  {}: {}", finding.file, finding.what);
    }
    let rows: u64 = survey.rows.values().sum();
    println!(
        "can be saved: {rows} rows of {} spaces, {} change records",
        survey.rows.len(),
        survey.change_records
    );
    if let Some(last) = &survey.last_write {
        println!("  the last write in the log is of {last}");
    }
    println!("is lost:");
    for lost in &survey.lost {
        println!("  {}: {}", lost.file, lost.what);
    }
    if survey.lost.is_empty() {
        println!("  nothing: everything that was stored is in other files, too");
    }
}

#[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
fn show_faults(found: &Verification) {
    for fault in &found.reports {
        println!("  {fault}");
    }
    println!("{} faults in {} items and {} index rows", found.faults, found.items, found.index_rows);
}

#[expect(clippy::print_stdout, reason = "the question is for the user at the terminal")]
fn agreed(question: &str) -> Result<bool, String> {
    print!("{question} [y/N] ");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
