//! The versions of items in a global table: a companion gives each write its version, and refuses one from another
//! Region that comes too late.

use bytes::Bytes;
use store::Key;

use super::Commits;
use super::companion::{Companion, Stop};
use super::decide::{Draft, Refusal};
use super::plan::{Change, Plan};
use crate::base::version::{self, Stamp, Version};

/// The versions of the items that a commit changes, in tables that other Regions have, too.
pub struct Versions {
    /// One for each plan on such a table.
    keys: Vec<Key>,
    now_us: u64,
    /// The time in the Region of each of these plans.
    region_us: Vec<u64>,
}

impl Versions {
    /// None if no table of the plans is global.
    pub fn of(plans: &[Plan], commits: &Commits, now_us: impl FnOnce() -> u64) -> Option<Versions> {
        let of_plan = |plan: &Plan| {
            let versions = plan.table.membership.as_ref()?.versions();
            Some((
                version::key(versions, &plan.key.position),
                commits.clock_offset_us(&plan.table.namespace.region),
            ))
        };
        let (keys, offsets): (Vec<Key>, Vec<i64>) = plans.iter().filter_map(of_plan).unzip();
        if keys.is_empty() {
            return None;
        }
        let now_us = now_us();
        let region_us = offsets.into_iter().map(|offset| now_us.saturating_add_signed(offset)).collect();
        Some(Versions { keys, now_us, region_us })
    }
}

impl Companion for Versions {
    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn decide(&self, rows: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        let plans = draft.plans.iter().zip(&mut draft.results);
        let global = plans.filter(|(plan, _)| plan.table.membership.is_some());
        let own = self.keys.iter().zip(&self.region_us).zip(rows);
        for ((plan, result), ((key, region_us), row)) in global.zip(own) {
            let Ok(outcome) = result else { continue };
            let stored = row.as_deref().map(Stamp::decode).transpose().map_err(Stop::Unreadable)?;
            let current = match stored {
                Some(stamp) => Some(stamp.version),
                None => outcome.old.as_ref().and_then(|_| version::base(&plan.table)),
            };
            let version = match (&plan.version, current) {
                (Some(version), Some(current)) if *version <= current => {
                    *result = Err(Refusal::Outdated);
                    continue;
                }
                (Some(version), _) => version.clone(),
                (None, _) if matches!(plan.change, Change::Check { .. }) => continue,
                // A write that changes nothing is no version, as at DynamoDB.
                (None, _) if outcome.old == outcome.new => continue,
                (None, current) => Version {
                    time_us: current.map_or(0, |current| current.time_us + 1).max(*region_us),
                    region: plan.table.namespace.region.to_string(),
                },
            };
            let is_deleted = outcome.new.is_none();
            let stamp = Stamp { version, is_deleted, recorded_us: self.now_us };
            draft.writes.puts.push((key.clone(), stamp.encode()));
            outcome.version = Some(stamp.version);
        }
        Ok(())
    }
}
