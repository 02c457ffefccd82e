//! The servers that share one store: who they are, which version of the catalog each goes by, and which of them
//! runs a job. A store that belongs to one process has no members, and nothing here is asked.
//!
//! - Each server is a member: a row with a number that it raises while it lives (its beat), and the version of the
//!   catalog up to which no write of it goes by anything older (what it has seen).
//! - Every change of the catalog raises the version in its own commit. It is acknowledged when every other member
//!   has seen it ([`Members::pass`]).
//! - A table can be frozen: every member stops its writes, waits for those under way and says so. Then the one who
//!   asked changes the table between writes, as if there were no other server.
//! - A member whose beat does not change for a while is expelled: the store takes no more writes from it. That
//!   server notices, stops and joins again, with nothing in memory from before.
//! - A lease is a row with the number of the member that runs a job. It has no end of its own: it can be taken when
//!   its holder is no member any more. So a job that lost its lease cannot write either.
//!
//! Reads are not fenced by the store. A server whose last beat is too old answers no request until a new one
//! succeeds, before others may expel it: that compares times of one clock, never the clocks of two machines.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::{Cluster, Consistency, Direction, Key, Member, Space, Store, StoreError, WriteSet};
use tokio::sync::{Notify, OwnedRwLockWriteGuard, watch};

use crate::Environment;
use crate::base::space;

/// How long a change waits until all others have seen it, or until it can freeze a table. Writes end sooner.
const PASS_WAIT: Duration = Duration::from_secs(60);
/// How long an answer to a client waits for other servers: far longer than a running one takes to look.
const AGREEMENT_WAIT: Duration = Duration::from_secs(1);
/// How long a server goes on answering after a beat, in parts of the time after which it is expelled.
const SILENT_PARTS: u32 = 3;
const CURRENT_PARTS: u32 = 2;
/// Beats in the time after which a silent member is expelled.
const BEATS: u32 = 6;

/// This server among those that share the store.
pub struct Members {
    store: Arc<dyn Store>,
    environment: Arc<dyn Environment>,
    own: Member,
    /// How often a server looks for a new version.
    pub(crate) poll: Duration,
    /// A member that shows no new beat for so long is expelled.
    silence: Duration,
    /// When the last beat that succeeded began, by the clock that never goes back.
    beat_at: Mutex<Duration>,
    /// Held while a request renews the beat. When the last such try failed, by the same clock.
    renewal_failed_at: tokio::sync::Mutex<Option<Duration>>,
    others: Mutex<Others>,
    /// The version that this server said to have seen.
    seen: AtomicU64,
    /// The gate of the table that another member has frozen.
    frozen: tokio::sync::Mutex<Option<FrozenHere>>,
    /// Held while this server has a table frozen.
    freezing: tokio::sync::Mutex<()>,
    leases: Mutex<Leases>,
    /// Notified when a job here ends.
    lease_free: Notify,
    /// True when this server was expelled.
    lost: watch::Sender<bool>,
}

struct FrozenHere {
    space: Space,
    _gate: OwnedRwLockWriteGuard<()>,
}

/// What is known of the other members.
#[derive(Default)]
struct Others {
    /// Their last beats, and since when they are known.
    beats: BTreeMap<Member, (u64, Duration)>,
    looked_at: Duration,
}

/// The leases of this server.
#[derive(Default)]
struct Leases {
    held: HashSet<String>,
    /// Those whose jobs run at the moment.
    running: HashSet<String>,
}

/// The version of the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogVersion {
    pub number: u64,
    pub frozen: Option<Frozen>,
}

/// The table whose writes have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    space: u64,
    by: u64,
}

impl CatalogVersion {
    /// The version that a row holds.
    pub fn decode(row: &Option<Bytes>) -> Result<CatalogVersion, StoreError> {
        let Some(row) = row else { return Ok(CatalogVersion::default()) };
        serde_json::from_slice(row)
            .map_err(|error| StoreError::Corrupt(format!("the version of the catalog: {error}")))
    }

    /// The next one.
    pub fn next(self) -> CatalogVersion {
        CatalogVersion { number: self.number + 1, ..self }
    }

    /// The row that holds it.
    pub fn encode(self) -> Bytes {
        encode(&self)
    }
}

/// What changed about other members since the last look.
pub struct Watched {
    pub is_any_gone: bool,
    /// This server expelled one: it did not leave by itself.
    pub is_any_expelled: bool,
    /// How many there are, this server among them.
    pub count: u32,
}

