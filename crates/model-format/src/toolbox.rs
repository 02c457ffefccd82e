//! dynamodb-toolbox's tables, entities and access patterns. A program is read as far as it is static ([`read`]): schemas
//! are chains of calls, keys are functions that return a template. It does not come back as it was, but as a module with
//! the same tables, entities and patterns.

mod pattern;
mod read;
mod schema;
mod write;

use serde_json::Value;

use crate::{Aspect, Format, Syntax, TEXT};

pub const FORMAT: Format = Format {
    name: "dynamodb-toolbox",
    title: "dynamodb-toolbox's tables and entities, in TypeScript",
    syntax: &Syntax { parse: read::parse, print: TEXT.print },
    recognises: |document| document["toolbox"].is_object(),
    read: Some(read::read),
    write: Some(|model, notes| Value::String(write::module(model, notes))),
    holds: &[&[
        Aspect::Tables,
        Aspect::LocalIndexes,
        Aspect::Entities,
        Aspect::Templates,
        Aspect::Sparse,
        Aspect::Choices,
        Aspect::Patterns,
    ]],
};

/// The attribute that says of which entity an item is, if the table does not name another.
const ENTITY: &str = "_et";
/// What the library stores of its own: when an item was created, and when it was last changed.
const TIMESTAMPS: [(&str, &str); 2] = [("created", "_ct"), ("modified", "_md")];
