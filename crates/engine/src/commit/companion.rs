//! Companions of a write: every further row or record of its commit, beside the items and their index rows.
//!
//! A companion is an answer to three questions: which rows must be locked, what do they say, and what is to be
//! written? It may also refuse plans, or stop the commit as a whole. A new one is a type in a file of
//! its own that implements [`Companion`], and a line in [`of`].

use bytes::Bytes;
use store::{Key, StoreError};

use super::Commits;
use super::decide::Draft;
use super::plan::Plan;
use crate::commit::change_records::Changes;
use crate::commit::collection::Collections;
use crate::commit::expiry::ExpiryTimes;
use crate::commit::idempotency::{Earlier, Token};
use crate::commit::last_writer_wins::Versions;

/// Further rows and records of a commit.
pub trait Companion: Send + Sync {
    /// The rows that are locked with the items and handed to [`Companion::decide`]. Rows that belong to one
    /// item need no lock of their own.
    fn keys(&self) -> &[Key];

    /// Adds to the draft what is to be written, given the rows of [`Companion::keys`] as they are. Pure, as
    /// every decision: the same rows and the same draft always give the same result. It runs when all plans
    /// were decided, also if some were refused; in that case nothing of the draft is written.
    fn decide(&self, rows: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop>;
}

/// Why a commit is given up whatever its plans say.
#[derive(Debug)]
pub enum Stop {
    /// The same client request token was used before.
    Earlier(Earlier),
    /// A row of the companion can't be read.
    Unreadable(StoreError),
    /// The rows of the commit, of this size, are more than it may have.
    TooLarge { bytes: usize },
}

/// The companions of plans, in the order in which they decide.
pub fn of<'a>(
    plans: &[Plan],
    token: Option<&'a Token>,
    commits: &Commits,
    now_us: impl Fn() -> u64,
) -> Vec<Box<dyn Companion + 'a>> {
    let token = token.map(|token| Box::new(token) as Box<dyn Companion + 'a>);
    let collections = Collections::of(plans, commits.item_collection_bytes_max);
    let collections = collections.map(|collections| Box::new(collections) as Box<dyn Companion + 'a>);
    let expiry = ExpiryTimes::of(plans).map(|expiry| Box::new(expiry) as Box<dyn Companion + 'a>);
    let versions = Versions::of(plans, commits, &now_us);
    let versions = versions.map(|versions| Box::new(versions) as Box<dyn Companion + 'a>);
    let changes = Changes::of(plans, now_us).map(|changes| Box::new(changes) as Box<dyn Companion + 'a>);
    token.into_iter().chain(collections).chain(expiry).chain(versions).chain(changes).collect()
}
