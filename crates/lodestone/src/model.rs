//! `lodestone model`: the workbench, one file per command. Commands read arguments and files, call the
//! `model` crate, and print; they decide nothing about models.

mod apply;
mod check;
mod code;
mod cost;
mod design;
mod diff;
mod endpoint;
mod explain;
mod export;
mod gate;
mod heat;
mod import;
mod init;
mod learn;
mod migrate;
mod prices;
mod prove;
mod schema;
pub mod simulate;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::{Source, file};

use crate::{output, progress};

pub use simulate::Simulate;

/// Model from access patterns, and prove it.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Model {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Apply(apply::Apply),
    Check(check::Check),
    Code(code::Code),
    Cost(cost::Cost),
    Design(design::Design),
    Diff(diff::Diff),
    Explain(explain::Explain),
    Gate(gate::Gate),
    Heat(heat::ModelHeat),
    Export(export::ExportModel),
    Import(import::ImportFile),
    Init(init::Init),
    Learn(learn::Learn),
    Migrate(migrate::MigrateModel),
    Prove(prove::Prove),
    Schema(schema::Schema),
}

/// Exit status: the findings contain an error.
const FOUND: u8 = 1;
/// Exit status: the file can't be read, or is not a model.
const UNREADABLE: u8 = 2;
/// How much is read from standard input: more than any model or table description has.
const INPUT_BYTES_MAX: u64 = 1 << 30;

impl Model {
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Apply(apply) => apply.run(),
            Command::Check(check) => check.run(),
            Command::Code(code) => code.run(),
            Command::Cost(cost) => cost.run(),
            Command::Design(design) => design.run(),
            Command::Diff(diff) => diff.run(),
            Command::Explain(explain) => explain.run(),
            Command::Gate(gate) => gate.run(),
            Command::Heat(heat) => heat.run(),
            Command::Export(export) => export.run(),
            Command::Import(import) => import.run(),
            Command::Init(init) => init.run(),
            Command::Learn(learn) => learn.run(),
            Command::Migrate(migrate) => migrate.run(),
            Command::Prove(prove) => prove.run(),
            Command::Schema(schema) => schema.run(),
        }
    }
}

/// The model file a command is about.
#[derive(Args)]
struct ModelFile {
    /// The model file; `-` for standard input.
    #[arg(value_name = "FILE")]
    path: PathBuf,
}

impl ModelFile {
    /// The text of the file. If it can't be read, the reason is printed and the exit status is returned.
    fn source(&self) -> Result<Source, ExitCode> {
        read(&self.path)
    }

    /// The model. If the file is not one, its problems are printed and the exit status is returned.
    fn model(&self) -> Result<model::Model, ExitCode> {
        self.source_and_model().map(|(_, model)| model)
    }

    fn source_and_model(&self) -> Result<(Source, model::Model), ExitCode> {
        let source = self.source()?;
        let file::Reading { model, diagnostics } = file::read(&source);
        match model {
            Some(model) => Ok((source, model)),
            None => {
                output::print_problems(&output::findings(&source, &diagnostics));
                Err(ExitCode::from(UNREADABLE))
            }
        }
    }
}

fn read(path: &Path) -> Result<Source, ExitCode> {
    let (name, bytes) = match path == Path::new("-") {
        true => ("standard input".to_owned(), input()),
        false => (path.display().to_string(), std::fs::read(path)),
    };
    let unreadable = |reason: String| {
        output::print_error(&format!("{name}: {reason}"));
        ExitCode::from(UNREADABLE)
    };
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("this is not text in UTF-8".to_owned()))?;
    Ok(Source::new(name, text))
}

fn input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
