//! The operation of a pattern, as the API and as the model file name it.

use model::model::{ActionKind, Grouping, Pattern, ReadVerb, WriteVerb};

const VERBS: [(&str, &str); 6] = [
    ("GetItem", "get"),
    ("Query", "query"),
    ("Scan", "scan"),
    ("PutItem", "put"),
    ("UpdateItem", "update"),
    ("DeleteItem", "delete"),
];

/// `None` for operations on several items, whose steps the name does not tell.
pub fn verb(operation: &str) -> Option<&'static str> {
    VERBS.iter().find(|(name, _)| *name == operation).map(|(_, verb)| *verb)
}

/// `None` for transactions and batches, whose steps have no common name.
pub fn operation(pattern: &Pattern) -> Option<&'static str> {
    if pattern.grouping != Grouping::Single {
        return None;
    }
    Some(match &pattern.actions.first()?.kind {
        ActionKind::Read(read) => match read.verb {
            ReadVerb::Get => "GetItem",
            ReadVerb::Query => "Query",
            ReadVerb::Scan => "Scan",
        },
        ActionKind::Write(write) => match write.verb {
            WriteVerb::Create | WriteVerb::Put => "PutItem",
            WriteVerb::Update => "UpdateItem",
            WriteVerb::Delete => "DeleteItem",
            WriteVerb::Check => return None,
        },
    })
}
