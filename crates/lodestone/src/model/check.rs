//! `lodestone model check FILE`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::{Diagnostic, Source, check, diagnostic, file};

use super::{FOUND, ModelFile, UNREADABLE, output};

/// Show every problem of a model file. The status is 1 if there is an error, 2 if the file is not a model.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model check model.yaml
  lodestone model check model.yaml --format sarif > model.sarif")]
pub struct Check {
    #[command(flatten)]
    file: ModelFile,

    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Print JSON: short for `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
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
        let file::Reading { model, mut diagnostics } = file::read(&source);
        diagnostics.extend(model.iter().flat_map(check::check));
        diagnostic::sort(&mut diagnostics);
        self.print(&source, &diagnostics);
        match model {
            None => ExitCode::from(UNREADABLE),
            Some(_) if diagnostic::has_errors(&diagnostics) => ExitCode::from(FOUND),
            Some(_) => ExitCode::SUCCESS,
        }
    }

    fn print(&self, source: &Source, diagnostics: &[Diagnostic]) {
        let format = if self.json { Format::Json } else { self.format };
        match format {
            Format::Text => output::print(&output::findings(source, diagnostics)),
            Format::Json => output::print_result(diagnostic::json(source, diagnostics)),
            Format::Sarif => {
                let title = |rule| check::rule(rule).map_or(String::new(), |rule| rule.title.to_owned());
                output::print_json(&diagnostic::sarif(source, diagnostics, title));
            }
        }
    }
}
