//! What a member of a global table knows of the group. It is part of the table's row in the catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::Space;

use super::version::Version;

/// For so long a member that others were copied from can't leave before them.
const SOURCE_MS: u64 = 24 * 60 * 60 * 1000;

/// A table's place in a global table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// The other members, in the order in which this one learned of them.
    pub replicas: Vec<Replica>,
    /// The space of the items' versions.
    versions: u64,
    /// The version of the items that were there when the table became global, until they are written.
    pub base: Version,
    /// The member that it is copied from, until it is complete.
    pub joins_from: Option<String>,
    /// The members that were copied from this one.
    pub sourced: Vec<Sourced>,
    /// What Regions have of their own, by Region; this one's included.
    pub overrides: BTreeMap<String, Overrides>,
    /// The read units that the group has, while this Region overrides them.
    pub group_read_units: Option<u64>,
    /// When the settings that members share were last changed here. The latest counts.
    pub settings_us: u64,
}

/// Another member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    pub region: String,
    pub state: ReplicaState,
    /// This member's changes after this time are sent there.
    pub since_us: u64,
    /// When it was found that some changes may never get there by the log: all items are sent once more.
    #[serde(default)]
    pub copy_asked_us: Option<u64>,
}

/// What another member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaState {
    Creating,
    Active,
    Deleting,
}

/// A member that was copied from this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sourced {
    pub region: String,
    pub at_ms: u64,
}

/// What a Region has of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    pub read_units: Option<u64>,
    pub max_read_units: Option<i64>,
    /// Whether items are rarely read.
    pub infrequent_access: Option<bool>,
    pub kms_key: Option<String>,
    pub indexes: BTreeMap<String, IndexOverride>,
}

/// What a Region has of its own for one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexOverride {
    pub read_units: Option<u64>,
    pub max_read_units: Option<i64>,
}

impl Membership {
    /// Of a table that has no other members yet.
    pub fn new(versions: Space, base: Version) -> Membership {
        Membership {
            replicas: Vec::new(),
            versions: versions.0,
            settings_us: base.time_us,
            base,
            joins_from: None,
            sourced: Vec::new(),
            overrides: BTreeMap::new(),
            group_read_units: None,
        }
    }

    /// Where the versions of items are.
    pub fn versions(&self) -> Space {
        Space(self.versions)
    }

    /// The member in this Region.
    pub fn replica(&self, region: &str) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.region == region)
    }

    /// Adds a member, unless it is known.
    pub fn add(&mut self, region: &str, state: ReplicaState, since_us: u64) {
        if self.replica(region).is_none() {
            self.replicas.push(Replica { region: region.to_owned(), state, since_us, copy_asked_us: None });
        }
    }

    /// Notes what a member does.
    pub fn set_state(&mut self, region: &str, state: ReplicaState) {
        let replicas = self.replicas.iter_mut().filter(|replica| replica.region == region);
        replicas.for_each(|replica| replica.state = state);
    }

    /// Forgets a member.
    pub fn remove(&mut self, region: &str) {
        self.replicas.retain(|replica| replica.region != region);
        self.sourced.retain(|sourced| sourced.region != region);
        self.overrides.remove(region);
    }

    /// Whether a member is being added or removed.
    pub fn is_changing(&self) -> bool {
        self.joins_from.is_some() || self.replicas.iter().any(|replica| replica.state != ReplicaState::Active)
    }

    /// Whether others were copied from it lately and still are there.
    pub fn was_source(&self, now_ms: u64) -> bool {
        let counts = |sourced: &Sourced| {
            now_ms < sourced.at_ms.saturating_add(SOURCE_MS) && self.replica(&sourced.region).is_some()
        };
        self.sourced.iter().any(counts)
    }

    /// Whether the sweep of expired items is this Region's: one member deletes them for all. It is the one whose
    /// name comes first.
    pub fn expires_in(&self, region: &str) -> bool {
        self.replicas.iter().all(|replica| region < replica.region.as_str())
    }
}
