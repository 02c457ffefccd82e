//! What is wrong with a model, where, why, and what to do about it; and how to print it.

mod fix;
mod json;
mod sarif;
mod text;
mod wrap;

use std::fmt;
use std::str::FromStr;

use crate::Span;

pub use fix::{Change, Fix};
pub use json::json;
pub use sarif::sarif;
pub use text::{text, text_within};

/// The number of a rule: `R14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u8);

impl fmt::Display for RuleId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "R{}", self.0)
    }
}

impl FromStr for RuleId {
    type Err = ();

    fn from_str(text: &str) -> Result<RuleId, ()> {
        let digits = text.strip_prefix(['R', 'r']).ok_or(())?;
        digits.parse().map(RuleId).map_err(|_| ())
    }
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule that found it; `None` if the file itself is wrong.
    pub rule: Option<RuleId>,
    pub level: Level,
    pub span: Span,
    /// What is wrong, in one line.
    pub message: String,
    /// The text beside the underlined part.
    pub label: String,
    pub why: Option<String>,
    pub help: Option<String>,
    /// Other places in the file that are involved.
    pub related: Vec<(Span, String)>,
    /// Changes of the file that cure it, the best first.
    pub fixes: Vec<Fix>,
    /// The reason why the file allows it. An allowed finding is listed but does not count.
    pub allowed: Option<String>,
}

impl Diagnostic {
    pub fn new(level: Level, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: None,
            level,
            span,
            message: message.into(),
            label: String::new(),
            why: None,
            help: None,
            related: Vec::new(),
            fixes: Vec::new(),
            allowed: None,
        }
    }

    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Level::Error, span, message)
    }

    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Level::Warning, span, message)
    }

    pub fn info(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Level::Info, span, message)
    }

    /// Sets the text beside the underlined part.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Sets the reason.
    pub fn why(mut self, why: impl Into<String>) -> Diagnostic {
        self.why = Some(why.into());
        self
    }

    /// Sets the advice.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds another place in the file.
    pub fn related(mut self, span: Span, note: impl Into<String>) -> Diagnostic {
        self.related.push((span, note.into()));
        self
    }
}

/// Sorts by position in the file, then the most serious first.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|one| (one.span.start, std::cmp::Reverse(one.level), one.rule));
}

pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|one| one.level == Level::Error && one.allowed.is_none())
}

/// `1 item`, `2 items`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A longer list of names would not be read.
const LISTED_MAX: usize = 40;

/// Names for a message: `` `a`, `b` ``.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let shown = names.iter().take(LISTED_MAX).map(|name| format!("`{}`", name.as_ref()));
    let text = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED_MAX) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
