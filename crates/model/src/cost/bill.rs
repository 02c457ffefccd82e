//! One way to pay for everything: its lines, and their sum.

use serde::{Serialize, Serializer};

use super::line::{Line, sum};
use super::provisioned::Supply;
use super::reserved::{Reservation, reservation};
use super::storage::Stored;
use super::{on_demand, replica};
use crate::Model;
use crate::cache;
use crate::copies::CopyTrigger;
use crate::demand::{self, UnitKind, Usage};
use crate::facts::{ClassPrices, DaxNode, Facts, Region, Replicated, ReservationTerm};
use crate::model::{Pattern, TableClass, TableId};
use crate::predict::typical::Footprints;

/// How throughput is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    OnDemand,
    Provisioned,
    ReservedOneYear,
    ReservedThreeYears,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::OnDemand => "on demand",
            Mode::Provisioned => "provisioned",
            Mode::ReservedOneYear => "reserved for 1 year",
            Mode::ReservedThreeYears => "reserved for 3 years",
        }
    }

    fn term(self, region: &Region) -> Option<ReservationTerm> {
        let reserved = region.reserved?;
        match self {
            Mode::ReservedOneYear => Some(reserved.one_year),
            Mode::ReservedThreeYears => Some(reserved.three_years),
            Mode::OnDemand | Mode::Provisioned => None,
        }
    }

    fn is_reserved(self) -> bool {
        matches!(self, Mode::ReservedOneYear | Mode::ReservedThreeYears)
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

pub fn class_name(class: TableClass) -> &'static str {
    match class {
        TableClass::Standard => "Standard",
        TableClass::InfrequentAccess => "Standard-IA",
    }
}

/// The lines of one way to pay.
#[derive(Clone, Debug, Default)]
pub struct Bill {
    pub throughput: Vec<Line>,
    pub storage: Vec<Line>,
    /// Recovery, streams and replicas.
    pub other: Vec<Line>,
    pub reservations: Vec<Reservation>,
    /// Prices that the facts lack. The sum is too low by what they would add.
    pub missing: Vec<String>,
}

impl Bill {
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.throughput.iter().chain(&self.storage).chain(&self.other)
    }

    /// The sum of all lines: too low if a price is missing.
    pub fn known(&self) -> f64 {
        sum(self.lines())
    }

    /// `None` if a price is missing.
    pub fn total(&self) -> Option<f64> {
        self.missing.is_empty().then(|| self.known())
    }

    fn lacks(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }
}

impl Serialize for Bill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'b> {
            /// Null if a price is missing; `known` is then the sum of the others.
            total: Option<f64>,
            known: f64,
            throughput: &'b [Line],
            storage: &'b [Line],
            other: &'b [Line],
            missing: &'b [String],
        }
        let Bill { throughput, storage, other, missing, .. } = self;
        Shown { total: self.total(), known: self.known(), throughput, storage, other, missing }
            .serialize(serializer)
    }
}

/// Everything that a bill is calculated from.
pub struct Basis<'b> {
    pub model: &'b Model,
    pub facts: &'b Facts,
    pub region_name: &'b str,
    pub region: &'b Region,
    pub uses: &'b [Usage],
    pub supplies: &'b [Supply],
    pub stored: &'b [Stored],
    pub copy_triggers: &'b [CopyTrigger],
    pub footprints: &'b Footprints,
    pub stream_readers: u64,
}

/// The bill if each table is paid for as `way` says.
pub fn bill(basis: &Basis<'_>, way: impl Fn(TableId) -> (Mode, TableClass)) -> Bill {
    let mut bill = Bill::default();
    for table in basis.model.table_ids() {
        let (mode, class) = way(table);
        let Some(prices) = prices(basis.region, class) else {
            bill.lacks(format!("{} in {}", class_name(class), basis.region_name));
            continue;
        };
        let replicated = replicated(basis, table, &mut bill);
        match mode {
            Mode::OnDemand => bill.throughput.extend(requests(basis, table, prices, replicated)),
            _ => bill.throughput.extend(capacity(basis, table, mode, prices, replicated)),
        }
        let stored = basis.stored.iter().filter(|stored| stored.resource.0 == table);
        bill.storage.extend(stored.map(|stored| stored.line(basis.facts, prices.storage_gb_month)));
        recovery(basis, table, &mut bill);
        streams(basis, table, &mut bill);
        functions(basis, table, &mut bill);
        replica::lines(basis, table, mode, class, &mut bill.other, &mut bill.missing);
    }
    reserve(basis, way, &mut bill);
    cache_nodes(basis, &mut bill);
    bill
}

/// The nodes of a cache, if a pattern counts on one.
fn cache_nodes(basis: &Basis<'_>, bill: &mut Bill) {
    let is_cached = |pattern: &Pattern| pattern.rate.is_some() && cache::declared(pattern).is_some();
    if !basis.model.patterns.iter().any(is_cached) {
        return;
    }
    match &basis.region.dax {
        Some(node) => bill.other.push(cache_line(basis.facts, node)),
        None => bill.lacks(format!("DAX nodes in {}", basis.region_name)),
    }
}

/// The smallest cluster for a month.
pub fn cache_line(facts: &Facts, node: &DaxNode) -> Line {
    Line::new(format!("DAX on {}", node.node_type))
        .times(node.nodes, "nodes")
        .times(facts.month_hours, "h")
        .times(node.hour, "$")
}

pub fn prices(region: &Region, class: TableClass) -> Option<&ClassPrices> {
    match class {
        TableClass::Standard => Some(&region.standard),
        TableClass::InfrequentAccess => region.infrequent_access.as_ref(),
    }
}

