//! Strong consistency between Regions. The replicas of such a table are views of the same rows: each has a row of its own
//! in the catalog, and all name the same spaces and logs. So nothing is sent between them, and what one of them has
//! acknowledged is in all.
//!
//! | a replica shares with the others | has of its own |
//! |---|---|
//! | items, indexes, change log; keys, billing and throughput, table class, whether it is encrypted | id, state, stream, recovery, Kinesis destinations, tags, policy, deletion protection, Contributor Insights, encryption key |
//!
//! A change of one of them is a change of all, in one commit (`tables/replacement.rs`).

use serde::{Deserialize, Serialize};
use store::Space;

use super::membership::ReplicaState;
use super::table::{Encryption, Table, TableState};
use crate::Namespace;

/// What a replica knows of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strong {
    /// The other replicas, in the order in which this one learned of them.
    pub replicas: Vec<StrongReplica>,
    /// The Region that only takes part in agreement. It has no table; here it has nothing to do.
    pub witness: Option<String>,
}

/// Another replica, as its own row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrongReplica {
    pub region: String,
    pub state: ReplicaState,
    /// Whether something of that Region reads the change log.
    pub reads_log: bool,
}

impl Strong {
    /// The replica in this Region.
    pub fn replica(&self, region: &str) -> Option<&StrongReplica> {
        self.replicas.iter().find(|replica| replica.region == region)
    }

    /// Whether a replica is being made or removed.
    pub fn is_changing(&self) -> bool {
        self.replicas.iter().any(|replica| replica.state != ReplicaState::Active)
    }
}

/// A replica that is to be made.
#[derive(Clone, Debug)]
pub struct NewReplica {
    pub region: String,
    /// The UUID of its table.
    pub id: String,
    /// The key in its Region, if the table is encrypted with one.
    pub kms_key: Option<String>,
}

impl Table {
    /// The Regions of the other strong replicas; none if consistency is not strong.
    pub fn strong_regions(&self) -> impl Iterator<Item = &str> {
        self.strong.iter().flat_map(|strong| &strong.replicas).map(|replica| replica.region.as_str())
    }

    /// The other Regions that have the table, strongly consistent or not.
    pub fn other_regions(&self) -> impl Iterator<Item = &str> {
        let members = self.membership.iter().flat_map(|own| &own.replicas);
        members.map(|replica| replica.region.as_str()).chain(self.strong_regions())
    }

    /// The namespace of the replica that stands for all where rows count once: the one whose Region's name comes first.
    pub fn rows_home(&self) -> Namespace {
        let first = self.strong_regions().chain([&*self.namespace.region]).min();
        Namespace::new(self.namespace.account.clone(), first.unwrap_or(&*self.namespace.region))
    }

    /// Whether it stands for all replicas that have the same rows.
    pub fn stands_for_rows(&self) -> bool {
        self.strong_regions().all(|other| *self.namespace.region < *other)
    }

    /// The table and its new strong replicas. They begin in this state.
    pub fn with_replicas(
        mut self,
        new: &[NewReplica],
        witness: Option<String>,
        state: TableState,
        now_ms: u64,
    ) -> Vec<Table> {
        let regions: Vec<String> = std::iter::once(self.namespace.region.to_string())
            .chain(new.iter().map(|new| new.region.clone()))
            .collect();
        let place = |own: &str| {
            let others = regions.iter().filter(|region| *region != own);
            let replica = |region: &String| StrongReplica {
                region: region.clone(),
                state: ReplicaState::Creating,
                reads_log: false,
            };
            Some(Strong { replicas: others.map(replica).collect(), witness: witness.clone() })
        };
        let replica = |new: &NewReplica| {
            let mut replica = self.without_own_settings();
            replica.namespace = Namespace::new(self.namespace.account.clone(), &*new.region);
            replica.id.clone_from(&new.id);
            replica.created_ms = now_ms;
            replica.state = state;
            replica.encryption = self.encryption.as_ref().map(|_| Encryption { key: new.kms_key.clone() });
            replica.strong = place(&new.region);
            replica
        };
        let replicas: Vec<Table> = new.iter().map(replica).collect();
        self.strong = place(&self.namespace.region);
        let mut group: Vec<Table> = std::iter::once(self).chain(replicas).collect();
        agree(&mut group);
        group
    }

