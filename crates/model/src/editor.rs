//! What an editor asks about a model file: what is this, what could be written here, where is it declared, what
//! cures this finding, what does it cost?
//!
//! All positions are bytes of the text; columns of a protocol are the caller's. A [`Document`] is made again whenever
//! the text changes. It answers what it can while the text is no model yet, because a text that is being typed
//! seldom is: names come from the tree ([`outline`](self)), plans and costs from the checked model.

mod completion;
mod definition;
mod edit;
mod hover;
mod lens;
mod outline;
mod place;
mod reference;

use crate::check::check;
use crate::file::{self, Reading, yaml};
use crate::{Diagnostic, Model, Source, diagnostic};

pub use completion::{Completion, CompletionKind};
pub use edit::{Edit, QuickFix, applied};
pub use hover::Hover;
pub use lens::Lens;
pub use outline::{NameKind, Symbol};

/// A text, and what can be known about it.
pub struct Document {
    pub source: Source,
    /// `None` unless the text is a model.
    pub model: Option<Model>,
    /// Everything that `check` shows.
    pub diagnostics: Vec<Diagnostic>,
    /// `None` unless the text is YAML.
    root: Option<yaml::Node>,
}

impl Document {
    pub fn new(source: Source) -> Document {
        let Reading { model, mut diagnostics } = file::read(&source);
        diagnostics.extend(model.iter().flat_map(check));
        diagnostic::sort(&mut diagnostics);
        // A text that is too long has been refused, and is not parsed a second time.
        let root = if source.text.len() > file::TEXT_BYTES_MAX {
            None
        } else {
            yaml::parse(&source, &mut Vec::new())
        };
        Document { source, model, diagnostics, root }
    }
}
