//! Leaving a global table: a job that takes a member out of the group and drops its table.
//!
//! 1. The table is DELETING: it takes no more writes.
//! 2. What it had recorded is sent to every other member. While a link is cut or a peer is away, this waits: otherwise some
//!    members would have a change that others never get.
//! 3. The others forget it. The last one is a table of one Region again.
//! 4. The table is dropped.
//!
//! A member at a peer does this by itself when it is asked to. One that is lost for good is forgotten instead (`lost.rs`).

use std::sync::Arc;
use std::time::Duration;

use store::{Space, StoreError};

use super::destination::Destination;
use super::peer::{News, Peer};
use super::send;
use crate::Namespace;
use crate::background::Job;
use crate::base::membership::ReplicaState;
use crate::base::table::{Table, TableState};
use crate::log::position;
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;
use crate::tables::clearing::Clearing;

/// How long it rests between two looks at what is still to be sent.
const REST: Duration = Duration::from_secs(1);

/// Takes a member out of its global table.
pub struct Leave {
    regions: Arc<Regions>,
    namespace: Namespace,
    table: String,
}

impl Leave {
    /// The table of this name in this Region.
    pub fn new(regions: Arc<Regions>, namespace: Namespace, table: String) -> Leave {
        Leave { regions, namespace, table }
    }

    /// The other members of this server that know it.
    fn others(&self) -> Vec<Arc<LiveTable>> {
        let knows = |table: &Arc<LiveTable>| {
            let is_of_group = table.name == self.table && table.namespace.account == self.namespace.account;
            is_of_group
                && table.membership.as_ref().is_some_and(|own| own.replica(&self.namespace.region).is_some())
        };
        self.regions.catalog.all().into_iter().filter(knows).collect()
    }

    /// The table that leaves; none if it is gone, or has left.
    fn leaving(&self) -> Option<Arc<LiveTable>> {
        let table = self.regions.catalog.find(&self.namespace, &self.table)?;
        table.membership.is_some().then_some(table)
    }

    /// Waits until every other member has what was written here.
    async fn drain(&self) -> Result<(), StoreError> {
        loop {
            let (changed, sent) =
                (self.regions.replication.changed.notified(), self.regions.replication.sent.notified());
            let Some(leaving) = self.leaving() else { return Ok(()) };
            let mut is_sent = true;
            for replica in leaving.membership.iter().flat_map(|own| &own.replicas) {
                // A member that leaves, too, needs nothing more; one that was never complete has nothing to send.
                let needs = match Destination::of(&self.regions, &leaving, &replica.region) {
                    Some(Destination::Here(there)) => {
                        let others = there.membership.as_ref();
                        there.state != TableState::Deleting
                            && others.is_some_and(|others| others.replica(&self.namespace.region).is_some())
                    }
                    Some(Destination::There(_)) => replica.state != ReplicaState::Deleting,
                    None => false,
                };
                let has_own = leaving.log.is_open();
                is_sent &= !needs || !has_own || send::has_sent_all(&self.regions, &leaving, replica).await?;
            }
            if is_sent {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = sent => {}
                () = self.regions.environment.sleep(REST) => {}
            }
        }
    }

    async fn drop_table(&self, leaving: &Arc<LiveTable>) -> Result<(), StoreError> {
        for replica in leaving.membership.iter().flat_map(|own| &own.replicas) {
            position::forget(&self.regions, leaving, &replica.region).await?;
            self.regions.replication.pairs.forget(leaving.space(), &replica.region);
        }
        let alone = |table: &Table, _| {
            let mut table = table.clone();
            if let Some(own) = &mut table.membership {
                own.replicas.clear();
                own.joins_from = None;
            }
            Ok::<_, ()>(table)
        };
        match self.regions.catalog.replace(&leaving.namespace, &leaving.name, alone).await? {
            Some(Ok(table)) => self.regions.state_change(&table).finish().await,
            _ => Ok(()),
        }
    }

