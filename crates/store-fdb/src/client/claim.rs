//! Fairness between servers.
//!
//! The faster of two servers that change the same row could win every time. So an update that has lost several times
//! claims its rows, all in one commit. Updates of other servers see the claim once they have lost themselves, or know
//! that others change the row, and wait until it is gone. The update's own commit removes it. A claim that stays as it
//! is for a second was left behind, and goes with the next commit.
//!
//! A claim only decides who goes first. Whether a commit is right is decided by conflicts alone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::Shared;
use super::database::{Reading, Side, Transaction};
use super::failure::Failure;
use crate::keys::after;

/// Several times what an update takes that is next.
const CLAIM_TIME: Duration = Duration::from_secs(1);

/// The claims on the rows of one update.
pub(super) struct Claims<'a> {
    shared: &'a Arc<Shared>,
    rows: &'a [Vec<u8>],
    are_watched: bool,
    have_met_others: bool,
    /// What this update has claimed with.
    own: Option<u64>,
    /// Claims that were left behind.
    old: Vec<Vec<u8>>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, rows: &'a [Vec<u8>], are_watched: bool) -> Claims<'a> {
        Claims { shared, rows, are_watched, have_met_others: false, own: None, old: Vec::new() }
    }

    /// The keys of the rows.
    pub(super) fn rows(&self) -> &'a [Vec<u8>] {
        self.rows
    }

    /// Looks at claims from here on.
    pub(super) fn watch(&mut self) {
        self.are_watched = true;
        self.have_met_others = true;
    }

    /// Whether other servers change these rows, as far as this update has seen.
    pub(super) fn has_met_others(&self) -> bool {
        self.have_met_others
    }

    /// Fails while another update has claimed one of the rows.
    pub(super) async fn check(&mut self, transaction: &Transaction) -> Result<(), Failure> {
        if !self.are_watched {
            return Ok(());
        }
        self.old.clear();
        let keys: Vec<Vec<u8>> = self.rows.iter().map(|row| self.shared.keys.claim(row)).collect();
        let found = try_join_all(keys.iter().map(|key| transaction.get(key, Reading::Looks))).await?;
        let now = self.shared.opened.elapsed();
        for (key, claim) in keys.into_iter().zip(found) {
            let number = claim.and_then(|bytes| Some(u64::from_be_bytes(bytes[..].try_into().ok()?)));
            let Some(number) = number.filter(|number| Some(*number) != self.own) else { continue };
            self.have_met_others = true;
            let seen_for = self.shared.claims.lock().seen_for(key.clone(), number, now);
            if seen_for < CLAIM_TIME {
                return Err(Failure::Claimed);
            }
            self.shared.claims.lock().forget(&key);
            self.old.push(key);
        }
        Ok(())
    }

    /// Claims all rows, unless another update has claimed one. An update that can't claim just tries again.
    pub(super) async fn make(&mut self) {
        if self.own.is_some() || self.rows.is_empty() {
            return;
        }
        let number = self.shared.handle ^ self.shared.next_serial().rotate_left(32);
        match self.try_to_make(number).await {
            Ok(true) => self.own = Some(number),
            Ok(false) => {}
            Err(failure) => tracing::debug!(?failure, "an update could not claim its rows"),
        }
    }

    async fn try_to_make(&self, number: u64) -> Result<bool, Failure> {
        let transaction = self.shared.begin()?;
        let keys: Vec<Vec<u8>> = self.rows.iter().map(|row| self.shared.keys.claim(row)).collect();
        let found = try_join_all(keys.iter().map(|key| transaction.get(key, Reading::Conflicts))).await?;
        if found.iter().any(Option::is_some) {
            return Ok(false);
        }
        for (key, row) in keys.iter().zip(self.rows) {
            transaction.set(key, &number.to_be_bytes());
            // Updates under way that have read the row start over, and see the claim.
            transaction.conflict(&(row.clone(), after(row.clone())), Side::Writes)?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Adds the removal of claims to a commit.
    pub(super) fn clear(&self, transaction: &Transaction) {
        if self.own.is_some() {
            self.rows.iter().for_each(|row| transaction.clear(&self.shared.keys.claim(row)));
        }
        self.old.iter().for_each(|key| transaction.clear(key));
    }

    /// Lets others go on. If that fails, they do so by themselves a second later.
    pub(super) async fn give_up(&mut self) {
        if self.own.take().is_none() {
            return;
        }
        let Ok(transaction) = self.shared.begin() else { return };
        self.rows.iter().for_each(|row| transaction.clear(&self.shared.keys.claim(row)));
        if let Err(error) = transaction.commit().await {
            tracing::debug!(?error, "a claim stays for a second");
        }
    }
}
