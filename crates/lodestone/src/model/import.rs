//! `lodestone model import [--from FORMAT] FILE`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::format::{self, Format, Import};
use serde_json::json;

use super::export::{format_named, formats, names, put};
use super::{UNREADABLE, output, read};

/// Make a model of another tool's file. What can't be taken over is said on standard error.
#[derive(Args)]
#[command(after_help = formats())]
pub struct ImportFile {
    /// The file to read.
    #[arg(value_name = "FILE")]
    path: PathBuf,

    /// Its format; found by its content if not given.
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    from: Option<&'static Format>,

    /// The model file to write; it goes to standard output if not given.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ImportFile {
    pub fn run(self) -> ExitCode {
        let source = match read(&self.path) {
            Ok(source) => source,
            Err(status) => return status,
        };
        let Some(format) = self.from.or_else(|| format::detect(&source.text)) else {
            output::complain(&format!(
                "{}: its content does not tell its format. Say `--from` and one of {}.",
                source.path,
                names()
            ));
            return ExitCode::from(UNREADABLE);
        };
        match format::import(format, &source.text) {
            Ok(import) => self.print(format, &import),
            Err(error) => {
                output::complain(&format!("{} as {}: {}", source.path, format.name, error.0));
                ExitCode::from(UNREADABLE)
            }
        }
    }

    fn print(&self, format: &Format, import: &Import) -> ExitCode {
        let described = json!({ "format": format.name, "model": import.text, "notes": import.notes.0 });
        put(self.output.as_deref(), self.json.then_some(described), &import.text, &import.notes)
    }
}
