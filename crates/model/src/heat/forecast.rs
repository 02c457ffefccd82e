//! What grows towards a limit: items towards 400 KB, item collections towards 10 GB.
//!
//! An item grows by the declared growth of its attributes. A collection is everything under one partition
//! key, rows of local indexes included; it grows by the new items of its key, unless they expire.
//! A collection has a limit only in a table with a local index.

use serde::Serialize;

use super::key::{KeyShare, key_shares};
use super::key_load::is_global;
use crate::Model;
use crate::demand::new_items_per_second;
use crate::facts::Limits;
use crate::model::{Entity, EntityId, Place, TableId};
use crate::predict::typical::Footprints;
use crate::template::{Form, Template};

const DAY_SECONDS: f64 = 86_400.0;

/// What grows: an item or a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Growing {
    Item,
    Collection,
}

/// The size of something that grows, and its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    pub growing: Growing,
    pub table: String,
    /// The entity, or the partition key of the largest collection of its form.
    pub of: String,
    pub bytes: f64,
    pub bytes_per_day: f64,
    pub limit_bytes: f64,
    /// Whether DynamoDB refuses to exceed it.
    pub enforced: bool,
    /// Days until the limit is reached; `None` if it never is.
    pub days_left: Option<f64>,
}

impl Forecast {
    fn new(growing: Growing, table: &str, of: String, limit_bytes: f64) -> Forecast {
        let table = table.to_owned();
        let empty = Forecast {
            growing,
            table,
            of,
            bytes: 0.0,
            bytes_per_day: 0.0,
            limit_bytes,
            enforced: true,
            days_left: None,
        };
        empty.counted()
    }

    fn counted(mut self) -> Forecast {
        let missing = self.limit_bytes - self.bytes;
        self.days_left = match self.bytes_per_day > 0.0 {
            _ if missing <= 0.0 => Some(0.0),
            true => Some(missing / self.bytes_per_day),
            false => None,
        };
        self
    }

    pub fn bytes_after(&self, days: f64) -> f64 {
        self.bytes + self.bytes_per_day * days
    }
}

/// Items first, then collections, each table in the order of the file.
pub fn forecasts(model: &Model, limits: &Limits) -> Vec<Forecast> {
    let footprints = Footprints::new(model);
    let items = model.entity_ids().map(|id| item(model, id, &footprints, limits));
    let collections = model.table_ids().flat_map(|table| collections(model, table, &footprints, limits));
    items.chain(collections).collect()
}

/// The largest item of an entity: its declared maximum, if there is one.
fn item(model: &Model, id: EntityId, footprints: &Footprints, limits: &Limits) -> Forecast {
    let entity = model.entity(id);
    let most = entity.size.as_ref().map_or(0, |size| size.most()) as f64;
    let growth = entity.attributes.values().filter_map(|attribute| attribute.growth.as_ref());
    let table = &model.table_of(entity).name.value;
    let empty = Forecast::new(Growing::Item, table, entity.name.value.clone(), limits.item_bytes);
    Forecast {
        bytes: most.max(footprints.of(id).item_bytes as f64),
        bytes_per_day: growth.map(|growth| growth.per_second()).sum::<f64>() * DAY_SECONDS,
        ..empty
    }
    .counted()
}

fn collections(model: &Model, table: TableId, footprints: &Footprints, limits: &Limits) -> Vec<Forecast> {
    let enforced = model.table(table).indexes.iter().any(|index| !is_global(index));
    let name = &model.table(table).name.value;
    let mut found: Vec<Forecast> = Vec::new();
    for place in model.places().into_iter().filter(|place| place.table_id == table && place.index.is_none()) {
        let bytes = bytes_with_local_rows(place, footprints, limits);
        for key_share in key_shares(model, place, &|_| None, None) {
            let at = found.iter().position(|one| one.of == key_share.key).unwrap_or_else(|| {
                found.push(Forecast::new(
                    Growing::Collection,
                    name,
                    key_share.key.clone(),
                    limits.collection_bytes,
                ));
                found.len() - 1
            });
            let (items, items_per_day) = items_on_key(model, place, &key_share);
            found[at].bytes += items * bytes;
            found[at].bytes_per_day += items_per_day * bytes;
            found[at].enforced = enforced;
        }
    }
    found.into_iter().map(Forecast::counted).collect()
}

fn bytes_with_local_rows(place: Place<'_>, footprints: &Footprints, limits: &Limits) -> f64 {
    let footprint = footprints.of(place.entity_id);
    let local = place.entity.entries.iter().filter(|entry| !is_global(place.table.index(entry.index)));
    let rows = local.map(|entry| footprint.bytes(Some(entry.index)) as f64 + limits.row_overhead_bytes);
    footprint.item_bytes as f64 + limits.row_overhead_bytes + rows.sum::<f64>()
}

/// How many items of the entity the busiest key holds, and how many are added per day.
fn items_on_key(model: &Model, place: Place<'_>, key_share: &KeyShare) -> (f64, f64) {
    let entity = place.entity;
    let new_per_second = new_items_per_second(model, place.entity_id) * key_share.share;
    if let Some(seconds) = bucket_seconds(place) {
        return (new_per_second * seconds, 0.0);
    }
    let spread = model.items(place.entity_id).unwrap_or(1.0) * key_share.share;
    let items = spread.max(most_of_one_parent(entity));
    // Expired items make room for new ones.
    let grows = entity.expires.is_none();
    (items, if grows { new_per_second * DAY_SECONDS } else { 0.0 })
}

fn most_of_one_parent(entity: &Entity) -> f64 {
    let count = entity.count.as_ref().filter(|count| count.per.is_some());
    count.and_then(|count| count.max).unwrap_or(0.0)
}

/// A key with a time bucket takes new items only as long as the bucket lasts.
fn bucket_seconds(place: Place<'_>) -> Option<f64> {
    let templates = place.partition().into_iter().map(|(_, template)| template);
    let units = templates.flat_map(Template::fields).filter_map(|field| match &field.form {
        Form::Bucket { unit, .. } => Some(unit.seconds()),
        _ => None,
    });
    units.min().map(|seconds| seconds as f64)
}
