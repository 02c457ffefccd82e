//! The catalog: which tables there are. It is stored as one row for each table, and held in memory as
//! immutable snapshots, so that a request finds its table without a read.
//!
//! One lock serializes all changes. A change decides from the table's stored row, which it locks, is
//! committed first and shown in memory afterwards. The rows of a dropped table are cleared in the
//! background; its spaces stay on record until that is done, so that a restart can go on with it.
//!
//! If several servers share the store, a change also raises the version of the catalog, and it is acknowledged when
//! the others have it (`members.rs`). Each of them follows: it reads the tables again, and waits for the writes that
//! go by what was replaced.
//!
//! What always holds:
//! - The spaces of a table are distinct, and no other table has them, now or later; except for strong replicas in other
//!   Regions (`base/strong.rs`), which have the same spaces, and in memory the same gate and sizes.
//! - A table that replaces another in memory has the same name, id and space.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use capacity::Learned;
use parking_lot::{Mutex, RwLock};
use store::{
    Consistency, Direction, Key, Log, LogPosition, Member, Range, Read, Space, Store, StoreError, WriteSet,
};
use tokio::sync::Notify;

use crate::Namespace;
use crate::background::Background;
use crate::base::change_log::Shard;
use crate::base::clock::ChangeClock;
use crate::base::rows::delete_rows;
use crate::base::size::Size;
use crate::base::space;
use crate::base::stream::PastStream;
use crate::base::table::Table;
use crate::cluster::members::{CatalogVersion, Members};
use crate::tables::replacement::{self, ChangeOfReplicas, Changed, Homes, Replacement};
use crate::tables::sizes;
use crate::tables::sizes::{Sizes, Tally};
use crate::throughput::admission::{Meter, MeteredTable};
use crate::throughput::insights;
use crate::throughput::usage::Usage;

/// Sizes that one commit stores or removes. A table has at most 26 (its own, 5 of local and 20 of global
/// indexes), so a hundred tables need 3 commits.
const SIZES_PER_COMMIT: usize = 1000;
/// Tries of a cut while tables change: each change takes longer than a cut.
const CUTS_MAX: u32 = 100;
/// Tries of a change whose table has replicas in other Regions than was known. Regions change seldom.
const REPLACEMENTS_MAX: u32 = 10;

type Tables = BTreeMap<Namespace, BTreeMap<String, Arc<LiveTable>>>;

/// All tables of all namespaces.
pub struct Catalog {
    store: Arc<dyn Store>,
    background: Background,
    usage: Arc<Usage>,
    tables: RwLock<Tables>,
    /// The streams that take no more records, until their records are forgotten.
    past_streams: RwLock<Vec<Arc<PastStream>>>,
    /// Held by every change, until it is shown.
    changing: tokio::sync::Mutex<()>,
    clock: Arc<ChangeClock>,
    /// Held while what other servers did is taken up.
    following: tokio::sync::Mutex<()>,
    /// The servers that share the store, if it is shared.
    members: Option<Arc<Members>>,
    /// The version up to which the changes of all servers are shown.
    shown: AtomicU64,
    /// Tables that were replaced or removed, and by which writes may still go. Only if the store is shared.
    replaced: Mutex<Vec<Arc<LiveTable>>>,
}

/// A table in memory.
pub struct LiveTable {
    metered: MeteredTable,
    /// Every write holds it shared. See [`LiveTable::wait_for_writes`].
    pub gate: Arc<tokio::sync::RwLock<()>>,
    /// How much the table and its indexes hold.
    pub sizes: Sizes,
    /// Notified after each commit that recorded changes.
    pub changed: Arc<Notify>,
    /// How many bytes its change records take.
    pub log_bytes: Arc<AtomicU64>,
    /// The table's resource policy, ready to be evaluated.
    pub parsed_policy: Option<Result<iam::Policy, iam::PolicyError>>,
    /// Whether the catalog has replaced or removed it.
    retired: AtomicBool,
}

impl LiveTable {
    /// Whether the catalog has replaced or removed this table. A write that finds so takes the successor.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Waits for the writes that are under way. If the table was replaced before (it was dropped, say, or has
    /// another index), no later write goes by the old one.
    pub async fn wait_for_writes(&self) {
        drop(self.gate.write().await);
    }

    fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

impl std::ops::Deref for LiveTable {
    type Target = MeteredTable;

    fn deref(&self) -> &MeteredTable {
        &self.metered
    }
}

/// Why a table was not created.
pub enum CreateError {
    /// The name is taken.
    Exists,
    Store(StoreError),
}

/// The outcome of a change of a table.
pub enum Replaced {
    Gone,
    Refused,
    Changed(Arc<LiveTable>),
}

/// Why a change refused. It is kept beside the change, so that what carries changes out is compiled once and not for
/// each kind of refusal.
pub struct ChangeRefusal<E>(Arc<Mutex<Option<E>>>);

impl<E> ChangeRefusal<E> {
    /// No refusal yet: one half goes into the change, the other explains its outcome.
    pub fn none() -> (ChangeRefusal<E>, ChangeRefusal<E>) {
        let refusal = Arc::default();
        (ChangeRefusal(Arc::clone(&refusal)), ChangeRefusal(refusal))
    }

