//! The definition of a table, as the catalog stores it. It is replaced as a whole when it changes.

use std::collections::BTreeMap;

use api::Error;
use capacity::{Access, Decreases, Switches};
use item::{Item, ItemBuilder, ItemRef, Type};
use serde::{Deserialize, Serialize};
use store::{Position, Space, StoreError};

use crate::Namespace;
use crate::base::change_log::ChangeLog;
use crate::base::kinesis_destination::KinesisDestination;
use crate::base::membership::Membership;
use crate::base::space;
use crate::base::stream::{self, Stream};
use crate::base::strong::Strong;

/// The schema and the settings of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    #[serde(flatten)]
    pub namespace: Namespace,
    pub name: String,
    /// The UUID that clients see. A table that is created again under the same name has another.
    pub id: String,
    space: u64,
    pub created_ms: u64,
    pub keys: KeySchema,
    /// The AttributeDefinitions, those for indexes included.
    pub definitions: Vec<KeyAttribute>,
    /// In the order of their creation.
    pub indexes: Vec<Index>,
    /// The space that holds the sizes of item collections, if there are local indexes.
    collections: Option<u64>,
    pub billing: Billing,
    pub deletion_protection: bool,
    /// `None` until a client sets it.
    pub class: Option<TableClass>,
    #[serde(default)]
    pub state: TableState,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The attribute that holds the time at which an item expires.
    pub time_to_live: Option<String>,
    /// The index of those times, while time to live is on.
    #[serde(default)]
    pub expiry: Option<Expiry>,
    /// Where its changes are recorded, while something reads them.
    #[serde(default)]
    pub log: ChangeLog,
    #[serde(default)]
    pub stream: Option<Stream>,
    /// When its latest stream was switched on, also if it was switched off since.
    #[serde(default)]
    pub last_stream_ms: Option<u64>,
    /// Point-in-time recovery, if it is on.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// The times that it can't be restored to, because the clock was wrong; oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful_times: Vec<DoubtfulTime>,
    /// The copies under way that need its log.
    #[serde(default)]
    pub copies: Vec<Copying>,
    /// What it is restored from; none once it is ACTIVE.
    #[serde(default)]
    pub restore: Option<Restore>,
    /// The ARN of the import that fills it; none once it is ACTIVE.
    #[serde(default)]
    pub import: Option<String>,
    pub policy: Option<ResourcePolicy>,
    /// The revision of the last removal of a policy, if there is none now.
    #[serde(default)]
    pub policy_removal: Option<String>,
    /// `None` with the key that the service owns, which is the default.
    pub encryption: Option<Encryption>,
    /// Contributor Insights of the table itself; `None` until they are first switched on.
    #[serde(default)]
    pub insights: Option<Insights>,
    /// Its place in a global table, if other Regions have it, too.
    #[serde(default)]
    pub membership: Option<Membership>,
    /// The replicas in other Regions that are views of the same rows, if there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strong: Option<Strong>,
    /// The Kinesis streams that get its changes, and those that got them.
    #[serde(default)]
    pub destinations: Vec<KinesisDestination>,
}

/// Contributor Insights of a table or global index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insights {
    pub state: InsightsState,
    /// While they are off, the one they had.
    pub mode: InsightsMode,
    /// When they were last changed.
    pub changed_ms: u64,
}

/// Which keys are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InsightsMode {
    AccessedAndThrottledKeys,
    ThrottledKeys,
}

/// Whether keys are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InsightsState {
    /// Since these times, which are in the names of the rules, by the clock of capacity.
    On {
        throttled_since_ms: u64,
        accessed_since_ms: u64,
    },
    Off,
    /// There was no room for more rules.
    Failed,
}

impl Insights {
    /// Whether keys are counted.
    pub fn is_on(&self) -> bool {
        matches!(self.state, InsightsState::On { .. })
    }
}

/// The index of the times at which items expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    space: u64,
    /// Whether the items that were there before are in it.
    pub is_filled: bool,
}

