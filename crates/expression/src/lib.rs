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
//!
//! | question | file |
//! |---|---|
//! | how does a text become a tree? | `lexer.rs`, `parser.rs`, `operator.rs`; the tree is in `syntax.rs` |
//! | what do `#name` and `:value` mean, and which are not used? | `placeholders.rs` |
//! | which types may operands have? | `bind.rs`; which paths overlap: `path.rs` |
//! | when is a condition true? | `condition.rs` |
//! | which range does a Query read? | `key_condition.rs` |
//! | which items does SearchVectors compare? | `search_condition.rs` |
//! | how does an update change an item? | `update.rs` |
//! | which parts of an item are returned? | `projection.rs`; of a SELECT: `partiql/select_list.rs` |
//! | which names need a placeholder? | `reserved.rs`; which need quotes in PartiQL: `partiql/keyword.rs` |
//! | which of several mistakes is reported, and how? | `error.rs`, `partiql/error.rs` |
//! | what do the two languages share? | `language.rs`, `operator.rs`; PartiQL begins at `partiql.rs` |

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
