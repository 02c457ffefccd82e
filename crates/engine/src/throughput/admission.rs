//! Admission: whether a table has throughput left for a request, and what the request takes of it.
//!
//! Each table has a [`Meter`] around the model of the `capacity` crate. What a request meets depends on
//! `--capacity`:
//!
//! - `off`: nothing is asked and nothing is counted.
//! - `shadow`: every request is served. What it used is charged when it is done, and the model says then whether
//!   AWS would have refused it.
//! - `declared` and `aws`: a request is admitted while something is left and pays what it really cost.
//!   **A read** is admitted ([`AdmittedRead`]) and then charged. **A write** costs what only its decision finds
//!   out, and the decision must not touch what others share. So a [`Reservation`] is made before: it holds the
//!   least that the writes can cost and notes how much is left ([`Headroom`]). The decision reads the headroom.
//!   After the commit the reservation is settled with the real cost; one that is dropped gives back what it held.
//!
//! Whatever is charged or refused is reported to [`crate::throughput::usage`]. The error names each table or index that
//! refused the request.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use api::Operation;
use capacity::{
    Access, Billing, Decision, Enforcement, Learned, Part, Place, Rate, Reason, Settings, Throughput,
};
use item::ItemRef;
use parking_lot::Mutex;
use smallvec::SmallVec;
use store::{Key, Partition, Range, Space};

use super::counting::Figures;
use super::dimensions::Subject;
use super::heat::HeatMaps;
use super::insights::Contributors;
use super::shadow::Shadow;
use super::usage::{Now, PartUsed, Usage};
use crate::base::size::Size;
use crate::base::table::{self, BillingMode, Index, OnDemandMax, Table, WarmThroughput};

/// The parts of one write: its table's and those of the indexes that it changes.
pub type Parts = SmallVec<[Part; 4]>;

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

    fn part(&self, table: &Table, units: f64) -> Part {
        let place =
            table.global_index(self.space).map_or(Place::Table, |index| Place::Index(index.space().0));
        let high = |partition: Partition| u64::from_be_bytes(partition.0[..8].try_into().expect("8 bytes"));
        Part { place, key_hash: self.partition.map(high), units }
    }
}

/// The parts that a write with these charges has.
pub fn parts(table: &Table, charges: impl Iterator<Item = (Target, f64)>) -> Parts {
    charges.map(|(target, units)| target.part(table, units)).collect()
}

/// A refusal: the limits that were met, at least one, each with the ARN of the table or index that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    pub reasons: Vec<(Reason, String)>,
    /// Whether the table is on demand, which has errors of its own.
    pub is_on_demand: bool,
}

impl Throttled {
    /// The refusal of a table for these reasons.
    pub fn of(table: &Table, reasons: &[Reason]) -> Throttled {
        let arn = |reason: &Reason| {
            let index = index_at(table, reason.place);
            (*reason, index.map_or_else(|| table.arn(), |index| table.index_arn(index)))
        };
        let is_on_demand = table.billing.mode == BillingMode::OnDemand;
        Throttled { reasons: reasons.iter().map(arn).collect(), is_on_demand }
    }
}

fn index_at(table: &Table, place: Place) -> Option<&Index> {
    match place {
        Place::Table => None,
        Place::Index(number) => table.global_index(Space(number)),
    }
}

/// The throughput of a table and its global indexes. A table that is changed shares it with its successor.
pub struct Meter {
    throughput: Mutex<Throughput>,
    /// What is counted for metrics.
    pub figures: Arc<Figures>,
    /// When it was last noted what the table declares.
    pub sampled_minute: AtomicU64,
    /// What AWS would have throttled since the database was opened, if anything.
    pub shadow: Mutex<Option<Box<Shadow>>>,
    /// What the rules of Contributor Insights count.
    pub contributors: Mutex<Contributors>,
    /// Which key ranges were used when.
    pub heat: Mutex<HeatMaps>,
}

