//! Time to live: items are deleted when the time in one of their attributes is over.
//!
//! Each item with such a time has a row in an index of expiry times, a companion of the item: the sweep
//! reads only what has expired. The rows of items that were there before time to live was switched on are
//! filled in by a job. The sweep deletes items by the one write path, so their index rows go with them and
//! their deletion is recorded; the decision looks at the item again, so an item that was given more time
//! stays.
//!
//! The key of such a row is: bucket, time, key of the item. The hash of the item's partition key decides which of 16
//! buckets it is, so that a distributed store can spread the rows over its nodes.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use capacity::metric::Metric;
use futures_util::stream::{self, StreamExt as _};
use item::{Item, ItemRef};
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, StoreError};

use crate::Namespace;
use crate::background::{Job, Task};
use crate::base::origin::Origin;
use crate::base::table::Table;
use crate::base::{space, walk};
use crate::commit::Commits;
use crate::commit::companion::{Companion, Stop};
use crate::commit::decide::Draft;
use crate::commit::{self, Change, Failure, Outcome, Plan, WriteError};
use crate::tables::catalog::LiveTable;
use crate::tables::filling;
use crate::throughput::dimensions::CellSet;

/// Items whose time is longer ago than five years are kept: it is more likely to be a mistake.
const AGE_MAX_S: u64 = 5 * 365 * 24 * 60 * 60;
const INTERVAL: Duration = Duration::from_secs(1);
const BUCKETS: u8 = 16;
/// Items that one commit deletes: few, so that requests do not wait long for the locks.
const SWEEP_ITEMS: usize = 25;
/// Buckets that are swept at the same time, so that one sync of the store makes several commits durable.
const SWEEPS_AT_ONCE: usize = 4;
const TIME_LENGTH: usize = size_of::<u64>();

/// The second at which the item expires: a number in the attribute, at the top level.
pub fn time_s(item: ItemRef<'_>, attribute: &str) -> Option<u64> {
    let number = item.get(attribute)?.as_number()?;
    let mut text = Vec::new();
    number.write_to(&mut text);
    let seconds: f64 = std::str::from_utf8(&text).ok()?.parse().ok()?;
    (0.0..=1e12).contains(&seconds).then_some(seconds as u64)
}

/// Whether an item with this time is to be deleted.
fn has_expired(time_s: u64, now_s: u64) -> bool {
    expired_times(now_s).contains(&time_s)
}

fn expired_times(now_s: u64) -> std::ops::Range<u64> {
    now_s.saturating_sub(AGE_MAX_S)..now_s
}

/// The item after an expiry: none, or the item unchanged if its time was extended.
pub fn expire(table: &Table, item: &Item, now_s: u64) -> Option<Item> {
    let time_s = table.time_to_live.as_deref().and_then(|attribute| time_s(item.as_ref(), attribute));
    (!time_s.is_some_and(|time_s| has_expired(time_s, now_s))).then(|| item.clone())
}

/// The row of an item in the index of expiry times.
fn entry(table: &Table, position: &Position, item: Option<ItemRef<'_>>) -> Option<Key> {
    let space = table.expiry.as_ref()?.space();
    let time_s = time_s(item?, table.time_to_live.as_deref()?)?;
    let mut sort = Vec::with_capacity(TIME_LENGTH + Partition::LENGTH + position.sort.len());
    sort.extend_from_slice(&time_s.to_be_bytes());
    sort.extend_from_slice(&position.partition.0);
    sort.extend_from_slice(&position.sort);
    let bucket = bucket(position.partition.0[0] / (u8::MAX / BUCKETS + 1));
    Some(Key { space, position: Position { partition: bucket, sort } })
}

fn bucket(number: u8) -> Partition {
    let mut bytes = [0; Partition::LENGTH];
    bytes[0] = number;
    Partition(bytes)
}

