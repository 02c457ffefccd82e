//! `lodestone model init [FILE]`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{UNREADABLE, output};

/// Write a small model to start from.
#[derive(Args)]
#[command(after_help = "Example:
  lodestone model init")]
pub struct Init {
    /// The file to write; it must not exist.
    #[arg(value_name = "FILE", default_value = "model.yaml")]
    path: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Init {
    pub fn run(self) -> ExitCode {
        let path = self.path.display();
        let file = OpenOptions::new().write(true).create_new(true).open(&self.path);
        if let Err(error) = file.and_then(|mut file| file.write_all(model::STARTER.as_bytes())) {
            output::print_error(&match error.kind() {
                ErrorKind::AlreadyExists => format!(
                    "{path} is there already and stays as it is. Check it with: lodestone model check {path}; \
                     or name another file: lodestone model init FILE"
                ),
                _ => {
                    format!("{path} can't be written: {error}. Name another file: lodestone model init FILE")
                }
            });
            return ExitCode::from(UNREADABLE);
        }
        match self.json {
            true => output::print_result(json!({ "file": path.to_string() })),
            false => output::print(&format!("{path} is written; next: lodestone model check {path}\n")),
        }
        ExitCode::SUCCESS
    }
}
