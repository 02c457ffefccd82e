//! Whether a Query that reads one page can match more than a page holds.

use api::limits;
use model::Model;
use model::model::{Pattern, Read};
use model::plan::{Plan, ReadOperation, ReadPlan};
use model::predict::found::examined_at_most;
use model::predict::typical::Footprints;
use model::request::{PlannedRead, given};
use model::sample::SampleItem;
use model::sample::variant::variant;

use crate::certificate::Finding;
use crate::database::Database;
use crate::experiment::Experiment;
use crate::fault::Fault;

/// At most this many items are loaded to show it; more are calculated.
const ITEMS_MAX: usize = 1_500;
/// How many of them are shown.
const SHOWN: usize = 2;

pub async fn findings(model: &Model, pattern: &Pattern, plan: &Plan, data: &[SampleItem]) -> Option<Finding> {
    let (_, read) = pattern.reads().next()?;
    let plan = plan.reads().next()?;
    let paged = read.paged.as_ref().is_some_and(|paged| paged.value);
    if paged || plan.operation != ReadOperation::Query {
        return None;
    }
    let footprints = Footprints::new(model);
    let bytes = bytes_at_most(model, &footprints, read, plan)?;
    if bytes <= limits::PAGE_BYTES_MAX as f64 {
        return None;
    }
    let calculated =
        Fault::Pages { expected: 1, read: (bytes / limits::PAGE_BYTES_MAX as f64).ceil() as u64 };
    let row_bytes = plan.entities.iter().map(|id| footprints.of(*id).bytes(plan.index)).max().unwrap_or(1);
    let needed = limits::PAGE_BYTES_MAX.div_ceil(row_bytes.max(1));
    if needed > ITEMS_MAX {
        return Some(Finding::of(calculated));
    }
    let read = PlannedRead::new(model, read, plan);
    Some(shown(read, data, needed).await.unwrap_or_else(|| Finding::of(calculated)))
}

/// The most that one request can match, by the largest counts that the file declares.
fn bytes_at_most(model: &Model, footprints: &Footprints, read: &Read, plan: &ReadPlan) -> Option<f64> {
    let declared = read.returns.as_ref().map(|returns| returns.value.max.unwrap_or(returns.value.typical));
    let mut items = 0.0;
    let mut bytes = 0.0;
    for id in &plan.entities {
        let found = examined_at_most(model, read, *id).or(declared)?;
        items += found;
        bytes += found * footprints.of(*id).bytes(plan.index) as f64;
    }
    let limit = read.limit.as_ref().map_or(f64::INFINITY, |limit| limit.value as f64);
    let each = declared.unwrap_or(items).min(items.max(1.0)) / plan.fan_out as f64;
    let each = declared.map_or(each, |declared| declared / plan.fan_out as f64).min(limit);
    Some(if items > 0.0 { bytes / items * each } else { 0.0 })
}

/// Siblings of one item, as many as exceed a megabyte.
async fn shown(read: PlannedRead<'_>, data: &[SampleItem], needed: usize) -> Option<Finding> {
    let first = data.iter().find(|item| item.entity.is_some_and(|id| read.plan.entities.contains(&id)))?;
    let siblings = (1..needed).map(|number| variant(read.model, first, number));
    let siblings: Vec<SampleItem> =
        std::iter::once(Some(first.clone())).chain(siblings).collect::<Option<_>>()?;
    let given = given::tries(read.model, read.read, &siblings[..1]).into_iter().next()?;
    let experiment = Experiment::Read { read, given: given.clone() };
    let database = Database::open(read.model).await.ok()?;
    let faults = experiment.run(read.model, &database, &siblings).await.faults;
    let fault = faults.into_iter().find(|fault| matches!(fault, Fault::Pages { .. }))?;
    let table = &read.table().name.value;
    let data = siblings.iter().take(SHOWN).map(|item| (table.clone(), item.values.clone())).collect();
    Some(Finding { fault, given, data, more: siblings.len() - SHOWN })
}
