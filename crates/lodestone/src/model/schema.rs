//! `lodestone model schema`.

use std::process::ExitCode;

use clap::Args;
use model::results::{self, COMMANDS};

use super::output;

/// Print the JSON Schema of model files, for editors, or of what a command prints with --json.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model schema > lodestone.schema.json
  lodestone model schema --of check")]
pub struct Schema {
    /// The schema of what this command prints with --json
    #[arg(long, value_name = "COMMAND", value_parser = COMMANDS)]
    of: Option<String>,
}

impl Schema {
    pub fn run(self) -> ExitCode {
        let schema = self.of.and_then(|command| results::schema(&command));
        output::print_json(&schema.unwrap_or_else(model::schema::schema));
        ExitCode::SUCCESS
    }
}
