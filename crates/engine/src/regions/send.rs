//! Sending a member's changes to another: one job for each pair. It reads the table's log as any reader does, and
//! writes what was changed here to the table there, with the origin *replica*.
//!
//! The items of a transaction arrive one by one, as on AWS, or together if the options say so.
//!
//! Of several changes of an item that are read together, only the last is sent. A member that was away for longer than
//! the log is kept gets all items instead (`copy.rs`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use capacity::metric::Metric;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use store::{Log, LogPosition, Position, Read, Space, StoreError};

use super::copy::Copy;
use super::destination::Destination;
use super::peer::{CHANGES_MAX, MESSAGE_BYTES, News, Peer, Versioned, WHOLE_MESSAGE_BYTES};
use crate::Namespace;
use crate::background::Job;
use crate::base::membership::{Replica, ReplicaState};
use crate::base::origin::Origin;
use crate::base::table::{Table, TableState};
use crate::base::version::Version;
use crate::commit::Change;
use crate::log::position::{self, Positions};
use crate::log::record::ChangeRecord;
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;
use crate::throughput::dimensions::CellSet;

/// Records that are read at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP_RECORDS: usize = 32;
/// Records that are read at once if one commit has more: a transaction has at most 100 items.
const COMMIT_RECORDS: usize = 101;
/// How long a sender rests that has nothing to do. It is woken by changes.
const REST: Duration = Duration::from_secs(1);
/// The same where servers share the store: the writes of other servers wake no sender here.
const SHARED_REST: Duration = Duration::from_millis(200);
/// How long a sender that was woken waits for further changes: several of them cost little more than one.
const GATHER: Duration = Duration::from_millis(10);
/// How long a sender waits for throughput of the other table.
const THROTTLED_REST: Duration = Duration::from_millis(100);
/// How often a peer gets a beat, which says how far its member is.
const BEAT_MS: u64 = 5000;
/// How often positions are stored.
const STORE_INTERVAL_MS: u64 = 1000;
/// Pending changes that are counted; beyond it, the number is at least this.
const PENDING_MAX: usize = 10_000;

/// How far each pair has come, in memory.
#[derive(Default)]
pub struct Pairs {
    positions: Mutex<HashMap<(Space, String), Positions>>,
    /// The pairs whose senders work.
    senders: Mutex<HashSet<PairId>>,
}

/// A pair: the space of the source, the Region that its changes are sent to, and since when.
type PairId = (Space, String, u64);

impl Pairs {
    /// The positions of a pair; none before its sender has begun.
    fn get(&self, source: Space, region: &str) -> Option<Positions> {
        self.positions.lock().get(&(source, region.to_owned())).cloned()
    }

    fn set(&self, source: Space, region: &str, log: Log, position: LogPosition) {
        self.positions.lock().entry((source, region.to_owned())).or_default().insert(log, position);
    }

    fn begin(&self, source: Space, region: &str, positions: Positions) {
        self.positions.lock().insert((source, region.to_owned()), positions);
    }

    /// Forgets a pair that is no more.
    pub fn forget(&self, source: Space, region: &str) {
        self.positions.lock().remove(&(source, region.to_owned()));
    }
}

/// The one sender of a pair, while it works.
struct Working<'a>(&'a Pairs, PairId);

impl Working<'_> {
    /// None if another one does.
    fn begin(pairs: &Pairs, id: PairId) -> Option<Working<'_>> {
        pairs.senders.lock().insert(id.clone()).then(|| Working(pairs, id))
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let (source, region, _) = &self.1;
        // What is in memory counts while the sender works here. Afterwards another server may have it.
        self.0.forget(*source, region);
        self.0.senders.lock().remove(&self.1);
    }
}

/// A record of one of the table's logs.
struct Logged {
    log: Log,
    position: LogPosition,
    record: Bytes,
}

/// A page of a log, and the time up to which it has every commit that it has at all.
async fn read_commits(
    snapshot: &dyn Read,
    log: Log,
    after: LogPosition,
) -> Result<(Vec<(LogPosition, Bytes)>, u64), StoreError> {
    for limit in [STEP_RECORDS, COMMIT_RECORDS] {
        let records = snapshot.read_log(log, after, limit).await?;
        let ends = records.first().zip(records.last());
        match ends.map(|((first, _), (last, _))| (first.time_us(), last.time_us())) {
            Some((first_us, last_us)) if records.len() == limit && first_us < last_us => {
                return Ok((records, last_us - 1));
            }
            // One commit fills the page.
            Some((_, last_us)) if records.len() == limit => {
                if limit == COMMIT_RECORDS {
                    return Ok((records, last_us));
                }
            }
            _ => return Ok((records, u64::MAX)),
        }
    }
    unreachable!("the last page is returned")
}

