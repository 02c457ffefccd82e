//! Auto scaling of provisioned capacity, in the terms of Application Auto Scaling.

use model::model::{Billing, Capacity, Table, Throughput};
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use crate::Notes;

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Read,
    Write,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Read, Side::Write];

    /// As in the model file.
    pub fn name(self) -> &'static str {
        match self {
            Side::Read => "read",
            Side::Write => "write",
        }
    }

    /// As in the API's names.
    pub fn word(self) -> &'static str {
        match self {
            Side::Read => "Read",
            Side::Write => "Write",
        }
    }

    pub fn of(self, throughput: &Throughput) -> Option<&Capacity> {
        let side = match self {
            Side::Read => &throughput.read,
            Side::Write => &throughput.write,
        };
        side.as_ref().map(|capacity| &capacity.value)
    }
}

/// The bounds of a capacity, and its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    pub min: u64,
    pub max: u64,
    /// Utilisation in percent.
    pub target: Value,
    pub scale_in_seconds: Option<u64>,
    pub scale_out_seconds: Option<u64>,
}

impl Bounds {
    /// `None` if the capacity is fixed.
    pub fn of(capacity: &Capacity) -> Option<Bounds> {
        Some(Bounds {
            min: capacity.min.or(capacity.units).unwrap_or(1),
            max: capacity.max?,
            target: percent(capacity.target.unwrap_or(0.7)),
            scale_in_seconds: capacity.scale_in_seconds,
            scale_out_seconds: capacity.scale_out_seconds,
        })
    }

    /// The members of a target-tracking policy, as the API names them.
    pub fn policy(&self) -> Value {
        let mut policy = json!({ "TargetValue": self.target });
        let cooldowns =
            [("ScaleInCooldown", self.scale_in_seconds), ("ScaleOutCooldown", self.scale_out_seconds)];
        for (name, seconds) in cooldowns {
            if let Some(seconds) = seconds {
                policy[name] = seconds.into();
            }
        }
        policy
    }
}

/// 0.7 -> 70, without rounding noise.
fn percent(share: f64) -> Value {
    let percent = (share * 1e8).round() / 1e6;
    if percent.fract() == 0.0 { json!(percent as u64) } else { json!(percent) }
}

/// One capacity that scales: a table's or an index's, for reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling<'m> {
    pub table: &'m str,
    pub index: Option<&'m str>,
    pub side: Side,
    pub bounds: Bounds,
}

impl Scaling<'_> {
    /// `shop/index/byEmail/read`.
    pub fn about(&self) -> String {
        about(self.table, self.index, self.side)
    }

    /// `table` is how the template refers to the table's name.
    pub fn resource_id(&self, table: &str) -> String {
        match self.index {
            Some(index) => format!("table/{table}/index/{index}"),
            None => format!("table/{table}"),
        }
    }

    pub fn dimension(&self) -> String {
        let what = if self.index.is_some() { "index" } else { "table" };
        format!("dynamodb:{what}:{}CapacityUnits", self.side.word())
    }

    pub fn metric(&self) -> String {
        format!("DynamoDB{}CapacityUtilization", self.side.word())
    }
}

pub fn about(table: &str, index: Option<&str>, side: Side) -> String {
    match index {
        Some(index) => format!("{table}/index/{index}/{}", side.name()),
        None => format!("{table}/{}", side.name()),
    }
}

/// All capacities that scale. An index without a throughput of its own has its table's.
pub fn of<'m>(table: &'m Table, notes: &mut Notes) -> Vec<Scaling<'m>> {
    if table.billing.value != Billing::Provisioned {
        return Vec::new();
    }
    let indexes = table.global_indexes().map(|index| {
        let own = index.throughput != Throughput::default();
        (Some(index.name.value.as_str()), if own { &index.throughput } else { &table.throughput })
    });
    let mut found = Vec::new();
    for (index, throughput) in std::iter::once((None, &table.throughput)).chain(indexes) {
        for side in Side::BOTH {
            let Some(capacity) = side.of(throughput) else { continue };
            let table = table.name.value.as_str();
            match Bounds::of(capacity) {
                Some(bounds) => found.push(Scaling { table, index, side, bounds }),
                None if capacity.min.is_some() || capacity.target.is_some() => {
                    notes.add(format!("table {table}: `{}` has no `max`, so it does not scale", side.name()))
                }
                None => {}
            }
        }
    }
    found
}

