//! The models and their traffic. Each meets limits of another kind.

use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

pub const TABLE: &str = "things";
pub const INDEX: &str = "byKind";
/// Partition keys of the index.
pub const KINDS: usize = 50;
/// So large that an item costs one write unit, and half a read unit.
pub const SMALL_BYTES: usize = 900;
/// So large that an update of an item costs 100 write units, whatever is sent.
pub const LARGE_BYTES: usize = 102_000;
/// Large items that are updated. Their keys are spread evenly over all partitions.
pub const LARGE_ITEMS: usize = 800;
/// What a bucket of five minutes does not notice.
const LATE_MAX_SAVED: Duration = Duration::from_secs(20);
/// Nothing is saved up in a partition, or on demand: the units of a second without requests are lost.
const LATE_MAX_UNSAVED: Duration = Duration::from_secs(5);

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Saved units are used up and saved again, and an index refuses the writes of its table
    Provisioned,
    /// Auto scaling goes out to its bound, and comes back
    AutoScaling,
    /// A table on demand meets six times its traffic, and has grown when that comes again
    OnDemand,
    /// One key asks more than a partition sustains, of a table that has enough
    HotKey,
}

/// A model, and what is sent for it.
pub struct Scenario {
    pub name: Name,
    pub model: String,
    /// As CreateTable takes it, but for units that auto scaling begins with.
    pub table: Value,
    pub flows: Vec<Flow>,
    /// The parts of the run: minutes, and the factor of all rates during them.
    pub parts: Vec<(usize, f64)>,
    /// How many times as fast as real time the server's clock runs, unless the options say another.
    pub time_scale: u32,
    /// Requests that are later than this by the server's clock make the run worthless: the machine was too busy.
    pub late_max: Duration,
    /// The bounds of auto scaling.
    pub scaled: Option<(u64, u64)>,
    /// Large items that must be there.
    pub items: usize,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub kind: Kind,
    /// On the average.
    pub per_second: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A new item.
    Put,
    Get,
    /// Updates a large item. `hot_share` of all updates are for the first one.
    Update {
        hot_share: f64,
    },
}

impl Kind {
    pub fn is_write(self) -> bool {
        self != Kind::Get
    }
}

impl Scenario {
    pub fn named(name: Name) -> Scenario {
        match name {
            Name::Provisioned => provisioned(),
            Name::AutoScaling => auto_scaling(),
            Name::OnDemand => on_demand(),
            Name::HotKey => hot_key(),
        }
    }

    pub fn minutes(&self) -> usize {
        self.parts.iter().map(|(minutes, _)| minutes).sum()
    }

    /// What the rates are multiplied by in a minute.
    pub fn factor(&self, minute: usize) -> f64 {
        let mut end = 0;
        let part = self.parts.iter().find(|(minutes, _)| {
            end += minutes;
            minute < end
        });
        part.map_or(0.0, |(_, factor)| *factor)
    }
}

fn provisioned() -> Scenario {
    let (table, index) = ((2, 8), (1, 3));
    Scenario {
        name: Name::Provisioned,
        model: model(
            &format!("billing: provisioned, read: {}, write: {}", table.0, table.1),
            SMALL_BYTES,
            &format!(
                "indexes:\n  {INDEX}: {{ partition: kind, project: all, read: {}, write: {} }}\n",
                index.0, index.1
            ),
            "Add: { create: Thing, rate: 3/s }\n  Get: { get: Thing, by: thingId, rate: 5/s }\n",
        ),
        table: {
            let mut created = create(Some(table));
            created["AttributeDefinitions"] = json!([attribute("PK"), attribute("kind")]);
            created["GlobalSecondaryIndexes"] = json!([{
                "IndexName": INDEX, "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(index),
            }]);
            created
        },
        flows: vec![Flow { kind: Kind::Put, per_second: 3.0 }, Flow { kind: Kind::Get, per_second: 5.0 }],
        parts: vec![(8, 0.5), (8, 2.0), (8, 1.0), (8, 0.2), (8, 1.5)],
        time_scale: 60,
        late_max: LATE_MAX_SAVED,
        scaled: None,
        items: 0,
    }
}

fn auto_scaling() -> Scenario {
    let (min, max) = (1, 4);
    Scenario {
        name: Name::AutoScaling,
        model: model(
            &format!(
                "billing: provisioned, read: 1, write: {{ min: {min}, max: {max}, target: 70%, scale-in: 0 s, \
                 scale-out: 0 s }}"
            ),
            SMALL_BYTES,
            "",
            "Add: { create: Thing, rate: 1/s }\n",
        ),
        table: create(Some((1, min))),
        flows: vec![Flow { kind: Kind::Put, per_second: 1.0 }],
        parts: vec![(8, 1.0), (14, 6.0), (24, 0.3)],
        time_scale: 60,
        late_max: LATE_MAX_SAVED,
        scaled: Some((min, max)),
        items: 0,
    }
}

fn on_demand() -> Scenario {
    Scenario {
        name: Name::OnDemand,
        model: model(
            "billing: on-demand",
            LARGE_BYTES,
            "",
            "Count: { update: Thing, by: thingId, add: [n], rate: 10/s }\n",
        ),
        table: create(None),
        flows: vec![Flow { kind: Kind::Update { hot_share: 0.0 }, per_second: 10.0 }],
        // A peak counts when it is half an hour old.
        parts: vec![(2, 0.5), (3, 6.0), (31, 0.2), (3, 4.8)],
        time_scale: 10,
        late_max: LATE_MAX_UNSAVED,
        scaled: None,
        items: LARGE_ITEMS,
    }
}

fn hot_key() -> Scenario {
    let hot_share = 0.72;
    Scenario {
        name: Name::HotKey,
        model: model(
            "billing: provisioned, read: 10, write: 2500",
            LARGE_BYTES,
            "",
            &format!(
                "Count: {{ update: Thing, by: thingId, add: [n], rate: 18/s, skew: top {:.0}% }}\n",
                hot_share * 100.0
            ),
        ),
        table: create(Some((10, 2500))),
        flows: vec![Flow { kind: Kind::Update { hot_share }, per_second: 18.0 }],
        // It is isolated after five minutes, and gets no more by that.
        parts: vec![(8, 1.0)],
        time_scale: 20,
        late_max: LATE_MAX_UNSAVED,
        scaled: None,
        items: LARGE_ITEMS,
    }
}

fn model(throughput: &str, item_bytes: usize, indexes: &str, patterns: &str) -> String {
    let count = if item_bytes == LARGE_BYTES { LARGE_ITEMS } else { 1_000_000 };
    format!(
        "model: agreement\n\
         table: {{ name: {TABLE}, partition: PK, {throughput} }}\n\
         entities:\n  \
           Thing:\n    \
             key: {{ PK: \"THING#{{thingId}}\" }}\n    \
             attributes: {{ kind: string, n: number }}\n    \
             count: {count}\n    \
             size: {item_bytes} B\n\
         {indexes}\
         patterns:\n  {patterns}"
    )
}

fn attribute(name: &str) -> Value {
    json!({"AttributeName": name, "AttributeType": "S"})
}

fn units((read, write): (u64, u64)) -> Value {
    json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})
}

/// A table with these units, or on demand.
fn create(provisioned: Option<(u64, u64)>) -> Value {
    let mut created = json!({
        "TableName": TABLE,
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [attribute("PK")],
    });
    match provisioned {
        Some(provisioned) => created["ProvisionedThroughput"] = units(provisioned),
        None => created["BillingMode"] = json!("PAY_PER_REQUEST"),
    }
    created
}
