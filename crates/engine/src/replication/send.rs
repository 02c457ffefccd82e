//! Sending a member's changes to another: one job for each pair. It reads the table's log as any reader does, and
//! writes what was changed here to the table there, with the origin *replica*.
//!
//! Of several changes of an item that are read together, only the last is sent.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use store::{Key, Log, LogPosition, Position, Space, StoreError};

use super::in_region;
use super::membership::{Replica, ReplicaState};
use super::position::{self, Positions};
use super::version::Version;
use crate::Namespace;
use crate::background::Job;
use crate::catalog::LiveTable;
use crate::change;
use crate::shared::Core;
use crate::table::TableState;
use crate::write::decide::Refusal;
use crate::write::{self, Change, Failure, Origin, Plan, WriteError};

/// Records that are read at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP_RECORDS: usize = 32;
/// How long a sender rests that has nothing to do. It is woken by changes.
const REST: Duration = Duration::from_secs(1);
/// How long a sender waits for throughput of the other table.
const THROTTLED_REST: Duration = Duration::from_millis(100);
/// How often positions are stored.
const STORE_INTERVAL_MS: u64 = 1000;
/// Pending changes that are counted; beyond it, the number is at least this.
const PENDING_MAX: usize = 10_000;

/// How far each pair has come, in memory.
#[derive(Default)]
pub struct Pairs(Mutex<HashMap<(Space, String), Positions>>);

impl Pairs {
    /// The positions of a pair; none before its sender has begun.
    fn get(&self, source: Space, region: &str) -> Option<Positions> {
        self.0.lock().get(&(source, region.to_owned())).cloned()
    }

    fn set(&self, source: Space, region: &str, log: Log, position: LogPosition) {
        self.0.lock().entry((source, region.to_owned())).or_default().insert(log, position);
    }

    fn begin(&self, source: Space, region: &str, positions: Positions) {
        self.0.lock().insert((source, region.to_owned()), positions);
    }

    /// Forgets a pair that is no more.
    pub fn forget(&self, source: Space, region: &str) {
        self.0.lock().remove(&(source, region.to_owned()));
    }
}

/// How far one Region's changes of a table have come on their way to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairStatus {
    pub namespace: Namespace,
    pub table: String,
    /// The Region that the changes are sent to.
    pub receiving_region: String,
    /// Changes that are not there yet; at most 10,000 are counted.
    pub pending: usize,
    /// The age of the oldest of them.
    pub lag: Duration,
    pub is_cut: bool,
}

/// Sends the changes of one member to another.
pub struct Sender {
    core: Arc<Core>,
    source: Arc<LiveTable>,
    region: String,
    /// Tells the pair apart from a later one of the same Regions.
    since_us: u64,
    /// When positions were last stored, and which.
    stored: Mutex<(u64, Positions)>,
}

/// Both tables of a pair, as they are now.
struct Pair {
    source: Arc<LiveTable>,
    replica: Replica,
    /// None while it can't take changes.
    target: Option<Arc<LiveTable>>,
}

impl Sender {
    /// From a table to another member.
    pub fn new(core: Arc<Core>, source: Arc<LiveTable>, replica: &Replica) -> Sender {
        let (region, since_us) = (replica.region.clone(), replica.since_us);
        Sender { core, source, region, since_us, stored: Mutex::default() }
    }

    /// None when the pair is no more.
    fn pair(&self) -> Option<Pair> {
        let source = self.core.catalog.successor(&self.source)?;
        let replica = source.membership.as_ref()?.replica(&self.region)?.clone();
        if replica.since_us != self.since_us {
            return None;
        }
        let target = self.core.catalog.find(&in_region(&source, &self.region), &source.name);
        let own_region = &*source.namespace.region;
        let takes_changes = |target: &Arc<LiveTable>| {
            target.state != TableState::Deleting
                && replica.state != ReplicaState::Deleting
                && target.membership.as_ref().is_some_and(|other| other.replica(own_region).is_some())
        };
        Some(Pair { target: target.filter(takes_changes), source, replica })
    }

    /// Sends all that is due. Returns how long it takes until more is.
    async fn send_due(&self, pair: &Pair) -> Result<Duration, StoreError> {
        let Some(target) = &pair.target else { return Ok(REST) };
        if self.core.replication.links.is_cut(&pair.source.namespace.region, &self.region) {
            return Ok(REST);
        }
        let logs = pair.source.log.logs().map(|log| self.send_log(pair, target, log));
        let waits = try_join_all(logs).await?;
        self.store_positions(&pair.source).await?;
        Ok(waits.into_iter().min().unwrap_or(REST))
    }

