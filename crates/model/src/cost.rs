//! What a model costs each month: the units of every pattern, priced on demand, provisioned with auto scaling,
//! and reserved; storage; and everything else that is billed.
//!
//! Every amount is a [`Line`]: factors and their product, so that a person can check it. A way to pay is a
//! [`Bill`] of lines. Prices come from [`Facts`]; the bill names a price that is not known as missing.

mod bill;
mod line;
mod on_demand;
mod prices;
pub(crate) mod provisioned;
mod replica;
mod reserved;
pub mod scaling;
mod storage;

use serde::Serialize;

use crate::Model;
use crate::cache;
use crate::copies;
use crate::facts::{Certainty, ClassPrices, Facts, Region};
use crate::model::{Billing, IndexId, Pattern, TableClass, TableId};
use crate::plan::Plan;
use crate::predict::typical::Footprints;

pub(crate) use bill::cache_line;
pub use bill::{Bill, Mode, class_name};
pub use line::{Factor, Line, dollars, number, sum};
pub use prices::Prices;
pub use provisioned::Supply;
pub use reserved::Reservation;

use crate::demand::{self, UnitKind, Usage};
use bill::{Basis, bill, recovery_line};
use storage::Stored;

/// How long DAX keeps an answer by default.
pub const CACHE_TTL_SECONDS: f64 = 300.0;
/// Less than a dollar a month is not worth a line.
const SAVING_MIN: f64 = 1.0;

/// The Region of a model that names none.
pub const DEFAULT_REGION: &str = "us-east-1";

/// What to calculate with in addition to the file.
#[derive(Clone, Debug, Default)]
pub struct CostSettings {
    /// Replaces the Region of the file.
    pub region: Option<String>,
    /// Readers of streams that are not Lambda functions.
    pub stream_readers: u64,
}

/// There are no prices for the Region.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownRegion {
    pub region: String,
    pub known: Vec<String>,
}

/// Everything that `lodestone model cost` shows.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    pub region: String,
    pub currency: String,
    /// Where the prices come from, and their date.
    pub prices: String,
    pub month_hours: f64,
    pub gigabyte_bytes: f64,
    /// Sorted by their cost on demand, the most expensive first.
    pub patterns: Vec<PatternCost>,
    pub indexes: Vec<IndexCost>,
    pub tables: Vec<TableCost>,
    pub capacity: Vec<Supply>,
    /// The bill as the file declares it; then one for every way that has prices.
    pub declared: Bill,
    pub ways: Vec<WayToPay>,
    pub break_even: BreakEven,
    /// What a cache would save, the most first.
    pub cache_savings: Vec<CacheSaving>,
    /// Services that could be added; they are in no sum.
    pub optional: Vec<Line>,
    /// What can be asked for in the Region, and no price is known of: such ways to pay are not compared.
    pub unknown: Vec<&'static str>,
    pub notes: Vec<String>,
}

/// A way to pay: capacity mode and table class, with its bill.
#[derive(Clone, Debug, Serialize)]
pub struct WayToPay {
    pub mode: Mode,
    pub class: &'static str,
    #[serde(flatten)]
    pub bill: Bill,
}

/// One pattern, on demand in the class its table has.
#[derive(Clone, Debug, Serialize)]
pub struct PatternCost {
    pub pattern: String,
    pub operation: String,
    /// Executions per second, over the day and in the busiest hour.
    pub rate: f64,
    pub peak: f64,
    /// Units of one execution.
    pub read_units: f64,
    pub write_units: f64,
    pub monthly: f64,
    /// The share of all requests.
    pub share: f64,
}

/// What a cache would save of a pattern that is not cached, on demand.
#[derive(Clone, Debug, Serialize)]
pub struct CacheSaving {
    pub pattern: String,
    /// The share of its reads that the cache would answer, and what they cost now.
    pub hit_share: f64,
    pub monthly: f64,
}

/// What an index adds, on demand.
#[derive(Clone, Debug, Serialize)]
pub struct IndexCost {
    pub table: String,
    pub index: String,
    /// Units per second that writes to the table cause in the index, and per unit of the table.
    pub write_units: f64,
    pub amplification: f64,
    pub bytes: f64,
    pub monthly: f64,
}

/// The storage of one table, and how its writes multiply.
#[derive(Clone, Debug, Serialize)]
pub struct TableCost {
    pub table: String,
    /// With all indexes.
    pub bytes: f64,
    pub bytes_per_month: f64,
    /// Units written for each unit of the table itself.
    pub amplification: f64,
}