    /// What was changed; a refusal is kept.
    pub fn keep<T>(&self, changed: Result<T, E>) -> Option<T> {
        changed.map_err(|refusal| *self.0.lock() = Some(refusal)).ok()
    }

    /// The outcome of the change, with its refusal.
    pub fn explain(&self, replaced: Replaced) -> Option<Result<Arc<LiveTable>, E>> {
        match replaced {
            Replaced::Gone => None,
            Replaced::Refused => Some(Err(self.0.lock().take().expect("the change has said why"))),
            Replaced::Changed(table) => Some(Ok(table)),
        }
    }
}

impl Catalog {
    /// Reads the catalog, and the dropped spaces that were not cleared yet.
    pub async fn load(
        store: Arc<dyn Store>,
        background: Background,
        usage: Arc<Usage>,
        clock: Arc<ChangeClock>,
        members: Option<Arc<Members>>,
    ) -> Result<Catalog, StoreError> {
        let mut tables = Tables::new();
        // Before the tables are read, so that they are at least as new.
        let shown = match &members {
            Some(members) => members.version().await?.number,
            None => 0,
        };
        let sizes = take_sizes(&*store, members.is_some()).await?;
        let unknown = || match members.is_some() {
            // A size that is shared is counted if its row is missing.
            true => Tally::certain(Size::default()),
            false => Tally::uncertain(),
        };
        let stored_tally = |space| sizes.get(&space).map_or_else(unknown, |size| Tally::certain(*size));
        let learned = read_learned(&*store).await?;
        let stored = stored_tables(&*store).await?;
        // In a cluster, a table may have been dropped since it was read.
        if members.is_none() {
            check_dropped(&*store, &stored).await?;
        }
        for table in stored {
            let replica = table.strong_regions().find_map(|region| {
                let namespace = Namespace::new(table.namespace.account.clone(), region);
                tables.get(&namespace)?.get(&table.name).cloned()
            });
            let tally = |space| {
                let known = replica.as_ref().and_then(|replica: &Arc<LiveTable>| replica.sizes.get(space));
                known.cloned().unwrap_or_else(|| stored_tally(space))
            };
            let live = live(table, None, replica.as_deref(), &usage, tally);
            live.meter.resume(&live, |space| learned.get(&space).cloned());
            tables.entry(live.namespace.clone()).or_default().insert(live.name.clone(), live);
        }
        let catalog = Catalog {
            past_streams: RwLock::new(read_past_streams(&*store).await?),
            store,
            background,
            usage,
            tables: RwLock::new(tables),
            changing: tokio::sync::Mutex::new(()),
            following: tokio::sync::Mutex::new(()),
            clock,
            members,
            shown: AtomicU64::new(shown),
            replaced: Mutex::default(),
        };
        if let Some(members) = &catalog.members {
            members.say_seen(shown).await?;
        }
        Ok(catalog)
    }

    /// The dropped spaces that are to be cleared.
    pub async fn dropped_spaces(&self) -> Result<Vec<Space>, StoreError> {
        let mut dropped = Vec::new();
        for (sort, row) in rows(&*self.store, space::SPACES).await? {
            let Some(space) = space::dropped_by(&sort) else { continue };
            // A space that a server uses for a job is cleared by that server.
            if let (Some(members), false) = (&self.members, row.is_empty())
                && members.contains(Member(space::decode_number(&row)?)).await?
            {
                continue;
            }
            dropped.push(space?);
        }
        Ok(dropped)
    }

    /// Shows what other servers have stored. Returns the version up to which it is shown.
    async fn reload(&self, members: &Members) -> Result<CatalogVersion, StoreError> {
        let _changing = self.changing.lock().await;
        let version = members.version().await?;
        if version.number <= self.shown.load(Ordering::Acquire) {
            return Ok(version);
        }
        let mut stored: HashSet<(Namespace, String)> = HashSet::new();
        for (_, row) in rows(&*self.store, space::TABLES).await? {
            let table = decode_table(&row)?;
            let current = self.find(&table.namespace, &table.name);
            stored.insert((table.namespace.clone(), table.name.clone()));
            if current.is_none_or(|current| encode(&current.table) != row) {
                self.clock.pass(table.log.last_time_us());
                self.show(self.following(table));
            }
        }
        for table in self.all() {
            if !stored.contains(&(table.namespace.clone(), table.name.clone())) {
                self.hide(&table.namespace, &table.name);
            }
        }
        *self.past_streams.write() = read_past_streams(&*self.store).await?;
        self.shown.store(version.number, Ordering::Release);
        Ok(version)
    }