impl Expiry {
    /// An index that is still to be filled.
    pub fn new(space: Space) -> Expiry {
        Expiry { space: space.0, is_filled: false }
    }

    /// Where its rows are.
    pub fn space(&self) -> Space {
        Space(self.space)
    }
}

/// Point-in-time recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Every change since this time is recorded.
    pub since_us: u64,
    /// How many days back a state can be restored.
    pub days: u32,
}

/// A span of time during which changes of the table may have been recorded under later times: the clock was wrong, and
/// times of records don't go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtfulTime {
    /// The last record whose time is certain.
    pub after_us: u64,
    /// From here on times are certain again; none while records are ahead of the date.
    pub until_us: Option<u64>,
}

impl DoubtfulTime {
    /// Whether the state of the table at this time is unknown.
    pub fn contains(&self, time_us: u64) -> bool {
        time_us > self.after_us && self.until_us.is_none_or(|until_us| time_us < until_us)
    }
}

/// A copy of the table that is under way, or the last one that was made: it needs the log from a time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copying {
    /// The ARN of the table, backup or export that it is made for.
    pub target: String,
    pub from_us: u64,
}

/// Where the items of a table that is being restored come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub source_table_arn: String,
    pub source_backup_arn: Option<String>,
    /// The state that is restored.
    pub time_us: u64,
}

/// The state of a table. Tables change state at once unless `--state-delay` is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableState {
    Creating,
    #[default]
    Active,
    Updating,
    Deleting,
}

/// A resource-based policy. The server enforces it where signatures are verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcePolicy {
    /// JSON, as the client sent it.
    pub document: String,
    /// The time of the change in milliseconds; later revisions are greater.
    pub revision: String,
}

/// The encryption key that a client asked for. It is stored and returned, but nothing is encrypted with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// The ARN, id or alias that the client gave, or none for the key that the service manages.
    pub key: Option<String>,
}

/// The key attributes of a table or index. A table has one HASH attribute and at most one RANGE
/// attribute; an index may have more of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySchema {
    pub partition: Vec<KeyAttribute>,
    pub sort: Vec<KeyAttribute>,
}

/// A key attribute and its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAttribute {
    pub name: String,
    #[serde(with = "type_name")]
    pub kind: Type,
}

/// A secondary index: a copy of some attributes of some items, under another key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Index {
    pub name: String,
    space: u64,
    pub scope: Scope,
    pub keys: KeySchema,
    pub projection: Projection,
    pub state: IndexState,
    /// The throughput of a global index; a local one shares the table's.
    pub billing: Option<Throughput>,
    /// Contributor Insights of a global index; `None` until they are first switched on.
    #[serde(default)]
    pub insights: Option<Insights>,
    /// What a vector index searches; none for other indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<VectorSettings>,
}

/// The kind of an index. A vector index has the HASH attribute of its SearchSchema as its partition key, if there is
/// one, and no sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    Global,
    Local,
    Vector,
}

/// What a vector index searches. None of it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorSettings {
    /// The attribute that holds the vector.
    pub attribute: String,
    pub dimensions: usize,
    pub distance: DistanceFunction,
    /// The INLINE_FILTER attributes.
    pub filters: Vec<KeyAttribute>,
}

/// DynamoDB's distance functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DistanceFunction {
    Cosine,
    DotProduct,
    Euclidean,
}

/// Which attributes an index holds in addition to its own key and the table's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Projection {
    KeysOnly,
    Include(Vec<String>),
    All,
}

/// The state of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Writes maintain it, but it does not hold all items yet.
    Creating,
    Active,
    /// Writes no longer maintain it.
    Deleting,
}

/// The throughput of a global index in units per second; zeros on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    pub read_units: u64,
    pub write_units: u64,
    pub on_demand_max: OnDemandMax,
    #[serde(default)]
    pub warm: WarmThroughput,
    /// The decreases of its provisioned throughput.
    #[serde(with = "DecreasesRow", default)]
    pub decreases: Decreases,
}

