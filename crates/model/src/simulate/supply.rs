//! The throughput of one table and its indexes, with auto scaling.

use std::collections::BTreeMap;

use capacity::scaling::{Policy, Scaler, Step};
use capacity::{Access, Decreases, Rate, Settings, Throughput};

use super::flow::Flow;
use super::{ENFORCEMENT, Payment};
use crate::Model;
use crate::cost::provisioned::{capacity, scales};
use crate::cost::scaling::policy;
use crate::demand::{self, Resource, UnitKind};
use crate::model::{Billing, Capacity, TableId};

/// What AWS's console proposes for a provisioned table and its indexes.
const AWS_DEFAULT_UNITS: u64 = 5;
const AWS_DEFAULT_UNITS_MAX: u64 = 10;

/// What one table has.
pub struct TableSupply {
    pub table: TableId,
    pub throughput: Throughput,
    places: BTreeMap<Resource, ResourceSupply>,
}

/// A table or one index.
struct ResourceSupply {
    settings: Settings,
    /// Reads and writes; none that the file fixes, or on demand.
    scaled: [Option<(Policy, Scaler)>; 2],
    /// Reads and writes have one quota together.
    decreases: Decreases,
}

impl TableSupply {
    pub fn new(model: &Model, table: TableId, way: Payment, flows: &[Flow], factor: f64) -> TableSupply {
        let places = demand::resources(model).into_iter().filter(|place| place.0 == table);
        let places: BTreeMap<Resource, ResourceSupply> =
            places.map(|place| (place, ResourceSupply::new(model, place, way, flows, factor))).collect();
        let own = places[&(table, None)].settings;
        let mut supply = TableSupply { table, throughput: Throughput::new(ENFORCEMENT, own, 0), places };
        let all: Vec<Resource> = supply.places.keys().copied().collect();
        all.into_iter().for_each(|place| supply.apply(place, 0));
        supply
    }

    /// The units that a place has each second; none on demand, or if it is another table's.
    pub fn provisioned(&self, place: Resource, access: Access) -> Option<u64> {
        match self.places.get(&place)?.settings.billing {
            capacity::Billing::Provisioned(rate) => Some(rate.of(access)),
            capacity::Billing::OnDemand { .. } => None,
        }
    }

    /// Ends a minute: auto scaling sees what was consumed.
    pub fn scale(&mut self, consumed: impl Fn(Resource, Access) -> f64, now_ms: u64) {
        let mut changed = Vec::new();
        for (place, resource) in &mut self.places {
            for access in Access::BOTH {
                if resource.scale(access, consumed(*place, access), now_ms) {
                    changed.push(*place);
                }
            }
        }
        changed.into_iter().for_each(|place| self.apply(place, now_ms));
    }

    fn apply(&mut self, place: Resource, now_ms: u64) {
        let settings = self.places[&place].settings;
        match place.1 {
            Some(index) => self.throughput.set_index(index.0 as u64, settings, now_ms),
            None => self.throughput.set_table(settings, now_ms),
        }
    }
}

impl ResourceSupply {
    fn new(model: &Model, place: Resource, way: Payment, flows: &[Flow], factor: f64) -> ResourceSupply {
        let declared = [UnitKind::Read, UnitKind::Write].map(|kind| capacity(model, place, kind));
        let table = model.table(place.0);
        let provisioned = match way {
            Payment::Declared => table.billing.value == Billing::Provisioned,
            Payment::Provisioned => true,
            Payment::OnDemand => false,
            Payment::AwsDefault => return ResourceSupply::aws_default(table.stream.is_none()),
        };
        if !provisioned {
            return ResourceSupply::on_demand(declared);
        }
        let demand = |access: Access| {
            let here = flows.iter().filter(|flow| flow.access == access && flow.table == place.0);
            here.map(|flow| flow.units_at(place, 0)).sum::<f64>() * factor
        };
        let [read, write] = Access::BOTH.map(|access| {
            let declared = declared[access.position()];
            (start(declared, demand(access)), is_scaled(declared).then(|| (policy(declared), Scaler::new())))
        });
        let rate = Rate { read: read.0, write: write.0 };
        // Tables with a stream do not isolate keys when they are provisioned.
        let isolates_keys = table.stream.is_none();
        let settings = Settings { isolates_keys, ..Settings::new(capacity::Billing::Provisioned(rate)) };
        ResourceSupply { settings, scaled: [read.1, write.1], decreases: Decreases::default() }
    }

    /// What the console proposes.
    fn aws_default(isolates_keys: bool) -> ResourceSupply {
        let rate = Rate { read: AWS_DEFAULT_UNITS, write: AWS_DEFAULT_UNITS };
        let scaled = || Some((Policy { max_units: AWS_DEFAULT_UNITS_MAX, ..policy(None) }, Scaler::new()));
        ResourceSupply {
            settings: Settings { isolates_keys, ..Settings::new(capacity::Billing::Provisioned(rate)) },
            scaled: [scaled(), scaled()],
            decreases: Decreases::default(),
        }
    }

    /// A maximum alone is the one of on-demand; together with others it is auto scaling's.
    fn on_demand(declared: [Option<&Capacity>; 2]) -> ResourceSupply {
        let [max_read, max_write] = declared.map(|declared| {
            let alone = declared.filter(|declared| declared.min.is_none() && declared.units.is_none());
            alone.and_then(|declared| declared.max)
        });
        let billing = capacity::Billing::OnDemand { max_read, max_write };
        ResourceSupply {
            settings: Settings::new(billing),
            scaled: [None, None],
            decreases: Decreases::default(),
        }
    }

    /// Whether the units changed.
    fn scale(&mut self, access: Access, consumed: f64, now_ms: u64) -> bool {
        let Some((policy, scaler)) = &mut self.scaled[access.position()] else { return false };
        let capacity::Billing::Provisioned(rate) = &mut self.settings.billing else { return false };
        scaler.record(consumed);
        let step = scaler.decide(policy, rate.of(access), now_ms);
        let units = match step {
            Step::Out(units) => units,
            Step::In(units) if self.decreases.try_take(now_ms) => units,
            Step::In(_) | Step::Quiet | Step::NotScaled(_) => return false,
        };
        scaler.applied(step, now_ms);
        match access {
            Access::Read => rate.read = units,
            Access::Write => rate.write = units,
        }
        true
    }
}

/// Units that the file does not fix are scaled.
fn is_scaled(declared: Option<&Capacity>) -> bool {
    declared.is_none_or(|declared| declared.units.is_none() || scales(declared))
}

/// What a place starts with: the declared units, or what fits the first minute.
fn start(declared: Option<&Capacity>, demand: f64) -> u64 {
    let policy = policy(declared);
    let fitting = policy.fitting(demand * 60.0).clamp(policy.min_units, policy.max_units);
    declared.and_then(|declared| declared.units).unwrap_or(fitting).max(1)
}