    async fn send_log(&self, pair: &Pair, target: &Arc<LiveTable>, log: Log) -> Result<Duration, StoreError> {
        let (core, source) = (&*self.core, &pair.source);
        loop {
            let known = core.replication.pairs.get(source.space(), &self.region).unwrap_or_default();
            let after = known.get(&log).copied().unwrap_or(position::start(&pair.replica));
            let mut records = core.store.read_log(log, after, STEP_RECORDS).await?;
            let read = records.len();
            let next = self.keep_due(&mut records);
            if let Some((last, _)) = records.last() {
                let last = *last;
                if !self.send(pair, target, records).await? {
                    return Ok(THROTTLED_REST);
                }
                core.replication.pairs.set(source.space(), &self.region, log, last);
                core.replication.changed.notify_waiters();
            }
            if let Some(next) = next {
                return Ok(next);
            }
            if read < STEP_RECORDS || core.replication.links.is_cut(&source.namespace.region, &self.region) {
                return Ok(REST);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Leaves the records whose delay is over. Returns how long the next one has to wait.
    fn keep_due(&self, records: &mut Vec<(LogPosition, Bytes)>) -> Option<Duration> {
        let delay_us = micros(self.core.options.replication_delay);
        // Without a delay, the clock does not matter: positions may be a little ahead of it.
        if delay_us == 0 {
            return None;
        }
        let now_us = self.core.environment.now_us();
        let due = records.iter().take_while(|(position, _)| position.time_us() + delay_us <= now_us).count();
        let next = records.get(due).map(|(position, _)| position.time_us() + delay_us - now_us);
        records.truncate(due);
        next.map(Duration::from_micros)
    }

    /// Applies changes in the other Region. False if there is no throughput left for some of them.
    async fn send(
        &self,
        pair: &Pair,
        target: &Arc<LiveTable>,
        records: Vec<(LogPosition, Bytes)>,
    ) -> Result<bool, StoreError> {
        let mut latest: BTreeMap<Position, (LogPosition, change::Change)> = BTreeMap::new();
        for (position, record) in records {
            let change = change::Change::decode(record)?;
            // What was made elsewhere is sent from there.
            if change.region == *pair.source.namespace.region {
                let key = target.keys.position(change.image().as_ref());
                latest.insert(key, (position, change));
            }
        }
        if latest.is_empty() {
            return Ok(true);
        }
        let times: Vec<u64> = latest.values().map(|(position, _)| position.time_us()).collect();
        let mut plans = Vec::with_capacity(latest.len());
        for (position, (_, change)) in latest {
            let time_us = change.version_us.ok_or_else(|| unversioned(&pair.source))?;
            let version = Version { time_us, region: change.region };
            let to = match change.new {
                Some(item) => Change::Put(item),
                None => {
                    let key_attributes = change.old.map(|old| target.keys.pick(old.as_ref()));
                    Change::Delete { key_attributes: key_attributes.unwrap_or_default() }
                }
            };
            plans.push(plan(target, position, to, Origin::Replica, version));
        }
        let is_done = apply(&self.core, target, &mut plans).await?;
        if is_done && !self.core.usage.is_off() {
            let (now_us, now_ms) = (self.core.environment.now_us(), self.core.usage.now().ms);
            for time_us in times {
                let latency_ms = now_us.saturating_sub(time_us) as f64 / 1000.0;
                pair.source.meter.figures.add_latency(&self.region, latency_ms, now_ms);
            }
        }
        Ok(is_done)
    }

    /// Stores how far it is, at most once in a while.
    async fn store_positions(&self, source: &LiveTable) -> Result<(), StoreError> {
        let now_ms = self.core.environment.now_ms();
        let (stored_ms, stored) = self.stored.lock().clone();
        if now_ms.saturating_sub(stored_ms) < STORE_INTERVAL_MS {
            return Ok(());
        }
        let known = self.core.replication.pairs.get(source.space(), &self.region);
        let Some(positions) = known.filter(|positions| *positions != stored) else { return Ok(()) };
        position::write(&self.core, source, &self.region, &positions).await?;
        *self.stored.lock() = (now_ms, positions);
        Ok(())
    }
}

impl Job for Sender {
    fn name(&self) -> &'static str {
        "replication"
    }

    fn subject(&self) -> String {
        format!("{} to {}", self.source.full_name(), self.region)
    }

    /// It works for as long as the pair exists, so it must not take the turn of others.
    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        let core = &*self.core;
        if let Some(pair) = self.pair() {
            let positions = position::read(core, &pair.source, &self.region).await?;
            core.replication.pairs.begin(pair.source.space(), &self.region, positions);
        }
        loop {
            // Made before the work, so that no change is missed in between.
            let (members_changed, table_changed) =
                (core.replication.changed.notified(), self.source.changed.clone().notified_owned());
            let Some(pair) = self.pair() else { return Ok(()) };
            let wait = self.send_due(&pair).await?;
            tokio::select! {
                () = members_changed => {}
                () = table_changed => {}
                () = core.environment.sleep(wait) => {}
            }
        }
    }
}

/// A change that was made in another Region.
pub fn plan(
    target: &Arc<LiveTable>,
    position: Position,
    change: Change,
    origin: Origin,
    version: Version,
) -> Plan {
    let key = Key { space: target.space(), position };
    Plan { origin, version: Some(version), ..Plan::of_client(target.clone(), key, change) }
}

/// Applies changes that were made in another Region. False if there is no throughput left for some of them. What is
/// outdated is left out.
pub async fn apply(core: &Core, target: &Arc<LiveTable>, plans: &mut [Plan]) -> Result<bool, StoreError> {
    let failure = |failure: Failure| match failure {
        Failure::TableGone => {
            StoreError::Unavailable(format!("{} was deleted in the meantime", target.full_name()))
        }
        Failure::Store(error) => error,
    };
    let mut is_done = true;
    for result in write::apply_each(core, None, plans).await.map_err(failure)? {
        match result {
            Ok(_) | Err(WriteError::Refused(Refusal::Outdated)) => {}
            Err(WriteError::Refused(Refusal::Throttled(_))) => is_done = false,
            Err(WriteError::Failed(failed)) => return Err(failure(failed)),
            Err(WriteError::Refused(refusal)) => {
                let text = format!("{}: a change can't be replicated: {refusal:?}", target.full_name());
                return Err(StoreError::Corrupt(text));
            }
        }
    }
    Ok(is_done)
}

/// How far a pair has come. The sender may be on another server, which stores its positions every second.
async fn sent(core: &Core, source: &LiveTable, replica: &Replica) -> Result<Positions, StoreError> {
    match core.replication.pairs.get(source.space(), &replica.region) {
        Some(positions) => Ok(positions),
        None => position::read(core, source, &replica.region).await,
    }
}

/// Whether all changes of a table are in another Region.
pub async fn has_sent_all(core: &Core, source: &LiveTable, replica: &Replica) -> Result<bool, StoreError> {
    let positions = sent(core, source, replica).await?;
    for log in source.log.logs() {
        let sent = positions.get(&log).copied().unwrap_or(position::start(replica));
        if sent < core.store.log_end(log).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The time up to which all changes of a table are in another Region.
pub async fn sent_through_us(
    core: &Core,
    source: &LiveTable,
    replica: &Replica,
    now_us: u64,
) -> Result<u64, StoreError> {
    if has_sent_all(core, source, replica).await? {
        return Ok(now_us);
    }
    let positions = sent(core, source, replica).await?;
    let of_log = |log: Log| positions.get(&log).copied().unwrap_or(position::start(replica)).time_us();
    Ok(source.log.logs().map(of_log).min().unwrap_or(0))
}

/// How far every pair is.
pub async fn status(core: &Core) -> Result<Vec<PairStatus>, StoreError> {
    let mut found = Vec::new();
    for table in core.catalog.all() {
        for replica in table.membership.iter().flat_map(|membership| &membership.replicas) {
            let (pending, oldest_us) = pending(core, &table, replica).await?;
            let now_us = core.environment.now_us();
            found.push(PairStatus {
                namespace: table.namespace.clone(),
                table: table.name.clone(),
                receiving_region: replica.region.clone(),
                pending,
                lag: Duration::from_micros(oldest_us.map_or(0, |oldest_us| now_us.saturating_sub(oldest_us))),
                is_cut: core.replication.links.is_cut(&table.namespace.region, &replica.region),
            });
        }
    }
    found.sort_by(|one, other| {
        let name = |status: &PairStatus| (status.namespace.clone(), status.table.clone());
        name(one).cmp(&name(other)).then_with(|| one.receiving_region.cmp(&other.receiving_region))
    });
    Ok(found)
}

/// How many changes are still to be sent, and the time of the oldest.
async fn pending(
    core: &Core,
    source: &LiveTable,
    replica: &Replica,
) -> Result<(usize, Option<u64>), StoreError> {
    let positions = sent(core, source, replica).await?;
    let (mut count, mut oldest_us): (usize, Option<u64>) = (0, None);
    for log in source.log.logs() {
        let mut after = positions.get(&log).copied().unwrap_or(position::start(replica));
        while count < PENDING_MAX {
            let records = core.store.read_log(log, after, STEP_RECORDS).await?;
            let Some((last, _)) = records.last() else { break };
            after = *last;
            for (position, record) in records {
                if change::Change::decode(record)?.region == *source.namespace.region {
                    count += 1;
                    oldest_us = Some(oldest_us.unwrap_or(u64::MAX).min(position.time_us()));
                }
            }
        }
    }
    Ok((count, oldest_us))
}

fn unversioned(source: &LiveTable) -> StoreError {
    StoreError::Corrupt(format!("{}: a change of a global table has no version", source.full_name()))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
