//! `lodestone model export --to FORMAT FILE`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use model_format::{self as format, FORMATS, Format, Notes};
use serde_json::{Value, json};

use super::{ModelFile, UNREADABLE, output};

/// Write a model in another tool's format. Standard error lists what the format can't hold.
#[derive(Args)]
#[command(after_help = formats())]
pub struct ExportModel {
    #[command(flatten)]
    file: ModelFile,

    /// The format to write.
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    to: &'static Format,

    /// The file to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ExportModel {
    pub fn run(self) -> ExitCode {
        let model = match self.file.model() {
            Ok(model) => model,
            Err(status) => return status,
        };
        match format::export(self.to, &model) {
            Ok(export) => {
                let described =
                    json!({ "format": self.to.name, "text": export.text, "notes": export.notes.0 });
                put(self.output.as_deref(), self.json.then_some(described), &export.text, &export.notes)
            }
            Err(error) => {
                output::print_error(&error.0);
                ExitCode::from(UNREADABLE)
            }
        }
    }
}

/// Writes the text to its file or to standard output, and the notes to standard error.
pub fn put(path: Option<&Path>, described: Option<Value>, text: &str, notes: &Notes) -> ExitCode {
    if let Some(path) = path
        && let Err(error) = std::fs::write(path, text)
    {
        output::print_error(&format!("{}: {error}", path.display()));
        return ExitCode::from(UNREADABLE);
    }
    match (described, path) {
        (Some(described), _) => output::print_result(described),
        (None, None) => output::print(text),
        (None, Some(path)) => output::print(&format!("{} is written\n", path.display())),
    }
    notes.0.iter().for_each(|note| output::print_error(note));
    ExitCode::SUCCESS
}

pub fn format_named(name: &str) -> Result<&'static Format, String> {
    format::format(name).ok_or_else(|| format!("there is no format `{name}`; there are {}", names()))
}

pub fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The list of formats in the help text.
pub fn formats() -> String {
    let uses = |format: &Format| match (format.read, format.write) {
        (Some(_), Some(_)) => "",
        (Some(_), None) => " (import only)",
        _ => " (export only)",
    };
    let line = |format: &&Format| format!("  {:<18} {}{}\n", format.name, format.title, uses(format));
    let formats: String = FORMATS.iter().map(line).collect();
    format!(
        "Formats:\n{formats}\nExamples:\n  lodestone model export model.yaml --to terraform\n  \
         lodestone model export model.yaml --to create-table"
    )
}
