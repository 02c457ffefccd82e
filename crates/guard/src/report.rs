//! What was found, for people and for the tools that read reports.

mod junit;
mod markdown;
mod sarif;

use serde_json::{Value, json};

use crate::ledger::{Outcome, Record, TestRun};

pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;

/// The formats of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Junit,
    Sarif,
    Markdown,
    Json,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Junit, Format::Sarif, Format::Markdown, Format::Json];

    pub fn name(self) -> &'static str {
        match self {
            Format::Junit => "junit",
            Format::Sarif => "sarif",
            Format::Markdown => "markdown",
            Format::Json => "json",
        }
    }

    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a file of this name has by its ending.
    pub fn of_file(name: &str) -> Option<Format> {
        match name.rsplit_once('.')?.1 {
            "xml" => Some(Format::Junit),
            "sarif" => Some(Format::Sarif),
            "md" => Some(Format::Markdown),
            "json" => Some(Format::Json),
            _ => None,
        }
    }

    pub fn print(self, outcome: &Outcome) -> String {
        match self {
            Format::Junit => junit(outcome),
            Format::Sarif => format!("{:#}\n", sarif(outcome)),
            Format::Markdown => markdown(outcome),
            Format::Json => format!("{:#}\n", json(outcome)),
        }
    }
}

/// As the guard's call answers.
pub fn json(outcome: &Outcome) -> Value {
    json!({
        "requests": outcome.requests(),
        "tests": outcome.tests.iter().map(test_json).collect::<Vec<_>>(),
        "leftOut": outcome.left_out,
    })
}

/// One test with its findings.
pub fn test_json(test: &TestRun) -> Value {
    json!({
        "test": test.name,
        "requests": test.requests,
        "findings": test.records.iter().map(record_json).collect::<Vec<_>>(),
    })
}

fn record_json(record: &Record) -> Value {
    let finding = &record.finding;
    let place = finding.place.as_ref().map(|place| json!({ "file": place.file, "line": place.line }));
    json!({
        "rule": finding.rule.id(),
        "operation": finding.operation,
        "table": finding.table,
        "message": finding.message,
        "help": finding.help,
        "place": place,
        "times": record.times,
    })
}
