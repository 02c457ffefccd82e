//! The change records of a commit.

use bytes::Bytes;
use store::Key;

use crate::commit::Plan;
use crate::commit::companion::{Companion, Stop};
use crate::commit::decide::Draft;
use crate::log::record::ChangeRecord;

/// Appends a record for each item that a commit changes, in the tables that record changes.
pub struct Changes {
    now_us: u64,
}

impl Changes {
    /// None if no table of the plans records changes.
    pub fn of(plans: &[Plan], now_us: impl FnOnce() -> u64) -> Option<Changes> {
        plans.iter().any(|plan| plan.table.log.is_open()).then(|| Changes { now_us: now_us() })
    }
}

impl Companion for Changes {
    fn keys(&self) -> &[Key] {
        &[]
    }

    fn decide(&self, _: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        draft.writes.now_us = self.now_us;
        for (plan, result) in draft.plans.iter().zip(&draft.results) {
            let Ok(outcome) = result else { continue };
            let Some(log) = plan.table.log.log_of(&plan.key.position.partition) else { continue };
            if outcome.old == outcome.new {
                continue;
            }
            let (old, new) = (outcome.old.as_ref(), outcome.new.as_ref());
            let region =
                outcome.version.as_ref().map_or(&*plan.table.namespace.region, |version| &*version.region);
            let version_us = outcome.version.as_ref().map(|version| version.time_us);
            let record = ChangeRecord::encode(plan.origin, region, version_us, old, new);
            draft.writes.appends.push((log, record));
        }
        Ok(())
    }
}
