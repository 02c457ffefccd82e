//! Admission: whether a table has throughput left for a request, and what the request takes of it.
//!
//! A table that provisions its throughput has a [`Resource`] of its own and one for each global index; local
//! indexes use the table's. A resource has a meter for reads and one for writes. Each meter has one bucket
//! for the whole resource and one for each partition key in use, because a key gets no more than a partition
//! sustains. On-demand tables are not throttled.
//!
//! A request is admitted while something is left and pays what it really cost:
//! - **A read** is admitted ([`AdmittedRead`]) and then charged.
//! - **A write** costs what only its decision finds out, and the decision must not touch what others share.
//!   So a [`Reservation`] is made before: it holds the least that the writes can cost and notes how much
//!   is left ([`Headroom`]). The decision reads the headroom. After the commit the reservation is settled
//!   with the real cost; one that is dropped gives back what it held.
//!
//! The error names each table or index that refused the request.

use std::ops::Bound;
use std::sync::Arc;

use api::{Access, ThrottlingCause, ThrottlingReason};
use capacity::{BURST_SECONDS, Bucket, KeyBuckets, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
use parking_lot::Mutex;
use store::{Key, Partition, Range, Space};

use crate::catalog::LiveTable;
use crate::shared::Core;
use crate::table::{BillingMode, Table};

/// The least number of partition keys that a meter remembers: some 100 KB when all are in use.
const KEYS_PER_GENERATION: usize = 1024;

/// What a request uses throughput of: a table or index and, if it stays within one, a partition key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    space: Space,
    partition: Option<Partition>,
}

impl Target {
    /// The partition key of one row.
    pub fn of_key(key: &Key) -> Target {
        Target::of_partition(key.space, key.position.partition)
    }

    /// One partition key of a table or index.
    pub fn of_partition(space: Space, partition: Partition) -> Target {
        Target { space, partition: Some(partition) }
    }

    /// The partition key of a range inside one partition.
    pub fn of_range(range: &Range) -> Target {
        let partition = match &range.start {
            Bound::Included(position) | Bound::Excluded(position) => Some(position.partition),
            Bound::Unbounded => None,
        };
        Target { space: range.space, partition }
    }

    /// A table or index as a whole.
    pub fn of_space(space: Space) -> Target {
        Target { space, partition: None }
    }
}

/// A refusal: what had no throughput left, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled(pub Vec<ThrottlingReason>);

/// What is left of a table's throughput and of its global indexes'. A table that is changed shares its
/// resources with its successor.
pub struct Admission {
    /// The first is the table's own.
    resources: Vec<(Space, Arc<Resource>)>,
}

struct Resource {
    read: Mutex<Meter>,
    write: Mutex<Meter>,
}

struct Meter {
    bucket: Bucket,
    keys: KeyBuckets<Partition>,
    /// Every partition key that has nothing left, and some that have something again. They are few: such a
    /// key has used up ten seconds of what a partition sustains, and `keys` bounds them.
    exhausted: Vec<Partition>,
}

impl Admission {
    /// Of a table that provisions its throughput. `current` is that of the table before it was changed.
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

    /// The resource of a global index; anything else uses the table's.
    fn resource(&self, space: Space) -> &Resource {
        let found = self.resources.iter().find(|(known, _)| *known == space);
        &found.unwrap_or(&self.resources[0]).1
    }
}

impl Meter {
    fn new(units_per_second: u64, key_units_per_second: u64) -> Meter {
        Meter {
            bucket: Bucket::new(units_per_second, BURST_SECONDS),
            keys: KeyBuckets::new(key_units_per_second, KEYS_PER_GENERATION),
            exhausted: Vec::new(),
        }
    }

    /// What stands in the way of a request.
    fn refusal(&mut self, partition: Option<Partition>, now_ms: u64) -> Option<ThrottlingCause> {
        let key_left = partition.map(|partition| self.keys.left(&partition, now_ms));
        refusal(self.bucket.left(now_ms), key_left)
    }

    fn take(&mut self, partition: Option<Partition>, units: f64, now_ms: u64) {
        self.bucket.take(units, now_ms);
        let Some(partition) = partition else { return };
        self.keys.take(&partition, units, now_ms);
        if !self.keys.is_open(&partition, now_ms) && !self.exhausted(now_ms).contains(&partition) {
            self.exhausted.push(partition);
        }
    }

