//! The servers that share the cluster.
//!
//! A server that has joined has a key. Every commit of an update reads it, so removing it makes the commits under way
//! fail, and later updates find nothing. An expulsion waits for no commit.

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
        self.0.change_member(member, true).await?;
        *self.0.member.lock() = Some(member);
        Ok(member)
    }

    async fn expel(&self, member: Member) -> Result<(), StoreError> {
        self.0.change_member(member, false).await
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
        let Some(member) = *self.member.lock() else { return Ok(()) };
        match transaction.get(&self.keys.member(member), Reading::Conflicts).await? {
            Some(_) => Ok(()),
            None => Err(StoreError::Fenced(format!("member {} was expelled", member.0)).into()),
        }
    }

    /// Waits for the commits that are under way.
    pub(super) async fn settled(&self) {
        drop(self.under_way.write().await);
    }

    /// Removes what this handle has left, when it has no commits any more.
    pub(super) async fn remove_marks(&self) -> Result<(), Failure> {
        let transaction = self.begin()?;
        transaction.clear_range(&self.keys.marks(self.handle));
        self.commit_repeatable(transaction).await
    }

    async fn change_member(&self, member: Member, is_one: bool) -> Result<(), StoreError> {
        let (key, mut attempts) = (self.keys.member(member), Attempts::new(self.options.wait));
        loop {
            let changed = async {
                let transaction = self.begin()?;
                match is_one {
                    true => transaction.set(&key, &self.handle.to_be_bytes()),
                    false => transaction.clear(&key),
                }
                self.commit_repeatable(transaction).await
            };
            match changed.await {
                Ok(()) => return Ok(()),
                Err(failure) => self.try_again(&mut attempts, failure).await?,
            }
        }
    }
}
