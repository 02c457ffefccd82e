//! What the guard finds: a rule, what is wrong, what to do, and the place in the model file that it is about.

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Scan,
    WastefulFilter,
    UnknownPattern,
    RepeatedRequest,
    Units,
    Item,
    IndexKey,
    UnknownTable,
    Unread,
}

impl Rule {
    pub const ALL: [Rule; 9] = [
        Rule::Scan,
        Rule::WastefulFilter,
        Rule::UnknownPattern,
        Rule::RepeatedRequest,
        Rule::Units,
        Rule::Item,
        Rule::IndexKey,
        Rule::UnknownTable,
        Rule::Unread,
    ];

    /// Its name in reports.
    pub fn id(self) -> &'static str {
        match self {
            Rule::Scan => "scan",
            Rule::WastefulFilter => "wasteful-filter",
            Rule::UnknownPattern => "unknown-pattern",
            Rule::RepeatedRequest => "repeated-request",
            Rule::Units => "units",
            Rule::Item => "item",
            Rule::IndexKey => "index-key",
            Rule::UnknownTable => "unknown-table",
            Rule::Unread => "unread",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Rule::Scan => "A Scan that no pattern declares",
            Rule::WastefulFilter => "A filter drops most of what was read and paid for",
            Rule::UnknownPattern => "A request that no pattern lists",
            Rule::RepeatedRequest => "Several requests where one would do",
            Rule::Units => "A request used more units than the model predicts",
            Rule::Item => "An item that breaks the model",
            Rule::IndexKey => "An index key that is missing, stray or stale",
            Rule::UnknownTable => "A table that no model has",
            Rule::Unread => "A request that can't be compared with the model",
        }
    }
}

/// Where in which model file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub rule: Rule,
    pub operation: &'static str,
    pub table: String,
    /// What the request is, and what is wrong with it.
    pub message: String,
    /// What to do.
    pub help: String,
    pub place: Option<Place>,
}

impl Finding {
    /// For the error that the client gets.
    pub fn text(&self) -> String {
        format!("{} Do this: {}.", self.message, self.help)
    }
}

/// The message of the error for a request with these findings.
pub fn refusal(findings: &[Finding]) -> String {
    let first = findings.first().map_or(String::new(), Finding::text);
    let further = match findings.len() {
        0 | 1 => String::new(),
        count => format!(" And {} more: {}", count - 1, findings[1].message),
    };
    let rule = findings.first().map_or("", |finding| finding.rule.id());
    format!("lodestone guard ({rule}): {first}{further}")
}
