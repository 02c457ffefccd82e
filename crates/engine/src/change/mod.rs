//! The change log: one record for each change of an item, appended in the commit of the item.
//!
//! | question | file |
//! |---|---|
//! | what does a record say, and in which bytes? | `record.rs` |
//! | which log does a record go to, and which shard is it in? | `shard.rs` |
//! | what is the time of a commit? | `clock.rs` |
//! | how does a record get into its commit? | `companion.rs` |
//! | how much room do records take? | `size.rs` |
//! | when does a shard end, and when is a record forgotten? | `trimming.rs` |
//!
//! A table has a log only while something reads it: a stream, point-in-time recovery, a copy under way.
//! `stream.rs` and `past.rs` are its readers.
//!
//! What always holds:
//! - A position in a log is a time. All records of one commit have the same time, in all logs.
//! - After [`Engine::cut`](crate::Engine::cut) has returned the time T, every record with a time up to T can be read, and every
//!   later record has a greater time.
//! - The first record of an item after T has the item as it was at T as its old image.

mod clock;
mod companion;
mod record;
mod shard;
mod size;
mod trimming;

pub use clock::ChangeClock;
pub use companion::Changes;
pub use record::Change;
pub use shard::{ChangeLog, Shard};
pub use size::{ChangeLogSize, CountLogs};
pub use trimming::Trimming;
