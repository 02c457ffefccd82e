//! `lodestone verify`: checks a data folder from its first row to its last.

use std::path::PathBuf;

use clap::Args;
use lodestone::{Database, OpenError, Options, Storage};

use crate::advice;

/// Check a data folder: every file whole, every item readable and in its place, every index equal to its table.
///
/// The folder must not be in use. Nothing is changed. The exit status is 1 if anything is wrong.
#[derive(Args)]
pub struct Verify {
    /// The folder that holds the data
    #[arg(long, value_name = "DIR", default_value = "lodestone-data")]
    data: PathBuf,
}

impl Verify {
    #[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
    pub fn run(self) -> Result<(), String> {
        if !self.data.is_dir() {
            return Err(format!(
                "there is no folder {}. Name the data folder with --data.",
                self.data.display()
            ));
        }
        self.verify_files()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let found = runtime.block_on(async {
            let storage = Storage::Scratch { path: &self.data };
            let database = Database::open_with(storage, Options::default()).await;
            let database = database.map_err(|error| advice::about_opening(&error))?;
            let found = database.verify().await.map_err(|error| error.to_string())?;
            database.close().await.map_err(|error| error.to_string())?;
            Ok::<_, String>(found)
        })?;
        for fault in &found.reports {
            println!("{fault}");
        }
        println!(
            "{} tables, {} items, {} index rows: {} faults",
            found.tables, found.items, found.index_rows, found.faults
        );
        if found.faults == 0 { Ok(()) } else { Err("the data is damaged; restore it from a copy".into()) }
    }

    /// Reads every byte of every file.
    #[expect(clippy::print_stdout, reason = "the findings are what the command is there to say")]
    fn verify_files(&self) -> Result<(), String> {
        let found =
            store_lsm::verify(&self.data).map_err(|error| advice::about_opening(&OpenError::from(error)))?;
        for finding in &found.findings {
            println!("{}: {}", finding.file, finding.what);
        }
        println!(
            "{} tables of the tree with {} rows, {} log segments with {} records: {} damaged files",
            found.tables,
            found.table_rows,
            found.log_segments,
            found.log_records,
            found.findings.len()
        );
        match found.findings.is_empty() {
            true => Ok(()),
            false => Err("files are damaged. `lodestone repair` tells what can be saved and saves it".into()),
        }
    }
}
