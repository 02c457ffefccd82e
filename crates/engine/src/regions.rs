//! Global tables: a table that several Regions have, each of which takes writes. This page is about eventual consistency;
//! with strong consistency nothing is sent.
//!
//! | question | file |
//! |---|---|
//! | what does a member know of the others? | `base/membership.rs` |
//! | which of two writes to an item wins? | `commit/last_writer_wins.rs`: the later one, by time and then Region (`base/version.rs`) |
//! | how do changes get to another Region? | `send.rs`: a reader of the log here, writes with the origin *replica* there |
//! | how far has it come? | `log/position.rs` |
//! | where is another member? | `destination.rs`: in a Region of this server, or at a peer |
//! | which messages do servers send each other? | `peer.rs`; `receive.rs` carries them out |
//! | how does a Region join, and leave? | `join.rs`, `leave.rs`; all its items are sent by `copy.rs` |
//! | what if a Region is lost for good? | `lost.rs` |
//! | which settings do all members share? | `settings.rs` |
//! | how is the throughput of members scaled? | `scaling.rs` |
//! | when is a deletion forgotten? | `tombstone.rs` |
//! | which Regions can reach each other? | `link.rs` |
//! | which tables are strongly consistent instead? | `strong.rs`; `base/strong.rs` says how |
//!
//! What always holds:
//! - Every member sends its own changes to every other member, and never those that it got from one.
//! - A change is applied if its version is greater than that of the item that is there, and leaves no trace
//!   otherwise. So it does not matter how often or in which order changes arrive.
//! - A write to an item has a greater version than the item that it saw, whatever the clock says.
//!
//! A global table is a reader of the log here and a writer with the origin *replica* there, for each pair of Regions.
//! Every item of such a table has its version beside it, a companion of the same commit; a change from elsewhere is
//! made if its version is greater. So changes may arrive twice and in any order, and the first copy for a new Region
//! needs no state of one moment: items travel with their versions while the log is sent as always. Each Region sends
//! its own changes alone; the record says whose it is. Deletions stay as tombstones until every member has passed
//! them. A commit has one time in all logs of its table, so a sender that reads them from one snapshot can pass a
//! transaction on whole (`--replicate-transactions whole`). The other member may be in a Region of the same server or
//! at a peer (`destination.rs`): a peer gets the same changes in a message, and each step of joining and leaving is
//! a message that may be sent again. For a member that was away for longer than the log is kept, and when a Region is
//! lost, all items are sent once more.

mod copy;
mod destination;
mod join;
mod leave;
mod link;
mod lost;
mod peer;
mod receive;
mod scaling;
mod send;
mod settings;
mod strong;
mod tombstone;

pub use destination::Destination;
pub use join::Join;
pub use leave::Leave;
pub use link::Links;
pub use lost::LostReplica;
pub use peer::{Answer, Message, News, Peer, Peers, TableThere};
pub use scaling::{Scaled, ScaledUnits, Scaling, ScalingSettings};
pub use send::{PairStatus, Pairs, Sender};
pub use settings::note_change;
pub use strong::StrongTable;
pub use tombstone::ForgetTombstones;

use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use store::{Space, StoreError};
use tokio::sync::Notify;

use crate::Namespace;
use crate::background::Starter;
use crate::base::membership::ReplicaState;
use crate::base::table::Table;
use crate::copies::Copies;
use crate::tables::catalog::LiveTable;

/// What this room shares with operations.
pub struct Regions {
    pub(crate) copies: Arc<Copies>,
    pub(crate) replication: Replication,
    /// The servers that have other Regions of global tables.
    pub(crate) peers: Peers,
    /// How long a change stays in its Region before it is sent to the other members of a global table.
    pub(crate) replication_delay: Duration,
    /// Whether the items of a transaction arrive together in the other members.
    pub(crate) replicates_transactions_whole: bool,
}

impl std::ops::Deref for Regions {
    type Target = Arc<Copies>;

    fn deref(&self) -> &Arc<Copies> {
        &self.copies
    }
}

/// What the jobs of global tables share.
#[derive(Default)]
pub struct Replication {
    pub links: Links,
    pub pairs: Pairs,
    /// Notified when a member or a link has changed.
    pub changed: Notify,
    /// Notified when a sender has come further. Senders don't wait for it: each would wake all others.
    pub sent: Notify,
    pub scaling: OnceLock<Arc<dyn Scaling>>,
    /// The last beats of members at peers, by the space of the table here and their Region.
    beats: Mutex<HashMap<(Space, String), PeerBeat>>,
}

/// The last beat of a member at a peer.
#[derive(Clone, Copy)]
struct PeerBeat {
    /// What it had recorded up to this time is in all other members, by the clock of this server.
    through_us: u64,
    /// By how much its clock is ahead.
    clock_offset_us: i64,
}

impl Replication {
    fn last_beat(&self, table: &Table, region: &str) -> Option<PeerBeat> {
        self.beats.lock().get(&(table.space(), region.to_owned())).copied()
    }
}

/// The table of this name in another Region of the same account.
pub fn in_region(table: &Table, region: &str) -> Namespace {
    Namespace::new(table.namespace.account.clone(), region)
}

/// How long it takes until a peer that was away is tried again.
const PEER_REST: Duration = Duration::from_secs(1);
/// How long a request waits for its replica, so that a small table is ACTIVE at once.
const WAIT: Duration = Duration::from_millis(500);

