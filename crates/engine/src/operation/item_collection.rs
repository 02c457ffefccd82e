//! The ItemCollectionMetrics of an answer: how large the collections are that a write touched. Only a table
//! with a local index has collections: the items that share a partition key, in the table and in its local
//! indexes.

use std::collections::BTreeMap;

use api::{ItemCollectionMetrics, ReturnItemCollectionMetrics};
use item::{Item, ItemBuilder};

use crate::table::Table;
use crate::write::Outcome;

/// The collections that a request touched, by the table's name as the request has it.
#[derive(Default)]
pub struct Collections(BTreeMap<String, Vec<Item>>);

impl Collections {
    /// Counts a write in; one that left nothing and found nothing touched no collection.
    pub fn add(&mut self, name: &str, table: &Table, outcome: &Outcome) {
        let Some(item) = outcome.new.as_ref().or(outcome.old.as_ref()) else { return };
        if let Some(key) = collection(table, item) {
            let keys = self.0.entry(name.to_owned()).or_default();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }

    pub fn answer(
        self,
        asked: Option<ReturnItemCollectionMetrics>,
    ) -> Option<BTreeMap<String, Vec<ItemCollectionMetrics>>> {
        if asked != Some(ReturnItemCollectionMetrics::Size) || self.0.is_empty() {
            return None;
        }
        Some(self.0.into_iter().map(|(name, keys)| (name, keys.into_iter().map(metrics).collect())).collect())
    }
}

/// The partition key of the item's collection, if its table has collections.
fn collection(table: &Table, item: &Item) -> Option<Item> {
    if table.indexes.iter().all(|index| index.is_global()) {
        return None;
    }
    let mut key = ItemBuilder::default();
    for attribute in &table.keys.partition {
        key.put(&attribute.name, item.get(&attribute.name)?);
    }
    Some(key.build())
}

/// Sizes are told in whole gigabytes.
fn metrics(key: Item) -> ItemCollectionMetrics {
    ItemCollectionMetrics { item_collection_key: Some(key), size_estimate_range_gb: Some(vec![0.0, 1.0]) }
}
