//! What cools a hot key, and what each way costs by the month. R11, `heat` and `design` take their advice from here.
//!
//! Shards divide writes, but a read asks each of them for at least as much as its limit. A cache and copies divide
//! reads alone. Which is best is a matter of prices.

use serde::Serialize;

use super::key_load::{asked_of_each_shard, is_global};
use super::{Contribution, Heat, KeyHeat};
use crate::Model;
use crate::cache;
use crate::cost::{Prices, cache_line, dollars, number};
use crate::demand::{self, Portion};
use crate::facts::{ClassPrices, Facts};
use crate::model::{Action, ActionKind, IndexId, Pattern, Read};
use crate::plan::{ActionPlan, Plan, ReadOperation, ReadPlan};
use crate::predict::typical::Footprints;

/// No cache answers more than this of what it is asked.
const HIT_MAX: f64 = 0.99;
/// A read is charged by this many bytes, so a page should fill them.
const READ_UNIT_BYTES: f64 = 4_096.0;
/// An excess this small is rounding of floating point.
const ROUNDING: f64 = 1.0 + 1e-9;

/// One way to cool a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cure {
    #[serde(flatten)]
    pub way: CureWay,
    /// Whether the key then has no more than a key should have.
    pub cures: bool,
    /// What it adds to a month on demand; below zero if it saves. `None` if a price is not known.
    pub monthly: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum CureWay {
    /// The key is spread over this many keys.
    Shards { count: u64 },
    /// A cache answers this share of the reads.
    Cache { hit: f64 },
    /// This many copies of what is read most. Each is written as often, which takes more write units.
    Copies { count: u64, write_units: f64 },
    /// Pages that are cheaper by the item.
    Page { limit: u64, instead_of: u64 },
}

/// Weighs the ways for the keys of one model.
pub struct Cures<'m> {
    model: &'m Model,
    plans: &'m [Plan],
    facts: &'m Facts,
    headroom: f64,
    footprints: Footprints,
    prices: Option<Prices<'m>>,
}

/// A read that adds to the load of a key.
struct ReadHere<'m> {
    pattern: &'m Pattern,
    action: &'m Action,
    read: &'m Read,
    plan: &'m ReadPlan,
    /// Units a second on the key, at the peak.
    peak: f64,
}

impl<'m> Cures<'m> {
    pub fn new(model: &'m Model, plans: &'m [Plan], facts: &'m Facts, headroom: f64) -> Cures<'m> {
        let prices = Prices::of(model, facts, None).ok();
        Cures { model, plans, facts, headroom, footprints: Footprints::new(model), prices }
    }

    /// What can be done about a key that has more than it should: what cures first, then the cheapest.
    pub fn of(&self, heat: &Heat, key: &KeyHeat) -> Vec<Cure> {
        if key.load <= self.headroom {
            return Vec::new();
        }
        let reads = self.reads(heat, key);
        let ways = [
            self.shards(heat, key, &reads),
            self.cache(heat, key, &reads),
            self.copies(heat, key, &reads),
            self.page(heat, key, &reads),
        ];
        let mut cures: Vec<Cure> = ways.into_iter().flatten().collect();
        let price = |cure: &Cure| cure.monthly.unwrap_or(f64::INFINITY);
        cures.sort_by(|one, other| other.cures.cmp(&one.cures).then(price(one).total_cmp(&price(other))));
        cures
    }

    /// What a key should have at most: writes and reads.
    fn bearable(&self) -> (f64, f64) {
        let limits = &self.facts.limits;
        (limits.partition_write_units * self.headroom, limits.partition_read_units * self.headroom)
    }

    fn reads(&self, heat: &Heat, key: &KeyHeat) -> Vec<ReadHere<'m>> {
        let adding = |pattern: &Pattern| {
            let mut from = key.from.iter().filter(|one: &&Contribution| one.read > 0.0);
            from.find(|one| one.pattern == pattern.id.value).map(|one| one.read)
        };
        let mut reads = Vec::new();
        for (pattern, plan) in self.model.patterns.iter().zip(self.plans) {
            let Some(peak) = adding(pattern) else { continue };
            let here = pattern.actions.iter().zip(&plan.steps).find_map(|(action, step)| {
                match (&action.kind, &step.kind) {
                    (ActionKind::Read(read), ActionPlan::Read(plan)) if self.is_read_at(heat, plan) => {
                        Some(ReadHere { pattern, action, read, plan, peak })
                    }
                    _ => None,
                }
            });
            reads.extend(here);
        }
        reads
    }

