//! Whether a request may use a table now: throughput that was provisioned is all there is. The table and
//! each of its global indexes have a bucket for reads and one for writes, and in them one for each
//! partition key in use, for a key gets no more than a partition sustains. Local indexes share the table's.
//!
//! Reads are admitted while something is left and charged when it is known what they cost. The cost of a
//! write is known before its commit, and is taken then; if one of several is refused, nothing is taken.
//! Who is refused is told by whom.
//!
//! Tables that are paid for by request are not throttled.

use std::ops::Bound;
use std::sync::Arc;

use api::{Access, Error, ThrottlingCause, ThrottlingReason};
use capacity::{BURST_SECONDS, Bucket, KeyBuckets, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
use parking_lot::Mutex;
use store::{Key, Partition, Range, Space};

use crate::Engine;
use crate::catalog::LiveTable;
use crate::table::{BillingMode, Table};
use crate::write::{Outcome, Plan};

/// Keys remembered at the least, for each bucket of a table or index: some 100 KB when all are in use.
const KEYS_A_GENERATION: usize = 1024;

/// Where a request reads or writes: in a table or index, and at which partition key if at one.
#[derive(Clone, Copy)]
pub struct Place {
    space: Space,
    partition: Option<Partition>,
}

impl Place {
    pub fn of_key(key: &Key) -> Place {
        Place { space: key.space, partition: Some(key.position.partition) }
    }

    /// Of a range inside one partition.
    pub fn of_range(range: &Range) -> Place {
        let partition = match &range.start {
            Bound::Included(position) | Bound::Excluded(position) => Some(position.partition),
            Bound::Unbounded => None,
        };
        Place { space: range.space, partition }
    }

    pub fn anywhere_in(space: Space) -> Place {
        Place { space, partition: None }
    }
}

/// What is left of a table's throughput and of its global indexes'. The first is the table's own. They are
/// shared with the table as it was before it was changed and as it is afterwards.
pub struct Admission {
    resources: Vec<(Space, Arc<Resource>)>,
}

struct Resource {
    read: Mutex<Meter>,
    write: Mutex<Meter>,
}

struct Meter {
    bucket: Bucket,
    keys: KeyBuckets<Partition>,
}

impl Admission {
    /// Of a table that has provisioned its throughput; what is left goes on from the table as it was.
    pub fn of(table: &Table, current: Option<&Admission>) -> Option<Admission> {
        if table.billing.mode != BillingMode::Provisioned {
            return None;
        }
        let own = (table.space(), table.billing.read_units, table.billing.write_units);
        let global = table.indexes.iter().filter_map(|index| {
            let units = index.billing.filter(|_| index.is_global())?;
            Some((index.space(), units.read_units, units.write_units))
        });
        let resource = |(space, read_units, write_units)| {
            let known =
                current.and_then(|current| current.resources.iter().find(|(known, _)| *known == space));
            let resource = match known {
                Some((_, resource)) => {
                    resource.read.lock().bucket.set_rate(read_units);
                    resource.write.lock().bucket.set_rate(write_units);
                    resource.clone()
                }
                None => Arc::new(Resource {
                    read: Mutex::new(Meter::new(read_units, PARTITION_READ_UNITS)),
                    write: Mutex::new(Meter::new(write_units, PARTITION_WRITE_UNITS)),
                }),
            };
            (space, resource)
        };
        Some(Admission { resources: std::iter::once(own).chain(global).map(resource).collect() })
    }

    /// Local indexes, and those that this table does not know yet, use the table's.
    fn resource(&self, space: Space) -> &Arc<Resource> {
        let found = self.resources.iter().find(|(known, _)| *known == space);
        &found.unwrap_or(&self.resources[0]).1
    }
}

impl Resource {
    fn meter(&self, access: Access) -> &Mutex<Meter> {
        match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        }
    }
}

impl Meter {
    fn new(units_a_second: u64, key_units_a_second: u64) -> Meter {
        Meter {
            bucket: Bucket::new(units_a_second, BURST_SECONDS),
            keys: KeyBuckets::new(key_units_a_second, KEYS_A_GENERATION),
        }
    }

    /// What stands in the way of a request.
    fn refusal(&mut self, partition: Option<Partition>, now_ms: u64) -> Option<ThrottlingCause> {
        if !self.bucket.is_open(now_ms) {
            return Some(ThrottlingCause::ProvisionedThroughputExceeded);
        }
        let is_hot = partition.is_some_and(|partition| !self.keys.is_open(&partition, now_ms));
        is_hot.then_some(ThrottlingCause::KeyRangeThroughputExceeded)
    }

