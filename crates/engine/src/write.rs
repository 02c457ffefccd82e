//! The only code that changes an item. Every write, whatever operation it comes from, is a [`Plan`];
//! [`apply`] carries out one, [`apply_all`] several in one commit, [`apply_each`] several of which each
//! may fail by itself:
//!
//! 1. the store locks the items' keys and hands over their rows;
//! 2. each plan's condition is evaluated on the item as it is;
//! 3. the new item is computed, its size and its index keys are checked;
//! 4. what the tables and indexes have left must admit its cost;
//! 5. the rows of the item and of every index are committed together, or none if any plan failed.
//!
//! What always holds: if a write fails, nothing of it was written.

use std::sync::Arc;

use api::{Error, limits};
use bytes::Bytes;
use expression::{Condition, Update, Updated};
use futures_util::future::join_all;
use item::Item;
use store::{Key, Partition, Space, StoreError, WriteSet};
use tokio::sync::OwnedRwLockReadGuard;

use crate::Engine;
use crate::admission::Charges;
use crate::catalog::LiveTable;
use crate::collection::Collections;
use crate::fault;
use crate::idempotency::{Earlier, Token};
use crate::index::{self, Difference};
use crate::sizes::Size;

/// A change of one item, decided but not yet done.
pub struct Plan {
    pub table: Arc<LiveTable>,
    pub key: Key,
    pub change: Change,
    pub condition: Option<Condition>,
    /// Whether an item that fails the condition is shown to the client.
    pub show_failed_item: bool,
}

pub enum Change {
    Put(Item),
    /// As Put, of an item that isn't there yet.
    Insert(Item),
    Delete,
    /// The key attributes stand for the item that isn't there yet.
    Update {
        update: Box<Update>,
        key_attributes: Item,
    },
    /// Only the condition counts.
    Check,
}

/// What a plan did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub old: Option<Item>,
    pub new: Option<Item>,
    /// What it cost in each index that it changed.
    pub index_units: Vec<(String, f64)>,
    /// The same by the place of the row.
    pub index_charges: Vec<(Space, Partition, f64)>,
    /// By how much each index grew that did.
    pub index_growth: Vec<(Space, Size)>,
    /// How large its item collection is now, in a table that has collections.
    pub collection_bytes: Option<u64>,
}

impl Outcome {
    /// The size of the larger of old and new.
    pub fn larger_bytes(&self) -> usize {
        [&self.old, &self.new].into_iter().flatten().map(Item::size_bytes).max().unwrap_or(0)
    }

    /// What it cost in the table itself.
    pub fn table_units(&self) -> f64 {
        let size = |item: &Option<Item>| item.as_ref().map(|item| item.as_ref().size_bytes());
        capacity::write_units(size(&self.old), size(&self.new))
    }

    /// By how much the table itself grew.
    pub fn table_growth(&self) -> Size {
        Size::growth(self.old.as_ref().map(Item::as_ref), self.new.as_ref().map(Item::as_ref))
    }
}

/// What became of several plans.
pub enum Applied {
    /// All of them were carried out, or none. If any failed, the results tell which and why, and the
    /// outcomes of the others are what would have been.
    Now(Vec<Result<Outcome, Error>>),
    /// None was: the token has been used, for the same request or for another.
    Earlier { earlier: Earlier, same: bool },
}

/// Carries out one plan, unless a transaction is about to change its item.
pub async fn apply(engine: &Engine, plan: &mut Plan) -> Result<Outcome, Error> {
    if engine.transactions.hold(&plan.key) {
        return Err(Error::transaction_conflict());
    }
    match apply_all(engine, std::slice::from_mut(plan), None, 1.0).await? {
        Applied::Now(mut results) => results.pop().expect("one plan, one result"),
        Applied::Earlier { .. } => unreachable!("there is no token"),
    }
}

/// Carries out plans for distinct items, each by itself. As a rule all succeed, and one commit does for
/// all of them; if any would fail, each gets a commit of its own.
pub async fn apply_each(engine: &Engine, plans: &mut [Plan]) -> Vec<Result<Outcome, Error>> {
    if !plans.iter().any(|plan| engine.transactions.hold(&plan.key)) {
        match apply_all(engine, plans, None, 1.0).await {
            Ok(Applied::Now(results)) if results.iter().all(Result::is_ok) => return results,
            Ok(_) => {}
            Err(fault) => return plans.iter().map(|_| Err(fault.clone())).collect(),
        }
    }
    // Together, so that one sync of the store makes many of them durable.
    join_all(plans.iter_mut().map(|plan| apply(engine, plan))).await
}