/// How decreases are stored.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Decreases")]
struct DecreasesRow {
    count: u32,
    first_ms: u64,
    last_ms: u64,
}

/// How switches to on-demand are stored.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Switches")]
struct SwitchesRow {
    at_ms: [Option<u64>; 4],
}

/// The throughput of a table and how it is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    pub mode: BillingMode,
    pub read_units: u64,
    pub write_units: u64,
    /// When the table last became on-demand. A table that never was has no billing summary.
    pub on_demand_since_ms: Option<u64>,
    /// When the provisioned throughput was last increased.
    pub increased_ms: Option<u64>,
    /// When the provisioned throughput was last decreased.
    pub decreased_ms: Option<u64>,
    pub on_demand_max: OnDemandMax,
    #[serde(default)]
    pub warm: WarmThroughput,
    /// The decreases of the provisioned throughput, and the switches to on-demand, by the clock of capacity.
    #[serde(with = "DecreasesRow", default)]
    pub decreases: Decreases,
    #[serde(with = "SwitchesRow", default)]
    pub switches: Switches,
}

/// DynamoDB's two billing modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BillingMode {
    Provisioned,
    OnDemand,
}

/// The maximum throughput that a client set for an on-demand table or index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnDemandMax {
    pub read_units: Option<i64>,
    pub write_units: Option<i64>,
}

/// The warm throughput that a client set; zeros if it never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmThroughput {
    pub read_units: u64,
    pub write_units: u64,
}

/// The table class that a client set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableClass {
    pub infrequent_access: bool,
    /// When it was last changed, after the creation of the table.
    pub changed_ms: Option<u64>,
}

/// The definition of a table that is to be created.
#[derive(Clone)]
pub struct NewTable {
    pub name: String,
    pub keys: KeySchema,
    pub definitions: Vec<KeyAttribute>,
    pub indexes: Vec<NewIndex>,
    pub billing: Billing,
    pub deletion_protection: bool,
    pub class: Option<TableClass>,
    pub state: TableState,
    pub tags: BTreeMap<String, String>,
    pub policy: Option<ResourcePolicy>,
    pub encryption: Option<Encryption>,
}

/// The definition of an index that is to be created.
#[derive(Clone)]
pub struct NewIndex {
    pub name: String,
    pub scope: Scope,
    pub keys: KeySchema,
    pub projection: Projection,
    pub billing: Option<Throughput>,
    pub vector: Option<VectorSettings>,
}

impl NewIndex {
    /// One like an index that is there.
    pub fn like(index: &Index) -> NewIndex {
        NewIndex {
            name: index.name.clone(),
            scope: index.scope,
            keys: index.keys.clone(),
            projection: index.projection.clone(),
            billing: index.billing,
            vector: index.vector.clone(),
        }
    }

    /// Whether it holds this attribute of the items, as far as they have it, for its own use.
    pub fn uses(&self, name: &str) -> bool {
        let mut filters = self.vector.iter().flat_map(|vector| &vector.filters);
        self.keys.contains(name) || filters.any(|attribute| attribute.name == name)
    }

    /// The index in its space.
    pub fn in_space(self, space: Space, state: IndexState) -> Index {
        Index {
            name: self.name,
            space: space.0,
            scope: self.scope,
            keys: self.keys,
            projection: self.projection,
            state,
            billing: self.billing,
            insights: None,
            vector: self.vector,
        }
    }
}

impl Index {
    /// The space of its rows.
    pub fn space(&self) -> Space {
        Space(self.space)
    }

    /// Whether it is a global index.
    pub fn is_global(&self) -> bool {
        self.scope == Scope::Global
    }

    /// Whether it holds this attribute of the items, as far as they have it, for its own use.
    pub fn uses(&self, name: &str) -> bool {
        self.keys.contains(name) || self.filters().iter().any(|attribute| attribute.name == name)
    }

    /// The INLINE_FILTER attributes of a vector index.
    pub fn filters(&self) -> &[KeyAttribute] {
        self.vector.as_ref().map_or(&[], |vector| &vector.filters)
    }