/// Records in groups of whole commits: as many as go into one message, and one commit at least.
fn groups(records: Vec<Logged>) -> Vec<Vec<Logged>> {
    let mut commits: Vec<Vec<Logged>> = Vec::new();
    for logged in records {
        let time_us = logged.position.time_us();
        match commits.last_mut().filter(|commit| commit[0].position.time_us() == time_us) {
            Some(commit) => commit.push(logged),
            None => commits.push(vec![logged]),
        }
    }
    let size = |records: &[Logged]| records.iter().map(|logged| logged.record.len()).sum::<usize>();
    let mut groups: Vec<Vec<Logged>> = Vec::new();
    for commit in commits {
        let fits = |group: &&mut Vec<Logged>| {
            group.len() + commit.len() <= CHANGES_MAX && size(group) + size(&commit) <= MESSAGE_BYTES
        };
        match groups.last_mut().filter(fits) {
            Some(group) => group.extend(commit),
            None => groups.push(commit),
        }
    }
    groups
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
    regions: Arc<Regions>,
    source: Arc<LiveTable>,
    region: String,
    /// Tells the pair apart from a later one of the same Regions.
    since_us: u64,
    /// When positions were last stored, and which.
    stored: Mutex<(u64, Positions)>,
    /// When the peer last got a beat.
    beat_ms: Mutex<Option<u64>>,
    /// Why the last try failed, if it did.
    obstacle: Mutex<Option<String>>,
}

/// Both tables of a pair, as they are now.
struct Pair {
    source: Arc<LiveTable>,
    replica: Replica,
    /// None while it can't take changes.
    target: Option<Destination>,
}

impl Sender {
    /// From a table to another member.
    pub fn new(regions: Arc<Regions>, source: Arc<LiveTable>, replica: &Replica) -> Sender {
        let (region, since_us) = (replica.region.clone(), replica.since_us);
        let (stored, beat_ms, obstacle) = Default::default();
        Sender { regions, source, region, since_us, stored, beat_ms, obstacle }
    }

    /// None when the pair is no more.
    fn pair(&self) -> Option<Pair> {
        let source = self.regions.catalog.successor(&self.source)?;
        let replica = source.membership.as_ref()?.replica(&self.region)?.clone();
        if replica.since_us != self.since_us {
            return None;
        }
        let target = Destination::of(&self.regions, &source, &self.region);
        let takes_changes = |target: &Destination| match target {
            Destination::There(_) => true,
            Destination::Here(target) => {
                let others = target.membership.as_ref();
                target.state != TableState::Deleting
                    && others.is_some_and(|others| others.replica(&source.namespace.region).is_some())
            }
        };
        let target = target.filter(|target| replica.state != ReplicaState::Deleting && takes_changes(target));
        Some(Pair { target, source, replica })
    }

    /// Sends all that is due. Returns how long it takes until more is.
    async fn send_due(&self, pair: &Pair) -> Result<Duration, StoreError> {
        let Some(target) = &pair.target else { return Ok(REST) };
        if self.regions.is_cut(&pair.source.namespace.region, &self.region).await? {
            // What was sent just before it was cut.
            self.store_positions(&pair.source).await?;
            return Ok(REST);
        }
        if self.needs_copy(pair) {
            self.copy_again(pair, target).await?;
        }
        let wait = match self.regions.replicates_transactions_whole {
            false => {
                let logs = pair.source.log.logs().map(|log| self.send_log(pair, target, log));
                try_join_all(logs).await?.into_iter().min().unwrap_or(REST)
            }
            true => self.send_commits(pair, target).await?,
        };
        if wait >= REST {
            self.set_position(pair, position::CAUGHT_UP, position::caught_up(self.now_us()));
        }
        self.store_positions(&pair.source).await?;
        if let Destination::There(peer) = target {
            self.beat(pair, peer).await?;
        }
        Ok(wait)
    }

    fn now_us(&self) -> u64 {
        self.regions.clock.now_us(&*self.regions.environment)
    }

