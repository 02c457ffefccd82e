//! Contributor Insights: the keys of a table or global index that are used most, and those that are throttled most.
//!
//! A table or index that has them switched on ([`Insights`]) has two or four rules. Each rule counts by key
//! in a sketch of the minute that is open ([`Counting`]). What is kept of a minute are its first keys: one row for
//! a rule and minute. As with metrics, rows are stored every few seconds and at close, and each belongs to the run
//! of the database that wrote it.
//!
//! | rule | counts | by |
//! |---|---|---|
//! | PKC | read units and three times the write units | partition key |
//! | SKC | the same | partition and sort key |
//! | PKT | requests that were throttled, or would have been on AWS | partition key |
//! | SKT | the same | partition and sort key |
//!
//! As on AWS, a Query counts for its partition key alone, and neither a Scan nor PartiQL counts at all; a write
//! that an index refuses for lack of throughput is no throttled request of a key.
//!
//! Memory of a table or index: four sketches of 0.9 MB and the minutes that wait for the store, 90 KB for each rule.
//! An account has at most [`RULES_MAX`] rules in a Region.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Bound;

use api::Operation;
use bytes::Bytes;
use capacity::Access;
use capacity::contributors::{MINUTE_BYTES_MAX, Minute, Rolling, consumed_throughput_units};
use item::{Item, ItemBuilder, ItemRef};
use store::{Key, Partition, Position, Range, Space};

use crate::base::space;
use crate::base::table::{Index, Insights, InsightsMode, InsightsState, KeyAttribute, KeySchema, Table};
use crate::throughput::usage::PartUsed;

/// The rules that an account may have in a Region.
pub const RULES_MAX: usize = 100;
/// The name of a rule: `DynamoDBContributorInsights-PKC-Orders-1763300000000`.
const NAME_PREFIX: &str = "DynamoDBContributorInsights";
/// CloudWatch bounds the name of a rule. A longer name of a table or index is cut in its middle.
const NAME_LENGTH_MAX: usize = 128;

/// What a rule counts, and by which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    PartitionAccessed,
    SortAccessed,
    PartitionThrottled,
    SortThrottled,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 4] =
        [Rule::PartitionAccessed, Rule::SortAccessed, Rule::PartitionThrottled, Rule::SortThrottled];

    fn code(self) -> &'static str {
        match self {
            Rule::PartitionAccessed => "PKC",
            Rule::SortAccessed => "SKC",
            Rule::PartitionThrottled => "PKT",
            Rule::SortThrottled => "SKT",
        }
    }

    fn counts_throttled(self) -> bool {
        matches!(self, Rule::PartitionThrottled | Rule::SortThrottled)
    }

    fn is_by_sort_key(self) -> bool {
        matches!(self, Rule::SortAccessed | Rule::SortThrottled)
    }

    /// When it was created, if it is in force.
    fn since_ms(self, insights: &Insights, keys: &KeySchema) -> Option<u64> {
        let InsightsState::On { throttled_since_ms, accessed_since_ms } = insights.state else { return None };
        let since_ms = match self.counts_throttled() {
            true => Some(throttled_since_ms),
            false => (insights.mode == InsightsMode::AccessedAndThrottledKeys).then_some(accessed_since_ms),
        };
        since_ms.filter(|_| !self.is_by_sort_key() || !keys.sort.is_empty())
    }

    fn attributes(self, keys: &KeySchema) -> impl Iterator<Item = &KeyAttribute> {
        let sort = if self.is_by_sort_key() { keys.sort.as_slice() } else { &[] };
        keys.partition.iter().chain(sort)
    }
}

/// A rule in force.
pub struct RuleInForce<'t> {
    table: &'t Table,
    index: Option<&'t Index>,
    pub rule: Rule,
    pub since_ms: u64,
}

impl<'t> RuleInForce<'t> {
    /// The rules of a table, or of a global index of it.
    pub fn of(table: &'t Table, index: Option<&'t Index>) -> impl Iterator<Item = RuleInForce<'t>> {
        let insights = table.insights_of(index);
        Rule::ALL.into_iter().filter_map(move |rule| {
            let since_ms = rule.since_ms(insights?, table.keys_of(index))?;
            Some(RuleInForce { table, index, rule, since_ms })
        })
    }

    /// Its name in CloudWatch.
    pub fn name(&self) -> String {
        let resource = match self.index {
            Some(index) => format!("{}-{}", self.table.name, index.name),
            None => self.table.name.clone(),
        };
        let (code, since_ms) = (self.rule.code(), self.since_ms.to_string());
        let room = NAME_LENGTH_MAX - NAME_PREFIX.len() - code.len() - since_ms.len() - 3;
        format!("{NAME_PREFIX}-{code}-{}-{since_ms}", shortened(&resource, room))
    }

    /// The names of its key attributes.
    pub fn labels(&self) -> Vec<String> {
        let keys = self.table.keys_of(self.index);
        self.rule.attributes(keys).map(|attribute| attribute.name.clone()).collect()
    }

    /// What tells its rows from those of strong replicas, whose table and indexes are in the same spaces.
    pub fn replica(&self) -> &str {
        replica(self.table)
    }

    /// The table or index that it counts for.
    pub fn space(&self) -> Space {
        self.index.map_or_else(|| self.table.space(), Index::space)
    }
}

