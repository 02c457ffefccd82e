//! Joining a global table: a job that makes the table of a new member, CREATING until it holds all items.
//!
//! The copy needs no state of one moment. Every item comes with its version. Changes that are made during the copy are
//! sent from the log as to any other member, so the greater version stays whichever comes first:
//!
//! 1. The source records its changes for the new member, from a time between two writes.
//! 2. The new table is made. The other members record for it, too: from where they are with the source, so that what the
//!    source does not have yet is sent to both.
//! 3. Items and tombstones of the source are copied.
//! 4. The new table is ACTIVE.
//!
//! Every step can be repeated, so a job that was interrupted begins again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host::uuid;
use store::{Space, StoreError};

use super::copy::Copy;
use super::destination::Destination;
use super::peer::News;
use super::send::Sender;
use super::{in_region, settings};
use crate::Namespace;
use crate::background::Job;
use crate::base::membership::{Membership, Overrides, ReplicaState};
use crate::base::origin::Origin;
use crate::base::stream::Moment;
use crate::base::table::{Expiry, IndexState, NewIndex, NewTable, Table, TableState};
use crate::log::position;
use crate::regions::Regions;
use crate::tables::catalog::{CreateError, LiveTable};

/// Makes the table of a new member.
pub struct Join {
    regions: Arc<Regions>,
    source: Namespace,
    table: String,
    region: String,
}

impl Join {
    /// A copy of this table in another Region.
    pub fn new(regions: Arc<Regions>, source: &Table, region: &str) -> Join {
        let (namespace, table) = (source.namespace.clone(), source.name.clone());
        Join { regions, source: namespace, table, region: region.to_owned() }
    }

    /// The source, while the new member is being added.
    fn source(&self) -> Option<Arc<LiveTable>> {
        let source = self.regions.catalog.find(&self.source, &self.table)?;
        let replica = source.membership.as_ref()?.replica(&self.region)?;
        (replica.state == ReplicaState::Creating).then_some(source)
    }

    /// The members other than the source and the new one.
    fn others(&self, source: &Table) -> Vec<String> {
        let replicas = source.membership.iter().flat_map(|membership| &membership.replicas);
        let others = replicas.filter(|replica| replica.region != self.region);
        others.map(|replica| replica.region.clone()).collect()
    }

    /// The new table, made if it is not there yet, and whether it is still to be filled.
    async fn target(&self, source: &Arc<LiveTable>) -> Result<(Destination, bool), StoreError> {
        let no_replica =
            || StoreError::Unavailable(format!("{} in {} is no replica", self.table, self.region));
        let others = self.others(source);
        let Some(peer) = self.regions.peers.get(&self.region) else {
            let target = self.regions.create_member(source, &self.region, others).await?;
            let is_creating = target.state == TableState::Creating;
            let is_member = |own: &Membership| own.replica(&self.source.region).is_some();
            return match target.membership.as_ref().is_some_and(is_member) {
                true => Ok((Destination::Here(target), is_creating)),
                false => Err(no_replica()),
            };
        };
        let news = News::Create { source: Box::new(source.table.clone()), others };
        let answer = self.regions.send_news(&peer, source, &self.region, news).await?;
        let there = answer.table.filter(|there| there.is_member).ok_or_else(no_replica)?;
        Ok((Destination::There(peer), there.is_creating))
    }

    /// Lets another member record its changes for the new one.
    async fn introduce(&self, source: &Table, other: &str) -> Result<(), StoreError> {
        let (regions, region) = (&self.regions, self.region.clone());
        let overrides = source.membership.as_ref().map(|own| own.overrides.clone()).unwrap_or_default();
        match Destination::of(regions, source, other) {
            Some(Destination::Here(other)) => {
                regions.introduce(&other, &self.source.region, &region, overrides).await
            }
            Some(Destination::There(peer)) => {
                regions.send_news(&peer, source, other, News::Introduce { region, overrides }).await.map(drop)
            }
            None => Ok(()),
        }
    }

    /// The new table is complete.
    async fn activate(&self, source: &Arc<LiveTable>, target: &Destination) -> Result<(), StoreError> {
        match target {
            Destination::Here(target) => self.regions.activate_member(target, source).await?,
            Destination::There(peer) => {
                let news = News::Activate(Box::new(source.table.clone()));
                self.regions.send_news(peer, source, &self.region, news).await?;
            }
        }
        self.regions.copy_scaling(source, &self.region).await;
        for other in self.others(source) {
            self.regions.note_state(source, &other, &self.region, ReplicaState::Active).await?;
        }
        // The source last: while it says CREATING, an interrupted job begins again.
        self.regions.set_state(&self.source, &self.table, &self.region, ReplicaState::Active).await?;
        self.regions.replication.changed.notify_waiters();
        Ok(())
    }

