//! The servers that share a store: `members.rs` has who they are, which version of the catalog each goes by, which
//! tables are frozen, and who holds the lease of a job. A store of one process has no members.
//!
//! Knows rows and versions, and no table: what a server does when others changed something is `following.rs`, above all
//! rooms.

pub mod members;
