//! Joining a global table: a job that makes the table of a new member, CREATING until it holds all items.
//!
//! The copy needs no state of one moment. Every item comes with its version, and changes that are made meanwhile are sent
//! from the log as to any other member, so the greater version stays whichever comes first:
//!
//! 1. The source records its changes for the new member, from a time between two writes.
//! 2. The new table is made. The other members record for it, too: from where they are with the source, so that what the
//!    source does not have yet is sent to both.
//! 3. Items and tombstones of the source are copied.
//! 4. The new table is ACTIVE.
//!
//! Every step can be repeated, so a job that was interrupted begins again.

use std::sync::Arc;

use bytes::Bytes;
use item::Item;
use store::{Consistency, Key, Space, StoreError};

use super::membership::{Membership, ReplicaState};
use super::send::{self, Sender};
use super::version::{self, Stamp};
use super::{in_region, position, settings};
use crate::Namespace;
use crate::background::Job;
use crate::catalog::{CreateError, LiveTable};
use crate::environment::uuid;
use crate::shared::Core;
use crate::stream::Moment;
use crate::table::{Expiry, IndexState, NewIndex, NewTable, Table, TableState};
use crate::walk::Walk;
use crate::write::{Change, Origin, Plan};

/// Items that one commit writes: few, so that it is never too large for a store.
const COMMIT_ITEMS: usize = 25;

/// Makes the table of a new member.
pub struct Join {
    core: Arc<Core>,
    source: Namespace,
    table: String,
    region: String,
}

impl Join {
    /// A copy of this table in another Region.
    pub fn new(core: Arc<Core>, source: &Table, region: &str) -> Join {
        let (namespace, table) = (source.namespace.clone(), source.name.clone());
        Join { core, source: namespace, table, region: region.to_owned() }
    }

    /// The source, while the new member is being added.
    fn source(&self) -> Option<Arc<LiveTable>> {
        let source = self.core.catalog.find(&self.source, &self.table)?;
        let replica = source.membership.as_ref()?.replica(&self.region)?;
        (replica.state == ReplicaState::Creating).then_some(source)
    }

    fn target_namespace(&self) -> Namespace {
        Namespace::new(self.source.account.clone(), self.region.as_str())
    }

    /// The members besides the source and the new one.
    fn others(&self, source: &Table) -> Vec<Arc<LiveTable>> {
        let replicas = source.membership.iter().flat_map(|membership| &membership.replicas);
        let others = replicas.filter(|replica| replica.region != self.region);
        others
            .filter_map(|replica| self.core.catalog.find(&in_region(source, &replica.region), &self.table))
            .collect()
    }

    /// The new table, made if it is not there yet.
    async fn target(&self, source: &Arc<LiveTable>) -> Result<Arc<LiveTable>, StoreError> {
        let namespace = self.target_namespace();
        if let Some(target) = self.core.catalog.find(&namespace, &self.table) {
            return Ok(target);
        }
        let now_us = self.core.clock.now_us(&*self.core.environment);
        // Every write to the new table is later.
        self.core.clock.pass(now_us);
        let (now_ms, id) = (self.core.environment.now_ms(), uuid(self.core.environment.random()));
        let others: Vec<String> =
            self.others(source).iter().map(|other| other.namespace.region.to_string()).collect();
        let (definition, home) = (source.clone(), namespace.clone());
        let make = move |space| {
            let mut table = Table::new(home.clone(), new_table(&definition), space, id.clone(), now_ms);
            settings::take_settings(&mut table, &definition);
            if definition.time_to_live.is_some() {
                table.time_to_live.clone_from(&definition.time_to_live);
                let mut expiry = Expiry::new(Space(table.numbers_end()));
                // There are no items yet.
                expiry.is_filled = true;
                table.expiry = Some(expiry);
            }
            let of_source = definition.membership.as_ref().expect("the source is a member");
            let mut own = Membership::new(Space(table.numbers_end()), of_source.base.clone());
            own.joins_from = Some(definition.namespace.region.to_string());
            own.settings_us = of_source.settings_us;
            own.overrides.clone_from(&of_source.overrides);
            own.add(&definition.namespace.region, ReplicaState::Active, now_us);
            others.iter().for_each(|region| own.add(region, ReplicaState::Active, now_us));
            table.membership = Some(own);
            settings::apply_overrides(&mut table);
            table
        };
        match self.core.catalog.create(&namespace, &self.table, make).await {
            Ok(target) => Ok(target),
            Err(CreateError::Store(error)) => Err(error),
            Err(CreateError::Exists) => {
                Err(StoreError::Unavailable(format!("{} exists in {}", self.table, self.region)))
            }
        }
    }

