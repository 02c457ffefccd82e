//! `generated/mod.rs`: the other files, and what they borrow from DynamoDB.

use super::Source;

pub fn print(source: &Source<'_>) -> String {
    let borrowed = match source.service.borrowed {
        [] => String::new(),
        shapes => format!("pub use crate::dynamodb::{{{}}};", shapes.join(", ")),
    };
    let schema = if source.facts.speaks_more_than_json() { "pub(crate) mod schema;\n        " } else { "" };
    format!(
        "pub(crate) mod decode;
        mod encode;
        mod enumeration;
        mod operation;
        {schema}mod shape;

        {borrowed}
        pub use enumeration::*;
        pub use operation::{{Operation, Request, Response}};
        pub use shape::*;

        /// The package of the service's Java classes and the first part of its errors' names.
        #[allow(dead_code, reason = \"some services put nothing before the names of their errors\")]
        pub(crate) const NAMESPACE: &str = \"{}\";
        ",
        source.facts.metadata.namespace
    )
}