    /// Takes up what other servers have stored: shows it, waits for the writes that go by what it replaced, stops
    /// those to a table that is frozen, and says so.
    pub async fn follow(&self) -> Result<(), StoreError> {
        let Some(members) = &self.members else { return Ok(()) };
        // One after the other: an older version must not be taken up behind a newer one.
        let _following = self.following.lock().await;
        let version = self.reload(members).await?;
        self.wait_for_replaced(members).await?;
        let table = |space| self.all().into_iter().find(|table| table.space() == space);
        let frozen = members.follow_freeze(version, |space| Some(table(space)?.gate.clone())).await?;
        members.cluster().settle().await?;
        if let Some(table) = frozen.and_then(table) {
            sizes::share(&*self.store, std::slice::from_ref(&table)).await?;
            table.sizes.forget_growth();
        }
        members.say_seen(version.number).await
    }

    /// Waits for the writes that go by tables that are shown no more.
    async fn wait_for_replaced(&self, members: &Members) -> Result<(), StoreError> {
        let replaced = self.replaced.lock().clone();
        // The gate of a table that another server has frozen is held here: it has no writes under way.
        let frozen = members.frozen_here().await;
        for table in replaced.iter().filter(|table| Some(table.space()) != frozen) {
            table.wait_for_writes().await;
        }
        members.cluster().settle().await?;
        self.replaced.lock().retain(|table| !replaced.iter().any(|done| Arc::ptr_eq(done, table)));
        Ok(())
    }

    /// Waits for the writes that are under way to the table, if there is one, and on all servers for those that go
    /// by an older state of the catalog than the one that is shown here.
    pub async fn wait_for_writes(&self, table: Option<&LiveTable>) -> Result<(), StoreError> {
        if let Some(table) = table {
            table.wait_for_writes().await;
        }
        let Some(members) = &self.members else { return Ok(()) };
        let version = self.reload(members).await?;
        self.wait_for_replaced(members).await?;
        members.pass(version.number).await
    }

    /// A time that divides the changes of a table on all servers.
    pub async fn cut(&self, members: &Members, table: &Table, now_us: u64) -> Result<u64, StoreError> {
        for _ in 0..CUTS_MAX {
            let version = self.reload(members).await?;
            let table = self.find(&table.namespace, &table.name).filter(|found| found.id == table.id);
            let Some(table) = table else { return Ok(now_us) };
            let time_us = now_us.max(self.last_change_us(&table).await?);
            let logs: Vec<Log> = table.log.logs().collect();
            members.cluster().raise_logs(&logs, time_us).await?;
            self.clock.pass(time_us);
            // A table that has changed may have another log, which was not raised.
            if members.version().await?.number == version.number {
                return Ok(time_us);
            }
        }
        Err(StoreError::Unavailable("tables change all the time".to_owned()))
    }

    /// The keys of a change, and that of the version if other servers follow.
    fn with_version(&self, mut keys: Vec<Key>) -> Vec<Key> {
        keys.extend(self.members.as_ref().map(|_| space::version_key()));
        keys
    }

    /// Raises the version in the commit of a change, if other servers follow. `rows` are those of
    /// [`Catalog::with_version`].
    fn raise_version(
        &self,
        rows: &[Option<Bytes>],
        writes: &mut WriteSet,
    ) -> Result<Option<u64>, StoreError> {
        if self.members.is_none() || writes.is_empty() {
            return Ok(None);
        }
        let version = CatalogVersion::decode(rows.last().expect("the version comes last"))?.next();
        writes.puts.push((space::version_key(), version.encode()));
        Ok(Some(version.number))
    }

    /// Waits until the other servers have a change. `changing` was held since before its commit.
    async fn pass(
        &self,
        raised: Option<u64>,
        changing: tokio::sync::MutexGuard<'_, ()>,
    ) -> Result<(), StoreError> {
        let (Some(members), Some(number)) = (&self.members, raised) else { return Ok(()) };
        // If others changed something in between, following finds it.
        let _ = self.shown.compare_exchange(number - 1, number, Ordering::AcqRel, Ordering::Acquire);
        drop(changing);
        members.pass(number).await
    }

    /// The table of this name.
    pub fn find(&self, namespace: &Namespace, name: &str) -> Option<Arc<LiveTable>> {
        self.tables.read().get(namespace)?.get(name).cloned()
    }

    /// The same table as it is now, unless it was dropped.
    pub fn successor(&self, table: &LiveTable) -> Option<Arc<LiveTable>> {
        let successor = self.find(&table.namespace, &table.name).filter(|other| other.id == table.id)?;
        assert_eq!(successor.space(), table.space(), "a table keeps its space");
        Some(successor)
    }

