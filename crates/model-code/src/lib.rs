//! Models and requests as code.
//!
//! - [`code`] prints access patterns as a developer would try them in a shell, in Python or in JavaScript: the requests
//!   of [`model::request`], with values of the example data. Each language has a file. An [`Example`] holds what a
//!   pattern sends and its result. A `sketch` brings the requests into the form that all languages print: literals,
//!   and a loop over the values in which several requests differ.
//! - [`library`] makes a module for an application, in five languages.
//! - [`request`] prints any single request, whether a model knows it or not.
//!
//! Pure: no input or output, no clock, no chance.
//!
//! | question | file |
//! |---|---|
//! | what does a pattern send for the example data? | `example.rs`, `sketch.rs`, `name.rs` |
//! | how is it printed? | `cli.rs`, `boto3.rs`, `javascript.rs`, `json.rs`; literals: `literal.rs`, `layout.rs` |
//! | which functions has a module? | `library.rs`, `library/read.rs`, `library/write.rs`, `library/record.rs` |
//! | which parameters has a function? | `library/parameter.rs`; how it is called: `library/call.rs` |
//! | how are keys made? | `library/key.rs` |
//! | what do the languages share? | `library/writer.rs`, `library/case.rs`; each has its file beside them |
//! | how is any request printed? | `request.rs` |

mod boto3;
mod cli;
mod example;
mod javascript;
mod json;
mod layout;
pub mod library;
mod literal;
mod name;
pub mod request;
mod sketch;

use model::Model;

pub use example::{Effect, Example, ReadLoop, Sending, WrittenItem, examples};
pub use json::json;

/// A language to print code in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Calls of the AWS CLI in a shell.
    Cli,
    /// Python, with boto3's resource.
    Boto3,
    /// The JavaScript SDK version 3, with its document client.
    JavaScript,
}

impl Language {
    pub const ALL: [Language; 3] = [Language::Cli, Language::Boto3, Language::JavaScript];

    pub fn name(self) -> &'static str {
        match self {
            Language::Cli => "cli",
            Language::Boto3 => "boto3",
            Language::JavaScript => "javascript",
        }
    }
}

/// A script, or a module with one function for each pattern.
pub fn code(model: &Model, examples: &[Example], language: Language) -> String {
    match language {
        Language::Cli => cli::script(model, examples),
        Language::Boto3 => boto3::module(model, examples),
        Language::JavaScript => javascript::module(model, examples),
    }
}

/// The first line of the code in every language.
fn title(model: &Model) -> String {
    one_line(&format!("The access patterns of {}. Values are those of its example data.", model.name.value))
}

/// The comment lines before the code of a pattern. `next_page` is how the language reads the next page.
fn comments(example: &Example, next_page: &str) -> Vec<String> {
    let description = example.description.as_deref().map(|text| format!(": {text}"));
    let mut lines = vec![format!("{}{}", example.pattern, description.unwrap_or_default())];
    match &example.sending {
        Ok(sending) => {
            let each = match sending.requests.len() {
                0 | 1 => String::new(),
                count => format!(", {count} requests"),
            };
            lines.push(format!("{} on {}{each}", example.operation, example.source));
            lines.extend(sending.has_next_page().then(|| next_page.to_owned()));
        }
        Err(why) => lines.push(format!("No request: {why}")),
    }
    lines.extend(example.notes.iter().cloned());
    lines.iter().map(|line| one_line(line)).collect()
}

/// Keeps a text within one line of comment.
fn one_line(text: &str) -> String {
    text.split(|one: char| one.is_whitespace() || one.is_control()).collect::<Vec<_>>().join(" ")
}