impl Meter {
    /// Of a table that is new, or was just loaded.
    pub fn new(table: &Table, usage: &Usage) -> Meter {
        let now_ms = usage.now().ms;
        let mut throughput = Throughput::new(usage.enforcement, table_settings(table), now_ms);
        throughput.share_among(usage.servers());
        let meter = Meter {
            throughput: Mutex::new(throughput),
            figures: usage.metrics.figures(&table.namespace, Subject::Table(&table.name)),
            sampled_minute: AtomicU64::new(0),
            shadow: Mutex::default(),
            contributors: Mutex::default(),
            heat: Mutex::default(),
        };
        meter.follow(table, now_ms);
        meter
    }

    /// Goes on with what the table is set to now.
    pub fn follow(&self, table: &Table, now_ms: u64) {
        self.contributors.lock().follow(table);
        self.heat.lock().follow(table);
        let mut throughput = self.throughput.lock();
        throughput.set_table(table_settings(table), now_ms);
        let gone: Vec<u64> =
            throughput.indexes().filter(|index| table.global_index(Space(*index)).is_none()).collect();
        gone.into_iter().for_each(|index| throughput.remove_index(index));
        for index in table.indexes.iter().filter(|index| index.is_global()) {
            throughput.set_index(index.space().0, index_settings(table, index), now_ms);
        }
    }

    /// Says how many servers share the limits.
    pub fn share_among(&self, servers: u32) {
        self.throughput.lock().share_among(servers);
    }

    /// Says how much is stored, for partitions split at 10 GB.
    pub fn set_sizes(&self, table: &Table, size: impl Fn(Space) -> Size) {
        let bytes = |space: Space| size(space).bytes as u64;
        let mut throughput = self.throughput.lock();
        throughput.set_bytes(Place::Table, bytes(table.space()));
        for index in table.indexes.iter().filter(|index| index.is_global()) {
            throughput.set_bytes(Place::Index(index.space().0), bytes(index.space()));
        }
    }

    /// What the table, or a global index, can take at once, and in how many partitions.
    pub fn warm(&self, index: Option<Space>) -> (Rate, usize) {
        let throughput = self.throughput.lock();
        let resource = throughput.resource(index.map_or(Place::Table, |space| Place::Index(space.0)));
        (resource.warm(), resource.partition_count())
    }

    /// What was learned from traffic, as rows: of the table and of each global index.
    pub fn learned(&self, table: &Table) -> Vec<(Space, Vec<u8>)> {
        let throughput = self.throughput.lock();
        let own = (table.space(), throughput.resource(Place::Table).learned().encode());
        let indexes = throughput
            .indexes()
            .map(|index| (Space(index), throughput.resource(Place::Index(index)).learned().encode()));
        std::iter::once(own).chain(indexes).collect()
    }

    /// Goes on with what was learned before the database was opened.
    pub fn resume(&self, table: &Table, learned: impl Fn(Space) -> Option<Learned>) {
        let mut throughput = self.throughput.lock();
        if let Some(own) = learned(table.space()) {
            throughput.resume(Place::Table, &own);
        }
        for index in throughput.indexes().collect::<Vec<u64>>() {
            if let Some(learned) = learned(Space(index)) {
                throughput.resume(Place::Index(index), &learned);
            }
        }
    }

    /// Whether an index has write throughput left for its back-fill.
    pub fn admits_back_fill(&self, index: Space, now_ms: u64) -> bool {
        let part = Part { place: Place::Index(index.0), key_hash: None, units: 0.0 };
        self.throughput.lock().check(Access::Write, &[part], now_ms) == Decision::Admitted
    }

    /// Charges an index for rows of its back-fill.
    pub fn charge_back_fill(&self, index: Space, units: f64, now_ms: u64) {
        let part = Part { place: Place::Index(index.0), key_hash: None, units };
        self.throughput.lock().charge(Access::Write, &[part], now_ms);
    }

    fn charge(&self, enforcement: Enforcement, access: Access, parts: &[Part], now_ms: u64) -> Decision {
        let mut throughput = self.throughput.lock();
        match enforcement {
            Enforcement::Shadow => throughput.request(access, parts, now_ms),
            Enforcement::Declared | Enforcement::Aws | Enforcement::Off => {
                throughput.charge(access, parts, now_ms);
                Decision::Admitted
            }
        }
    }
}

