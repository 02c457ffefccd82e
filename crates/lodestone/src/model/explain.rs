//! `lodestone model explain [RULE]`.

use std::process::ExitCode;

use clap::Args;
use model::RuleId;
use model::check::{self, RULES, Rule};
use serde_json::{Value, json};

use super::{UNREADABLE, output};

/// Explain a rule, or list them all.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model explain R11
  lodestone model explain")]
pub struct Explain {
    /// The rule, as in `R14`.
    #[arg(value_parser = parse)]
    rule: Option<RuleId>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn parse(text: &str) -> Result<RuleId, String> {
    text.parse().map_err(|()| "a rule is written as in `R14`".to_owned())
}

impl Explain {
    pub fn run(self) -> ExitCode {
        let Some(id) = self.rule else { return list(self.json) };
        let Some(rule) = check::rule(id) else {
            output::print_error(&format!("there is no rule {id}; `lodestone model explain` lists them"));
            return ExitCode::from(UNREADABLE);
        };
        match self.json {
            true => output::print_result(described(rule)),
            false => output::print_text(rule.page),
        }
        ExitCode::SUCCESS
    }
}

fn list(json: bool) -> ExitCode {
    if json {
        output::print_json(&RULES.iter().map(|rule| described(rule)).collect());
        return ExitCode::SUCCESS;
    }
    let rows = RULES
        .iter()
        .map(|rule| vec![rule.id.to_string(), rule.level.name().to_owned(), rule.title.to_owned()]);
    output::print_table(&["Rule", "Level", "Trips when"], rows);
    ExitCode::SUCCESS
}

fn described(rule: &Rule) -> Value {
    let parameters: serde_json::Map<String, Value> =
        rule.parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "rule": rule.id.to_string(),
        "level": rule.level.name(),
        "title": rule.title,
        "parameters": parameters,
        "page": rule.page,
    })
}
