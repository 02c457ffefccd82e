//! What large commits may hold in memory together. A batch or a transaction of a few megabytes can make rows of many
//! times that in a table with twenty indexes, and each of them also waits in the store's log. So a large commit takes
//! its room in one budget, first come, first served. Small ones, as nearly all are, pass by.
//!
//! What puts take is known beforehand. What an update or a deletion takes is known only when its item was read: the
//! decision ends when the rows are more than the room of the commit, measures all of them, and is made again with that
//! much room (`attempt.rs`). A small commit is decided once.

use tokio::sync::{Semaphore, SemaphorePermit};

use super::plan::Plan;

/// What large commits may take together. One that needs more is alone.
const BUDGET_KIB: u32 = 16 * 1024;
/// A commit with more than this is large. Each commit may have this much beyond what it took.
const LARGE_BYTES: usize = 256 * 1024;
/// Writes that need not be one commit are divided into commits of about this size.
const COMMIT_BYTES: usize = 4 << 20;
/// What a commit of several such writes may have. With more, each gets a commit of its own.
pub const SEVERAL_BYTES_MAX: usize = 2 * COMMIT_BYTES;
/// The rows of a transaction: more than any transaction of puts can have, 4 MB in a table with 25 indexes and a change
/// log. Updates of large items could have eight times as much, and end a server with 512 MiB.
pub const TRANSACTION_BYTES_MAX: usize = 128 << 20;

/// The memory of all commits under way, in KiB.
pub struct CommitBudget(Semaphore);

/// What a commit may have in memory.
pub struct Room<'a> {
    /// None for a small commit.
    _permit: Option<SemaphorePermit<'a>>,
    pub bytes_max: usize,
}

impl Default for CommitBudget {
    fn default() -> CommitBudget {
        CommitBudget(Semaphore::new(BUDGET_KIB as usize))
    }
}

impl CommitBudget {
    /// Waits for room for a commit of this many bytes, if it is large. One that has all of the budget is alone, and has
    /// no other bound.
    pub async fn take(&self, bytes: usize) -> Room<'_> {
        let bytes_max = bytes.saturating_add(LARGE_BYTES);
        if bytes <= LARGE_BYTES {
            return Room { _permit: None, bytes_max };
        }
        let kib = u32::try_from(bytes / 1024).unwrap_or(BUDGET_KIB).min(BUDGET_KIB);
        // The semaphore is never closed.
        let permit = self.0.acquire_many(kib).await.ok();
        Room { _permit: permit, bytes_max: if kib == BUDGET_KIB { usize::MAX } else { bytes_max } }
    }
}

/// What the rows of these plans take, as far as they are known before the decision.
pub fn row_bytes(plans: &[Plan]) -> usize {
    plans.iter().map(Plan::row_bytes).sum()
}

/// How many of the plans make up the next commit: at least one, if there is any.
pub fn next_commit(plans: &[Plan]) -> usize {
    let mut bytes = 0;
    let fits = |plan: &&Plan| {
        bytes += plan.row_bytes();
        bytes <= COMMIT_BYTES
    };
    plans.iter().take_while(fits).count().max(1).min(plans.len())
}