    /// Whether writes maintain it.
    pub fn is_written(&self) -> bool {
        self.state != IndexState::Deleting
    }
}

impl Table {
    /// A table with consecutive spaces from `space` on: its own, one for each index, one for its item
    /// collections.
    pub fn new(namespace: Namespace, new: NewTable, space: Space, id: String, created_ms: u64) -> Table {
        let local = new.indexes.iter().any(|index| index.scope == Scope::Local);
        let collections = local.then_some(space.0 + 1 + new.indexes.len() as u64);
        let index = |(number, index): (usize, NewIndex)| {
            index.in_space(Space(space.0 + 1 + number as u64), IndexState::Active)
        };
        Table {
            namespace,
            name: new.name,
            id,
            space: space.0,
            created_ms,
            keys: new.keys,
            definitions: new.definitions,
            indexes: new.indexes.into_iter().enumerate().map(index).collect(),
            collections,
            billing: new.billing,
            deletion_protection: new.deletion_protection,
            class: new.class,
            state: new.state,
            tags: new.tags,
            time_to_live: None,
            expiry: None,
            log: ChangeLog::default(),
            stream: None,
            last_stream_ms: None,
            recovery: None,
            doubtful_times: Vec::new(),
            copies: Vec::new(),
            restore: None,
            import: None,
            policy: new.policy,
            policy_removal: None,
            encryption: new.encryption,
            insights: None,
            membership: None,
            strong: None,
            destinations: Vec::new(),
        }
    }

    /// Gives everything that is derived from items a new, empty space, from `unused` on. Indexes are CREATING until they
    /// are filled. Returns the spaces that it had.
    pub fn renew_derived(&mut self, unused: Space) -> Vec<Space> {
        let (mut old, mut next) = (Vec::new(), unused.0);
        let mut renew = |space: &mut u64| {
            old.push(Space(*space));
            *space = next;
            next += 1;
        };
        for index in self.indexes.iter_mut().filter(|index| index.state != IndexState::Deleting) {
            renew(&mut index.space);
            index.state = IndexState::Creating;
        }
        if let Some(expiry) = &mut self.expiry {
            renew(&mut expiry.space);
            expiry.is_filled = false;
        }
        self.collections.iter_mut().for_each(renew);
        old
    }

    /// The space of its items.
    pub fn space(&self) -> Space {
        Space(self.space)
    }

    /// The space that holds the sizes of its item collections, if it has local indexes.
    pub fn collections(&self) -> Option<Space> {
        self.collections.map(Space)
    }

    /// The index of this name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The global index in this space.
    pub fn global_index(&self, space: Space) -> Option<&Index> {
        let others = self.indexes.iter().filter(|_| space.0 != self.space);
        others.filter(|index| index.is_global()).find(|index| index.space() == space)
    }

    /// What has throughput of its own: the table, and each global index.
    pub fn resources(&self) -> impl Iterator<Item = Option<&Index>> {
        std::iter::once(None).chain(self.indexes.iter().filter(|index| index.is_global()).map(Some))
    }

    /// The key of the table, or of one of its indexes.
    pub fn keys_of<'t>(&'t self, index: Option<&'t Index>) -> &'t KeySchema {
        index.map_or(&self.keys, |index| &index.keys)
    }

    /// Contributor Insights of the table, or of one of its indexes.
    pub fn insights_of<'t>(&'t self, index: Option<&'t Index>) -> Option<&'t Insights> {
        index.map_or(self.insights.as_ref(), |index| index.insights.as_ref())
    }

    /// The units each second that it provisions, or the maximum that it has on demand; those of a global index if
    /// one is given.
    pub fn declared_units(&self, index: Option<&Index>, access: Access) -> Option<u64> {
        let own = &self.billing;
        let (read, write, maximum) = match index.map(|index| index.billing.unwrap_or_default()) {
            None => (own.read_units, own.write_units, own.on_demand_max),
            Some(of_index) => (of_index.read_units, of_index.write_units, of_index.on_demand_max),
        };
        let (units, maximum) = match access {
            Access::Read => (read, maximum.read_units),
            Access::Write => (write, maximum.write_units),
        };
        match self.billing.mode {
            BillingMode::Provisioned => Some(units),
            BillingMode::OnDemand => maximum.and_then(|units| u64::try_from(units).ok()),
        }
    }

