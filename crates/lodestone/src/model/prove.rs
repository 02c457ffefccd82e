//! `lodestone model prove FILE`.

use std::cell::Cell;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use proof::Certificate;

use super::progress::Progress;
use super::{FOUND, ModelFile, output};

/// Prove every access pattern by running it.
///
/// Data is generated from the key templates and loaded into a database in memory; every pattern is sent through
/// the real operations, and items, order, requests, pages and consumed capacity are compared with the
/// model. The status is 0 if everything is proven, 1 if not, 2 if the file is not a model.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model prove model.yaml
  lodestone model prove model.yaml --json > certificate.json")]
pub struct Prove {
    #[command(flatten)]
    file: ModelFile,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The time between two lines of progress where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);
const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

impl Prove {
    pub fn run(self) -> ExitCode {
        let (source, model) = match self.file.source_and_model() {
            Ok(read) => read,
            Err(status) => return status,
        };
        let certificate = prove(&model);
        match self.json {
            true => output::print_result(certificate.json(&source)),
            false => print(&certificate),
        }
        if certificate.is_proven() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) }
    }
}

/// Shows which pattern is proven: a bar on a terminal, elsewhere a line every few seconds.
pub fn prove(model: &model::Model) -> Certificate {
    let progress = Progress::new();
    let is_terminal = std::io::stderr().is_terminal();
    let (done, last_line) = (Cell::new(0), Cell::new(Instant::now()));
    let all = model.patterns.len();
    let turn = |pattern: &str| {
        progress.count(pattern, done.get(), all);
        if !is_terminal && last_line.get().elapsed() >= BETWEEN_LINES {
            last_line.set(Instant::now());
            output::print_error(&format!("{} of {all} patterns are tried; next is {pattern}", done.get()));
        }
        done.set(done.get() + 1);
    };
    proof::prove_with(model, turn)
}

pub fn print(certificate: &Certificate) {
    let colour = if certificate.is_proven() { GREEN } else { RED };
    output::print_text(&format!("{colour}{}{PLAIN}\n", certificate.summary()));
    output::print_table(&Certificate::HEADINGS, certificate.rows());
    output::print_text(&certificate.failures());
}
