//! What is wrong with a Query or Scan.

use item::{Item, ValueRef, View};

use crate::Error;

impl Error {
    /// An ExclusiveStartKey that is not a key of what the request reads.
    pub fn start_key_invalid() -> Error {
        Error::validation("The provided starting key is invalid")
    }

    /// An ExclusiveStartKey in another partition than the query's.
    pub fn start_key_outside_query() -> Error {
        Error::validation(
            "The provided starting key is outside query boundaries based on provided conditions",
        )
    }

    /// An ExclusiveStartKey that the condition on the sort key excludes.
    pub fn start_key_outside_sort_condition() -> Error {
        Error::validation("The provided starting key does not match the range key predicate")
    }

    /// A Query with an ExclusiveStartKey on a table without a sort key: one key has one item at most, so there
    /// is no next page.
    pub fn start_key_of_one_item(start: &Item) -> Error {
        let attribute =
            |(name, value): (&str, ValueRef<'_>)| format!("{name}=AttributeValue: {}", shown(value));
        let attributes: Vec<String> = start.as_ref().iter().map(attribute).collect();
        let attributes = attributes.join(", ");
        Error::validation(format!(
            "The provided exclusive start key is invalid: ExclusiveStartKey: {{{attributes}}}"
        ))
    }

    /// A Scan whose ExclusiveStartKey is not a key of what it scans.
    pub fn scan_start_key_invalid() -> Error {
        Error::validation(
            "The provided starting key is invalid: The provided key element does not match the schema",
        )
    }

    /// A parallel Scan whose ExclusiveStartKey is in another segment.
    pub fn start_key_outside_segment(segment: i32, total_segments: i32) -> Error {
        Error::validation(format!(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with \
             correct Segment. TotalSegments: {total_segments} Segment: {segment}"
        ))
    }

    /// An expression that reaches into a key attribute. `kind` is `Key` or `IndexKey`.
    pub fn key_not_scalar(kind: &str, name: &str) -> Error {
        Error::validation(format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"
        ))
    }

    /// A filter on a key attribute. `filter` is `Filter Expression` or `QueryFilter`.
    pub fn filter_on_key(filter: &str, name: &str) -> Error {
        Error::validation(format!(
            "{filter} can only contain non-primary key attributes: Primary key attribute: {name}"
        ))
    }
}

/// A key value as DynamoDB's messages show it: `{S:text}`.
fn shown(value: ValueRef<'_>) -> String {
    match value.view() {
        View::S(text) => format!("{{S:{text}}}"),
        View::N(number) => format!("{{N:{number}}}"),
        _ => format!("{{{}:…}}", value.kind().name()),
    }
}