    async fn join(&self) -> Result<(), StoreError> {
        let Some(source) = self.source() else { return Ok(()) };
        let (target, is_creating) = self.target(&source).await?;
        if is_creating {
            self.regions.start_sender(&source, &self.region);
            for other in self.others(&source) {
                self.introduce(&source, &other).await?;
            }
            let began_ms = self.regions.environment.now_ms();
            let (regions, region, origin) = (&*self.regions, &*self.region, Origin::Restore);
            Copy { regions, source: &source, target: &target, region, origin }.run().await?;
            let took = Duration::from_millis(self.regions.environment.now_ms().saturating_sub(began_ms));
            let rest = self.regions.state_delay.saturating_sub(took);
            if !rest.is_zero() {
                self.regions.environment.sleep(rest).await;
            }
        }
        self.activate(&source, &target).await
    }
}

impl Job for Join {
    fn name(&self) -> &'static str {
        "copy for a replica"
    }

    fn subject(&self) -> String {
        format!("{} in {}", self.source.table_arn(&self.table), self.region)
    }

    /// It may wait long for a peer, and then it must not take the turn of others.
    fn is_short(&self) -> bool {
        self.regions.peers.get(&self.region).is_some()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let has_peers = self.source().is_some_and(|source| self.regions.has_peers(&source));
        self.regions.while_peers_are_away(has_peers, || self.join()).await
    }
}

/// The steps of joining, each where its member is.
impl Regions {
    /// Makes the table of a new member, unless it is there.
    pub(super) async fn create_member(
        &self,
        source: &Table,
        region: &str,
        others: Vec<String>,
    ) -> Result<Arc<LiveTable>, StoreError> {
        let namespace = in_region(source, region);
        if let Some(target) = self.catalog.find(&namespace, &source.name) {
            return Ok(target);
        }
        let of_source = source.membership.clone();
        let of_source = of_source.ok_or_else(|| StoreError::Corrupt("the source is no member".to_owned()))?;
        let now_us = self.clock.now_us(&*self.environment);
        // Every write to the new table is later.
        self.clock.pass(now_us);
        let (now_ms, id) = (self.environment.now_ms(), uuid(self.environment.random()));
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
        match self.catalog.create(&namespace, &source.name, make).await {
            Ok(target) => Ok(target),
            Err(CreateError::Store(error)) => Err(error),
            Err(CreateError::Exists) => {
                Err(StoreError::Unavailable(format!("{} exists in {region}", source.name)))
            }
        }
    }

    /// A member records its changes for a new one: from where it is with the one that is copied.
    pub(super) async fn introduce(
        self: &Arc<Regions>,
        member: &Arc<LiveTable>,
        source_region: &str,
        region: &str,
        overrides: BTreeMap<String, Overrides>,
    ) -> Result<(), StoreError> {
        let source = member.membership.as_ref().and_then(|own| own.replica(source_region));
        let is_new = member.membership.as_ref().is_some_and(|own| own.replica(region).is_none());
        if let Some(source) = source.filter(|_| is_new) {
            let mut known = position::read(self, member, &source.region).await?;
            for log in member.log.logs() {
                known.entry(log).or_insert(position::start(source));
            }
            position::write(self, member, region, &known).await?;
        }
        let since_us = source.map_or(0, |source| source.since_us);
        let new = region.to_owned();
        let introduced = move |table: &Table, _| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.add(&new, ReplicaState::Creating, since_us);
            own.overrides.extend(overrides.clone());
            Ok::<_, ()>(table)
        };
        let replaced = self.catalog.replace(&member.namespace, &member.name, introduced).await?;
        if let Some(Ok(member)) = replaced.filter(|_| is_new) {
            self.start_sender(&member, region);
        }
        Ok(())
    }

    /// Sends a member's changes to another one from now on.
    pub(super) fn start_sender(self: &Arc<Regions>, from: &Arc<LiveTable>, region: &str) {
        let replica = from.membership.as_ref().and_then(|own| own.replica(region));
        if let Some(replica) = replica {
            self.background.start(Sender::new(self.clone(), from.clone(), replica));
        }
    }

    /// A new member is complete: it takes requests and records its own changes.
    pub(super) async fn activate_member(
        self: &Arc<Regions>,
        target: &Arc<LiveTable>,
        source: &Table,
    ) -> Result<(), StoreError> {
        let shards = self.stream_shards;
        let view = source.stream.as_ref().map(|stream| stream.view);
        let created_ms = self.new_stream_ms(&target.namespace, &target.name);
        let active = move |table: &Table, unused: Space, now_us: u64| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            // Not twice: what it has recorded since would be forgotten.
            own.joins_from.take().ok_or(())?;
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
        let replaced = self.change_between_writes(target, active).await?;
        let Some(Ok(target)) = replaced else { return Ok(()) };
        for replica in target.membership.iter().flat_map(|own| &own.replicas) {
            self.start_sender(&target, &replica.region);
        }
        Ok(())
    }
}

/// The definition of a new member: the source's, without what each Region has of its own.
fn new_table(source: &Table) -> NewTable {
    let indexes = source.indexes.iter().filter(|index| index.state != IndexState::Deleting);
    NewTable {
        name: source.name.clone(),
        keys: source.keys.clone(),
        definitions: source.definitions.clone(),
        indexes: indexes.map(NewIndex::like).collect(),
        billing: source.billing.clone(),
        deletion_protection: false,
        class: source.class.clone(),
        state: TableState::Creating,
        tags: Default::default(),
        policy: None,
        encryption: source.encryption.clone(),
    }
}
