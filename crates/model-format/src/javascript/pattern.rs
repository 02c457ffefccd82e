//! Kinds of text that the libraries have no types for: the regular expression that identifies each, for writing and
//! for reading.

use model::model::AttributeKind;

const PATTERNS: [(AttributeKind, &str); 4] = [
    (AttributeKind::Timestamp, r"/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z)?$/"),
    (AttributeKind::Date, r"/^\d{4}-\d{2}-\d{2}$/"),
    (AttributeKind::Uuid, r"/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/"),
    (AttributeKind::Ulid, r"/^[0-9A-HJKMNP-TV-Z]{26}$/"),
];

pub fn of_kind(kind: AttributeKind) -> Option<&'static str> {
    PATTERNS.iter().find(|(one, _)| *one == kind).map(|(_, pattern)| *pattern)
}

/// The kind of text that the regular expression identifies.
pub fn kind_of(pattern: &str) -> Option<AttributeKind> {
    PATTERNS.iter().find(|(_, one)| *one == pattern).map(|(kind, _)| *kind)
}