    /// Up to `limit` names after `after`, in order.
    pub fn names(&self, namespace: &Namespace, after: Option<&str>, limit: usize) -> Vec<String> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = self.tables.read();
        let Some(tables) = tables.get(namespace) else { return Vec::new() };
        tables.range::<str, _>((start, Bound::Unbounded)).take(limit).map(|(name, _)| name.clone()).collect()
    }

    /// Whether the namespace has tables.
    pub fn has_tables(&self, namespace: &Namespace) -> bool {
        self.tables.read().get(namespace).is_some_and(|tables| !tables.is_empty())
    }

    /// Every table of every namespace.
    pub fn all(&self) -> Vec<Arc<LiveTable>> {
        self.tables.read().values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Every table once: of strong replicas, which have the same rows, the one that stands for all.
    pub fn all_rows_once(&self) -> Vec<Arc<LiveTable>> {
        self.tables_with(|table| table.stands_for_rows())
    }

    /// The tables for which this is so.
    pub fn tables_with(&self, is_so: impl Fn(&LiveTable) -> bool) -> Vec<Arc<LiveTable>> {
        let tables = self.tables.read();
        tables.values().flat_map(BTreeMap::values).filter(|table| is_so(table)).cloned().collect()
    }

    /// The time of the last change of a table that was recorded.
    pub async fn last_change_us(&self, table: &Table) -> Result<u64, StoreError> {
        let mut last_us = 0;
        for log in table.log.logs() {
            last_us = last_us.max(self.store.log_end(log).await?.time_us());
        }
        Ok(last_us)
    }

    /// The streams that take no more records and can still be read.
    pub fn past_streams(&self) -> Vec<Arc<PastStream>> {
        self.past_streams.read().clone()
    }

    /// Forgets the streams that were closed before this time.
    pub async fn forget_past_streams(&self, time_us: u64) -> Result<(), StoreError> {
        // Other servers need no notice of it: the streams that they still list have no records.
        let _changing = self.changing.lock().await;
        let old = |stream: &&Arc<PastStream>| stream.closed_us < time_us;
        let forgotten: Vec<Arc<PastStream>> = self.past_streams().iter().filter(old).cloned().collect();
        for stream in forgotten {
            let key = space::past_stream_key(&stream);
            let drop_logs = || self.logs_left_by(&stream).map(|log| (space::drop_log_key(log), Bytes::new()));
            self.store
                .update(std::slice::from_ref(&key), &mut |_| WriteSet {
                    puts: drop_logs().collect(),
                    deletes: vec![key.clone()],
                    ..WriteSet::default()
                })
                .await?;
            self.past_streams.write().retain(|other| !Arc::ptr_eq(other, &stream));
        }
        Ok(())
    }

    /// The logs of a past stream that nothing else uses.
    fn logs_left_by(&self, stream: &Arc<PastStream>) -> impl Iterator<Item = Log> {
        let mut used: HashSet<Log> = HashSet::new();
        for other in self.past_streams().iter().filter(|other| !Arc::ptr_eq(other, stream)) {
            used.extend(other.shards.iter().map(Shard::log));
        }
        for table in self.all() {
            used.extend(table.log.logs());
        }
        let mut left: Vec<Log> =
            stream.shards.iter().map(Shard::log).filter(|log| !used.contains(log)).collect();
        left.sort_unstable();
        left.dedup();
        left.into_iter()
    }

    /// Removes the records of logs that belong to no table and no stream any more.
    pub async fn trim_dropped_logs(&self) -> Result<(), StoreError> {
        let rows = rows(&*self.store, space::SPACES).await?;
        for log in rows.iter().filter_map(|(sort, _)| space::log_dropped_by(sort)) {
            let log = log?;
            self.store.trim_log(log, LogPosition(u64::MAX)).await?;
            let key = space::drop_log_key(log);
            let mut forget =
                |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
            self.store.update(std::slice::from_ref(&key), &mut forget).await?;
        }
        Ok(())
    }

    /// Creates a table. `make` is called with the first of the spaces that it may use.
    pub async fn create(
        self: &Arc<Catalog>,
        namespace: &Namespace,
        name: &str,
        make: impl Fn(Space) -> Table + Send + Sync + 'static,
    ) -> Result<Arc<LiveTable>, CreateError> {
        let (catalog, key) = (self.clone(), space::table_key(namespace, name));
        let create = async move {
            let changing = catalog.changing.lock().await;
            let keys = catalog.with_version(vec![key, space::next_key()]);
            let mut made = None;
            let mut decide = |rows: &[Option<Bytes>]| {
                made = None;
                if rows[0].is_some() {
                    return WriteSet::default();
                }
                let create = || {
                    let table = make(next_space(&rows[1])?);
                    let mut puts = vec![
                        (keys[0].clone(), encode_table(&table)),
                        (keys[1].clone(), space::encode_number(table.numbers_end())),
                    ];
                    if catalog.members.is_some() {
                        puts.extend(table.spaces().map(|space| (space::size_key(space), sizes::empty_row())));
                    }
                    let mut writes = WriteSet { puts, ..WriteSet::default() };
                    let raised = catalog.raise_version(rows, &mut writes)?;
                    Ok::<_, StoreError>((table, raised, writes))
                };
                let (created, writes) = match create() {
                    Ok((table, raised, writes)) => (Ok((table, raised)), writes),
                    Err(error) => (Err(error), WriteSet::default()),
                };
                made = Some(created);
                writes
            };
            catalog.store.update(&keys, &mut decide).await.map_err(CreateError::Store)?;
            let (table, raised) = made.ok_or(CreateError::Exists)?.map_err(CreateError::Store)?;
            let live = live(table, None, None, &catalog.usage, |_| Tally::certain(Size::default()));
            let shown = catalog.show(live);
            catalog.pass(raised, changing).await.map_err(CreateError::Store)?;
            Ok(shown)
        };
        self.background
            .carry_through("creation of a table", name, create)
            .await
            .map_err(CreateError::Store)?
    }

    /// Replaces a table by a changed copy of its stored row; `None` if it is gone. `change` may refuse. It is
    /// called with the table and a space that no table has used.
    pub async fn replace<E: Send + 'static>(
        self: &Arc<Catalog>,
        namespace: &Namespace,
        name: &str,
        change: impl Fn(&Table, Space) -> Result<Table, E> + Send + Sync + 'static,
    ) -> Result<Option<Result<Arc<LiveTable>, E>>, StoreError> {
        let (refusal, refused) = ChangeRefusal::none();
        let change = replacement::of_all(move |table, unused| refused.keep(change(table, unused)));
        Ok(refusal.explain(self.replace_boxed(namespace, name, Vec::new(), change).await?))
    }

