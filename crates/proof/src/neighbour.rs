//! Which entities can be under one partition key, in the table or in an index. Items of others are never found or moved
//! by a request, so a pattern is tried on the items of its entities and of their neighbours.

use std::collections::BTreeSet;

use model::Model;
use model::model::{EntityId, Place};
use model::sample::SampleItem;
use model::template::may_equal;

/// The neighbours of each entity, itself among them.
pub struct Neighbours(Vec<BTreeSet<EntityId>>);

impl Neighbours {
    pub fn of(model: &Model) -> Neighbours {
        let places: Vec<Vec<Place<'_>>> = model.entity_ids().map(|id| model.places_of(id)).collect();
        let mut neighbours: Vec<BTreeSet<EntityId>> =
            model.entity_ids().map(|id| BTreeSet::from([id])).collect();
        for (at, one) in places.iter().enumerate() {
            for (other_at, other) in places.iter().enumerate().take(at) {
                if one.iter().any(|one| other.iter().any(|other| meet(*one, *other))) {
                    neighbours[at].insert(EntityId(other_at));
                    neighbours[other_at].insert(EntityId(at));
                }
            }
        }
        Neighbours(neighbours)
    }

    /// The items that a request about these entities can find or move.
    pub fn items(&self, data: &[SampleItem], entities: impl Iterator<Item = EntityId>) -> Vec<SampleItem> {
        let near: BTreeSet<EntityId> = entities.flat_map(|id| self.0[id.0].iter().copied()).collect();
        let is_near = |item: &SampleItem| item.entity.is_none_or(|id| near.contains(&id));
        let kept: Vec<usize> = (0..data.len()).filter(|at| is_near(&data[*at])).collect();
        let moved = |parent: usize| kept.binary_search(&parent).ok();
        let near = |at: &usize| SampleItem { parent: data[*at].parent.and_then(moved), ..data[*at].clone() };
        kept.iter().map(near).collect()
    }
}

/// Whether items of both can have the same partition key there.
fn meet(one: Place<'_>, other: Place<'_>) -> bool {
    let same_source = one.table_id == other.table_id && one.index_id() == other.index_id();
    let keys = one.partition().into_iter().zip(other.partition());
    same_source && keys.into_iter().all(|((_, one), (_, other))| may_equal(one, other))
}