/// A table and its throughput.
pub struct MeteredTable {
    pub table: Table,
    /// The throughput that is left.
    pub meter: Arc<Meter>,
}

impl std::ops::Deref for MeteredTable {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

fn table_settings(table: &Table) -> Settings {
    let table::Billing { read_units, write_units, on_demand_max, warm, .. } = &table.billing;
    settings(table, Rate { read: *read_units, write: *write_units }, *on_demand_max, *warm)
}

fn index_settings(table: &Table, index: &Index) -> Settings {
    let table::Throughput { read_units, write_units, on_demand_max, warm, .. } =
        index.billing.unwrap_or_default();
    settings(table, Rate { read: read_units, write: write_units }, on_demand_max, warm)
}

fn settings(table: &Table, rate: Rate, maximum: OnDemandMax, warm: WarmThroughput) -> Settings {
    let units = |maximum: Option<i64>| maximum.and_then(|units| u64::try_from(units).ok());
    let billing = match table.billing.mode {
        BillingMode::Provisioned => Billing::Provisioned(rate),
        BillingMode::OnDemand => {
            Billing::OnDemand { max_read: units(maximum.read_units), max_write: units(maximum.write_units) }
        }
    };
    let is_provisioned = table.billing.mode == BillingMode::Provisioned;
    Settings {
        warm: Some(Rate { read: warm.read_units, write: warm.write_units }),
        isolates_keys: !(is_provisioned && table.stream.is_some()),
        ..Settings::new(billing)
    }
}

/// What a read is about to use, before its cost is known.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub operation: Operation,
    pub table: &'a MeteredTable,
    pub target: Target,
    /// Attributes that include the key, as far as the request named it.
    pub attributes: Option<ItemRef<'a>>,
}

impl Usage {
    /// Admits a read, or refuses it because nothing is left.
    pub fn admit_read<'a>(&'a self, reading: Reading<'a>) -> Result<AdmittedRead<'a>, Throttled> {
        if self.refuses() {
            let now = self.now();
            let parts = [reading.target.part(reading.table, 0.0)];
            let decision = reading.table.meter.throughput.lock().check(Access::Read, &parts, now.ms);
            if let Decision::Throttled(reasons) = decision {
                let throttled = Throttled::of(reading.table, &reasons);
                self.report(Use::of_reading(&reading, now), &parts, &reasons, true);
                return Err(throttled);
            }
        }
        Ok(AdmittedRead { usage: self, reading })
    }

    /// Makes the reservation for writes that are to be one commit, each with its table, its target there and
    /// the least that it can cost. It reads the clock and the meters once, before the commit is decided.
    pub fn reserve<'a>(
        &self,
        writes: impl IntoIterator<Item = (&'a MeteredTable, Target, f64)>,
    ) -> Reservation<'a> {
        let mut reservation = Reservation::default();
        if self.refuses() {
            reservation.now_ms = self.now().ms;
            for (table, target, units) in writes {
                reservation.hold(table, target.part(table, units));
            }
        }
        reservation
    }

    /// Charges a write, or anything that needs no admission, and reports it.
    pub fn charge(&self, use_of: Use<'_>, parts: &[Part]) {
        if self.is_off() {
            return;
        }
        let meter = &use_of.table.meter;
        let decision = meter.charge(self.enforcement, use_of.access, parts, use_of.now.ms);
        self.report(use_of, parts, decision.reasons(), false);
    }

    /// Reports that a write was refused by these limits.
    pub fn report_refusal(&self, use_of: Use<'_>, key: &Key, throttled: &Throttled) {
        let own = Target::of_key(key).part(use_of.table, 0.0);
        let reasons: Vec<Reason> = throttled.reasons.iter().map(|(reason, _)| *reason).collect();
        // The key of an index row that was not written is not known any more.
        let part = |reason: &Reason| match reason.place {
            Place::Table => own,
            place => Part { place, key_hash: None, units: 0.0 },
        };
        let parts: Parts = reasons.iter().map(part).collect();
        self.report(use_of, &parts, &reasons, true);
    }

    fn report(&self, use_of: Use<'_>, parts: &[Part], reasons: &[Reason], is_refused: bool) {
        let Use { operation, table, access, attributes, previous, now } = use_of;
        for part in parts {
            let limit = reasons.iter().find(|reason| reason.place == part.place).map(|reason| reason.cause);
            self.part(&PartUsed {
                table,
                index: index_at(table, part.place),
                operation,
                access,
                key_hash: part.key_hash,
                attributes,
                previous,
                units: part.units,
                limit,
                is_refused,
                now_ms: now.ms,
            });
        }
    }
}