    /// Lets another member record its changes for the new one.
    async fn introduce(&self, other: &Arc<LiveTable>, target: &Arc<LiveTable>) -> Result<(), StoreError> {
        let source = other.membership.as_ref().and_then(|own| own.replica(&self.source.region));
        if let Some(source) = source {
            let mut known = position::read(&self.core, other, &source.region).await?;
            for log in other.log.logs() {
                known.entry(log).or_insert(position::start(source));
            }
            position::write(&self.core, other, &self.region, &known).await?;
        }
        let (region, overrides) =
            (self.region.clone(), target.membership.as_ref().map(|own| own.overrides.clone()));
        let since_us = source.map_or(0, |source| source.since_us);
        let introduced = move |table: &Table, _| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.add(&region, ReplicaState::Creating, since_us);
            own.overrides.extend(overrides.clone().into_iter().flatten());
            Ok::<_, ()>(table)
        };
        let replaced = self.core.catalog.replace(&other.namespace, &other.name, introduced).await?;
        if let Some(Ok(other)) = replaced {
            self.start_sender(&other, &self.region);
        }
        Ok(())
    }

    fn start_sender(&self, from: &Arc<LiveTable>, region: &str) {
        let replica = from.membership.as_ref().and_then(|own| own.replica(region));
        if let Some(replica) = replica {
            self.core.background.start(Sender::new(self.core.clone(), from.clone(), replica));
        }
    }

    /// Copies the items of the source, and then its tombstones.
    async fn copy(&self, source: &Arc<LiveTable>, target: &Arc<LiveTable>) -> Result<(), StoreError> {
        let versions = source.membership.as_ref().map_or(Space(0), Membership::versions);
        let mut walk = Walk::new(source.space(), COMMIT_ITEMS);
        loop {
            let mut positions = Vec::with_capacity(COMMIT_ITEMS);
            if !walk.next(&*self.core.store, &mut |key, _| positions.push(key.to_position())).await? {
                break;
            }
            let items = positions.iter().map(|at| Key { space: source.space(), position: at.clone() });
            let stamps = positions.iter().map(|at| version::key(versions, at));
            let keys: Vec<Key> = items.chain(stamps).collect();
            // Of the same moment: each item with its version.
            let mut rows = self.core.store.get(&keys, Consistency::Latest).await?;
            let stamps = rows.split_off(positions.len());
            let mut plans = Vec::with_capacity(positions.len());
            for ((at, row), stamp) in positions.into_iter().zip(rows).zip(stamps) {
                let Some(row) = row else { continue };
                let item = Item::from_stored(row);
                let item = item.map_err(|error| source.unreadable(source.space(), &at, error))?;
                let stamp = stamp.as_deref().map(Stamp::decode).transpose()?.map(|stamp| stamp.version);
                let version = stamp.or_else(|| version::base(source)).expect("the source is a member");
                plans.push(send::plan(target, at, Change::Put(item), Origin::Restore, version));
            }
            self.apply(target, &mut plans).await?;
        }
        let mut walk = Walk::new(versions, COMMIT_ITEMS);
        loop {
            let mut rows: Vec<(store::Position, Bytes)> = Vec::with_capacity(COMMIT_ITEMS);
            if !walk.next(&*self.core.store, &mut |key, row| rows.push((key.to_position(), row))).await? {
                return Ok(());
            }
            let mut plans = Vec::new();
            for (at, row) in rows {
                let stamp = Stamp::decode(&row)?;
                if stamp.is_deleted {
                    let delete = Change::Delete { key_attributes: Item::default() };
                    plans.push(send::plan(target, at, delete, Origin::Restore, stamp.version));
                }
            }
            self.apply(target, &mut plans).await?;
        }
    }

    async fn apply(&self, target: &Arc<LiveTable>, plans: &mut [Plan]) -> Result<(), StoreError> {
        if !plans.is_empty() {
            send::apply(&self.core, target, plans).await?;
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    /// The new table is complete: it takes requests and records its own changes.
    async fn activate(&self, source: &LiveTable, target: &Arc<LiveTable>) -> Result<(), StoreError> {
        let shards = self.core.options.stream_shards;
        let view = source.stream.as_ref().map(|stream| stream.view);
        let created_ms = self.core.new_stream_ms(&target.namespace, &target.name);
        let active = move |table: &Table, unused: Space, now_us: u64| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.joins_from = None;
            // What it records from here on is its own.
            own.replicas.iter_mut().for_each(|replica| replica.since_us = now_us);
            table.state = TableState::Active;
            let unused = Space(unused.0.max(table.numbers_end()));
            if let Some(view) = view.filter(|_| table.stream.is_none()) {
                table.switch_stream_on(view, &Moment { created_ms, now_us, shards, unused });
            }
            table.settle_log(shards, unused, now_us + 1);
            Ok::<_, ()>(table)
        };
        let replaced = self.core.change_between_writes(target, active).await?;
        let Some(Ok(target)) = replaced else { return Ok(()) };
        for replica in target.membership.iter().flat_map(|own| &own.replicas) {
            self.start_sender(&target, &replica.region);
        }
        for other in self.others(source) {
            self.note_active(&other.namespace).await?;
        }
        // The source last: while it says CREATING, an interrupted job begins again.
        self.note_active(&self.source).await?;
        self.core.replication.changed.notify_waiters();
        Ok(())
    }

    async fn note_active(&self, member: &Namespace) -> Result<(), StoreError> {
        let region = self.region.clone();
        let active = move |table: &Table, _| {
            let mut table = table.clone();
            table.membership.as_mut().ok_or(())?.set_state(&region, ReplicaState::Active);
            Ok::<_, ()>(table)
        };
        self.core.catalog.replace(member, &self.table, active).await?;
        Ok(())
    }
}