/// What a member says of itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct MemberRow {
    beat: u64,
    seen: u64,
}

/// A job that runs here under its lease.
pub struct RunningLease<'a> {
    members: &'a Members,
    name: &'a str,
}

impl Drop for RunningLease<'_> {
    fn drop(&mut self) {
        self.members.leases.lock().running.remove(self.name);
        self.members.lease_free.notify_waiters();
    }
}

impl Members {
    /// Joins the servers that share the store; none if the store belongs to one process.
    pub async fn join(
        store: &Arc<dyn Store>,
        environment: &Arc<dyn Environment>,
        poll: Duration,
        silence: Duration,
    ) -> Result<Option<Arc<Members>>, StoreError> {
        let Some(cluster) = store.cluster() else { return Ok(None) };
        let began = environment.uptime();
        let own = cluster.join().await?;
        let members = Members {
            store: store.clone(),
            environment: environment.clone(),
            own,
            poll,
            silence,
            beat_at: Mutex::new(began),
            renewal_failed_at: tokio::sync::Mutex::default(),
            others: Mutex::default(),
            seen: AtomicU64::new(0),
            frozen: tokio::sync::Mutex::default(),
            freezing: tokio::sync::Mutex::default(),
            leases: Mutex::default(),
            lease_free: Notify::new(),
            lost: watch::Sender::new(false),
        };
        let key = space::member_key(own);
        let mut put = |_: &[Option<Bytes>]| WriteSet {
            puts: vec![(key.clone(), encode(&MemberRow::default()))],
            ..WriteSet::default()
        };
        store.update(std::slice::from_ref(&key), &mut put).await?;
        Ok(Some(Arc::new(members)))
    }

    /// What the store offers to several servers.
    pub fn cluster(&self) -> &dyn Cluster {
        self.store.cluster().expect("a store with members is shared")
    }

    /// The number of this server.
    pub fn own(&self) -> Member {
        self.own
    }

    /// Leaves the others: they need not wait for this server any more.
    pub async fn leave(&self) -> Result<(), StoreError> {
        // Commits go on whose requests were cut off. They go by the tables that this server knows.
        self.cluster().settle().await?;
        let left = self.remove(self.own).await;
        *self.frozen.lock().await = None;
        left
    }

    /// The table whose writes are stopped here for another server.
    pub async fn frozen_here(&self) -> Option<Space> {
        self.frozen.lock().await.as_ref().map(|frozen| frozen.space)
    }

    /// Whether no other server may have expelled this one, or soon will.
    pub fn is_current(&self) -> bool {
        self.beat_age() <= self.silence * CURRENT_PARTS / SILENT_PARTS && !*self.lost.borrow()
    }

    fn beat_age(&self) -> Duration {
        self.environment.uptime().saturating_sub(*self.beat_at.lock())
    }

    /// Beats on behalf of a request that finds the last beat too old: the store may have been away, and the next
    /// beat that is due may be a second off. Requests that wait share one try.
    pub async fn renew(&self) -> Result<(), StoreError> {
        let asked_at = self.environment.uptime();
        let mut failed_at = self.renewal_failed_at.lock().await;
        if self.is_current() {
            return Ok(());
        }
        let late = || {
            let age = self.beat_age();
            StoreError::Unavailable(format!("this server could not say for {age:?} that it lives"))
        };
        if *self.lost.borrow() {
            return Err(StoreError::Fenced("another server has expelled it".to_owned()));
        }
        if failed_at.is_some_and(|failed_at| failed_at >= asked_at) {
            return Err(late());
        }
        if let Err(error) = self.beat().await {
            *failed_at = Some(self.environment.uptime());
            return Err(error);
        }
        if self.is_current() { Ok(()) } else { Err(late()) }
    }

