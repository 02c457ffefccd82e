//! The servers that share the cluster.
//!
//! A server that has joined has a key. Every commit of an update reads it, so removing it makes the commits under way
//! fail, and later updates find nothing. An expulsion waits for no commit. It also removes the marks that the server
//! has left: one that ended without closing its store would leave them for good.

use std::sync::Arc;

use async_trait::async_trait;
use store::{Cluster, Log, Member, StoreError};

use super::database::{Reading, Transaction};
use super::failure::Failure;
use super::transaction::Attempts;
use super::{FdbStore, Shared, random};

#[async_trait]
impl Cluster for FdbStore {
    async fn join(&self) -> Result<Member, StoreError> {
        // So many that none comes twice, and few enough that JSON can hold one.
        let member = Member((random()? >> 12).max(1));
        let mut attempts = Attempts::new(self.0.options.wait);
        while let Err(failure) = self.0.add_member(member).await {
            self.0.try_again(&mut attempts, failure).await?;
        }
        *self.0.member.lock() = Some(member);
        Ok(member)
    }

    async fn expel(&self, member: Member) -> Result<(), StoreError> {
        let mut attempts = Attempts::new(self.0.options.wait);
        while let Err(failure) = self.0.remove_member(member).await {
            self.0.try_again(&mut attempts, failure).await?;
        }
        Ok(())
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.0.settled().await;
        Ok(())
    }

    async fn raise_logs(&self, logs: &[Log], time_us: u64) -> Result<(), StoreError> {
        self.0.raise_ends(logs, time_us).await
    }
}

impl Shared {
    /// Fails if this server has joined and was expelled. A commit that has asked fails if it is expelled later.
    pub(super) async fn check_member(&self, transaction: &Transaction) -> Result<(), Failure> {
        let member = *self.member.lock();
        match (self.is_expelled(transaction, member).await?, member) {
            (true, Some(member)) => {
                Err(StoreError::Fenced(format!("member {} was expelled", member.0)).into())
            }
            _ => Ok(()),
        }
    }

    /// Whether this member is one no more.
    pub(super) async fn is_expelled(
        &self,
        transaction: &Transaction,
        member: Option<Member>,
    ) -> Result<bool, Failure> {
        let Some(member) = member else { return Ok(false) };
        Ok(transaction.get(&self.keys.member(member), Reading::Conflicts).await?.is_none())
    }

    /// Waits for the commits that are under way.
    pub(super) async fn settled(&self) {
        drop(self.under_way.write().await);
    }

    /// Removes what this handle has left, when it has no commits any more.
    pub(super) async fn remove_marks(&self) -> Result<(), Failure> {
        let transaction = self.begin()?;
        transaction.clear_range(&self.keys.marks(self.handle));
        self.commit_unmarked(transaction).await
    }

    async fn add_member(self: &Arc<Self>, member: Member) -> Result<(), Failure> {
        // The marks of a member that this handle was before may be gone, but not this one.
        let commit = self.begin_commit_of(None)?;
        commit.set(&self.keys.member(member), &self.handle.to_be_bytes());
        self.commit(commit).await
    }

    /// Removes the member and the marks that its handle has left.
    async fn remove_member(self: &Arc<Self>, member: Member) -> Result<(), Failure> {
        let (commit, key) = (self.begin_commit()?, self.keys.member(member));
        let Some(handle) = commit.get(&key, Reading::Conflicts).await? else { return Ok(()) };
        commit.clear(&key);
        if let Ok(handle) = handle[..].try_into() {
            commit.clear_range(&self.keys.marks(u64::from_be_bytes(handle)));
        }
        self.commit(commit).await
    }
}