    fn set_position(&self, pair: &Pair, log: Log, position: LogPosition) {
        self.regions.replication.pairs.set(pair.source.space(), &self.region, log, position);
    }

    /// Whether some changes may never get there by the log.
    fn needs_copy(&self, pair: &Pair) -> bool {
        let known = self.regions.replication.pairs.get(pair.source.space(), &self.region).unwrap_or_default();
        pair.replica.copy_asked_us.is_some() || !position::is_complete(&known, &pair.replica, self.now_us())
    }

    /// Sends all items with their versions, and all deletions. What the log has by then is sent afterwards.
    async fn copy_again(&self, pair: &Pair, target: &Destination) -> Result<(), StoreError> {
        let began_us = self.now_us();
        let mut ends = Vec::new();
        for log in pair.source.log.logs() {
            ends.push((log, self.regions.store.log_end(log).await?));
        }
        let (regions, source, region, origin) =
            (&*self.regions, &pair.source, &*self.region, Origin::Replica);
        Copy { regions, source, target, region, origin }.run().await?;
        ends.into_iter().for_each(|(log, end)| self.set_position(pair, log, end));
        self.set_position(pair, position::CAUGHT_UP, position::caught_up(began_us));
        if pair.replica.copy_asked_us.is_none() {
            return Ok(());
        }
        let (region, asked_us) = (self.region.clone(), pair.replica.copy_asked_us);
        let copied = move |table: &Table, _| {
            let mut table = table.clone();
            let replicas = table.membership.iter_mut().flat_map(|own| &mut own.replicas);
            let done = replicas.filter(|it| it.region == region && it.copy_asked_us == asked_us);
            done.for_each(|replica| replica.copy_asked_us = None);
            Ok::<_, ()>(table)
        };
        self.regions.catalog.replace(&pair.source.namespace, &pair.source.name, copied).await?;
        Ok(())
    }

    /// Tells a peer from time to time how far this member is, and which settings it has if they are newer.
    async fn beat(&self, pair: &Pair, peer: &Arc<dyn Peer>) -> Result<(), StoreError> {
        let (regions, source) = (&self.regions, &pair.source);
        let now_ms = regions.environment.now_ms();
        if self.beat_ms.lock().is_some_and(|beat_ms| now_ms.saturating_sub(beat_ms) < BEAT_MS) {
            return Ok(());
        }
        let now_us = self.now_us();
        let through_us = sent_to_all_us(regions, source, now_us).await?;
        let news = News::Beat { lag_us: now_us.saturating_sub(through_us), now_us };
        let answer = regions.send_news(peer, source, &self.region, news).await?;
        let own_us = source.membership.as_ref().map_or(0, |own| own.settings_us);
        if answer.table.is_some_and(|there| there.is_member && there.settings_us < own_us) {
            let news = News::Settings(Box::new(source.table.clone()));
            regions.send_news(peer, source, &self.region, news).await?;
        }
        *self.beat_ms.lock() = Some(now_ms);
        Ok(())
    }

    /// Notes why a try failed. The same reason is logged once.
    fn note_obstacle(&self, reason: String) {
        let mut obstacle = self.obstacle.lock();
        if obstacle.as_ref() != Some(&reason) {
            tracing::warn!(reason, subject = self.subject(), "changes wait");
            *obstacle = Some(reason);
        }
    }