impl Job for Join {
    fn name(&self) -> &'static str {
        "copy for a replica"
    }

    fn subject(&self) -> String {
        format!("{} in {}", self.source.table_arn(&self.table), self.region)
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(source) = self.source() else { return Ok(()) };
        let target = self.target(&source).await?;
        if target.membership.as_ref().is_none_or(|own| own.replica(&self.source.region).is_none()) {
            return Err(StoreError::Unavailable(format!("{} is no replica", target.full_name())));
        }
        if target.state == TableState::Creating {
            self.start_sender(&source, &self.region);
            for other in self.others(&source) {
                self.introduce(&other, &target).await?;
            }
            let began_ms = self.core.environment.now_ms();
            self.copy(&source, &target).await?;
            let took =
                std::time::Duration::from_millis(self.core.environment.now_ms().saturating_sub(began_ms));
            let rest = self.core.options.state_delay.saturating_sub(took);
            if !rest.is_zero() {
                self.core.environment.sleep(rest).await;
            }
        }
        self.activate(&source, &target).await
    }
}

/// The definition of a new member: the source's, without what each Region has of its own.
fn new_table(source: &Table) -> NewTable {
    let indexes = source.indexes.iter().filter(|index| index.state != IndexState::Deleting);
    let index = |index: &crate::table::Index| NewIndex {
        name: index.name.clone(),
        scope: index.scope,
        keys: index.keys.clone(),
        projection: index.projection.clone(),
        billing: index.billing,
    };
    NewTable {
        name: source.name.clone(),
        keys: source.keys.clone(),
        definitions: source.definitions.clone(),
        indexes: indexes.map(index).collect(),
        billing: source.billing.clone(),
        deletion_protection: false,
        class: source.class.clone(),
        state: TableState::Creating,
        tags: Default::default(),
        policy: None,
        encryption: source.encryption.clone(),
    }
}
