//! The storage contract on FoundationDB, for data and writes that one leader cannot carry. Several servers share one
//! cluster: all state is there.
//!
//! FoundationDB keeps ordered keys and commits transactions over all of them, strictly serializable, on any number of
//! nodes. It is optimistic: nothing is locked, and a commit fails if something that it has read was changed since. So:
//!
//! | question | where |
//! |---|---|
//! | what is stored under which key | [`keys`] |
//! | values that are larger than a pair, and commits that are larger than a transaction | [`value`], `client/update.rs` |
//! | how an update is made, and made again after a conflict | `client/update.rs`, [`retry`] |
//! | why no server starves another one | `client/claim.rs` |
//! | what if the answer to a commit is lost | `client/transaction.rs` |
//! | logs to which any number of servers append at once | [`log`] |
//! | snapshots that last longer than FoundationDB's five seconds | [`snapshot`] |
//! | how an expelled server is kept from writing | `client/member.rs` |
//! | why the cluster does not answer | [`status`] |
//!
//! **Logs: why neither versionstamps nor a part for each server.** A versionstamp is a key that the database completes
//! with the number of the commit. It would need no coordination at all, but it can't be chosen: a position is the time
//! of a commit as the engine's clock tells it, `migrate` brings records at the positions that they had elsewhere, and
//! [`raise_logs`](store::Cluster::raise_logs) moves ends to a given time. It would also need positions of 128 bits in
//! all stores, and so other sequence numbers and iterators. A part for each server, merged up to the lowest time that
//! all servers have closed, makes every reader wait for the slowest server, also for records that are acknowledged,
//! which the contract does not allow. So records of all servers are in one range, positions come from a look at its
//! end that conflicts with nothing, and readers close what they have read: see [`log`].
//!
//! What always holds:
//! - Everything that an update's decision depends on is read in the transaction of its commit, with conflicts.
//! - A commit whose answer is lost has happened, or is kept from happening, before the caller gets its answer.
//! - Once a log was read up to a position, its floor is at or above that position, and no append that commits later is
//!   at or below it.
//! - While a snapshot is open, what it shows is live or kept.
//!
//! What calls FoundationDB's library is behind the feature `client`. Everything else is also tested on a model of
//! FoundationDB's transactions in memory (feature `model`), so that the suite of the contract runs where there is no
//! cluster.

#[cfg(any(feature = "client", feature = "model"))]
mod client;
pub mod keys;
pub mod log;
#[cfg(feature = "model")]
pub mod model;
pub mod retry;
pub mod snapshot;
pub mod status;
pub mod unchanged;
pub mod value;

#[cfg(any(feature = "client", feature = "model"))]
pub use client::{FdbStore, Options};

/// The format of what is stored.
pub const FORMAT_VERSION: u32 = 1;