    /// The partition keys that have nothing left.
    fn exhausted(&mut self, now_ms: u64) -> &[Partition] {
        let Meter { keys, exhausted, .. } = self;
        exhausted.retain(|partition| !keys.is_open(partition, now_ms));
        exhausted
    }
}

fn refusal(left: f64, key_left: Option<f64>) -> Option<ThrottlingCause> {
    if left <= 0.0 {
        return Some(ThrottlingCause::ProvisionedThroughputExceeded);
    }
    key_left.filter(|left| *left <= 0.0).map(|_| ThrottlingCause::KeyRangeThroughputExceeded)
}

fn reason(table: &Table, access: Access, space: Space, cause: ThrottlingCause) -> ThrottlingReason {
    let index = table.indexes.iter().find(|index| index.is_global() && index.space() == space);
    ThrottlingReason {
        of_index: index.is_some(),
        access,
        cause,
        resource: index.map_or_else(|| table.arn(), |index| table.index_arn(index)),
    }
}

impl Core {
    fn admission<'a>(&self, table: &'a LiveTable) -> Option<&'a Admission> {
        table.admission.as_ref().filter(|_| self.options.throttling)
    }

    /// Admits a read, or refuses it because nothing is left.
    pub fn admit_read<'a>(
        &'a self,
        table: &'a LiveTable,
        target: Target,
    ) -> Result<AdmittedRead<'a>, Throttled> {
        let Some(admission) = self.admission(table) else {
            return Ok(AdmittedRead { engine: self, meter: None, target });
        };
        let meter = &admission.resource(target.space).read;
        match meter.lock().refusal(target.partition, self.environment.now_ms()) {
            Some(cause) => Err(Throttled(vec![reason(table, Access::Read, target.space, cause)])),
            None => Ok(AdmittedRead { engine: self, meter: Some(meter), target }),
        }
    }

    /// Makes the reservation for writes that are to be one commit, each with its table, its target there and
    /// the least that it can cost. It reads the clock and the buckets once, before the commit is decided.
    pub fn reserve<'a>(
        &self,
        writes: impl IntoIterator<Item = (&'a LiveTable, Target, f64)>,
    ) -> Reservation<'a> {
        let mut reservation = Reservation::default();
        for (table, target, units) in writes {
            let Some(admission) = self.admission(table) else { continue };
            if reservation.headroom.is_unlimited() {
                reservation.now_ms = self.environment.now_ms();
            }
            reservation.hold(table.space(), admission, target, units);
        }
        reservation
    }
}

/// A read that was admitted. It is charged when its cost is known.
pub struct AdmittedRead<'a> {
    engine: &'a Core,
    /// None where nothing is throttled.
    meter: Option<&'a Mutex<Meter>>,
    target: Target,
}

impl AdmittedRead<'_> {
    /// Takes what the read cost.
    pub fn charge(self, units: f64) {
        if let Some(meter) = self.meter {
            meter.lock().take(self.target.partition, units, self.engine.environment.now_ms());
        }
    }
}

/// Throughput that is kept for a commit until its cost is known. It holds no more than there is, so that
/// giving it back leaves the buckets as they were.
#[derive(Default)]
pub struct Reservation<'a> {
    headroom: Headroom,
    held: Vec<(&'a Resource, Target, f64)>,
    now_ms: u64,
}

impl<'a> Reservation<'a> {
    fn hold(&mut self, table: Space, admission: &'a Admission, target: Target, units: f64) {
        self.headroom.note_table(table, admission, self.now_ms);
        let resource = admission.resource(target.space);
        let mut meter = resource.write.lock();
        let mut units = units.min(meter.bucket.left(self.now_ms));
        if let Some(partition) = target.partition {
            let key_left = meter.keys.left(&partition, self.now_ms);
            self.headroom.note_key(table, target.space, partition, key_left);
            units = units.min(key_left);
        }
        if units > 0.0 {
            meter.take(target.partition, units, self.now_ms);
            self.held.push((resource, target, units));
        }
    }

