//! `--prices FILE`: the facts that a command calculates with.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::facts::Facts;

use super::{UNREADABLE, output, read};

#[derive(Args)]
pub struct Prices {
    /// Prices and limits to use instead of the built-in ones: JSON, as `cost --print-prices` prints it.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl Prices {
    pub fn facts(&self) -> Result<Facts, ExitCode> {
        let Some(path) = &self.prices else { return Ok(Facts::embedded()) };
        let source = read(path)?;
        Facts::parse(&source.text).map_err(|error| {
            output::print_error(&format!("{}: {error}", source.path));
            ExitCode::from(UNREADABLE)
        })
    }
}