    /// A member of this server leaves.
    async fn leave(&self) -> Result<(), StoreError> {
        if let Some(leaving) = self.leaving() {
            self.regions.begin_leaving(&leaving).await?;
            for other in regions(&leaving) {
                let state = ReplicaState::Deleting;
                self.regions.note_state(&leaving, &other, &self.namespace.region, state).await?;
            }
            self.regions.replication.changed.notify_waiters();
            if !self.regions.state_delay.is_zero() {
                self.regions.environment.sleep(self.regions.state_delay).await;
            }
            self.drain().await?;
        }
        for other in self.others() {
            self.regions.forget_member(&other, &self.namespace.region).await?;
        }
        if let Some(leaving) = self.leaving() {
            for other in regions(&leaving) {
                if let Some(Destination::There(peer)) = Destination::of(&self.regions, &leaving, &other) {
                    let news = News::Forget { region: self.namespace.region.to_string(), is_lost: false };
                    self.regions.send_news(&peer, &leaving, &other, news).await?;
                }
            }
            self.drop_table(&leaving).await?;
        }
        self.regions.replication.changed.notify_waiters();
        Ok(())
    }

    /// A member at a peer is asked to leave, until it has.
    async fn ask(&self, peer: &Arc<dyn Peer>) -> Result<(), StoreError> {
        loop {
            let changed = self.regions.replication.changed.notified();
            let others = self.others();
            let Some(other) = others.first() else { return Ok(()) };
            match self.regions.send_news(peer, other, &self.namespace.region, News::Leave).await {
                // It never was there, or has left while it could not reach us.
                Ok(answer) if answer.table.as_ref().is_none_or(|there| !there.is_member) => {
                    for other in others {
                        self.regions.forget_member(&other, &self.namespace.region).await?;
                    }
                    self.regions.replication.changed.notify_waiters();
                }
                Ok(_) | Err(StoreError::Unavailable(_)) => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = self.regions.environment.sleep(REST) => {}
            }
        }
    }
}

/// The Regions of the other members.
fn regions(table: &Table) -> Vec<String> {
    let replicas = table.membership.iter().flat_map(|own| &own.replicas);
    replicas.map(|replica| replica.region.clone()).collect()
}

impl Job for Leave {
    fn name(&self) -> &'static str {
        "removal of a replica"
    }

    fn subject(&self) -> String {
        self.namespace.table_arn(&self.table)
    }

    /// It may wait long for a link, so it must not take the turn of others.
    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        if let Some(peer) = self.regions.peers.get(&self.namespace.region) {
            return self.ask(&peer).await;
        }
        let has_peers = self.leaving().is_some_and(|leaving| self.regions.has_peers(&leaving));
        self.regions.while_peers_are_away(has_peers, || self.leave()).await
    }
}

/// The steps of leaving, each where its member is.
impl Regions {
    /// The table takes no more writes, and none is under way afterwards. False if that was so before.
    pub(super) async fn begin_leaving(&self, leaving: &Arc<LiveTable>) -> Result<bool, StoreError> {
        if self.catalog.successor(leaving).is_none_or(|leaving| leaving.state == TableState::Deleting) {
            return Ok(false);
        }
        let deleting = |table: &Table, _: Space, _: u64| {
            let mut table = table.clone();
            table.membership.as_ref().ok_or(())?;
            table.state = TableState::Deleting;
            Ok::<_, ()>(table)
        };
        let replaced = self.change_between_writes(leaving, deleting).await?;
        Ok(replaced.is_some_and(|replaced| replaced.is_ok()))
    }

    /// A member forgets another one.
    pub(super) async fn forget_member(
        &self,
        member: &Arc<LiveTable>,
        region: &str,
    ) -> Result<(), StoreError> {
        let (gone, shards) = (region.to_owned(), self.stream_shards);
        let forgotten = move |table: &Table, unused: Space, now_us: u64| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.remove(&gone);
            // One that leaves, too, stays a member until it is dropped.
            if own.replicas.is_empty() && table.state != TableState::Deleting {
                table.membership = None;
            }
            table.settle_log(shards, unused, now_us);
            Ok::<_, ()>(table)
        };
        let replaced = self.change_between_writes(member, forgotten).await?;
        position::forget(self, member, region).await?;
        self.replication.pairs.forget(member.space(), region);
        self.replication.beats.lock().remove(&(member.space(), region.to_owned()));
        if let Some((Ok(now), before)) = replaced.zip(member.membership.as_ref())
            && now.membership.is_none()
        {
            let clearing = Clearing::of_part(self.catalog.clone(), member.clone(), before.versions());
            self.background.start(clearing);
        }
        Ok(())
    }
}
