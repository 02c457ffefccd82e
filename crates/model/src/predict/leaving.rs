//! How many of the items that are deleted are in a sparse index at that time. What is in the index at rest says little
//! about it: an outbox is nearly empty, and every event passes through it.

use crate::Model;
use crate::model::{EntityId, IndexId, Pattern, Write, WriteVerb};
use crate::plan::{IndexEffect, Membership, of_write};

/// What the writes of an entity do to one index, in items per second.
#[derive(Default)]
struct Flow {
    created: f64,
    entering: f64,
    /// By updates.
    leaving: f64,
    deleted: f64,
}

/// The share of deleted items that are in the index, from what enters it and what updates take out; `share` is that of
/// the items at rest. `None` if the file does not say how often items are written.
pub fn deleted_share(model: &Model, id: EntityId, index: IndexId, share: f64) -> Option<f64> {
    let mut flow = Flow::default();
    for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
        for (action, write) in pattern.writes().filter(|(_, write)| write.entity.value == id) {
            let plan = of_write(model, write);
            let effect = plan.effects.iter().find(|effect| effect.index == index)?;
            flow.add(write, effect, rate(pattern)? * action.times as f64, share);
        }
    }
    // If updates take items out, the others leave by being deleted. Else an item is in the index for good or never.
    let (staying, of) = match flow.leaving > 0.0 {
        true => (flow.entering - flow.leaving, flow.deleted),
        false => (flow.entering, flow.created),
    };
    (flow.created > 0.0 && of > 0.0).then(|| (staying / of).clamp(0.0, 1.0))
}

/// Writes that succeed, per second.
fn rate(pattern: &Pattern) -> Option<f64> {
    let fails = pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
    Some(pattern.rate.as_ref()?.value.average * (1.0 - fails))
}

impl Flow {
    fn add(&mut self, write: &Write, effect: &IndexEffect, rate: f64, share: f64) {
        let member = |membership: Membership| match membership {
            Membership::In => 1.0,
            Membership::Out => 0.0,
            Membership::Perhaps => share,
        };
        match write.verb {
            WriteVerb::Create | WriteVerb::Put => {
                self.created += rate;
                self.entering += rate * member(effect.after);
            }
            WriteVerb::Update if effect.leaves() => self.leaving += rate,
            WriteVerb::Update if effect.after == Membership::In => {
                self.entering += rate * (1.0 - member(effect.before));
            }
            WriteVerb::Delete => self.deleted += rate,
            WriteVerb::Update | WriteVerb::Check => {}
        }
    }
}
