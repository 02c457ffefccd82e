//! What every room knows: tables as the catalog stores them, keys and index rows, the numbers of spaces, and small
//! values that requests and rows are made of.
//!
//! | question | file |
//! |---|---|
//! | what is a table? | `table.rs`, with `stream.rs`, `change_log.rs`, `kinesis_destination.rs`, `membership.rs` and `strong.rs` for its parts |
//! | which key does an item have in the store? | `key.rs` |
//! | which index rows does an item have? | `index.rs` |
//! | where are rows of which kind? | `space.rs`; `rows.rs` and `walk.rs` visit them |
//! | who asks? | `caller.rs` for requests, `origin.rs` for writes |
//! | when was an item last written, and in which Region? | `version.rs` |
//! | what is the time of a commit? | `clock.rs` |
//! | how much is it, and what does it cost? | `size.rs`, `units.rs` |
//! | what does a client see of a failure? | `fault.rs` |
//! | which expressions were parsed lately? | `expressions.rs` |
//!
//! Imports no other room, starts nothing and waits for nothing but the store.

pub mod caller;
pub mod change_log;
pub mod clock;
pub mod expressions;
pub mod fault;
pub mod index;
pub mod key;
pub mod kinesis_destination;
pub mod membership;
pub mod origin;
pub mod rows;
pub mod size;
pub mod space;
pub mod stream;
pub mod strong;
pub mod table;
pub mod units;
pub mod version;
pub mod walk;