/// The key of the item that a row of the index names.
fn item_position(sort: &[u8]) -> Result<Position, StoreError> {
    let rest = sort.get(TIME_LENGTH..).and_then(|rest| rest.split_first_chunk());
    let (partition, sort) = rest.ok_or_else(|| StoreError::Corrupt("an expiry time".to_owned()))?;
    Ok(Position { partition: Partition(*partition), sort: sort.to_vec() })
}

/// The expiry times of the items that a commit changes.
pub struct ExpiryTimes;

impl ExpiryTimes {
    /// None if no table of the plans has time to live.
    pub fn of(plans: &[Plan]) -> Option<ExpiryTimes> {
        plans.iter().any(|plan| plan.table.expiry.is_some()).then_some(ExpiryTimes)
    }
}

impl Companion for ExpiryTimes {
    fn keys(&self) -> &[Key] {
        &[]
    }

    fn decide(&self, _: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        for (plan, result) in draft.plans.iter().zip(&draft.results) {
            let Ok(outcome) = result else { continue };
            let entry =
                |item: &Option<Item>| entry(&plan.table, &plan.key.position, item.as_ref().map(Item::as_ref));
            let (old, new) = (entry(&outcome.old), entry(&outcome.new));
            if old == new {
                continue;
            }
            draft.writes.deletes.extend(old);
            draft.writes.puts.extend(new.map(|key| (key, Bytes::new())));
        }
        Ok(())
    }
}

/// Deletes expired items, for as long as the database is open.
pub struct Sweep {
    pub commits: Arc<Commits>,
}

impl Job for Sweep {
    fn name(&self) -> &'static str {
        "deletion of expired items"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        for table in self.commits.catalog.tables_with(|table| table.expiry.is_some()) {
            // Of a global table, one member deletes for all.
            let own = table.membership.as_ref();
            let deletes = table.has_items() && own.is_none_or(|own| own.expires_in(&table.namespace.region));
            if let Some(expiry) = table.expiry.as_ref().filter(|_| deletes) {
                let sweeps = (0..BUCKETS).map(|number| self.sweep(&table, expiry.space(), bucket(number)));
                let mut sweeps = stream::iter(sweeps).buffer_unordered(SWEEPS_AT_ONCE);
                while let Some(swept) = sweeps.next().await {
                    swept?;
                }
            }
        }
        Ok(())
    }
}

impl Sweep {
    /// Deletes the expired items of one bucket.
    async fn sweep(&self, table: &Arc<LiveTable>, space: Space, bucket: Partition) -> Result<(), StoreError> {
        let delay_s = self.commits.expiry_delay.as_secs();
        let now_s = (self.commits.environment.now_ms() / 1000).saturating_sub(delay_s);
        let times = expired_times(now_s);
        let at = |time_s: u64| Position { partition: bucket, sort: time_s.to_be_bytes().to_vec() };
        let mut start = Bound::Included(at(times.start));
        loop {
            let range = Range { space, start, end: Bound::Excluded(at(times.end)) };
            let mut found: Vec<Vec<u8>> = Vec::with_capacity(SWEEP_ITEMS);
            self.commits
                .store
                .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, _| {
                    found.push(key.sort.to_vec());
                    if found.len() < SWEEP_ITEMS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .await?;
            let Some(last) = found.last().cloned() else { return Ok(()) };
            self.expire_all(table, &found, now_s).await?;
            start = Bound::Excluded(Position { partition: bucket, sort: last });
            tokio::task::yield_now().await;
        }
    }

    async fn expire_all(
        &self,
        table: &Arc<LiveTable>,
        rows: &[Vec<u8>],
        now_s: u64,
    ) -> Result<(), StoreError> {
        let plan = |row: &Vec<u8>| {
            let key = Key { space: table.space(), position: item_position(row)? };
            let plan = Plan::of_client(table.clone(), key, Change::Expire { now_s });
            Ok(Plan { origin: Origin::Expiry, ..plan })
        };
        let mut plans = rows.iter().map(plan).collect::<Result<Vec<Plan>, StoreError>>()?;
        let results = commit::apply_each(&self.commits, None, &mut plans).await;
        self.count_deleted(table, &results);
        let failures = match results {
            Ok(results) => results.into_iter().filter_map(Result::err).collect(),
            Err(failure) => vec![WriteError::Failed(failure)],
        };
        for failure in failures {
            match failure {
                WriteError::Failed(commit::Failure::Store(error)) => return Err(error),
                // The table is gone, or an item can't be deleted now: the next sweep sees.
                WriteError::Failed(commit::Failure::TableGone) | WriteError::Refused(_) => {}
            }
        }
        Ok(())
    }
}

impl Sweep {
    fn count_deleted(&self, table: &LiveTable, results: &Result<Vec<Result<Outcome, WriteError>>, Failure>) {
        let is_deleted = |outcome: &&Outcome| outcome.old.is_some() && outcome.new.is_none();
        let deleted = results.iter().flatten().flatten().filter(is_deleted).count();
        if deleted > 0 && !self.commits.usage.is_off() {
            let deleted = (Metric::TimeToLiveDeletedItemCount, deleted as f64);
            table.meter.figures.add(CellSet::Whole, &[deleted], self.commits.usage.now().ms);
        }
    }
}

/// Puts the items that were there before time to live was switched on into the index of expiry times.
pub struct ExpiryFill {
    commits: Arc<Commits>,
    namespace: Namespace,
    table: String,
    space: Space,
}

impl Job for ExpiryFill {
    fn name(&self) -> &'static str {
        "index of expiry times"
    }

