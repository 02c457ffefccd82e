//! How much a table and its global indexes had left at one moment: a plain value. A write that is decided more
//! than once, as stores may ask for, is decided with it and touches nothing that others share.

use crate::throttle::{Access, Cause, Place, Reason};
use crate::throughput::Part;

/// What a table and its global indexes have left for one kind of request.
#[derive(Clone, Debug)]
pub struct Headroom {
    pub(crate) access: Access,
    /// As in [`crate::Throughput`].
    pub(crate) sharers: f64,
    pub(crate) table: Left,
    pub(crate) indexes: Vec<(u64, Left)>,
}

/// What one table or index has left, by the limits of [`crate::Resource`]. A limit that it does not have is
/// absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left {
    pub(crate) declared: Option<(Cause, f64)>,
    pub(crate) quota: Option<f64>,
    pub(crate) grown: Option<f64>,
    /// Where each partition begins, and what it has left; none if partitions are not modelled.
    pub(crate) partitions: Vec<(u64, f64)>,
}

impl Headroom {
    /// Takes the parts of one write, or says which limits they meet.
    pub fn take(&mut self, parts: &[Part]) -> Result<(), Vec<Reason>> {
        let mut reasons: Vec<Reason> = Vec::new();
        for part in parts {
            let Some(cause) = self.left(part.place).refusal(part.key_hash) else { continue };
            let reason = Reason { place: part.place, access: self.access, cause };
            // A table and its local indexes refuse once.
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if !reasons.is_empty() {
            return Err(reasons);
        }
        for part in parts {
            debug_assert!(part.units >= 0.0, "a write costs {} units", part.units);
            let units = part.units * self.sharers;
            self.left_mut(part.place).take(part.key_hash, units);
        }
        Ok(())
    }

    /// The most that a part can use without a debt; zero if it would be refused.
    pub fn units(&self, part: &Part) -> f64 {
        self.left(part.place).units(part.key_hash).max(0.0) / self.sharers
    }

    fn left(&self, place: Place) -> &Left {
        let found = self.indexes.iter().find(|(index, _)| Place::Index(*index) == place);
        found.map_or(&self.table, |(_, left)| left)
    }

    fn left_mut(&mut self, place: Place) -> &mut Left {
        let found = self.indexes.iter_mut().find(|(index, _)| Place::Index(*index) == place);
        found.map_or(&mut self.table, |(_, left)| left)
    }
}

impl Left {
    /// The limits in the order in which they refuse.
    fn limits(&self, key_hash: Option<u64>) -> [Option<(Cause, f64)>; 4] {
        let partition = self.partition(key_hash).map(|position| self.partitions[position].1);
        [
            self.declared,
            self.quota.map(|left| (Cause::AccountLimitExceeded, left)),
            self.grown.map(|left| (Cause::KeyRangeThroughputExceeded, left)),
            partition.map(|left| (Cause::KeyRangeThroughputExceeded, left)),
        ]
    }

    fn refusal(&self, key_hash: Option<u64>) -> Option<Cause> {
        let limits = self.limits(key_hash);
        limits.into_iter().flatten().find(|(_, left)| *left <= 0.0).map(|(cause, _)| cause)
    }

    fn units(&self, key_hash: Option<u64>) -> f64 {
        self.limits(key_hash).into_iter().flatten().map(|(_, left)| left).fold(f64::INFINITY, f64::min)
    }

    fn take(&mut self, key_hash: Option<u64>, units: f64) {
        let partition = self.partition(key_hash).map(|position| &mut self.partitions[position].1);
        let declared = self.declared.as_mut().map(|(_, left)| left);
        for left in declared.into_iter().chain(&mut self.quota).chain(&mut self.grown).chain(partition) {
            *left -= units;
        }
    }

    fn partition(&self, key_hash: Option<u64>) -> Option<usize> {
        let behind = self.partitions.partition_point(|(first, _)| Some(*first) <= key_hash);
        behind.checked_sub(1).filter(|_| key_hash.is_some())
    }
}