    /// Removes the definitions of attributes that are no longer part of a key.
    pub fn forget_unused_definitions(&mut self) {
        let Table { keys, indexes, definitions, .. } = self;
        let used = |name: &str| keys.contains(name) || indexes.iter().any(|index| index.uses(name));
        definitions.retain(|definition| used(&definition.name));
    }

    /// Whether items can be read and written.
    pub fn has_items(&self) -> bool {
        matches!(self.state, TableState::Active | TableState::Updating)
    }

    /// Refuses to change a table while another change is under way.
    pub fn check_active(&self) -> Result<(), Error> {
        match self.state {
            TableState::Active => Ok(()),
            TableState::Creating => Err(Error::table_being_created(&self.name)),
            TableState::Updating => Err(Error::table_being_updated(&self.name)),
            TableState::Deleting => Err(Error::table_being_deleted(&self.name)),
        }
    }

    /// All its spaces: its own, those of its indexes, that of its item collections, that of expiry times, that of
    /// versions.
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        let indexes = self.indexes.iter().map(Index::space);
        let expiry = self.expiry.as_ref().map(Expiry::space);
        let versions = self.membership.as_ref().map(Membership::versions);
        std::iter::once(self.space()).chain(indexes).chain(self.collections()).chain(expiry).chain(versions)
    }

    /// The number after the greatest of its spaces and logs.
    pub fn numbers_end(&self) -> u64 {
        let numbers = self.spaces().map(|space| space.0).chain(self.log.last_number());
        numbers.max().expect("a table has a space") + 1
    }

    /// Whether it keeps its log for a copy.
    pub fn is_held_for(&self, target: &str) -> bool {
        self.copies.iter().any(|copy| copy.target == target)
    }

    /// Whether anything reads the changes of its rows, in this Region or through a strong replica.
    fn needs_log(&self) -> bool {
        let mut others = self.strong.iter().flat_map(|strong| &strong.replicas);
        self.reads_log() || others.any(|replica| replica.reads_log)
    }

    /// Whether anything of this Region reads its changes.
    pub fn reads_log(&self) -> bool {
        // A member that is being copied has nothing of its own to record.
        let sends = self.membership.as_ref().is_some_and(|own| own.joins_from.is_none());
        let delivers = self.destinations_on() > 0;
        self.stream.is_some() || self.recovery.is_some() || !self.copies.is_empty() || sends || delivers
    }

    /// Starts or stops to record changes, by whether anything reads them. Numbers from `unused` on are free
    /// for new logs.
    pub fn settle_log(&mut self, shards: u16, unused: Space, now_us: u64) {
        match (self.needs_log(), self.log.is_open()) {
            (true, false) => self.log.open(shards, unused.0.max(self.numbers_end()), now_us),
            (false, true) => self.log.close(now_us),
            (true, true) | (false, false) => {}
        }
    }

    /// What is wrong with its spaces: they must be distinct, and none may be reserved.
    pub fn fault_in_spaces(&self) -> Option<String> {
        let mut spaces: Vec<Space> = self.spaces().collect();
        spaces.sort_unstable();
        let reserved = spaces.first().filter(|space| **space < space::FIRST_OF_TABLES);
        let twice = spaces.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| &pair[0]);
        let reserved = reserved.map(|space| format!("space {} is reserved", space.0));
        reserved.or_else(|| twice.map(|space| format!("space {} is used twice", space.0)))
    }

    /// Whether this is the same table as the other, perhaps with other indexes and settings.
    pub fn is_successor_of(&self, other: &Table) -> bool {
        (&self.namespace, &self.name, &self.id, self.space)
            == (&other.namespace, &other.name, &other.id, other.space)
    }

    /// The ARN that clients see.
    pub fn arn(&self) -> String {
        let Namespace { account, region } = &self.namespace;
        format!("arn:aws:dynamodb:{region}:{account}:table/{}", self.name)
    }

    /// The ARN of the stream that was switched on at this time.
    pub fn stream_arn(&self, created_ms: u64) -> String {
        format!("{}/stream/{}", self.arn(), stream::iso_8601_ms(created_ms))
    }

    /// The ARN of one of its indexes.
    pub fn index_arn(&self, index: &Index) -> String {
        format!("{}/index/{}", self.arn(), index.name)
    }

    /// Its name in messages to the operator.
    pub fn full_name(&self) -> String {
        let Namespace { account, region } = &self.namespace;
        format!("table {} of account {account} in {region}", self.name)
    }

    /// The name of one of its indexes in messages to the operator.
    pub fn full_name_of(&self, index: &Index) -> String {
        format!("{}, index {}", self.full_name(), index.name)
    }

    /// The error for a stored row of the table, or of one of its indexes, that is no item.
    pub fn unreadable(&self, space: Space, position: &Position, error: impl std::fmt::Display) -> StoreError {
        let index = self.indexes.iter().find(|index| index.space() == space);
        let name = index.map_or_else(|| self.full_name(), |index| self.full_name_of(index));
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (partition, sort) = (hex(&position.partition.0), hex(&position.sort));
        StoreError::Corrupt(format!("{name}: the row at partition {partition}, sort {sort}: {error}"))
    }

    /// The number of partitions, which determines the least that a Scan costs.
    pub fn partitions(&self) -> u64 {
        match self.billing.mode {
            BillingMode::OnDemand => capacity::PARTITIONS_ON_DEMAND,
            BillingMode::Provisioned => {
                capacity::partitions_provisioned(self.billing.read_units, self.billing.write_units)
            }
        }
    }
}