    /// Ends when this server was expelled.
    pub async fn expelled(&self) {
        // The sender lives as long as `self`.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// The time between two beats.
    pub fn beat_interval(&self) -> Duration {
        self.silence / BEATS
    }

    /// Says that this server lives.
    pub async fn beat(&self) -> Result<(), StoreError> {
        let began = self.environment.uptime();
        self.change_own_row(|row| row.beat += 1).await?;
        *self.beat_at.lock() = began;
        Ok(())
    }

    /// Says that no write of this server goes by anything older than this version.
    pub async fn say_seen(&self, number: u64) -> Result<(), StoreError> {
        self.change_own_row(|row| row.seen = row.seen.max(number)).await?;
        self.seen.fetch_max(number, Ordering::AcqRel);
        Ok(())
    }

    /// The version that this server said to have seen.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    async fn change_own_row(&self, change: impl Fn(&mut MemberRow) + Send + Sync) -> Result<(), StoreError> {
        let key = space::member_key(self.own);
        let mut found = Ok(true);
        let mut decide = |rows: &[Option<Bytes>]| {
            let row = rows[0].as_deref().map(decode_member).transpose();
            found = row.as_ref().map(Option::is_some).map_err(ToString::to_string);
            let Ok(Some(mut row)) = row else { return WriteSet::default() };
            change(&mut row);
            WriteSet { puts: vec![(key.clone(), encode(&row))], ..WriteSet::default() }
        };
        let updated = self.store.update(std::slice::from_ref(&key), &mut decide).await;
        let is_lost = matches!(updated, Err(StoreError::Fenced(_))) || found == Ok(false);
        if is_lost {
            self.lost.send_replace(true);
        }
        updated?;
        match found {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::Fenced("its row is gone".to_owned())),
            Err(reason) => Err(StoreError::Corrupt(reason)),
        }
    }

    /// Looks at the others and expels those that have been silent for too long.
    pub async fn watch_others(&self) -> Result<Watched, StoreError> {
        let rows = self.rows().await?;
        let now = self.environment.uptime();
        let (silent, is_any_gone) = {
            let mut others = self.others.lock();
            // While this server could not look, the others could hardly beat.
            let was_blind = now.saturating_sub(others.looked_at) > self.silence / 2;
            others.looked_at = now;
            let others = &mut others.beats;
            let is_any_gone = others.keys().any(|member| !rows.contains_key(member));
            others.retain(|member, _| rows.contains_key(member));
            for (member, row) in rows.iter().filter(|(member, _)| **member != self.own) {
                let known = others.entry(*member).or_insert((row.beat, now));
                if known.0 != row.beat || was_blind {
                    *known = (row.beat, now);
                }
            }
            let is_silent = |since: Duration| now.saturating_sub(since) > self.silence;
            let silent = others.iter().filter(|(_, (_, since))| is_silent(*since)).map(|(member, _)| *member);
            (silent.collect::<Vec<Member>>(), is_any_gone)
        };
        for member in &silent {
            tracing::warn!(member = member.0, "a server was silent for {:?} and is expelled", self.silence);
            self.remove(*member).await?;
            self.others.lock().beats.remove(member);
        }
        Ok(Watched {
            is_any_gone: is_any_gone || !silent.is_empty(),
            is_any_expelled: !silent.is_empty(),
            count: u32::try_from(rows.len() - silent.len()).unwrap_or(u32::MAX),
        })
    }

    /// Takes a member out: the store refuses its writes from here on, and what it has frozen goes on.
    async fn remove(&self, member: Member) -> Result<(), StoreError> {
        // The last update of a member that leaves is this one.
        if member != self.own {
            self.cluster().expel(member).await?;
        }
        let keys = [space::member_key(member), space::version_key()];
        let mut unreadable = None;
        let mut decide = |rows: &[Option<Bytes>]| {
            let mut writes = WriteSet { deletes: vec![keys[0].clone()], ..WriteSet::default() };
            match CatalogVersion::decode(&rows[1]) {
                Ok(version) if version.frozen.is_some_and(|frozen| frozen.by == member.0) => {
                    let thawed = CatalogVersion { frozen: None, ..version.next() };
                    writes.puts.push((keys[1].clone(), thawed.encode()));
                }
                Ok(_) => {}
                Err(error) => unreadable = Some(error),
            }
            writes
        };
        self.store.update(&keys, &mut decide).await?;
        if member == self.own {
            self.cluster().expel(member).await?;
        }
        unreadable.map_or(Ok(()), Err)
    }

    /// The rows of all members.
    async fn rows(&self) -> Result<BTreeMap<Member, MemberRow>, StoreError> {
        let mut rows = BTreeMap::new();
        let mut unreadable = None;
        let range = space::one_partition(space::CLUSTER);
        self.store
            .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, row| {
                let Some(member) = space::member_of(key.sort) else { return ControlFlow::Continue(()) };
                let row = member.and_then(|member| Ok((member, decode_member(&row)?)));
                match row {
                    Ok((member, row)) => drop(rows.insert(member, row)),
                    Err(error) => unreadable = Some(error),
                }
                ControlFlow::Continue(())
            })
            .await?;
        unreadable.map_or(Ok(rows), Err)
    }

    /// Whether there is no other member.
    pub async fn is_alone(&self) -> Result<bool, StoreError> {
        Ok(self.rows().await?.keys().all(|member| *member == self.own))
    }

    /// Whether this is a member.
    pub async fn contains(&self, member: Member) -> Result<bool, StoreError> {
        Ok(self.get(space::member_key(member)).await?.is_some())
    }

    /// Waits until no write of any other server goes by anything older than this version. A server that does not
    /// say so is expelled when it is silent.
    ///
    /// What is passed on is committed. So a store that can't be asked for a moment is asked again: an error here would let
    /// the caller leave undone what has to follow.
    pub async fn pass(&self, number: u64) -> Result<(), StoreError> {
        let began = self.environment.uptime();
        loop {
            match self.is_passed(number).await {
                Ok(true) => return Ok(()),
                Err(error) if !error.is_transient() => return Err(error),
                Ok(false) | Err(_) => {}
            }
            self.check_wait(began, "another server did not take up a change of a table")?;
            self.environment.sleep(self.poll / 2).await;
        }
    }

    /// Waits until the other servers have all that this one shows, so that a client which gets the answer may turn to any
    /// of them. It does not wait for long: a silent server may have stopped.
    pub async fn agree(&self) -> Result<(), StoreError> {
        let (began, number) = (self.environment.uptime(), self.version().await?.number);
        while !self.is_passed(number).await?
            && self.environment.uptime().saturating_sub(began) < AGREEMENT_WAIT
        {
            self.environment.sleep(self.poll / 2).await;
        }
        Ok(())
    }

    async fn is_passed(&self, number: u64) -> Result<bool, StoreError> {
        let has_seen = |(member, row): (&Member, &MemberRow)| *member == self.own || row.seen >= number;
        Ok(self.rows().await?.iter().all(has_seen))
    }

    fn check_wait(&self, began: Duration, reason: &str) -> Result<(), StoreError> {
        match self.environment.uptime().saturating_sub(began) < PASS_WAIT {
            true => Ok(()),
            false => Err(StoreError::Unavailable(format!("{reason} within {PASS_WAIT:?}"))),
        }
    }

    /// The version of the catalog that is stored.
    pub async fn version(&self) -> Result<CatalogVersion, StoreError> {
        CatalogVersion::decode(&self.get(space::version_key()).await?)
    }

    /// Stops the writes to a table on every other server; this server's are the caller's to stop. The caller holds
    /// `freezing` and thaws the table in any case.
    async fn freeze(&self, table: Space) -> Result<(), StoreError> {
        let began = self.environment.uptime();
        let frozen = Frozen { space: table.0, by: self.own.0 };
        loop {
            let freeze = |version: CatalogVersion| match version.frozen {
                Some(other) if other != frozen => None,
                _ => Some(CatalogVersion { frozen: Some(frozen), ..version.next() }),
            };
            if let Some(version) = self.change_version(freeze).await? {
                return self.pass(version.number).await;
            }
            self.check_wait(began, "another server did not end its change of a table")?;
            self.environment.sleep(self.poll / 2).await;
        }
    }

    /// Does something while no write to a table is under way on any server. If it is broken off, the table is thawed
    /// when this server next follows, or when it leaves.
    pub async fn while_frozen<T>(
        &self,
        table: Space,
        gate: &Arc<tokio::sync::RwLock<()>>,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let _freezing = self.freezing.lock().await;
        let frozen = async {
            self.freeze(table).await?;
            let _between_writes = gate.clone().write_owned().await;
            self.cluster().settle().await?;
            work.await
        };
        let done = frozen.await;
        let thawed = self.thaw().await;
        done.and_then(|done| thawed.map(|()| done))
    }

    /// Lets writes to what this server has frozen go on.
    async fn thaw(&self) -> Result<(), StoreError> {
        let thaw = |version: CatalogVersion| {
            let own = version.frozen.filter(|frozen| frozen.by == self.own.0);
            own.map(|_| CatalogVersion { frozen: None, ..version.next() })
        };
        self.change_version(thaw).await.map(|_| ())
    }

    /// Whether a change of this server that broke off has left a table frozen.
    pub fn has_left_frozen(&self, version: CatalogVersion) -> bool {
        version.frozen.is_some_and(|frozen| frozen.by == self.own.0) && self.freezing.try_lock().is_ok()
    }

    async fn change_version(
        &self,
        change: impl Fn(CatalogVersion) -> Option<CatalogVersion> + Send + Sync,
    ) -> Result<Option<CatalogVersion>, StoreError> {
        let key = space::version_key();
        let mut changed = Ok(None);
        let mut decide = |rows: &[Option<Bytes>]| {
            changed = CatalogVersion::decode(&rows[0]).map(&change);
            let puts =
                changed.as_ref().ok().copied().flatten().map(|version| (key.clone(), version.encode()));
            WriteSet { puts: puts.into_iter().collect(), ..WriteSet::default() }
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await?;
        changed
    }

    /// Stops the writes to a table that another server has frozen, and lets those go on that it has not. `gate` is that
    /// of a table; the space of one that is newly frozen is returned.
    pub async fn follow_freeze(
        &self,
        version: CatalogVersion,
        gate: impl FnOnce(Space) -> Option<Arc<tokio::sync::RwLock<()>>>,
    ) -> Result<Option<Space>, StoreError> {
        let mut held = self.frozen.lock().await;
        let wanted =
            version.frozen.filter(|frozen| frozen.by != self.own.0).map(|frozen| Space(frozen.space));
        let mut newly = None;
        if held.as_ref().map(|held| held.space) != wanted {
            *held = None;
            if let Some(space) = wanted
                && let Some(gate) = gate(space)
            {
                *held = Some(FrozenHere { space, _gate: gate.write_owned().await });
                newly = Some(space);
            }
        }
        // Held, so that none is frozen in the meantime.
        if self.has_left_frozen(version)
            && let Ok(_freezing) = self.freezing.try_lock()
        {
            self.thaw().await?;
        }
        Ok(newly)
    }

    /// Takes the lease of a job; none if another server, or another job here, has it.
    pub async fn take<'a>(&'a self, name: &'a str) -> Result<Option<RunningLease<'a>>, StoreError> {
        if !self.leases.lock().running.insert(name.to_owned()) {
            return Ok(None);
        }
        let running = RunningLease { members: self, name };
        if self.leases.lock().held.contains(name) {
            return Ok(Some(running));
        }
        let key = space::lease_key(name);
        let holder = decode_holder(&self.get(key.clone()).await?)?;
        if let Some(holder) = holder.filter(|holder| *holder != self.own)
            && self.contains(holder).await?
        {
            return Ok(None);
        }
        let mut taken = false;
        let mut decide = |rows: &[Option<Bytes>]| {
            // Unreadable is neither free nor the one that was seen.
            taken = decode_holder(&rows[0]).is_ok_and(|current| current == holder);
            let puts = taken.then(|| (key.clone(), space::encode_number(self.own.0)));
            WriteSet { puts: puts.into_iter().collect(), ..WriteSet::default() }
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await?;
        if taken {
            self.leases.lock().held.insert(name.to_owned());
        }
        Ok(taken.then_some(running))
    }

    /// Gives a lease back when its job is done.
    pub async fn release(&self, name: &str) -> Result<(), StoreError> {
        if !self.leases.lock().held.remove(name) {
            return Ok(());
        }
        let key = space::lease_key(name);
        let mut decide = |rows: &[Option<Bytes>]| {
            let is_own = decode_holder(&rows[0]).is_ok_and(|holder| holder == Some(self.own));
            let deletes = is_own.then(|| key.clone()).into_iter().collect();
            WriteSet { deletes, ..WriteSet::default() }
        };
        self.store.update(std::slice::from_ref(&key), &mut decide).await
    }

    /// Waits until a lease may be free: a job here has ended, or some time has passed.
    pub async fn lease_may_be_free(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.lease_free.notified() => {}
            () = self.environment.sleep(time) => {}
        }
    }

    async fn get(&self, key: Key) -> Result<Option<Bytes>, StoreError> {
        Ok(self.store.get(&[key], Consistency::Latest).await?.pop().flatten())
    }
}

fn decode_member(row: &[u8]) -> Result<MemberRow, StoreError> {
    serde_json::from_slice(row).map_err(|error| StoreError::Corrupt(format!("a member: {error}")))
}

fn decode_holder(row: &Option<Bytes>) -> Result<Option<Member>, StoreError> {
    row.as_deref().map(|row| space::decode_number(row).map(Member)).transpose()
}

fn encode(value: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("numbers only"))
}
