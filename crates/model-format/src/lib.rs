//! Other tools' files: read into a model, written from one. Each format has a file.
//!
//! A reader makes a [`Draft`], the sections of a model file, which is then checked like any other model.
//! Parts of a document that a model can't express are kept beside the model ([`kept`]) and put back when the document
//! is written again, so that it comes back as it was. Notes report the parts of a model that a format can't hold
//! ([`Aspect`]).
//!
//! `NAME-json` is the same document as `NAME` in another syntax, so both share what is kept.
//!
//! Pure: no input or output, no clock, no chance.
//!
//! To add a format: a file like `create_table.rs`, and its line in [`FORMATS`].
//!
//! | question | file |
//! |---|---|
//! | which formats are there? | `lib.rs`; each has the file of its name |
//! | what can a format not hold? | `aspect.rs` |
//! | what is kept for the way back? | `kept.rs`; names of resources: `names.rs` |
//! | what do templates have in common? | `interpolation.rs`, `scaling.rs`, `document.rs` |
//! | how is JavaScript read? | `javascript/read.rs`; functions that make keys: `javascript/expression.rs` |
//! | how are values and example items written? | `value.rs`, `sample_data.rs` |
//! | what is learned from a table that exists? | `table_contents.rs` |

mod aspect;
mod cdk;
mod cloudformation;
mod create_table;
mod document;
mod electrodb;
mod interpolation;
mod javascript;
pub mod kept;
mod markdown;
mod mcp_data_model;
mod mcp_schema;
mod names;
mod nosql_workbench;
mod onetable;
mod operation;
mod sample_data;
mod scaling;
mod skill;
mod table_contents;
mod terraform;
mod toolbox;
mod value;

use model::Model;
use serde_json::Value;

pub use aspect::Aspect;
pub use model::draft::{Draft, Import, Notes, Unreadable};
pub use table_contents::FORMAT as TABLE_CONTENTS;
pub use terraform::plan_of_modules;

/// The formats with the most specific `recognises` come first.
pub const FORMATS: &[&Format] = &[
    &nosql_workbench::FORMAT,
    &mcp_schema::FORMAT,
    &mcp_data_model::FORMAT,
    &skill::FORMAT,
    &create_table::FORMAT,
    &table_contents::FORMAT,
    &cloudformation::JSON_FORMAT,
    &cloudformation::FORMAT,
    &toolbox::FORMAT,
    &onetable::FORMAT,
    &electrodb::FORMAT,
    &sample_data::FORMAT,
    &terraform::JSON_FORMAT,
    &terraform::PLAN_FORMAT,
    &terraform::FORMAT,
    &cdk::FORMAT,
    &markdown::FORMAT,
];

pub struct Format {
    /// As on the command line.
    pub name: &'static str,
    /// What it is, for lists and messages.
    pub title: &'static str,
    pub syntax: &'static Syntax,
    /// Whether a document is of this format.
    pub recognises: fn(&Value) -> bool,
    /// `None` if the format can only be written.
    pub read: Option<Read>,
    /// `None` if the format can only be read.
    pub write: Option<fn(&Model, &mut Notes) -> Value>,
    /// The aspects of a model that the format can hold; when it is written, notes report the others.
    pub holds: &'static [&'static [Aspect]],
}

impl Format {
    pub fn can_hold(&self, aspect: Aspect) -> bool {
        self.holds.iter().any(|group| group.contains(&aspect))
    }

    /// The name under which a model keeps the parts of such a document that it can't express.
    fn kept_as(&self) -> &'static str {
        self.name.strip_suffix("-json").unwrap_or(self.name)
    }
}

pub type Read = fn(&Value, &mut Notes) -> Result<Draft, Unreadable>;

/// Text <-> document.
pub struct Syntax {
    pub parse: fn(&str) -> Result<Value, Unreadable>,
    pub print: fn(&Value) -> String,
}

pub const JSON: Syntax = Syntax {
    parse: |text| {
        serde_json::from_str(text).map_err(|error| Unreadable(format!("this is not JSON: {error}")))
    },
    print: |document| format!("{document:#}\n"),
};

/// For formats that are plain text; they can only be written.
pub const TEXT: Syntax = Syntax {
    parse: |_| Err(Unreadable("this format can only be written".to_owned())),
    print: |document| document.as_str().unwrap_or_default().to_owned(),
};

pub struct Export {
    pub text: String,
    pub notes: Notes,
}

pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// The format of a text, by what it contains.
pub fn detect(text: &str) -> Option<&'static Format> {
    let is_of = |format: &&Format| {
        let document = format.read.and_then(|_| (format.syntax.parse)(text).ok());
        document.is_some_and(|document| (format.recognises)(&document))
    };
    FORMATS.iter().copied().find(is_of)
}

pub fn import(format: &Format, text: &str) -> Result<Import, Unreadable> {
    let Some(read) = format.read else {
        return Err(Unreadable(format!("`{}` can only be written", format.name)));
    };
    let document = (format.syntax.parse)(text)?;
    let mut notes = Notes::default();
    let draft = read(&document, &mut notes)?;
    let mut model = draft.checked()?;
    if let Some(write) = format.write {
        let written = write(&model, &mut Notes::default());
        // A program is read, but not as the text that is written.
        let is_comparable = written.is_string() == document.is_string();
        if let Some(rest) = is_comparable.then(|| kept::difference(&written, &document)).flatten() {
            model.kept.insert(format.kept_as().to_owned(), rest);
        }
    }
    draft.import(model, notes)
}

pub fn export(format: &Format, model: &Model) -> Result<Export, Unreadable> {
    let Some(write) = format.write else {
        return Err(Unreadable(format!("`{}` can only be read", format.name)));
    };
    let mut notes = Notes::default();
    for aspect in Aspect::ALL.iter().filter(|aspect| !format.can_hold(**aspect)) {
        aspect.missed(model).into_iter().for_each(|note| notes.add(note));
    }
    let mut document = write(model, &mut notes);
    if let Some(rest) = model.kept.get(format.kept_as()) {
        document = kept::restore(document, rest, &mut notes);
    }
    Ok(Export { text: (format.syntax.print)(&document), notes })
}
