//! `lodestone repair`: saves what can be read of a damaged data folder.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::Args;
use lodestone::OpenError;
use store_lsm::Survey;

use crate::advice;

/// Save what can be read of a damaged data folder into a new store, and keep the damaged one.
///
/// It tells what can be saved and what is lost, and asks before it does anything. The folder must not
/// be in use. Run `lodestone verify` afterwards: what is lost may leave indexes that do not agree.
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
        let survey = store_lsm::survey(&self.data).map_err(explain)?;
        if survey.findings.is_empty() {
            println!("no file is damaged: there is nothing to repair");
            return Ok(());
        }
        show(&survey);
        if !self.yes && !agreed()? {
            println!("nothing was changed");
            return Ok(());
        }
        let repaired = store_lsm::repair(&self.data, &store_lsm::Options::default()).map_err(explain)?;
        println!("repaired. The damaged store is kept in {}", repaired.original.display());
        Ok(())
    }
}

fn explain(error: store_lsm::OpenError) -> String {
    advice::about_opening(&OpenError::from(error))
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
}

#[expect(clippy::print_stdout, reason = "the question is for the user at the terminal")]
fn agreed() -> Result<bool, String> {
    print!("Save this into a new store, and keep the damaged one? [y/N] ");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
