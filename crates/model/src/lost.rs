//! Which entity a read of several can lose: its limit ends the page before the first item of it.

use crate::model::{EntityId, Read};
use crate::plan::{ReadOperation, ReadPlan};
use crate::predict::found::examined_at_most;
use crate::template::Template;
use crate::{Model, Span};

/// An entity that does not come back.
pub struct LostEntity {
    pub entity: EntityId,
    /// The entity whose items come first.
    pub behind: EntityId,
    /// How many of them there can be.
    pub items: f64,
    /// The sort key of the lost one.
    pub span: Span,
}

/// The first entity that the declared counts leave no place for.
pub fn lost(model: &Model, read: &Read, plan: &ReadPlan) -> Option<LostEntity> {
    let limit = read.limit.as_ref()?.value as f64;
    if !may_lose(read, plan) {
        return None;
    }
    for entity in &plan.entities {
        for behind in plan.entities.iter().filter(|other| *other != entity) {
            let (Some(late), Some(early)) = (sort(model, plan, *entity), sort(model, plan, *behind)) else {
                continue;
            };
            let items = examined_at_most(model, read, *behind).unwrap_or(0.0);
            if items >= limit && comes_first(early, late, plan.forward) {
                return Some(LostEntity { entity: *entity, behind: *behind, items, span: late.span });
            }
        }
    }
    None
}

/// Whether the reader asks for one page of several entities that a limit ends.
pub fn may_lose(read: &Read, plan: &ReadPlan) -> bool {
    let paged = read.paged.as_ref().is_some_and(|paged| paged.value);
    plan.operation == ReadOperation::Query && plan.entities.len() > 1 && read.limit.is_some() && !paged
}

fn sort<'m>(model: &'m Model, plan: &ReadPlan, id: EntityId) -> Option<&'m Template> {
    let entity = model.entity(id);
    match plan.index {
        Some(index) => entity.entry(index)?.sort.first(),
        None => entity.key.as_ref()?.sort.as_ref(),
    }
}

/// Whether every key of the first template is read before every key of the second: the texts that they begin with
/// differ.
fn comes_first(early: &Template, late: &Template, forward: bool) -> bool {
    let (early, late) = (early.literal_prefix(), late.literal_prefix());
    let differ = early.chars().zip(late.chars()).any(|(one, other)| one != other);
    differ && (early < late) == forward
}