impl Regions {
    /// Sets the service that scales throughput. Without it, no provisioned table gets a replica.
    pub fn set_scaling(&self, scaling: Arc<dyn Scaling>) {
        // The first one stays.
        let _ = self.replication.scaling.set(scaling);
    }

    /// Cuts the link between two Regions: changes wait on both sides until it is healed.
    pub fn cut_regions<'a>(
        self: &'a Arc<Regions>,
        one: &'a str,
        other: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.set_cut(one, other, true).await?;
            self.replication.changed.notify_waiters();
            Ok(())
        })
    }

    /// Heals the link between two Regions. False if it was not cut.
    pub fn heal_regions<'a>(
        self: &'a Arc<Regions>,
        one: &'a str,
        other: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let was_cut = self.set_cut(one, other, false).await?;
            self.replication.changed.notify_waiters();
            Ok(was_cut)
        })
    }

    /// The pairs of Regions between which the link is cut.
    pub fn cut_links(self: &Arc<Regions>) -> BoxFuture<'_, Result<Vec<(String, String)>, StoreError>> {
        Box::pin(async move { Ok(self.cuts().await?.into_iter().collect()) })
    }

    /// How far each Region's changes have come, for each global table.
    pub fn replication_status(self: &Arc<Regions>) -> BoxFuture<'_, Result<Vec<PairStatus>, StoreError>> {
        Box::pin(async move { send::status(self).await })
    }

    /// Makes a replica in the background. Waits a moment, so that a small one is ready.
    pub(crate) async fn start_join(self: &Arc<Regions>, source: &Arc<LiveTable>, region: &str) {
        let join = self.background.start(Join::new(self.clone(), source, region));
        self.wait_a_moment(join.outcome()).await;
    }

    /// Takes a member out of its global table in the background, and drops its table.
    pub(crate) async fn start_leave(self: &Arc<Regions>, namespace: Namespace, name: &str) {
        let leave = self.background.start(Leave::new(self.clone(), namespace, name.to_owned()));
        self.wait_a_moment(leave.outcome()).await;
    }

    async fn wait_a_moment<T>(&self, work: impl Future<Output = T>) {
        tokio::select! {
            biased;
            _ = work => {}
            () = self.environment.sleep(WAIT) => {}
        }
    }
}

impl Regions {
    /// Starts the jobs that members of global tables need.
    pub(crate) fn start_replication(self: &Arc<Regions>, starter: &mut impl Starter) {
        for table in self.catalog.all() {
            let Some(membership) = &table.membership else { continue };
            for replica in &membership.replicas {
                starter.start(Sender::new(self.clone(), table.clone(), replica));
                match replica.state {
                    ReplicaState::Creating if membership.joins_from.is_none() => {
                        if is_source_of(&table, &replica.region) {
                            starter.start(Join::new(self.clone(), &table, &replica.region));
                        }
                    }
                    ReplicaState::Deleting => {
                        let namespace = in_region(&table, &replica.region);
                        starter.start(Leave::new(self.clone(), namespace, table.name.clone()));
                    }
                    ReplicaState::Creating | ReplicaState::Active => {}
                }
            }
            if table.state == crate::base::table::TableState::Deleting {
                let (namespace, name) = (table.namespace.clone(), table.name.clone());
                starter.start(Leave::new(self.clone(), namespace, name));
            }
        }
    }

    /// Whether a member of the table is at a peer.
    fn has_peers(&self, table: &Table) -> bool {
        let mut replicas = table.membership.iter().flat_map(|own| &own.replicas);
        replicas.any(|replica| self.peers.get(&replica.region).is_some())
    }

    /// Works. While a peer is away, it begins again from time to time, however long that is.
    async fn while_peers_are_away<F>(&self, has_peers: bool, work: impl Fn() -> F) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        loop {
            match work().await {
                Err(StoreError::Unavailable(_)) if has_peers => self.environment.sleep(PEER_REST).await,
                outcome => return outcome,
            }
        }
    }

    /// Lets another member know what a third one does.
    async fn note_state(
        &self,
        table: &Table,
        other: &str,
        region: &str,
        state: ReplicaState,
    ) -> Result<(), StoreError> {
        match Destination::of(self, table, other) {
            Some(Destination::There(peer)) => {
                let news = News::State { region: region.to_owned(), state };
                self.send_news(&peer, table, other, news).await.map(drop)
            }
            Some(Destination::Here(_)) => {
                self.set_state(&in_region(table, other), &table.name, region, state).await
            }
            None => Ok(()),
        }
    }

    /// A member notes what another one does.
    async fn set_state(
        &self,
        member: &Namespace,
        table: &str,
        region: &str,
        state: ReplicaState,
    ) -> Result<(), StoreError> {
        let region = region.to_owned();
        let noted = move |table: &Table, _| {
            let mut table = table.clone();
            table.membership.as_mut().ok_or(())?.set_state(&region, state);
            Ok::<_, ()>(table)
        };
        self.catalog.replace(member, table, noted).await?;
        Ok(())
    }
}

fn is_source_of(table: &Table, region: &str) -> bool {
    table.membership.as_ref().is_some_and(|own| own.sourced.iter().any(|sourced| sourced.region == region))
}
