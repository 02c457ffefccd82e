//! `lodestone model code FILE`.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use model::code::{self, Language};

use super::{ModelFile, UNREADABLE, output};

/// Show each access pattern as code.
///
/// The requests are those that `prove` sends, with keys, expressions, names and values filled in from the
/// example data (`lodestone model export --to sample-data` prints it). Only names that an expression can't use
/// directly get an alias. Several shards, and pages, are shown as a loop.
#[derive(Args)]
#[command(after_help = "Example:\n  lodestone model code model.yaml --pattern A2 --language boto3")]
pub struct Code {
    #[command(flatten)]
    file: ModelFile,

    /// Only this pattern.
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<String>,

    /// The language: a shell script, or a module with one function for each pattern.
    #[arg(long, value_parser = PossibleValuesParser::new(Language::ALL.map(Language::name)), default_value = "cli")]
    language: String,

    /// Print the requests as JSON, with what they find or store on the example data.
    #[arg(long)]
    json: bool,
}

impl Code {
    pub fn run(self) -> ExitCode {
        let model = match self.file.model() {
            Ok(model) => model,
            Err(status) => return status,
        };
        let examples = code::examples(&model, self.pattern.as_deref());
        if let (Some(pattern), true) = (&self.pattern, examples.is_empty()) {
            let known: Vec<&str> = model.patterns.iter().map(|one| one.id.value.as_str()).collect();
            output::print_error(&format!("there is no pattern `{pattern}`; there are {}", known.join(", ")));
            return ExitCode::from(UNREADABLE);
        }
        match self.json {
            true => output::print_json(&code::json(&model, &examples)),
            false => output::print(&code::code(&model, &examples, self.language())),
        }
        ExitCode::SUCCESS
    }

    fn language(&self) -> Language {
        let named = Language::ALL.into_iter().find(|language| language.name() == self.language);
        named.unwrap_or(Language::Cli)
    }
}