    /// [`Catalog::replace`], compiled once and not for each kind of change. The change may make strong replicas in new
    /// Regions.
    pub async fn replace_boxed(
        self: &Arc<Catalog>,
        namespace: &Namespace,
        name: &str,
        new_regions: Vec<String>,
        change: Box<ChangeOfReplicas>,
    ) -> Result<Replaced, StoreError> {
        let (catalog, namespace, table) = (self.clone(), namespace.clone(), name.to_owned());
        let replace = async move {
            let mut regions = catalog.strong_regions(&namespace, &table);
            for _ in 0..REPLACEMENTS_MAX {
                let unknown = new_regions.iter().filter(|region| !regions.contains(region));
                let others = regions.iter().chain(unknown);
                let others = others.map(|region| Namespace::new(namespace.account.clone(), &**region));
                let homes = Homes {
                    table: table.clone(),
                    namespaces: std::iter::once(namespace.clone()).chain(others).collect(),
                    new_regions: new_regions.clone(),
                };
                match catalog.replace_at(&homes, &*change).await? {
                    Ok(replaced) => return Ok(replaced),
                    Err(known) => regions = known,
                }
            }
            Err(StoreError::Unavailable("the Regions of a table change all the time".to_owned()))
        };
        self.background.carry_through("change of a table", name, replace).await?
    }

    /// The Regions of the strong replicas of a table, as it is shown.
    fn strong_regions(&self, namespace: &Namespace, name: &str) -> Vec<String> {
        let table = self.find(namespace, name);
        table.iter().flat_map(|table| table.strong_regions()).map(str::to_owned).collect()
    }

    /// One try of a replacement: the Regions of the replicas, if the table has others than was expected.
    async fn replace_at(
        &self,
        homes: &Homes,
        change: &ChangeOfReplicas,
    ) -> Result<Result<Replaced, Vec<String>>, StoreError> {
        let changing = self.changing.lock().await;
        let keys = self.with_version(homes.keys());
        let mut decided = None;
        let mut decide = |rows: &[Option<Bytes>]| {
            let replace = || {
                let (replacement, mut writes) = homes.decide(rows, change)?;
                let raised = self.raise_version(rows, &mut writes)?;
                Ok::<_, StoreError>((replacement, raised, writes))
            };
            let (decision, writes) = match replace() {
                Ok((replacement, raised, writes)) => (Ok((replacement, raised)), writes),
                Err(error) => (Err(error), WriteSet::default()),
            };
            decided = Some(decision);
            writes
        };
        self.store.update(&keys, &mut decide).await?;
        let (replacement, raised) = decided.expect("the store has called decide")?;
        let replaced = match replacement {
            Replacement::Gone => {
                self.hide(&homes.namespaces[0], &homes.table);
                Replaced::Gone
            }
            Replacement::Refused => Replaced::Refused,
            Replacement::OtherReplicas(regions) => return Ok(Err(regions)),
            Replacement::Changed(changed) => Replaced::Changed(self.show_changed(*changed)),
        };
        self.pass(raised, changing).await?;
        Ok(Ok(replaced))
    }

