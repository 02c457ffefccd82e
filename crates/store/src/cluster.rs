//! What a store offers to several processes that share it, beyond what it offers to one.
//!
//! What always holds, for every such store (the suite behind the feature `conformance` checks it):
//! - Once [`Cluster::expel`] has returned, no update of that member is committed later: also not one that was under
//!   way. Whether the expulsion waits for such an update or makes it fail is the store's choice.
//! - Once [`Cluster::raise_logs`] has returned, every record up to its time can be read, and later records of
//!   these logs have later times, whatever the clocks of the processes say.

use async_trait::async_trait;

use crate::{Log, StoreError};

/// The number of a process among those that share a store. It is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(pub u64);

/// A store that several processes share.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// Makes this handle of the store a new member. From here on its updates are those of the member.
    async fn join(&self) -> Result<Member, StoreError>;

    /// Removes a member, this one or another: waits for its updates under way or makes them fail, and makes later ones
    /// fail with [`StoreError::Fenced`]. That there is no such member is no error.
    async fn expel(&self, member: Member) -> Result<(), StoreError>;

    /// Waits until the updates of this handle that are under way have ended, also those whose callers are gone.
    async fn settle(&self) -> Result<(), StoreError>;

    /// Lets the logs end at this time at the least.
    async fn raise_logs(&self, logs: &[Log], time_us: u64) -> Result<(), StoreError>;
}