/// Who uses throughput of what, and when.
#[derive(Clone, Copy)]
pub struct Use<'a> {
    /// None for what the engine does by itself.
    pub operation: Option<Operation>,
    pub table: &'a MeteredTable,
    pub access: Access,
    /// Attributes that include the key, as far as the request named it.
    pub attributes: Option<ItemRef<'a>>,
    /// The item as it was before a write.
    pub previous: Option<ItemRef<'a>>,
    pub now: Now,
}

impl<'a> Use<'a> {
    fn of_reading(reading: &Reading<'a>, now: Now) -> Use<'a> {
        let Reading { operation, table, attributes, .. } = *reading;
        Use { operation: Some(operation), table, access: Access::Read, attributes, previous: None, now }
    }
}

/// A read that was admitted. It is charged when its cost is known.
pub struct AdmittedRead<'a> {
    usage: &'a Usage,
    reading: Reading<'a>,
}

impl AdmittedRead<'_> {
    /// Takes what the read cost.
    pub fn charge(self, units: f64, now: Now) {
        let part = self.reading.target.part(self.reading.table, units);
        self.usage.charge(Use::of_reading(&self.reading, now), &[part]);
    }
}

/// Throughput that is kept for a commit until its cost is known. It holds no more than there is, so that
/// giving it back leaves everything as it was. It is empty where nothing is refused.
#[derive(Default)]
pub struct Reservation<'a> {
    headroom: Headroom,
    held: Vec<(&'a Meter, Part)>,
    now_ms: u64,
}

impl<'a> Reservation<'a> {
    fn hold(&mut self, table: &'a MeteredTable, part: Part) {
        let meter = &*table.meter;
        let mut throughput = meter.throughput.lock();
        let space = table.space();
        let position = self.headroom.0.iter().position(|(known, _)| *known == space).unwrap_or_else(|| {
            self.headroom.0.push((space, throughput.headroom(Access::Write, self.now_ms)));
            self.headroom.0.len() - 1
        });
        let of_table = self.held.iter().filter(|(held, _)| std::ptr::eq(*held, meter));
        let held_units: f64 = of_table.map(|(_, part)| part.units).sum();
        let units = part.units.min(self.headroom.0[position].1.units(&part) - held_units);
        if units > 0.0 {
            let part = Part { units, ..part };
            throughput.charge(Access::Write, &[part], self.now_ms);
            self.held.push((meter, part));
        }
    }

    /// How much was left when the reservation was made.
    pub fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    /// Gives back what was held, for the real cost to be charged.
    pub fn settle(self) {}
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        for (meter, part) in self.held.drain(..) {
            let part = Part { units: -part.units, ..part };
            meter.throughput.lock().charge(Access::Write, &[part], self.now_ms);
        }
    }
}

/// How much the tables of a commit had left at one moment. A plain value: deciding with it touches nothing that
/// others share.
#[derive(Clone, Debug, Default)]
pub struct Headroom(Vec<(Space, capacity::Headroom)>);

impl Headroom {
    /// Whether nothing is refused.
    pub fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the charges of one write from what is left, or says what has nothing left.
    pub fn take(
        &mut self,
        table: &Table,
        charges: impl Iterator<Item = (Target, f64)>,
    ) -> Result<(), Throttled> {
        let Some((_, headroom)) = self.0.iter_mut().find(|(space, _)| *space == table.space()) else {
            return Ok(());
        };
        headroom.take(&parts(table, charges)).map_err(|reasons| Throttled::of(table, &reasons))
    }
}