    async fn send_log(&self, pair: &Pair, target: &Destination, log: Log) -> Result<Duration, StoreError> {
        let (regions, source) = (&*self.regions, &pair.source);
        loop {
            let known = regions.replication.pairs.get(source.space(), &self.region).unwrap_or_default();
            let after = known.get(&log).copied().unwrap_or(position::start(&pair.replica));
            let mut records = regions.store.read_log(log, after, STEP_RECORDS).await?;
            // Asked after reading, so that nothing written after a cut gets across.
            if regions.is_cut(&source.namespace.region, &self.region).await? {
                return Ok(REST);
            }
            let read = records.len();
            let next = self.keep_due(&mut records, |(position, _)| *position);
            if let Some((last, _)) = records.last() {
                let last = *last;
                if !self.send(pair, target, records).await? {
                    return Ok(THROTTLED_REST);
                }
                self.set_position(pair, log, last);
                regions.replication.sent.notify_waiters();
            }
            if let Some(next) = next {
                return Ok(next);
            }
            if read < STEP_RECORDS {
                return Ok(REST);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Leaves the records whose delay is over. Returns how long the next one has to wait.
    fn keep_due<T>(&self, records: &mut Vec<T>, position: impl Fn(&T) -> LogPosition) -> Option<Duration> {
        let delay_us = micros(self.regions.replication_delay);
        // Without a delay, the clock does not matter: positions may be a little ahead of it.
        if delay_us == 0 {
            return None;
        }
        let now_us = self.regions.environment.now_us();
        let due_us = |record: &T| position(record).time_us() + delay_us;
        let due = records.iter().take_while(|record| due_us(record) <= now_us).count();
        let next = records.get(due).map(|record| due_us(record) - now_us);
        records.truncate(due);
        next.map(Duration::from_micros)
    }

    /// Sends all changes of a commit together, whichever logs they are in. Several small commits are sent as one.
    ///
    /// A snapshot has a commit with all its records or with none, and all have the same time. Where a page ends, its last
    /// commit may go on: that one waits for the next page.
    async fn send_commits(&self, pair: &Pair, target: &Destination) -> Result<Duration, StoreError> {
        let (regions, source) = (&*self.regions, &pair.source);
        loop {
            let known = regions.replication.pairs.get(source.space(), &self.region).unwrap_or_default();
            let snapshot = regions.store.snapshot().await?;
            let (mut records, mut through_us) = (Vec::new(), u64::MAX);
            for log in source.log.logs() {
                let after = known.get(&log).copied().unwrap_or(position::start(&pair.replica));
                let (read, end_us) = read_commits(&*snapshot, log, after).await?;
                through_us = through_us.min(end_us);
                records.extend(read.into_iter().map(|(position, record)| Logged { log, position, record }));
            }
            drop(snapshot);
            // Asked after reading, so that nothing written after a cut gets across.
            if regions.is_cut(&source.namespace.region, &self.region).await? {
                return Ok(REST);
            }
            records.retain(|logged| logged.position.time_us() <= through_us);
            records.sort_by_key(|logged| logged.position);
            let next = self.keep_due(&mut records, |logged| logged.position);
            for group in groups(records) {
                let mut ends = Positions::new();
                ends.extend(group.iter().map(|logged| (logged.log, logged.position)));
                let records = group.into_iter().map(|logged| (logged.position, logged.record)).collect();
                if !self.send_together(pair, target, records).await? {
                    return Ok(THROTTLED_REST);
                }
                ends.into_iter().for_each(|(log, end)| self.set_position(pair, log, end));
                regions.replication.sent.notify_waiters();
            }
            match next {
                Some(next) => return Ok(next),
                None if through_us == u64::MAX => return Ok(REST),
                None => tokio::task::yield_now().await,
            }
        }
    }

    /// Applies changes in one commit of the other Region. False if there is no throughput left for them.
    async fn send_together(
        &self,
        pair: &Pair,
        target: &Destination,
        records: Vec<(LogPosition, Bytes)>,
    ) -> Result<bool, StoreError> {
        let (changes, times) = self.changes(pair, records)?;
        let bytes: usize = changes.iter().map(Versioned::size).sum();
        let is_done = match changes.is_empty() {
            true => true,
            // More than one message can hold is sent one by one.
            false if changes.len() > CHANGES_MAX || bytes > WHOLE_MESSAGE_BYTES => {
                target.deliver(&self.regions, &pair.source, &self.region, changes, Origin::Replica).await?
            }
            false => target.deliver_together(&self.regions, &pair.source, &self.region, changes).await?,
        };
        if is_done {
            self.note_latency(pair, times);
        }
        Ok(is_done)
    }

    /// Applies changes in the other Region. False if there is no throughput left for some of them.
    async fn send(
        &self,
        pair: &Pair,
        target: &Destination,
        records: Vec<(LogPosition, Bytes)>,
    ) -> Result<bool, StoreError> {
        let (changes, times) = self.changes(pair, records)?;
        if changes.is_empty() {
            return Ok(true);
        }
        let is_done =
            target.deliver(&self.regions, &pair.source, &self.region, changes, Origin::Replica).await?;
        if is_done {
            self.note_latency(pair, times);
        }
        Ok(is_done)
    }

    /// The last change of each item that was made here, and the times of these changes.
    fn changes(
        &self,
        pair: &Pair,
        records: Vec<(LogPosition, Bytes)>,
    ) -> Result<(Vec<Versioned>, Vec<u64>), StoreError> {
        let mut latest: BTreeMap<Position, (LogPosition, ChangeRecord)> = BTreeMap::new();
        for (position, record) in records {
            let change = ChangeRecord::decode(record)?;
            // What was made elsewhere is sent from there.
            if change.region == *pair.source.namespace.region {
                let key = pair.source.keys.position(change.image().as_ref());
                latest.insert(key, (position, change));
            }
        }
        let times: Vec<u64> = latest.values().map(|(position, _)| position.time_us()).collect();
        let mut changes = Vec::with_capacity(latest.len());
        for (at, (_, change)) in latest {
            let time_us = change.version_us.ok_or_else(|| unversioned(&pair.source))?;
            let version = Version { time_us, region: change.region };
            let change = match change.new {
                Some(item) => Change::Put(item),
                None => {
                    let key_attributes = change.old.map(|old| pair.source.keys.pick(old.as_ref()));
                    Change::Delete { key_attributes: key_attributes.unwrap_or_default() }
                }
            };
            changes.push(Versioned { at, change, version });
        }
        Ok((changes, times))
    }

    fn note_latency(&self, pair: &Pair, times: Vec<u64>) {
        if self.regions.usage.is_off() || times.is_empty() {
            return;
        }
        let (now_us, now_ms) = (self.regions.environment.now_us(), self.regions.usage.now().ms);
        let latency =
            |time_us: u64| (Metric::ReplicationLatency, now_us.saturating_sub(time_us) as f64 / 1000.0);
        let latencies: Vec<(Metric, f64)> = times.into_iter().map(latency).collect();
        pair.source.meter.figures.add(CellSet::Replica(&self.region), &latencies, now_ms);
    }

    /// Stores how far it is, at most once in a while. Other servers go by it, and a member that leaves waits for it:
    /// then it is stored at once.
    async fn store_positions(&self, source: &LiveTable) -> Result<(), StoreError> {
        let now_ms = self.regions.environment.now_ms();
        let (stored_ms, stored) = self.stored.lock().clone();
        let is_awaited = source.state == TableState::Deleting || self.regions.members.is_some();
        if !is_awaited && now_ms.saturating_sub(stored_ms) < STORE_INTERVAL_MS {
            return Ok(());
        }
        let known = self.regions.replication.pairs.get(source.space(), &self.region);
        let Some(positions) = known.filter(|positions| *positions != stored) else { return Ok(()) };
        position::write(&self.regions, source, &self.region, &positions).await?;
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
        let regions = &*self.regions;
        let id = (self.source.space(), self.region.clone(), self.since_us);
        let Some(_working) = Working::begin(&regions.replication.pairs, id) else { return Ok(()) };
        if let Some(pair) = self.pair() {
            let positions = position::read(regions, &pair.source, &self.region).await?;
            regions.replication.pairs.begin(pair.source.space(), &self.region, positions);
        }
        loop {
            // Made before the work, so that no change is missed in between.
            let (members_changed, table_changed) =
                (regions.replication.changed.notified(), self.source.changed.clone().notified_owned());
            let Some(pair) = self.pair() else { return Ok(()) };
            let wait = match self.send_due(&pair).await {
                Ok(wait) => {
                    *self.obstacle.lock() = None;
                    wait
                }
                // However long a peer is away, its changes wait for it.
                Err(StoreError::Unavailable(reason))
                    if matches!(pair.target, Some(Destination::There(_))) =>
                {
                    self.note_obstacle(reason);
                    REST
                }
                Err(error) => return Err(error),
            };
            let wait = if regions.members.is_some() { wait.min(SHARED_REST) } else { wait };
            tokio::select! {
                biased;
                () = members_changed => {}
                () = table_changed => regions.environment.sleep(GATHER).await,
                () = regions.environment.sleep(wait) => {}
            }
        }
    }
}

/// How far a pair has come. The sender may be on another server, which stores its positions when it has sent something.
async fn sent(regions: &Regions, source: &LiveTable, replica: &Replica) -> Result<Positions, StoreError> {
    match regions.replication.pairs.get(source.space(), &replica.region) {
        Some(positions) => Ok(positions),
        None => position::read(regions, source, &replica.region).await,
    }
}

/// Whether all changes of a table are in another Region.
pub async fn has_sent_all(
    regions: &Regions,
    source: &LiveTable,
    replica: &Replica,
) -> Result<bool, StoreError> {
    let positions = sent(regions, source, replica).await?;
    for log in source.log.logs() {
        let sent = positions.get(&log).copied().unwrap_or(position::start(replica));
        if position::has_more(regions, log, sent).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The time up to which all changes of a table are in another Region.
pub async fn sent_through_us(
    regions: &Regions,
    source: &LiveTable,
    replica: &Replica,
    now_us: u64,
) -> Result<u64, StoreError> {
    if has_sent_all(regions, source, replica).await? {
        return Ok(now_us);
    }
    let positions = sent(regions, source, replica).await?;
    let of_log = |log: Log| positions.get(&log).copied().unwrap_or(position::start(replica)).time_us();
    Ok(source.log.logs().map(of_log).min().unwrap_or(0))
}

/// The time up to which all changes of a table are in every other Region.
pub async fn sent_to_all_us(regions: &Regions, source: &LiveTable, now_us: u64) -> Result<u64, StoreError> {
    let mut through_us = now_us;
    for replica in source.membership.iter().flat_map(|membership| &membership.replicas) {
        through_us = through_us.min(sent_through_us(regions, source, replica, now_us).await?);
    }
    Ok(through_us)
}

/// How far every pair is.
pub async fn status(regions: &Regions) -> Result<Vec<PairStatus>, StoreError> {
    let mut found = Vec::new();
    for table in regions.catalog.all() {
        for replica in table.membership.iter().flat_map(|membership| &membership.replicas) {
            let (pending, oldest_us) = pending(regions, &table, replica).await?;
            let now_us = regions.environment.now_us();
            found.push(PairStatus {
                namespace: table.namespace.clone(),
                table: table.name.clone(),
                receiving_region: replica.region.clone(),
                pending,
                lag: Duration::from_micros(oldest_us.map_or(0, |oldest_us| now_us.saturating_sub(oldest_us))),
                is_cut: regions.is_cut(&table.namespace.region, &replica.region).await?,
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
    regions: &Regions,
    source: &LiveTable,
    replica: &Replica,
) -> Result<(usize, Option<u64>), StoreError> {
    let (mut count, mut oldest_us): (usize, Option<u64>) = (0, None);
    visit_pending(regions, source, replica, &mut |position, _| {
        count += 1;
        oldest_us = Some(oldest_us.unwrap_or(u64::MAX).min(position.time_us()));
    })
    .await?;
    Ok((count, oldest_us))
}

/// How many changes are still to be sent, and the keys of the first of them, as DynamoDB JSON.
pub async fn pending_keys(
    regions: &Regions,
    source: &LiveTable,
    replica: &Replica,
    keys_max: usize,
) -> Result<(usize, Vec<String>), StoreError> {
    let (mut count, mut keys) = (0, BTreeSet::new());
    visit_pending(regions, source, replica, &mut |_, change| {
        count += 1;
        if keys.len() < keys_max {
            let mut json = Vec::new();
            item::json::write_item(source.keys.pick(change.image().as_ref()).as_ref(), &mut json);
            keys.insert(String::from_utf8_lossy(&json).into_owned());
        }
    })
    .await?;
    Ok((count, keys.into_iter().collect()))
}

/// Visits the changes that are still to be sent, at most as many as are counted.
async fn visit_pending(
    regions: &Regions,
    source: &LiveTable,
    replica: &Replica,
    visit: &mut (dyn FnMut(LogPosition, &ChangeRecord) + Send),
) -> Result<(), StoreError> {
    let positions = sent(regions, source, replica).await?;
    let mut count = 0;
    for log in source.log.logs() {
        let mut after = positions.get(&log).copied().unwrap_or(position::start(replica));
        while count < PENDING_MAX {
            let records = regions.store.read_log(log, after, STEP_RECORDS).await?;
            let Some((last, _)) = records.last() else { break };
            after = *last;
            for (position, record) in records {
                let change = ChangeRecord::decode(record)?;
                if change.region == *source.namespace.region {
                    count += 1;
                    visit(position, &change);
                }
            }
        }
    }
    Ok(())
}

fn unversioned(source: &LiveTable) -> StoreError {
    StoreError::Corrupt(format!("{}: a change of a global table has no version", source.full_name()))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