/// The utilisation from which provisioned capacity costs no more than on demand, and the actual utilisation.
#[derive(Clone, Debug, Serialize)]
pub struct BreakEven {
    pub write: f64,
    pub read: f64,
    pub write_used: Option<f64>,
    pub read_used: Option<f64>,
    /// How the two break-even shares are calculated.
    pub arithmetic: [String; 2],
}

/// `plans` are those of the model's patterns, in order.
pub fn cost(
    model: &Model,
    plans: &[Plan],
    facts: &Facts,
    settings: &CostSettings,
) -> Result<Cost, UnknownRegion> {
    let Prices { region_name, region, .. } = Prices::of(model, facts, settings.region.as_deref())?;
    let footprints = Footprints::new(model);
    let uses = demand::uses(model, plans, &footprints);
    let supplies = provisioned::supplies(model, &uses);
    let stored = storage::stored(model, &footprints, &facts.limits);
    let copy_triggers = copies::triggers(model);
    let basis = Basis {
        model,
        facts,
        region_name: &region_name,
        region,
        uses: &uses,
        supplies: &supplies,
        stored: &stored,
        copy_triggers: &copy_triggers,
        footprints: &footprints,
        stream_readers: settings.stream_readers,
    };
    Ok(Cost {
        currency: facts.currency.clone(),
        prices: provenance(region, facts),
        month_hours: facts.month_hours,
        gigabyte_bytes: facts.gigabyte_bytes,
        patterns: patterns(&basis, plans),
        indexes: indexes(&basis),
        tables: model.table_ids().map(|table| table_cost(&basis, table)).collect(),
        declared: bill(&basis, |table| declared(model, table)),
        ways: ways(&basis),
        break_even: break_even(&region.standard, &supplies),
        optional: optional(&basis),
        unknown: region.unknown(),
        notes: notes(model, facts, region),
        cache_savings: cache_savings(&basis),
        capacity: supplies.clone(),
        region: region_name.clone(),
    })
}

impl Cost {
    /// The cheapest way to pay of those whose prices are all known.
    pub fn cheapest(&self) -> Option<&WayToPay> {
        let priced = self.ways.iter().filter_map(|way| Some((way, way.bill.total()?)));
        priced.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(way, _)| way)
    }
}

/// A model on demand, each table in its class.
pub struct OnDemand {
    pub reads: f64,
    pub writes: f64,
    pub storage: f64,
    pub other: f64,
    /// Prices that the facts lack.
    pub missing: Vec<String>,
}

/// The same as the bill of [`cost`] on demand, in its parts.
pub fn on_demand(model: &Model, plans: &[Plan], facts: &Facts) -> Result<OnDemand, UnknownRegion> {
    let Prices { region_name, region, .. } = Prices::of(model, facts, None)?;
    let footprints = Footprints::new(model);
    let basis = Basis {
        model,
        facts,
        region_name: &region_name,
        region,
        uses: &demand::uses(model, plans, &footprints),
        supplies: &[],
        stored: &storage::stored(model, &footprints, &facts.limits),
        copy_triggers: &copies::triggers(model),
        footprints: &footprints,
        stream_readers: 0,
    };
    let bill = bill(&basis, |table| (Mode::OnDemand, model.table(table).class));
    let throughput = sum(&bill.throughput);
    let reads = basis.uses.iter().filter(|one| one.kind == UnitKind::Read);
    let reads = reads.map(|one| on_demand_price(&basis, one)).sum::<f64>().min(throughput);
    Ok(OnDemand {
        reads,
        writes: throughput - reads,
        storage: sum(&bill.storage),
        other: sum(&bill.other),
        missing: bill.missing,
    })
}

fn provenance(region: &Region, facts: &Facts) -> String {
    let certainty = match region.certainty {
        Certainty::Published => "published",
        Certainty::Derived => "derived",
    };
    let sources: Vec<&str> =
        region.sources.iter().filter_map(|source| facts.sources.get(source)).map(String::as_str).collect();
    format!("{certainty}, as of {}; facts of {}; {}", region.as_of, facts.date, sources.join(", "))
}

fn declared(model: &Model, table: TableId) -> (Mode, TableClass) {
    let table = model.table(table);
    let mode = match table.billing.value {
        Billing::OnDemand => Mode::OnDemand,
        Billing::Provisioned => Mode::Provisioned,
    };
    (mode, table.class)
}

