//! The throughput of a table with its global indexes: whether a request is served.
//!
//! A request has parts: a write has one in its table and one in each index whose row it changes. It is
//! admitted if every part is, and then every part is charged. If one is refused, nothing is charged. So a
//! starved index refuses the writes of its table, whatever the table has left.
//!
//! The database keeps one lock for each table around this, so that a request meets all of its limits at one
//! moment. A request takes some 0.1 µs inside, so the lock of a table with a million requests a second is
//! free nine times in ten.

use crate::headroom::Headroom;
use crate::resource::{Learned, Resource, Settings};
use crate::throttle::{Access, Decision, Enforcement, Place, Reason};

/// One part of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The table or index that it uses. One that is not known counts as the table.
    pub place: Place,
    /// A well-mixed hash of the partition key; none for a request that is for no particular key.
    pub key_hash: Option<u64>,
    /// What it uses.
    pub units: f64,
}

/// The throughput of a table and its global indexes.
#[derive(Clone, Debug)]
pub struct Throughput {
    enforcement: Enforcement,
    table: Resource,
    /// At most 20, so they are looked up one after the other.
    indexes: Vec<(u64, Resource)>,
    /// How many servers share the limits. Each counts what it serves this many times: the others are taken to serve
    /// as much, so that all together keep to the limits without a word between them.
    sharers: f64,
}

impl Throughput {
    /// A table without indexes.
    pub fn new(enforcement: Enforcement, settings: Settings, now_ms: u64) -> Throughput {
        let table = Resource::new(settings, enforcement.models_aws(), now_ms);
        Throughput { enforcement, table, indexes: Vec::new(), sharers: 1.0 }
    }

    /// Says how many servers share the limits.
    pub fn share_among(&mut self, servers: u32) {
        self.sharers = f64::from(servers.max(1));
    }

    /// Goes on with other settings of the table.
    pub fn set_table(&mut self, settings: Settings, now_ms: u64) {
        self.table.set(settings, now_ms);
    }

    /// Adds an index, or goes on with other settings of it.
    pub fn set_index(&mut self, index: u64, settings: Settings, now_ms: u64) {
        match self.indexes.iter_mut().find(|(known, _)| *known == index) {
            Some((_, resource)) => resource.set(settings, now_ms),
            None => {
                let resource = Resource::new(settings, self.enforcement.models_aws(), now_ms);
                self.indexes.push((index, resource));
            }
        }
    }

    /// Forgets an index.
    pub fn remove_index(&mut self, index: u64) {
        self.indexes.retain(|(known, _)| *known != index);
    }

    /// The table or one index; the table if the index is not known.
    pub fn resource(&self, place: Place) -> &Resource {
        let found = self.indexes.iter().find(|(known, _)| Place::Index(*known) == place);
        found.map_or(&self.table, |(_, resource)| resource)
    }

    fn resource_mut(&mut self, place: Place) -> &mut Resource {
        let found = self.indexes.iter_mut().find(|(known, _)| Place::Index(*known) == place);
        found.map_or(&mut self.table, |(_, resource)| resource)
    }

    /// Goes on with what a table or index learned earlier.
    pub fn resume(&mut self, place: Place, learned: &Learned) {
        self.resource_mut(place).resume(learned);
    }

    /// Says how many bytes a table or index stores.
    pub fn set_bytes(&mut self, place: Place, bytes: u64) {
        self.resource_mut(place).set_bytes(bytes);
    }

    /// Decides on a request whose cost is known, and charges it if it is admitted.
    pub fn request(&mut self, access: Access, parts: &[Part], now_ms: u64) -> Decision {
        let decision = self.check(access, parts, now_ms);
        if decision == Decision::Admitted {
            self.charge(access, parts, now_ms);
        }
        decision
    }

    /// Decides on a request and charges nothing. The cost of a read is known only when it is done: if it was
    /// admitted, [`Throughput::charge`] follows.
    pub fn check(&mut self, access: Access, parts: &[Part], now_ms: u64) -> Decision {
        if self.enforcement == Enforcement::Off {
            return Decision::Admitted;
        }
        let mut reasons: Vec<Reason> = Vec::new();
        for part in parts {
            let Some(cause) = self.resource_mut(part.place).refusal(part.key_hash, access, now_ms) else {
                continue;
            };
            let reason = Reason { place: part.place, access, cause };
            // A table and its local indexes refuse once.
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        match self.enforcement {
            _ if reasons.is_empty() => Decision::Admitted,
            Enforcement::Shadow => Decision::WouldThrottle(reasons),
            _ => Decision::Throttled(reasons),
        }
    }

    /// What is left for requests of one kind.
    pub fn headroom(&mut self, access: Access, now_ms: u64) -> Headroom {
        let indexes =
            self.indexes.iter_mut().map(|(index, resource)| (*index, resource.left(access, now_ms)));
        let indexes = indexes.collect();
        Headroom { access, sharers: self.sharers, table: self.table.left(access, now_ms), indexes }
    }

    /// The indexes that it knows.
    pub fn indexes(&self) -> impl Iterator<Item = u64> {
        self.indexes.iter().map(|(index, _)| *index)
    }

    /// Charges a request that was admitted. Negative units give back what a write took, before it is decided
    /// again.
    pub fn charge(&mut self, access: Access, parts: &[Part], now_ms: u64) {
        if self.enforcement == Enforcement::Off {
            return;
        }
        debug_assert!(self.sharers >= 1.0, "this server is one of those that share the limits");
        for part in parts {
            let units = part.units * self.sharers;
            self.resource_mut(part.place).charge(part.key_hash, access, units, now_ms);
        }
    }
}
