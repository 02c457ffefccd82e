//! `generated/mod.rs`: the other files, and what they borrow from DynamoDB.

use super::Source;

pub fn print(source: &Source<'_>) -> String {
    let borrowed = match source.service.borrowed {
        [] => String::new(),
        shapes => format!("pub use crate::dynamodb::{{{}}};", shapes.join(", ")),
    };
    format!(
        "pub(crate) mod decode;
        mod encode;
        mod enumeration;
        mod operation;
        mod shape;

        {borrowed}
        pub use enumeration::*;
        pub use operation::{{Operation, Request, Response}};
        pub use shape::*;

        /// The package of the service's Java classes and the first part of its errors' names.
        pub(crate) const NAMESPACE: &str = \"{}\";
        ",
        source.facts.metadata.namespace
    )
}
