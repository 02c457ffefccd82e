//! How many units one request of a pattern may use, by what its model declares of sizes and numbers.

use model::Model;
use model::model::{ActionKind, Pattern, Size};
use model::plan::{self, ActionPlan};
use model::predict::typical::{Assumption, Footprints, pattern};

/// Where only a typical size or number is declared, requests may use this many times the predicted units: some of them
/// are above the typical.
const TYPICAL_FACTOR: f64 = 2.0;
/// Units are sums of halves; comparisons allow for the arithmetic of floating-point numbers.
const TOLERANCE: f64 = 1e-6;

/// The most that a request of each pattern may use; `None` if the model does not declare enough.
pub fn limits(model: &Model) -> Vec<Option<f64>> {
    let largest = largest(model);
    let footprints = Footprints::new(&largest);
    let of = |one: &Pattern| {
        let plan = plan::plan(&largest, one);
        is_declared(&largest, one, &plan).then(|| {
            let predicted = pattern(&largest, &footprints, one, &plan, Assumption::Worst);
            (predicted.read_units() + predicted.write_units()).max(0.5) + TOLERANCE
        })
    };
    largest.patterns.iter().map(of).collect()
}

/// The model in which everything is as large as it may become.
fn largest(model: &Model) -> Model {
    let mut model = model.clone();
    let most = |size: &mut Size| {
        let typical = (size.typical as f64 * TYPICAL_FACTOR) as u64;
        *size = Size { typical: size.max.unwrap_or(typical).max(size.typical), max: None };
    };
    for entity in &mut model.entities {
        entity.size.iter_mut().for_each(|size| most(&mut size.value));
        for count in entity.count.iter_mut().map(|count| &mut count.value) {
            count.typical = count.max.unwrap_or(count.typical * TYPICAL_FACTOR).max(count.typical);
        }
    }
    for table in &mut model.tables {
        for index in &mut table.indexes {
            index.size.iter_mut().for_each(|size| most(&mut size.value));
        }
    }
    let actions = model.patterns.iter_mut().flat_map(|pattern| &mut pattern.actions);
    for action in actions {
        if let ActionKind::Read(read) = &mut action.kind
            && let Some(returns) = &mut read.returns
        {
            let typical = returns.value.typical;
            returns.value.typical = returns.value.max.unwrap_or(typical * TYPICAL_FACTOR).max(typical);
        }
    }
    model
}

/// Whether sizes, and numbers of items where they matter, are declared. A group of several kinds of items has as many as
/// the application likes.
fn is_declared(model: &Model, pattern: &Pattern, plan: &plan::Plan) -> bool {
    let has_size = |id: &model::model::EntityId| model.entity(*id).size.is_some();
    pattern.actions.iter().zip(&plan.steps).all(|(action, step)| {
        let is_one = action.times == 1;
        is_one
            && match (&action.kind, &step.kind) {
                (ActionKind::Read(read), ActionPlan::Read(plan)) => {
                    let is_one = plan.operation == plan::ReadOperation::GetItem;
                    let is_bounded = read.returns.is_some() || read.limit.is_some();
                    plan.operation != plan::ReadOperation::Scan
                        && plan.entities.iter().all(has_size)
                        && (is_one || is_bounded && plan.filter.is_empty())
                }
                (_, ActionPlan::Write(plan)) => has_size(&plan.entity),
                _ => false,
            }
    })
}
