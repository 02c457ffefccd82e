//! Loads sample data into tables that may hold other data, which stays.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{
    BatchGetItemInput, BatchWriteItemInput, Error, KeysAndAttributes, PutRequest, WriteRequest, limits,
};
use item::Item;
use model::Model;
use model::predict::item::Values;
use model::sample::{SampleItem, Scale, item, key_of, sample};

use crate::database::values;
use crate::endpoint::{Endpoint, call};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    pub written: usize,
    /// Items that were already there, and equal.
    pub present: usize,
    /// Items that were already there, and different; they stay unless overwriting is allowed.
    pub kept: usize,
}

/// How many rounds without progress are allowed, with pauses that double from 50 ms: half a minute in all.
const ROUNDS_MAX: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Loads the model's sample data. `tell` is called with how many of how many items are done.
pub async fn load_samples(
    model: &Model,
    endpoint: &dyn Endpoint,
    overwrite: bool,
    tell: impl Fn(usize, usize),
) -> Result<Loaded, Error> {
    let samples = samples(model);
    let mut loaded = Loaded::default();
    let mut through = 0;
    for chunk in samples.chunks(limits::BATCH_WRITE_REQUESTS_MAX) {
        let there = present(model, endpoint, chunk).await?;
        let mut missing = Vec::new();
        for (item, there) in chunk.iter().zip(there) {
            match there {
                Some(found) if found == item.values => loaded.present += 1,
                Some(_) if !overwrite => loaded.kept += 1,
                _ => missing.push(item),
            }
        }
        write(model, endpoint, &missing).await?;
        loaded.written += missing.len();
        through += chunk.len();
        tell(through, samples.len());
    }
    Ok(loaded)
}

/// Each key once: the later of two items with the same key.
fn samples(model: &Model) -> Vec<SampleItem> {
    let mut by_key: BTreeMap<String, SampleItem> = BTreeMap::new();
    for item in sample(model, Scale::default()).items {
        if model.table(item.table).key.is_some() {
            let key = key_of(model, item.table, &item.values);
            by_key.insert(format!("{} {key:?}", item.table.0), item);
        }
    }
    by_key.into_values().collect()
}

/// The stored item under the key of each sample item.
async fn present(
    model: &Model,
    endpoint: &dyn Endpoint,
    items: &[SampleItem],
) -> Result<Vec<Option<Values>>, Error> {
    let mut request_items: BTreeMap<String, KeysAndAttributes> = BTreeMap::new();
    for one in items {
        let request = request_items.entry(model.table(one.table).name.value.clone()).or_default();
        request.consistent_read = Some(true);
        request.keys.push(item(&key_of(model, one.table, &one.values)));
    }
    let mut found: Vec<(String, Values)> = Vec::new();
    let mut backoff = Backoff::default();
    while !request_items.is_empty() {
        let before = found.len();
        let input = BatchGetItemInput { request_items, ..BatchGetItemInput::default() };
        let output = call(endpoint, input).await?;
        for (table, items) in output.responses.unwrap_or_default() {
            found.extend(items.iter().map(|item| (table.clone(), values(item))));
        }
        request_items = output.unprocessed_keys.unwrap_or_default();
        if !request_items.is_empty() {
            backoff.wait(found.len() > before).await?;
        }
    }
    let under = |one: &SampleItem| {
        let (name, key) = (&model.table(one.table).name.value, key_of(model, one.table, &one.values));
        let is_it =
            |(table, values): &&(String, Values)| table == name && key_of(model, one.table, values) == key;
        found.iter().find(is_it).map(|(_, values)| values.clone())
    };
    Ok(items.iter().map(under).collect())
}

async fn write(model: &Model, endpoint: &dyn Endpoint, items: &[&SampleItem]) -> Result<(), Error> {
    let put = |item: Item| WriteRequest { put_request: Some(PutRequest { item }), ..WriteRequest::default() };
    let mut request_items: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
    for item in items {
        request_items.entry(model.table(item.table).name.value.clone()).or_default().push(put(item.item()));
    }
    let mut backoff = Backoff::default();
    while !request_items.is_empty() {
        let before: usize = request_items.values().map(Vec::len).sum();
        let input = BatchWriteItemInput { request_items, ..BatchWriteItemInput::default() };
        request_items = call(endpoint, input).await?.unprocessed_items.unwrap_or_default();
        if !request_items.is_empty() {
            let after: usize = request_items.values().map(Vec::len).sum();
            backoff.wait(after < before).await?;
        }
    }
    Ok(())
}

/// Retries with growing pauses: a busy table returns some items unprocessed.
#[derive(Default)]
struct Backoff {
    rounds: u32,
}

impl Backoff {
    async fn wait(&mut self, progress: bool) -> Result<(), Error> {
        self.rounds = if progress { 0 } else { self.rounds + 1 };
        if self.rounds > ROUNDS_MAX {
            return Err(Error::table_throughput_exceeded());
        }
        tokio::time::sleep(FIRST_PAUSE * 2u32.pow(self.rounds.min(9))).await;
        Ok(())
    }
}