    /// Shows changed tables. Returns the one that was named.
    fn show_changed(&self, changed: Changed) -> Arc<LiveTable> {
        let Changed { tables, removed, past_streams } = changed;
        self.past_streams.write().extend(past_streams.into_iter().map(Arc::new));
        let shown: Vec<_> = tables.into_iter().map(|table| self.show(self.following(table))).collect();
        for table in removed {
            self.hide(&table.namespace, &table.name);
        }
        shown.into_iter().next().expect("a change keeps the table that was named")
    }

    /// Drops a table if its stored row is as expected. Its rows remain to be cleared.
    pub async fn remove(
        self: &Arc<Catalog>,
        namespace: &Namespace,
        name: &str,
        now_us: u64,
        is_expected: impl Fn(&Table) -> bool + Send + Sync + 'static,
    ) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let (catalog, namespace, table) = (self.clone(), namespace.clone(), name.to_owned());
        let remove = async move {
            let changing = catalog.changing.lock().await;
            let keys = catalog.with_version(vec![space::table_key(&namespace, &table)]);
            let key = &keys[0];
            let mut decided = None;
            let mut decide = |rows: &[Option<Bytes>]| {
                let stored = rows[0].as_deref().map(decode_table).transpose();
                let expected = stored.map(|table| table.map(|table| is_expected(&table).then_some(table)));
                let mut writes = match &expected {
                    Ok(Some(Some(table))) => {
                        let mut puts: Vec<(Key, Bytes)> =
                            table.spaces().map(|space| (space::drop_key(space), Bytes::new())).collect();
                        match stream_of_removed(table, now_us) {
                            Some(stream) => puts.push((space::past_stream_key(&stream), encode(&stream))),
                            None => puts
                                .extend(table.log.logs().map(|log| (space::drop_log_key(log), Bytes::new()))),
                        }
                        WriteSet { puts, deletes: vec![key.clone()], ..WriteSet::default() }
                    }
                    _ => WriteSet::default(),
                };
                let raised = catalog.raise_version(rows, &mut writes);
                if raised.is_err() {
                    writes = WriteSet::default();
                }
                decided = Some(expected.and_then(|expected| Ok((expected, raised?))));
                writes
            };
            catalog.store.update(&keys, &mut decide).await?;
            let (expected, raised) = decided.expect("the store has called decide")?;
            let removed = match expected {
                Some(Some(dropped)) => {
                    catalog.past_streams.write().extend(stream_of_removed(&dropped, now_us).map(Arc::new));
                    let dropped = catalog.following(dropped);
                    catalog.hide(&namespace, &table);
                    Some(dropped)
                }
                Some(None) => None,
                // An earlier try was committed without an answer.
                None => catalog.hide(&namespace, &table),
            };
            catalog.pass(raised, changing).await?;
            Ok(removed)
        };
        self.background.carry_through("removal of a table", name, remove).await?
    }

    /// A new, empty space for a job's own rows. The catalog notes at once that it is to be cleared, so a
    /// restart clears it, or another server when this one is gone; a job that ends clears it itself.
    pub async fn scratch_space(&self) -> Result<Space, StoreError> {
        let _changing = self.changing.lock().await;
        let key = space::next_key();
        let user =
            self.members.as_ref().map_or_else(Bytes::new, |members| space::encode_number(members.own().0));
        let mut taken = None;
        let mut decide = |rows: &[Option<Bytes>]| {
            let next = next_space(&rows[0]);
            let writes = match &next {
                Ok(next) => WriteSet {
                    puts: vec![
                        (key.clone(), space::encode_number(next.0 + 1)),
                        (space::drop_key(*next), user.clone()),
                    ],
                    ..WriteSet::default()
                },
                Err(_) => WriteSet::default(),
            };
            taken = Some(next);
            writes
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await?;
        taken.expect("the store has called decide")
    }

    /// Clears the rows of a dropped table or index and takes its space off the record.
    pub async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let in_use = |table: &Arc<LiveTable>| table.spaces().any(|used| used == space);
        assert!(!self.all().iter().any(in_use), "space {} is in use and must not be cleared", space.0);
        self.store.clear(space).await?;
        delete_rows(&*self.store, &insights::all_rows(space)).await?;
        let keys = [space::drop_key(space), space::learned_key(space), space::size_key(space)];
        self.store.update(&keys, &mut |_| WriteSet { deletes: keys.to_vec(), ..WriteSet::default() }).await
    }

    /// Stores the sizes of tables until the database is next opened.
    pub async fn keep_sizes(&self, tables: &[Arc<LiveTable>]) -> Result<(), StoreError> {
        let sizes: Vec<(Space, Size)> = tables.iter().flat_map(|table| table.sizes.certain()).collect();
        for sizes in sizes.chunks(SIZES_PER_COMMIT) {
            let keys: Vec<Key> = sizes.iter().map(|(space, _)| space::size_key(*space)).collect();
            let rows = || keys.iter().cloned().zip(sizes.iter().map(|(_, size)| encode(size)));
            self.store
                .update(&keys, &mut |_| WriteSet { puts: rows().collect(), ..WriteSet::default() })
                .await?;
        }
        Ok(())
    }

    /// A changed table, with the gate, sizes and throughput of the table that it follows.
    fn following(&self, table: Table) -> Arc<LiveTable> {
        let current = self.find(&table.namespace, &table.name).filter(|current| current.id == table.id);
        if let Some(current) = &current {
            assert_eq!(current.space(), table.space(), "a table keeps its space");
        }
        let same_rows = current.iter().cloned().chain(self.replicas(&table));
        let same_rows: Vec<Arc<LiveTable>> = same_rows.collect();
        let tally = |space| {
            let known = same_rows.iter().find_map(|table| table.sizes.get(space));
            known.cloned().unwrap_or_else(|| match self.members.is_some() {
                true => Tally::certain(Size::default()),
                false => Tally::uncertain(),
            })
        };
        live(table, current.as_deref(), same_rows.first().map(|table| &**table), &self.usage, tally)
    }

    /// The other strong replicas of a table, as far as they are shown.
    pub fn replicas(&self, table: &Table) -> Vec<Arc<LiveTable>> {
        let account = &table.namespace.account;
        let namespaces = table.strong_regions().map(|region| Namespace::new(account.clone(), region));
        let found = namespaces.filter_map(|namespace| self.find(&namespace, &table.name));
        found.filter(|other| other.space() == table.space()).collect()
    }

    fn show(&self, live: Arc<LiveTable>) -> Arc<LiveTable> {
        let mut tables = self.tables.write();
        let tables = tables.entry(live.namespace.clone()).or_default();
        if let Some(replaced) = tables.insert(live.name.clone(), live.clone()) {
            self.retire(replaced);
        }
        live
    }

    fn hide(&self, namespace: &Namespace, name: &str) -> Option<Arc<LiveTable>> {
        let hidden = self.tables.write().get_mut(namespace)?.remove(name)?;
        self.retire(hidden.clone());
        Some(hidden)
    }

    fn retire(&self, table: Arc<LiveTable>) {
        table.retire();
        if self.members.is_some() {
            self.replaced.lock().push(table);
        }
    }
}

