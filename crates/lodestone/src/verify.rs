//! `lodestone verify`: checks a data folder from its first row to its last.

use std::path::PathBuf;

use clap::Args;
use lodestone::Database;

use crate::advice;

/// Check a data folder: every item readable and in its place, every index equal to its table.
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
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let found = runtime.block_on(async {
            let database = Database::open(&self.data).await.map_err(|error| advice::about_opening(&error))?;
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
}
