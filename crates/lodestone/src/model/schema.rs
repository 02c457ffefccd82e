//! `lodestone model schema`.

use std::process::ExitCode;

use clap::Args;

use super::output;

/// Print the JSON Schema of model files, for editors.
#[derive(Args)]
#[command(after_help = "Example:
  lodestone model schema > lodestone.schema.json")]
pub struct Schema {}

impl Schema {
    pub fn run(self) -> ExitCode {
        output::print_json(&model::schema::schema());
        ExitCode::SUCCESS
    }
}