/// What a template declares about one capacity, as the model file writes it.
#[derive(Clone, Debug, Default)]
pub struct FoundBounds {
    pub min: Option<u64>,
    pub max: Option<u64>,
    /// In percent.
    pub target: Option<f64>,
    pub scale_in_seconds: Option<u64>,
    pub scale_out_seconds: Option<u64>,
}

impl FoundBounds {
    /// From a scalable target and the configuration of its policy, in the API's words.
    pub fn of(target: &Value, policy: &Value) -> FoundBounds {
        FoundBounds {
            min: target["MinCapacity"].as_u64(),
            max: target["MaxCapacity"].as_u64(),
            target: policy["TargetValue"].as_f64(),
            scale_in_seconds: policy["ScaleInCooldown"].as_u64(),
            scale_out_seconds: policy["ScaleOutCooldown"].as_u64(),
        }
    }

    /// Adds them to the units that a table or index has.
    pub fn put(&self, fields: &mut Map<String, Value>, side: Side) {
        let units = fields.get(side.name()).and_then(Value::as_u64);
        let seconds = |seconds: u64| Value::from(format!("{seconds} s"));
        let members = [
            ("units", units.map(Value::from)),
            ("min", self.min.map(Value::from)),
            ("max", self.max.map(Value::from)),
            ("target", self.target.map(|target| format!("{target}%").into())),
            ("scale-in", self.scale_in_seconds.map(seconds)),
            ("scale-out", self.scale_out_seconds.map(seconds)),
        ];
        let said: Map<String, Value> =
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        if !said.is_empty() {
            fields.insert(side.name().to_owned(), Value::Object(said));
        }
    }

    /// Adds them to a table, or to an index of it.
    pub fn put_into(&self, table: &mut TableSection, index: Option<&str>, side: Side) {
        let fields = match index {
            None => Some(&mut table.fields),
            Some(index) => {
                table.fields.get_mut("indexes").and_then(|all| all.get_mut(index)?.as_object_mut())
            }
        };
        if let Some(fields) = fields {
            self.put(fields, side);
        }
    }
}

/// `table/shop/index/byEmail`, `dynamodb:index:ReadCapacityUnits` -> the capacity that scales.
pub fn scaled(resource_id: &str, dimension: &str) -> Option<(String, Option<String>, Side)> {
    let side = Side::BOTH.into_iter().find(|side| dimension.contains(side.word()))?;
    let rest = resource_id.strip_prefix("table/").filter(|_| dimension.starts_with("dynamodb:"))?;
    Some(match rest.split_once("/index/") {
        Some((table, index)) => (table.to_owned(), Some(index.to_owned()), side),
        None => (rest.to_owned(), None, side),
    })
}

/// Leaves out the defaults of a model: units that equal the minimum, and an index's throughput that equals its
/// table's.
pub fn simplify(table: &mut TableSection) {
    simplify_units(&mut table.fields);
    if table.fields.get("billing").and_then(Value::as_str) != Some(Billing::Provisioned.name()) {
        return;
    }
    let of_table = Side::BOTH.map(|side| table.fields.get(side.name()).cloned());
    let indexes = table.fields.get_mut("indexes").and_then(Value::as_object_mut);
    let indexes = indexes.into_iter().flat_map(|indexes| indexes.values_mut());
    for index in indexes.filter_map(Value::as_object_mut) {
        simplify_units(index);
        if Side::BOTH.map(|side| index.get(side.name()).cloned()) == of_table {
            Side::BOTH.iter().for_each(|side| drop(index.shift_remove(side.name())));
        }
    }
}

fn simplify_units(fields: &mut Map<String, Value>) {
    for side in Side::BOTH {
        if let Some(Value::Object(capacity)) = fields.get_mut(side.name())
            && capacity.contains_key("units")
            && capacity.get("units") == capacity.get("min")
        {
            capacity.shift_remove("units");
        }
    }
}
