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

use futures_util::future::BoxFuture;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Bound;

use api::Operation;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use capacity::Access;
use capacity::contributors::{MINUTE_BYTES_MAX, Minute, Rolling, consumed_throughput_units};
use item::{Item, ItemBuilder, ItemRef, View};
use store::{Key, Partition, Position, Range, Space, StoreError};

use crate::rows::{ROWS_PER_COMMIT, delete_rows, put_rows, visit_rows};
use crate::shared::Core;
use crate::table::{Index, Insights, InsightsMode, InsightsState, KeyAttribute, KeySchema, Table};
use crate::usage::PartUsed;
use crate::{Engine, Namespace, space};

/// The rules that an account may have in a Region.
pub const RULES_MAX: usize = 100;
/// How long minutes are kept.
const KEPT_MINUTES: u64 = 24 * 60;
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
    const ALL: [Rule; 4] =
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
    rule: Rule,
    since_ms: u64,
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

    fn labels(&self) -> Vec<String> {
        let keys = self.table.keys_of(self.index);
        self.rule.attributes(keys).map(|attribute| attribute.name.clone()).collect()
    }

    fn space(&self) -> Space {
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
        // A minute that ended meanwhile may have more than was stored.
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

    fn get(&self, space: Space, rule: Rule) -> Option<&Counting> {
        self.0.get(&space)?[rule as usize].as_ref()
    }
}

/// PartiQL and what the engine does by itself are not counted.
fn is_counted(part: &PartUsed<'_>) -> bool {
    use Operation::*;
    let is_partiql =
        matches!(part.operation, Some(ExecuteStatement | BatchExecuteStatement | ExecuteTransaction));
    part.operation.is_some() && !is_partiql
}

/// Whether it was refused, or would have been on AWS: where nothing is refused, nobody could see otherwise which keys
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

