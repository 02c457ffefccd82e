//! The ItemCollectionMetrics of an answer: how large the collections are that the request wrote to.

use std::collections::BTreeMap;

use api::{ItemCollectionMetrics, ReturnItemCollectionMetrics};

use crate::base::table::Table;
use crate::commit::Outcome;
use crate::commit::collection;

const GIGABYTE: u64 = 1 << 30;

/// The collection of one write, if the request asks for it and the table has collections. Deleting an item
/// that isn't there writes to no collection.
pub fn metrics(
    asked: Option<ReturnItemCollectionMetrics>,
    table: &Table,
    outcome: &Outcome,
) -> Option<ItemCollectionMetrics> {
    if asked != Some(ReturnItemCollectionMetrics::Size) {
        return None;
    }
    let item = outcome.new.as_ref().or(outcome.old.as_ref())?;
    // DynamoDB gives sizes in whole gigabytes.
    let gigabytes = (outcome.collection_bytes? / GIGABYTE) as f64;
    Some(ItemCollectionMetrics {
        item_collection_key: Some(collection::name(table, item)),
        size_estimate_range_gb: Some(vec![gigabytes, gigabytes + 1.0]),
    })
}

/// The collections that a request wrote to, each once, by the table's name as the request has it.
#[derive(Default)]
pub struct MetricsByTable(BTreeMap<String, Vec<ItemCollectionMetrics>>);

impl MetricsByTable {
    /// Adds the collection of one write; of two writes to one collection the later counts.
    pub fn add(
        &mut self,
        asked: Option<ReturnItemCollectionMetrics>,
        name: &str,
        table: &Table,
        outcome: &Outcome,
    ) {
        let Some(metrics) = metrics(asked, table, outcome) else { return };
        let listed = self.0.entry(name.to_owned()).or_default();
        listed.retain(|earlier| earlier.item_collection_key != metrics.item_collection_key);
        listed.push(metrics);
    }

    /// None if there are no collections.
    pub fn answer(self) -> Option<BTreeMap<String, Vec<ItemCollectionMetrics>>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}
