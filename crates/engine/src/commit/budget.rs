//! What large commits may hold in memory together. A batch or a transaction of a few megabytes can make rows of many
//! times that in a table with twenty indexes, and each of them also waits in the store's log. So a large commit takes
//! its part of one budget before it is decided, first come, first served. Small ones, as nearly all are, pass by.

use tokio::sync::{Semaphore, SemaphorePermit};

use super::plan::Plan;

/// What large commits may take together. One that needs more is alone.
const BUDGET_KIB: u32 = 16 * 1024;
/// A commit with more than this is large.
const LARGE_BYTES: usize = 256 * 1024;
/// Writes that need not be one commit are divided into commits of about this size.
const COMMIT_BYTES: usize = 4 << 20;

/// The memory of all commits under way, in KiB.
pub struct CommitBudget(Semaphore);

impl Default for CommitBudget {
    fn default() -> CommitBudget {
        CommitBudget(Semaphore::new(BUDGET_KIB as usize))
    }
}

impl CommitBudget {
    /// Waits until there is room for a commit of these plans, if it is large.
    pub async fn take(&self, plans: &[Plan]) -> Option<SemaphorePermit<'_>> {
        let bytes = row_bytes(plans);
        if bytes <= LARGE_BYTES {
            return None;
        }
        let kib = u32::try_from(bytes / 1024).unwrap_or(BUDGET_KIB).min(BUDGET_KIB);
        // The semaphore is never closed.
        self.0.acquire_many(kib).await.ok()
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