/// What is left of the stream of a table that is removed.
fn stream_of_removed(table: &Table, now_us: u64) -> Option<PastStream> {
    let stream = table.stream.as_ref()?;
    let mut log = table.log.clone();
    log.close(now_us);
    Some(PastStream::of(table, stream, &log.shards, now_us))
}

/// The first space that no table has used.
pub fn next_space(row: &Option<Bytes>) -> Result<Space, StoreError> {
    row.as_deref().map_or(Ok(space::FIRST_OF_TABLES), |row| space::decode_number(row).map(Space))
}

/// The first space that no table has used, as far as the catalog knows.
pub async fn unused_space(store: &dyn Read) -> Result<Space, StoreError> {
    next_space(&store.get(&[space::next_key()], Consistency::Latest).await?[0])
}

/// A table in memory. `current` is the same table until now; `same_rows` is that, or a strong replica.
fn live(
    table: Table,
    current: Option<&LiveTable>,
    same_rows: Option<&LiveTable>,
    usage: &Usage,
    tally: impl Fn(Space) -> Arc<Tally>,
) -> Arc<LiveTable> {
    assert_eq!(table.fault_in_spaces(), None, "{}", table.full_name());
    let gate = same_rows.map(|same| same.gate.clone()).unwrap_or_default();
    let sizes = Sizes::new(table.spaces(), tally);
    let meter = match current {
        Some(current) => {
            current.meter.follow(&table, usage.now().ms);
            current.meter.clone()
        }
        None => Arc::new(Meter::new(&table, usage)),
    };
    let changed = same_rows.map(|same| same.changed.clone()).unwrap_or_default();
    let log_bytes = same_rows.map(|same| same.log_bytes.clone()).unwrap_or_default();
    let retired = AtomicBool::new(false);
    let document = table.policy.as_ref().map(|policy| policy.document.as_str());
    let parsed_policy = document.map(|document| iam::Policy::parse(document, iam::PolicyUse::Resource));
    let metered = MeteredTable { table, meter };
    Arc::new(LiveTable { metered, gate, sizes, changed, log_bytes, parsed_policy, retired })
}