/// The prices of replicated writes, if the table has replicas.
fn replicated<'b>(basis: &Basis<'b>, table: TableId, bill: &mut Bill) -> Option<&'b Replicated> {
    if basis.model.table(table).replicas.is_empty() {
        return None;
    }
    if basis.region.replicated.is_none() {
        bill.lacks(format!("replicated writes in {}", basis.region_name));
    }
    basis.region.replicated.as_ref()
}

fn requests(
    basis: &Basis<'_>,
    table: TableId,
    prices: &ClassPrices,
    replicated: Option<&Replicated>,
) -> Vec<Line> {
    let uses = basis.uses.iter().filter(|one| one.resource.0 == table);
    uses.map(|one| on_demand::line(basis.model, basis.facts, one, prices, replicated)).collect()
}

/// Capacity that can be reserved is left to [`reserve`].
fn capacity(
    basis: &Basis<'_>,
    table: TableId,
    mode: Mode,
    prices: &ClassPrices,
    replicated: Option<&Replicated>,
) -> Vec<Line> {
    let supplies = basis.supplies.iter().filter(|supply| supply.resource.0 == table);
    supplies
        .filter(|supply| !(mode.is_reserved() && can_be_reserved(basis.model, supply)))
        .map(|supply| supply.line(basis.facts, prices, replicated))
        .collect()
}

fn can_be_reserved(model: &Model, supply: &Supply) -> bool {
    let is_global_table = !model.table(supply.resource.0).replicas.is_empty();
    !(is_global_table && on_demand::is_replicated(supply.resource, supply.kind))
}

/// Reservations cover all tables of the Region together.
fn reserve(basis: &Basis<'_>, way: impl Fn(TableId) -> (Mode, TableClass), bill: &mut Bill) {
    let modes = [Mode::ReservedOneYear, Mode::ReservedThreeYears];
    for mode in modes.into_iter().filter(|mode| basis.model.table_ids().any(|table| way(table).0 == *mode)) {
        let Some(term) = mode.term(basis.region) else {
            bill.lacks(format!("reserved capacity in {}", basis.region_name));
            continue;
        };
        let supplies: Vec<&Supply> = basis
            .supplies
            .iter()
            .filter(|supply| way(supply.resource.0).0 == mode && can_be_reserved(basis.model, supply))
            .collect();
        for kind in [UnitKind::Read, UnitKind::Write] {
            let reserved = reservation(&supplies, kind, &term, &basis.region.standard, basis.facts);
            bill.throughput.extend(reserved.lines.iter().cloned());
            bill.reservations.push(reserved);
        }
    }
}

/// Bytes of the table and its local indexes, which is what backups contain.
fn backed_up_bytes(basis: &Basis<'_>, table: TableId) -> f64 {
    let stored = basis.stored.iter().filter(|stored| stored.resource == (table, None));
    stored.map(Stored::total_bytes).sum()
}

/// Storage for recovery or a backup, priced by the gigabyte.
pub fn recovery_line(basis: &Basis<'_>, table: TableId, what: &str, gb: f64) -> Line {
    let name = &basis.model.table(table).name.value;
    Line::new(format!("{what} of {name}"))
        .times(backed_up_bytes(basis, table), "B")
        .over(basis.facts.gigabyte_bytes, "B")
        .times(gb, "$ per GB")
}

fn recovery(basis: &Basis<'_>, table: TableId, bill: &mut Bill) {
    if !basis.model.table(table).pitr.as_ref().is_some_and(|pitr| pitr.value) {
        return;
    }
    match basis.region.pitr_gb_month {
        Some(price) => bill.other.push(recovery_line(basis, table, "point-in-time recovery", price)),
        None => bill.lacks(format!("point-in-time recovery in {}", basis.region_name)),
    }
}

/// Readers that are not Lambda functions (those read for free). Each reads each shard once per second.
fn streams(basis: &Basis<'_>, table: TableId, bill: &mut Bill) {
    if basis.model.table(table).stream.is_none() || basis.stream_readers == 0 {
        return;
    }
    let Some(price) = basis.region.stream_read_100k else {
        bill.lacks(format!("streams in {}", basis.region_name));
        return;
    };
    let line = Line::new(format!("stream of {}", basis.model.table(table).name.value))
        .times(basis.stream_readers as f64, "readers")
        .times(partitions(basis, table), "shards")
        .times(basis.facts.month_seconds(), "s")
        .times(1.0, "requests/s")
        .times(price, "$")
        .over(100_000.0, "");
    bill.other.push(line);
}

/// A function that keeps copies up to date is invoked at most once for each change of an original.
fn functions(basis: &Basis<'_>, table: TableId, bill: &mut Bill) {
    let is_origin = |one: &&CopyTrigger| basis.model.entity(one.origin).table == table;
    for one in basis.copy_triggers.iter().filter(is_origin) {
        let origin = &basis.model.entity(one.origin).name.value;
        let Some(price) = basis.region.function_million else {
            bill.lacks(format!("function invocations in {}", basis.region_name));
            return;
        };
        let line = Line::new(format!("invocations of the function that copies {origin}, at most"))
            .times(one.per_second, "changes/s")
            .times(basis.facts.month_seconds(), "s")
            .times(price, "$")
            .over(1e6, "");
        bill.other.push(line);
    }
}

/// A stream has one shard per partition: as many as throughput and 10 GB each require.
fn partitions(basis: &Basis<'_>, table: TableId) -> f64 {
    let limits = &basis.facts.limits;
    let peak = |kind| demand::demand(basis.uses, (table, None), kind).peak();
    let by_throughput = peak(UnitKind::Write) / limits.partition_write_units
        + peak(UnitKind::Read) / limits.partition_read_units;
    let by_size = backed_up_bytes(basis, table) / limits.collection_bytes;
    by_throughput.max(by_size).ceil().max(1.0)
}
