//! `lodestone model check FILE`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::{Diagnostic, Source, diagnostic, file};

use super::{FOUND, ModelFile, UNREADABLE, output};

/// Show every problem of a model file. The status is 1 if there is an error, 2 if the file is no model.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    file: ModelFile,

    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
}

impl Check {
    pub fn run(self) -> ExitCode {
        let source = match self.file.source() {
            Ok(source) => source,
            Err(status) => return status,
        };
        let reading = file::read(&source);
        self.print(&source, &reading.diagnostics);
        match reading.model {
            None => ExitCode::from(UNREADABLE),
            Some(_) if diagnostic::has_errors(&reading.diagnostics) => ExitCode::from(FOUND),
            Some(_) => ExitCode::SUCCESS,
        }
    }

    fn print(&self, source: &Source, diagnostics: &[Diagnostic]) {
        match self.format {
            Format::Text => output::print(&diagnostic::text(source, diagnostics, true)),
            Format::Json => output::print_json(&diagnostic::json(source, diagnostics)),
            Format::Sarif => {
                output::print_json(&diagnostic::sarif(source, diagnostics, |rule| rule.to_string()));
            }
        }
    }
}
