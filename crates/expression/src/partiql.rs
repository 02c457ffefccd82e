//! PartiQL, as far as DynamoDB supports it: SELECT, INSERT, UPDATE, DELETE and EXISTS.
//!
//! A statement takes the same steps as the other expressions and becomes the same bound nodes:
//! 1. [`parse`]: text to a [`syntax::Statement`], which depends on the text alone. Placeholders stand for literals and
//!    parameters, so WHERE and SET become the same trees as conditions and updates.
//! 2. [`Statement::bind`]: puts in the parameters by position; WHERE becomes a [`Condition`](crate::Condition), SET
//!    and REMOVE an [`Update`](crate::Update).
//! 3. [`access`]: with a key schema at hand, splits WHERE into the keys that it names and the rest, which is the
//!    filter of a read or the condition of a write.
//!
//! As in the rest of the crate, no code recurses as deep as a client's text is nested: operators wait on a stack of
//! their own, and literals are read at most 33 levels deep.

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
pub use statement::{Delete, Insert, Order, Returning, Select, Statement, UpdateStatement};
