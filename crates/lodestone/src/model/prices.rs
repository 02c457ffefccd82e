//! `--prices FILE`: the facts a command reckons with.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::facts::Facts;

use super::{UNREADABLE, output, read};

#[derive(Args)]
pub struct Prices {
    /// Prices and limits to use instead of those built in: JSON, as `cost --print-prices` shows them.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl Prices {
    pub fn facts(&self) -> Result<Facts, ExitCode> {
        let Some(path) = &self.prices else { return Ok(Facts::embedded()) };
        let source = read(path)?;
        Facts::parse(&source.text).map_err(|error| {
            output::complain(&format!("{}: {error}", source.path));
            ExitCode::from(UNREADABLE)
        })
    }
}