/// The sizes that were stored when the database was closed. They are removed, because the next write makes
/// them wrong; those of a store that others share are kept up to date.
async fn take_sizes(store: &dyn Store, is_shared: bool) -> Result<BTreeMap<Space, Size>, StoreError> {
    let mut sizes = BTreeMap::new();
    for (sort, row) in rows(store, space::SPACES).await? {
        if let Some(space) = space::sized_by(&sort) {
            let size = serde_json::from_slice(&row)
                .map_err(|error| StoreError::Corrupt(format!("a size in the catalog: {error}")))?;
            sizes.insert(space?, size);
        }
    }
    if is_shared {
        return Ok(sizes);
    }
    let keys: Vec<Key> = sizes.keys().map(|space| space::size_key(*space)).collect();
    for keys in keys.chunks(SIZES_PER_COMMIT) {
        store.update(keys, &mut |_| WriteSet { deletes: keys.to_vec(), ..WriteSet::default() }).await?;
    }
    Ok(sizes)
}

/// What tables and indexes learned from their traffic.
async fn read_learned(store: &dyn Read) -> Result<HashMap<Space, Learned>, StoreError> {
    let mut learned = HashMap::new();
    for (sort, row) in rows(store, space::SPACES).await? {
        if let Some(space) = space::learned_by(&sort) {
            let corrupt = |error| StoreError::Corrupt(format!("what a table learned: {error}"));
            learned.insert(space?, Learned::decode(&row).map_err(corrupt)?);
        }
    }
    Ok(learned)
}

/// All rows of one of the catalog's spaces. There are few: at most 2,500 tables for each account.
async fn rows(store: &dyn Read, space: Space) -> Result<Vec<(Vec<u8>, Bytes)>, StoreError> {
    let mut rows = Vec::new();
    let range = if space == space::SPACES { space::one_partition(space) } else { Range::all(space) };
    store
        .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, value| {
            rows.push((key.sort.to_vec(), value));
            ControlFlow::Continue(())
        })
        .await?;
    Ok(rows)
}

/// The tables that a store holds.
pub async fn stored_tables(store: &dyn Read) -> Result<Vec<Table>, StoreError> {
    let (mut tables, mut known) = (Vec::new(), HashMap::new());
    for (_, row) in rows(store, space::TABLES).await? {
        let table = decode_table(&row)?;
        // Strong replicas have the same spaces.
        let owner = (table.rows_home(), table.name.clone());
        let is_foreign = |space: &Space| *known.entry(*space).or_insert_with(|| owner.clone()) != owner;
        if let Some(shared) = table.spaces().find(is_foreign) {
            let name = table.full_name();
            return Err(StoreError::Corrupt(format!("{name} shares space {} with another", shared.0)));
        }
        tables.push(table);
    }
    Ok(tables)
}

/// Checks what the catalog holds beside these tables. The store may not have changed since they were read.
pub async fn check_rest(store: &dyn Read, tables: &[Table]) -> Result<(), StoreError> {
    check_dropped(store, tables).await?;
    read_learned(store).await?;
    read_past_streams(store).await?;
    Ok(())
}

/// Checks that no table has a space that is to be cleared.
async fn check_dropped(store: &dyn Read, tables: &[Table]) -> Result<(), StoreError> {
    let used: HashSet<Space> = tables.iter().flat_map(Table::spaces).collect();
    for (sort, _) in rows(store, space::SPACES).await? {
        let Some(dropped) = space::dropped_by(&sort).transpose()? else { continue };
        if used.contains(&dropped) {
            let text = format!("space {} is dropped and still has a table", dropped.0);
            return Err(StoreError::Corrupt(text));
        }
    }
    Ok(())
}

/// A table as its row has it.
pub fn encode_table(table: &Table) -> Bytes {
    assert_eq!(table.fault_in_spaces(), None, "{}", table.full_name());
    encode(table)
}

/// The table that a row holds.
pub fn decode_table(row: &[u8]) -> Result<Table, StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt(format!("a table of the catalog: {reason}"));
    let table: Table = serde_json::from_slice(row).map_err(|error| corrupt(error.to_string()))?;
    match table.fault_in_spaces() {
        None => Ok(table),
        Some(fault) => Err(corrupt(format!("{}: {fault}", table.full_name()))),
    }
}

async fn read_past_streams(store: &dyn Read) -> Result<Vec<Arc<PastStream>>, StoreError> {
    let rows = rows(store, space::PAST_STREAMS).await?;
    rows.iter().map(|(_, row)| decode_past_stream(row).map(Arc::new)).collect()
}

fn decode_past_stream(row: &[u8]) -> Result<PastStream, StoreError> {
    serde_json::from_slice(row)
        .map_err(|error| StoreError::Corrupt(format!("a past stream of the catalog: {error}")))
}

/// A value of the catalog as its row has it.
pub fn encode(value: &impl serde::Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("tables, streams and sizes have only names and numbers"))
}