    fn take(&mut self, partition: Option<Partition>, units: f64, now_ms: u64) {
        self.bucket.take(units, now_ms);
        if let Some(partition) = partition {
            self.keys.take(&partition, units, now_ms);
        }
    }
}

/// What writes took; it can be given back if they are decided anew.
#[derive(Default)]
pub struct Charges {
    taken: Vec<(Arc<Resource>, Place, f64)>,
    at_ms: u64,
}

impl Charges {
    fn add(&mut self, admission: &Admission, place: Place, units: f64) {
        let resource = admission.resource(place.space);
        resource.write.lock().take(place.partition, units, self.at_ms);
        self.taken.push((resource.clone(), place, units));
    }

    pub fn give_back(&mut self) {
        for (resource, place, units) in self.taken.drain(..) {
            resource.write.lock().take(place.partition, -units, self.at_ms);
        }
    }
}

impl Engine {
    fn admission<'a>(&self, table: &'a LiveTable) -> Option<&'a Admission> {
        table.admission.as_ref().filter(|_| self.options.throttling)
    }

    /// Refuses a read for which nothing is left.
    pub fn admit_read(&self, table: &LiveTable, place: Place) -> Result<(), Error> {
        let Some(admission) = self.admission(table) else { return Ok(()) };
        let now_ms = self.environment.now_ms();
        match reason(table, admission, Access::Read, place, now_ms) {
            Some(reason) => Err(Error::throughput_exceeded(vec![reason])),
            None => Ok(()),
        }
    }

    /// Takes what a read cost.
    pub fn charge_read(&self, table: &LiveTable, place: Place, units: f64) {
        let Some(admission) = self.admission(table) else { return };
        let meter = &admission.resource(place.space).read;
        meter.lock().take(place.partition, units, self.environment.now_ms());
    }

    /// Takes what writes cost that are about to be committed together. Those for which nothing is left
    /// become errors, and then nothing is taken.
    pub fn admit_writes(
        &self,
        plans: &[Plan],
        results: &mut [Result<Outcome, Error>],
        factor: f64,
    ) -> Charges {
        if plans.iter().all(|plan| self.admission(&plan.table).is_none()) {
            return Charges::default();
        }
        let mut charges = Charges { taken: Vec::new(), at_ms: self.environment.now_ms() };
        for (plan, result) in plans.iter().zip(results.iter_mut()) {
            let (Some(admission), Ok(outcome)) = (self.admission(&plan.table), &*result) else { continue };
            let reason = |(place, _)| reason(&plan.table, admission, Access::Write, place, charges.at_ms);
            let mut reasons: Vec<ThrottlingReason> =
                places(plan, outcome, factor).filter_map(reason).collect();
            // The table and its local indexes have one bucket.
            reasons.dedup();
            if reasons.is_empty() {
                // At once: the next one meets what this one leaves.
                places(plan, outcome, factor).for_each(|(place, units)| charges.add(admission, place, units));
            } else {
                *result = Err(Error::throughput_exceeded(reasons));
            }
        }
        if results.iter().any(Result::is_err) {
            charges.give_back();
        }
        charges
    }
}

/// Where a write goes and what it costs there: first in the table, then in its indexes.
fn places<'a>(
    plan: &Plan,
    outcome: &'a Outcome,
    factor: f64,
) -> impl Iterator<Item = (Place, f64)> + use<'a> {
    let own = (Place::of_key(&plan.key), outcome.table_units() * factor);
    let in_index = |(space, partition, units): &(Space, Partition, f64)| {
        (Place { space: *space, partition: Some(*partition) }, *units)
    };
    std::iter::once(own).chain(outcome.index_charges.iter().map(in_index))
}

fn reason(
    table: &Table,
    admission: &Admission,
    access: Access,
    place: Place,
    now_ms: u64,
) -> Option<ThrottlingReason> {
    let meter = admission.resource(place.space).meter(access);
    let cause = meter.lock().refusal(place.partition, now_ms)?;
    let index = table.indexes.iter().find(|index| index.is_global() && index.space() == place.space);
    Some(ThrottlingReason {
        of_index: index.is_some(),
        access,
        cause,
        resource: index.map_or_else(|| table.arn(), |index| table.index_arn(index)),
    })
}
