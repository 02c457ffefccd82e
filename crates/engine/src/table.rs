//! A table as the catalog knows it: an immutable snapshot, replaced as a whole when it changes.

use std::collections::BTreeMap;

use api::Error;
use item::{Item, ItemBuilder, ItemRef, Type};
use serde::{Deserialize, Serialize};
use store::Space;

use crate::Caller;

/// Everything that is decided about a table, and nothing of its items.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    pub account: String,
    pub region: String,
    pub name: String,
    /// The stable UUID that clients see.
    pub id: String,
    space: u64,
    pub created_ms: u64,
    pub keys: KeySchema,
    /// As the clients declared them, the attributes of indexes too.
    pub definitions: Vec<KeyAttribute>,
    /// In the order of their making.
    pub indexes: Vec<Index>,
    /// Where the sizes of item collections are kept, if there are local indexes.
    collections: Option<u64>,
    pub billing: Billing,
    pub deletion_protection: bool,
    /// Absent until a client sets it.
    pub class: Option<TableClass>,
    #[serde(default)]
    pub state: TableState,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The attribute that holds when an item expires, if items do.
    pub time_to_live: Option<String>,
    pub policy: Option<ResourcePolicy>,
    /// Absent with the key that the service owns, which is the default.
    pub encryption: Option<Encryption>,
}

/// A table is anything but active only for as long as changes of state are made to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableState {
    Creating,
    #[default]
    Active,
    Updating,
    Deleting,
}

/// Who else may use the table. It is kept and shown; access is not decided by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcePolicy {
    pub document: String,
    pub revision: String,
}

/// The key that a client wants its table encrypted with. It is kept and shown; the store's files are
/// what they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// The ARN, id or alias that the client gave, or none for the key that the service manages.
    pub key: Option<String>,
}

/// The attributes that locate an item. A table has one HASH attribute and at most one RANGE
/// attribute; the key of an index may have more of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySchema {
    pub partition: Vec<KeyAttribute>,
    pub sort: Vec<KeyAttribute>,
}

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
    /// Of a global index; a local one shares the table's.
    pub billing: Option<Throughput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    Global,
    Local,
}

/// Which attributes an index holds besides its own key and the table's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Projection {
    KeysOnly,
    Include(Vec<String>),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Written to, but not yet complete.
    Creating,
    Active,
    /// No longer written to.
    Deleting,
}

/// What a global index may use each second; zeros on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    pub read_units: u64,
    pub write_units: u64,
    pub on_demand_max: OnDemandMax,
    #[serde(default)]
    pub warm: WarmThroughput,
}

/// How a table's throughput is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    pub mode: BillingMode,
    pub read_units: u64,
    pub write_units: u64,
    /// When the table last became on-demand; a table that never was has no billing summary.
    pub on_demand_since_ms: Option<u64>,
    pub increased_ms: Option<u64>,
    pub decreased_ms: Option<u64>,
    pub on_demand_max: OnDemandMax,
    #[serde(default)]
    pub warm: WarmThroughput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BillingMode {
    Provisioned,
    OnDemand,
}

/// The caps a client put on an on-demand table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnDemandMax {
    pub read_units: Option<i64>,
    pub write_units: Option<i64>,
}

/// What a client asked a table or index to be ready for at once; zeros if it never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmThroughput {
    pub read_units: u64,
    pub write_units: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableClass {
    pub infrequent_access: bool,
    pub changed_ms: Option<u64>,
}

/// What the catalog must know to make a table; the rest follows from its name and time.
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

#[derive(Clone)]
pub struct NewIndex {
    pub name: String,
    pub scope: Scope,
    pub keys: KeySchema,
    pub projection: Projection,
    pub billing: Option<Throughput>,
}

impl NewIndex {
    pub fn in_space(self, space: Space, state: IndexState) -> Index {
        Index {
            name: self.name,
            space: space.0,
            scope: self.scope,
            keys: self.keys,
            projection: self.projection,
            state,
            billing: self.billing,
        }
    }
}

impl Index {
    pub fn space(&self) -> Space {
        Space(self.space)
    }

    pub fn is_global(&self) -> bool {
        self.scope == Scope::Global
    }

    /// Whether writes must reach it.
    pub fn is_written(&self) -> bool {
        self.state != IndexState::Deleting
    }
}

impl Table {
    /// A table whose spaces begin with `space`: its own, one for each index, one for its collections.
    pub fn new(caller: &Caller, new: NewTable, space: Space, id: String, created_ms: u64) -> Table {
        let local = new.indexes.iter().any(|index| index.scope == Scope::Local);
        let collections = local.then_some(space.0 + 1 + new.indexes.len() as u64);
        let index = |(number, index): (usize, NewIndex)| {
            index.in_space(Space(space.0 + 1 + number as u64), IndexState::Active)
        };
        Table {
            account: caller.account.clone(),
            region: caller.region.clone(),
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
            policy: new.policy,
            encryption: new.encryption,
        }
    }

    pub fn space(&self) -> Space {
        Space(self.space)
    }

    /// Where the sizes of its item collections are kept, if it has such.
    pub fn collections(&self) -> Option<Space> {
        self.collections.map(Space)
    }

    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Leaves only the definitions of attributes that are part of some key.
    pub fn forget_unused_definitions(&mut self) {
        let Table { keys, indexes, definitions, .. } = self;
        let used = |name: &str| keys.contains(name) || indexes.iter().any(|index| index.keys.contains(name));
        definitions.retain(|definition| used(&definition.name));
    }

    /// Whether items can be read and written.
    pub fn has_items(&self) -> bool {
        matches!(self.state, TableState::Active | TableState::Updating)
    }

    /// Refuses to change a table that is still busy with another change.
    pub fn check_active(&self) -> Result<(), Error> {
        match self.state {
            TableState::Active => Ok(()),
            TableState::Creating => Err(Error::table_being_created(&self.name)),
            TableState::Updating => Err(Error::table_being_updated(&self.name)),
            TableState::Deleting => Err(Error::table_being_deleted(&self.name)),
        }
    }

    /// Every space it has: its own, those of its indexes, that of its collections.
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        std::iter::once(self.space()).chain(self.indexes.iter().map(Index::space)).chain(self.collections())
    }

    pub fn caller(&self) -> Caller {
        Caller::new(&self.account, &self.region)
    }

    pub fn arn(&self) -> String {
        format!("arn:aws:dynamodb:{}:{}:table/{}", self.region, self.account, self.name)
    }

    pub fn index_arn(&self, index: &Index) -> String {
        format!("{}/index/{}", self.arn(), index.name)
    }

    /// How many partitions serve the table, for the floor that a Scan pays.
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
    /// What the table can serve at once: what it was asked to be ready for, and never less than what is
    /// provisioned or what a new on-demand table can.
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
    /// What the index can serve at once, as for a table.
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

    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The item's key attributes alone.
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

/// Types are written by their DynamoDB name, so that the catalog's rows can be read by eye.
mod type_name {
    use item::Type;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(kind: &Type, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        let name = String::deserialize(deserializer)?;
        Type::from_name(&name).ok_or_else(|| D::Error::custom(format!("no such type: {name}")))
    }
}
