//! The decision of a commit: from the rows before it to the rows after it. Pure: it reads no clock
//! and no shared state, because a store may ask for it more than once.
//!
//! 1. Each plan's condition is evaluated on its item, the new item computed, its size and index keys checked. Once the
//!    rows have more bytes than the commit may have, the decision only goes on to measure them.
//! 2. The companions add their rows and may refuse plans.
//! 3. What the tables and indexes have left must admit the cost.
//!
//! What always holds: if any plan was refused, nothing is written.

use api::limits;
use bytes::Bytes;
use expression::{ExpressionError, Update, Updated};
use item::Item;
use store::{Key, WriteSet};

use super::companion::{Companion, Stop};
use super::outcome::{IndexOutcome, Outcome};
use super::plan::{Change, Plan};
use crate::base::index::{self, IndexDifference, IndexKeyError};
use crate::base::size::Size;
use crate::commit::expiry;
use crate::throughput::admission::{Headroom, Throttled};

/// Why a plan is not carried out.
#[derive(Debug)]
pub enum Refusal {
    /// The condition is false; the item is there if the plan shows it.
    ConditionFailed { shown: Option<Item>, units: f64 },
    /// There is an item with the key of the one to be inserted.
    Exists { units: f64 },
    /// The item to be put is too large.
    ItemTooLarge,
    /// The update makes the item too large.
    UpdatedItemTooLarge,
    /// The update can't be applied to the item.
    Update(ExpressionError),
    /// An attribute of the item can't be part of an index key.
    IndexKey(IndexKeyError),
    /// The item's collection would grow beyond its limit.
    CollectionTooLarge,
    /// A table or index has no throughput left.
    Throttled(Throttled),
    /// A transaction is under way on the item.
    TransactionConflict,
    /// Another Region is writing the item of a strong table.
    ReplicatedWriteConflict,
    /// A change of another Region is not later than what is here.
    Outdated,
}

/// What a commit is to consist of, as far as it is decided.
pub struct Draft<'a> {
    pub plans: &'a [Plan],
    /// One for each plan, in their order.
    pub results: Vec<Result<Outcome, Refusal>>,
    pub writes: WriteSet,
}

impl Draft<'_> {
    /// Whether any plan was refused.
    pub fn is_refused(&self) -> bool {
        self.results.iter().any(Result::is_err)
    }
}

/// What was decided.
pub struct Decision {
    /// The result of each plan, or why there is none. If any plan was refused, the outcomes of the others
    /// are what would have been.
    pub results: Result<Vec<Result<Outcome, Refusal>>, Stop>,
    /// Empty unless every plan succeeded.
    pub writes: WriteSet,
}

/// All that a decision depends on, in addition to the rows.
pub struct Question<'a> {
    pub plans: &'a [Plan],
    pub companions: &'a [Box<dyn Companion + 'a>],
    pub headroom: &'a Headroom,
    /// How often each unit of a table counts.
    pub factor: f64,
    /// What the rows may have.
    pub bytes_max: usize,
}

impl Question<'_> {
    /// Decides, given the rows of the plans' keys and then those of each companion's.
    pub fn decide(&self, rows: &[Option<Bytes>]) -> Decision {
        let (results, writes) = match self.draft(rows) {
            Ok(draft) if draft.is_refused() => (Ok(draft.results), WriteSet::default()),
            Ok(draft) => (Ok(draft.results), draft.writes),
            Err(stop) => (Err(stop), WriteSet::default()),
        };
        writes.debug_assert_distinct();
        Decision { results, writes }
    }

    fn draft(&self, rows: &[Option<Bytes>]) -> Result<Draft<'_>, Stop> {
        let (item_rows, mut rows) = rows.split_at(self.plans.len());
        let mut draft = Draft {
            plans: self.plans,
            results: Vec::with_capacity(self.plans.len()),
            writes: WriteSet::default(),
        };
        let mut bytes = 0;
        for (plan, row) in self.plans.iter().zip(item_rows) {
            let first = draft.writes.puts.len();
            let result = decide_item(plan, row.clone(), &mut draft.writes);
            bytes += row_bytes(plan, row, &draft.writes.puts[first..]);
            draft.results.push(result);
            if bytes > self.bytes_max {
                return Err(Stop::TooLarge { bytes: self.measure(item_rows) });
            }
        }
        for companion in self.companions {
            let (own, others) = rows.split_at(companion.keys().len());
            companion.decide(own, &mut draft)?;
            rows = others;
        }
        assert!(rows.is_empty(), "each row belongs to a plan or a companion");
        if !draft.is_refused() && !self.headroom.is_unlimited() {
            self.admit(&mut draft);
        }
        Ok(draft)
    }

    /// What the rows of all plans take. No two items are kept at the same time.
    fn measure(&self, item_rows: &[Option<Bytes>]) -> usize {
        let of_plan = |(plan, row): (&Plan, &Option<Bytes>)| {
            let mut writes = WriteSet::default();
            let _ = decide_item(plan, row.clone(), &mut writes);
            row_bytes(plan, row, &writes.puts)
        };
        self.plans.iter().zip(item_rows).map(of_plan).sum()
    }

    /// Refuses the plans for whose cost nothing is left. Each plan meets what those before it leave.
    fn admit(&self, draft: &mut Draft<'_>) {
        let mut headroom = self.headroom.clone();
        for (plan, result) in draft.plans.iter().zip(&mut draft.results) {
            let Ok(outcome) = result else { continue };
            if !plan.origin.uses_throughput() {
                continue;
            }
            if let Err(throttled) = headroom.take(&plan.table, outcome.charges(plan, self.factor)) {
                *result = Err(Refusal::Throttled(throttled));
            }
        }
    }
}