    fn shards(&self, heat: &Heat, key: &KeyHeat, reads: &[ReadHere<'_>]) -> Option<Cure> {
        let (has, count) = (key.shards, key.shards_needed);
        let (writes, reading) = self.bearable();
        let each = key.read_each.peak();
        let left = has as f64 / count.max(1) as f64;
        let cures = key.write.peak() * left <= writes * ROUNDING
            && each + (key.read.peak() - each).max(0.0) * left <= reading * ROUNDING;
        let more = |one: &ReadHere<'_>| {
            let doing = (one.action, one.plan);
            let each = asked_of_each_shard(self.model, &self.footprints, one.pattern, doing);
            self.read_price(heat, one, each.iter().map(Portion::average).sum())
        };
        let more = reads.iter().map(more).sum::<Option<f64>>();
        let monthly = more.map(|more| more * (count - has.min(count)) as f64);
        (count > has).then_some(Cure { way: CureWay::Shards { count }, cures, monthly })
    }

    fn cache(&self, heat: &Heat, key: &KeyHeat, reads: &[ReadHere<'_>]) -> Option<Cure> {
        let (writes, bearable) = self.bearable();
        let (lagging, fresh) = lagging_and_fresh(reads);
        if key.read.peak() <= bearable || lagging <= 0.0 {
            return None;
        }
        // Beside what a cache answers already.
        let missed = reads.iter().map(|one| cache::miss_share(self.model, one.pattern)).fold(1.0, f64::min);
        let hit = percent(1.0 - missed * (bearable - fresh) / lagging);
        let cures = hit <= HIT_MAX && key.write.peak() <= writes;
        let hit = hit.min(HIT_MAX);
        let saved = reads.iter().filter(|one| cache::may_answer(one.pattern)).map(|one| {
            let portions = self.portions(one);
            self.read_price(heat, one, portions.iter().map(Portion::average).sum())
        });
        let saved = saved.sum::<Option<f64>>();
        let answered = 1.0 - (1.0 - hit) / missed;
        let monthly = self.nodes().zip(saved).map(|(nodes, saved)| nodes - saved * answered);
        Some(Cure { way: CureWay::Cache { hit }, cures, monthly })
    }

    /// What a cache costs that is not there yet.
    fn nodes(&self) -> Option<f64> {
        if self.model.patterns.iter().any(|pattern| cache::declared(pattern).is_some()) {
            return Some(0.0);
        }
        let node = self.prices.as_ref()?.region.dax.as_ref()?;
        Some(cache_line(self.facts, node).amount())
    }

    fn copies(&self, heat: &Heat, key: &KeyHeat, reads: &[ReadHere<'_>]) -> Option<Cure> {
        let (writes, bearable) = self.bearable();
        let (lagging, fresh) = lagging_and_fresh(reads);
        if key.read.peak() <= bearable || lagging <= 0.0 {
            return None;
        }
        let room = (bearable - fresh).max(1.0);
        let count = (lagging / room / ROUNDING).ceil().max(2.0);
        let more = (count - 1.0) * key.shards as f64;
        let month = key.write.average() * more * self.facts.month_seconds();
        let monthly = self.class(heat).map(|prices| month * prices.write_million / 1e6);
        let way = CureWay::Copies { count: count as u64, write_units: key.write.peak() * more };
        Some(Cure { way, cures: fresh < bearable && key.write.peak() <= writes, monthly })
    }

    /// Readers of small pages, one after the other, pay for bytes that they don't get.
    fn page(&self, heat: &Heat, key: &KeyHeat, reads: &[ReadHere<'_>]) -> Option<Cure> {
        let (writes, bearable) = self.bearable();
        let (one, limit, fitting) = reads
            .iter()
            .filter_map(|one| {
                let limit = one.read.limit.as_ref()?.value;
                let follows = one.read.paged.as_ref().is_some_and(|paged| paged.value);
                let bytes = self.footprints.of(*one.plan.entities.first()?).bytes(one.plan.index) as f64;
                let fitting = (READ_UNIT_BYTES / bytes.max(1.0)).floor() as u64;
                (follows && fitting >= 2 * limit).then_some((one, limit, fitting))
            })
            .max_by(|(one, ..), (other, ..)| one.peak.total_cmp(&other.peak))?;
        let left = limit as f64 / fitting as f64;
        let cures = key.read.peak() - one.peak * (1.0 - left) <= bearable && key.write.peak() <= writes;
        let units = self.portions(one).iter().map(Portion::average).sum::<f64>();
        let monthly = self.read_price(heat, one, units).map(|price| -price * (1.0 - left));
        let way = CureWay::Page { limit: fitting, instead_of: limit };
        (key.read.peak() > bearable).then_some(Cure { way, cures, monthly })
    }

    fn portions(&self, one: &ReadHere<'_>) -> Vec<Portion> {
        let step = ActionPlan::Read(one.plan.clone());
        demand::of_action(self.model, &self.footprints, one.pattern, (one.action, &step))
    }

    /// What this many units for each execution cost by the month.
    fn read_price(&self, heat: &Heat, one: &ReadHere<'_>, units: f64) -> Option<f64> {
        let class = self.class(heat)?;
        let rate = one.pattern.rate.as_ref().map_or(0.0, |rate| rate.average);
        Some(units * rate * self.facts.month_seconds() * class.read_million / 1e6)
    }

    fn class(&self, heat: &Heat) -> Option<&ClassPrices> {
        let class = self.model.table(heat.table_id).class;
        self.prices.as_ref()?.class(class)
    }

    /// Whether the read is one of the table's or index's own; a local index is read in its table's partitions.
    fn is_read_at(&self, heat: &Heat, plan: &ReadPlan) -> bool {
        let global = |index: &IndexId| is_global(self.model.table(plan.table).index(*index));
        let index = plan.index.filter(global);
        (plan.table, index) == (heat.table_id, heat.index_id) && plan.operation != ReadOperation::Scan
    }
}

/// Units of reads that a cache or a copy may answer, and of those that need the table itself.
fn lagging_and_fresh(reads: &[ReadHere<'_>]) -> (f64, f64) {
    let sum = |lagging: bool| -> f64 {
        reads.iter().filter(|one| cache::may_answer(one.pattern) == lagging).map(|one| one.peak).sum()
    };
    (sum(true), sum(false))
}

/// A share in whole percent, not less than it is.
fn percent(share: f64) -> f64 {
    (share * 100.0 / ROUNDING).ceil() / 100.0
}

impl Cure {
    /// `keep 3 copies of what is read most … ($12.30 more a month)`.
    pub fn describe(&self) -> String {
        format!("{}{}", self.way.describe(), self.price())
    }

    /// ` ($12.30 more a month)`, nothing if it is not known.
    pub fn price(&self) -> String {
        match self.monthly {
            None => String::new(),
            Some(none) if none.abs() < 0.005 => " (at no cost)".to_owned(),
            Some(saved) if saved < 0.0 => format!(" (saves {} a month)", dollars(-saved)),
            Some(more) => format!(" ({} more a month)", dollars(more)),
        }
    }
}

impl CureWay {
    pub fn describe(&self) -> String {
        match self {
            CureWay::Shards { count } => format!("spread it over {count} keys"),
            CureWay::Cache { hit } => {
                let percent = hit * 100.0;
                format!("let a cache answer {percent:.0}% of it (`cached: {percent:.0}%`)")
            }
            CureWay::Copies { count, write_units } => {
                let more = match write_units {
                    units if *units < 0.5 => String::new(),
                    units => format!(", for {} more write units a second", number(units.round())),
                };
                format!("keep {count} copies of what is read most and read one of them{more}")
            }
            CureWay::Page { limit, instead_of } => {
                format!("read {limit} items at once instead of {instead_of}, which takes no more units")
            }
        }
    }
}