    /// The table with nothing of what each Region has of its own.
    fn without_own_settings(&self) -> Table {
        let mut plain = self.clone();
        plain.deletion_protection = false;
        plain.tags.clear();
        (plain.stream, plain.last_stream_ms, plain.recovery) = (None, None, None);
        plain.copies.clear();
        plain.destinations.clear();
        (plain.policy, plain.policy_removal, plain.insights) = (None, None, None);
        plain.indexes.iter_mut().for_each(|index| index.insights = None);
        plain
    }

    /// Whether it is in a Region of this account.
    pub fn is_in(&self, account_of: &Namespace, region: &str) -> bool {
        self.namespace.account == account_of.account && *self.namespace.region == *region
    }

    /// Whether all is equal that strong replicas share.
    pub fn agrees_with(&self, other: &Table) -> bool {
        let mut taken = self.clone();
        taken.take_shared(other);
        let knows_it = |table: &Table, other: &Table| {
            table.strong_regions().any(|region| *region == *other.namespace.region)
        };
        taken == *self && self.spaces().eq(other.spaces()) && knows_it(other, self)
    }

    /// Takes over from another replica what all share.
    fn take_shared(&mut self, other: &Table) {
        let own = std::mem::replace(&mut self.indexes, other.indexes.clone());
        for index in &mut self.indexes {
            index.insights = own.iter().find(|own| own.name == index.name).and_then(|own| own.insights);
        }
        self.definitions.clone_from(&other.definitions);
        self.billing.clone_from(&other.billing);
        self.class.clone_from(&other.class);
        self.log.clone_from(&other.log);
        self.doubtful_times.clone_from(&other.doubtful_times);
        if self.encryption.is_some() != other.encryption.is_some() {
            self.encryption = other.encryption.as_ref().map(|_| Encryption { key: None });
        }
    }
}

/// The replicas after a change of one of them, which comes first.
pub fn share(changed: Table, others: &[Table]) -> Vec<Table> {
    let mut group = vec![changed];
    for other in others {
        let mut other = other.clone();
        other.take_shared(&group[0]);
        group.push(other);
    }
    agree(&mut group);
    group
}

/// The replicas when all but the first leave: those are DELETING, and nothing of their Regions reads the log any more.
pub fn parting(group: &[Table], shards: u16, unused: Space, now_us: u64) -> Vec<Table> {
    let mut group = group.to_vec();
    let mut ends_stream = false;
    for leaving in &mut group[1..] {
        leaving.state = TableState::Deleting;
        ends_stream |= leaving.stream.take().is_some();
        leaving.recovery = None;
        leaving.destinations.clear();
    }
    agree(&mut group);
    let mut staying = group.remove(0);
    // The records of a stream that ends are in shards that are closed.
    if ends_stream && staying.log.is_open() {
        staying.log.roll(now_us);
    }
    staying.settle_log(shards, unused, now_us);
    share(staying, &group)
}

/// The replicas that are left without one of them. The last one is a table of one Region again.
pub fn without(group: &[Table], region: &str) -> Vec<Table> {
    let left = group.iter().filter(|table| *table.namespace.region != *region);
    let mut left: Vec<Table> = left.cloned().collect();
    for table in &mut left {
        if let Some(strong) = &mut table.strong {
            strong.replicas.retain(|replica| replica.region != region);
        }
        table.strong.take_if(|strong| strong.replicas.is_empty());
    }
    left
}

/// Lets each replica know how the others are.
pub fn agree(group: &mut [Table]) {
    let known: Vec<StrongReplica> = group
        .iter()
        .map(|table| StrongReplica {
            region: table.namespace.region.to_string(),
            state: match table.state {
                TableState::Creating => ReplicaState::Creating,
                TableState::Active | TableState::Updating => ReplicaState::Active,
                TableState::Deleting => ReplicaState::Deleting,
            },
            reads_log: table.reads_log(),
        })
        .collect();
    for strong in group.iter_mut().filter_map(|table| table.strong.as_mut()) {
        for replica in &mut strong.replicas {
            if let Some(now) = known.iter().find(|now| now.region == replica.region) {
                replica.clone_from(now);
            }
        }
    }
}