    /// How much was left when the reservation was made.
    pub fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    /// Takes what the commit cost in place of what was held.
    pub fn settle(mut self, charges: impl IntoIterator<Item = (&'a LiveTable, Target, f64)>) {
        if self.headroom.is_unlimited() {
            return;
        }
        self.give_back();
        for (table, target, units) in charges {
            if let Some(admission) = &table.admission {
                let mut meter = admission.resource(target.space).write.lock();
                meter.take(target.partition, units, self.now_ms);
            }
        }
    }

    fn give_back(&mut self) {
        for (resource, target, units) in self.held.drain(..) {
            resource.write.lock().take(target.partition, -units, self.now_ms);
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// How much the tables of a commit and their global indexes had left at one moment. A plain value: deciding
/// with it touches nothing that others share.
///
/// Of a partition key it is known how much is left if a write of the commit is at that key of the table, and
/// that nothing is left if the key is exhausted. Every other key of an index has room for one commit.
#[derive(Clone, Debug, Default)]
pub struct Headroom(Vec<Left>);

/// What is left of one resource.
#[derive(Clone, Debug)]
struct Left {
    table: Space,
    space: Space,
    units: f64,
    keys: Vec<(Partition, f64)>,
}

impl Headroom {
    /// Whether no table of the commit is throttled.
    pub fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the charges of one write from what is left, or says what has nothing left.
    pub fn take(
        &mut self,
        table: &Table,
        charges: impl Iterator<Item = (Target, f64)> + Clone,
    ) -> Result<(), Throttled> {
        if !self.0.iter().any(|left| left.table == table.space()) {
            return Ok(());
        }
        let refused = |(target, _): (Target, f64)| {
            let cause = self.left(table.space(), target.space)?.refusal(target.partition)?;
            Some(reason(table, Access::Write, target.space, cause))
        };
        let mut reasons: Vec<ThrottlingReason> = charges.clone().filter_map(refused).collect();
        if !reasons.is_empty() {
            // The table and its local indexes share a resource.
            reasons.dedup();
            return Err(Throttled(reasons));
        }
        for (target, units) in charges {
            if let Some(left) = self.left_mut(table.space(), target.space) {
                left.take(target.partition, units);
            }
        }
        Ok(())
    }

    fn note_table(&mut self, table: Space, admission: &Admission, now_ms: u64) {
        if self.0.iter().any(|left| left.table == table) {
            return;
        }
        for (space, resource) in &admission.resources {
            let mut meter = resource.write.lock();
            let keys = meter.exhausted(now_ms).iter().map(|partition| (*partition, 0.0)).collect();
            self.0.push(Left { table, space: *space, units: meter.bucket.left(now_ms), keys });
        }
    }

    /// The first note of a key stands: later ones see what this commit already holds.
    fn note_key(&mut self, table: Space, space: Space, partition: Partition, units: f64) {
        if let Some(left) = self.left_mut(table, space)
            && !left.keys.iter().any(|(known, _)| *known == partition)
        {
            left.keys.push((partition, units));
        }
    }

    /// As [`Admission::resource`]: what is no global index uses the table's own, which is its first.
    fn left(&self, table: Space, space: Space) -> Option<&Left> {
        let mut of_table = self.0.iter().filter(|left| left.table == table);
        let own = of_table.next()?;
        Some(of_table.find(|left| left.space == space).unwrap_or(own))
    }

    fn left_mut(&mut self, table: Space, space: Space) -> Option<&mut Left> {
        let mut of_table = self.0.iter_mut().filter(|left| left.table == table);
        let own = of_table.next()?;
        Some(of_table.find(|left| left.space == space).unwrap_or(own))
    }
}

impl Left {
    fn refusal(&self, partition: Option<Partition>) -> Option<ThrottlingCause> {
        let known = self.keys.iter().find(|(known, _)| Some(*known) == partition);
        refusal(self.units, known.map(|(_, units)| *units))
    }

    fn take(&mut self, partition: Option<Partition>, units: f64) {
        self.units -= units;
        if let Some((_, left)) = self.keys.iter_mut().find(|(known, _)| Some(*known) == partition) {
            *left -= units;
        }
    }
}
