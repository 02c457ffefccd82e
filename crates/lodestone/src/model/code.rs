//! `lodestone model code FILE`.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use model::Model;
use model_code::library::{self, LibraryLanguage};
use model_code::{self as code, Language};

use super::{ModelFile, UNREADABLE, output};

/// Write the access patterns as code.
///
/// In python, typescript, rust, go and java, a module for an application: types of the entities, functions that build keys,
/// and a function with parameters for each pattern. In cli, boto3 and javascript, each pattern's request with values of the
/// example data (`lodestone model export --to sample-data` prints it). The requests are those that `prove` sends.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model code model.yaml --language python > orders.py
  lodestone model code model.yaml --language rust > src/orders.rs
  lodestone model code model.yaml --language typescript > src/orders.ts
  lodestone model code model.yaml --language go > orders/orders.go
  lodestone model code model.yaml --language java > src/main/java/orders/Orders.java
  lodestone model code model.yaml --language python --calls
  lodestone model code model.yaml --pattern A2 --language cli")]
pub struct Code {
    #[command(flatten)]
    file: ModelFile,

    /// Only this pattern.
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<String>,

    /// A language for an application, or one to see requests in.
    #[arg(long, value_parser = PossibleValuesParser::new(languages()), default_value = "cli")]
    language: String,

    /// Write calls of the functions instead, with values of the example data.
    #[arg(long, conflicts_with = "json")]
    calls: bool,

    /// In Python: the types are Pydantic's models, which check what they are made from.
    #[arg(long, conflicts_with = "json")]
    pydantic: bool,

    /// Print the requests as JSON, with what they find or store on the example data.
    #[arg(long)]
    json: bool,
}

fn languages() -> impl Iterator<Item = &'static str> {
    LibraryLanguage::ALL.map(LibraryLanguage::name).into_iter().chain(Language::ALL.map(Language::name))
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
        if self.json {
            output::print_result(code::json(&model, &examples));
            return ExitCode::SUCCESS;
        }
        if self.pydantic && self.language != LibraryLanguage::Python.name() {
            output::print_error("--pydantic is for --language python");
            return ExitCode::from(UNREADABLE);
        }
        let named = LibraryLanguage::ALL.into_iter().find(|language| language.name() == self.language);
        match named {
            Some(language) => output::print(&self.library(&model, &examples, language)),
            None if self.calls => {
                output::print_error(&format!("{} has no functions to call", self.language));
                return ExitCode::from(UNREADABLE);
            }
            None => output::print(&code::code(&model, &examples, self.example_language())),
        }
        ExitCode::SUCCESS
    }

    fn library(&self, model: &Model, examples: &[code::Example], language: LibraryLanguage) -> String {
        let library = library::library(model, self.pattern.as_deref());
        match self.calls {
            true => library::calls(&library, &library::example_calls(model, &library, examples), language),
            false if self.pydantic => library::source_with_pydantic(&library),
            false => library::source(&library, language),
        }
    }

    fn example_language(&self) -> Language {
        let named = Language::ALL.into_iter().find(|language| language.name() == self.language);
        named.unwrap_or(Language::Cli)
    }
}
