//! PartiQL, as far as DynamoDB speaks it: SELECT, INSERT, UPDATE, DELETE and EXISTS.
//!
//! A statement goes the way of the other expressions, and ends in the same bound nodes:
//! 1. [`parse`]: text to a [`syntax::Statement`], which depends on the text alone. Literals and parameters become
//!    values behind placeholders, so WHERE and SET are the trees that conditions and updates are made of.
//! 2. [`Statement::bind`]: parameters are put in by position; WHERE becomes a [`Condition`](crate::Condition), SET
//!    and REMOVE an [`Update`](crate::Update).
//! 3. [`access`]: held against a key schema, WHERE falls apart into the keys that it names and the rest, which is a
//!    filter of a read or the condition of a write.
//!
//! Like the rest of the crate it does not recurse by the depth of a client's text: operators wait on a stack of their
//! own, and literals are read at most 33 levels deep.

pub mod access;
mod bind;
mod error;
mod keyword;
mod lexer;
mod parser;
mod select_list;
mod statement;
pub mod syntax;

pub use access::{Access, Keyed};
pub use error::{Position, StatementError};
pub use parser::{TEXT_CHARACTERS_MAX, parse};
pub use select_list::SelectList;
pub use statement::{Delete, Insert, Order, Returning, Select, Statement, Update};
