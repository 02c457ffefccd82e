//! `lodestone model design FILE`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::cost::dollars;
use model::design::{Design as Designed, Indexes, Options, design};
use model::{diagnostic, file};
use serde_json::{Value, json};

use super::prices::Prices;
use super::{FOUND, ModelFile, UNREADABLE, output};

/// Find keys, indexes, projections and shards for the access patterns of a model. The result is again a
/// model file, with the reasons as comments. Keys in the file are ignored, except to compare. The
/// status is 1 if a pattern can't be served or a key gets more than it sustains, 2 if the file is not a model.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model design model.yaml
  lodestone model design model.yaml > designed.yaml")]
pub struct Design {
    #[command(flatten)]
    file: ModelFile,

    /// Whether entities share indexes, or each index serves one purpose and is named after it.
    #[arg(long, value_enum, default_value = "overloaded")]
    indexes: Style,

    #[command(flatten)]
    prices: Prices,

    /// How much of a partition a key should use, in percent: hotter keys are sharded.
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u8).range(1..=100))]
    headroom: u8,

    /// Write the model to this file and print the reasons.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    Overloaded,
    Named,
}

impl Design {
    pub fn run(self) -> ExitCode {
        let source = match self.file.source() {
            Ok(source) => source,
            Err(status) => return status,
        };
        let file::Reading { model, diagnostics } = file::read(&source);
        let Some(model) = model else {
            output::print_problems(&output::findings(&source, &diagnostics));
            return ExitCode::from(UNREADABLE);
        };
        let facts = match self.prices.facts() {
            Ok(facts) => facts,
            Err(status) => return status,
        };
        match design(&model, &facts, &self.options()) {
            Ok(designed) => self.show(&designed),
            Err(problems) if self.json => {
                output::print_result(diagnostic::json(&source, &problems));
                ExitCode::from(FOUND)
            }
            Err(problems) => {
                output::print_problems(&output::findings(&source, &problems));
                ExitCode::from(FOUND)
            }
        }
    }

    fn options(&self) -> Options {
        let indexes = match self.indexes {
            Style::Overloaded => Indexes::Overloaded,
            Style::Named => Indexes::Named,
        };
        Options { indexes, headroom: f64::from(self.headroom) / 100.0, ..Options::default() }
    }

    fn show(&self, designed: &Designed) -> ExitCode {
        if let Some(path) = &self.output
            && let Err(error) = std::fs::write(path, &designed.text)
        {
            output::print_error(&format!("{}: {error}", path.display()));
            return ExitCode::from(UNREADABLE);
        }
        match (self.json, &self.output) {
            (true, _) => output::print_result(described(designed)),
            (false, Some(_)) => report(designed),
            (false, None) => {
                output::print(&designed.text);
                notes(designed);
            }
        }
        if designed.hot.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) }
    }
}

fn described(designed: &Designed) -> Value {
    json!({
        "model": designed.text,
        "price": designed.price,
        "given": designed.given,
        "given_unserved": designed.given_unserved,
        "choices": designed.choices,
        "next_best": designed.next_best,
        "front": designed.front,
        "notes": designed.notes,
        "hot": designed.hot,
        "states": designed.explored,
        "complete": designed.complete,
    })
}

fn report(designed: &Designed) {
    let rows = designed
        .choices
        .iter()
        .map(|choice| vec![choice.about.clone(), choice.choice.clone(), choice.reason.clone()]);
    output::print_table(&["For", "Chosen", "Because"], rows);
    output::print_text(&format!("\nOn demand {}.\n", designed.price.describe()));
    if let Some(given) = &designed.given {
        let end = match designed.given_unserved.is_empty() {
            true => ".",
            false => ", without the patterns that they don't serve:",
        };
        output::print_text(&format!("The keys it came with: {}{end}\n", dollars(given.total())));
        designed.given_unserved.iter().for_each(|one| output::print_text(&format!("  {one}\n")));
    }
    if let Some(next) = &designed.next_best {
        output::print_text(&format!("The next best design costs {} more:\n", dollars(next.more)));
        next.differences.iter().for_each(|one| output::print_text(&format!("  {one}\n")));
    }
    let rows =
        designed.front.iter().map(|point| vec![point.indexes.to_string(), dollars(point.price.total())]);
    output::print_text("\nCost against the number of indexes:\n");
    output::print_table(&["Indexes", "A month"], rows);
    if !designed.complete {
        output::print_text("The search ended at its bound: a better design may exist.\n");
    }
    notes(designed);
}

fn notes(designed: &Designed) {
    designed.notes.iter().chain(&designed.hot).for_each(|note| output::print_error(note));
}