    fn subject(&self) -> String {
        let (Namespace { account, region }, table) = (&self.namespace, &self.table);
        format!("table {table} of account {account} in {region}")
    }

    async fn run(&self) -> Result<(), StoreError> {
        let store = &*self.commits.store;
        if filling::fill(store, &self.commits.catalog, &*self.commits.environment, self).await? {
            self.finish().await?;
            walk::forget_progress(store, &space::progress_key(self.space)).await?;
        }
        Ok(())
    }
}

impl filling::Fill for ExpiryFill {
    fn space(&self) -> Space {
        self.space
    }

    /// None if time to live was switched off in the meantime.
    fn table(&self) -> Option<Arc<LiveTable>> {
        let table = self.commits.catalog.find(&self.namespace, &self.table)?;
        let is_same = table.expiry.as_ref().is_some_and(|expiry| expiry.space() == self.space);
        is_same.then_some(table)
    }

    fn item(&self, table: &Table, position: &Position, _: Bytes) -> Result<Key, StoreError> {
        Ok(Key { space: table.space(), position: item_position(&position.sort)? })
    }

    fn row(&self, table: &Table, position: &Position, item: &Item) -> Option<filling::Row> {
        // Expiry costs nothing.
        entry(table, position, Some(item.as_ref())).map(|key| filling::Row {
            key,
            value: Bytes::new(),
            units: 0.0,
        })
    }
}

impl ExpiryFill {
    async fn finish(&self) -> Result<(), StoreError> {
        let space = self.space;
        let filled = move |table: &Table, _| {
            let mut table = table.clone();
            let expiry = table.expiry.as_mut().filter(|expiry| expiry.space() == space).ok_or(())?;
            expiry.is_filled = true;
            Ok::<_, ()>(table)
        };
        self.commits.catalog.replace(&self.namespace, &self.table, filled).await?;
        Ok(())
    }
}

impl Commits {
    /// Fills the index of expiry times in the background, if it is not filled.
    pub(crate) fn start_expiry_fill(
        self: &Arc<Commits>,
        table: &Table,
    ) -> Option<Task<Result<(), StoreError>>> {
        let expiry = table.expiry.as_ref().filter(|expiry| !expiry.is_filled)?;
        Some(self.background.start(ExpiryFill {
            commits: self.clone(),
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            space: expiry.space(),
        }))
    }
}