impl Core {
    /// Stores what rules counted and the store lacks.
    pub(crate) async fn keep_insights(&self) -> Result<(), StoreError> {
        let (now_ms, run) = (self.usage.now().ms, self.usage.metrics.run);
        for table in self.catalog.all() {
            let mut rows: Vec<((Space, Rule, u64), Bytes)> = Vec::new();
            for (space, countings) in &mut table.meter.contributors.lock().0 {
                for (rule, counting) in Rule::ALL.into_iter().zip(countings) {
                    let Some(counting) = counting else { continue };
                    let ended = counting.rolling.end_minute(now_ms);
                    counting.end(ended);
                    let unstored = counting.unstored().into_iter();
                    rows.extend(unstored.map(|(minute, row)| ((*space, rule, minute), row)));
                }
            }
            for rows in rows.chunks(ROWS_PER_COMMIT) {
                let put = |((space, rule, minute), row): &((Space, Rule, u64), Bytes)| {
                    (row_key(*space, *rule, *minute, run), row.clone())
                };
                put_rows(&*self.store, &rows.iter().map(put).collect::<Vec<_>>()).await?;
                let mut contributors = table.meter.contributors.lock();
                for ((space, rule, minute), row) in rows {
                    let countings = contributors.0.get_mut(space);
                    if let Some(counting) = countings.and_then(|all| all[*rule as usize].as_mut()) {
                        counting.stored(*minute, row);
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes minutes that are too old.
    pub(crate) async fn trim_insights(&self, minute: u64) -> Result<(), StoreError> {
        for table in self.catalog.all() {
            for index in std::iter::once(None).chain(table.indexes.iter().map(Some)) {
                if table.insights_of(index).is_some() {
                    let space = index.map_or_else(|| table.space(), Index::space);
                    for rule in Rule::ALL {
                        let old = rows_range(space, rule, 0..minute.saturating_sub(KEPT_MINUTES));
                        delete_rows(&*self.store, &old).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A rule of Contributor Insights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightRule {
    pub name: String,
    /// The names of the key attributes.
    pub key_labels: Vec<String>,
}

/// What a rule counted in one minute.
#[derive(Clone, Debug, PartialEq)]
pub struct InsightMinute {
    /// Since 1970.
    pub minute: u64,
    /// All keys together.
    pub total: f64,
    /// About how many keys there were.
    pub distinct: u64,
    /// The first of them, the largest first, each with a text for each label.
    pub contributors: Vec<(Vec<String>, f64)>,
}

/// A rule and what it counted; none if there is no such rule.
type CountedMinutes = Option<(InsightRule, Vec<InsightMinute>)>;

impl Engine {
    /// The bytes that counting the keys of a table and its indexes takes.
    pub fn insight_bytes(&self, namespace: &Namespace, table: &str) -> usize {
        let Some(table) = self.catalog.find(namespace, table) else { return 0 };
        let contributors = table.meter.contributors.lock();
        contributors.0.values().flatten().flatten().map(Counting::bytes).sum()
    }

    /// The rules of an account and Region that are in force, in the order of their names.
    pub fn insight_rules(&self, namespace: &Namespace) -> Vec<InsightRule> {
        let mut rules = Vec::new();
        for table in self.catalog.all().iter().filter(|table| table.namespace == *namespace) {
            let rule = |rule: RuleInForce<'_>| InsightRule { name: rule.name(), key_labels: rule.labels() };
            rules.extend(table.resources().flat_map(|index| RuleInForce::of(table, index)).map(rule));
        }
        rules.sort_by(|one, other| one.name.cmp(&other.name));
        rules
    }

    /// What a rule counted in some minutes since 1970, with the labels of its keys; none if there is no such
    /// rule. A minute that two runs of the database have a part of comes twice.
    pub fn insight_minutes<'a>(
        &'a self,
        namespace: &'a Namespace,
        name: &'a str,
        minutes: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<CountedMinutes, StoreError>> {
        Box::pin(async move {
            let tables = self.catalog.all();
            let own = tables.iter().filter(|table| table.namespace == *namespace);
            let found = own.flat_map(|table| {
                table
                    .resources()
                    .flat_map(move |index| RuleInForce::of(table, index))
                    .map(move |rule| (table, rule))
            });
            let Some((table, rule)) = found.into_iter().find(|(_, rule)| rule.name() == name) else {
                return Ok(None);
            };
            // What was counted before the rule was created belongs to an earlier one.
            let since = minutes.start.max(rule.since_ms / crate::metrics::MINUTE_MS);
            let minutes = since..minutes.end.max(since);
            let run = self.usage.metrics.run;
            let in_memory: Vec<(u64, Bytes)> = {
                let contributors = table.meter.contributors.lock();
                let counting = contributors.get(rule.space(), rule.rule);
                let rows = |counting: &Counting| {
                    counting.ended.iter().cloned().chain([counting.open_row()]).collect::<Vec<_>>()
                };
                counting.map(rows).unwrap_or_default()
            };
            let is_in_memory = |minute: u64| in_memory.iter().any(|(known, _)| *known == minute);
            let mut rows: Vec<Bytes> = Vec::new();
            let range = rows_range(rule.space(), rule.rule, minutes.clone());
            visit_rows(&*self.store, &range, |key, row| {
                if !row_of(&key).is_some_and(|(minute, of)| of == run && is_in_memory(minute)) {
                    rows.push(row);
                }
                Ok(())
            })
            .await?;
            let in_memory = in_memory.into_iter().filter(|(minute, _)| minutes.contains(minute));
            rows.extend(in_memory.map(|(_, row)| row));
            let labels = rule.labels();
            let read = rows.iter().map(|row| read_minute(row, &labels)).collect::<Result<Vec<_>, _>>()?;
            let read = read.into_iter().filter(|minute| minute.total > 0.0).collect();
            Ok(Some((InsightRule { name: name.to_owned(), key_labels: labels }, read)))
        })
    }
}

fn read_minute(row: &[u8], labels: &[String]) -> Result<InsightMinute, StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt(format!("a minute of Contributor Insights: {reason}"));
    let minute = Minute::decode(row).map_err(|error| corrupt(error.to_string()))?;
    let mut contributors = Vec::with_capacity(minute.contributors.len());
    for contributor in minute.contributors {
        let key =
            Item::from_stored(Bytes::from(contributor.key)).map_err(|error| corrupt(error.to_string()))?;
        contributors.push((labels.iter().map(|label| text(&key, label)).collect(), contributor.value));
    }
    let Minute { minute, total, distinct, .. } = minute;
    Ok(InsightMinute { minute, total, distinct, contributors })
}

/// A key attribute as reports show it.
fn text(key: &Item, label: &str) -> String {
    match key.get(label).map(item::ValueRef::view) {
        Some(View::S(text)) => text.to_owned(),
        Some(View::N(number)) => number.to_string(),
        Some(View::B(bytes)) => BASE64.encode(bytes),
        _ => String::new(),
    }
}

/// The rows of all rules of a table or index.
pub fn all_rows(space: Space) -> Range {
    let at = |sort: Vec<u8>| Position { partition: partition(space), sort };
    let end = Bound::Excluded(at(vec![Rule::ALL.len() as u8]));
    Range { space: space::CONTRIBUTORS, start: Bound::Included(at(Vec::new())), end }
}

fn rows_range(space: Space, rule: Rule, minutes: std::ops::Range<u64>) -> Range {
    let at = |minute: u64| {
        let mut sort = vec![rule as u8];
        sort.extend(minute.to_be_bytes());
        Position { partition: partition(space), sort }
    };
    let (start, end) = (Bound::Included(at(minutes.start)), Bound::Excluded(at(minutes.end)));
    Range { space: space::CONTRIBUTORS, start, end }
}

fn row_key(space: Space, rule: Rule, minute: u64, run: u64) -> Key {
    let mut sort = vec![rule as u8];
    sort.extend(minute.to_be_bytes());
    sort.extend(run.to_be_bytes());
    Key { space: space::CONTRIBUTORS, position: Position { partition: partition(space), sort } }
}

/// The minute and the run of a row.
fn row_of(key: &Key) -> Option<(u64, u64)> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    let sort = &key.position.sort;
    Some((number(sort.get(1..9)?)?, number(sort.get(9..17)?)?))
}

fn partition(space: Space) -> Partition {
    space::hashed(&space.0.to_string())
}