impl Billing {
    /// The throughput that the table can serve at once: what a client set, but not less than what is
    /// provisioned or what a new on-demand table serves.
    pub fn warm(&self) -> WarmThroughput {
        let base = match self.mode {
            BillingMode::OnDemand => WarmThroughput::ON_DEMAND,
            BillingMode::Provisioned => {
                WarmThroughput { read_units: self.read_units, write_units: self.write_units }
            }
        };
        self.warm.max(base)
    }
}

impl Throughput {
    /// The throughput that the index can serve at once, as for a table.
    pub fn warm(&self) -> WarmThroughput {
        let provisioned = WarmThroughput { read_units: self.read_units, write_units: self.write_units };
        let base =
            if provisioned == WarmThroughput::default() { WarmThroughput::ON_DEMAND } else { provisioned };
        self.warm.max(base)
    }
}

impl WarmThroughput {
    const ON_DEMAND: WarmThroughput = WarmThroughput {
        read_units: capacity::PARTITIONS_ON_DEMAND * capacity::PARTITION_READ_UNITS,
        write_units: capacity::PARTITIONS_ON_DEMAND * capacity::PARTITION_WRITE_UNITS,
    };

    fn max(self, other: WarmThroughput) -> WarmThroughput {
        WarmThroughput {
            read_units: self.read_units.max(other.read_units),
            write_units: self.write_units.max(other.write_units),
        }
    }
}

impl KeySchema {
    /// HASH attributes first, then the RANGE attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The key attributes of an item.
    pub fn pick(&self, item: ItemRef<'_>) -> Item {
        let mut key = ItemBuilder::default();
        for attribute in self.attributes() {
            if let Some(value) = item.get(&attribute.name) {
                key.put(&attribute.name, value);
            }
        }
        key.build()
    }
}

/// Types have their DynamoDB names in the catalog's rows, so that people can read them.
mod type_name {
    use item::Type;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the name.
    pub fn serialize<S: Serializer>(kind: &Type, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    /// Reads the name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        let name = String::deserialize(deserializer)?;
        Type::from_name(&name).ok_or_else(|| D::Error::custom(format!("no such type: {name}")))
    }
}