/// Carries out plans for distinct items together: all of them, or none. With a token, they are carried
/// out once. Each unit of a table costs `factor`. The error is a fault of the store.
pub async fn apply_all(
    engine: &Engine,
    plans: &mut [Plan],
    token: Option<&Token>,
    factor: f64,
) -> Result<Applied, Error> {
    let _writing = enter(engine, plans).await?;
    let plans = &*plans;
    let adjustment = Adjustment { plans, done: false };
    let mut attempt = Attempt::new(engine, plans, token, factor);
    let committed = engine.store.update(&attempt.keys(), &mut |rows| attempt.decide(rows)).await;
    if let Some(error) = committed.err().or(attempt.unreadable) {
        attempt.charges.give_back();
        return Err(fault::of_store(error));
    }
    adjustment.settle(&attempt.results);
    match (attempt.earlier, token) {
        (Some(earlier), Some(token)) => Ok(Applied::Earlier { same: token.is_of(&earlier), earlier }),
        _ => Ok(Applied::Now(attempt.results)),
    }
}

/// Plans being carried out. The store may ask for a decision more than once; the last one counts.
struct Attempt<'a> {
    engine: &'a Engine,
    plans: &'a [Plan],
    collections: Collections,
    token: Option<&'a Token>,
    factor: f64,
    results: Vec<Result<Outcome, Error>>,
    charges: Charges,
    /// What the token was used for before.
    earlier: Option<Earlier>,
    /// A row of ours that makes no sense.
    unreadable: Option<StoreError>,
}

impl<'a> Attempt<'a> {
    fn new(engine: &'a Engine, plans: &'a [Plan], token: Option<&'a Token>, factor: f64) -> Attempt<'a> {
        Attempt {
            engine,
            plans,
            collections: Collections::of(plans),
            token,
            factor,
            results: Vec::new(),
            charges: Charges::default(),
            earlier: None,
            unreadable: None,
        }
    }

    /// The items, their collections, the token.
    fn keys(&self) -> Vec<Key> {
        let items = self.plans.iter().map(|plan| &plan.key);
        let token = self.token.iter().flat_map(|token| token.keys());
        items.chain(self.collections.keys()).chain(token).cloned().collect()
    }

    /// What is to be written, given the rows of the keys. If any plan fails, nothing is.
    fn decide(&mut self, rows: &[Option<Bytes>]) -> WriteSet {
        self.results.clear();
        self.charges.give_back();
        (self.earlier, self.unreadable) = (None, None);
        self.try_decide(rows).unwrap_or_else(|error| {
            self.unreadable = Some(error);
            WriteSet::default()
        })
    }

    fn try_decide(&mut self, rows: &[Option<Bytes>]) -> Result<WriteSet, StoreError> {
        let (item_rows, rows) = rows.split_at(self.plans.len());
        let (collection_rows, token_rows) = rows.split_at(self.collections.keys().len());
        if let Some(token) = self.token {
            self.earlier = token.earlier(token_rows)?;
            if self.earlier.is_some() {
                return Ok(WriteSet::default());
            }
        }
        let mut writes = WriteSet::default();
        let decided =
            self.plans.iter().zip(item_rows).map(|(plan, row)| decide(plan, row.clone(), &mut writes));
        self.results = decided.collect();
        let bytes_max = self.engine.options.item_collection_bytes_max;
        self.collections.grow(self.plans, &mut self.results, collection_rows, bytes_max, &mut writes)?;
        if self.results.iter().all(Result::is_ok) {
            self.charges = self.engine.admit_writes(self.plans, &mut self.results, self.factor);
        }
        if self.results.iter().any(Result::is_err) {
            return Ok(WriteSet::default());
        }
        writes.puts.extend(self.token.map(|token| token.row(self.results.iter().flatten())));
        Ok(writes)
    }
}

/// What a commit does to the sizes of tables and indexes. Dropped before it is settled (the request was
/// cut off, the store failed) it leaves them in doubt, for nobody knows whether the commit came about.
struct Adjustment<'a> {
    plans: &'a [Plan],
    done: bool,
}

