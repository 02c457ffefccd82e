//! `lodestone model diff OLD NEW`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::cost::UnknownRegion;
use model::migrate::{Migration, MigrationSettings, migrate};
use proof::Rehearsal;
use serde_json::{Value, json};

use super::prices::Prices;
use super::{FOUND, ModelFile, UNREADABLE, output};

/// Plan the migration from one model to another while the application runs.
///
/// Shows what changed, then the steps in order: indexes created and deleted one at a time, writers that write both,
/// back-fills and copies with their conditions, each pattern switched over, and how to undo each step;
/// with the time and the cost of every job.
///
/// `--rehearse` plays it first: on a database in memory with data of the old model, step by step, while an
/// application keeps writing. After each step the patterns that must work are tried, and the way back too.
///
/// The status is 0 if there is a plan and its rehearsal succeeded, 1 if not, 2 if a file is not a model.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model diff model.yaml next.yaml --explain
  lodestone model diff model.yaml next.yaml --rate 1000 --rehearse")]
pub struct Diff {
    /// The current model.
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The new model.
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Write units per second that a job may use.
    #[arg(long, value_name = "UNITS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    #[command(flatten)]
    prices: Prices,

    /// The Region whose prices apply, instead of the new model's.
    #[arg(long)]
    region: Option<String>,

    /// Play the steps on a database in memory, and undo each.
    #[arg(long)]
    rehearse: bool,

    /// Show the arithmetic of every cost.
    #[arg(long)]
    explain: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub fn run(self) -> ExitCode {
        match self.migration() {
            Ok(migration) => self.show(&migration),
            Err(status) => status,
        }
    }

    fn migration(&self) -> Result<Migration, ExitCode> {
        let old = ModelFile { path: self.old.clone() }.model()?;
        let new = ModelFile { path: self.new.clone() }.model()?;
        let facts = self.prices.facts()?;
        let settings = MigrationSettings { region: self.region.clone(), rate: f64::from(self.rate) };
        migrate(&old, &new, &facts, &settings).map_err(|UnknownRegion { region, known }| {
            output::print_error(&format!(
                "there are no prices for {region}; there are for {}",
                known.join(", ")
            ));
            ExitCode::from(UNREADABLE)
        })
    }

    fn show(&self, migration: &Migration) -> ExitCode {
        let rehearsal = (self.rehearse && migration.obstacles.is_empty()).then(|| proof::rehearse(migration));
        match self.json {
            true => output::print_result(described(migration, rehearsal.as_ref())),
            false => {
                output::print_text(&migration.text(self.explain));
                if rehearsal.is_none() && !migration.steps.is_empty() {
                    output::print_text(UNTRIED);
                }
                rehearsal.iter().for_each(print);
            }
        }
        let went_well = rehearsal.is_none_or(|rehearsal| rehearsal.succeeded());
        if migration.obstacles.is_empty() && went_well { ExitCode::SUCCESS } else { ExitCode::from(FOUND) }
    }
}

/// A plan is computed from the two files; what a running application meets is known when it was played.
const UNTRIED: &str = "
Nothing of this has been tried yet: --rehearse plays every step, and the way back.
";

fn described(migration: &Migration, rehearsal: Option<&Rehearsal>) -> Value {
    let mut described = json!(migration);
    if let Some(rehearsal) = rehearsal {
        described["rehearsal"] = rehearsal.json();
    }
    described
}

fn print(rehearsal: &Rehearsal) {
    output::print_text("\nRehearsal\n");
    output::print_table(&Rehearsal::HEADINGS, rehearsal.rows());
    output::print_text(&rehearsal.text());
}
