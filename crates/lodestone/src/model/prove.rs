//! `lodestone model prove FILE`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::{diagnostic, file};
use proof::Certificate;

use super::{FOUND, ModelFile, UNREADABLE, output};

/// Prove every access pattern by running it.
///
/// Data is made from the key templates and loaded into a database in memory; every pattern is sent through
/// the real operations, and items, order, requests, pages and consumed capacity are compared with what the
/// model says. The status is 0 if all is proven, 1 if not, 2 if the file is no model.
#[derive(Args)]
pub struct Prove {
    #[command(flatten)]
    file: ModelFile,

    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Prove {
    pub fn run(self) -> ExitCode {
        let source = match self.file.source() {
            Ok(source) => source,
            Err(status) => return status,
        };
        let reading = file::read(&source);
        let Some(model) = reading.model else {
            output::print(&diagnostic::text(&source, &reading.diagnostics, true));
            return ExitCode::from(UNREADABLE);
        };
        let certificate = proof::prove(&model);
        match self.format {
            Format::Text => print(&certificate),
            Format::Json => output::print_json(&certificate.json(&source)),
        }
        if certificate.is_proven() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) }
    }
}

fn print(certificate: &Certificate) {
    output::print_table(&Certificate::HEADINGS, certificate.rows());
    output::print(&certificate.failures());
    let colour = if certificate.is_proven() { GREEN } else { RED };
    output::print(&format!("{colour}{}{PLAIN}", certificate.summary()));
}