impl Adjustment<'_> {
    fn settle(mut self, results: &[Result<Outcome, Error>]) {
        self.done = true;
        // Any failure means that nothing was committed.
        let Ok(outcomes) = results.iter().map(Result::as_ref).collect::<Result<Vec<_>, _>>() else { return };
        for (plan, outcome) in self.plans.iter().zip(outcomes) {
            plan.table.sizes.adjust(plan.table.space(), outcome.table_growth());
            for (space, growth) in &outcome.index_growth {
                plan.table.sizes.adjust(*space, *growth);
            }
        }
    }
}

impl Drop for Adjustment<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.plans.iter().for_each(|plan| plan.table.sizes.doubt());
        }
    }
}

/// Holds off the clearing of the plans' tables and changes of their indexes, and brings the plans up to
/// the tables as they now are: whoever replaces a table from here on waits for us. The gates are taken in
/// one order, so that two writes over several tables can't wait for each other.
async fn enter(engine: &Engine, plans: &mut [Plan]) -> Result<Vec<OwnedRwLockReadGuard<()>>, Error> {
    engine.check_writable().map_err(fault::of_store)?;
    let mut tables: Vec<Arc<LiveTable>> = plans.iter().map(|plan| plan.table.clone()).collect();
    tables.sort_by_key(|table| table.space());
    tables.dedup_by_key(|table| table.space());
    let mut guards = Vec::with_capacity(tables.len());
    for table in tables {
        guards.push(table.gate.clone().read_owned().await);
    }
    for plan in plans.iter_mut().filter(|plan| plan.table.is_retired()) {
        plan.table = engine.catalog.successor(&plan.table).ok_or_else(Error::resource_not_found_item)?;
    }
    Ok(guards)
}

/// What the plan makes of the item as it is; the rows to be written are added to `writes`.
fn decide(plan: &Plan, row: Option<Bytes>, writes: &mut WriteSet) -> Result<Outcome, Error> {
    let old = row.map(Item::trusted);
    if let Some(condition) = &plan.condition
        && !condition.evaluate(old.as_ref().map(Item::as_ref))
    {
        return Err(Error::conditional_check_failed(old.filter(|_| plan.show_failed_item)));
    }
    let new = match &plan.change {
        Change::Check => return Ok(Outcome { new: old.clone(), old, ..Outcome::default() }),
        Change::Insert(_) if old.is_some() => return Err(Error::duplicate_item()),
        Change::Put(item) | Change::Insert(item) => {
            index::check(&plan.table, None, item.as_ref(), false)?;
            Some(item.clone())
        }
        Change::Delete => None,
        Change::Update { update, key_attributes } => updated(plan, update, old.as_ref(), key_attributes)?,
    };
    match (&old, &new) {
        (_, Some(new)) => writes.puts.push((plan.key.clone(), new.clone().into_stored())),
        (Some(_), None) => writes.deletes.push(plan.key.clone()),
        (None, None) => {}
    }
    let mut outcome = Outcome { old, new, ..Outcome::default() };
    index_rows(plan, &mut outcome, writes);
    Ok(outcome)
}

fn updated(
    plan: &Plan,
    update: &Update,
    old: Option<&Item>,
    key_attributes: &Item,
) -> Result<Option<Item>, Error> {
    let before = old.unwrap_or(key_attributes).as_ref();
    let updated =
        update.apply(before, old.is_some()).map_err(|error| Error::validation(error.to_string()))?;
    let Updated::Item(new) = updated else { return Ok(None) };
    if new.as_ref().size_bytes() > limits::ITEM_BYTES_MAX {
        return Err(Error::item_to_update_too_large());
    }
    index::check(&plan.table, Some(before), new.as_ref(), true)?;
    Ok(Some(new))
}

/// Adds the rows of the table's indexes, and tells what each index that changed costs and how it grew.
fn index_rows(plan: &Plan, outcome: &mut Outcome, writes: &mut WriteSet) {
    let (old, new) = (outcome.old.as_ref().map(Item::as_ref), outcome.new.as_ref().map(Item::as_ref));
    for index in plan.table.indexes.iter().filter(|index| index.is_written()) {
        let Difference { put, delete, units, growth } = index::difference(&plan.table, index, old, new);
        if units > 0.0 {
            outcome.index_units.push((index.name.clone(), units));
            let key = put.as_ref().map(|(key, _)| key).or(delete.as_ref());
            let partition = key.map(|key| key.position.partition);
            outcome.index_charges.extend(partition.map(|partition| (index.space(), partition, units)));
        }
        writes.puts.extend(put.map(|(key, row)| (key, row.into_stored())));
        writes.deletes.extend(delete);
        if growth != Size::default() {
            outcome.index_growth.push((index.space(), growth));
        }
    }
}