/// Each mode in each class that the Region has prices for.
fn ways(basis: &Basis<'_>) -> Vec<WayToPay> {
    let standard = [Mode::OnDemand, Mode::Provisioned, Mode::ReservedOneYear, Mode::ReservedThreeYears];
    let infrequent = [Mode::OnDemand, Mode::Provisioned];
    let all = standard
        .map(|mode| (mode, TableClass::Standard))
        .into_iter()
        .chain(infrequent.map(|mode| (mode, TableClass::InfrequentAccess)));
    let offered = |(mode, class): &(Mode, TableClass)| match (mode, class) {
        (_, TableClass::InfrequentAccess) => basis.region.infrequent_access.is_some(),
        (Mode::ReservedOneYear | Mode::ReservedThreeYears, _) => basis.region.reserved.is_some(),
        _ => true,
    };
    all.filter(offered)
        .map(|(mode, class)| WayToPay {
            mode,
            class: class_name(class),
            bill: bill(basis, |_| (mode, class)),
        })
        .collect()
}

/// What a pattern's requests or an index's rows cost, on demand in the class of their table.
fn on_demand_price(basis: &Basis<'_>, one: &Usage) -> f64 {
    let table = basis.model.table(one.resource.0);
    // `missing` of the bill says so if the class has no prices of its own.
    let prices = bill::prices(basis.region, table.class).unwrap_or(&basis.region.standard);
    let replicated = basis.region.replicated.as_ref().filter(|_| !table.replicas.is_empty());
    on_demand::line(basis.model, basis.facts, one, prices, replicated).amount()
}

fn patterns(basis: &Basis<'_>, plans: &[Plan]) -> Vec<PatternCost> {
    let total: f64 = basis.uses.iter().map(|one| on_demand_price(basis, one)).sum();
    let of = |(position, plan): (usize, &Plan)| {
        let pattern = &basis.model.patterns[position];
        let rate = pattern.rate.as_ref().filter(|_| pattern.external.is_none())?;
        let uses: Vec<&Usage> = basis.uses.iter().filter(|one| one.pattern == position).collect();
        let units =
            |kind| uses.iter().filter(|one| one.kind == kind).map(|one| one.units_per_execution()).sum();
        let monthly: f64 = uses.iter().map(|one| on_demand_price(basis, one)).sum();
        Some(PatternCost {
            pattern: pattern.id.value.clone(),
            operation: plan.operation().to_owned(),
            rate: rate.average,
            peak: rate.peak(),
            read_units: units(UnitKind::Read),
            write_units: units(UnitKind::Write),
            monthly,
            share: if total > 0.0 { monthly / total } else { 0.0 },
        })
    };
    let mut patterns: Vec<PatternCost> = plans.iter().enumerate().filter_map(of).collect();
    patterns.sort_by(|one, other| other.monthly.total_cmp(&one.monthly));
    patterns
}

/// For DAX with its default TTL, of the patterns whose rates and counts are declared.
fn cache_savings(basis: &Basis<'_>) -> Vec<CacheSaving> {
    let of = |(position, pattern): (usize, &Pattern)| {
        if cache::declared(pattern).is_some() {
            return None;
        }
        let hit_share = cache::expected_hit_share(basis.model, pattern, CACHE_TTL_SECONDS)?;
        let reads = basis.uses.iter().filter(|one| one.pattern == position && one.kind == UnitKind::Read);
        let monthly: f64 = reads.map(|one| on_demand_price(basis, one)).sum::<f64>() * hit_share;
        let pattern = pattern.id.value.clone();
        (monthly >= SAVING_MIN).then_some(CacheSaving { pattern, hit_share, monthly })
    };
    let mut savings: Vec<CacheSaving> = basis.model.patterns.iter().enumerate().filter_map(of).collect();
    savings.sort_by(|one, other| other.monthly.total_cmp(&one.monthly));
    savings
}

fn indexes(basis: &Basis<'_>) -> Vec<IndexCost> {
    let resources = demand::resources(basis.model).into_iter();
    resources.filter_map(|(table, index)| Some(index_cost(basis, table, index?))).collect()
}

fn index_cost(basis: &Basis<'_>, table: TableId, index: IndexId) -> IndexCost {
    let resource = (table, Some(index));
    let writes = |resource| demand::demand(basis.uses, resource, UnitKind::Write).average();
    let rows: Vec<&Stored> = basis.stored.iter().filter(|stored| stored.resource == resource).collect();
    let prices = bill::prices(basis.region, basis.model.table(table).class);
    let gb_month = prices.unwrap_or(&basis.region.standard).storage_gb_month;
    let written = basis.uses.iter().filter(|one| one.resource == resource && one.kind == UnitKind::Write);
    let requests: f64 = written.map(|one| on_demand_price(basis, one)).sum();
    let storage: f64 = rows.iter().map(|stored| stored.line(basis.facts, gb_month).amount()).sum();
    IndexCost {
        table: basis.model.table(table).name.value.clone(),
        index: basis.model.table(table).index(index).name.value.clone(),
        write_units: writes(resource),
        amplification: ratio(writes(resource), writes((table, None))),
        bytes: rows.iter().map(|stored| stored.total_bytes()).sum(),
        monthly: requests + storage,
    }
}