/// The beginning and the end of a name that is too long. Names of tables and indexes are ASCII.
fn shortened(name: &str, length: usize) -> String {
    if name.len() <= length {
        return name.to_owned();
    }
    let half = (length - 2) / 2;
    format!("{}..{}", &name[..half], &name[name.len() - half..])
}

/// What the rules of a table and its global indexes count, by space.
#[derive(Default)]
pub struct Contributors(HashMap<Space, [Option<Counting>; 4]>);

/// What one rule counts.
struct Counting {
    since_ms: u64,
    rolling: Rolling,
    /// Whether the store lacks what was added to the open minute.
    is_changed: bool,
    /// Minutes that are over and not stored yet, as rows. Together they are no longer than one of long keys.
    ended: VecDeque<(u64, Bytes)>,
}

impl Counting {
    fn since(since_ms: u64) -> Counting {
        Counting { since_ms, rolling: Rolling::default(), is_changed: false, ended: VecDeque::new() }
    }

    fn end(&mut self, minute: Option<Minute>) {
        let Some(minute) = minute else { return };
        if std::mem::take(&mut self.is_changed) {
            self.ended.push_back((minute.minute, minute.encode().into()));
        }
        let bytes = |ended: &VecDeque<(u64, Bytes)>| ended.iter().map(|(_, row)| row.len()).sum::<usize>();
        while self.ended.len() > 1 && bytes(&self.ended) > MINUTE_BYTES_MAX {
            self.ended.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.rolling.bytes() + self.ended.iter().map(|(_, row)| row.len()).sum::<usize>()
    }

    /// What the store lacks.
    fn unstored(&self) -> Vec<(u64, Bytes)> {
        let open = self.is_changed.then(|| self.open_row());
        self.ended.iter().cloned().chain(open).collect()
    }

    fn open_row(&self) -> (u64, Bytes) {
        let open = self.rolling.open_minute();
        (open.minute, open.encode().into())
    }

    fn stored(&mut self, minute: u64, row: &Bytes) {
        // A minute that ended in the meantime may have more than was stored.
        self.ended.retain(|(ended, known)| *ended != minute || known != row);
        if self.is_changed && self.open_row() == (minute, row.clone()) {
            self.is_changed = false;
        }
    }
}

impl Contributors {
    /// Counts a part of a request, if the table or index has rules. Without them this is one branch.
    pub fn note(part: &PartUsed<'_>) {
        let Some(insights) = part.table.insights_of(part.index) else { return };
        if !insights.is_on() || !is_counted(part) {
            return;
        }
        let (keys, Some(image)) = (part.keys(), part.image()) else { return };
        let is_for_one_item = part.operation != Some(Operation::Query);
        let units = match part.access {
            Access::Read => consumed_throughput_units(part.units, 0.0),
            Access::Write => consumed_throughput_units(0.0, part.units),
        };
        let throttled = if is_throttled(part) { 1.0 } else { 0.0 };
        let mut contributors = part.table.meter.contributors.lock();
        let countings = contributors.0.entry(Space(part.space())).or_default();
        for (rule, counting) in Rule::ALL.into_iter().zip(countings) {
            let Some(since_ms) = rule.since_ms(insights, keys) else { continue };
            let value = if rule.counts_throttled() { throttled } else { units };
            if value == 0.0 || (rule.is_by_sort_key() && !is_for_one_item) {
                continue;
            }
            let Some(hash) = hash(rule.attributes(keys), image) else { continue };
            let counting = counting.get_or_insert_with(|| Counting::since(since_ms));
            let key = || picked(rule.attributes(keys), image).into_stored().as_ref().into();
            let ended = counting.rolling.end_minute(part.now_ms);
            counting.end(ended);
            counting.rolling.add(hash, value, part.now_ms, key);
            counting.is_changed = true;
        }
    }

    /// Forgets what is counted by rules that are not in force any more.
    pub fn follow(&mut self, table: &Table) {
        self.0.retain(|space, countings| {
            let index = table.global_index(*space);
            let is_there = index.is_some() || *space == table.space();
            let insights = table.insights_of(index).filter(|_| is_there);
            for (rule, counting) in Rule::ALL.into_iter().zip(countings.iter_mut()) {
                let since_ms = insights.and_then(|insights| rule.since_ms(insights, table.keys_of(index)));
                if counting.as_ref().map(|counting| counting.since_ms) != since_ms {
                    *counting = None;
                }
            }
            countings.iter().any(Option::is_some)
        });
    }