/// The outcome of a plan, given the stored row of its item. The rows to be written are added to `writes`.
fn decide_item(plan: &Plan, row: Option<Bytes>, writes: &mut WriteSet) -> Result<Outcome, Refusal> {
    debug_assert_eq!(plan.key.space, plan.table.space(), "the key of a plan belongs to its table");
    let old = row.map(Item::trusted);
    if let Some(condition) = plan.condition.as_ref().filter(|_| plan.origin.checks_condition())
        && !condition.evaluate(old.as_ref().map(Item::as_ref))
    {
        let units = unchanged_units(plan, old.as_ref());
        return Err(Refusal::ConditionFailed { shown: old.filter(|_| plan.show_failed_item), units });
    }
    let new = match &plan.change {
        Change::Check { .. } => return Ok(Outcome::of(&plan.table, old.clone(), old)),
        Change::Insert(_) if old.is_some() => {
            return Err(Refusal::Exists { units: unchanged_units(plan, old.as_ref()) });
        }
        Change::Put(item) | Change::Insert(item) => Some(item.clone()),
        Change::Delete { .. } => None,
        Change::Expire { now_s } => old.as_ref().and_then(|old| expiry::expire(&plan.table, old, *now_s)),
        Change::Update { update, key_attributes } => apply_update(update, old.as_ref(), key_attributes)?,
    };
    let mut outcome = Outcome::of(&plan.table, old, new);
    check_new_item(plan, &outcome)?;
    item_row(plan, &outcome, writes);
    index_rows(plan, &mut outcome, writes);
    Ok(outcome)
}

/// What the rows of a plan take, the first of which is its item's, and the record of both images.
fn row_bytes(plan: &Plan, old: &Option<Bytes>, puts: &[(Key, Bytes)]) -> usize {
    let rows = puts.iter().map(|(_, row)| row.len()).sum();
    if !plan.table.log.is_open() || matches!(plan.change, Change::Check { .. }) {
        return rows;
    }
    rows + old.as_ref().map_or(0, Bytes::len) + puts.first().map_or(0, |(_, new)| new.len())
}

/// What a write costs that finds its condition false: as much as writing the item as it is.
fn unchanged_units(plan: &Plan, old: Option<&Item>) -> f64 {
    capacity::write_units(old.map(|old| index::metered_bytes(&plan.table, old.as_ref())), None)
}

fn apply_update(update: &Update, old: Option<&Item>, key_attributes: &Item) -> Result<Option<Item>, Refusal> {
    let before = old.unwrap_or(key_attributes).as_ref();
    match update.apply(before, old.is_some()).map_err(Refusal::Update)? {
        Updated::Item(new) => Ok(Some(new)),
        Updated::Nothing => Ok(None),
    }
}

/// The checks that every new item must pass, whatever its origin.
fn check_new_item(plan: &Plan, outcome: &Outcome) -> Result<(), Refusal> {
    let Some(new) = &outcome.new else { return Ok(()) };
    let updated_from = match &plan.change {
        Change::Update { key_attributes, .. } => Some(outcome.old.as_ref().unwrap_or(key_attributes)),
        _ => None,
    };
    if outcome.new_bytes() > limits::ITEM_BYTES_MAX {
        return Err(match updated_from {
            Some(_) => Refusal::UpdatedItemTooLarge,
            None => Refusal::ItemTooLarge,
        });
    }
    debug_assert!(
        plan.version.is_none() || !plan.origin.checks_index_keys(),
        "a change with a version was accepted by another Region"
    );
    if !plan.origin.checks_index_keys() {
        return Ok(());
    }
    index::check(&plan.table, updated_from.map(Item::as_ref), new.as_ref()).map_err(Refusal::IndexKey)
}

fn item_row(plan: &Plan, outcome: &Outcome, writes: &mut WriteSet) {
    match (&outcome.old, &outcome.new) {
        (_, Some(new)) => {
            debug_assert_eq!(
                plan.table.keys.position(new.as_ref()),
                plan.key.position,
                "an item keeps its key"
            );
            writes.puts.push((plan.key.clone(), new.clone().into_stored()));
        }
        (Some(_), None) => writes.deletes.push(plan.key.clone()),
        (None, None) => {}
    }
}

/// Adds the rows of the table's indexes to `writes`, and what each index that changed costs and how it grew
/// to `outcome`.
fn index_rows(plan: &Plan, outcome: &mut Outcome, writes: &mut WriteSet) {
    let Outcome { old, new, indexes, .. } = outcome;
    for index in plan.table.indexes.iter().filter(|index| index.is_written()) {
        let IndexDifference { put, delete, change, units, vector_bytes, growth } =
            index::difference(&plan.table, index, old.as_ref(), new.as_ref());
        let Some(changed) = put.as_ref().map(|(key, _)| key).or(delete.as_ref()) else {
            debug_assert!(units == 0.0 && growth == Size::default(), "without a change there is no cost");
            continue;
        };
        let (space, partition) = (index.space(), changed.position.partition);
        debug_assert_eq!(changed.space, space, "an index row is in the space of its index");
        indexes.push(IndexOutcome { space, partition, change, units, vector_bytes, growth });
        writes.puts.extend(put.map(|(key, row)| (key, row.into_stored())));
        writes.deletes.extend(delete);
    }
}