fn table_cost(basis: &Basis<'_>, table: TableId) -> TableCost {
    let stored: Vec<&Stored> = basis.stored.iter().filter(|stored| stored.resource.0 == table).collect();
    let resources = demand::resources(basis.model);
    let here = resources.iter().filter(|resource| resource.0 == table);
    let written: f64 =
        here.map(|resource| demand::demand(basis.uses, *resource, UnitKind::Write).average()).sum();
    let own = demand::demand(basis.uses, (table, None), UnitKind::Write).average();
    let growth = |stored: &&Stored| stored.new_items_per_second * stored.bytes;
    TableCost {
        table: basis.model.table(table).name.value.clone(),
        bytes: stored.iter().map(|stored| stored.total_bytes()).sum(),
        bytes_per_month: stored.iter().map(growth).sum::<f64>() * basis.facts.month_seconds(),
        amplification: ratio(written, own),
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn break_even(prices: &ClassPrices, supplies: &[Supply]) -> BreakEven {
    let used = |kind| {
        let of_kind = || supplies.iter().filter(move |supply| supply.kind == kind && supply.average > 0.0);
        let asked: f64 = of_kind().map(|supply| supply.average * 24.0).sum();
        let there: f64 = of_kind().map(|supply| supply.provisioned.unit_hours() as f64).sum();
        (there > 0.0).then(|| asked / there)
    };
    BreakEven {
        write: prices.write_break_even(),
        read: prices.read_break_even(),
        write_used: used(UnitKind::Write),
        read_used: used(UnitKind::Read),
        arithmetic: [
            relation("a WCU-hour", prices.write_unit_hour, prices.write_million, prices.write_break_even()),
            relation("an RCU-hour", prices.read_unit_hour, prices.read_million, prices.read_break_even()),
        ],
    }
}

/// The price of one unit for an hour, compared with using it every second of that hour on demand.
fn relation(what: &str, unit_hour: f64, million: f64, share: f64) -> String {
    let (unit_hour, million, share) = (number(unit_hour), number(million), number(share * 100.0));
    format!("{what}: ${unit_hour} ÷ (3,600 s × ${million} ÷ 1,000,000) = {share} %")
}

/// Recovery where the file has none, a full backup, and restoring it.
fn optional(basis: &Basis<'_>) -> Vec<Line> {
    let of = |table: TableId| {
        let has_pitr = basis.model.table(table).pitr.as_ref().is_some_and(|pitr| pitr.value);
        let prices = [
            ("point-in-time recovery", basis.region.pitr_gb_month.filter(|_| !has_pitr)),
            ("a full backup, for a month,", basis.region.backup_gb_month),
            ("a restore", basis.region.restore_gb),
        ];
        prices.into_iter().filter_map(move |(what, price)| Some(recovery_line(basis, table, what, price?)))
    };
    let lines = basis.model.table_ids().flat_map(of);
    let has_cache = basis.model.patterns.iter().any(|pattern| cache::declared(pattern).is_some());
    let cache = basis.region.dax.as_ref().filter(|_| !has_cache);
    lines.chain(cache.map(|node| cache_line(basis.facts, node))).collect()
}

fn notes(model: &Model, facts: &Facts, region: &Region) -> Vec<String> {
    let mut notes: Vec<String> = facts.notes.clone();
    notes.extend(region.note.clone());
    let unrated =
        model.patterns.iter().filter(|pattern| pattern.rate.is_none() && pattern.external.is_none());
    notes
        .extend(listed("Patterns without a rate, which cost nothing here", unrated.map(|one| &one.id.value)));
    let uncounted = model.entity_ids().filter(|id| model.items(*id).is_none());
    let names = uncounted.map(|id| &model.entity(id).name.value);
    notes.extend(listed("Entities without a count, which take no storage here", names));
    let derived = model.entity_ids().filter(|id| {
        let entity = model.entity(*id);
        entity.growth.is_none() && entity.expires.is_none() && demand::new_items_per_second(model, *id) > 0.0
    });
    let names = derived.map(|id| &model.entity(id).name.value);
    notes.extend(listed("Growth follows from the rates of `create` and `delete`, for", names));
    notes.push("Conditions that fail are paid for in the table, not in its indexes.".to_owned());
    notes.push(
        "Streams read by Lambda functions cost nothing; other readers are counted if asked for.".to_owned(),
    );
    if !copies::triggers(model).is_empty() {
        notes.push(
            "A function that keeps copies is counted with one invocation for each change, without its duration and \
             without what it reads to find the copies."
                .to_owned(),
        );
    }
    notes
}

fn listed<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Option<String> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}