    /// The minutes of a rule that are in memory, as rows.
    pub fn minutes(&self, space: Space, rule: Rule) -> Vec<(u64, Bytes)> {
        let counting = self.0.get(&space).and_then(|all| all[rule as usize].as_ref());
        let rows =
            |counting: &Counting| counting.ended.iter().cloned().chain([counting.open_row()]).collect();
        counting.map(rows).unwrap_or_default()
    }

    /// The rows that the store lacks.
    pub fn unstored(&mut self, now_ms: u64) -> Vec<((Space, Rule, u64), Bytes)> {
        let mut rows = Vec::new();
        for (space, countings) in &mut self.0 {
            for (rule, counting) in Rule::ALL.into_iter().zip(countings) {
                let Some(counting) = counting else { continue };
                let ended = counting.rolling.end_minute(now_ms);
                counting.end(ended);
                let unstored = counting.unstored().into_iter();
                rows.extend(unstored.map(|(minute, row)| ((*space, rule, minute), row)));
            }
        }
        rows
    }

    /// Notes that a row is stored.
    pub fn stored(&mut self, space: Space, rule: Rule, minute: u64, row: &Bytes) {
        let countings = self.0.get_mut(&space);
        if let Some(counting) = countings.and_then(|all| all[rule as usize].as_mut()) {
            counting.stored(minute, row);
        }
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        self.0.values().flatten().flatten().map(Counting::bytes).sum()
    }
}

/// PartiQL and what the engine does by itself are not counted.
fn is_counted(part: &PartUsed<'_>) -> bool {
    use Operation::*;
    let is_partiql =
        matches!(part.operation, Some(ExecuteStatement | BatchExecuteStatement | ExecuteTransaction));
    part.operation.is_some() && !is_partiql
}

/// Whether it was refused, or would have been on AWS: where no request is refused, this alone shows which keys
/// AWS would throttle. Writes that an index holds up are no throttled requests of a key.
fn is_throttled(part: &PartUsed<'_>) -> bool {
    let is_held_up = part.index.is_some() && part.access == Access::Write;
    part.limit.is_some() && !is_held_up
}

/// A hash of some attributes; none if one is missing.
fn hash<'k>(attributes: impl Iterator<Item = &'k KeyAttribute>, image: ItemRef<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for attribute in attributes {
        hasher.write(image.get(&attribute.name)?.as_bytes());
    }
    Some(hasher.finish())
}

fn picked<'k>(attributes: impl Iterator<Item = &'k KeyAttribute>, image: ItemRef<'_>) -> Item {
    let mut key = ItemBuilder::default();
    for attribute in attributes {
        if let Some(value) = image.get(&attribute.name) {
            key.put(&attribute.name, value);
        }
    }
    key.build()
}

/// The rows of all rules of a table or index.
pub fn all_rows(space: Space) -> Range {
    let at = |sort: Vec<u8>| Position { partition: partition(space), sort };
    let end = Bound::Excluded(at(vec![Rule::ALL.len() as u8]));
    Range { space: space::CONTRIBUTORS, start: Bound::Included(at(Vec::new())), end }
}

/// The rows of a rule in some minutes.
pub fn rows_range(space: Space, rule: Rule, minutes: std::ops::Range<u64>) -> Range {
    let at = |minute: u64| {
        let mut sort = vec![rule as u8];
        sort.extend(minute.to_be_bytes());
        Position { partition: partition(space), sort }
    };
    let (start, end) = (Bound::Included(at(minutes.start)), Bound::Excluded(at(minutes.end)));
    Range { space: space::CONTRIBUTORS, start, end }
}

/// The Region of a strong replica; other tables are alone in their spaces.
pub fn replica(table: &Table) -> &str {
    if table.strong.is_some() { &table.namespace.region } else { "" }
}

/// Where the row of a minute is.
pub fn row_key(space: Space, rule: Rule, minute: u64, run: u64, replica: &str) -> Key {
    let mut sort = vec![rule as u8];
    sort.extend(minute.to_be_bytes());
    sort.extend(run.to_be_bytes());
    sort.extend(replica.as_bytes());
    Key { space: space::CONTRIBUTORS, position: Position { partition: partition(space), sort } }
}

/// The minute and the run of a row, and the replica that it is of.
pub fn row_of(key: &Key) -> Option<(u64, u64, &str)> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    let sort = &key.position.sort;
    let replica = std::str::from_utf8(sort.get(17..)?).ok()?;
    Some((number(sort.get(1..9)?)?, number(sort.get(9..17)?)?, replica))
}

fn partition(space: Space) -> Partition {
    space::hashed(&space.0.to_string())
}
