//! Changes of a model file that cure a finding, as the rule that found it describes them. [`crate::editor`] turns them
//! into edits of the text, because only there it is known how the file is laid out.

use super::Diagnostic;
use crate::Span;

/// A change that cures a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What it does, as a command: ``write `pitr: true` ``.
    pub title: String,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The text of the finding's span, or the one place in it where `old` is written, becomes `new`.
    Rename { old: String, new: String },
    /// The span becomes this text.
    Replace { span: Span, text: String },
    /// The mapping of the element with this span gets a member, or another value of it.
    Put { element: Span, name: &'static str, value: String },
    /// The member of a mapping whose name has this span is removed.
    Remove { member: Span },
}

impl Fix {
    /// A name that was probably mistyped.
    pub fn rename(old: &str, new: &str) -> Fix {
        let change = Change::Rename { old: old.to_owned(), new: new.to_owned() };
        Fix { title: format!("write `{new}`"), change }
    }

    pub fn replace(span: Span, text: impl Into<String>) -> Fix {
        let text = text.into();
        Fix { title: format!("write `{text}`"), change: Change::Replace { span, text } }
    }

    /// `element` is the span of an element or of its name.
    pub fn put(element: Span, name: &'static str, value: impl Into<String>) -> Fix {
        let value = value.into();
        Fix { title: format!("write `{name}: {value}`"), change: Change::Put { element, name, value } }
    }

    pub fn remove(member: Span, title: impl Into<String>) -> Fix {
        Fix { title: title.into(), change: Change::Remove { member } }
    }
}

impl Diagnostic {
    /// Adds a change that cures it.
    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }
}
