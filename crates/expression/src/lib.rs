//! DynamoDB's expressions: condition, filter, key condition, search condition, update and projection; and its [`partiql`].
//!
//! Three steps, each with its own types:
//! 1. [`parser`]: text to a [`syntax`] tree. Placeholders stay unresolved, so a tree depends on its text alone
//!    and may be kept and shared.
//! 2. binding: `#names` and `:values` are looked up in [`Placeholders`], operand types and paths are checked;
//!    the result cannot be wrong any more.
//! 3. evaluating on borrowed item bytes: nothing is decoded that the expression does not ask for.
//!
//! No code here recurses as deep as a client's text is nested: the parser has a stack of its own, syntax trees are
//! flat, and a bound tree is at most as deep as the 300 operators that one expression may have.

mod bind;
pub mod condition;
mod error;
pub mod key_condition;
mod language;
mod lexer;
mod operator;
pub mod parser;
pub mod partiql;
mod path;
mod placeholders;
mod projection;
mod reserved;
mod search_condition;
pub mod syntax;
pub mod update;

pub use condition::Condition;
pub use error::{ExpressionError, Fault, Kind};
pub use key_condition::KeyCondition;
pub use path::{Path, Step};
pub use placeholders::Placeholders;
pub use projection::Projection;
pub use reserved::is_reserved;
pub use search_condition::SearchCondition;
pub use update::{Update, Updated};
